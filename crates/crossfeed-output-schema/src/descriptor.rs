//! Describes a tool in short, for a planner: its signature, parameters and output.

use super::{
    INSPECTOR, OutputSchema, Summary, inspector,
    read::{Field, Reader},
};
use serde_json::{Value, json};

/// One parameter of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type word; of a list of one type with `[]` behind the word of that.
    pub kind: String,
    /// Whether it must be there.
    pub required: bool,
    /// Its description.
    pub description: Option<String>,
}

/// A tool in short.
///
/// ```
/// use crossfeed_output_schema::{Descriptor, OutputSchema, descriptors};
/// use serde_json::json;
///
/// let input = json!({
///     "type": "object",
///     "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}, "tags": {"items": {"type": "string"}}},
///     "required": ["query"],
/// });
/// let output = OutputSchema::new(json!({"properties": {"id": {"type": "string"}}}));
/// let search = Descriptor::new("search", Some("Finds things."), &input, Some(&output));
/// assert_eq!(search.signature, "search(query: string, limit?: integer, tags?: string[])");
/// assert_eq!(search.output.output_fields, ["id: string"]);
/// let all = descriptors([search]);
/// assert_eq!(all[0].id, "inspect_tool_output");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Descriptor {
    /// Its id, as the markers of its output name it.
    pub id: String,
    /// `search(query: string, limit?: integer)`, in the source's order.
    pub signature: String,
    /// Its description.
    pub description: Option<String>,
    /// Its parameters, in the same order.
    pub parameters: Vec<Parameter>,
    /// Its output; empty if it is unknown.
    pub output: Summary,
}

impl Descriptor {
    /// Describes a tool by its input schema, and by its output schema where one is declared or
    /// learned.
    pub fn new(
        id: &str,
        description: Option<&str>,
        input: &Value,
        output: Option<&OutputSchema>,
    ) -> Self {
        let parameters = parameters(input);
        let written: Vec<_> = parameters
            .iter()
            .map(|parameter| {
                let mark = if parameter.required { "" } else { "?" };
                format!("{}{mark}: {}", named(&parameter.name), parameter.kind)
            })
            .collect();
        Self {
            id: id.to_owned(),
            signature: format!("{id}({})", written.join(", ")),
            description: description.map(str::to_owned),
            parameters,
            output: output.map(|output| output.summary(id)).unwrap_or_default(),
        }
    }

    /// The inspector's own.
    pub fn inspector() -> Self {
        let tool = inspector();
        let part = |key: &str| tool.get(key).cloned().unwrap_or_default();
        let output = OutputSchema::new(part("outputSchema"));
        let description = part("description");
        Self::new(
            INSPECTOR,
            description.as_str(),
            &part("inputSchema"),
            Some(&output),
        )
    }

    /// `{"id", "signature", "description"?, "input_parameters": [{"name", "type", "required",
    /// "description"?}], "output_fields", "has_hidden_fields"}`
    pub fn to_value(&self) -> Value {
        let parameters = self.parameters.iter().map(|parameter| {
            let mut shown = json!({
                "name": parameter.name,
                "type": parameter.kind,
                "required": parameter.required,
            });
            if let Some(description) = &parameter.description {
                shown["description"] = json!(description);
            }
            shown
        });
        let mut tool = json!({"id": self.id, "signature": self.signature});
        if let Some(description) = &self.description {
            tool["description"] = json!(description);
        }
        tool["input_parameters"] = parameters.collect();
        tool["output_fields"] = json!(self.output.output_fields);
        tool["has_hidden_fields"] = json!(self.output.has_hidden_fields);
        tool
    }
}

/// These tools with the inspector first, whatever was searched for; once, also where it is among
/// them.
///
/// ```
/// use crossfeed_output_schema::{Descriptor, INSPECTOR, descriptors};
/// use serde_json::json;
///
/// let fetch = Descriptor::new("fetch", None, &json!({"type": "object"}), None);
/// let all = descriptors([fetch]);
/// assert_eq!((&*all[0].id, &*all[1].id), (INSPECTOR, "fetch"));
/// ```
pub fn descriptors(tools: impl IntoIterator<Item = Descriptor>) -> Vec<Descriptor> {
    let others = tools.into_iter().filter(|tool| tool.id != INSPECTOR);
    std::iter::once(Descriptor::inspector())
        .chain(others)
        .collect()
}

fn parameters(input: &Value) -> Vec<Parameter> {
    let schema = OutputSchema::new(input.clone());
    let reader = Reader::new(&schema);
    let root = reader.whole();
    let required = root.required();
    reader
        .fields(&root)
        .named
        .iter()
        .filter(|field| !field.is_rest())
        .map(|field| Parameter {
            name: field.name.to_owned(),
            kind: kind(&reader, field),
            required: required.contains(field.name),
            description: reader.field(field).description().map(str::to_owned),
        })
        .collect()
}

/// `string`, `string[]`.
fn kind<'s>(reader: &Reader<'s>, field: &Field<'s>) -> String {
    const LISTS: usize = 4;
    let mut node = reader.field(field);
    let mut lists = 0;
    while lists < LISTS
        && node.word() == "array"
        && let Some(items) = reader.items(&node, None)
        && items.word() != "unknown"
    {
        node = items;
        lists += 1;
    }
    format!("{}{}", node.word(), "[]".repeat(lists))
}

/// A name as a path is written: quoted where it has to be.
fn named(name: &str) -> String {
    crossfeed_projection::Path::key(name).to_string()
}

#[cfg(test)]
mod tests {
    use super::{Descriptor, descriptors};
    use serde_json::{Value, json};

    fn check(input: Value, signature: &str) {
        let tool = Descriptor::new("t", None, &input, None);
        assert_eq!(tool.signature, signature, "{input}");
        let shown = tool.to_value();
        assert_eq!(
            shown["input_parameters"].as_array().unwrap().len(),
            tool.parameters.len()
        );
        assert_eq!(shown["output_fields"], json!([]));
        assert_eq!(shown["has_hidden_fields"], json!(false));
    }

    #[test]
    fn signatures_name_the_parameters_in_order() {
        check(json!({}), "t()");
        check(json!({"type": "object"}), "t()");
        check(json!("none"), "t()");
        let field = |schema: Value| json!({"properties": {"a": schema}});
        check(field(json!({"type": "string"})), "t(a?: string)");
        check(field(json!({"type": ["string", "null"]})), "t(a?: string)");
        check(field(json!({"enum": ["x"]})), "t(a?: enum)");
        check(field(json!({"type": "array"})), "t(a?: array)");
        check(
            field(json!({"items": {"items": {"type": "object"}}})),
            "t(a?: object[][])",
        );
        check(
            field(json!({"anyOf": [{"type": "string"}, {"type": "object"}]})),
            "t(a?: union)",
        );
        check(
            json!({"properties": {"a b": {}, "c": {}}, "required": ["c"]}),
            "t(\"a b\"?: unknown, c: unknown)",
        );
        check(
            json!({"allOf": [{"$ref": "#/$defs/x"}], "$defs": {"x": {"properties": {"q": {"type": "string"}}, "required": ["q"]}}}),
            "t(q: string)",
        );
    }

    #[test]
    fn the_inspector_is_the_first_always() {
        let other = Descriptor::new("other", Some("Says."), &json!({}), None);
        for tools in [
            vec![],
            vec![other.clone()],
            vec![other, Descriptor::inspector()],
        ] {
            let all = descriptors(tools.clone());
            assert_eq!(
                all.iter()
                    .filter(|tool| tool.id == "inspect_tool_output")
                    .count(),
                1
            );
            assert_eq!(all[0], Descriptor::inspector());
        }
        let inspector = Descriptor::inspector();
        assert_eq!(
            inspector.signature,
            "inspect_tool_output(tool_id: string, field_path: string, max_depth?: integer, max_fields?: integer, offset?: integer)"
        );
        assert!(
            inspector
                .output
                .output_fields
                .contains(&"node_type: string".to_owned())
        );
    }
}
