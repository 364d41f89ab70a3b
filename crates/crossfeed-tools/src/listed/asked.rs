//! Finds parameters of this crate in arguments of a tool that neither offers nor declares them
//! (`specs/projection.md#parameters-for-the-model`).

use super::{ListedTool, ReadError};
use crate::reflect::{PART_WORDS, WHOLE};
use crossfeed_schema::{Position, keywords};
use crossfeed_wire::reference;
use serde_json::{Map, Value};

/// Keys that make a selector beside them part of a reference.
const NAMING_A_RESULT: [&str; 4] = ["$tool", "_tool", "$artifact", "_artifact"];

impl ListedTool {
    /// The members that ask for parts of the result though the tool does not offer it.
    pub(super) fn misasked(&self, arguments: &Value, own: &Position<'_>) -> Vec<ReadError> {
        let Value::Object(members) = arguments else {
            return Vec::new();
        };
        let whole = self
            .shown
            .reflected
            .contains(&WHOLE)
            .then(|| members.get(WHOLE));
        let whole = whole.flatten().map(|value| ReadError::NotBoolean {
            name: WHOLE,
            found: reference::type_name(value),
        });
        let words = PART_WORDS.into_iter();
        let words = words.filter(|name| self.is_misasked(name, members, own));
        let words = words.map(|name| ReadError::NotOffered {
            name,
            offered: self.part_parameters(),
        });
        words.chain(whole).collect()
    }

    /// The parameters that were added to ask for parts of a result.
    fn part_parameters(&self) -> Vec<&'static str> {
        let added = self.shown.reflected.iter().copied();
        added.filter(|name| PART_WORDS.contains(name)).collect()
    }

    /// Whether a member asks for parts of the result though the tool does not offer it: the member is not part of
    /// a reference, and the tool itself does not take it.
    fn is_misasked(&self, name: &str, members: &Map<String, Value>, own: &Position<'_>) -> bool {
        if !members.contains_key(name)
            || !self.shown.chained
            || self.shown.reflected.contains(&name)
        {
            return false;
        }
        // `{"url": "call_1", "$select": "items[0].url"}`
        let maps = reference::read_references(members, &|key| own.declares(key));
        if maps.is_ok_and(|maps| maps.iter().any(|map| map.key == name)) {
            return false;
        }
        let is_own = |key: &str| own.declares(key) || own.asks_for(key);
        let names_a_result = NAMING_A_RESULT.iter().any(|key| {
            let is_there = members.get(*key).is_some_and(|value| !value.is_null());
            is_there && !own.declares(key)
        });
        if names_a_result || is_own(name) {
            return false;
        }
        // Alone it is a reference without a call, whatever the tool takes.
        let mut keys = members.keys();
        let is_alone = reference::is_sentinel(name)
            && keys.all(|key| reference::is_sentinel(key) && !own.declares(key));
        is_alone || !self.may_take(name, own)
    }

    /// Whether the tool's own schema admits parameters that it does not declare, this one among them.
    fn may_take(&self, name: &str, own: &Position<'_>) -> bool {
        let is_open = own.schemas().any(|schema| {
            ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .filter_map(|key| schema.get(*key))
                .any(|rest| *rest != Value::Bool(false))
        });
        let has_pattern = own.schemas().any(|schema| {
            keywords::members(schema.get("patternProperties"))
                .any(|(pattern, _)| own.document().matches(pattern, name))
        });
        is_open || has_pattern || !self.admits_only_declared(own)
    }
}
