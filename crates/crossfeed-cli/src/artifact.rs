//! `crossfeed artifact`: parts of results that outlive their session's cache.

use crate::{
    cli::{self, ArtifactCommand},
    input, records,
    report::Stop,
    select,
};
use crossfeed::{
    Component, Engine, EngineOptions, ErrorBody, ErrorCode, Failure, NewArtifact, Retrieved,
    Session,
    json::Document,
    store::{ListedArtifact, MemoryLimits, StoreError},
    store_sqlite::{SqliteOptions, SqliteStore},
};
use serde_json::{Value, json};
use std::{io::Write, path::Path, sync::Arc};

pub(crate) async fn run(
    command: &ArtifactCommand,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    match command {
        ArtifactCommand::Create(args) => create(args, out, err).await,
        ArtifactCommand::List(args) => list(args, out).await,
        ArtifactCommand::Get(args) => get(args, out).await,
    }
}

/// The store in a directory; what a command was given is not evicted from the cache before it.
pub(crate) fn store(directory: &Path, limits: MemoryLimits) -> Result<Arc<SqliteStore>, Stop> {
    let options = SqliteOptions::default().with_limits(limits);
    let store = SqliteStore::open(directory, options).map_err(|error| stop(&error))?;
    Ok(Arc::new(store))
}

/// A store's error as it is written.
pub(crate) fn stop(error: &StoreError) -> Stop {
    let mut body = ErrorBody::new(error.code(), with_causes(error));
    body.advice = Some(error.advice());
    body.into()
}

/// An error and what caused it, in one line.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}

fn session(kept: &cli::Kept) -> Result<Session, Stop> {
    let scope = records::scope(&kept.session).map_err(|error| {
        Stop::Usage(format!(
            "`{}` is no session: {}",
            kept.session, error.source
        ))
    })?;
    let store = store(&kept.store, MemoryLimits::default())?;
    Ok(Engine::new(EngineOptions::default(), store).session(scope))
}

/// The failure as it is written: there are no arguments here.
fn body(failure: Failure) -> ErrorBody {
    let mut body = failure.body();
    body.at = None;
    body
}

async fn create(
    args: &cli::ArtifactCreate,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    let document = input::read(&args.file)?;
    let mut wanted = NewArtifact::new(args.artifact_id.clone(), args.call_id.clone());
    if let Some(base) = &args.base {
        wanted = wanted.with_base(base);
    }
    for (name, selector) in &args.details {
        wanted = wanted.with_detail(name, selector);
    }
    if let Some(path) = &args.component {
        wanted = wanted.with_component(component(path)?);
    }
    let session = session(&args.kept)?;
    session
        .record(&args.call_id, select::result(document, args.kind))
        .await
        .map_err(|error| stop(&error))?;
    let created = session.create_artifact(wanted).await.map_err(body)?;
    if args.explain {
        for (name, report) in &created.reports {
            for line in select::remarks(name, report) {
                let _ = writeln!(err, "{line}");
            }
        }
    }
    writeln!(out, "{}", line(&ListedArtifact::of(&created.artifact)))?;
    Ok(())
}

/// An artifact as a model is told of it: its ids, how large it is, and its summary.
pub(crate) fn line(artifact: &ListedArtifact) -> String {
    let mut line = json!({
        "artifact_id": artifact.artifact_id.as_str(),
        "call_id": artifact.call_id.as_str(),
    });
    if let Some(tool) = &artifact.tool {
        line["tool"] = Value::from(&**tool);
    }
    line["bytes"] = artifact.bytes.into();
    line["retrieval_blocked"] = artifact.retrieval_blocked.into();
    let mut line = line.to_string();
    if let Some(summary) = &artifact.summary {
        // The bytes as they are stored: a number keeps its digits.
        let end = line.pop();
        line.push_str(",\"summary\":");
        line.push_str(&String::from_utf8_lossy(summary));
        line.extend(end);
    }
    line
}

fn component(path: &Path) -> Result<Component, Stop> {
    let document = Document::new(input::read(path)?);
    let invalid = |why: String| {
        let message = format!("{} is no valid JSON Schema: {why}", input::name(path));
        Stop::answer(ErrorCode::SchemaInvalid, message)
    };
    let root = document
        .root()
        .map_err(|error| invalid(error.to_string()))?;
    let schema = root
        .to_value()
        .map_err(|error| invalid(error.to_string()))?;
    Component::parse(&schema).map_err(|error| invalid(error.to_string()))
}

async fn list(args: &cli::ArtifactList, out: &mut dyn Write) -> Result<(), Stop> {
    let listed = session(&args.kept)?.artifacts().await;
    for artifact in listed.map_err(|error| stop(&error))? {
        writeln!(out, "{}", line(&artifact))?;
    }
    Ok(())
}

async fn get(args: &cli::ArtifactGet, out: &mut dyn Write) -> Result<(), Stop> {
    let brought = session(&args.kept)?
        .retrieve_artifact(&args.artifact_id, &args.call_id, args.select.as_deref())
        .await
        .map_err(body)?;
    if let Retrieved::Data { json, .. } = &brought {
        out.write_all(json)?;
        writeln!(out)?;
        return Ok(());
    }
    match brought.error_body() {
        Some(body) => Err(body.into()),
        None => Ok(()),
    }
}
