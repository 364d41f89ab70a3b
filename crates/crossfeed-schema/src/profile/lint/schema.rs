//! One schema, judged by the facts.

use super::{Findings, recursion};
use crate::{
    Dialect, SchemaError, check,
    profile::{
        Counts, Facts, Limits, Profile,
        count::for_each_subschema,
        facts::{EnumValues, Nullable},
    },
};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value};

pub(super) fn judge(schema: &Value, profile: Profile, found: &mut Findings<'_>) {
    let facts = profile.facts();
    let root = Pointer::root();
    if !judge_as_schema(schema, facts, found) {
        return;
    }
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
    let mut judging = Judging {
        facts,
        profile,
        root: schema,
        found,
    };
    judging.schema(schema, &root, 0);
    if !facts.recursion && facts.refs {
        judging.recursion();
    }
    judge_size(schema, facts, found);
}

/// Whether a schema is one that can be judged further.
fn judge_as_schema(schema: &Value, facts: &Facts, found: &mut Findings<'_>) -> bool {
    if let Err(error) = check(schema) {
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
        return false;
    }
    if facts.only_2020_12 && !Dialect::Draft202012.is_valid(schema) {
        found.refused(
            &Pointer::root(),
            "the schema is valid in an older draft only".to_owned(),
            "schemas must match draft 2020-12",
            "write list-form `items` as `prefixItems`, and bounds as numbers".to_owned(),
        );
    }
    true
}

fn judge_size(schema: &Value, facts: &Facts, found: &mut Findings<'_>) {
    let counts = Counts::of(schema, facts);
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

struct Judging<'j, 's, 'f> {
    facts: &'static Facts,
    profile: Profile,
    root: &'s Value,
    found: &'j mut Findings<'f>,
}

impl Judging<'_, '_, '_> {
    fn refused(&mut self, at: &Pointer, what: impl Into<String>, why: &str, fix: &str) {
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

    fn object(&mut self, map: &Map<String, Value>, at: &Pointer, nested: usize) {
        let properties = map.get("properties").and_then(Value::as_object);
        let is_object = is(map, "object") || properties.is_some();
        if !is_object {
            return;
        }
        let empty = properties.is_none_or(Map::is_empty);
        if empty && !self.facts.empty_objects {
            let what = "an object without properties";
            let why = "an object has properties";
            if nested == 0 {
                let fix = "leave `parameters` out".to_owned();
                self.found.warned(at, what.to_owned(), why, fix);
            } else {
                self.refused(
                    at,
                    what,
                    why,
                    "declare them, or take the value as JSON text",
                );
            }
        }
        if self.facts.closed && map.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.refused(
                at,
                "an object that is not closed",
                "every object says `\"additionalProperties\": false`",
                "declare its properties and close it, or take the value as JSON text",
            );
        }
        let required = map.get("required").and_then(Value::as_array);
        let required: Vec<_> = required
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let declared = |name: &str| properties.is_some_and(|known| known.contains_key(name));
        if self.facts.closed || self.facts.unknown_refused {
            for name in required.iter().filter(|name| !declared(name)) {
                self.refused(
                    at,
                    format!("`{name}` is required and not declared"),
                    "what is required is declared",
                    "declare it",
                );
            }
        }
        for name in properties.into_iter().flat_map(Map::keys) {
            let at = at.key("properties").key(name);
            if self.facts.every_required && !required.contains(&name.as_str()) {
                self.refused(
                    &at,
                    "an optional property",
                    "every property is required",
                    "require it, and admit null",
                );
            }
            if !self.profile.admits_property(name, nested == 0) {
                let pattern = self.facts.property_name.map_or("", |rule| rule.pattern);
                let why = format!("a property's name matches `{pattern}`");
                self.refused(
                    &at,
                    "the property's name",
                    &why,
                    "rename it on the way out and back",
                );
            }
        }
    }

    fn list(&mut self, map: &Map<String, Value>, at: &Pointer) {
        if !is(map, "array") {
            return;
        }
        let items = map.get("items");
        if self.facts.items_required && items.is_none() {
            self.refused(
                at,
                "a list without `items`",
                "every list needs `items`",
                "say what the items are",
            );
        }
        if self.facts.items_required && items.is_some_and(Value::is_array) {
            self.refused(
                at,
                "`items` is a list",
                "`items` is one schema",
                "use `anyOf` for the items",
            );
        }
        let least = map.get("minItems").and_then(Value::as_u64);
        if let (Some(most), Some(least)) = (self.facts.min_items, least)
            && least > most
        {
            let why = format!("`minItems` is at most {most}");
            self.refused(at, format!("`minItems` of {least}"), &why, "leave it out");
        }
    }

    fn values(&mut self, map: &Map<String, Value>, at: &Pointer) {
        if let (Some(known), Some(format)) = (
            self.facts.formats,
            map.get("format").and_then(Value::as_str),
        ) {
            let taken = known.iter().any(|(word, formats)| {
                (is(map, word) || !map.contains_key("type")) && formats.contains(&format)
            });
            if !taken {
                self.refused(
                    at,
                    format!("the format `{format}`"),
                    "the format is not taken",
                    "leave it out",
                );
            }
        }
        let Some(values) = map.get("enum").and_then(Value::as_array) else {
            return;
        };
        let nested = |value: &Value| value.is_object() || value.is_array();
        let text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        match self.facts.enum_values {
            EnumValues::Scalars if values.iter().any(nested) => {
                self.refused(
                    at,
                    "an enum with objects or lists",
                    "an enum lists scalars",
                    "leave the enum out",
                );
            }
            EnumValues::Strings if !is(map, "string") || !values.iter().all(text) => {
                self.refused(
                    at,
                    "an enum of other than strings",
                    "an enum lists strings that are not empty",
                    "leave the enum out",
                );
            }
            _ => {}
        }
        let characters: usize = values
            .iter()
            .filter_map(Value::as_str)
            .map(|text| text.chars().count())
            .sum();
        if let Some(most) = self.facts.limits.enum_characters
            && values.len() > Limits::LARGE_ENUM
            && characters > most
        {
            let why = format!(
                "one of more than {} values may have {most}",
                Limits::LARGE_ENUM
            );
            let what = format!("an enum of {characters} characters");
            self.refused(at, what, &why, "leave the enum out");
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

    /// Finds a schema that refers to itself.
    fn recursion(&mut self) {
        if let Some(reference) = recursion::found(self.root) {
            let at = reference.strip_prefix('#').and_then(Pointer::parse);
            self.refused(
                &at.unwrap_or_default(),
                "a schema that refers to itself",
                "recursion is not taken",
                "take the inner value as JSON text",
            );
        }
    }
}

/// Whether a schema says a type, alone or among others.
fn is(map: &Map<String, Value>, word: &str) -> bool {
    match map.get("type") {
        Some(Value::String(one)) => one == word,
        Some(Value::Array(several)) => several.iter().any(|one| one == word),
        _ => false,
    }
}
