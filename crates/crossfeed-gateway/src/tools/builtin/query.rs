//! `query_results`: SQL over stored results, in a process of its own. The answer is recorded as a result.

use super::{Arguments, HOW_TO_NAME, QUERY, known_call};
use crate::{
    apart::apart,
    budget::Charge,
    config::{GATEWAY, QueriesConfig},
    export::{Content, ExportRequest},
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
use crossfeed_core::{Engine, InFlight, LineageEntry, Notices, Session};
use crossfeed_json::{Cursor, quoted};
use crossfeed_mcp::TraceMeta;
use crossfeed_sql::{SqlLimits, names_in, result_of};
use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
use crossfeed_wire::{CallId, ErrorBody, ErrorCode, View};
use crossfeed_worker::{
    Lease, QueryAnswer, Sandbox, WorkerCommand, WorkerError, WorkerOptions, Workers,
};
use serde_json::json;
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The most results of one statement.
const MAX_RESULTS: usize = 16;

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
        let (sql, names) = (read.text("sql")?, read.texts("describe")?);
        if let (None, Some(names)) = (sql, &names) {
            return describe(shared, queries, names).await;
        }
        let Some(sql) = sql.filter(|_| names.is_none()) else {
            let message = "either `sql` or `describe` is needed";
            let advice =
                "write one `SELECT` statement as `sql`; the tables are named by `_toolCallId`s";
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
                // As JSON, as a text in JSON, and as it is shown.
                let _room = room::to_write(shared, 3 * answer.json.len())?;
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
            view: own_view(reader),
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

/// The view of the client: of several, which servers may have, the one that a model reads.
fn own_view(reader: &Reader) -> View {
    let mut views = reader.views();
    let first = views.next().unwrap_or_default();
    views.fold(
        first,
        |own, other| if other == View::Program { own } else { other },
    )
}

/// The rows, and whose data they hold.
async fn queried(
    shared: &Shared,
    queries: &Queries,
    in_flight: &InFlight,
    sql: &str,
) -> Result<(QueryAnswer, Sources), ErrorBodies> {
    let session = in_flight.session();
    let imports = Imports::of_statement(shared, queries, session, sql).await?;
    let sources = imports.allowed(shared, queries)?;
    flow::log(
        Some(in_flight.call_id()),
        &queries.offered.source,
        &imports.lineage(),
    );
    let results = imports.names();
    let mut lease = imports.lease(shared, queries, session).await?;
    let mut answered = lease.query_within(sql, &results).await;
    // What was imported for earlier statements may take the room.
    if let Err(WorkerError::Memory | WorkerError::Ended) = answered {
        drop(lease);
        lease = imports.lease_fresh(shared, queries, session).await?;
        answered = lease.query_within(sql, &results).await;
    }
    end(shared, lease);
    let answer = answered.map_err(failed)?;
    tracing::info!(
        target: "crossfeed::gateway::tools",
        call_id = in_flight.call_id().as_str(),
        results = results.len(),
        rows = answer.rows,
        bytes = answer.json.len(),
        is_cut = answer.is_cut,
        "answered a statement"
    );
    Ok((answer, sources))
}

/// Keeps a process for the session. One that clients share which nothing tells apart ends, and with it what it knows.
fn end(shared: &Shared, lease: Lease<Vec<LineageEntry>>) {
    if !shared.place.is_shared {
        lease.keep();
    }
}

/// The tables of results, in few words.
async fn describe(
    shared: &Shared,
    queries: &Queries,
    names: &[String],
) -> Result<Bytes, ErrorBodies> {
    if names.is_empty() {
        let message = "`describe` names no result";
        return Err(refusal::body(
            ErrorCode::ArgumentsInvalid,
            message,
            HOW_TO_NAME,
        ));
    }
    if names.len() > MAX_RESULTS {
        return Err(too_many());
    }
    let ids = names.iter().map(|name| known_call(shared, name));
    let ids = ids.collect::<Result<Vec<_>, _>>()?;
    let mut imports = Imports::new(shared, queries);
    for id in ids {
        imports.add(shared, shared.session(), id).await?;
    }
    imports.allowed(shared, queries)?;
    let mut lease = imports.lease(shared, queries, shared.session()).await?;
    let outline = lease.outline(&imports.names()).await.map_err(failed)?;
    end(shared, lease);
    let result = refusal::result(&outline.text, shared.privacy());
    Ok(result.to_string().into())
}

fn too_many() -> ErrorBodies {
    let message = format!("more than {MAX_RESULTS} results are named");
    let advice = "ask about fewer at once: an answer is a result that others can name";
    refusal::body(ErrorCode::LimitExceeded, message, advice)
}

/// The results that a statement reads, and whose data each holds.
struct Imports {
    /// What the waiting process of the session has.
    known: HashMap<String, Vec<LineageEntry>>,
    results: Vec<(CallId, Source)>,
}

/// What is known of a result.
struct Source {
    lineage: Vec<LineageEntry>,
    /// What is to be imported, and the room that it takes; none where a process had it.
    exported: Option<(Bytes, Charge)>,
}

impl Imports {
    fn new(shared: &Shared, queries: &Queries) -> Self {
        Self {
            known: queries.workers.imported(&shared.owner()),
            results: Vec::new(),
        }
    }

    /// The results whose tables a statement may name. One that nothing recorded is left out: to the statement there is no
    /// such table.
    async fn of_statement(
        shared: &Shared,
        queries: &Queries,
        session: &Session,
        sql: &str,
    ) -> Result<Self, ErrorBodies> {
        let mut imports = Self::new(shared, queries);
        let names = names_in(sql);
        let ids = names.iter().flat_map(|name| result_of(name));
        let ids: BTreeSet<&str> = ids
            .filter(|id| shared.place.ids.is_written_like(id))
            .collect();
        for id in ids.into_iter().filter_map(|id| CallId::parse(id).ok()) {
            match imports.add(shared, session, id).await {
                Err(bodies) if is_unknown(&bodies) => {}
                added => added?,
            }
            if imports.results.len() > MAX_RESULTS {
                return Err(too_many());
            }
        }
        Ok(imports)
    }

    async fn add(
        &mut self,
        shared: &Shared,
        session: &Session,
        id: CallId,
    ) -> Result<(), ErrorBodies> {
        // One that is no longer there is an error, which says why.
        let known = match self.known.get(id.as_str()) {
            Some(lineage) if session.get(&id).await.is_ok() => Some(lineage.clone()),
            _ => None,
        };
        let source = match known {
            Some(lineage) => Source {
                lineage,
                exported: None,
            },
            None => exported(shared, session, &id).await?,
        };
        self.results.push((id, source));
        Ok(())
    }

    fn names(&self) -> Vec<&str> {
        self.results.iter().map(|(id, _)| id.as_str()).collect()
    }

    fn lineage(&self) -> Vec<LineageEntry> {
        let all = self.results.iter().map(|(_, source)| &source.lineage);
        all.flatten().cloned().collect()
    }

    /// Whose data all of them hold, if it may be asked about.
    fn allowed(&self, shared: &Shared, queries: &Queries) -> Result<Sources, ErrorBodies> {
        let to = &queries.offered.source;
        shared.tools.flows.check(&self.lineage(), to).map_err(|error| {
            let masked = error.masked();
            tracing::warn!(target: "crossfeed::gateway::flow", %to, error = masked, "refused a flow");
            refusal::flow_body(&error)
        })
    }

    /// A process that has them, with what the session imported before if there is room for both.
    async fn lease(
        &self,
        shared: &Shared,
        queries: &Queries,
        session: &Session,
    ) -> Result<Lease<Vec<LineageEntry>>, ErrorBodies> {
        let lease = queries.workers.lease(&shared.owner()).await;
        let lease = lease.map_err(failed)?;
        match self.import(shared, session, lease).await? {
            Ok(lease) => Ok(lease),
            Err(WorkerError::Memory | WorkerError::Ended) => {
                self.lease_fresh(shared, queries, session).await
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// A process that has them and nothing else.
    async fn lease_fresh(
        &self,
        shared: &Shared,
        queries: &Queries,
        session: &Session,
    ) -> Result<Lease<Vec<LineageEntry>>, ErrorBodies> {
        let lease = queries.workers.lease_fresh(&shared.owner()).await;
        let lease = lease.map_err(failed)?;
        self.import(shared, session, lease).await?.map_err(failed)
    }

    /// Imports what a process does not have.
    async fn import(
        &self,
        shared: &Shared,
        session: &Session,
        mut lease: Lease<Vec<LineageEntry>>,
    ) -> Result<Result<Lease<Vec<LineageEntry>>, WorkerError>, ErrorBodies> {
        for (id, source) in &self.results {
            if lease.imported(id.as_str()).is_some() {
                continue;
            }
            // The process that had it may be gone, or another call's.
            let again = match &source.exported {
                Some(_) => None,
                None => exported(shared, session, id).await?.exported,
            };
            let Some((json, _)) = source.exported.as_ref().or(again.as_ref()) else {
                continue;
            };
            let lineage = source.lineage.clone();
            if let Err(error) = lease.import_with(id.as_str(), json, lineage).await {
                return Ok(Err(error));
            }
        }
        Ok(Ok(lease))
    }
}

fn is_unknown(bodies: &[ErrorBody]) -> bool {
    let unknown = ErrorCode::ResultUnknown.as_str();
    bodies.iter().all(|body| body.code == unknown)
}

/// A result as JSON, and whose data it holds.
async fn exported(shared: &Shared, session: &Session, id: &CallId) -> Result<Source, ErrorBodies> {
    let exported = shared.export_from(session, ExportRequest::new(id)).await;
    let (export, room) = exported.map_err(refusal::not_exported)?;
    let json = match export.content {
        Content::Json(json) => json,
        Content::Text(text) => apart(text.len(), move || Bytes::from(quoted(&text))).await,
        Content::Binary { media_type, .. } => {
            let id = quoted(id.as_str());
            let message = format!("the result of call {id} is binary data ({media_type})");
            let advice = "pass it on by a reference, or save it as a file";
            return Err(refusal::body(ErrorCode::QueryInvalid, message, advice));
        }
    };
    Ok(Source {
        lineage: export.lineage,
        exported: Some((json, room)),
    })
}

/// Why there is no answer.
fn failed(error: WorkerError) -> ErrorBodies {
    if let WorkerError::Start(source) = &error {
        tracing::warn!(target: "crossfeed::gateway::tools", error = %source, "cannot start a process for a query");
    }
    refusal::body(error.code(), error.to_string(), error.advice())
}
