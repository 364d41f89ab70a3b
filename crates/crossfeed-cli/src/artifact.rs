//! `crossfeed artifact`: stores parts of results that outlive their session's cache.

use crate::{
    cli::{self, ArtifactCommand},
    document, input, records,
    report::{CommandError, Result, Streams, bail},
    retrieve, select,
};
use crossfeed::{
    Engine, EngineOptions, Session,
    artifact::{Component, ListedArtifact, NewArtifact},
    store::{MemoryLimits, SqliteOptions, SqliteStore},
};
use serde_json::{Value, json};
use std::{path::Path, sync::Arc};

pub(crate) async fn run(command: &ArtifactCommand, io: &mut Streams<'_>) -> Result {
    match command {
        ArtifactCommand::Create(args) => create(args, io).await,
        ArtifactCommand::List(args) => list(args, io).await,
        ArtifactCommand::Get(args) => get(args, io).await,
    }
}

/// The store in a directory that must exist.
pub(crate) fn store(directory: &Path, limits: MemoryLimits) -> Result<Arc<SqliteStore>> {
    let options = SqliteOptions::default()
        .with_limits(limits)
        .with_must_exist(true);
    open(directory, options)
}

fn open(directory: &Path, options: SqliteOptions) -> Result<Arc<SqliteStore>> {
    match SqliteStore::open(directory, options) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(CommandError::from(error).at_place(&input::name(directory))),
    }
}

fn session(
    storage: &cli::Storage,
    options: EngineOptions,
    store: Arc<SqliteStore>,
) -> Result<Session> {
    let scope = records::named_scope(&storage.session)?;
    Ok(Engine::new(options, store).session(scope))
}

async fn create(args: &cli::ArtifactCreate, io: &mut Streams<'_>) -> Result {
    let component = args.component.as_deref();
    input::check_stdin([Some(args.file.as_os_str()), component.map(Path::as_os_str)])?;
    let options = retrieve::engine(&args.context)?;
    let wanted = wanted(args)?;
    let document = document::read(&args.file, args.kind, io)?;
    let options = records::with_room(options, document.raw().len());
    let store = open(&args.storage.store, SqliteOptions::default())?;
    let session = session(&args.storage, options, store)?;
    session
        .record(&args.call_id, records::result(document, args.kind))
        .await?;
    let created = session.create_artifact(wanted).await?;
    for (written, report) in &created.reports {
        select::explain(written, report, args.explain, io);
    }
    io.json(line(&ListedArtifact::from_artifact(&created.artifact)))
}

fn wanted(args: &cli::ArtifactCreate) -> Result<NewArtifact> {
    let mut wanted = NewArtifact::new(args.artifact_id.clone(), args.call_id.clone());
    if let Some(base) = &args.base {
        wanted = wanted.with_base(base);
    }
    for (index, (name, selector)) in args.details.iter().enumerate() {
        let mut before = args.details.iter().take(index);
        if before.any(|(known, _)| known == name) {
            bail!("the detail `{name}` is given twice");
        }
        wanted = wanted.with_detail(name, selector);
    }
    if let Some(path) = &args.component {
        wanted = wanted.with_component(component(path)?);
    }
    Ok(wanted)
}

fn component(path: &Path) -> Result<Component> {
    let schema = input::read_schema_within(path, &input::name(path))?;
    Component::parse(&schema).map_err(|error| {
        let message = format!("{}: {error}", input::name(path));
        CommandError::answer(error.code(), message).with_advice(error.advice())
    })
}

/// An artifact as a model sees it: its ids, its size, and its summary.
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
    if artifact.damaged {
        line["damaged"] = true.into();
    }
    let mut line = line.to_string();
    if let Some(summary) = &artifact.summary {
        // The stored bytes, so that numbers keep their digits.
        let end = line.pop();
        line.push_str(",\"summary\":");
        line.push_str(&String::from_utf8_lossy(summary));
        line.extend(end);
    }
    line
}

async fn list(args: &cli::ArtifactList, io: &mut Streams<'_>) -> Result {
    let store = store(&args.storage.store, MemoryLimits::default())?;
    let session = session(&args.storage, EngineOptions::default(), store)?;
    for artifact in session.artifacts().await? {
        io.answer(line(&artifact))?;
    }
    Ok(())
}

async fn get(args: &cli::ArtifactGet, io: &mut Streams<'_>) -> Result {
    let options = retrieve::engine(&args.context)?;
    let store = store(&args.storage.store, MemoryLimits::default())?;
    let brought = session(&args.storage, options, store)?
        .retrieve_artifact(&args.artifact_id, &args.call_id, args.select.as_deref())
        .await?;
    retrieve::print(&brought, args.raw.raw, io)
}
