//! The limits of a configuration.

use super::{Reader, fields::Fields};
use crate::config::{Limits, node::Node};

pub(super) fn limits(reader: &mut Reader<'_>, node: &Node) -> Limits {
    let mut limits = Limits::of_machine(&reader.sources.machine);
    let Some(mut fields) = Fields::of(reader, "limits", node) else {
        return limits;
    };
    // The sizes of the rest follow from it.
    if let Some(bytes) = fields.bytes(reader, "memoryBytes") {
        limits = limits.with_memory(bytes);
    }
    let sizes = [
        ("messageBytes", &mut limits.message_bytes),
        ("argumentBytes", &mut limits.argument_bytes),
        ("sessionBytes", &mut limits.session_bytes),
        ("totalBytes", &mut limits.total_bytes),
    ];
    for (key, limit) in sizes {
        if let Some(bytes) = fields.bytes(reader, key) {
            *limit = bytes;
        }
    }
    let counts = [
        ("requestsPerClient", &mut limits.requests_per_client),
        ("sessions", &mut limits.sessions),
        ("processes", &mut limits.processes),
        ("sessionResults", &mut limits.session_results),
    ];
    for (key, limit) in counts {
        if let Some(count) = fields.count(reader, key) {
            *limit = count;
        }
    }
    let times = [
        ("sessionIdle", &mut limits.session_idle),
        ("processIdle", &mut limits.process_idle),
        ("startTimeout", &mut limits.start_timeout),
        ("shutdown", &mut limits.shutdown),
        ("resultIdle", &mut limits.result_idle),
        ("resultAge", &mut limits.result_age),
    ];
    for (key, limit) in times {
        if let Some(time) = fields.time(reader, key) {
            *limit = time;
        }
    }
    fields.finish(reader);
    limits
}
