//! Adds the fields of a tool's output schema to its description, where they are worth it.

use crossfeed_output_schema::{INSPECTOR, OutputSchema};

/// What comes before the fields, and by which a description is known that has them.
const BEFORE: &str = "output_fields:";
/// The most characters of the fields: some 200 tokens for each tool.
const MAX_FIELD_CHARS: usize = 800;

/// The description to show, if it is another one. `longest` is what the provider takes.
pub(super) fn with_output_fields(
    own: Option<&str>,
    output: &OutputSchema,
    name: &str,
    has_inspector: bool,
    longest: usize,
) -> Option<String> {
    let own = own.unwrap_or_default();
    if own.contains(BEFORE) {
        return None;
    }
    let fields = output.summary(name).output_fields;
    if fields.iter().all(|line| line.ends_with(": unknown")) {
        return None;
    }
    let mut said = String::new();
    let mut left = 0;
    for line in &fields {
        // What a marker advises must be there to be called.
        let is_marker = line.contains(INSPECTOR);
        let fits = said.len() + line.len() < MAX_FIELD_CHARS;
        if fits && (has_inspector || !is_marker) {
            said.push('\n');
            said.push_str(line);
        } else {
            left += 1
        }
    }
    if said.is_empty() {
        return None;
    }
    if left > 0 && has_inspector {
        said.push_str(&format!(
            "\n(+{left} more; {INSPECTOR}(tool_id=\"{name}\", field_path=\"\"))"
        ));
    }
    let blank = if own.is_empty() { "" } else { "\n\n" };
    let whole = format!("{own}{blank}{BEFORE}{said}");
    (whole.chars().count() <= longest).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::with_output_fields;
    use crossfeed_output_schema::OutputSchema;
    use serde_json::{Map, Value, json};

    fn check(own: Option<&str>, output: Value, inspector: bool, expected: Option<&str>) {
        let output = OutputSchema::new(output);
        let said = with_output_fields(own, &output, "t", inspector, 1000);
        assert_eq!(said.as_deref(), expected);
    }

    #[test]
    fn a_description_ends_with_the_fields() {
        let output = json!({"type": "object", "properties": {"id": {"type": "string"}}});
        check(Some("Does."), json!({}), true, None);
        check(
            Some("Does."),
            output.clone(),
            true,
            Some("Does.\n\noutput_fields:\nid: string"),
        );
        check(
            None,
            output.clone(),
            true,
            Some("output_fields:\nid: string"),
        );
        // Twice is once.
        check(
            Some("Does.\n\noutput_fields:\nid: string"),
            output,
            true,
            None,
        );
        let open = json!({"type": "object", "properties": {"id": {"type": "string"}, "m": {"type": "object"}}});
        check(
            None,
            open.clone(),
            true,
            Some(
                "output_fields:\nid: string\nm: object (unknown keys; inspect_tool_output(tool_id=\"t\", field_path=\"m\"))",
            ),
        );
        check(None, open, false, Some("output_fields:\nid: string"));
    }

    #[test]
    fn it_is_bounded() {
        let fields: Map<_, _> = (0..30)
            .map(|n| (format!("{}{n}", "f".repeat(60)), json!({"type": "string"})))
            .collect();
        let output = OutputSchema::new(json!({"type": "object", "properties": fields}));
        let said = with_output_fields(None, &output, "t", true, usize::MAX).unwrap();
        assert!(
            said.len() < 1000
                && said
                    .ends_with("(+19 more; inspect_tool_output(tool_id=\"t\", field_path=\"\"))"),
            "{said}"
        );
        assert_eq!(with_output_fields(None, &output, "t", true, 100), None);
    }
}
