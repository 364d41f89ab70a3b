//! Parameters by which a model chooses fields of a result: `_select` and `_fields` ask for parts, `_whole` for
//! all of it.
//!
//! They stand in the schema that the model sees, and are taken out of the arguments before anything else reads
//! them; the tool's own schema never has them.
//!
//! # Invariants
//!
//! - A parameter of the tool's own wins: nothing is injected under its name, nothing taken out.
//! - The shown schema accepts all arguments that it accepted before, with these parameters besides.
//! - The added parameters are recognised by their exact form, so adding them twice changes nothing.
//! - The keys are sorted, each once, without those that may never be shown. More than 200 are not
//!   listed: then any string is taken, and diagnostics name one that the result does not have.
//! - If `propertyNames`, `maxProperties`, patterns or schemas of dependents would refuse the parameters, the
//!   shown schema is loosened, and so is the schema read from a list that is rewritten again. Arguments are
//!   validated by the tool's own schema, never by the shown one.

mod inject;
#[cfg(test)]
mod laws;
mod take;
#[cfg(test)]
mod tests;

pub use take::TakenProjection;

use crossfeed_output_schema::OutputSchema;
use crossfeed_projection::{ResourceType, RevealRules};
pub(crate) use inject::{Parameters, found, without};
use serde_json::{Value, json};
use std::{collections::BTreeSet, sync::Arc};
pub(crate) use take::take;

/// The parameter that names top-level keys.
pub(crate) const SELECT: &str = "_select";
/// The parameter that names a preset, or fields by their paths.
pub(crate) const FIELDS: &str = "_fields";
/// The parameter that asks for the whole result, however large it is.
pub(crate) const WHOLE: &str = "_whole";
/// The added parameters, in the order in which they are shown.
pub(crate) const ALL: [&str; 3] = [SELECT, FIELDS, WHOLE];
/// The parameters that ask for parts of a result, in the spellings that references have.
pub(crate) const PART_WORDS: [&str; 4] = [SELECT, "$select", FIELDS, "$fields"];
/// Keys that are listed; where there are more, any string is taken.
const MAX_KEYS: usize = 200;
/// The description of [`SELECT`], by which it is recognised.
const SELECT_SAYS: &str = "Only these top-level fields of the result; without it, all of them.";
/// The beginning of the description of [`FIELDS`], by which it is recognised.
const FIELDS_SAYS: &str = "Only these fields of the result, by paths such as owner.name";
/// The description of [`WHOLE`], by which it is recognised.
const WHOLE_SAYS: &str = "Whether to return the whole result, for a script that reads it.";

/// The parts of a tool's results that its model may ask for. See [`crate::ListOptions::with_reflection`].
///
/// ```
/// use crossfeed_tools::{ListOptions, Reflection, Style, ToolList, rewrite_tools};
/// use serde_json::json;
///
/// let tools = json!([{"name": "user", "inputSchema": {"type": "object", "properties": {}},
///     "outputSchema": {"type": "object", "properties": {"name": {}, "id": {}}}}]);
/// let options = ListOptions::style(Style::Refs).with_reflection("user", Reflection::new());
/// let listed = rewrite_tools(&ToolList::parse(&tools)?, &options);
/// let user = listed.find("user").expect("the tool");
/// let select = &user.shown_schema()["properties"]["_select"];
/// assert_eq!(select["items"]["enum"], json!(["id", "name"]));
///
/// let mut arguments = json!({"_select": ["id"]});
/// let taken = user.take_projection(&mut arguments);
/// assert_eq!((arguments, taken.request.select), (json!({}), Some(vec!["id".to_owned()])));
/// # Ok::<(), crossfeed_tools::ToolListError>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use]
pub struct Reflection {
    outputs: Vec<Value>,
    actions: Vec<(String, Value)>,
    resource: Option<ResourceType>,
    rules: Arc<RevealRules>,
}

impl Reflection {
    /// By the output schema that the tool declares in the list. Only MCP has a place for one.
    pub fn new() -> Self {
        Self::default()
    }

    /// By this output schema. Of several, the model may ask for the keys of each.
    pub fn with_output(mut self, schema: Value) -> Self {
        self.outputs.push(schema);
        self
    }

    /// The output schema of one action of a tool that has several. Shown as one tool it has the keys
    /// of all; [`Self::for_action`] is for the tool that an action is alone.
    pub fn with_action(mut self, name: impl Into<String>, schema: Value) -> Self {
        let name = name.into();
        match self.actions.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = schema,
            None => self.actions.push((name, schema)),
        }
        self
    }

    /// The kind of resource: the model may ask for its presets and for fields by path, too.
    pub fn with_resource(mut self, resource: ResourceType) -> Self {
        self.resource = Some(resource);
        self
    }

    /// Does not offer fields that these rules hide.
    pub fn with_rules(mut self, rules: impl Into<Arc<RevealRules>>) -> Self {
        self.rules = rules.into();
        self
    }

    /// The same for one action alone. An action that was not given has no keys.
    pub fn for_action(&self, name: &str) -> Self {
        let actions = self.actions.iter();
        Self {
            outputs: Vec::new(),
            actions: actions.filter(|(own, _)| own == name).cloned().collect(),
            resource: self.resource.clone(),
            rules: Arc::clone(&self.rules),
        }
    }

    /// The keys to offer, sorted. `declared` is the output schema of the list, which counts if the host gave
    /// none.
    pub fn keys(&self, declared: Option<&Value>) -> Vec<String> {
        let given = self.outputs.iter();
        let given = given.chain(self.actions.iter().map(|(_, schema)| schema));
        let declared = declared.filter(|_| self.outputs.is_empty() && self.actions.is_empty());
        let keys: BTreeSet<String> = given
            .chain(declared)
            .flat_map(|schema| {
                OutputSchema::new(schema.clone())
                    .without(&self.rules)
                    .top_level_keys()
            })
            .filter(|key| !self.rules.is_never_name(key))
            .collect();
        keys.into_iter().collect()
    }

    /// The parameters to show, with their schemas.
    pub(crate) fn injected(&self, declared: Option<&Value>) -> Parameters {
        let keys = self.keys(declared);
        let mut injected = Parameters::default();
        if !keys.is_empty() {
            injected.push(SELECT, select_schema(&keys));
        }
        if let Some(resource) = &self.resource {
            injected.push(FIELDS, fields_schema(resource));
        }
        injected
    }
}

fn select_schema(keys: &[String]) -> Value {
    let items = if keys.len() > MAX_KEYS {
        json!({"type": "string"})
    } else {
        json!({"type": "string", "enum": keys})
    };
    json!({"type": "array", "items": items, "description": SELECT_SAYS})
}

fn fields_schema(resource: &ResourceType) -> Value {
    let presets = resource.preset_names().join(", ");
    json!({
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": format!("{FIELDS_SAYS}, or one preset: {presets}."),
    })
}

/// The parameters to show for [`crate::ListOptions::with_whole`].
pub(crate) fn push_whole(injected: &mut Parameters) {
    let schema = json!({"type": "boolean", "description": WHOLE_SAYS});
    injected.push(WHOLE, schema);
}

/// Guidance for the model about `_whole`, if tools have it.
pub const WHOLE_GUIDANCE: &str = "Where a tool has `_whole`, set it to true only in a script that reads the \
     result itself: it then gets the whole result, however large. Without it, a large result is shown as a \
     preview.";

/// Guidance for the model about the added parameters.
pub(crate) fn guidance(select: bool, fields: bool) -> Option<String> {
    let how = match (select, fields) {
        (false, false) => return None,
        (true, false) => "`_select` names the top-level fields",
        (false, true) => "`_fields` names a preset, or fields by path,",
        (true, true) => {
            "`_select` names the top-level fields, `_fields` a preset or fields by path,"
        }
    };
    Some(format!(
        "Where a tool has them, {how} that you want to see of its result, of each item where it is a \
         list. Ask for what you need; leave them out for all of it. References reach the full result \
         all the same."
    ))
}
