//! `crossfeed resolve`: prints the arguments that the tool receives, on one line and with every digit.

use crate::{
    artifact, cli, input,
    records::{self, Content, Record},
    report::{CommandError, Result, Streams},
    rewrite, select,
};
use crossfeed::{
    Engine, EngineOptions, ErrorCode, InputSchema, Pointer, Scope,
    edit::EditLimits,
    error::printable,
    json::Document,
    resolve::{LineageEntry, TypeRepair},
    schema::SchemaError,
    store::ResultStore,
    tools::{ListOptions, ListedTool, Offers},
};
use serde_json::Value;
use std::{path::Path, sync::Arc};

pub(crate) async fn run(args: &cli::Resolve, io: &mut Streams<'_>) -> Result {
    input::check_stdin([
        Some(args.arguments.as_os_str()),
        Some(args.results.as_os_str()),
        args.schema.as_deref().map(Path::as_os_str),
    ])?;
    let scope = records::named_scope(&args.session)?;
    let arguments = input::read_or_inline(&args.arguments)?;
    let results = input::read(&args.results)?;
    let what = "the tool's input schema";
    let schema = args.schema.as_deref();
    let schema = schema
        .map(|path| input::read_schema(path, what))
        .transpose()?;
    let records = records::of_file(&results, &args.results)?;

    let schema = schema.map(|schema| judge(args, schema)).transpose()?;
    let mut options = records::with_room(EngineOptions::default(), results.len());
    if args.edits {
        options = options.with_edits(EditLimits::default());
    }
    let engine = Engine::new(options, store(args)?);
    for record in records {
        record_one(&engine, &scope, record, &args.results).await?;
    }
    let session = engine.session(scope);
    let resolved = match schema {
        Some(Judge::Shown(tool)) => {
            let tool = engine.prepare(*tool);
            session.resolve_call_json(&tool, arguments).await?
        }
        Some(Judge::Own(schema)) => session.resolve_json(arguments, Some(&schema)).await?,
        None => session.resolve_json(arguments, None).await?,
    };
    if args.explain {
        for line in remarks(&resolved.lineage, &resolved.repairs) {
            io.remark(printable(&line));
        }
    }
    let json = Document::new(resolved.arguments.into_bytes());
    let mut line = Vec::new();
    if let Ok(root) = json.root() {
        root.write_compact(&mut line);
    }
    io.json(line)
}

/// The store of the results: with `--store` the directory of artifacts.
fn store(args: &cli::Resolve) -> Result<Arc<dyn ResultStore>> {
    match &args.store {
        None => Ok(records::store()),
        Some(directory) => Ok(artifact::store(directory, records::plenty())?),
    }
}

/// The schema that validates the resolved arguments.
enum Judge {
    /// The tool's own schema.
    Own(InputSchema),
    /// The tool's own schema, for arguments that are first read back from the shown one.
    Shown(Box<ListedTool>),
}

fn judge(args: &cli::Resolve, schema: Value) -> Result<Judge> {
    let stop = |error: &SchemaError| CommandError::answer(error.code(), error.to_string());
    let options = match (args.style, args.profile) {
        (Some(style), _) => ListOptions::style(style),
        (None, Some(profile)) => ListOptions::profile(profile),
        (None, None) => {
            let own = InputSchema::compile(schema).map_err(|error| stop(&error))?;
            return Ok(Judge::Own(own));
        }
    };
    let options = options.with_offers(Offers::default().with_edits(args.edits));
    let listed = rewrite::alone(&schema, &options)
        .map_err(|error| CommandError::answer(ErrorCode::SchemaInvalid, error.to_string()))?;
    let mut tools = listed.tools.into_iter();
    match tools.next() {
        Some(tool) => match tool.error() {
            Some(error) => Err(stop(error)),
            None => Ok(Judge::Shown(Box::new(tool))),
        },
        None => Err(stop(&SchemaError::TooDeep)),
    }
}

/// Records one line in the session that it names, else in that of `scope`.
async fn record_one(engine: &Engine, scope: &Scope, record: Record, file: &Path) -> Result {
    let session = engine.session(record.scope.unwrap_or_else(|| scope.clone()));
    let (call_id, recorded) = match record.content {
        Content::Result(call_id, result) => {
            let recorded = session.record(&call_id, result).await;
            (call_id, recorded)
        }
        Content::Artifact(artifact) => {
            let call_id = artifact.call_id().clone();
            (call_id, session.record_artifact(artifact).await)
        }
    };
    recorded.map_err(|error| {
        let place = format!("line {} of {}", record.line, input::name(file));
        let mut error = CommandError::from(error).at_place(&place);
        for body in error.bodies_mut() {
            body.call_id = Some(call_id.to_string());
        }
        error
    })?;
    Ok(())
}

/// A line for the source of each value, and for each repair.
pub(crate) fn remarks(lineage: &[LineageEntry], repairs: &[TypeRepair]) -> Vec<String> {
    let mut lines = Vec::new();
    for link in lineage {
        let at = place(&link.at);
        lines.push(origin(link));
        if let (Some(written), Some(report)) = (&link.source.select, &link.source.report) {
            lines.extend(select::remarks(written, report));
            lines.extend(
                report
                    .notice
                    .iter()
                    .map(|notice| format!("notice: {notice}")),
            );
        }
        if link.source.used_default {
            lines.push(format!("default: {at}"));
        }
        lines.extend(
            link.repair
                .iter()
                .map(|repair| format!("reference: {at} {repair}")),
        );
        lines.extend(
            link.ignored
                .iter()
                .map(|key| format!("ignored: {at} {key}")),
        );
    }
    for repair in repairs {
        let at = place(&repair.at);
        lines.push(format!("type: {at} {} -> {}", repair.from, repair.to));
    }
    lines
}

/// One line: `/url <- call call_1 tool search: items[0].url, bytes 2048 -> 21`.
fn origin(link: &LineageEntry) -> String {
    let source = &link.source;
    let mut line = format!("{} <- call {}", place(&link.at), source.call_id);
    if let Some(artifact) = &source.artifact_id {
        line.push_str(&format!(" artifact {artifact}"));
    }
    if let Some(tool) = &source.tool {
        line.push_str(&format!(" tool {tool}"));
    }
    let selector = source.select.as_deref().unwrap_or("the whole result");
    let (bytes_in, bytes_out) = (source.bytes_in, source.bytes_out);
    line.push_str(&format!(": {selector}, bytes {bytes_in} -> {bytes_out}"));
    line
}

/// A pointer as text; the empty pointer in quotes.
fn place(pointer: &Pointer) -> &str {
    match pointer.as_str() {
        "" => "\"\"",
        pointer => pointer,
    }
}
