//! Every name that a schema gives to a property.

use crossfeed_schema::keywords;
use serde_json::Value;
use std::collections::HashSet;

/// The keywords that an object passes on to what is applied to the same value.
const HERE: [&str; 8] = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];

/// Every name of a schema, and which are ones of the root.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) all: Vec<String>,
    pub(super) at_root: HashSet<String>,
}

impl Found {
    pub(super) fn of(schema: &Value) -> Self {
        let mut found = Self::default();
        let mut seen = HashSet::new();
        let mut root_refers = false;
        keywords::visit(schema, &mut String::new(), &mut |object, at| {
            root_refers |= is_root(at, false) && object.contains_key("$ref");
        });
        keywords::visit(schema, &mut String::new(), &mut |object, at| {
            let root = is_root(at, root_refers);
            let mut name = |name: &str| {
                if seen.insert(name.to_owned()) {
                    found.all.push(name.to_owned());
                }
                if root && !found.at_root.contains(name) {
                    found.at_root.insert(name.to_owned());
                }
            };
            for keyword in [
                "properties",
                "dependentRequired",
                "dependentSchemas",
                "dependencies",
            ] {
                let members = object.get(keyword).and_then(Value::as_object);
                for (key, value) in members.into_iter().flatten() {
                    name(key);
                    if keyword.starts_with("depend") {
                        strings(value).for_each(&mut name);
                    }
                }
            }
            object
                .get("required")
                .into_iter()
                .flat_map(strings)
                .for_each(&mut name);
        });
        found
    }
}

fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

/// Whether the schema at a place says what the root is. Where the root refers to definitions, these
/// may say it too.
fn is_root(at: &str, refers: bool) -> bool {
    let mut tokens = at.split('/').skip(1);
    while let Some(token) = tokens.next() {
        let definition = refers && matches!(token, "$defs" | "definitions");
        if !definition && !HERE.contains(&token) {
            return false;
        }
        if !matches!(token, "if" | "then" | "else") {
            tokens.next();
        }
    }
    true
}
