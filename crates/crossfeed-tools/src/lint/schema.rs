//! One schema, judged by the facts: as a schema, its root, its keywords and types, its size.

use super::{Findings, recursion};
use crate::{Counts, Facts, Nullable, profile::for_each_subschema};
use crossfeed_schema::{Dialect, SchemaError, checked, index::Index};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};

/// Judges a schema, and counts what it adds to the sums of a list.
pub(super) fn judge(schema: &Value, facts: &'static Facts, found: &mut Findings<'_>) -> Counts {
    let counts = Counts::of(schema);
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
            "write {\"type\": \"object\"}".to_owned(),
        );
        return;
    };
    if map.get("type").is_none_or(|word| word != "object") {
        found.refused(
            &root,
            "the root does not say `\"type\": \"object\"`".to_owned(),
            "arguments are an object",
            "add it".to_owned(),
        );
    }
    for keyword in facts.root_refused {
        if map.contains_key(*keyword) {
            found.refused(
                &root,
                format!("`{keyword}` at the root"),
                "the root may have no such keyword",
                "declare the properties at the root, and leave the rest to validation".to_owned(),
            );
        }
    }
    let mut judging = Judging { facts, found };
    judging.schema(schema, &root, 0);
    if !facts.recursion
        && facts.refs
        && let Some(at) = recursion::found(index)
    {
        judging.refused(
            &at,
            "a schema that refers to itself",
            "recursion is not taken",
            "take the inner value as JSON text",
        );
    }
}

/// Where the references of a schema lead, if it is one that can be judged further.
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
                fix.to_owned(),
            );
            return None;
        }
    };
    if facts.only_2020_12 && !Dialect::Draft202012.is_valid(schema) {
        found.refused(
            &Pointer::root(),
            "the schema is valid in an older draft only".to_owned(),
            "schemas must match draft 2020-12",
            "write list-form `items` as `prefixItems`, and bounds as numbers".to_owned(),
        );
    }
    Some(index)
}

fn judge_size(counts: Counts, facts: &Facts, found: &mut Findings<'_>) {
    let limits = facts.limits;
    let mut compare = |what: &str, number: usize, most: Option<usize>| {
        if let Some(most) = most.filter(|most| number > *most) {
            found.refused(
                &Pointer::root(),
                format!("{number} {what}"),
                &format!("one schema may have at most {most}"),
                "split the tool, or send it without `strict`".to_owned(),
            );
        }
    };
    compare("levels of nesting", counts.depth, limits.depth);
    compare("properties", counts.properties, limits.properties);
    compare("enum values", counts.enum_values, limits.enum_values);
    compare(
        "characters of names, enums and constants",
        counts.characters,
        limits.characters,
    );
}

/// A schema that is being judged.
pub(super) struct Judging<'j, 'f> {
    pub(super) facts: &'static Facts,
    pub(super) found: &'j mut Findings<'f>,
}

impl Judging<'_, '_> {
    pub(super) fn refused(&mut self, at: &Pointer, what: impl Into<String>, why: &str, fix: &str) {
        self.found.refused(at, what.into(), why, fix.to_owned());
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
        for_each_subschema(map, |step, schema| {
            // Judged by the word alone, where it must be false or away.
            if !(closed_word && step.keyword() == "additionalProperties") {
                self.schema(schema, &step.from(at), nested + 1);
            }
        });
    }

    fn keywords(&mut self, map: &Map<String, Value>, at: &Pointer) {
        for keyword in map.keys() {
            let keyword = keyword.as_str();
            let why = "the keyword is not taken";
            if self.facts.refused.contains(&keyword) {
                self.refused(
                    at,
                    format!("`{keyword}`"),
                    why,
                    "leave it out: validation judges later",
                );
                continue;
            }
            let Some(documented) = self.facts.keywords else {
                continue;
            };
            if documented.contains(&keyword) {
                continue;
            }
            if self.facts.unknown_refused {
                self.refused(
                    at,
                    format!("`{keyword}`"),
                    why,
                    "leave it out: validation judges later",
                );
            } else {
                self.found.warned(
                    at,
                    format!("`{keyword}`"),
                    "the keyword is not documented, and some models refuse it",
                    "leave it out".to_owned(),
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
        // Each strict subset compiles a grammar: a value without a type has none.
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
        let parts = map.get("allOf").and_then(Value::as_array);
        let refers = |part: &Value| part.get("$ref").is_some();
        if !self.facts.recursion && parts.is_some_and(|parts| parts.iter().any(refers)) {
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
    match map.get("type") {
        Some(Value::String(one)) => one == word,
        Some(Value::Array(several)) => several.iter().any(|one| one == word),
        _ => false,
    }
}
