//! Objects and lists as the provider takes them.

use super::{Narrowing, is_annotation, merge, shape};
use crate::profile::{facts::Nullable, fold_schema};
use crossfeed_schema::keywords;
use crossfeed_wire::Pointer;
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::HashSet};

impl Narrowing<'_> {
    /// An object or a list, or a folded place where the provider has no words for it.
    pub(super) fn container(
        &mut self,
        flat: &Map<String, Value>,
        word: &str,
        nullable: bool,
        annotations: Map<String, Value>,
        at: &Pointer,
        nested: usize,
    ) -> Value {
        self.inside += 1;
        let told = match word {
            "array" => Some(self.array(flat, at, nested)),
            _ if self.is_open_ended(flat) => None,
            _ => Some(self.object(flat, at, nested, false)),
        };
        self.inside -= 1;
        let Some(mut told) = told else {
            return self.folded_or_null(nullable, annotations);
        };
        let by_keyword = self.facts.nullable == Nullable::Keyword;
        if nullable && by_keyword {
            told.insert("nullable".to_owned(), Value::Bool(true));
        } else if nullable {
            told.insert("type".to_owned(), json!([word, "null"]));
        }
        told.extend(annotations);
        shape::in_order_of(flat, told)
    }

    /// Whether an object may have keys that cannot be told.
    fn is_open_ended(&self, flat: &Map<String, Value>) -> bool {
        let says = |keyword: &str| {
            let value = flat.get(keyword);
            value.filter(|value| **value != Value::Bool(false))
        };
        let named = |keyword: &str| keywords::members(flat.get(keyword)).next().is_some();
        let rest = says("additionalProperties").or_else(|| says("unevaluatedProperties"));
        let closed = ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .any(|keyword| flat.get(keyword) == Some(&Value::Bool(false)));
        if named("patternProperties") || rest.is_some() {
            return true;
        }
        let declared = named("properties") || !closed && self.declared_by_branches(flat);
        !declared && (!closed || !self.facts.empty_objects)
    }

    fn declared_by_branches(&self, flat: &Map<String, Value>) -> bool {
        let mut flat = flat.clone();
        flat.shift_remove("properties");
        merge::admit_branches(&mut flat, |to| self.target(to).map(|(_, target)| target));
        flat.contains_key("properties")
    }

    /// An object with its declared properties.
    pub(super) fn object(
        &mut self,
        flat: &Map<String, Value>,
        at: &Pointer,
        nested: usize,
        is_root: bool,
    ) -> Map<String, Value> {
        let mut flat = Cow::Borrowed(flat);
        let closed = flat.get("additionalProperties") == Some(&Value::Bool(false));
        if !closed && merge::has_branches(&flat) {
            for keyword in flat.keys().filter(|keyword| merge::is_branch(keyword)) {
                self.drop_keyword(at, keyword);
            }
            let target = |to: &str| self.target(to).map(|(_, target)| target);
            merge::admit_branches(flat.to_mut(), target);
        }
        let required = keywords::strings(flat.get("required"));
        let required: Vec<String> = required.map(str::to_owned).collect();
        let mut known: HashSet<String> = required.iter().cloned().collect();
        let mut properties = Map::new();
        let mut demanded = Vec::new();
        for (name, schema) in keywords::members(flat.get("properties")) {
            let at = at.key("properties").key(name);
            let told = self.schema(schema, &at, nested + 1);
            let sent = known.remove(name);
            let told = if sent || !self.facts.every_required {
                told
            } else {
                self.or_null(told)
            };
            // Null says absent, so that a property which may be null is not optional.
            if sent || self.facts.closed && self.admits_null(&told) {
                demanded.push(Value::from(name.as_str()));
            }
            properties.insert(name.clone(), told);
        }
        // A closed object must declare what it demands.
        for name in required {
            if known.remove(&name) && (self.facts.closed || is_root) {
                properties.insert(name.clone(), fold_schema());
                demanded.push(Value::String(name));
            }
        }
        let mut told = Map::from_iter([
            ("type".to_owned(), Value::from("object")),
            ("properties".to_owned(), Value::Object(properties)),
        ]);
        if !demanded.is_empty() || self.facts.every_required {
            told.insert("required".to_owned(), Value::Array(demanded));
        }
        if self.facts.closed {
            told.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        for (keyword, value) in flat.iter() {
            let said = told.contains_key(keyword) || keyword == "required";
            let kept = self.facts.documents(keyword);
            let bound = matches!(keyword.as_str(), "minProperties" | "maxProperties");
            if kept && bound && value.is_u64() && nested > 0 {
                told.insert(keyword.clone(), value.clone());
            } else if !(said || kept && is_told_elsewhere(keyword)) {
                self.drop_keyword(at, keyword);
            }
        }
        if is_root {
            told.extend(self.annotations(&flat));
        }
        match shape::in_order_of(&flat, told) {
            Value::Object(told) => told,
            _ => Map::new(),
        }
    }

    /// A list with its items.
    fn array(
        &mut self,
        flat: &Map<String, Value>,
        at: &Pointer,
        nested: usize,
    ) -> Map<String, Value> {
        let listed = |keyword: &str| flat.get(keyword).and_then(Value::as_array);
        let places = listed("prefixItems").or_else(|| listed("items"));
        let rest = match flat.get("items") {
            Some(Value::Array(_)) => flat.get("additionalItems"),
            items => items.or_else(|| flat.get("unevaluatedItems")),
        };
        let mut told = Vec::new();
        if let Some(places) = places {
            for (index, schema) in places.iter().enumerate() {
                told.push(self.schema(schema, &at.key("prefixItems").index(index), nested + 1));
            }
        }
        let most = flat.get("maxItems").and_then(Value::as_u64);
        let full = most.is_some_and(|most| most <= places.map_or(0, Vec::len) as u64);
        let no_rest = rest == Some(&Value::Bool(false)) || full;
        if told.is_empty() || !no_rest {
            let any = Value::Bool(true);
            told.push(self.schema(rest.unwrap_or(&any), &at.key("items"), nested + 1));
        }
        let items = self.union(told, Map::new());
        let mut map = Map::from_iter([
            ("type".to_owned(), Value::from("array")),
            ("items".to_owned(), items),
        ]);
        for (keyword, value) in flat {
            let bound = match keyword.as_str() {
                "minItems" => {
                    let least = value.as_u64();
                    least.is_some_and(|least| self.facts.min_items.is_none_or(|most| least <= most))
                }
                "maxItems" => value.is_u64(),
                _ => false,
            };
            let kept = self.facts.documents(keyword);
            if kept && bound {
                map.insert(keyword.clone(), value.clone());
            } else if !(map.contains_key(keyword) || kept && is_told_elsewhere(keyword)) {
                self.drop_keyword(at, keyword);
            }
        }
        map
    }
}

/// Whether a keyword that the provider takes is written by another step.
fn is_told_elsewhere(keyword: &str) -> bool {
    is_annotation(keyword) || matches!(keyword, "$schema" | "$defs" | "definitions")
}
