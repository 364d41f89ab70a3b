//! Which names a tool's own schema declares at a place, so that they are no sentinels there.

use crate::{
    index::{Index, REFERENCES},
    lookup::{self, Patterns, address},
};
use serde_json::Value;
use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
    rc::Rc,
};

/// How many schemas are followed for one place: `$ref` and combinators fan out.
const FOLLOWED: usize = 1_000;

/// The subschemas that apply to one place of the arguments.
#[derive(Clone, Debug, Default)]
pub struct Place<'s> {
    here: Vec<&'s Value>,
    /// The addresses of those.
    known: HashSet<usize>,
    document: Rc<Document<'s>>,
}

/// What the places of one schema share.
#[derive(Debug, Default)]
struct Document<'s> {
    root: Option<&'s Value>,
    patterns: Patterns<'s>,
    /// What the references of a schema lead to, by the address of that schema; made when the first
    /// is met.
    targets: OnceCell<HashMap<usize, Vec<&'s Value>>>,
}

impl<'s> Document<'s> {
    fn of(root: Option<&'s Value>) -> Rc<Self> {
        Rc::new(Self {
            root,
            ..Self::default()
        })
    }

    /// What the references of a schema lead to.
    fn targets(&self, schema: &'s Value) -> &[&'s Value] {
        let targets = self.targets.get_or_init(|| {
            let mut targets: HashMap<usize, Vec<&'s Value>> = HashMap::new();
            if let Some(root) = self.root {
                let (_, index) = Index::lenient(root);
                for (_, from, to) in lookup::links(root, &index) {
                    targets.entry(from).or_default().push(to);
                }
            }
            targets
        });
        targets.get(&address(schema)).map_or(&[], Vec::as_slice)
    }
}

impl<'s> Place<'s> {
    /// The place that the whole schema is for.
    pub fn root(schema: Option<&'s Value>) -> Self {
        let mut place = Self {
            document: Document::of(schema),
            ..Self::default()
        };
        if let Some(schema) = schema {
            place.follow(schema);
        }
        place
    }

    /// The place that another schema of the document is for.
    pub fn elsewhere(&self, schema: &'s Value) -> Self {
        let mut place = Self {
            document: Rc::clone(&self.document),
            ..Self::default()
        };
        place.follow(schema);
        place
    }

    /// Whether no schema says anything of this place, nor of those inside it.
    pub fn is_unknown(&self) -> bool {
        self.here.is_empty()
    }

    /// Whether the schema declares `name` as a property here.
    pub fn declares(&self, name: &str) -> bool {
        self.here.iter().any(|schema| {
            schema
                .get("properties")
                .is_some_and(|p| p.get(name).is_some())
        })
    }

    /// The place of the member `key`.
    pub fn member(&self, key: &str) -> Self {
        self.inner(|schema| {
            let own = schema.get("properties").and_then(|p| p.get(key));
            let patterned = schema.get("patternProperties").and_then(Value::as_object);
            let patterned = patterned.into_iter().flatten();
            let mut found: Vec<_> = own
                .into_iter()
                .chain(
                    patterned
                        .filter(|(pattern, _)| self.document.patterns.matches(pattern, key))
                        .map(|(_, schema)| schema),
                )
                .collect();
            if found.is_empty() {
                let other = schema.get("additionalProperties");
                found.extend(other.or_else(|| schema.get("unevaluatedProperties")));
            }
            found
        })
    }

    /// The place of the item `index`.
    pub fn item(&self, index: usize) -> Self {
        self.inner(|schema| {
            let listed = |key: &str| schema.get(key)?.as_array()?.get(index);
            let rest = || match schema.get("items") {
                Some(Value::Array(_)) => schema.get("additionalItems"),
                items => items.or_else(|| schema.get("unevaluatedItems")),
            };
            let found = listed("prefixItems").or_else(|| listed("items"));
            found.or_else(rest)
        })
    }

    fn inner<I: IntoIterator<Item = &'s Value>>(&self, step: impl Fn(&'s Value) -> I) -> Self {
        let mut place = Self {
            document: Rc::clone(&self.document),
            ..Self::default()
        };
        for schema in &self.here {
            for schema in step(schema) {
                place.follow(schema);
            }
        }
        place
    }

    /// Adds a schema and all that it refers to or combines.
    fn follow(&mut self, schema: &'s Value) {
        let mut open = vec![schema];
        while let Some(schema) = open.pop() {
            if !schema.is_object()
                || self.here.len() == FOLLOWED
                || !self.known.insert(address(schema))
            {
                continue;
            }
            self.here.push(schema);
            if REFERENCES.iter().any(|key| schema.get(*key).is_some()) {
                open.extend(self.document.targets(schema));
            }
            for combinator in ["allOf", "anyOf", "oneOf"] {
                open.extend(
                    schema
                        .get(combinator)
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten(),
                );
            }
            for branch in ["if", "then", "else"] {
                open.extend(schema.get(branch));
            }
            for dependent in ["dependentSchemas", "dependencies"] {
                let schemas = schema.get(dependent).and_then(Value::as_object);
                open.extend(schemas.into_iter().flat_map(|schemas| schemas.values()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;
    use serde_json::json;

    #[test]
    fn follows_references_and_combinators() {
        let schema = json!({
            "properties": {
                "a": {"$ref": "#/$defs/t"},
                "l": {"items": {"anyOf": [{"properties": {"_select": {}}}, {"type": "null"}]}},
            },
            "additionalProperties": {"properties": {"$tool": {}}},
            "$defs": {"t": {"properties": {"_tool": {}, "self": {"$ref": "#/$defs/t"}}}},
        });
        let root = Place::root(Some(&schema));
        assert!(root.declares("a"));
        assert!(!root.declares("_tool"));
        assert!(root.member("a").declares("_tool"));
        assert!(
            root.member("a")
                .member("self")
                .member("self")
                .declares("_tool")
        );
        assert!(root.member("l").item(3).declares("_select"));
        assert!(root.member("other").declares("$tool"));
        assert!(!Place::root(None).member("x").declares("x"));
    }

    #[test]
    fn follows_references_however_they_are_written() {
        let own = json!({"properties": {"$tool": {}}});
        for (reference, defs) in [
            ("#/$defs/T%3Cx%3E", json!({"T<x>": own})),
            ("#t", json!({"t": {"$anchor": "t", "allOf": [own]}})),
            (
                "urn:example:t",
                json!({"t": {"$id": "urn:example:t", "anyOf": [own]}}),
            ),
        ] {
            let schema = json!({"properties": {"a": {"$ref": reference}}, "$defs": defs});
            let root = Place::root(Some(&schema));
            assert!(root.member("a").declares("$tool"), "{schema}");
            assert!(!root.declares("$tool"));
        }
    }

    #[test]
    fn follows_patterns_rests_and_dependents() {
        let declares = json!({"properties": {"$tool": {}}});
        let schema = json!({
            "properties": {
                "named": {},
                "tuple": {"items": [{}], "additionalItems": declares},
                "list": {"prefixItems": [{}], "unevaluatedItems": declares},
            },
            "patternProperties": {"^x-[0-9]+$": declares, "^named$": declares, "(": declares},
            "unevaluatedProperties": {"properties": {"_tool": {}}},
            "dependentSchemas": {"a": {"properties": {"b": declares}}},
            "dependencies": {"a": {"properties": {"c": declares}}, "d": ["a"]},
        });
        let root = Place::root(Some(&schema));
        assert!(root.member("x-12").declares("$tool"));
        assert!(root.member("named").declares("$tool"));
        assert!(root.member("b").declares("$tool") && root.member("c").declares("$tool"));
        let tuple = root.member("tuple");
        assert!(!tuple.item(0).declares("$tool") && tuple.item(1).declares("$tool"));
        let list = root.member("list");
        assert!(!list.item(0).declares("$tool") && list.item(1).declares("$tool"));

        let schema = json!({
            "patternProperties": {"^x-[0-9]+$": declares},
            "unevaluatedProperties": {"properties": {"_tool": {}}},
        });
        let root = Place::root(Some(&schema));
        assert!(!root.member("x-a").declares("$tool"));
        assert!(root.member("x-a").declares("_tool"));
        // A pattern is not a name: keys that it matches may be the grammar's.
        assert!(!root.declares("x-1"));
    }
}
