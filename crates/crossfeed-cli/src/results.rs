//! `crossfeed results`: what a gateway keeps in its directory, for people.

use crate::{
    cli::{Kept, ResultsCommand, ResultsGet, ResultsLs, ResultsSave, Wanted},
    input, records,
    report::{CommandError, Result, Streams, bail},
};
use crossfeed::{
    Engine, EngineOptions, ErrorCode, Scope,
    error::printable,
    store::{KeptResult, SqliteOptions, SqliteStore},
};
use crossfeed_gateway::{
    export::{self, Content, ExportError, ExportRequest},
    root_directory::{Existing, FileError, RelativePath, RootDirectory},
};
use serde_json::{Value, json};
use std::{fmt::Write as _, path::Path, sync::Arc, time::Duration};

/// Characters of a session that are shown: enough to tell it from others.
const SESSION_CHARS: usize = 10;
/// Sessions that an error names.
const MAX_SESSIONS: usize = 8;

pub(crate) async fn run(command: &ResultsCommand, io: &mut Streams<'_>) -> Result {
    match command {
        ResultsCommand::Ls(args) => ls(args, io),
        ResultsCommand::Get(args) => get(args, io).await,
        ResultsCommand::Save(args) => save(args, io).await,
    }
}

/// The store of a directory, to be looked at only.
fn open(directory: &Path) -> Result<SqliteStore> {
    let options = SqliteOptions::default()
        // How long results are kept is for the gateway to say.
        .with_limits(records::plenty())
        .with_keep_results(true)
        .with_must_exist(true)
        .with_read_only(true);
    SqliteStore::open(directory, options)
        .map_err(|error| CommandError::from(error).at_place(&input::name(directory)))
}

/// The results of a directory, or of the sessions that are meant.
fn kept(store: &SqliteStore, kept: &Kept) -> Result<Vec<KeptResult>> {
    let mut results = store
        .kept_results()
        .map_err(|error| CommandError::from(error).at_place(&input::name(&kept.state)))?;
    if let Some(session) = &kept.session {
        results.retain(|result| is_meant(&result.scope, session));
    }
    Ok(results)
}

/// Whether a scope is of a session that begins so, alone or behind its project.
fn is_meant(scope: &Scope, session: &str) -> bool {
    scope.session().starts_with(session) || whole_name(scope).starts_with(session)
}

fn whole_name(scope: &Scope) -> String {
    format!("{}/{}", scope.project(), scope.session())
}

fn ls(args: &ResultsLs, io: &mut Streams<'_>) -> Result {
    let results = kept(&open(&args.kept.state)?, &args.kept)?;
    if io.errors_as_json {
        let results: Vec<_> = results.iter().map(item).collect();
        return io.json(json!({ "results": results }).to_string());
    }
    let head = ["ID", "TOOL", "SERVER", "SESSION", "BYTES", "AGE"].map(str::to_owned);
    let rows: Vec<_> = [head].into_iter().chain(results.iter().map(row)).collect();
    for line in table(&rows) {
        io.answer(line)?;
    }
    Ok(())
}

fn item(result: &KeptResult) -> Value {
    let listed = &result.listed;
    let mut item = json!({"call_id": listed.call_id.as_str()});
    if let Some(tool) = &listed.tool {
        item["tool"] = json!(tool);
    }
    if let Some(server) = &result.server {
        item["server"] = json!(server);
    }
    item["session"] = json!(result.scope.session());
    item["project"] = json!(result.scope.project());
    item["bytes"] = json!(listed.bytes);
    item["age_seconds"] = json!(result.age.as_secs());
    if listed.failed {
        item["failed"] = json!(true);
    }
    item
}

fn row(result: &KeptResult) -> [String; 6] {
    let listed = &result.listed;
    let text =
        |text: Option<&Arc<str>>| text.map_or("-".to_owned(), |text| printable(text).into_owned());
    let failed = if listed.failed { " (failed)" } else { "" };
    [
        printable(listed.call_id.as_str()).into_owned(),
        text(listed.tool.as_ref()) + failed,
        text(result.server.as_ref()),
        result.scope.session().chars().take(SESSION_CHARS).collect(),
        listed.bytes.to_string(),
        age(result.age),
    ]
}

/// An age in its largest unit.
fn age(age: Duration) -> String {
    let seconds = age.as_secs();
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let unit = units.into_iter().find(|(unit, _)| seconds >= *unit);
    let (unit, name) = unit.unwrap_or((1, "s"));
    format!("{} {name}", seconds / unit)
}

/// Rows in columns, of which that of numbers ends alike.
fn table(rows: &[[String; 6]]) -> Vec<String> {
    const NUMBERS: usize = 4;
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Writing to a text does not fail.
            let _ = match column {
                NUMBERS => write!(line, "{cell:>width$}  "),
                _ => write!(line, "{cell:width$}  "),
            };
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// The one result that is meant.
fn find(store: &SqliteStore, wanted: &Wanted, of: &Kept) -> Result<KeptResult> {
    let mut found = kept(store, of)?;
    found.retain(|result| result.listed.call_id == wanted.call_id);
    let state = input::name(&of.state);
    let call_id = &wanted.call_id;
    if found.len() > 1 {
        let names = found.iter().take(MAX_SESSIONS);
        let names: Vec<_> = names.map(|result| whole_name(&result.scope)).collect();
        let (count, names) = (found.len(), names.join("\n  "));
        bail!(
            "{count} sessions in {state} have a call `{call_id}`: name one with --session\n  {names}"
        );
    }
    found.pop().ok_or_else(|| {
        let message = format!("{state} has no result of call `{call_id}`");
        let advice = "`crossfeed results ls` lists what is there";
        CommandError::answer(ErrorCode::ResultUnknown, message).with_advice(advice)
    })
}

/// What of a result is wanted.
async fn content(wanted: &Wanted, of: &Kept) -> Result<Content> {
    let store = open(&of.state)?;
    let found = find(&store, wanted, of)?;
    // What a selector builds may be longer than the result.
    let options = records::with_room(EngineOptions::default(), 2 * found.listed.bytes);
    let session = Engine::new(options, Arc::new(store)).session(found.scope);
    let request = ExportRequest::new(&wanted.call_id).with_select(wanted.select.as_deref());
    let exported = export::export(&session, request, usize::MAX, |_| Some(())).await;
    let (exported, ()) = exported.map_err(|error| match error {
        ExportError::Failure(failure) => CommandError::from(*failure),
        error => CommandError::usage(error.to_string()),
    })?;
    Ok(exported.content)
}

async fn get(args: &ResultsGet, io: &mut Streams<'_>) -> Result {
    let content = content(&args.wanted, &args.kept).await?;
    Ok(io.out.write_all(content.as_bytes())?)
}

async fn save(args: &ResultsSave, io: &mut Streams<'_>) -> Result {
    let place = input::name(&args.path);
    let name = args.path.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|_| !args.path.to_string_lossy().ends_with('/')) else {
        bail!("{place} is not a path of a file in UTF-8");
    };
    let name = RelativePath::parse(name)
        .map_err(|error| CommandError::usage(format!("{place}: {error}")))?;
    let parent = args.path.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    let directory = RootDirectory::open(parent).map_err(|error| {
        CommandError::usage(format!(
            "cannot open the directory {}: {error}",
            input::name(parent)
        ))
    })?;
    let content = content(&args.wanted, &args.kept).await?;
    let existing = if args.force {
        Existing::Replace
    } else {
        Existing::Keep
    };
    let saved = directory.write(&name, content.as_bytes(), existing);
    let saved = saved.map_err(|error| {
        let message = match &error {
            FileError::Io(source) => format!("{place}: {source}"),
            error => format!("{place}: {error}"),
        };
        let unwritten = CommandError::answer(error.code(), message);
        match error {
            FileError::Exists => unwritten.with_advice("`--force` replaces it"),
            _ => unwritten,
        }
    })?;
    let path = args.path.to_string_lossy();
    io.json(json!({"path": path, "bytes": saved.bytes, "sha256": saved.hex()}).to_string())
}
