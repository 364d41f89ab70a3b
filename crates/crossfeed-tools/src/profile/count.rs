//! Counts how much of each limit ([`Limits`](super::Limits)) a schema uses, and finds places that nest too
//! deep.
//!
//! A `$defs` entry is counted once, however often it is referred to; for depth it is followed from
//! each place, and a reference to a schema that is being followed ends there. If one reference leads
//! nowhere, no reference is followed.

use crossfeed_schema::{
    index::{Index, Target},
    keywords,
};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// How deep schemas are followed, so that no input exhausts the stack.
const MAX_NESTED: usize = 128;

/// One schema's share of the sums that a provider limits.
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
    pub fn new(schema: &Value) -> Self {
        let mut counts = Self::default();
        keywords::visit(schema, "", &mut |map, _| counts.add(map));
        counts.depth = Levels::new(schema, MAX_NESTED).deepest;
        counts
    }

    /// Counts one schema without those in it.
    fn add(&mut self, map: &Map<String, Value>) {
        let typed_twice = keywords::items(map.get("type")).len() > 1;
        self.unions +=
            usize::from(typed_twice || map.contains_key("anyOf") || map.contains_key("oneOf"));
        let values = keywords::items(map.get("enum"));
        self.enum_values += values.len();
        let texts = values.iter().chain(map.get("const"));
        self.characters += texts.map(text_length).sum::<usize>();
        let required: HashSet<_> = keywords::strings(map.get("required")).collect();
        for (name, _) in keywords::members(map.get("properties")) {
            self.properties += 1;
            self.characters += name.chars().count();
            self.optionals += usize::from(!required.contains(name.as_str()));
        }
        for holder in ["$defs", "definitions"] {
            let named = keywords::members(map.get(holder));
            self.characters += named.map(|(name, _)| name.chars().count()).sum::<usize>();
        }
    }
}

fn text_length(value: &Value) -> usize {
    value.as_str().map_or(0, |text| text.chars().count())
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
    pub(super) fn new(schema: &'s Value, limit: usize) -> Self {
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
        if nested > MAX_NESTED {
            return;
        }
        let is = |word: &str| keywords::says_type(map.get("type"), word);
        let level = around + usize::from(is("object") || is("array"));
        self.deepest = self.deepest.max(level);
        if level > self.limit {
            self.beyond.push(at.clone());
            return;
        }
        if map.contains_key("$ref") {
            self.follow(at, level, nested);
        }
        for inner in keywords::subschemas_of(map) {
            if !matches!(inner.keyword, "$defs" | "definitions") {
                self.visit(inner.schema, &inner.pointer(at), level, nested + 1);
            }
        }
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
        let found = Counts::new(schema);
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
            assert_eq!(Counts::new(&levels(reference)).depth, 2, "{reference}");
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
        assert_eq!(Levels::new(&schema, 10).beyond.len(), 1);
        assert_eq!(Counts::new(&schema).depth, 65);
    }
}
