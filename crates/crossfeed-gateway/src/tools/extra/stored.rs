//! `list_results`: which results are there.

use super::Asked;
use crate::tools::{client::Shared, refusal};
use bytes::Bytes;
use crossfeed_wire::{ErrorBody, ErrorCode};
use serde_json::{Map, Value, json};

/// Lines of an answer, unless fewer are asked for.
const MOST: usize = 100;
const USUAL: usize = 20;

/// Lists the results of the session, the most recently used first.
pub(super) async fn answer(shared: &Shared, asked: &Asked) -> Result<Bytes, Bytes> {
    let privacy = shared.privacy();
    let refused = |body: Box<ErrorBody>| refusal::of_bodies(vec![*body], privacy);
    let offset = asked.count("offset").map_err(&refused)?.unwrap_or_default();
    let limit = asked.count("limit").map_err(&refused)?;
    let limit = limit.unwrap_or(USUAL).clamp(1, MOST);
    let Ok(results) = shared.session().results().await else {
        let message = "stored results cannot be read at the moment";
        return Err(refused(Box::new(ErrorBody::new(
            ErrorCode::StoreUnavailable,
            message,
        ))));
    };
    let lines = results.iter().rev().skip(offset).take(limit).map(|result| {
        let mut line = Map::new();
        line.insert("call_id".to_owned(), json!(result.call_id.as_str()));
        if let Some(tool) = &result.tool {
            line.insert("tool".to_owned(), json!(tool));
        }
        line.insert("bytes".to_owned(), json!(result.bytes));
        if result.failed {
            line.insert("failed".to_owned(), Value::Bool(true));
        }
        Value::Object(line)
    });
    let lines: Vec<_> = lines.collect();
    let next = offset.saturating_add(lines.len());
    let mut answer = json!({"results": lines, "total": results.len()});
    if let Some(members) = answer.as_object_mut().filter(|_| next < results.len()) {
        members.insert("next_offset".to_owned(), json!(next));
    }
    Ok(refusal::result(&answer.to_string(), None, false, privacy))
}
