//! `inspect_tool_output`: what a tool returns, one place at a time.

use super::Arguments;
use crate::tools::{
    client::Shared,
    refusal::{self, ErrorBodies},
};
use bytes::Bytes;
use crossfeed_json::quoted;
use crossfeed_output_schema::{InspectRequest, OutputSchema};
use crossfeed_projection::nearest;
use crossfeed_wire::ErrorCode;
use serde_json::json;

/// Answers by the schema that the tool declares, else by what was learned of its results.
pub(super) fn answer(shared: &Shared, arguments: &Arguments) -> Result<Bytes, ErrorBodies> {
    let privacy = shared.privacy();
    let tool_id = arguments.text("tool_id")?.unwrap_or_default();
    let request = InspectRequest::parse(&arguments.0).map_err(|error| vec![error.body()])?;
    let listing = shared.listing();
    let offered = listing
        .as_ref()
        .and_then(|listing| listing.tools.get(tool_id));
    let Some(offered) = offered else {
        let names = listing.iter().flat_map(|listing| listing.names());
        let near = nearest(tool_id, names);
        let advice = if near.is_empty() {
            "use a name of the tool list as `tool_id`".to_owned()
        } else {
            format!("try: {}", near.join(", "))
        };
        let message = format!("there is no tool {}", quoted(tool_id));
        return Err(refusal::body(ErrorCode::ArgumentsInvalid, message, advice));
    };
    // What is learned of results of one must not show in another's.
    let may_learn = offered.output.is_none() && !privacy.is_shared;
    let learned = may_learn.then(|| shared.session().learned(tool_id)?.schema());
    let learned = learned.flatten().map(OutputSchema::new);
    let Some(schema) = offered.output.as_ref().or(learned.as_ref()) else {
        let message = format!(
            "the output of `{tool_id}` is unknown: the tool declares no output schema and has not been called yet"
        );
        let advice = "call it once: its output is learned from its results";
        return Err(refusal::body(ErrorCode::ArgumentsInvalid, message, advice));
    };
    let inspection = schema.inspect(&request);
    let inspection = inspection.map_err(|error| vec![error.body()])?;
    let inspection = inspection.to_value();
    let mut result = json!({
        "content": [{"type": "text", "text": inspection.to_string()}],
        "structuredContent": inspection,
    });
    if privacy.says_complete {
        result["resultType"] = json!("complete");
    }
    Ok(result.to_string().into())
}
