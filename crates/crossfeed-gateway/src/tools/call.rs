//! Calls of tools: their references resolved and judged, then forwarded, or answered by the gateway.
//!
//! # What holds
//!
//! - Nothing is forwarded before every reference was resolved, judged, and allowed by the flow rules.
//! - Where nothing in the arguments is meant for the gateway, the server gets their bytes, unvalidated: it
//!   validates them itself, as it would without a gateway.

use super::{
    Call, Forward, Pending, binary, builtin,
    client::{ClientTools, NameLookup, Shared},
    flow::{self, FlowError, Sources},
    inputs::{CallInputs, InputReader},
    list::Offered,
    params::Params,
    reader::ReaderHints,
    refusal::{self, ErrorBodies},
    result::{self, RecordedCall, Replay},
    room, unlisted,
};
use crate::{
    apart::apart, budget::UNCHARGED, lookalike::looks_like, members::is_twice, message::RpcError,
    protocol::code,
};
use bytes::Bytes;
use crossfeed_core::{
    BeginError, Error, InFlight, LimitError, LineageEntry, Notices, ResolveError, ResolvedJson,
    SplicedJson,
};
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_mcp::TraceMeta;
use crossfeed_projection::ProjectionRequest;
use crossfeed_store::{Tombstone, with_causes};
use crossfeed_wire::{CallId, ErrorCode, TraceContext, View};
use std::sync::Arc;

/// How many ids are tried: a client may have used some before it connected again.
const MAX_ID_TRIES: usize = 64;

/// The length of a signed id.
const SIGNED_ID: usize = 26;

/// The most members of `params`, and the most bytes of the name of one.
const MAX_MEMBERS: usize = 1_000;
const MAX_KEY_BYTES: usize = 4 << 10;

/// Arguments that may be sent.
#[derive(Clone, Default)]
pub(super) struct PreparedCall {
    /// As they were resolved; none where they are to be sent as they came.
    pub(super) arguments: Option<Bytes>,
    /// Whose data they hold.
    pub(super) sources: Sources,
    /// What was asked of the result by parameters of ours.
    pub(super) projection: Option<ProjectionRequest>,
    /// Whether all of the result was asked for, whatever its size.
    pub(super) wants_whole: bool,
    /// What is said of the call beside its result.
    pub(super) notices: Notices,
}

impl ClientTools {
    /// What becomes of a call, by the `params` of its `tools/call`. Its references name no resources, and no roots of a
    /// client narrow its files.
    pub async fn call(&self, params: Bytes) -> Call {
        self.call_with(params, None).await
    }

    /// The same with what reads the inputs that its references name.
    pub(crate) async fn call_with(
        &self,
        params: Bytes,
        inputs: Option<Arc<dyn InputReader>>,
    ) -> Call {
        match forwarded(&self.shared, params, inputs).await {
            Ok(forward) => Call::Forward(forward),
            Err(unsent) => unsent,
        }
    }
}

fn not_valid(message: String) -> Call {
    Call::Refused(RpcError::new(code::INVALID_PARAMS, message))
}

/// The call as it is sent, or what it is answered with.
async fn forwarded(
    shared: &Arc<Shared>,
    params: Bytes,
    inputs: Option<Arc<dyn InputReader>>,
) -> Result<Forward, Call> {
    let refused = |bodies: ErrorBodies| Call::Answered(shared.refused(bodies));
    let invalid = |message: String| Err(not_valid(message));
    let params = Params::read(shared, params).await.map_err(refused)?;
    let root = params.object().map_err(not_valid)?;
    if has_too_many(root) {
        return invalid(format!(
            "the params of tools/call have more than {MAX_MEMBERS} members, or one with a name of more than {MAX_KEY_BYTES} bytes"
        ));
    }
    let Some(name) = root.get("name").and_then(Cursor::as_str) else {
        return invalid("the params of tools/call have no `name`".to_owned());
    };
    if let Some(key) = lookalike(root) {
        return invalid(format!(
            "the params of tools/call have a member that only looks like `{key}`"
        ));
    }
    if let Some(key) = twice(root) {
        return invalid(format!("the params of tools/call have {key} twice"));
    }
    let shared = &shared.for_call(root);
    let meta = root.get("_meta");
    let asked = meta.map(|meta| ReaderHints::from_meta(meta, shared.is_stateless()));
    let said = asked.transpose().map_err(not_valid)?.unwrap_or_default();
    let reader = shared.reader(&said);
    let listing = shared.listing_for(&reader);
    let written = params.arguments();
    let arguments = written.clone().filter(|own| *own != "null");
    let is_own = |name: &str| {
        listing
            .as_ref()
            .is_some_and(|own| own.extra.contains(&name))
    };
    #[cfg(feature = "sql")]
    if name == builtin::QUERY
        && is_own(&name)
        && let Some(queries) = &shared.tools.queries
    {
        let answer = builtin::answer_query(shared, queries, (root, arguments), (&said, &reader));
        return Err(Call::Answered(answer.await));
    }
    if is_own(&name) {
        let is_model = reader.views().any(|view| view != View::Program);
        let answer = builtin::answer(shared, &name, arguments, is_model).await;
        return Err(Call::Answered(answer));
    }
    let mut advice = None;
    let offered = match shared.find(&name, &reader) {
        NameLookup::Tool(offered) => offered,
        NameLookup::Unknown => {
            let offered = unlisted::unlisted(shared, &name, &reader).await;
            let offered = offered.map_err(Call::Answered)?;
            advice = unlisted::advice(shared, &name, &reader).await;
            offered
        }
        NameLookup::NotSent => return Err(Call::Answered(unlisted::new(shared, &name))),
    };
    let state = root.get("requestState");
    let state = state.filter(|state| state.kind() != Kind::Null);
    let shared = &match state {
        Some(state) => shared.continued(&offered, state),
        None => Arc::clone(shared),
    };
    let trace = TraceMeta::read(root);
    let begun = begun(shared, &offered, &name, trace.context(), written.as_ref()).await;
    // Only such clients go on from a state.
    let asked = if shared.is_stateless() || state.is_some() {
        Some(shared.asked(&name, written.clone()).await)
    } else {
        None
    };
    let continued = match state {
        Some(state) => {
            let is_begun = begun.is_ok();
            Some(shared.round(&offered, state, asked, is_begun).await)
        }
        None => None,
    };
    let counted = |bodies: ErrorBodies| {
        for body in &bodies {
            shared.tools.figures.refused(body.code);
        }
        Call::Answered(shared.refused(bodies))
    };
    let continued = continued.transpose().map_err(|error| {
        tracing::warn!(target: "crossfeed::gateway::flow", error = error.masked(), "refused a flow");
        counted(refusal::flow_body(&error))
    })?;
    let (round, held) = continued.unwrap_or_default();
    let mut ready = match (round, &arguments) {
        (Some(round), _) => round,
        (None, Some(arguments)) => {
            let view = reader.view(offered.server);
            let inputs = Arc::new(CallInputs::new(shared, inputs));
            let written = arguments.clone();
            let ready = ready(shared, begun.as_ref(), &offered, written, (view, &inputs)).await;
            if ready.is_err()
                && let Some(question) = inputs.question()
            {
                // The state of the server that came with the call would be lost.
                return Err(match state {
                    None => Call::Answered(question),
                    Some(_) => counted(refusal::body(
                        ErrorCode::InputUnavailable,
                        "the call cannot go on here: what it was made with is no longer kept",
                        "make the call again from the beginning",
                    )),
                });
            }
            ready.map_err(counted)?
        }
        (None, None) => PreparedCall::default(),
    };
    ready.sources.extend(&held);
    let own = begun.as_ref().ok().and_then(InFlight::trace_context);
    let meta = own
        .filter(|own| trace.context() != Some(own))
        .map(|own| trace.clone().with_context(own));
    let sent = ready.arguments.as_ref().or(arguments.as_ref());
    let headers = shared.headers(&offered, sent).await.map_err(refused)?;
    let for_result = result::asked_of(shared, &offered, root).map_err(refused)?;
    let own = offered.prepared.listed().name();
    let sent = params.sent(shared, own, ready.arguments.as_ref(), meta);
    let (sent, at) = sent.await.map_err(refused)?;
    // They are not held twice: what is sent holds the resolved arguments, too.
    let resolved = ready.arguments.as_ref();
    let resolved = resolved.filter(|own| own.len() > UNCHARGED).map(Bytes::len);
    if let Some((bytes, at)) = resolved.zip(at) {
        ready.arguments = Some(sent.slice(at..at + bytes));
    }
    let view = if ready.wants_whole {
        View::Program
    } else {
        reader.view(offered.server)
    };
    let (kept, unnoted) = match begun {
        Ok(in_flight) => {
            let kept = RecordedCall {
                shared: Arc::clone(shared),
                replay: Replay {
                    call_id: in_flight.call_id().clone(),
                    offered: Arc::clone(&offered),
                    view,
                    shows: shared.shows(&said),
                    can_read: is_own(builtin::READ),
                    projection: ready.projection.clone(),
                    notices: ready.notices.clone(),
                    note: None,
                    params: for_result,
                },
                in_flight,
                ready,
                asked,
            };
            (Some(kept), None)
        }
        Err(NoCallId::NotNoted(why)) => {
            let unnoted = result::UnnotedCall { why, ready, asked };
            (None, Some(unnoted))
        }
        Err(NoCallId::Refused(_)) => (None, None),
    };
    Ok(Forward {
        server: offered.server,
        params: sent,
        headers,
        pending: Pending {
            kept: kept.map(Box::new),
            unkept: Box::new(result::UnkeptCall {
                shared: Arc::clone(shared),
                show: result::Show {
                    passing: shared.passing(&offered, view),
                    offered: Arc::clone(&offered),
                    said: result::ResultNotes {
                        note: advice,
                        ..result::ResultNotes::default()
                    },
                },
                unnoted,
            }),
            is_repeatable: offered.prepared.listed().is_repeatable(),
        },
    })
}

/// Whether there are so many members, or such long names of them, that to look through them would keep others
/// waiting.
fn has_too_many(params: Cursor<'_>) -> bool {
    let mut members = params.written_members();
    let is_long = members
        .by_ref()
        .take(MAX_MEMBERS)
        .any(|member| member.key.raw().len() > MAX_KEY_BYTES);
    is_long || members.next().is_some()
}

/// The member that another only looks like: some servers read members whatever their case is.
fn lookalike(params: Cursor<'_>) -> Option<&'static str> {
    let mut members = params.written_members();
    members.find_map(|member| looks_like(&member.key.text()))
}

/// A member that is there more than once: a server may read another than was judged here.
fn twice(params: Cursor<'_>) -> Option<&'static str> {
    let keys = [
        "name",
        "arguments",
        "requestState",
        "inputResponses",
        "task",
    ];
    keys.into_iter().find(|key| is_twice(params, key))
}

/// Why the result of a call will not be kept.
pub(super) enum NoCallId {
    /// Its tool is never chained, or too much is in flight: its arguments hold no references.
    Refused(ErrorBodies),
    /// The store fails to note it, as this says. What can be read there may be referred to all the same.
    NotNoted(String),
}

/// The call in flight, or why its result will not be kept.
pub(super) async fn begun(
    shared: &Shared,
    offered: &Offered,
    name: &str,
    parent: Option<&TraceContext>,
    arguments: Option<&Bytes>,
) -> Result<InFlight, NoCallId> {
    if !offered.is_chained {
        let to = Arc::clone(&offered.source);
        let why = refusal::flow_body(&FlowError::NotChained { to });
        return Err(NoCallId::Refused(why));
    }
    for _ in 0..MAX_ID_TRIES {
        let next = shared.place.ids.next().await;
        let next = next.map_err(|error| {
            tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(&error), "cannot give an id to a call");
            NoCallId::NotNoted(error.to_string())
        })?;
        let Some(call_id) = next else {
            break;
        };
        let mut begun = match shared.session().begin(&call_id).await {
            Ok(begun) => begun,
            Err(BeginError::Duplicate { .. }) => continue,
            Err(error) => {
                if let BeginError::Store(error) = error {
                    tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(&error), "cannot record a call");
                    return Err(NoCallId::NotNoted(error.to_string()));
                }
                // A client can make as many as it likes.
                tracing::debug!(target: "crossfeed::gateway::tools", %error, "cannot record a call");
                // A model cannot raise limits.
                let advice = "call again when other calls have returned";
                let why = refusal::body(error.code(), error.to_string(), advice);
                return Err(NoCallId::Refused(why));
            }
        };
        if let Some(parent) = parent {
            begun = begun.with_parent(parent);
        }
        if let Some(output) = &offered.output {
            shared.session().declare_output(name, output.schema());
        }
        begun = begun
            .with_tool(name)
            .with_repeatable(offered.prepared.listed().is_repeatable());
        if let Some((server, _)) = offered.source.split_once('/') {
            begun = begun.with_server(server);
        }
        if let Some(arguments) = arguments.filter(|own| own.len() <= Tombstone::MAX_ARGUMENTS) {
            // Not shared: it must not keep alive what else the message holds.
            begun = begun.with_arguments(Bytes::copy_from_slice(arguments));
        }
        return Ok(begun);
    }
    let message = "no id can be given to the call";
    let advice = "call it with values in place of references";
    let why = refusal::body(ErrorCode::StoreUnavailable, message, advice);
    Err(NoCallId::Refused(why))
}

/// The arguments as the server gets them, or why the call is not made.
async fn ready(
    shared: &Arc<Shared>,
    begun: Result<&InFlight, &NoCallId>,
    offered: &Arc<Offered>,
    written: Bytes,
    (view, inputs): (View, &Arc<CallInputs>),
) -> Result<PreparedCall, ErrorBodies> {
    let came = written.clone();
    let looked_at = apart(written.len(), move || (may_be_ours(&came), is_text(&came)));
    let (may_be_ours, is_text) = looked_at.await;
    if offered.keeps_parameters() && !may_be_ours {
        return Ok(PreparedCall::default());
    }
    if is_text {
        let message = "the arguments are a string in place of an object";
        let advice = "write them as an object, not as its JSON text";
        let code = ErrorCode::ArgumentsInvalid;
        return Err(refusal::body(code, message, advice));
    }
    let _room = room::to_read(shared, &written).await?;
    let (session, call_id) = match begun {
        Ok(in_flight) => (in_flight.session(), Some(in_flight.call_id())),
        Err(NoCallId::NotNoted(_)) => (shared.session(), None),
        // It may be called all the same, but not with references.
        Err(NoCallId::Refused(why)) => {
            let ready = unkept(shared, offered, &written).await;
            return ready.ok_or_else(|| why.clone());
        }
    };
    let mut session = session
        .clone()
        .with_inputs(Arc::<CallInputs>::clone(inputs));
    // A program writes what it means.
    if view == View::Program {
        session = session.with_exact_references();
    }
    let session = &session;
    let mut resolved = session
        .resolve_call_json(&offered.prepared, written.clone())
        .await;
    if let Err(error) = &resolved
        && let Some(fitting) = binary::fitted(session, offered, &written, error).await
    {
        let again = session.resolve_call_json(&offered.prepared, fitting).await;
        if again.is_ok() {
            resolved = again;
        }
    }
    let resolved = match resolved {
        Ok(resolved) => resolved,
        Err(error) => {
            if let Some(forbidden) = inputs.forbidden(&offered.source) {
                log_refused(call_id, offered, &forbidden);
                return Err(refusal::flow_body(&forbidden));
            }
            // What holds no reference is for the server to judge.
            if is_judged_only(&error)
                && let Some(ready) = plain(shared, offered, &written).await
            {
                return Ok(ready);
            }
            return Err(refusal::not_resolved(&error, offered));
        }
    };
    let sources = allowed(shared, call_id, offered, &resolved.lineage)
        .map_err(|error| refusal::flow_body(&error))?;
    let figures = shared.tools.figures.server(offered.server);
    figures.references.add(resolved.lineage.len());
    let notices = noticed(shared, call_id, offered, &resolved);
    let mut arguments = resolved.arguments;
    let length = arguments.len();
    room::fits_message(shared, length)?;
    // They are not charged twice.
    arguments.give_back();
    let mut charge = room::to_write(shared, 2 * length)?;
    let changed = changed(length, arguments, written).await;
    charge.keep(changed.as_ref().map_or(0, Bytes::len));
    Ok(PreparedCall {
        arguments: changed.map(|bytes| charge.hold(bytes)),
        sources,
        projection: resolved.projection,
        wants_whole: resolved.whole,
        notices,
    })
}

/// What is said of the call beside its result, if that is wanted; and a line for each in the log.
fn noticed(
    shared: &Shared,
    call_id: Option<&CallId>,
    offered: &Offered,
    resolved: &ResolvedJson,
) -> Notices {
    for notice in resolved.masked_notices().to_lines() {
        tracing::info!(
            target: "crossfeed::gateway::tools",
            call_id = call_id.map(CallId::as_str),
            to = &*offered.source,
            "{notice}"
        );
    }
    shared.heard(resolved.notices())
}

/// Whose data arguments hold, if it may go to the tool; and a line for each in the log.
fn allowed(
    shared: &Shared,
    call_id: Option<&CallId>,
    offered: &Offered,
    lineage: &[LineageEntry],
) -> Result<Sources, FlowError> {
    let checked = shared
        .tools
        .flows
        .check(lineage, &offered.source)
        .map_err(|error| match error {
            FlowError::UnknownSources { call_id, .. } => {
                let mut sources = lineage.iter().map(|link| &link.source);
                let source = sources.find(|source| source.call_id == call_id);
                let tool = source.and_then(|source| source.tool.as_deref());
                let known = tool.map(|tool| shared.find(tool, &shared.audience.reader));
                let is_repeatable = matches!(known, Some(NameLookup::Tool(offered)) if offered.prepared.listed().is_repeatable());
                FlowError::UnknownSources {
                    call_id,
                    is_repeatable,
                }
            }
            error => error,
        });
    match &checked {
        Ok(_) => flow::log(call_id, &offered.source, lineage),
        Err(error) => log_refused(call_id, offered, error),
    }
    checked
}

fn log_refused(call_id: Option<&CallId>, offered: &Offered, error: &FlowError) {
    tracing::warn!(
        target: "crossfeed::gateway::flow",
        call_id = call_id.map(CallId::as_str),
        to = &*offered.source,
        error = error.masked(),
        "refused a flow"
    );
}

/// Whether nothing is wrong but that arguments do not fit the tool's schema.
fn is_judged_only(error: &ResolveError) -> bool {
    error.failures().iter().all(|failure| {
        let of_arguments = matches!(
            &failure.error,
            Error::Arguments(_)
                | Error::Validation(_)
                | Error::Read(_)
                | Error::Limit(LimitError::ArgumentsTooLarge { .. } | LimitError::WrittenNumber(_))
        );
        of_arguments && failure.call_id.is_none()
    })
}

/// [`plain`] for a call that is [refused](NoCallId::Refused) an id. The tool's own names are not words of ours; and what is
/// never chained is left as it came.
async fn unkept(shared: &Shared, offered: &Offered, written: &Bytes) -> Option<PreparedCall> {
    let session = shared.session();
    let resolved = session.resolve_call_json(&offered.prepared, written.clone());
    let Ok(resolved) = resolved.await else {
        return plain(shared, offered, written).await;
    };
    let has_references = !resolved.lineage.is_empty();
    let is_plain = resolved.projection.is_none() && !resolved.whole;
    if !has_references && !offered.is_chained && is_plain {
        return Some(PreparedCall::default());
    }
    without_references(shared, resolved, written).await
}

/// Arguments without references as the tool gets them; none where there are references.
async fn plain(shared: &Shared, offered: &Offered, written: &Bytes) -> Option<PreparedCall> {
    let session = shared.session();
    let unjudged = offered.prepared.without_validation();
    let resolved = session.resolve_call_json(&unjudged, written.clone());
    // With nothing to judge by, what fails here is a reference.
    without_references(shared, resolved.await.ok()?, written).await
}

/// Arguments without parameters of the gateway's; none where they hold references.
async fn without_references(
    shared: &Shared,
    resolved: ResolvedJson,
    written: &Bytes,
) -> Option<PreparedCall> {
    let length = resolved.arguments.len();
    if !resolved.lineage.is_empty() {
        return None;
    }
    Some(PreparedCall {
        notices: shared.heard(resolved.notices()),
        arguments: changed(length, resolved.arguments, written.clone()).await,
        projection: resolved.projection,
        wants_whole: resolved.whole,
        ..PreparedCall::default()
    })
}

/// Arguments of so many bytes in one piece; none where they are as they were written.
async fn changed(length: usize, arguments: SplicedJson, written: Bytes) -> Option<Bytes> {
    let changed = move || Some(arguments.into_bytes()).filter(|bytes| *bytes != written);
    apart(length, changed).await
}

/// Whether arguments are a text of what may be meant for the gateway, in place of an object.
fn is_text(written: &Bytes) -> bool {
    written.starts_with(b"\"") && {
        let document = Document::new(written.clone());
        let text = document.root().ok().and_then(Cursor::as_str);
        text.is_some_and(|text| may_be_ours(text.as_bytes()))
    }
}

/// Whether arguments may hold a word that the gateway knows, or null, which may stand for nothing.
fn may_be_ours(arguments: &[u8]) -> bool {
    const WORDS: [&[u8]; 11] = [
        b"tool",
        b"artifact",
        b"select",
        b"refs",
        b"default",
        b"literal",
        b"template",
        b"with",
        b"fields",
        b"whole",
        b"null",
    ];
    // Names that end with these are common: `source_file`, `last_edit`.
    const BEGINNINGS: [&[u8]; 6] = [b"file", b"resource", b"patch", b"merge", b"edit", b"digest"];
    // An escape may be any sign.
    if memchr::memmem::find(arguments, b"\\u").is_some()
        || memchr::memmem::find(arguments, b"null").is_some()
    {
        return true;
    }
    let is_word = |at: usize| {
        let behind = arguments.get(at + 1..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| arguments.get(before));
        let begins = |words: &[&[u8]]| words.iter().any(|word| behind.starts_with(word));
        begins(&WORDS) || begins(&BEGINNINGS) && !before.is_some_and(u8::is_ascii_alphanumeric)
    };
    // `{"references": [{"to": "text", "file": "a.md"}]}`
    let has = |word: &[u8]| memchr::memmem::find(arguments, word).is_some();
    let is_entry = || has(b"\"to\"") && (has(b"\"file\"") || has(b"\"resource\""));
    memchr::memchr2_iter(b'_', b'$', arguments).any(is_word)
        || may_name_a_call(arguments)
        || is_entry()
}

/// Whether arguments hold what looks like an id that the gateway gave: `call_1`, in any case and with any sign in it,
/// or a signed one.
fn may_name_a_call(arguments: &[u8]) -> bool {
    let is_counted = |at: usize| {
        let before = at.checked_sub(4).and_then(|from| arguments.get(from..at));
        before.is_some_and(|word| word.eq_ignore_ascii_case(b"call"))
            && arguments.get(at + 1).is_some_and(u8::is_ascii_digit)
    };
    if memchr::memchr2_iter(b'_', b'-', arguments).any(is_counted) {
        return true;
    }
    let is_signed = |byte: &u8| matches!(byte, b'a'..=b'z' | b'2'..=b'7');
    let mut words = arguments.split(|byte| !is_signed(byte));
    words.any(|word| word.len() == SIGNED_ID)
}

#[cfg(test)]
mod tests {
    use super::may_be_ours;

    fn check(arguments: &str, expected: bool) {
        assert_eq!(may_be_ours(arguments.as_bytes()), expected, "{arguments}");
    }

    #[test]
    fn what_may_be_ours_is_looked_at() {
        check("{}", false);
        check(r#"{"a_b": "$5", "tool": 1, "_id": 2}"#, false);
        check(r#"{"a": {"$tool": "call_1"}}"#, true);
        check(r#"{"a": "{\"_tool\": \"call_1\"}"}"#, true);
        check(r#"{"a": {"\u0024tool": "call_1"}}"#, true);
        check(r#"{"a": {"$file": "a.txt"}}"#, true);
        check(r#"{"a": {"_resource": "a:b"}, "file": 1}"#, true);
        check(r#"{"a_file": "$ file", "resource": 1}"#, false);
        check(r#"{"_refs": {}}"#, true);
        check(r#"{"a": null}"#, true);
        check(r#"{"$literal": 1}"#, true);
        check(r#"{"_fields": "minimal"}"#, true);
        check(r#"{"_whole": true}"#, true);
        check(r#"{"a": "see {{Call-1.items}}"}"#, true);
        check(r#"{"a": "mzxw6ytboi2dqmzxgy3tqojqgi.items"}"#, true);
        check(r#"{"a": "call me, call_back, recall"}"#, false);
    }
}
