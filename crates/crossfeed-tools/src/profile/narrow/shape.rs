//! Shapes flat schemas as the provider takes them: their types, unions, and scalar values.

use super::{NULLABLE, Narrowing, is_annotation, merge};
use crate::profile::{
    facts::{EnumValues, Nullable},
    fold_schema,
};
use crossfeed_schema::keywords;
use crossfeed_wire::{Pointer, reference::type_name};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

impl Narrowing<'_> {
    /// A schema without `$ref` and `allOf`.
    pub(super) fn shaped(
        &mut self,
        flat: &Map<String, Value>,
        at: &Pointer,
        nested: usize,
    ) -> Value {
        let annotations = self.annotations(flat);
        let branches = ["anyOf", "oneOf"].into_iter().find_map(|keyword| {
            let branches = flat.get(keyword)?.as_array()?;
            let structured = branches.iter().any(merge::is_structured);
            structured.then_some((keyword, branches))
        });
        if let Some((keyword, branches)) = branches {
            let mut around = flat.clone();
            around.retain(|key, _| !matches!(key.as_str(), "anyOf" | "oneOf") && !self.tells(key));
            let structured = merge::is_structured(&Value::Object(around.clone()));
            let mut told = Vec::with_capacity(branches.len());
            for (index, branch) in branches.iter().enumerate() {
                let at = at.key(keyword).index(index);
                told.push(match branch {
                    Value::Bool(false) => continue,
                    branch if says_null(branch) => json!({"type": "null"}),
                    Value::Object(branch) if structured => {
                        let mut whole = branch.clone();
                        merge_around(&mut whole, &around);
                        self.schema(&Value::Object(whole), &at, nested + 1)
                    }
                    _ if structured => self.schema(&Value::Object(around.clone()), &at, nested + 1),
                    branch => self.schema(branch, &at, nested + 1),
                });
            }
            return self.union(told, annotations);
        }
        let Some(types) = types(flat) else {
            return self.untyped(flat, annotations, at, nested);
        };
        let (containers, scalars): (Vec<_>, Vec<_>) = types
            .into_iter()
            .partition(|word| matches!(*word, "object" | "array"));
        if containers.is_empty() {
            return self.scalar(flat, &scalars, annotations, at);
        }
        if let ([container], [] | ["null"]) = (containers.as_slice(), scalars.as_slice()) {
            let nullable = !scalars.is_empty();
            return self.container(flat, container, nullable, annotations, at, nested);
        }
        let mut told = Vec::new();
        let values: Vec<_> = scalars
            .iter()
            .copied()
            .filter(|word| *word != "null")
            .collect();
        if !values.is_empty() {
            told.push(self.scalar(flat, &values, Map::new(), at));
        }
        for container in containers {
            told.push(self.container(flat, container, false, Map::new(), at, nested));
        }
        if scalars.contains(&"null") {
            told.push(json!({"type": "null"}));
        }
        self.union(told, annotations)
    }

    /// Whether a keyword is one of those that `annotations` keeps.
    fn tells(&self, keyword: &str) -> bool {
        is_annotation(keyword) && (self.facts.documents(keyword) || keyword == NULLABLE)
    }

    /// A schema without a type: its keywords for objects and lists apply to those only.
    fn untyped(
        &mut self,
        flat: &Map<String, Value>,
        annotations: Map<String, Value>,
        at: &Pointer,
        nested: usize,
    ) -> Value {
        let mut told = Vec::new();
        if keywords::members(flat.get("properties")).next().is_some() {
            told.push(self.container(flat, "object", false, Map::new(), at, nested));
        }
        if flat.contains_key("items") || flat.contains_key("prefixItems") {
            told.push(self.container(flat, "array", false, Map::new(), at, nested));
        }
        told.push(fold_schema());
        self.union(told, annotations)
    }

    /// Values that are not containers.
    fn scalar(
        &mut self,
        flat: &Map<String, Value>,
        types: &[&str],
        annotations: Map<String, Value>,
        at: &Pointer,
    ) -> Value {
        if self.facts.nullable == Nullable::Keyword {
            return self.scalar_by_keyword(flat, types, annotations, at);
        }
        let told = match types {
            ["null"] => Map::new(),
            _ => self.assertions(flat, types, at),
        };
        let mut ordered = Map::new();
        ordered.insert("type".to_owned(), type_words(types));
        ordered.extend(told);
        ordered.extend(annotations);
        in_order_of(flat, ordered)
    }

    /// The same where a schema has one type, and null is a keyword.
    fn scalar_by_keyword(
        &mut self,
        flat: &Map<String, Value>,
        types: &[&str],
        mut annotations: Map<String, Value>,
        at: &Pointer,
    ) -> Value {
        if types.contains(&"null") {
            annotations.insert("nullable".to_owned(), Value::Bool(true));
        }
        let mut told = Vec::new();
        for word in types.iter().filter(|word| **word != "null") {
            let mut one = Map::new();
            one.insert("type".to_owned(), Value::from(*word));
            one.extend(self.assertions(flat, &[word], at));
            told.push(in_order_of(flat, one));
        }
        if let [Value::Object(one)] = told.as_mut_slice() {
            one.extend(annotations);
            let one = std::mem::take(one);
            return in_order_of(flat, one);
        }
        self.union(told, annotations)
    }

    /// The assertions about values of these types that the provider takes.
    fn assertions(
        &mut self,
        flat: &Map<String, Value>,
        types: &[&str],
        at: &Pointer,
    ) -> Map<String, Value> {
        let has = |word: &str| types.contains(&word);
        let numeric = has("number") || has("integer");
        let mut told = Map::new();
        for (keyword, value) in flat {
            let kept = self.facts.documents(keyword);
            let fits = match keyword.as_str() {
                "enum" => {
                    if let Some(values) = self.enum_values(value, types) {
                        told.insert(keyword.clone(), values);
                    } else {
                        self.drop_keyword(at, keyword);
                    }
                    continue;
                }
                "const" => {
                    let values = Value::Array(vec![value.clone()]);
                    match self.enum_values(&values, types) {
                        Some(_) if kept => {
                            told.insert(keyword.clone(), value.clone());
                        }
                        Some(values) if !flat.contains_key("enum") => {
                            told.insert("enum".to_owned(), values);
                        }
                        _ => self.drop_keyword(at, keyword),
                    }
                    continue;
                }
                // `enum` is a format that promises an enum.
                "format" => value.as_str().is_some_and(|format| {
                    format != "enum" && self.facts.admits_format(format, has)
                }),
                "pattern" => has("string") && value.is_string(),
                "minLength" | "maxLength" => has("string") && value.is_u64(),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    numeric && value.is_number()
                }
                "multipleOf" => numeric && value.as_f64().is_some_and(|by| by > 0.0),
                "type" => continue,
                keyword if kept && is_annotation(keyword) => continue,
                _ => false,
            };
            if kept && fits {
                told.insert(keyword.clone(), value.clone());
            } else {
                self.drop_keyword(at, keyword);
            }
        }
        told
    }

    /// The values of an enum that these types allow; `None` where the provider takes none.
    fn enum_values(&self, values: &Value, types: &[&str]) -> Option<Value> {
        let values = values.as_array()?;
        let mut fitting: Vec<Value> = Vec::with_capacity(values.len());
        for value in values.iter().filter(|value| fits(value, types)) {
            let admitted = match self.facts.enum_values {
                EnumValues::Strings => value.as_str().is_some_and(|text| !text.is_empty()),
                EnumValues::Scalars => !value.is_object() && !value.is_array(),
                EnumValues::Any => true,
            };
            if !admitted {
                return None;
            }
            fitting.push(value.clone());
        }
        super::distinct(&mut fitting);
        (!fitting.is_empty()).then_some(Value::Array(fitting))
    }
}

/// Adds the assertions around a branch.
fn merge_around(branch: &mut Map<String, Value>, around: &Map<String, Value>) {
    if branch.contains_key("$ref") || branch.contains_key("allOf") {
        // Both must hold, and the branch is only known once it is merged.
        let inner = std::mem::take(branch);
        let parts = vec![Value::Object(inner), Value::Object(around.clone())];
        branch.insert("allOf".to_owned(), Value::Array(parts));
    } else {
        merge::add(branch, around.clone());
    }
}

/// Whether a value is of one of these types.
fn fits(value: &Value, types: &[&str]) -> bool {
    keywords::is_of_type(value, |word| types.contains(&word))
}

/// The types of a schema, said or seen from its values; `None` where any may come.
fn types(flat: &Map<String, Value>) -> Option<Vec<&'static str>> {
    const WORDS: [&str; 7] = [
        "string", "number", "integer", "boolean", "object", "array", "null",
    ];
    let known = |word: &Value| WORDS.into_iter().find(|known| word == known);
    let mut found: Vec<&'static str> = match flat.get("type") {
        Some(Value::Array(several)) => several.iter().filter_map(known).collect(),
        Some(one) => known(one).into_iter().collect(),
        None => {
            let listed = flat.get("enum").and_then(Value::as_array);
            let values = listed.map(Vec::as_slice);
            let values = values.or_else(|| flat.get("const").map(std::slice::from_ref));
            values.unwrap_or_default().iter().map(type_name).collect()
        }
    };
    let mut seen = HashSet::new();
    found.retain(|word| seen.insert(*word));
    if found.contains(&"number") {
        found.retain(|word| *word != "integer");
    }
    (!found.is_empty()).then_some(found)
}

fn type_words(types: &[&str]) -> Value {
    match types {
        [one] => Value::from(*one),
        several => several.iter().map(|word| Value::from(*word)).collect(),
    }
}

/// The members in the order of the source; new ones come last.
pub(super) fn in_order_of(source: &Map<String, Value>, mut told: Map<String, Value>) -> Value {
    let mut ordered = Map::new();
    for key in source.keys() {
        if let Some(value) = told.shift_remove(key) {
            ordered.insert(key.clone(), value);
        }
    }
    ordered.extend(told);
    Value::Object(ordered)
}

/// Whether a branch allows null only, whatever else it says.
fn says_null(branch: &Value) -> bool {
    let word = branch.get("type");
    let constant = word.is_none() && branch.get("const") == Some(&Value::Null);
    (constant || word.is_some_and(|word| word == "null"))
        && ["title", "description", "default", "example", "$ref"]
            .iter()
            .all(|keyword| branch.get(*keyword).is_none())
}

/// Whether a schema is nothing but null.
pub(super) fn is_null(schema: &Value) -> bool {
    let only = schema.as_object().is_some_and(|map| map.len() == 1);
    only && schema.get("type").is_some_and(|word| word == "null")
}

/// Takes plain strings out of a branch beside a folded one; `false` where nothing is left.
pub(super) fn leave_text_to_fold(branch: &mut Value) -> bool {
    let Value::Object(map) = branch else {
        return true;
    };
    if map.contains_key("description") || map.contains_key("enum") || map.contains_key("const") {
        return true;
    }
    match map.get_mut("type") {
        Some(Value::String(word)) => word != "string",
        Some(Value::Array(words)) => {
            words.retain(|word| word != "string");
            if let [only] = words.as_slice() {
                let only = only.clone();
                map.insert("type".to_owned(), only);
            }
            map.retain(|key, _| {
                !matches!(
                    key.as_str(),
                    "pattern" | "format" | "minLength" | "maxLength"
                )
            });
            true
        }
        _ => true,
    }
}
