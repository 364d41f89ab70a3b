//! Reads what statements about results may take.

use super::fields::Field;
use crate::config::{QueriesConfig, node::Value};

/// True for the defaults, false for none, or the limits.
pub(super) fn queries(field: Field<'_>) -> Option<QueriesConfig> {
    if let Value::Bool(is_on) = field.node.value {
        return is_on.then(QueriesConfig::default);
    }
    let mut fields = field.fields()?;
    let default = QueriesConfig::default();
    let queries = QueriesConfig {
        time: fields.get("time").unwrap_or(default.time),
        memory_bytes: fields
            .take("memoryBytes")
            .and_then(|field| field.bytes())
            .unwrap_or(default.memory_bytes),
        answer_bytes: fields
            .take("answerBytes")
            .and_then(|field| field.bytes())
            .unwrap_or(default.answer_bytes),
        rows: fields.get("rows").unwrap_or(default.rows),
        running: fields.get("running").unwrap_or(default.running),
    };
    fields.finish();
    Some(queries)
}
