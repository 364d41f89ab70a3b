//! The limits of a configuration.

use super::{Reader, fields::Fields};
use crate::config::{Limits, node::Node};

/// The least that messages and arguments may take.
const LEAST: usize = 64 << 10;
/// The least of which one message, an eighth, may still take that much.
const LEAST_MEMORY: usize = 8 * LEAST;

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
    if let Some((bytes, _)) = fields.bytes(reader, "totalBytes") {
        limits = limits.with_total(bytes);
    }
    if let Some((bytes, node)) = fields.bytes(reader, "sessionBytes") {
        limits.session_bytes = bytes;
        if bytes > limits.total_bytes {
            let what = "it is more than `totalBytes`, which all sessions share";
            let advice = "lower it, or leave it out: it follows from `totalBytes`".to_owned();
            let at = fields.at("sessionBytes");
            reader.advise(&at, node.span.start, what, Some(advice));
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
    if let Some((_, node)) = memory.filter(|(bytes, _)| *bytes < LEAST_MEMORY) {
        let what = "it is less than 512 KiB, of which one message may take an eighth";
        let advice = "write at least \"512 KiB\"".to_owned();
        let at = fields.at("memoryBytes");
        reader.advise(&at, node.span.start, what, Some(advice));
    } else if let Some((_, node)) = memory.filter(|(bytes, _)| limits.held_bytes() > *bytes) {
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
