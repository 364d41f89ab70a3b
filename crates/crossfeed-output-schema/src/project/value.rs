//! Values that stand in a schema, and its keywords for scalars: cut as an instance is.

use super::{
    cuts::{CutId, Cuts},
    make::{Maker, Part},
};
use serde_json::{Map, Value};

/// Keywords that assert something of a string's characters.
const CHARACTERS: [&str; 3] = ["pattern", "minLength", "maxLength"];

impl Maker<'_, '_> {
    /// `enum` and `const`.
    pub(super) fn constants(&mut self, keyword: &str, value: &Value, cut: CutId) -> Part {
        if cut == CutId::WHOLE {
            return Part::kept(value.clone());
        }
        let mut exact = true;
        let mut project = |value: &Value| {
            exact &= !matches!(value, Value::Array(_) | Value::Object(_));
            projected(&mut self.cuts, value, cut)
        };
        let outcome = match (keyword, value) {
            ("enum", Value::Array(values)) => {
                let mut left: Vec<Value> = Vec::with_capacity(values.len());
                let mut known = std::collections::HashSet::new();
                for value in values {
                    let Some(value) = project(value) else {
                        return Part::dropped();
                    };
                    if known.insert(value.to_string()) {
                        left.push(value);
                    }
                }
                Some(Value::Array(left))
            }
            _ => project(value),
        };
        match outcome {
            Some(value) => Part::of(Some(value), exact),
            None => Part::dropped(),
        }
    }

    /// What a string's characters must be: nothing is known of a string whose JSON was rewritten.
    pub(super) fn characters(&mut self, keyword: &str, value: &Value, cut: CutId) -> Option<Part> {
        if !CHARACTERS.contains(&keyword) {
            return None;
        }
        Some(if self.cuts.rewrites_strings(cut) {
            Part::dropped()
        } else {
            Part::kept(value.clone())
        })
    }

    /// A keyword that asserts nothing, or is not known: what it says of the value is cut as the
    /// value is, and what it says in words goes where it names what is never shown.
    pub(super) fn said(&mut self, keyword: &str, value: &Value, cut: CutId) -> Option<Value> {
        let whole = cut == CutId::WHOLE;
        match keyword {
            "examples" => {
                let values = value.as_array()?;
                let values = values.iter();
                let values = values.filter_map(|value| projected(&mut self.cuts, value, cut));
                Some(Value::Array(values.collect()))
            }
            "default" | "example" => projected(&mut self.cuts, value, cut),
            _ if refers(value) => None,
            _ if whole || !self.cuts.withholds() => Some(value.clone()),
            // Whatever it is: with rules about what is never shown, only words are known to be
            // harmless, and those only without such names.
            _ => match value {
                Value::String(text) if self.cuts.mentions_withheld(text) => None,
                Value::Object(_) | Value::Array(_) => None,
                value => Some(value.clone()),
            },
        }
    }
}

/// Whether something within a value looks as if it referred, or were referred to.
fn refers(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| is_address(key) || refers(value)),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// Whether a keyword refers, or is there to be referred to.
pub(super) fn is_address(keyword: &str) -> bool {
    matches!(
        keyword,
        "$ref"
            | "$dynamicRef"
            | "$recursiveRef"
            | "$id"
            | "$anchor"
            | "$dynamicAnchor"
            | "$recursiveAnchor"
            | "$schema"
            | "$vocabulary"
    )
}

/// A value as an instance is cut at this place; `None` where that cannot be told.
fn projected(cuts: &mut Cuts<'_>, value: &Value, cut: CutId) -> Option<Value> {
    if cut == CutId::WHOLE {
        return Some(value.clone());
    }
    Some(match value {
        Value::Object(members) => {
            let mut left = Map::new();
            for (key, value) in members {
                if let Some(inner) = cuts.member(cut, key) {
                    left.insert(key.clone(), projected(cuts, value, inner)?);
                }
            }
            Value::Object(left)
        }
        Value::Array(items) => {
            let mut left = Vec::with_capacity(items.len());
            for (at, value) in items.iter().enumerate() {
                let own = cuts.item(cut, at);
                match own.cuts[..] {
                    [] => {}
                    [inner] if !own.goes => left.push(projected(cuts, value, inner)?),
                    // It depends on which items stand before it.
                    _ => return None,
                }
            }
            Value::Array(left)
        }
        Value::String(text)
            if cuts.rewrites_strings(cut)
                && (may_hold_json(text) || cuts.mentions_withheld(text)) =>
        {
            return None;
        }
        scalar => scalar.clone(),
    })
}

/// Whether a string may be the text of an object or list.
fn may_hold_json(text: &str) -> bool {
    // A string that holds the JSON of a string may hold an object's within that.
    text.trim_start().starts_with(['{', '[', '"'])
}
