//! How much of each limit a schema uses.
//!
//! What comes in: one schema as it would be shown. What goes out: numbers to compare with
//! [`Limits`](super::Limits), and the places that nest too deep. Deliberately not here: judging.
//!
//! A `$defs` entry is counted once, however often it is referred to; for depth it is followed from
//! each place, and a reference to a schema that is being followed ends there. Where one reference
//! leads nowhere, none is followed.

use crossfeed_schema::{
    index::{Index, Target},
    keywords,
};
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Deeper than this nothing is followed, so that no input exhausts the stack.
const FOLLOWED: usize = 128;

/// What one schema adds to the sums that a provider limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Declared properties, at every level.
    pub properties: usize,
    /// Properties that are not required, at every level.
    pub optionals: usize,
    /// Schemas with an `anyOf` or `oneOf`, or a list of types. Properties and items are counted
    /// alike, which is the narrowest reading of "parameters with union types".
    pub unions: usize,
    /// Levels of nesting: an object is one and a list is one, the root among them.
    pub depth: usize,
    /// Values of all enums.
    pub enum_values: usize,
    /// Characters of names of properties and definitions, and of strings in enums and constants.
    pub characters: usize,
}

impl Counts {
    /// Counts one schema.
    #[must_use]
    pub fn of(schema: &Value) -> Self {
        let mut counts = Self::default();
        counts.visit(schema, 0);
        counts.depth = Levels::of(schema, FOLLOWED).deepest;
        counts
    }

    fn visit(&mut self, schema: &Value, nested: usize) {
        let Value::Object(map) = schema else { return };
        if nested > FOLLOWED {
            return;
        }
        let listed = map.get("type").and_then(Value::as_array);
        let typed_twice = listed.is_some_and(|types| types.len() > 1);
        self.unions +=
            usize::from(typed_twice || map.contains_key("anyOf") || map.contains_key("oneOf"));
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            self.enum_values += values.len();
            self.characters += values.iter().map(text_length).sum::<usize>();
        }
        self.characters += map.get("const").map_or(0, text_length);
        if let Some(properties) = map.get("properties").and_then(Value::as_object) {
            let required = map.get("required").and_then(Value::as_array);
            let required = required.into_iter().flatten().filter_map(Value::as_str);
            let required: HashSet<_> = required.collect();
            self.properties += properties.len();
            for name in properties.keys() {
                self.characters += name.chars().count();
                self.optionals += usize::from(!required.contains(name.as_str()));
            }
        }
        for holder in ["$defs", "definitions"] {
            let named = map
                .get(holder)
                .and_then(Value::as_object)
                .into_iter()
                .flatten();
            self.characters += named.map(|(name, _)| name.chars().count()).sum::<usize>();
        }
        for_each_subschema(map, |_, schema| self.visit(schema, nested + 1));
    }
}

fn text_length(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
}

/// Where a subschema stands in the schema around it: the keyword, and the step inside it.
#[derive(Clone, Copy)]
pub(crate) struct Step<'s>(&'s str, keywords::Step<'s>);

impl Step<'_> {
    /// The place of the subschema, where the schema around it is at `at`.
    pub(crate) fn from(self, at: &Pointer) -> Pointer {
        let held = at.key(self.0);
        match self.1 {
            keywords::Step::Keyword => held,
            keywords::Step::Key(name) => held.key(name),
            keywords::Step::Index(index) => held.index(index),
        }
    }

    /// The keyword that holds it.
    pub(crate) fn keyword(&self) -> &str {
        self.0
    }

    /// Whether what stands here is only referred to.
    fn is_definition(self) -> bool {
        matches!(self.0, "$defs" | "definitions")
    }
}

/// Calls `visit` with every direct subschema, in the order of the source.
pub(crate) fn for_each_subschema<'s>(
    map: &'s serde_json::Map<String, Value>,
    mut visit: impl FnMut(Step<'s>, &'s Value),
) {
    for (keyword, value) in map {
        let Some((holds, _)) = keywords::subschemas(keyword) else {
            continue;
        };
        for (step, schema) in keywords::held(holds, value) {
            visit(Step(keyword, step), schema);
        }
    }
}

/// The levels of a schema, with references followed.
pub(super) struct Levels<'s> {
    root: &'s Value,
    index: Index,
    limit: usize,
    /// The deepest level that a referred schema has been entered at.
    entered: HashMap<String, usize>,
    open: HashSet<String>,
    /// The deepest level that was seen.
    pub(super) deepest: usize,
    /// The places just beyond the limit.
    pub(super) beyond: Vec<Pointer>,
}

impl<'s> Levels<'s> {
    /// Looks at all levels down to one beyond the limit.
    pub(super) fn of(schema: &'s Value, limit: usize) -> Self {
        let mut levels = Self {
            root: schema,
            index: Index::lenient(schema).1,
            limit,
            entered: HashMap::new(),
            open: HashSet::new(),
            deepest: 0,
            beyond: Vec::new(),
        };
        levels.visit(schema, &Pointer::root(), 0, 0);
        levels.beyond.sort();
        levels.beyond.dedup();
        levels
    }

    fn visit(&mut self, schema: &'s Value, at: &Pointer, around: usize, nested: usize) {
        let Value::Object(map) = schema else { return };
        if nested > FOLLOWED {
            return;
        }
        let is = |word: &str| match map.get("type") {
            Some(Value::String(one)) => one == word,
            Some(Value::Array(several)) => several.iter().any(|one| one == word),
            _ => false,
        };
        let level = around + usize::from(is("object") || is("array"));
        self.deepest = self.deepest.max(level);
        if level > self.limit {
            self.beyond.push(at.clone());
            return;
        }
        if map.contains_key("$ref") {
            self.follow(at, level, nested);
        }
        for_each_subschema(map, |step, schema| {
            if !step.is_definition() {
                self.visit(schema, &step.from(at), level, nested + 1);
            }
        });
    }

    fn follow(&mut self, from: &Pointer, level: usize, nested: usize) {
        let Some(Target::Here { at, .. }) = self.index.target(from.as_str(), "$ref") else {
            return;
        };
        let known = self.entered.get(at);
        if self.open.contains(at) || known.is_some_and(|deepest| *deepest >= level) {
            return;
        }
        let at = at.clone();
        if let (Some(target), Some(place)) = (self.root.pointer(&at), Pointer::parse(&at)) {
            self.entered.insert(at.clone(), level);
            self.open.insert(at.clone());
            self.visit(target, &place, level, nested + 1);
            self.open.remove(&at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Levels};
    use serde_json::{Value, json};

    fn check(schema: &Value, counts: [usize; 6]) {
        let found = Counts::of(schema);
        let found = [
            found.properties,
            found.optionals,
            found.unions,
            found.depth,
            found.enum_values,
            found.characters,
        ];
        assert_eq!(found, counts, "{schema}");
    }

    #[test]
    fn each_number() {
        check(&json!({}), [0; 6]);
        check(
            &json!({
                "type": "object",
                "properties": {
                    "ab": {"type": ["string", "null"], "enum": ["x", "yz", null]},
                    "c": {"type": "array", "items": {"anyOf": [{"const": "four"}, {"$ref": "#/$defs/de"}]}},
                },
                "required": ["ab"],
                "$defs": {"de": {"type": "object", "properties": {"f": {"$ref": "#/$defs/de"}}}},
            }),
            [3, 2, 2, 3, 3, 13],
        );
    }

    #[test]
    fn references_are_followed_however_they_are_written() {
        let levels = |reference: &str| {
            let list = json!({"$anchor": "n", "type": "array", "items": {"type": "string"}});
            json!({"type": "object", "properties": {"a": {"$ref": reference}}, "$defs": {"ab": list}})
        };
        for reference in ["#/$defs/ab", "#/$defs/a%62", "#n"] {
            assert_eq!(Counts::of(&levels(reference)).depth, 2, "{reference}");
        }
    }

    #[test]
    fn references_that_fan_out_are_followed_in_bounded_time() {
        let mut defs = serde_json::Map::new();
        for level in 0..100 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            let properties: serde_json::Map<_, _> =
                (0..10).map(|n| (format!("p{n}"), next.clone())).collect();
            defs.insert(
                format!("d{level}"),
                json!({"type": "object", "properties": properties}),
            );
        }
        defs.insert("d100".to_owned(), json!({"type": "string"}));
        let schema =
            json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs});
        assert_eq!(Levels::of(&schema, 10).beyond.len(), 1);
        assert_eq!(Counts::of(&schema).depth, 65);
    }
}
