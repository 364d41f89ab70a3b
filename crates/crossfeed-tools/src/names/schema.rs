//! Finds every name that a schema gives to a property.

use crossfeed_schema::keywords::{self, Applies, Holds};
use serde_json::Value;
use std::collections::HashSet;

/// Every name of a schema, and which are ones of the root.
#[derive(Debug, Default)]
pub(super) struct SchemaNames {
    pub(super) all: Vec<String>,
    pub(super) at_root: HashSet<String>,
}

impl SchemaNames {
    pub(super) fn new(schema: &Value) -> Self {
        let mut found = Self::default();
        let mut seen = HashSet::new();
        let mut root_refers = false;
        keywords::visit(schema, "", &mut |object, at| {
            root_refers |= is_root(at, false) && object.contains_key("$ref");
        });
        keywords::visit(schema, "", &mut |object, at| {
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
                for (key, value) in keywords::members(object.get(keyword)) {
                    name(key);
                    if keyword.starts_with("depend") {
                        keywords::strings(Some(value)).for_each(&mut name);
                    }
                }
            }
            keywords::strings(object.get("required")).for_each(&mut name);
        });
        found
    }
}

/// Whether the schema at a place describes the root itself. If the root refers to definitions, they may
/// describe it, too.
fn is_root(at: &str, refers: bool) -> bool {
    let mut tokens = at.split('/').skip(1);
    while let Some(token) = tokens.next() {
        match keywords::subschemas(token) {
            Some((Holds::One, Applies::Here)) if token != "not" => {}
            Some((Holds::List | Holds::Map | Holds::MapOrNames, Applies::Here)) => {
                tokens.next();
            }
            Some((Holds::Map, Applies::Nowhere)) if refers => {
                tokens.next();
            }
            _ => return false,
        }
    }
    true
}
