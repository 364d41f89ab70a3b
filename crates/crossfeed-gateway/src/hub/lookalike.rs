//! Methods that only look like one of the protocol: a server that reads methods leniently would do what
//! the gateway did not judge.

/// The methods of every revision that the gateway speaks, the most common first.
const KNOWN: &[&str] = &[
    "tools/call",
    "tools/list",
    "ping",
    "initialize",
    "server/discover",
    "resources/read",
    "resources/list",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/get",
    "prompts/list",
    "completion/complete",
    "logging/setLevel",
    "skills/list",
    "tasks/get",
    "tasks/result",
    "tasks/list",
    "tasks/cancel",
    "tasks/update",
    "roots/list",
    "sampling/createMessage",
    "elicitation/create",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/message",
    "notifications/roots/list_changed",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/elicitation/complete",
    "notifications/tasks",
    "notifications/tasks/status",
];

/// What methods about tasks begin with, those of other revisions included: tasks have owners.
pub(super) const TASKS: &str = "tasks/";

/// Whether a method equals one of the protocol, or begins like one about tasks, but for case, blanks,
/// control characters and invisible characters.
pub(super) fn is_lookalike(method: &str) -> bool {
    if KNOWN.contains(&method) {
        return false;
    }
    let is_invisible = |c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let plain: String = method.chars().filter(|c| !is_invisible(*c)).collect();
    let beginning = plain.get(..TASKS.len());
    let is_about_tasks = beginning.is_some_and(|plain| plain.eq_ignore_ascii_case(TASKS));
    is_about_tasks && !method.starts_with(TASKS)
        || KNOWN.iter().any(|known| known.eq_ignore_ascii_case(&plain))
}

#[cfg(test)]
mod tests {
    use super::is_lookalike;

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
}
