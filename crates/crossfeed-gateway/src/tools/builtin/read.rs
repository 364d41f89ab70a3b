//! `read_result`: a stored result, or a part of it, within a budget of tokens: page by page where it is more.

use super::{
    Arguments, call_id_of,
    page::{PageRequest, page},
};
use crate::{
    apart::apart,
    tools::{
        client::Shared,
        refusal::{self, ErrorBodies},
        result::with_notices,
    },
};
use bytes::Bytes;
use crossfeed_core::{ProjectOptions, RenderOptions};
use crossfeed_projection::ProjectionRequest;

/// The fewest tokens of a page: its frame fits.
const MIN_TOKENS: usize = 50;
/// Tokens of a model's context, and how much of it in percent one answer may take, where the
/// configuration says nothing.
const WINDOW: usize = 200_000;
const SHARE: usize = 30;

/// Answers with what is asked for.
pub(super) async fn answer(
    shared: &Shared,
    arguments: &Arguments,
    is_model: bool,
) -> Result<Bytes, ErrorBodies> {
    let id = call_id_of(shared, arguments)?;
    let select = arguments.text("select")?;
    let fields = arguments.texts("fields")?;
    let offset = arguments.count("offset")?.unwrap_or_default();
    let as_json = arguments.flag("as_json")?;
    let budget = arguments.count("max_tokens")?;
    let budget = budget.unwrap_or(RenderOptions::default().whole_tokens);
    let window = shared.tools.config.context_window.unwrap_or(WINDOW);
    let budget = budget.clamp(MIN_TOKENS, (window / 100 * SHARE).max(MIN_TOKENS));
    let session = shared.session();
    let wanted = PageRequest {
        select: select.map(str::to_owned),
        is_projected: fields.is_some(),
        as_json: as_json.unwrap_or_default(),
        offset,
        budget,
    };
    let read = match fields {
        Some(fields) => {
            let request = ProjectionRequest::new().with_include(fields);
            let mut options = ProjectOptions::default()
                .with_request(request)
                .with_failures();
            options.select = select.map(str::to_owned);
            let projected = session.project(&id, &options).await;
            projected.map(|projected| {
                let notices = projected.notices(select);
                (projected.json, notices)
            })
        }
        // `@` is all of it.
        None => {
            let select = select.unwrap_or("@");
            let selected = session.read(&id, select).await;
            selected.map(|selected| {
                let notices = selected.notices(select);
                (selected.json, notices)
            })
        }
    };
    let (json, notices) = read.map_err(|failure| refusal::from_failure(&failure))?;
    let text = apart(json.len(), move || page(json, &wanted)).await;
    session.note_shown(&text);
    // Text alone: a page in which something is left out is not JSON.
    let mut result = refusal::result(&text, shared.privacy());
    with_notices(&mut result, &shared.heard(notices), is_model);
    Ok(result.to_string().into())
}
