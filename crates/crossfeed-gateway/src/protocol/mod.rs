//! The words of MCP: revisions, methods, headers, keys of `_meta`, error codes and capabilities.

pub(crate) mod header;
pub(crate) mod method;
mod revision;

pub use revision::Revision;

/// Error codes of JSON-RPC 2.0 and of MCP.
pub mod code {
    /// The text is not valid JSON.
    pub const PARSE: i64 = -32700;
    /// The JSON is not a valid message.
    pub const INVALID_REQUEST: i64 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The other side of the gateway failed.
    pub const INTERNAL: i64 = -32603;
    /// The resource does not exist (revisions with sessions; later ones answer [`INVALID_PARAMS`]).
    pub const RESOURCE_NOT_FOUND: i64 = -32002;
    /// A header contradicts the body (2026-07-28).
    pub const HEADER_MISMATCH: i64 = -32020;
    /// The request does not declare a capability that it needs (2026-07-28).
    pub const MISSING_CAPABILITY: i64 = -32021;
    /// The gateway does not speak the revision, or not on this transport (2026-07-28).
    pub const UNSUPPORTED_REVISION: i64 = -32022;
}

/// Keys of `_meta`: the stateless era sends with each request what a session agrees on once.
pub(crate) mod meta {
    /// The extension that adds tasks to the stateless era.
    pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";
    pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
    pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    pub(crate) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
    pub(crate) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
    pub(crate) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    pub(crate) const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
}

/// What a server may ask its client, and the capability with which the client allows it.
pub(crate) const CLIENT_REQUESTS: [(&str, &str); 3] = [
    (method::ELICIT, "elicitation"),
    (method::CREATE_MESSAGE, "sampling"),
    (method::LIST_ROOTS, "roots"),
];

/// The capability that a client needs to be sent a request.
pub(crate) fn required_capability(method: &str) -> Option<&'static str> {
    let of_method = CLIENT_REQUESTS.iter().find(|(own, _)| *own == method);
    of_method.map(|(_, capability)| *capability)
}

/// Lists that may change: the capability, the notification, and the flag that subscribes to it.
pub(crate) const LIST_CHANGES: [(&str, &str, &str); 3] = [
    ("tools", method::TOOLS_CHANGED, "toolsListChanged"),
    ("prompts", method::PROMPTS_CHANGED, "promptsListChanged"),
    (
        "resources",
        method::RESOURCES_CHANGED,
        "resourcesListChanged",
    ),
];

/// Severities of log messages, the lowest first.
const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The severity of a log level: a higher number is more severe.
pub(crate) fn log_level(name: &str) -> Option<usize> {
    LOG_LEVELS.iter().position(|level| *level == name)
}

/// The name of a severity.
pub(crate) fn log_level_name(level: usize) -> Option<&'static str> {
    LOG_LEVELS.get(level).copied()
}
