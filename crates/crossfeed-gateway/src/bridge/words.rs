//! The words in which the eras differ.

pub(super) use crate::meta;

/// Methods that only one of the eras has, or that bridges act on.
pub(super) mod method {
    pub(in crate::bridge) const INITIALIZE: &str = "initialize";
    pub(in crate::bridge) const DISCOVER: &str = "server/discover";
    pub(in crate::bridge) const PING: &str = "ping";
    pub(in crate::bridge) const SET_LEVEL: &str = "logging/setLevel";
    pub(in crate::bridge) const SUBSCRIBE: &str = "resources/subscribe";
    pub(in crate::bridge) const UNSUBSCRIBE: &str = "resources/unsubscribe";
    pub(in crate::bridge) const LISTEN: &str = "subscriptions/listen";
    pub(in crate::bridge) const READ: &str = "resources/read";
    pub(in crate::bridge) const INITIALIZED: &str = "notifications/initialized";
    pub(in crate::bridge) const CANCELLED: &str = "notifications/cancelled";
    pub(in crate::bridge) const PROGRESS: &str = "notifications/progress";
    pub(in crate::bridge) const MESSAGE: &str = "notifications/message";
    pub(in crate::bridge) const UPDATED: &str = "notifications/resources/updated";
    pub(in crate::bridge) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
    pub(in crate::bridge) const ROOTS_CHANGED: &str = "notifications/roots/list_changed";
}

/// What a server may ask of its client, and the capability by which the client says that it may.
pub(super) const ASKS: [(&str, &str); 3] = [
    ("elicitation/create", "elicitation"),
    ("sampling/createMessage", "sampling"),
    ("roots/list", "roots"),
];

/// The capability that a client must have to be asked so.
pub(super) fn asked_capability(method: &str) -> Option<&'static str> {
    ASKS.iter()
        .find(|(ask, _)| *ask == method)
        .map(|(_, capability)| *capability)
}

/// Lists that may change: the capability, the notification that says so, and the flag of a subscription
/// by which it is asked for.
pub(super) const CHANGES: [(&str, &str, &str); 3] = [
    (
        "tools",
        "notifications/tools/list_changed",
        "toolsListChanged",
    ),
    (
        "prompts",
        "notifications/prompts/list_changed",
        "promptsListChanged",
    ),
    (
        "resources",
        "notifications/resources/list_changed",
        "resourcesListChanged",
    ),
];

/// Levels of log messages, the most talkative first.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The place of a level: the higher, the graver.
pub(crate) fn level(name: &str) -> Option<usize> {
    LEVELS.iter().position(|level| *level == name)
}

/// The name of a level.
pub(super) fn level_name(level: usize) -> Option<&'static str> {
    LEVELS.get(level).copied()
}

pub(super) use crate::meta::TASKS;

/// Codes of errors that one era has and the other has not.
pub(super) mod code {
    /// Sessions: there is no such resource.
    pub(in crate::bridge) const RESOURCE_NOT_FOUND: i64 = -32002;
}
