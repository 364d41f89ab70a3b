//! The metrics of a gateway: names, help texts and labels.

use super::{Family, Kind};

/// Declares families, and the list of all of them.
macro_rules! families {
    ($($name:ident = $kind:ident($metric:literal, $labels:expr, $help:literal);)*) => {
        $(
            #[doc = $help]
            pub const $name: Family = Family {
                name: $metric,
                help: $help,
                labels: &$labels,
                kind: Kind::$kind,
            };
        )*

        /// All families.
        pub const ALL: [Family; [$($metric),*].len()] = [$($name),*];
    };
}

families! {
    REQUESTS = Counter("crossfeed_requests_total", ["server", "method", "outcome"],
        "Requests to servers that ended, by kind of method and outcome.");
    CALLS = Histogram("crossfeed_tool_call_duration_seconds", ["server"],
        "How long servers took to answer calls of tools.");
    ADDED = Histogram("crossfeed_added_seconds", ["stage"],
        "Time that the gateway itself took for calls of tools, before the server and after it.");
    BYTES = Counter("crossfeed_message_bytes_total", ["server", "direction"],
        "Bytes of messages to and from servers.");
    REFERENCES = Counter("crossfeed_references_resolved_total", ["server"],
        "References that were resolved in arguments of calls, by the server that was called.");
    REFUSED = Counter("crossfeed_references_refused_total", ["code"],
        "Reasons for which calls with references were not made.");
    RESULTS = Counter("crossfeed_results_total", ["server", "outcome"],
        "Results of tools, by whether they were recorded.");
    PREVIEWS = Counter("crossfeed_previews_total", ["server"],
        "Results that were shown as previews.");
    RESTARTS = Counter("crossfeed_server_restarts_total", ["server"],
        "Connections to servers that were opened again.");
    FAILURES = Counter("crossfeed_server_failures_total", ["server"],
        "Connections to servers that ended on their own or could not be opened.");
    NO_MESSAGES = Counter("crossfeed_server_invalid_messages_total", ["server"],
        "Invalid or oversized messages from servers.");
    CLIENT_NO_MESSAGES = Counter("crossfeed_client_invalid_messages_total", [],
        "Invalid or oversized messages from clients.");
    NOT_LET_IN = Counter("crossfeed_client_refused_total", ["status"],
        "Requests over HTTP that were refused for who sent them.");
    CONNECTIONS = Gauge("crossfeed_server_connections", ["server", "state"],
        "Connections to servers, by state.");
    SESSIONS = Gauge("crossfeed_sessions", [], "Sessions over HTTP.");
    TAKEN_UP = Counter("crossfeed_sessions_taken_up_total", [],
        "Sessions of another process, or of before, that go on here.");
    SENT_ON = Counter("crossfeed_replica_requests_total", ["outcome"],
        "Requests that were sent on to other replicas, by what became of them, each attempt.");
    STALLS = Counter("crossfeed_worker_stalls_total", [],
        "How often a thread that serves clients was stuck for more than 100 ms.");
    STALL_SECONDS = Histogram("crossfeed_worker_stall_seconds", [],
        "How long threads that serve clients were stuck.");
    CLIENT_CONNECTIONS = Gauge("crossfeed_client_connections", ["state"],
        "Connections of clients over HTTP, by state.");
    PROCESSES = Gauge("crossfeed_processes", [], "Child processes that run, or have their place.");
    PROCESSES_LIMIT = Gauge("crossfeed_processes_limit", [],
        "Child processes that may run at once.");
    DESCRIPTORS = Gauge("crossfeed_descriptors", ["for"],
        "Descriptors that are given out, by what they are for.");
    DESCRIPTORS_LIMIT = Gauge("crossfeed_descriptors_limit", ["for"],
        "Descriptors that may be given out, by what they are for.");
    REFUSALS = Counter("crossfeed_refusals_total", ["limit"],
        "What was refused because a limit was reached.");
    RETURNS = Counter("crossfeed_processes_returned_total", ["server"],
        "Child processes that ended because their session did not use them.");
    PANICS = Counter("crossfeed_panics_total", [], "Tasks of the gateway that panicked.");
    MEMORY_HELD = Gauge("crossfeed_memory_held_bytes", [],
        "Bytes of messages, arguments and results that the gateway holds.");
    MEMORY_LIMIT = Gauge("crossfeed_memory_limit_bytes", [],
        "Bytes of messages, arguments and results that the gateway may hold.");
    MEMORY_REFUSED = Counter("crossfeed_memory_refused_total", ["kind"],
        "What was refused because the gateway held as much as it may, by what it was.");
    STORE_OPERATIONS = Histogram("crossfeed_store_operation_duration_seconds", ["operation"],
        "How long operations of the store took, by operation.");
    STORE_FAILURES = Counter("crossfeed_store_failures_total", ["operation"],
        "Operations of the store that failed because of its backend.");
    STORE_CACHE = Counter("crossfeed_store_cache_lookups_total", ["outcome"],
        "Results and artifacts that were asked for and exist, by whether they were in this process's memory.");
    STORE_GONE = Counter("crossfeed_store_results_gone_total", ["reason"],
        "Results that left the store on requests of this process, by reason.");
    STORE_LOST_LEASES = Counter("crossfeed_store_lost_leases_total", [],
        "Calls in flight that had to be renewed and no longer counted as this process's.");
}
