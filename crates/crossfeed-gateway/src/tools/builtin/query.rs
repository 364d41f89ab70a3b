//! `query_results`: SQL over stored results, in a process of its own. The answer is recorded as a result.

use super::{Arguments, QUERY};
use crate::{
    apart::apart,
    config::{GATEWAY, QueriesConfig},
    export::{Content, Export, ExportError, ExportRequest, export},
    tools::{
        call::{NoCallId, PreparedCall, begun},
        client::Shared,
        flow::{self, Sources},
        list::Offered,
        reader::{Reader, ReaderHints},
        refusal::{self, ErrorBodies},
        result::{RecordedCall, Replay},
        room,
    },
};
use bytes::Bytes;
use crossfeed_core::{Engine, Error, InFlight, LineageEntry, Notices};
use crossfeed_json::{Cursor, quoted};
use crossfeed_mcp::TraceMeta;
use crossfeed_sql::{SqlLimits, names_in, result_of};
use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
use crossfeed_wire::{CallId, ErrorBody, ErrorCode};
use crossfeed_worker::{
    Lease, QueryAnswer, Sandbox, WorkerCommand, WorkerError, WorkerOptions, Workers,
};
use serde_json::json;
use std::{collections::HashSet, sync::Arc, time::Duration};

/// The most results of one statement.
const MAX_RESULTS: usize = 16;

/// What a statement may take longer than its own time, before its process is killed: to import, and for what no clock
/// of SQLite ends.
const GRACE: Duration = Duration::from_secs(20);

/// The processes that answer statements, and the tool as calls of it are recorded.
pub(in crate::tools) struct Queries {
    workers: Workers<Vec<LineageEntry>>,
    offered: Arc<Offered>,
}

impl Queries {
    pub(in crate::tools) fn new(
        command: WorkerCommand,
        config: &QueriesConfig,
        engine: &Engine,
    ) -> Option<Self> {
        let limits = SqlLimits::default()
            .with_time(config.time)
            .with_rows(config.rows)
            .with_answer_bytes(config.answer_bytes);
        let options = WorkerOptions::new(command)
            .with_limits(limits)
            .with_memory_bytes(config.memory_bytes as u64)
            .with_deadline(config.time + GRACE)
            .with_running(config.running);
        Some(Self {
            workers: Workers::new(options),
            offered: Arc::new(offered(engine)?),
        })
    }

    pub(in crate::tools) async fn warm_up(&self) -> Result<Sandbox, WorkerError> {
        self.workers.warm_up().await
    }

    /// Ends the process that has results of a session.
    pub(in crate::tools) fn forget(&self, owner: &str) {
        self.workers.forget(owner);
    }
}

/// The tool, as one of no server.
fn offered(engine: &Engine) -> Option<Offered> {
    let tools = ToolList::parse(&json!([super::query_results()])).ok()?;
    let tools = rewrite_tools(&tools, &ListOptions::style(Style::Inline));
    let listed = tools.find(QUERY)?.clone();
    Some(Offered::own(engine, format!("{GATEWAY}/{QUERY}"), listed))
}

/// The answer to a call; an error is an answer, too.
pub(in crate::tools) async fn answer(
    shared: &Arc<Shared>,
    queries: &Queries,
    (params, arguments): (Cursor<'_>, Option<Bytes>),
    (said, reader): (&ReaderHints, &Reader),
) -> Bytes {
    let trace = TraceMeta::read(params);
    let call = async {
        let written = arguments.clone();
        let read = Arguments::parse(QUERY, arguments, &shared.tools.config)?;
        if let Some(names) = read.texts("describe")? {
            return describe(shared, queries, &names).await;
        }
        let Some(sql) = read.text("sql")? else {
            let message = "the required parameter `sql` is missing";
            let advice = "write one `SELECT` statement; the tables are named by `_toolCallId`s";
            return Err(refusal::body(ErrorCode::ArgumentsInvalid, message, advice));
        };
        let begun = begun(
            shared,
            &queries.offered,
            QUERY,
            trace.context(),
            written.as_ref(),
        )
        .await;
        let in_flight = begun.map_err(|why| match why {
            NoCallId::Refused(bodies) => bodies,
            NoCallId::NotNoted(why) => {
                let advice = "query again later";
                refusal::body(ErrorCode::StoreUnavailable, why, advice)
            }
        })?;
        match queried(shared, queries, &in_flight, sql).await {
            Ok((answer, sources)) => {
                let kept = recorded(
                    shared,
                    queries,
                    in_flight,
                    (said, reader),
                    (&answer, sources),
                );
                let result = to_result(&answer).await;
                Ok(kept.finish(result.clone(), None).await.over(&result))
            }
            Err(bodies) => {
                let first = bodies.first().map(|body| body.message.clone());
                let failed = in_flight.fail(&first.unwrap_or_default()).await;
                if let Err(error) = failed {
                    tracing::debug!(target: "crossfeed::gateway::tools", %error, "cannot record a failure");
                }
                Err(bodies)
            }
        }
    };
    let answer: Result<Bytes, ErrorBodies> = call.await;
    answer.unwrap_or_else(|bodies| {
        for body in &bodies {
            shared.tools.figures.refused(body.code);
        }
        shared.refused(bodies)
    })
}

/// The rows as the result of a tool.
async fn to_result(answer: &QueryAnswer) -> Bytes {
    let json = answer.json.clone();
    apart(json.len(), move || {
        let text = String::from_utf8_lossy(&json);
        json!({"content": [{"type": "text", "text": text}]})
            .to_string()
            .into()
    })
    .await
}

fn recorded(
    shared: &Arc<Shared>,
    queries: &Queries,
    in_flight: InFlight,
    (said, reader): (&ReaderHints, &Reader),
    (answer, sources): (&QueryAnswer, Sources),
) -> RecordedCall {
    let note = answer.is_cut.then(|| {
        format!(
            "only the first {} rows are here: the answer is longer than it may be. Select fewer columns or rows, or aggregate",
            answer.rows
        )
    });
    RecordedCall {
        shared: Arc::clone(shared),
        replay: Replay {
            call_id: in_flight.call_id().clone(),
            offered: Arc::clone(&queries.offered),
            view: reader.view(0),
            shows: shared.shows(said),
            can_read: shared.tools.config.extra_tools.read,
            projection: None,
            notices: Notices::default(),
            note,
            params: Bytes::new(),
        },
        in_flight,
        ready: PreparedCall {
            sources,
            ..PreparedCall::default()
        },
        asked: None,
    }
}

/// The rows, and whose data they hold.
async fn queried(
    shared: &Shared,
    queries: &Queries,
    in_flight: &InFlight,
    sql: &str,
) -> Result<(QueryAnswer, Sources), ErrorBodies> {
    let ids = named(shared, sql);
    let mut lease = lease(shared, queries).await?;
    let lineage = imported(shared, &mut lease, in_flight, &ids).await?;
    let sources = shared.tools.flows.check(&lineage, &queries.offered.source);
    let sources = sources.map_err(|error| {
        let masked = error.masked();
        tracing::warn!(target: "crossfeed::gateway::flow", to = &*queries.offered.source, error = masked, "refused a flow");
        refusal::flow_body(&error)
    })?;
    flow::log(Some(in_flight.call_id()), &queries.offered.source, &lineage);
    let answered = lease.query(sql).await;
    if matches!(&answered, Ok(_) | Err(WorkerError::Query(_))) {
        lease.keep();
    }
    Ok((answered.map_err(failed)?, sources))
}

/// The tables of results, in few words.
async fn describe(
    shared: &Shared,
    queries: &Queries,
    names: &[String],
) -> Result<Bytes, ErrorBodies> {
    let mut ids = Vec::new();
    for name in names.iter().take(MAX_RESULTS) {
        let id = CallId::parse(name).ok();
        let id = id.filter(|id| shared.place.ids.may_be(id.as_str()));
        ids.push(id.ok_or_else(|| {
            let message = format!(
                "no result of call {} is known in this session",
                quoted(name)
            );
            let advice = "use the `_toolCallId` of a result, exactly as it was shown";
            refusal::body(ErrorCode::ResultUnknown, message, advice)
        })?);
    }
    let mut lease = lease(shared, queries).await?;
    for id in &ids {
        import(shared, &mut lease, shared.session(), id).await?;
    }
    let lineage: Vec<LineageEntry> = held(&lease, &ids);
    let allowed = shared.tools.flows.check(&lineage, &queries.offered.source);
    allowed.map_err(|error| refusal::flow_body(&error))?;
    let names: Vec<&str> = ids.iter().map(CallId::as_str).collect();
    let outlined = lease.outline(&names).await.map_err(failed)?;
    lease.keep();
    let result = refusal::result(&outlined.text, shared.privacy());
    Ok(result.to_string().into())
}

async fn lease(
    shared: &Shared,
    queries: &Queries,
) -> Result<Lease<Vec<LineageEntry>>, ErrorBodies> {
    queries.workers.lease(&shared.owner()).await.map_err(failed)
}

/// The results that a statement may name.
fn named(shared: &Shared, sql: &str) -> Vec<CallId> {
    let mut seen = HashSet::new();
    let names = names_in(sql);
    let ids = names.iter().flat_map(|name| result_of(name));
    let known = ids.filter(|id| shared.place.ids.may_be(id) && seen.insert(*id));
    known
        .filter_map(|id| CallId::parse(id).ok())
        .take(MAX_RESULTS)
        .collect()
}

/// Imports results that are not there yet, and gives whose data all of them are. One that nobody recorded is left out:
/// the statement fails if it names it as a table.
async fn imported(
    shared: &Shared,
    lease: &mut Lease<Vec<LineageEntry>>,
    in_flight: &InFlight,
    ids: &[CallId],
) -> Result<Vec<LineageEntry>, ErrorBodies> {
    for id in ids {
        match import(shared, lease, in_flight.session(), id).await {
            Err(bodies) if is_unknown(&bodies) => {}
            outcome => outcome?,
        }
    }
    Ok(held(lease, ids))
}

fn is_unknown(bodies: &[ErrorBody]) -> bool {
    bodies
        .iter()
        .all(|body| body.code == ErrorCode::ResultUnknown.as_str())
}

fn held(lease: &Lease<Vec<LineageEntry>>, ids: &[CallId]) -> Vec<LineageEntry> {
    let all = ids.iter().filter_map(|id| lease.imported(id.as_str()));
    all.flatten().cloned().collect()
}

async fn import(
    shared: &Shared,
    lease: &mut Lease<Vec<LineageEntry>>,
    session: &crossfeed_core::Session,
    id: &CallId,
) -> Result<(), ErrorBodies> {
    if lease.imported(id.as_str()).is_some() {
        return Ok(());
    }
    let most = shared.tools.config.limits.message_bytes;
    let reserve = |bytes| room::to_write(shared, bytes).ok();
    let exported = export(session, ExportRequest::new(id), most, reserve).await;
    let (export, _room) = exported.map_err(|error| match error {
        ExportError::Failure(failure) if matches!(failure.error, Error::Lookup(_)) => {
            refusal::from_failure(&failure)
        }
        error => refusal::not_exported(error),
    })?;
    let Export {
        content, lineage, ..
    } = export;
    let json = match content {
        Content::Json(json) => json,
        Content::Text(text) => apart(text.len(), move || Bytes::from(quoted(&text))).await,
        Content::Binary { media_type, .. } => {
            let message = format!(
                "the result of call {} is binary data ({media_type})",
                quoted(id.as_str())
            );
            let advice = "pass it on by a reference, or save it as a file";
            return Err(refusal::body(ErrorCode::QueryInvalid, message, advice));
        }
    };
    lease
        .import_with(id.as_str(), json, lineage)
        .await
        .map_err(failed)?;
    Ok(())
}

/// Why there is no answer.
fn failed(error: WorkerError) -> ErrorBodies {
    if let WorkerError::Start(source) = &error {
        tracing::warn!(target: "crossfeed::gateway::tools", error = %source, "cannot start a process for a query");
    }
    refusal::body(error.code(), error.to_string(), error.advice())
}
