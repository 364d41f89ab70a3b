//! `read_result`: a stored result brought into the context, or a part of it.
//!
//! What comes in: a call id, and what of its result is wanted. What goes out: that, within a budget of
//! tokens: page by page where it is more. Deliberately not here: selecting and projecting themselves, and
//! what is on a page.

use super::{
    Asked,
    page::{Wanted, page},
};
use crate::tools::{client::Shared, refusal};
use bytes::Bytes;
use crossfeed_core::{ProjectOptions, RenderOptions};
use crossfeed_json::quoted;
use crossfeed_projection::ProjectionRequest;
use crossfeed_wire::{CallId, ErrorBody, ErrorCode};

/// The least that is given at once: the frame of a page has room in it.
const LEAST: usize = 50;
/// Tokens of a model's context, and how much of it in percent one answer may take, where the
/// configuration says nothing.
const WINDOW: usize = 200_000;
const SHARE: usize = 30;
const HOW_TO_NAME: &str = "use the `_toolCallId` of a result, exactly as it was shown";

/// Answers with what is asked for.
pub(super) async fn answer(shared: &Shared, asked: &Asked) -> Result<Bytes, Bytes> {
    let privacy = shared.privacy();
    let refused = |body: Box<ErrorBody>| refusal::of_bodies(vec![*body], privacy);
    let Some(call_id) = asked.text("call_id").map_err(&refused)? else {
        let message = "the required parameter `call_id` is missing";
        let mut body = ErrorBody::new(ErrorCode::ArgumentsInvalid, message);
        body.advice = Some(HOW_TO_NAME.to_owned());
        return Err(refused(Box::new(body)));
    };
    let select = asked.text("select").map_err(&refused)?;
    let fields = asked.texts("fields").map_err(&refused)?;
    let offset = asked.count("offset").map_err(&refused)?.unwrap_or_default();
    let as_json = asked.flag("as_json").map_err(&refused)?;
    let budget = asked.count("max_tokens").map_err(&refused)?;
    let budget = budget.unwrap_or(RenderOptions::default().whole_tokens);
    let window = shared.tools.config.context_window.unwrap_or(WINDOW);
    let budget = budget.clamp(LEAST, (window / 100 * SHARE).max(LEAST));
    let unknown = || {
        let call_id = quoted(&call_id.chars().take(64).collect::<String>());
        let message = format!("no result of call {call_id} is known in this session");
        let mut body = ErrorBody::new(ErrorCode::ResultUnknown, message);
        body.advice = Some(HOW_TO_NAME.to_owned());
        refused(Box::new(body))
    };
    // One that was never minted is not even looked up.
    let id = CallId::parse(call_id).ok();
    let Some(id) = id.filter(|id| shared.place.ids.may_be(id.as_str())) else {
        return Err(unknown());
    };
    let session = shared.session();
    let wanted = Wanted {
        select: select.map(str::to_owned),
        is_projected: fields.is_some(),
        as_json: as_json.unwrap_or_default(),
        offset,
        budget,
    };
    let json = match fields {
        Some(fields) => {
            let request = ProjectionRequest::new().with_include(fields);
            let mut options = ProjectOptions::default().with_request(request);
            options = options.with_failures();
            if let Some(select) = select {
                options = options.with_select(select);
            }
            let projected = session.project(&id, &options).await;
            projected.map(|projected| projected.json)
        }
        // `@` is all of it.
        None => {
            let selected = session.read(&id, select.unwrap_or("@")).await;
            selected.map(|selected| selected.json)
        }
    };
    let json = json.map_err(|failure| refusal::of_failure(&failure, privacy))?;
    let length = json.len();
    let paged = move || Some(page(json, &wanted));
    let text = crate::apart::apart(length, paged);
    let text = text.await.unwrap_or_default();
    session.note_shown(&text);
    // Text alone: a page in which something is left out is not JSON.
    Ok(refusal::result(&text, None, false, privacy))
}
