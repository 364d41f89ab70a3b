//! Results: recorded whole, and shown to the client as it reads them.
//!
//! # What holds
//!
//! - What a call failed with is passed on byte for byte, but for
//!   claims under our keys of `_meta`, and for structured content that the client refuses; a model sees a large one as a preview, and can
//!   read the rest. Nothing can refer to it.
//! - A program gets the bytes that the server gave, whatever they are; the gateway writes only to its `_meta`.
//! - What a model is shown in place of a large result is text that does not parse as its data.
//! - What a server writes cannot be mistaken for what the gateway says: members of its own with such keys are
//!   marked, or taken out of `_meta`.
//! - What is not a result yet (input is required, a task runs) is not recorded.

mod foreign;
mod passthrough;
mod preview;
mod program;
mod whole;

pub(crate) use foreign::mark_foreign;
pub(crate) use passthrough::unclaimed;
pub(super) use passthrough::{Passing, on as pass_on};

use super::{
    call::PreparedCall,
    client::Shared,
    list::Offered,
    refusal::{self, ErrorBodies},
    room,
};
use crate::{
    apart::{LARGE, apart},
    budget::{Charge, UNCHARGED},
    members::{self, may_hold},
    message::{Body, BodyMember},
    metrics,
    records::task::BegunTask,
    withhold::WITHHELD_MARK,
};
use bytes::Bytes;
use crossfeed_core::{InFlight, Notices, ProjectOptions, RenderOptions, ToolResult, shown_digest};
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_mcp::Shows;
use crossfeed_projection::ProjectionRequest;
use crossfeed_store::{StoreError, with_causes};
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::{CallId, View};
use program::Outline;
use serde_json::Value;
use std::sync::Arc;
pub(super) use whole::with_notices;
use whole::{clean, whole};

/// What a client asks for in the `_meta` of its call.
const ASKED: [&str; 2] = [crossfeed_mcp::KEY, crossfeed_mcp::BARE_KEY];

/// How a result is shown.
#[derive(Clone)]
pub(super) struct Show {
    pub(super) passing: Passing,
    pub(super) offered: Arc<Offered>,
    pub(super) said: ResultNotes,
}

impl Show {
    fn is_for_program(&self) -> bool {
        self.passing.view == View::Program
    }

    fn may_be_cut(&self) -> bool {
        !self.is_for_program() && !self.offered.has_page
    }
}

/// What the gateway says beside a result.
#[derive(Clone, Default)]
pub(super) struct ResultNotes {
    /// What refers to it; none where nothing can.
    pub(super) call_id: Option<String>,
    /// The digits of its digest, where edits may name them.
    pub(super) digest: Option<String>,
    /// What is to be said besides.
    pub(super) note: Option<String>,
    /// What the model should hear of its call.
    pub(super) notices: Notices,
    /// A member of `_meta` that the gateway said before.
    pub(super) keeps: Option<&'static str>,
}

impl ResultNotes {
    /// What a program is told besides the call id.
    fn texts(&self) -> impl Iterator<Item = String> {
        self.note.iter().cloned().chain(self.notices.to_lines())
    }
}

/// A call whose result will be recorded and shown.
pub(super) struct RecordedCall {
    pub(super) shared: Arc<Shared>,
    pub(super) in_flight: InFlight,
    /// How its result is shown.
    pub(super) replay: Replay,
    /// What it was resolved to.
    pub(super) ready: PreparedCall,
    /// A digest of the name and the arguments as the client wrote them.
    pub(super) asked: Option<u64>,
}

/// A call whose result will not be recorded.
pub(super) struct UnkeptCall {
    pub(super) shared: Arc<Shared>,
    /// How its result is shown, with what is to be said of a failure.
    pub(super) show: Show,
    /// Where only the store is in the way.
    pub(super) unnoted: Option<UnnotedCall>,
}

/// A call that the store failed to note.
pub(super) struct UnnotedCall {
    /// How it failed.
    pub(super) why: String,
    /// What the call was resolved to.
    pub(super) ready: PreparedCall,
    /// A digest of the name and the arguments as the client wrote them.
    pub(super) asked: Option<u64>,
}

impl UnkeptCall {
    /// What is said of a failure.
    pub(super) fn advice(&self) -> Option<&str> {
        self.show.said.note.as_deref()
    }

    /// The answer as the client is to see it: as it came, but for what is said beside it. `members` says where those of
    /// the result are, if that is known.
    pub(super) async fn finish(self, result: Bytes, members: Option<&[BodyMember]>) -> Body {
        let (shared, mut show) = (self.shared, self.show);
        let passing = show.passing;
        let Some(unnoted) = self.unnoted else {
            return if show.said.note.is_some() && is_failure(&result).await {
                noticed_failure(result, show).await.into()
            } else {
                passthrough::on(result, passing).await.into()
            };
        };
        show.said.notices.clone_from(&unnoted.ready.notices);
        let mut noted = show.clone();
        noted.said.note = Some(no_reference(&unnoted.why));
        let (answer, ahead, _room) = if show.is_for_program() {
            let (answer, body) = skimmed(&shared, &result, members, &noted).await;
            (answer, body, shared.account.nothing())
        } else {
            let (answer, _, room) = answer(&shared, &result, Shows::Unknown).await;
            (answer, None, room)
        };
        let figures = shared.tools.figures.server(show.offered.server);
        let shown = match answer {
            Answer::Result { .. } => {
                figures.result(metrics::ResultOutcome::Refused);
                if show.is_for_program() {
                    ahead
                } else {
                    Some(unrecorded(&shared, result.clone(), noted).await)
                }
            }
            Answer::Failure { .. } => {
                figures.result(metrics::ResultOutcome::Failed);
                if show.said.texts().next().is_some() {
                    Some(noticed_failure(result.clone(), show).await.into())
                } else {
                    None
                }
            }
            Answer::InputRequired(Some(state)) => {
                let UnnotedCall { ready, asked, .. } = unnoted;
                let round = shared.remember_round(&show.offered, &state, ready, asked);
                let refused = round.await.err();
                refused.map(|why| shared.refused(why).into())
            }
            // Also where there is no room to read it: nothing else has it.
            _ => None,
        };
        match shown {
            Some(shown) => shown,
            None => passthrough::on(result, passing).await.into(),
        }
    }
}

/// What is said of a result that is not kept.
fn no_reference(why: &str) -> String {
    format!("this result cannot be referred to: {why}")
}

/// Whether a result says that its call failed.
async fn is_failure(result: &Bytes) -> bool {
    if !may_hold(result, "isError") {
        return false;
    }
    let looked_at = result.clone();
    apart(result.len(), move || {
        Document::new(looked_at).root().is_ok_and(has_failed)
    })
    .await
}

/// How the result of a call is shown, the first time and again.
#[derive(Clone)]
pub(super) struct Replay {
    pub(super) call_id: CallId,
    pub(super) offered: Arc<Offered>,
    /// The view in which the result is shown.
    pub(super) view: View,
    /// Which part of it the client shows its model.
    pub(super) shows: Shows,
    /// Whether the client can read stored results, so that what is cut is not lost where nothing can refer to it.
    pub(super) can_read: bool,
    /// What was asked of the result by parameters of ours.
    pub(super) projection: Option<ProjectionRequest>,
    /// What is said of the call beside its result.
    pub(super) notices: Notices,
    /// What the gateway itself says of it.
    pub(super) note: Option<String>,
    /// Of the `params` what [asks for parts](asked_of) of the result.
    pub(super) params: Bytes,
}

/// What a server gave in answer to a call.
enum Answer {
    Result {
        /// Whether it is more than is shown whole.
        is_large: bool,
    },
    Failure {
        is_large: bool,
    },
    /// The client must say more; by this state the server will know it again.
    InputRequired(Option<String>),
    /// It will be done later.
    Task(BegunTask),
    /// Nothing that is known.
    Other,
    /// There is no room to read it.
    Unread,
}

impl Answer {
    fn classify(root: Cursor<'_>, shows: Shows) -> Self {
        let text = |at: Cursor<'_>, key: &str| Some(at.get(key)?.as_str()?.into_owned());
        let kind = text(root, "resultType");
        if kind.as_deref() == Some("input_required") {
            return Self::InputRequired(text(root, "requestState"));
        }
        let task = BegunTask::of(root);
        let content = root.get(whole::CONTENT);
        let has_content = content.is_some();
        match task {
            _ if has_failed(root) => Self::Failure {
                is_large: is_large(root, shows),
            },
            // It would be lost beside what the gateway says.
            _ if content.is_some_and(|own| own.kind() != Kind::Array) => Self::Other,
            Some(task) if !has_content => Self::Task(task),
            // Also with nothing in it: clients refuse one without content, so that it gets some.
            _ if kind.is_none_or(|kind| kind == "complete") => Self::Result {
                is_large: is_large(root, shows),
            },
            _ => Self::Other,
        }
    }
}

impl RecordedCall {
    /// The answer as the client is to see it; `members` says where those of the result are, if that is known.
    pub(super) async fn finish(self, result: Bytes, members: Option<&[BodyMember]>) -> Body {
        let replay = &self.replay;
        let show = replay.show(&self.shared);
        let passing = show.passing;
        let is_plain = replay.projection.is_none() && replay.params.is_empty();
        let (answer, read, _room, ahead) = if show.is_for_program() && is_plain {
            let (answer, body) = skimmed(&self.shared, &result, members, &show).await;
            let ahead = body.map_or(ProgramView::NoRoom, ProgramView::Made);
            let nothing = self.shared.account.nothing();
            (answer, Document::new(result.clone()), nothing, ahead)
        } else {
            let (answer, read, room) = answer(&self.shared, &result, replay.shows).await;
            (answer, read, room, ProgramView::NotMade)
        };
        let shared = Arc::clone(&self.shared);
        let shown = match answer {
            Answer::Unread => {
                let failed = self.in_flight.fail("there was no room to read its result");
                noted(failed.await);
                Some(room::unread(&shared).into())
            }
            Answer::Other | Answer::InputRequired(None) => None,
            Answer::InputRequired(Some(state)) => {
                let offered = &self.replay.offered;
                let round = shared.remember_round(offered, &state, self.ready, self.asked);
                let refused = round.await.err();
                refused.map(|why| shared.refused(why).into())
            }
            Answer::Task(task) => {
                shared.remember_task(task, self).await;
                None
            }
            Answer::Failure { is_large } => {
                let is_cut = is_large && self.replay.cuts_failures(&show);
                let failed = ToolResult::mcp_document(read).failed();
                let recorded = self.in_flight.complete(failed).await;
                let is_kept = noted(recorded);
                let figures = shared.tools.figures.server(show.offered.server);
                figures.result(metrics::ResultOutcome::Failed);
                let cut = if is_cut && is_kept {
                    let cut = previewed(&shared, &self.replay.call_id, &show).await;
                    cut.flatten().map(Body::from)
                } else {
                    None
                };
                match cut {
                    None if !show.said.notices.is_empty() => {
                        Some(noticed_failure(result.clone(), show).await.into())
                    }
                    cut => cut,
                }
            }
            Answer::Result { is_large } => {
                let answer = (is_large, ahead);
                self.shown(result.clone(), read, show, answer).await
            }
        };
        match shown {
            Some(shown) => shown,
            None => passthrough::on(result, passing).await.into(),
        }
    }

    /// The same without what is needed no more once the call runs as a task.
    pub(super) fn slim(mut self) -> Self {
        self.ready.arguments = None;
        if self.replay.params.len() > UNCHARGED {
            self.replay.params = Bytes::new();
        }
        self
    }

    /// The call came to nothing.
    pub(super) async fn fail(self, message: &str) {
        noted(self.in_flight.fail(message).await);
    }

    /// What `result` is shown as, which was `read` before: one index serves all.
    async fn shown(
        self,
        result: Bytes,
        read: Document,
        mut show: Show,
        (is_large, ahead): (bool, ProgramView),
    ) -> Option<Body> {
        let (shared, replay) = (self.shared, self.replay);
        let (call_id, offered) = (&replay.call_id, &replay.offered);
        let in_flight = self.in_flight;
        let mut returned = ToolResult::mcp_document(read);
        let flows = &shared.tools.flows;
        if let Some(sources) = flows.of_result(offered.own_source(), &self.ready.sources) {
            returned = returned.with_sources(sources);
        }
        let recorded = in_flight.complete(returned).await;
        drop(in_flight);
        let figures = shared.tools.figures.server(offered.server);
        if let Err(error) = &recorded {
            figures.result(metrics::ResultOutcome::Refused);
            show.said.call_id = None;
            show.said.note = Some(no_reference(&error.to_string()));
            noted(recorded);
            return Some(unrecorded(&shared, result, show).await);
        }
        figures.result(metrics::ResultOutcome::Recorded);
        // What a program reads gets no index for that where it is large.
        let is_learned = offered.own_source().is_some();
        if is_learned && (!show.is_for_program() || result.len() <= LARGE) {
            shared.learn(call_id, offered);
        }
        match ahead {
            ProgramView::Made(body) => return Some(body),
            ProgramView::NoRoom => return Some(room::unshown(&shared, call_id).into()),
            ProgramView::NotMade => {}
        }
        let is_cut = show.may_be_cut()
            && is_large
            && (replay.projection.is_some() || replay.params.is_empty());
        // A preview is short.
        let needed = if is_cut { 0 } else { result.len() };
        let Some(mut charge) = room::to_show(&shared, needed) else {
            return Some(room::unshown(&shared, call_id).into());
        };
        let shown = shown(&shared, &replay, show, is_large).await?;
        charge.keep(shown.len());
        Some(charge.hold(shown).into())
    }
}

/// What a program gets of a result, before it is recorded.
enum ProgramView {
    Made(Body),
    NoRoom,
    /// It is not for a program, or for one that asked for parts of it.
    NotMade,
}

impl Replay {
    /// Whether a large result of a failed call is shown as a preview.
    fn cuts_failures(&self, show: &Show) -> bool {
        self.can_read && show.may_be_cut() && self.params.is_empty()
    }

    fn show(&self, shared: &Shared) -> Show {
        Show {
            passing: shared.passing(&self.offered, self.view),
            offered: Arc::clone(&self.offered),
            said: ResultNotes {
                call_id: Some(self.call_id.to_string()),
                notices: self.notices.clone(),
                note: self.note.clone(),
                ..ResultNotes::default()
            },
        }
    }

    /// The same for what a task failed with, where it was known before that it failed: a large failure is recorded
    /// under an id of its own, since the call's is taken. None for anything else.
    pub(super) async fn late_failure(&self, shared: &Shared, result: &Bytes) -> Option<Self> {
        let (answer, read, _room) = answer(shared, result, self.shows).await;
        let is_large = matches!(answer, Answer::Failure { is_large: true });
        if !is_large || !self.cuts_failures(&self.show(shared)) {
            return None;
        }
        let session = shared.session();
        let mut failed = ToolResult::mcp_document(read).failed();
        if let Ok(before) = session.get(&self.call_id).await {
            if let Some(tool) = before.tool() {
                failed = failed.with_tool(tool);
            }
            if let Some(server) = before.server() {
                failed = failed.with_server(Arc::clone(server));
            }
        }
        let call_id = shared.place.ids.next().await.ok()??;
        let recorded = session.record(&call_id, failed).await;
        noted(recorded).then(|| Self {
            call_id,
            ..self.clone()
        })
    }

    /// The result as the client is to see it; with its call id only if it is the one that was recorded.
    pub(super) async fn shown(&self, shared: &Shared, result: Bytes, is_same: bool) -> Bytes {
        let (answer, _, _room) = answer(shared, &result, self.shows).await;
        let mut show = self.show(shared);
        let is_large = match answer {
            Answer::Result { is_large } => is_large,
            Answer::Unread => return room::unread(shared),
            Answer::Failure { is_large: true } if is_same && self.cuts_failures(&show) => {
                return match previewed(shared, &self.call_id, &show).await {
                    Some(Some(cut)) => cut,
                    _ => passthrough::on(result, show.passing).await,
                };
            }
            _ => return passthrough::on(result, show.passing).await,
        };
        if is_same
            && shared.session().response(&self.call_id).await.is_ok()
            && let Some(shown) = shown(shared, self, show.clone(), is_large).await
        {
            return shown;
        }
        show.said.call_id = None;
        show.said.note = Some(no_reference("it is not kept"));
        unrecorded(shared, result.clone(), show).await.over(&result)
    }
}

/// What an answer is, and its document, which is indexed by then; with the room that its index takes.
async fn answer(shared: &Shared, result: &Bytes, shows: Shows) -> (Answer, Document, Charge) {
    let document = Document::new(result.clone());
    let Some(room) = room::to_read_result(shared, result).await else {
        return (Answer::Unread, document, shared.account.nothing());
    };
    let read = apart(result.len(), move || {
        let answer = match document.root() {
            Ok(root) if root.kind() == Kind::Object => Answer::classify(root, shows),
            _ => Answer::Other,
        };
        (answer, document)
    });
    let (answer, document) = read.await;
    (answer, document, room)
}

/// The same for a program, without an index; and what it gets, unless there is no room for that.
async fn skimmed(
    shared: &Shared,
    result: &Bytes,
    members: Option<&[BodyMember]>,
    show: &Show,
) -> (Answer, Option<Body>) {
    let is_known = members.is_some();
    // Where the members are known, nothing is read of what is long in most of them.
    let bytes = members.map_or(result.len(), program::bytes_read);
    let (members, skimmed) = (members.map(<[_]>::to_vec), result.clone());
    let read = apart(bytes, move || {
        let outline = match members {
            Some(members) => Outline::by(&skimmed, members),
            None => Outline::from_result(&skimmed),
        }?;
        let root = outline.skeleton.root();
        let answer = root.map_or(Answer::Other, |root| Answer::classify(root, Shows::Unknown));
        Some((answer, outline))
    });
    let Some((answer, outline)) = read.await else {
        return (Answer::Other, None);
    };
    if !matches!(answer, Answer::Result { .. }) {
        return (answer, None);
    }
    let writes = outline.bytes_written(show);
    // What is not known to be few changes is written at once, and so is what another wrote before.
    let writes = writes.filter(|_| is_known).unwrap_or(result.len());
    let Some(charge) = room::to_show(shared, writes) else {
        return (answer, None);
    };
    let (result, show) = (result.clone(), show.clone());
    let body = apart(writes, move || {
        let body = program::shown_by(&result, &outline, &show);
        if is_known {
            body
        } else {
            Body::Other(body.over(&result))
        }
    });
    (answer, Some(body.await.holding(charge)))
}

/// What could not be recorded, whole.
async fn unrecorded(shared: &Shared, result: Bytes, show: Show) -> Body {
    if show.is_for_program() {
        let (_, body) = skimmed(shared, &result, None, &show).await;
        return body.unwrap_or_else(|| room::unread(shared).into());
    }
    let came = result.clone();
    let passing = show.passing;
    let made = apart(result.len(), move || {
        let document = Document::new(result);
        whole(&clean(&document, &show)?, &show)
    });
    match made.await {
        Some(made) => Body::Other(made.into()),
        None => passthrough::on(came, passing).await.into(),
    }
}

/// What a call failed with, which nothing refers to, with what is said of the call.
async fn noticed_failure(result: Bytes, mut show: Show) -> Bytes {
    show.said.call_id = None;
    let came = result.clone();
    let passing = show.passing;
    let made = apart(result.len(), move || {
        if show.is_for_program() {
            return Some(program::shown(&result, &show));
        }
        let document = Document::new(result);
        whole(&clean(&document, &show)?, &show).map(Bytes::from)
    });
    match made.await {
        Some(made) => made,
        None => passthrough::on(came, passing).await,
    }
}

/// The bytes that a token has at most, on average over a text.
const TOKEN_BYTES: usize = 16;

/// A recorded result as it is shown.
async fn shown(shared: &Shared, replay: &Replay, mut show: Show, is_large: bool) -> Option<Bytes> {
    let session = shared.session();
    let call_id = &replay.call_id;
    let may_be_cut = show.may_be_cut() && is_large;
    let wants_parts = replay.projection.is_some();
    if let Some(request) = replay.projection.clone() {
        match projected(shared, call_id, &show, request).await {
            Ok((parts, notices)) => {
                show.said.notices.extend(notices);
                if !(may_be_cut && is_long(parts.as_bytes())) {
                    let is_withheld = is_withheld(shared, call_id, &show).await;
                    return parts_result(&parts, &show, is_withheld);
                }
            }
            Err(refused) => return Some(refused),
        }
    }
    let response = session.response(call_id).await.ok()?;
    if may_be_cut
        && (wants_parts || replay.params.is_empty())
        && let Some(cut) = previewed(shared, call_id, &show).await
    {
        return cut;
    }
    let params = replay.params.clone();
    let has_edits = shared.tools.config.references.edits;
    let cut = response.cut_with(move |stored, _| {
        let document = stored.document();
        let may_be_edited = has_edits && document.root().is_ok_and(|root| !has_failed(root));
        show.said.digest = may_be_edited.then(|| shown_digest(document.raw()));
        let cut = asked_in_meta(&show.offered, &params, document);
        show.said.keeps = cut.is_some().then_some(crossfeed_mcp::KEY);
        let document = cut.as_ref().unwrap_or(document);
        if show.is_for_program() {
            return program::shown(document.raw(), &show).into();
        }
        let shown = clean(document, &show).and_then(|clean| whole(&clean, &show));
        shown.unwrap_or_default()
    });
    let shown = cut.await.ok().filter(|shown| !shown.is_empty());
    shown.map(Bytes::from)
}

/// A recorded result as a preview, or none that could be made; nothing where it is short enough to be shown whole.
async fn previewed(shared: &Shared, call_id: &CallId, show: &Show) -> Option<Option<Bytes>> {
    let session = shared.session();
    let figures = shared.tools.figures.server(show.offered.server);
    let (style, spelling) = shared.reference_style();
    let options = RenderOptions::default()
        .with_style(style)
        .with_spelling(spelling);
    // What is large with its blanks is shown whole only if it is short without them.
    let options = options.with_whole_tokens(0);
    let Ok(rendered) = session.render(call_id, &options).await else {
        return Some(None);
    };
    if rendered.whole {
        return None;
    }
    let Ok(response) = session.response(call_id).await else {
        return Some(None);
    };
    let show = show.clone();
    let cut = response.cut_with(move |stored, _| {
        let clean = clean(stored.document(), &show);
        let parts = clean.zip(rendered.preview_text());
        UncountedBytes(parts.and_then(|(clean, text)| preview::preview(&clean, &text, &show)))
    });
    let shown = cut.await.ok().and_then(|cut| cut.0).map(Bytes::from);
    figures.previews.add(shown.iter().len());
    Some(shown)
}

/// Bytes that were counted as shown before.
struct UncountedBytes(Option<Vec<u8>>);

impl AsRef<[u8]> for UncountedBytes {
    fn as_ref(&self) -> &[u8] {
        &[]
    }
}

/// Whether a result says that its call failed. Some write 1 or "true": whatever is not `false` may be meant so, and
/// nothing refers to it.
pub(super) fn has_failed(root: Cursor<'_>) -> bool {
    let said = root.get("isError");
    said.is_some_and(|own| own.as_bool() != Some(false))
}

/// Whether a result is more than is shown whole. Text and structure say the same mostly, and a client
/// shows one of them: so that one counts, or the larger where it is not known. Binary data is not text.
fn is_large(root: Cursor<'_>, shows: Shows) -> bool {
    let most = RenderOptions::default().whole_tokens;
    if root.raw().len() <= most {
        return false;
    }
    let count = |value: Cursor<'_>| tokens(value.raw());
    let structured = root.get(whole::STRUCTURED);
    let (shows_texts, shows_structure) = match (shows, structured.map(Cursor::kind)) {
        (Shows::Content, _) => (true, false),
        (Shows::Structured, Some(Kind::Object)) => (false, true),
        _ => (true, true),
    };
    let structured = structured.filter(|_| shows_structure).map_or(0, count);
    if structured > most || !shows_texts {
        return structured > most;
    }
    let parts = root.get(whole::CONTENT).into_iter().flat_map(Cursor::items);
    let texts = parts.map(|part| {
        let kind = part.get("type").and_then(Cursor::as_str);
        match kind.as_deref() {
            Some("image" | "audio") => 0,
            Some("resource") if has_blob(part) => 0,
            _ => count(part),
        }
    });
    texts.sum::<usize>() > most
}

/// The tokens of a text, of which more than are shown whole are not counted.
fn tokens(text: &[u8]) -> usize {
    let most = RenderOptions::default().whole_tokens;
    if text.len() > most.saturating_mul(TOKEN_BYTES) {
        most + 1
    } else {
        TokenCounter::estimate().count_bytes(text)
    }
}

/// Whether a text is more than is shown whole.
fn is_long(text: &[u8]) -> bool {
    tokens(text) > RenderOptions::default().whole_tokens
}

fn has_blob(part: Cursor<'_>) -> bool {
    let blob = part.get("resource").and_then(|own| own.get("blob"));
    blob.is_some_and(|blob| blob.kind() == Kind::String)
}

/// What of the `params` of a call asks for parts of its result, in its `_meta`: no bytes where nothing does. The
/// rest of the `params` is not kept.
pub(super) fn asked_of(
    shared: &Shared,
    offered: &Offered,
    params: Cursor<'_>,
) -> Result<Bytes, ErrorBodies> {
    let meta = params.get("_meta").filter(|_| offered.projected.is_some());
    let asked = ASKED.map(|key| Some((key, meta?.get(key)?.raw())));
    let asked: Vec<_> = asked.into_iter().flatten().collect();
    if asked.is_empty() {
        return Ok(Bytes::new());
    }
    let asked = members::object(&[("_meta", members::object(&asked))]);
    Ok(room::to_write(shared, asked.len())?.hold(asked))
}

/// The result as the client asks for it in the `_meta` of its call.
fn asked_in_meta(offered: &Offered, params: &Bytes, document: &Document) -> Option<Document> {
    let tool = offered.projected.as_ref()?;
    if params.is_empty() {
        return None;
    }
    let params: Value = serde_json::from_slice(params).ok()?;
    let projector = crossfeed_mcp::Projector::new(crossfeed_mcp::Capability::default());
    let projector = projector.with_rules(Arc::clone(&offered.withheld));
    let projected = projector.project(tool, &params, document).ok()?;
    projected.reply?;
    Some(Document::new(projected.json.into_owned()))
}

/// Of a result what the model asked for by parameters of ours, as JSON, with what it should hear of them; or why that
/// cannot be.
async fn projected(
    shared: &Shared,
    call_id: &CallId,
    show: &Show,
    request: ProjectionRequest,
) -> Result<(String, Notices), Bytes> {
    let mut options = ProjectOptions::default().with_request(request);
    if let Some(output) = &show.offered.output {
        options = options.with_output_schema(output.schema().clone());
    }
    match shared.session().project(call_id, &options).await {
        Ok(projected) => {
            let notices = shared.heard(projected.notices(None));
            let parts = String::from_utf8_lossy(&projected.json).into_owned();
            Ok((parts, notices))
        }
        Err(failure) => Err(shared.refused(refusal::parts_failed(&failure, call_id))),
    }
}

/// Whether something of a recorded result was withheld.
async fn is_withheld(shared: &Shared, call_id: &CallId, show: &Show) -> bool {
    if !show.passing.withholds {
        return false;
    }
    let Ok(response) = shared.session().response(call_id).await else {
        return false;
    };
    let marked = response.cut_with(|stored, _| {
        let root = stored.document().root().ok();
        let meta = root.and_then(|root| root.get(whole::META));
        let is_marked = meta.is_some_and(|meta| meta.get(WITHHELD_MARK).is_some());
        UncountedBytes(is_marked.then(Vec::new))
    });
    marked.await.is_ok_and(|marked| marked.0.is_some())
}

/// What the model asked for, as a result.
fn parts_result(text: &str, show: &Show, is_withheld: bool) -> Option<Bytes> {
    let content = format!("[{}]", whole::text_part(text));
    let mark = format!("{{\"{WITHHELD_MARK}\":true}}");
    let has_structure = text.trim_start().starts_with('{');
    let members = [
        (true, whole::CONTENT, content.as_str()),
        (has_structure, whole::STRUCTURED, text),
        (is_withheld, whole::META, &mark),
        (show.passing.is_stateless, "resultType", "\"complete\""),
    ];
    let members = members.into_iter().filter(|(is_said, ..)| *is_said);
    let members: Vec<_> = members.map(|(_, key, value)| (key, value)).collect();
    let document = Document::new(members::object(&members));
    if show.is_for_program() {
        return Some(program::shown(document.raw(), show));
    }
    whole(&clean(&document, show)?, show).map(Bytes::from)
}

/// Whether the store did it; its failure is logged for the operator.
fn noted<T>(done: Result<T, StoreError>) -> bool {
    if let Err(error) = &done {
        tracing::warn!(target: "crossfeed::gateway::tools", code = error.code().as_str(), error = with_causes(error), "cannot record a result");
    }
    done.is_ok()
}
