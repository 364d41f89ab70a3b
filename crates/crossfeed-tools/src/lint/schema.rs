//! Checks one schema against the facts: its validity, its root, its keywords and types, its size.

use super::{Findings, recursion};
use crate::{Counts, Facts, Nullable};
use crossfeed_schema::{Dialect, SchemaError, checked, index::Index, keywords};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};

/// Checks a schema, and counts its share of the list's sums.
pub(super) fn judge(schema: &Value, facts: &'static Facts, found: &mut Findings<'_>) -> Counts {
    let counts = Counts::new(schema);
    if let Some(index) = judge_as_schema(schema, facts, found) {
        judge_valid(schema, &index, facts, found);
        judge_size(counts, facts, found);
    }
    counts
}

fn judge_valid(schema: &Value, index: &Index, facts: &'static Facts, found: &mut Findings<'_>) {
    let root = Pointer::root();
    let Value::Object(map) = schema else {
        found.refused(
            &root,
            format!("the schema is `{schema}`"),
            "the root is an object schema",
            "write {\"type\": \"object\"}",
        );
        return;
    };
    if map.get("type").is_none_or(|word| word != "object") {
        found.refused(
            &root,
            "the root does not say `\"type\": \"object\"`",
            "arguments are an object",
            "add it",
        );
    }
    for keyword in facts.root_refused {
        if map.contains_key(*keyword) {
            found.refused(
                &root,
                format!("`{keyword}` at the root"),
                "the root may have no such keyword",
                "declare the properties at the root, and leave the rest to validation",
            );
        }
    }
    let mut linter = SchemaLinter { facts, found };
    linter.schema(schema, &root, 0);
    if !facts.recursion
        && facts.refs
        && let Some(at) = recursion::found(index)
    {
        linter.refused(
            &at,
            "a schema that refers to itself",
            "recursion is not taken",
            "take the inner value as JSON text",
        );
    }
}

/// The targets of a schema's references, if it can be checked further.
fn judge_as_schema(schema: &Value, facts: &Facts, found: &mut Findings<'_>) -> Option<Index> {
    let index = match checked(schema) {
        Ok((_, index)) => index,
        Err(error) => {
            let root = Pointer::root();
            let fix = match error {
                SchemaError::Dangling { .. } => "define what it refers to",
                SchemaError::Remote { .. } => "bring what it refers to into `$defs`",
                SchemaError::TooDeep => "flatten it",
                _ => "mend the schema",
            };
            let at = error.at().unwrap_or(&root).clone();
            found.refused(
                &at,
                error.to_string(),
                "a tool's input is described by a valid schema",
                fix,
            );
            return None;
        }
    };
    if facts.only_2020_12 && !Dialect::Draft202012.is_valid(schema) {
        found.refused(
            &Pointer::root(),
            "the schema is valid in an older draft only",
            "schemas must match draft 2020-12",
            "write list-form `items` as `prefixItems`, and bounds as numbers",
        );
    }
    Some(index)
}

fn judge_size(counts: Counts, facts: &Facts, found: &mut Findings<'_>) {
    let limits = facts.limits;
    for (what, number, limit) in [
        ("levels of nesting", counts.depth, limits.depth),
        ("properties", counts.properties, limits.properties),
        ("enum values", counts.enum_values, limits.enum_values),
        (
            "characters of names, enums and constants",
            counts.characters,
            limits.characters,
        ),
    ] {
        let fix = "split the tool, or send it without `strict`";
        found.limited(what, number, limit, "one schema", fix);
    }
}

/// Checks the parts of one schema.
pub(super) struct SchemaLinter<'j, 'f> {
    pub(super) facts: &'static Facts,
    pub(super) found: &'j mut Findings<'f>,
}

impl SchemaLinter<'_, '_> {
    pub(super) fn refused(&mut self, at: &Pointer, what: impl Into<String>, why: &str, fix: &str) {
        self.found.refused(at, what, why, fix);
    }

    fn schema(&mut self, schema: &Value, at: &Pointer, nested: usize) {
        if nested > crossfeed_json::MAX_DEPTH {
            return;
        }
        let Value::Object(map) = schema else {
            if self.facts.typed {
                self.refused(
                    at,
                    format!("the schema `{schema}`"),
                    "a schema says its type",
                    "say which values may come",
                );
            }
            return;
        };
        self.keywords(map, at);
        self.types(map, at);
        self.object(map, at, nested);
        self.list(map, at);
        self.values(map, at);
        self.reference(map, at);
        let closed_word = self.facts.closed || self.facts.typed;
        for inner in keywords::subschemas_of(map) {
            // Its value is checked only where it must be `false` or absent.
            if !(closed_word && inner.keyword == "additionalProperties") {
                self.schema(inner.schema, &inner.pointer(at), nested + 1);
            }
        }
    }

    fn keywords(&mut self, map: &Map<String, Value>, at: &Pointer) {
        for keyword in map.keys() {
            let is_unknown = self.facts.keywords.is_some() && !self.facts.documents(keyword);
            if self.facts.refuses(keyword) || is_unknown && self.facts.unknown_refused {
                self.refused(
                    at,
                    format!("`{keyword}`"),
                    "the keyword is not taken",
                    "leave it out: validation judges later",
                );
            } else if is_unknown {
                self.found.warned(
                    at,
                    format!("`{keyword}`"),
                    "the keyword is not documented, and some models refuse it",
                    "leave it out",
                );
            }
        }
    }

    fn types(&mut self, map: &Map<String, Value>, at: &Pointer) {
        let word = map.get("type");
        if self.facts.nullable == Nullable::Keyword {
            if word.is_some_and(Value::is_array) {
                self.refused(
                    at,
                    "a list of types",
                    "a schema has one type",
                    "use `anyOf`, and `\"nullable\": true` for null",
                );
            }
            if word.is_some_and(|word| word == "null") {
                self.refused(
                    at,
                    "the type `null`",
                    "there is no such type",
                    "say `\"nullable\": true`",
                );
            }
        }
        let told = ["type", "anyOf", "$ref", "enum", "const", "allOf"];
        // Each strict subset compiles a grammar, which a value without a type does not have.
        let told = if self.facts.nullable == Nullable::Keyword {
            &told[..2]
        } else {
            &told[..]
        };
        if self.facts.typed && !told.iter().any(|keyword| map.contains_key(*keyword)) {
            self.refused(
                at,
                "a schema without a type",
                "a schema says its type",
                "say which values may come",
            );
        }
    }

    fn reference(&mut self, map: &Map<String, Value>, at: &Pointer) {
        if map.contains_key("$ref") && self.facts.refs && !self.facts.ref_siblings && map.len() > 1
        {
            self.refused(
                at,
                "keywords beside `$ref`",
                "a `$ref` stands alone",
                "put it in an `anyOf` of one",
            );
        }
        let mut parts = keywords::items(map.get("allOf")).iter();
        if !self.facts.recursion && parts.any(|part| part.get("$ref").is_some()) {
            self.refused(
                at,
                "`allOf` with `$ref`",
                "the two are not taken together",
                "merge what it refers to",
            );
        }
    }
}

/// Whether a schema says a type, alone or among others.
pub(super) fn is(map: &Map<String, Value>, word: &str) -> bool {
    keywords::says_type(map.get("type"), word)
}
