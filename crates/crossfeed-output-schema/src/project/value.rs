//! Values that stand in a schema, and its keywords for scalars: cut as an instance is.

use super::{
    cuts::{CutId, Cuts},
    make::{Maker, Pieces},
    parts::distinct,
};
use crossfeed_schema::{
    index::{REFERENCES, has_key},
    keywords,
};
use serde_json::{Map, Value};

impl Maker<'_, '_> {
    /// `enum` and `const`.
    pub(super) fn constants(
        &mut self,
        keyword: &str,
        value: &Value,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Option<Value> {
        if cut == CutId::WHOLE {
            return Some(value.clone());
        }
        let is_list = keyword == "enum";
        let values = if is_list {
            keywords::items(Some(value))
        } else {
            std::slice::from_ref(value)
        };
        let project = |value| projected(&mut self.cuts, value, cut);
        let projected: Option<Vec<_>> = values.iter().map(project).collect();
        let is_nested = |value: &Value| value.is_array() || value.is_object();
        pieces.exact &= projected.is_some() && !values.iter().any(is_nested);
        if is_list {
            Some(Value::Array(distinct(projected?)))
        } else {
            projected?.pop()
        }
    }

    /// A keyword that asserts nothing, or is unknown. Values in it are cut like instances, and words that name
    /// hidden fields go.
    pub(super) fn annotation(&mut self, keyword: &str, value: &Value, cut: CutId) -> Option<Value> {
        let whole = cut == CutId::WHOLE;
        match keyword {
            "examples" => {
                let values = value.as_array()?.iter();
                let values = values.filter_map(|value| projected(&mut self.cuts, value, cut));
                Some(values.collect())
            }
            "default" | "example" => projected(&mut self.cuts, value, cut),
            _ if has_key(value, &is_address) => None,
            _ if whole || !self.cuts.withholds() => Some(value.clone()),
            // If rules hide fields, only words without hidden names are harmless.
            _ => match value {
                Value::String(text) if self.cuts.mentions_withheld(text) => None,
                Value::Object(_) | Value::Array(_) => None,
                value => Some(value.clone()),
            },
        }
    }
}

/// Whether a keyword refers, or is there to be referred to.
pub(super) fn is_address(keyword: &str) -> bool {
    const TARGETS: [&str; 6] = [
        "$id",
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$schema",
        "$vocabulary",
    ];
    REFERENCES.contains(&keyword) || TARGETS.contains(&keyword)
}

/// Cuts a value like an instance at this place; `None` if the outcome is unknown.
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
