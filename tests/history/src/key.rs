//! Keys: texts that name one call and nobody else could write.
//!
//! A key stands in the arguments of its call, and the server repeats it in whatever it says about that call. It names the
//! principal and ends with a secret, so every key in a client's bytes can be traced to the call that it belongs to.

use std::collections::BTreeSet;

use crate::seed::Seed;

const PREFIX: &str = "key:";
const END: char = ';';
/// How call ids of a session begin. They name something else in every session.
pub(crate) const OF_A_SESSION: &str = "call_";

/// The key of call `number` of a client. Its principal is the part before the first dot.
pub(crate) fn key(client: &str, number: u64, seed: &Seed) -> String {
    format!("{PREFIX}{client}.{number}.{:08x}{END}", seed.next() >> 32)
}

const TASK: &str = "task-";

/// The id of the task that a call with this key becomes. It is not a key, so that a list of tasks holds none.
pub(crate) fn task_id(key: &str) -> String {
    let rest = key.strip_prefix(PREFIX).unwrap_or(key);
    format!("{TASK}{}", rest.trim_end_matches(END))
}

/// The keys of all calls whose tasks stand in a text.
pub(crate) fn keys_of_tasks(text: &str) -> Vec<String> {
    let found = text.match_indices(TASK).map(|(start, _)| {
        let rest = &text[start + TASK.len()..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
        format!("{PREFIX}{}{END}", &rest[..end.unwrap_or(rest.len())])
    });
    found.collect()
}

/// The principal whose call has this key.
pub(crate) fn principal(key: &str) -> &str {
    let name = key.strip_prefix(PREFIX).unwrap_or(key);
    name.split('.').next().unwrap_or(name)
}

/// Every key in a text.
pub(crate) fn keys(text: &str) -> BTreeSet<String> {
    text.match_indices(PREFIX)
        .filter_map(|(start, _)| {
            let rest = text.get(start + PREFIX.len()..)?;
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.'))?;
            let closed = end > 0 && rest[end..].starts_with(END);
            closed.then(|| text[start..=start + PREFIX.len() + end].to_owned())
        })
        .collect()
}

/// What stands before a call id: beside a result that is shown whole, at the beginning of a preview, and
/// in the `_meta` of what a program reads.
const BEFORE_ID: [&str; 3] = [
    "_toolCallId",
    "[crossfeed preview of",
    "dev.crossfeed/callId",
];

/// Every call id that the gateway gave in a text, however often what stands before it was escaped.
pub(crate) fn call_ids(text: &str) -> BTreeSet<String> {
    let places = BEFORE_ID.iter().flat_map(|before| {
        let found = text.match_indices(before);
        found.map(|(start, before)| start + before.len())
    });
    places
        .filter_map(|start| {
            let rest = text.get(start..)?;
            let id = rest.trim_start_matches(['\\', '"', ':', ' ']);
            let end = id.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
            (end > 0).then(|| id[..end].to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{call_ids, key, keys, keys_of_tasks, principal, task_id};
    use crate::seed::Seed;

    #[test]
    fn keys_are_found_wherever_they_stand() {
        let (first, second) = (
            key("ada.web1", 1, &Seed::new(1)),
            key("bob.web2", 2, &Seed::new(1)),
        );
        let text =
            format!(r#"{{"text":"{{\"key\":\"{first}\"}}","more":"{second}","cut":"key:ada"}}"#);
        assert_eq!(
            keys(&text).into_iter().collect::<Vec<_>>(),
            [first.clone(), second.clone()]
        );
        assert_eq!(principal(&second), "bob");
        let list = format!("[\"{}\",\"{}\"]", task_id(&first), task_id(&second));
        assert!(keys(&list).is_empty());
        assert_eq!(keys_of_tasks(&list), [first, second]);
    }

    #[test]
    fn call_ids_are_found_through_escapes() {
        let text = r#"{"a":{"_toolCallId":"call_7"},"text":"{\"_toolCallId\": \"abc2\"}","_meta":{"dev.crossfeed/callId":"call_8"},
            "preview":"[crossfeed preview of call_9: cut, not the data]\n[1,… 2 more items]\n[end of crossfeed preview of call_9]"}"#;
        assert_eq!(
            call_ids(text).into_iter().collect::<Vec<_>>(),
            ["abc2", "call_7", "call_8", "call_9"]
        );
    }
}
