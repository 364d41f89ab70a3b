//! Everything that a gateway measures, by name.
//!
//! What comes in: nothing. What goes out: the families, each with what it counts and what its labels may
//! be. Deliberately not here: counting.

use super::Family;

/// Requests that servers were asked.
pub const REQUESTS: Family = Family::counter(
    "crossfeed_requests_total",
    "Requests to servers that ended, by kind of method and outcome.",
    &["server", "method", "outcome"],
);
/// How long servers took for tools.
pub const CALLS: Family = Family::seconds(
    "crossfeed_tool_call_duration_seconds",
    "How long servers took to answer calls of tools.",
    &["server"],
);
/// What the gateway adds to calls.
pub const ADDED: Family = Family::seconds(
    "crossfeed_added_seconds",
    "Time that the gateway itself took for calls of tools, before the server and after it.",
    &["stage"],
);
/// Bytes of messages.
pub const BYTES: Family = Family::counter(
    "crossfeed_message_bytes_total",
    "Bytes of messages to and from servers.",
    &["server", "direction"],
);
/// References that were resolved.
pub const REFERENCES: Family = Family::counter(
    "crossfeed_references_resolved_total",
    "References that were resolved in arguments of calls, by the server that was called.",
    &["server"],
);
/// References that were not.
pub const REFUSED: Family = Family::counter(
    "crossfeed_references_refused_total",
    "Reasons for which calls with references were not made.",
    &["code"],
);
/// Results of tools.
pub const RESULTS: Family = Family::counter(
    "crossfeed_results_total",
    "Results of tools, by whether they were recorded.",
    &["server", "outcome"],
);
/// Results that were cut.
pub const PREVIEWS: Family = Family::counter(
    "crossfeed_previews_total",
    "Results that were shown as previews.",
    &["server"],
);
/// Connections that came back.
pub const RESTARTS: Family = Family::counter(
    "crossfeed_server_restarts_total",
    "Connections to servers that were opened again.",
    &["server"],
);
/// Connections that were lost.
pub const FAILURES: Family = Family::counter(
    "crossfeed_server_failures_total",
    "Connections to servers that ended on their own or could not be opened.",
    &["server"],
);
/// What servers said that cannot be used.
pub const NO_MESSAGES: Family = Family::counter(
    "crossfeed_server_invalid_messages_total",
    "Invalid or oversized messages from servers.",
    &["server"],
);
/// What clients said that cannot be used.
pub const CLIENT_NO_MESSAGES: Family = Family::counter(
    "crossfeed_client_invalid_messages_total",
    "Invalid or oversized messages from clients.",
    &[],
);
/// Who was not let in.
pub const NOT_LET_IN: Family = Family::counter(
    "crossfeed_client_refused_total",
    "Requests over HTTP that were refused for who sent them.",
    &["status"],
);
/// How the servers are.
pub const CONNECTIONS: Family = Family::gauge(
    "crossfeed_server_connections",
    "Connections to servers, by state.",
    &["server", "state"],
);
/// Sessions of clients.
pub const SESSIONS: Family = Family::gauge("crossfeed_sessions", "Sessions over HTTP.", &[]);
/// Threads that were stuck.
pub const STALLS: Family = Family::counter(
    "crossfeed_worker_stalls_total",
    "How often a thread that serves clients was stuck for more than 100 ms.",
    &[],
);
/// How long they were.
pub const STALL_SECONDS: Family = Family::seconds(
    "crossfeed_worker_stall_seconds",
    "How long threads that serve clients were stuck.",
    &[],
);
/// Connections of clients.
pub const CLIENT_CONNECTIONS: Family = Family::gauge(
    "crossfeed_client_connections",
    "Connections of clients over HTTP, by state.",
    &["state"],
);
/// Child processes.
pub const PROCESSES: Family = Family::gauge(
    "crossfeed_processes",
    "Child processes that run, or have their place.",
    &[],
);
/// Child processes that there may be.
pub const PROCESSES_LIMIT: Family = Family::gauge(
    "crossfeed_processes_limit",
    "Child processes that may run at once.",
    &[],
);
/// Descriptors.
pub const DESCRIPTORS: Family = Family::gauge(
    "crossfeed_descriptors",
    "Descriptors that are given out, by what they are for.",
    &["for"],
);
/// Descriptors that there may be.
pub const DESCRIPTORS_LIMIT: Family = Family::gauge(
    "crossfeed_descriptors_limit",
    "Descriptors that may be given out, by what they are for.",
    &["for"],
);
/// What was refused because a limit was reached.
pub const REFUSALS: Family = Family::counter(
    "crossfeed_refusals_total",
    "What was refused because a limit was reached.",
    &["limit"],
);
/// Connections that gave their processes back.
pub const RETURNS: Family = Family::counter(
    "crossfeed_processes_returned_total",
    "Child processes that ended because their session did not use them.",
    &["server"],
);

/// Faults of the gateway's own.
pub const PANICS: Family = Family::counter(
    "crossfeed_panics_total",
    "Tasks of the gateway that panicked.",
    &[],
);

/// Bytes that the gateway holds.
pub const MEMORY_HELD: Family = Family::gauge(
    "crossfeed_memory_held_bytes",
    "Bytes of messages, arguments and results that the gateway holds.",
    &[],
);
/// Bytes that it may hold.
pub const MEMORY_LIMIT: Family = Family::gauge(
    "crossfeed_memory_limit_bytes",
    "Bytes of messages, arguments and results that the gateway may hold.",
    &[],
);
/// What found no room.
pub const MEMORY_REFUSED: Family = Family::counter(
    "crossfeed_memory_refused_total",
    "What was refused because the gateway held as much as it may, by what it was.",
    &["kind"],
);

/// All of them.
pub const ALL: [Family; 28] = [
    REQUESTS,
    CALLS,
    ADDED,
    BYTES,
    REFERENCES,
    REFUSED,
    RESULTS,
    PREVIEWS,
    RESTARTS,
    FAILURES,
    NO_MESSAGES,
    CLIENT_NO_MESSAGES,
    CONNECTIONS,
    SESSIONS,
    MEMORY_HELD,
    MEMORY_LIMIT,
    MEMORY_REFUSED,
    STALLS,
    STALL_SECONDS,
    CLIENT_CONNECTIONS,
    PROCESSES,
    PROCESSES_LIMIT,
    DESCRIPTORS,
    DESCRIPTORS_LIMIT,
    REFUSALS,
    NOT_LET_IN,
    RETURNS,
    PANICS,
];
