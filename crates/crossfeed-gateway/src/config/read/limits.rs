//! Reads the limits.

use super::fields::Field;
use crate::config::{Limits, StoreLocation};

/// The smallest limit of messages and arguments.
const MIN_BYTES: usize = 64 << 10;
/// The smallest limit of memory: one message may take an eighth of it.
const MIN_MEMORY_BYTES: usize = 8 * MIN_BYTES;

pub(super) fn limits(field: Field<'_>, store: &StoreLocation) -> Option<Limits> {
    let is_redis = matches!(store, StoreLocation::Redis(_));
    let mut limits = Limits::for_machine(&field.reader.sources.machine);
    let mut fields = field.fields()?;
    // The other sizes follow from `memoryBytes`.
    let mut bytes = |key| {
        let field = fields.take(key)?;
        Some((field.bytes()?, field))
    };
    let memory = bytes("memoryBytes");
    if let Some((bytes, _)) = &memory {
        limits = limits.with_memory(*bytes);
    }
    let readable = [
        ("messageBytes", &mut limits.message_bytes),
        ("argumentBytes", &mut limits.argument_bytes),
    ];
    for (key, limit) in readable {
        if let Some((bytes, field)) = bytes(key) {
            *limit = bytes;
            if bytes < MIN_BYTES {
                let what = "less than 64 KiB: ordinary lists of tools and calls would be refused";
                field.problem(what);
            }
        }
    }
    if let Some((bytes, field)) = bytes("totalBytes") {
        limits = limits.with_total(bytes);
        if is_redis {
            let advice = "leave it out, and write `tenantBytes` in `store`".to_owned();
            field.advise("a store on Redis does not apply it", Some(advice));
        }
    }
    if let Some((bytes, field)) = bytes("sessionBytes") {
        limits.session_bytes = bytes;
        if bytes > limits.total_bytes && !is_redis {
            let advice = "lower it, or leave it out: it follows from `totalBytes`".to_owned();
            let what = "more than `totalBytes`, which all sessions share";
            field.advise(what, Some(advice));
        }
    }
    let counts = [
        ("requestsPerClient", &mut limits.requests_per_client),
        ("sessions", &mut limits.sessions),
        ("processes", &mut limits.processes),
        ("sessionResults", &mut limits.session_results),
    ];
    for (key, limit) in counts {
        *limit = fields.get(key).unwrap_or(*limit);
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
        *limit = fields.get(key).unwrap_or(*limit);
    }
    limits.drain = fields.get("drain");
    // A limit that is set is never raised silently.
    if let Some((bytes, field)) = memory {
        if bytes < MIN_MEMORY_BYTES {
            let advice = "write at least \"512 KiB\"".to_owned();
            let what = "less than 512 KiB, of which one message may take an eighth";
            field.advise(what, Some(advice));
        } else if limits.held_bytes() > bytes {
            let advice = "lower these, or leave them out: they follow from it".to_owned();
            let what = "less than four times `messageBytes`, or less than twice `totalBytes`";
            field.advise(what, Some(advice));
        }
    }
    fields.finish();
    Some(limits)
}
