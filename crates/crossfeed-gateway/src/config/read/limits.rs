//! The limits of a configuration.

use super::{Reader, fields::Fields};
use crate::config::{Limits, node::Node};

/// The least that messages and arguments may take.
const LEAST: usize = 64 << 10;

pub(super) fn limits(reader: &mut Reader<'_>, node: &Node) -> Limits {
    let mut limits = Limits::of_machine(&reader.sources.machine);
    let Some(mut fields) = Fields::of(reader, "limits", node) else {
        return limits;
    };
    // The sizes of the rest follow from it.
    let memory = fields.bytes(reader, "memoryBytes");
    if let Some((bytes, _)) = memory {
        limits = limits.with_memory(bytes);
    }
    let readable = [
        ("messageBytes", &mut limits.message_bytes),
        ("argumentBytes", &mut limits.argument_bytes),
    ];
    for (key, limit) in readable {
        if let Some((bytes, node)) = fields.bytes(reader, key) {
            *limit = bytes;
            if bytes < LEAST {
                let what =
                    "it is less than 64 KiB: ordinary lists of tools and calls would be refused";
                reader.problem(&fields.at(key), node.span.start, what);
            }
        }
    }
    let sizes = [
        ("sessionBytes", &mut limits.session_bytes),
        ("totalBytes", &mut limits.total_bytes),
    ];
    for (key, limit) in sizes {
        if let Some((bytes, _)) = fields.bytes(reader, key) {
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
    // What is written counts: nothing raises it behind the operator's back.
    if let Some((_, node)) = memory.filter(|(bytes, _)| limits.held_bytes() > *bytes) {
        let what = "it is less than four times `messageBytes`, or than twice `totalBytes`";
        let advice = "lower these, or leave them out: they follow from it".to_owned();
        reader.advise(
            &fields.at("memoryBytes"),
            node.span.start,
            what,
            Some(advice),
        );
    }
    fields.finish(reader);
    limits
}
