//! Laws of stripping, over generated nestings.

use super::{Json, Nesting, keys_at_all_levels, nesting};
use crate::{Outcome, Policy};
use crossfeed_json::{Document, unescape};
use crossfeed_wire::internal::is_internal;
use proptest::prelude::*;

const RESULT: &str = "gen_ai.tool.call.result";
const MESSAGES: &str = "gen_ai.input.messages";

fn policy() -> Policy {
    Policy::default().with_kept(["_id"])
}

fn strip(attribute: &str, text: &str) -> String {
    match policy().strip(attribute, text) {
        Outcome::Unchanged => text.to_owned(),
        Outcome::Text(text) => text,
        Outcome::Dropped => panic!("dropped: {text}"),
    }
}

/// The value without what goes. `top` says whether it is a result's own value.
fn without(json: &Json, top: bool) -> Json {
    match json {
        Json::Atom(_) | Json::Text(_) => json.clone(),
        // What a string holds begins anew: a string around a result holds the result.
        Json::Embedded(inner) => Json::Embedded(Box::new(without(inner, top))),
        Json::List(items) => Json::List(items.iter().map(|item| without(item, false)).collect()),
        Json::Object(members) => {
            let stays = |key: &str| {
                let key = unescape(key);
                !(is_internal(&key) || top && key.starts_with('_') && key != "_id")
            };
            let members = members.iter().filter(|(key, _)| stays(key));
            Json::Object(
                members
                    .map(|(key, value)| (key.clone(), without(value, false)))
                    .collect(),
            )
        }
    }
}

/// What JSON stands for, blanks and escapes aside, down to the JSON in its strings.
fn meaning(text: &str) -> String {
    let Ok(value) = super::read(text) else {
        return format!("{text:?}");
    };
    fn say(value: super::Read, out: &mut String) {
        match value {
            super::Read::Other => out.push('.'),
            super::Read::Text(text) => *out += &format!("<{}>", meaning(&text)),
            super::Read::List(items) => {
                out.push('[');
                items.into_iter().for_each(|item| say(item, out));
                out.push(']');
            }
            super::Read::Object(members) => {
                out.push('{');
                for (key, value) in members {
                    *out += &format!("{key:?}:");
                    say(value, out);
                }
                out.push('}');
            }
        }
    }
    let mut out = String::new();
    say(value, &mut out);
    out
}

proptest! {
    #[test]
    fn no_internal_field_is_left_at_any_level(nesting in nesting()) {
        for attribute in [RESULT, MESSAGES, "", "anything.else"] {
            let left = strip(attribute, &nesting.text);
            for key in keys_at_all_levels(&left) {
                prop_assert!(!is_internal(&key), "{}: {}", attribute, left);
            }
        }
    }

    #[test]
    fn everything_else_is_left(nesting in nesting()) {
        let Nesting { json, blanks, text } = nesting;
        for (attribute, top) in [(RESULT, true), (MESSAGES, false)] {
            let mut expected = blanks.to_owned();
            without(&json, top).write(blanks, &mut expected);
            expected.push_str(blanks);
            let left = strip(attribute, &text);
            prop_assert_eq!(meaning(&left), meaning(&expected), "{} -> {}", text, left);
        }
    }

    #[test]
    fn what_has_nothing_to_strip_is_unchanged(nesting in nesting()) {
        let mut clean = String::new();
        without(&nesting.json, true).write(nesting.blanks, &mut clean);
        for attribute in [RESULT, MESSAGES] {
            prop_assert_eq!(policy().strip(attribute, &clean), Outcome::Unchanged, "{}", clean);
        }
    }

    #[test]
    fn stripping_twice_is_stripping_once(nesting in nesting()) {
        for attribute in [RESULT, MESSAGES] {
            let once = strip(attribute, &nesting.text);
            prop_assert_eq!(policy().strip(attribute, &once), Outcome::Unchanged, "{}", once);
        }
    }

    #[test]
    fn a_part_of_json_is_left_alone(nesting in nesting(), end in any::<proptest::sample::Index>()) {
        let text = nesting.text;
        let end = end.index(text.len() + 1);
        if let Some(part) = text.get(..end)
            && Document::new(part.to_owned()).root().is_err()
        {
            prop_assert_eq!(policy().strip(RESULT, part), Outcome::Unchanged);
        }
    }

    #[test]
    fn never_fails_and_never_leaks(text in any::<String>(), attribute in any::<String>()) {
        let nothing = Policy::default().strip(&attribute, &text);
        prop_assert_ne!(nothing, Outcome::Text(crate::FAILED.to_owned()));
    }

    #[test]
    fn what_is_never_revealed_is_nowhere(nesting in nesting()) {
        let policy = Policy::default().with_never(["a", "b_"]).unwrap();
        if let Outcome::Text(left) = policy.strip("", &nesting.text) {
            for key in keys_at_all_levels(&left) {
                prop_assert!(key != "a" && key != "b_", "{}", left);
            }
        }
    }
}

/// The engine's stripping knows the top level only: there, both leave the same.
#[cfg(feature = "engine")]
mod the_engine {
    use super::{super::Read, *};
    use crossfeed_core::StripPolicy;

    fn keys(text: &str) -> Vec<String> {
        match super::super::read(text) {
            Ok(Read::Object(members)) => members.into_iter().map(|(key, _)| key).collect(),
            _ => Vec::new(),
        }
    }

    proptest! {
        #[test]
        fn strips_the_same_from_the_top_level(nesting in nesting()) {
            let text = nesting.text;
            if !text.trim_start().starts_with('{') {
                return Ok(());
            }
            for (attribute, policy) in [
                (RESULT, StripPolicy::AllUnderscore),
                (MESSAGES, StripPolicy::Internal),
            ] {
                let document = Document::new(text.clone());
                let engine = crossfeed_core::strip(&document, policy);
                let engine = engine.map_or(text.clone(), |bytes| String::from_utf8(bytes).unwrap());
                let ours = match Policy::default().strip(attribute, &text) {
                    Outcome::Text(ours) => ours,
                    _ => text.clone(),
                };
                prop_assert_eq!(keys(&engine), keys(&ours));
            }
        }
    }
}
