//! `crossfeed artifact`: parts of results that outlive their session's cache.

use crate::{
    cli::{self, ArtifactCommand},
    document, input, records,
    report::Stop,
    retrieve, select,
};
use crossfeed::{
    Component, Engine, EngineOptions, ErrorBody, NewArtifact, Session,
    store::{ListedArtifact, MemoryLimits},
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

/// The store in a directory that must be there.
pub(crate) fn store(directory: &Path, limits: MemoryLimits) -> Result<Arc<SqliteStore>, Stop> {
    let options = SqliteOptions::default()
        .with_limits(limits)
        .with_must_exist(true);
    open(directory, options)
}

fn open(directory: &Path, options: SqliteOptions) -> Result<Arc<SqliteStore>, Stop> {
    match SqliteStore::open(directory, options) {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(Stop::from(error).at_place(&input::name(directory))),
    }
}

fn session(
    kept: &cli::Kept,
    options: EngineOptions,
    store: Arc<SqliteStore>,
) -> Result<Session, Stop> {
    let scope = records::named_scope(&kept.session)?;
    Ok(Engine::new(options, store).session(scope))
}

async fn create(
    args: &cli::ArtifactCreate,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    let component = args.component.as_deref();
    input::check_stdin([Some(args.file.as_os_str()), component.map(Path::as_os_str)])?;
    let options = retrieve::engine(&args.context)?;
    let wanted = wanted(args)?;
    let document = document::read(&args.file, args.kind, err)?;
    let options = records::with_room(options, document.raw().len());
    let store = open(&args.kept.store, SqliteOptions::default())?;
    let session = session(&args.kept, options, store)?;
    session
        .record(&args.call_id, records::result(document, args.kind))
        .await?;
    let created = session.create_artifact(wanted).await?;
    for (written, report) in &created.reports {
        // Remarks that cannot be written do not keep the answer back.
        if args.explain {
            for line in select::remarks(written, report) {
                let _ = writeln!(err, "{line}");
            }
        }
        if let Some(notice) = &report.notice {
            let _ = writeln!(err, "notice: {notice}");
        }
    }
    writeln!(out, "{}", line(&ListedArtifact::of(&created.artifact)))?;
    Ok(())
}

fn wanted(args: &cli::ArtifactCreate) -> Result<NewArtifact, Stop> {
    let mut wanted = NewArtifact::new(args.artifact_id.clone(), args.call_id.clone());
    if let Some(base) = &args.base {
        wanted = wanted.with_base(base);
    }
    for (index, (name, selector)) in args.details.iter().enumerate() {
        if args
            .details
            .iter()
            .take(index)
            .any(|(known, _)| known == name)
        {
            return Err(Stop::Usage(format!("the detail `{name}` is given twice")));
        }
        wanted = wanted.with_detail(name, selector);
    }
    if let Some(path) = &args.component {
        wanted = wanted.with_component(component(path)?);
    }
    Ok(wanted)
}

fn component(path: &Path) -> Result<Component, Stop> {
    let schema = input::read_schema_within(path, &input::name(path))?;
    Component::parse(&schema).map_err(|error| {
        let mut body = ErrorBody::new(error.code(), format!("{}: {error}", input::name(path)));
        body.advice = Some(error.advice());
        body.into()
    })
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
    if artifact.damaged {
        line["damaged"] = true.into();
    }
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

async fn list(args: &cli::ArtifactList, out: &mut dyn Write) -> Result<(), Stop> {
    let store = store(&args.kept.store, MemoryLimits::default())?;
    let session = session(&args.kept, EngineOptions::default(), store)?;
    for artifact in session.artifacts().await? {
        writeln!(out, "{}", line(&artifact))?;
    }
    Ok(())
}

async fn get(args: &cli::ArtifactGet, out: &mut dyn Write) -> Result<(), Stop> {
    let options = retrieve::engine(&args.context)?;
    let store = store(&args.kept.store, MemoryLimits::default())?;
    let brought = session(&args.kept, options, store)?
        .retrieve_artifact(&args.artifact_id, &args.call_id, args.select.as_deref())
        .await?;
    retrieve::print(&brought, out)
}
