//! Methods and members that only look like one of the protocol: a server that reads them leniently would do
//! what the gateway did not judge.

use crate::protocol::method;

/// What methods about tasks begin with, those of other revisions included: tasks have owners.
pub(crate) const TASKS: &str = "tasks/";

/// Whether a method equals one of the protocol, or begins like one about tasks, but for case, blanks,
/// control characters and invisible characters.
pub(crate) fn is_lookalike(method: &str) -> bool {
    if method::ALL.contains(&method) {
        return false;
    }
    let plain = visible(method);
    let beginning = plain.get(..TASKS.len());
    let is_about_tasks = beginning.is_some_and(|plain| plain.eq_ignore_ascii_case(TASKS));
    is_about_tasks && !method.starts_with(TASKS)
        || method::ALL
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&plain))
}

/// The members of the parameters of requests by which the gateway judges and routes them.
const MEMBERS: &[&str] = &[
    "name",
    "arguments",
    "requestState",
    "inputResponses",
    "task",
    "taskId",
    "uri",
    "ref",
    "_meta",
];

/// The member of the protocol that a key is meant to be, but for what lenient readers ignore; none where it
/// is that member, or nothing like one.
pub(crate) fn looks_like(key: &str) -> Option<&'static str> {
    if MEMBERS.contains(&key) {
        return None;
    }
    let plain = visible(key);
    let mut members = MEMBERS.iter().copied();
    members.find(|member| member.eq_ignore_ascii_case(&plain))
}

/// A text without blanks, control characters and characters that take no room.
fn visible(text: &str) -> String {
    let is_visible = |c: &char| !c.is_whitespace() && !takes_no_room(*c);
    text.chars().filter(is_visible).collect()
}

/// Whether nobody sees a character: control characters, and those that take no room.
pub(crate) fn takes_no_room(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::{is_lookalike, looks_like};

    fn check(method: &str, expected: bool) {
        assert_eq!(is_lookalike(method), expected, "{method:?}");
    }

    #[test]
    fn methods_that_differ_in_what_lenient_readers_ignore_are_found() {
        for method in [
            "TOOLS/CALL",
            "tools/call ",
            " tools/call",
            "tools/ call",
            "Tools/Call",
            "tools/call\0",
            "tools/call\n",
            "tools/\u{200b}call",
            "\u{feff}tools/call",
            "logging/setlevel",
            "notifications/Cancelled",
            "TASKS/get ",
            " Tasks/",
            "Tasks/новое",
        ] {
            check(method, true);
        }
        for method in [
            "tools/call",
            "logging/setLevel",
            "tools/callx",
            "x/tools/call",
            "other/method",
            "Other Method",
            "tasks/новое",
            "tаsks/get",
            "task/get",
            "tasks",
            "",
        ] {
            check(method, false);
        }
    }

    #[test]
    fn members_that_differ_in_what_lenient_readers_ignore_are_found() {
        for key in [
            "requeststate",
            "RequestState",
            "request State",
            "requestState\u{200b}",
        ] {
            assert_eq!(looks_like(key), Some("requestState"), "{key:?}");
        }
        for key in [
            "requestState",
            "request_state",
            "names",
            "argument",
            "",
            "x",
        ] {
            assert_eq!(looks_like(key), None, "{key:?}");
        }
    }
}
