//! `inspect_tool_output`: what a tool returns, one place at a time.

use super::Asked;
use crate::tools::{client::Shared, refusal};
use bytes::Bytes;
use crossfeed_output_schema::{InspectRequest, OutputSchema};
use crossfeed_projection::nearest;
use crossfeed_wire::{ErrorBody, ErrorCode};
use serde_json::json;

/// Answers by the schema that the tool declares, else by what was learned of its results.
pub(super) fn answer(shared: &Shared, asked: &Asked) -> Result<Bytes, Bytes> {
    let privacy = shared.privacy();
    let refused = |body: Box<ErrorBody>| refusal::of_bodies(vec![*body], privacy);
    let tool_id = asked.text("tool_id").map_err(&refused)?;
    let tool_id = tool_id.unwrap_or_default();
    let request = InspectRequest::parse(&asked.0);
    let request = request.map_err(|error| refused(Box::new(error.body())))?;
    let listing = shared.listing();
    let offered = listing.as_ref().and_then(|listing| listing.find(tool_id));
    let Some(offered) = offered else {
        let mut body = ErrorBody::new(
            ErrorCode::ArgumentsInvalid,
            format!("there is no tool {}", crossfeed_json::quoted(tool_id)),
        );
        let names = listing.iter().flat_map(|listing| listing.names());
        let near = nearest(tool_id, names);
        body.advice = Some(if near.is_empty() {
            "`tool_id` is a name of the tool list".to_owned()
        } else {
            format!("try: {}", near.join(", "))
        });
        return Err(refused(Box::new(body)));
    };
    // What is learned of results of one must not show in another's.
    let learned = || shared.session().learned(tool_id)?.schema();
    let learned = if offered.output.is_none() && !privacy.is_shared {
        learned().map(OutputSchema::new)
    } else {
        None
    };
    let Some(schema) = offered.output.as_ref().or(learned.as_ref()) else {
        let mut body = ErrorBody::new(
            ErrorCode::ArgumentsInvalid,
            format!(
                "nothing is known of what `{tool_id}` returns: it does not say, and was not called yet"
            ),
        );
        body.advice = Some("call it once; then its results tell".to_owned());
        return Err(refused(Box::new(body)));
    };
    let inspection = schema.inspect(&request);
    let inspection = inspection
        .map_err(|error| refused(Box::new(error.body())))?
        .to_value();
    let mut result = json!({
        "content": [{"type": "text", "text": inspection.to_string()}],
        "structuredContent": inspection,
    });
    if let Some(members) = result.as_object_mut().filter(|_| privacy.says_complete) {
        members.insert("resultType".to_owned(), json!("complete"));
    }
    Ok(result.to_string().into())
}
