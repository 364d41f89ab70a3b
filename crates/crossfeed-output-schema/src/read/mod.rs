//! Reads output schemas, valid or not, place by place: the type word of a place, its fields, its items.
//!
//! # How a schema is read
//!
//! - `allOf` and `$ref` (with what stands beside it) are one schema. Of `anyOf`, `oneOf` and a list
//!   of types, null does not count: what remains, if it is one, is the type. `T | null` is `T`.
//! - Branches that say nothing of the shape (`{"required": ["a"]}`) do not count.
//! - Where a schema says `type: object` beside branches, it is an object with the fields of all
//!   branches; a union is what has no such word and several branches.
//! - An object is *open* where it declares no field and does not forbid them; one that declares some
//!   is described by them, and by `*` where `additionalProperties` (or a pattern) declares fields of
//!   the others. Others that are of any kind, or scalars, are not described.
//! - A value that is not a schema says nothing.

mod fields;
mod node;
mod types;
mod veil;

#[cfg(test)]
mod tests;

pub(super) use fields::{Field, Fields};
pub(super) use node::{Node, Source};
pub(super) use types::Types;
use veil::Veil;

use crossfeed_projection::{Path, Projection, RevealRules, Step};
use crossfeed_schema::{Dialect, Document, index::Index};
use crossfeed_wire::fragment::decoded;
use serde_json::Value;
use std::{cell::Cell, sync::Arc};

/// What an envelope may have beside its `data`.
const STATUS: [&str; 8] = [
    "success",
    "successful",
    "ok",
    "error",
    "errors",
    "message",
    "meta",
    "pagination",
];
/// The key of an envelope that holds its value.
pub(super) const ENVELOPED: &str = "data";

/// The schema of what a tool returns: declared by the tool, or learned.
///
/// Reading it never fails. A type that the schema does not say is `unknown`; one that is not a schema at all has
/// no fields.
///
/// ```
/// use crossfeed_output_schema::{InspectRequest, OutputSchema};
/// use serde_json::json;
///
/// let schema = OutputSchema::new(json!({
///     "type": "object",
///     "properties": {
///         "id": {"type": "string"},
///         "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
///         "extra": {"type": "object"},
///     },
///     "$defs": {"item": {"type": "object", "properties": {"price": {"type": ["number", "null"]}}}},
/// }));
/// let summary = schema.summary("shop.list");
/// assert_eq!(
///     summary.output_fields,
///     [
///         "id: string",
///         "items[].price: number",
///         r#"extra: object (unknown keys; inspect_tool_output(tool_id="shop.list", field_path="extra"))"#,
///     ]
/// );
/// assert!(summary.has_hidden_fields);
/// let items = schema.inspect(&InspectRequest::new("items"))?;
/// assert_eq!((items.node_type, items.total_child_fields), ("array", 1));
/// assert_eq!(items.flattened_fields, ["[].price: number"]);
/// # Ok::<(), crossfeed_output_schema::InspectError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct OutputSchema {
    schema: Value,
    index: Arc<Index>,
    /// The rules that withhold fields; `None` if there are none.
    veil: Option<Projection>,
}

impl OutputSchema {
    /// Reads any schema, valid or not.
    pub fn new(schema: Value) -> Self {
        let index = if crossfeed_json::is_deeper(&schema, crossfeed_json::MAX_DEPTH) {
            Index::default()
        } else {
            Index::lenient(&schema).1
        };
        Self {
            schema,
            index: Arc::new(index),
            veil: None,
        }
    }

    /// The same schema without the fields that are never shown: they are not listed, not counted,
    /// and unknown to the inspector.
    pub fn without(mut self, rules: &RevealRules) -> Self {
        self.veil = (!rules.never_is_empty())
            .then(|| Projection::new().with_rules(Arc::new(rules.clone())));
        self
    }

    /// The schema as it came, whatever is withheld.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The names of the fields of the value, sorted: the keys that `_select` may name. Of a list,
    /// those of its items; of a union, those of all branches. An envelope's `data` is one of them:
    /// selecting does not open it.
    pub fn top_level_keys(&self) -> Vec<String> {
        let reader = Reader::new(self);
        let fields = reader.fields(&reader.whole());
        let named = fields.named.iter().filter(|field| !field.is_rest());
        let mut names: Vec<_> = named.map(|field| field.name.to_owned()).collect();
        names.sort_unstable();
        names
    }
}

/// Steps as a path; empty where no path can name them.
pub(super) fn path_text(steps: &[Step]) -> String {
    Path::from_steps(steps.iter().cloned()).map_or_else(|_| String::new(), |path| path.to_string())
}

/// The work that reading one schema for one answer may take: schemas, branches and fields looked at.
/// Those of real tools take some thousands.
const MAX_STEPS: usize = 60_000;

/// Reads the places of a schema.
pub(super) struct Reader<'s> {
    root: &'s Value,
    document: Document<'s>,
    veil: Veil<'s>,
    steps: Cell<usize>,
}

impl<'s> Reader<'s> {
    pub(super) fn new(schema: &'s OutputSchema) -> Self {
        Self {
            root: &schema.schema,
            document: Document::indexed(&schema.schema, Dialect::Draft202012, &schema.index),
            veil: Veil::new(schema.veil.as_ref()),
            steps: Cell::new(0),
        }
    }

    /// Whether the step limit is reached: further places are folded.
    pub(super) fn is_tired(&self) -> bool {
        self.steps.get() > MAX_STEPS
    }

    fn spend(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps));
    }

    /// The place of the whole value.
    pub(super) fn whole(&self) -> Node<'s> {
        self.node(&Source::new(self.root), self.veil.clone())
    }

    /// The place that paths begin at: the whole value, or what its envelope holds; and whether an
    /// envelope was opened.
    pub(super) fn start(&self) -> (Node<'s>, bool) {
        let whole = self.whole();
        if whole.word() != "object" {
            return (whole, false);
        }
        let fields = self.fields(&whole);
        let is_envelope = fields
            .named
            .iter()
            .all(|field| field.name == ENVELOPED || STATUS.contains(&field.name));
        let data = fields.named.into_iter().find(|f| f.name == ENVELOPED);
        match data.filter(|_| is_envelope) {
            Some(data) => (self.field(&data), true),
            None => (whole, false),
        }
    }

    /// The targets of a schema's references.
    fn targets(&self, schema: &'s Value) -> Vec<&'s Value> {
        let links = self.document.links(schema);
        let targets: Vec<_> = links.iter().filter_map(|link| link.target).collect();
        if !targets.is_empty() {
            return targets;
        }
        // Of a schema in which some reference leads nowhere, none is indexed: plain pointers are
        // followed all the same.
        let pointer = || {
            let fragment = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
            self.root.pointer(&decoded(fragment)?)
        };
        pointer().into_iter().collect()
    }
}
