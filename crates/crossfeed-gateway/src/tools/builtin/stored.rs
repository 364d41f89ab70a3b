//! `list_results`: the stored results.

use super::Arguments;
use crate::tools::{
    client::Shared,
    refusal::{self, ErrorBodies},
};
use bytes::Bytes;
use crossfeed_wire::{ErrorBody, ErrorCode};
use serde_json::json;

/// Lines of an answer at most, and unless another number is asked for.
const MAX_LINES: usize = 100;
const DEFAULT_LINES: usize = 20;

/// Lists the results of the session, the most recently used first.
pub(super) async fn answer(shared: &Shared, arguments: &Arguments) -> Result<Bytes, ErrorBodies> {
    let offset = arguments.count("offset")?.unwrap_or_default();
    let limit = arguments.count("limit")?;
    let limit = limit.unwrap_or(DEFAULT_LINES).clamp(1, MAX_LINES);
    let Ok(results) = shared.session().results().await else {
        let message = "stored results cannot be read at the moment";
        return Err(vec![ErrorBody::new(ErrorCode::StoreUnavailable, message)]);
    };
    let lines = results.iter().rev().skip(offset).take(limit).map(|result| {
        let mut line = json!({"call_id": result.call_id.as_str()});
        if let Some(tool) = &result.tool {
            line["tool"] = json!(tool);
        }
        line["bytes"] = json!(result.bytes);
        if result.failed {
            line["failed"] = json!(true);
        }
        line
    });
    let lines: Vec<_> = lines.collect();
    let next = offset.saturating_add(lines.len());
    let mut answer = json!({"results": lines, "total": results.len()});
    if next < results.len() {
        answer["next_offset"] = json!(next);
    }
    let text = answer.to_string();
    Ok(refusal::result(&text, shared.privacy()).to_string().into())
}
