//! Laws of stripping, over generated nestings.

use super::{EMBEDDED_KEY, Json, Nesting, keys_at_all_levels, nesting};
use crate::{Outcome, Policy};
use crossfeed_json::{Document, quoted, unescape};
use crossfeed_projection::RevealRules;
use crossfeed_wire::internal::is_internal;
use proptest::prelude::*;
use std::collections::HashSet;

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
                    .map(|(key, value)| (key.replace(EMBEDDED_KEY, "[{}]"), without(value, false)))
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

/// Every text that is not valid JSON itself, at every level, keys included; `None` where a key stands twice.
fn texts(text: &str) -> Option<HashSet<String>> {
    let mut found = HashSet::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        let Ok(value) = super::read(&text) else {
            found.insert(text);
            continue;
        };
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            match value {
                super::Read::Other => {}
                super::Read::Text(text) => open.push(text),
                super::Read::List(items) => values.extend(items),
                super::Read::Object(members) => {
                    let mut seen = HashSet::new();
                    for (key, value) in members {
                        if !seen.insert(key.clone()) {
                            return None;
                        }
                        open.push(key);
                        values.push(value);
                    }
                }
            }
        }
    }
    Some(found)
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
        let left = match policy.strip("", &nesting.text) {
            Outcome::Text(left) => left,
            _ => nesting.text,
        };
        for key in keys_at_all_levels(&left) {
            prop_assert!(key != "a" && key != "b_", "{}", left);
        }
    }

    #[test]
    fn what_projection_hides_is_hidden(nesting in nesting(), path in 0..4_usize) {
        let path = ["a", "b_", "a.b_", "é"][path];
        let rules = RevealRules::parse([""; 0], [path]).unwrap();
        let policy = Policy::default().with_never([path]).unwrap();
        // Of a text that is not a list and no object, projection withholds the whole, and this the part.
        if !nesting.text.trim_start().starts_with(['{', '[']) {
            return Ok(());
        }
        let text = quoted(&nesting.text);
        for result in [&nesting.text, &format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#)] {
            let document = Document::new(result.clone());
            let root = document.root().unwrap();
            let shown = match root.get("content") {
                Some(_) => rules.redact_result(root).map(|shown| shown.json),
                None => rules.redact_value(root),
            };
            let shown = shown.map_or(result.clone(), |json| String::from_utf8(json).unwrap());
            let left = match policy.strip("", result) {
                Outcome::Text(left) => left,
                _ => result.clone(),
            };
            // Projection writes one of keys that stand twice.
            if let (Some(_), Some(shown), Some(left)) =
                (texts(result), texts(&shown), texts(&left))
            {
                for text in left {
                    // Where a path has more steps, projection withholds JSON that was cut off, unread.
                    let unread = path.contains('.') && text.trim_start().starts_with(['{', '[']);
                    prop_assert!(
                        unread || text == "[withheld]" || shown.contains(&text),
                        "{}: {:?} of {}", path, text, result
                    );
                }
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
            // What is within a key is not the top level.
            Ok(Read::Object(members)) => members
                .into_iter()
                .map(|(key, _)| key.replace(r#"[{"_toolCallId":1}]"#, "[{}]"))
                .collect(),
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
