//! `crossfeed learn`: learns a schema that all given results fit.

use crate::{
    cli, input,
    project::rules,
    records,
    report::{CommandError, Result, Streams, bail},
    select,
};
use bytes::Bytes;
use crossfeed::{
    CallId, Engine, EngineOptions, ErrorCode,
    json::Document,
    project::RevealPolicy,
    schema::{Drift, DriftKind},
};
use serde_json::{Value, json};

/// The tool of all results.
const TOOL: &str = "tool";

pub(crate) async fn run(args: &cli::Learn, io: &mut Streams<'_>) -> Result {
    let policy = RevealPolicy::default().with_every_tool(rules(&[], &args.never)?);
    let engine = EngineOptions::default().with_reveal(policy);
    let session = Engine::new(engine, records::store()).session(records::named_scope("default")?);
    let mut failed = 0;
    for (index, result) in results(&input::read_text(&args.file)?)?
        .into_iter()
        .enumerate()
    {
        let call = CallId::parse(&format!("result_{index}"))?;
        let result = records::result(Document::new(result), None).with_tool(TOOL);
        session.record(&call, result).await?;
        let learned = session.learn(&call).await;
        failed += usize::from(!learned.map_err(select::unnamed)?);
    }
    if failed > 0 {
        io.notice(format_args!(
            "{failed} results of failed calls teach nothing"
        ));
    }
    let learned = session.learned(TOOL);
    let schema = learned.as_ref().and_then(|learned| learned.schema());
    let Some((learned, schema)) = learned.zip(schema) else {
        let nothing = match failed {
            0 => "there is no result to learn from: give one JSON value a line",
            _ => "there is no result to learn from: all are of failed calls",
        };
        return Err(CommandError::answer(ErrorCode::SchemaInvalid, nothing));
    };
    if args.schema_only {
        return io.json(schema.to_string());
    }
    let drift: Vec<Value> = learned.drift().iter().map(drifted).collect();
    let answer = json!({
        "schema": schema,
        "observations": learned.observations(),
        "drift": drift,
    });
    io.json(answer.to_string())
}

/// What a later result changed.
fn drifted(drift: &Drift) -> Value {
    let (kind, more) = match &drift.kind {
        DriftKind::Missing => ("missing", json!({})),
        DriftKind::New => ("new", json!({})),
        DriftKind::Type { from, to } => ("type", json!({"from": from, "to": to})),
        _ => ("other", json!({})),
    };
    let mut value = json!({"path": drift.path, "kind": kind, "observation": drift.observation});
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), more) {
        value.extend(more);
    }
    value
}

/// One JSON document, or one per line.
fn results(file: &Bytes) -> Result<Vec<Bytes>> {
    if Document::new(file.clone()).root().is_ok() {
        return Ok(vec![file.clone()]);
    }
    let mut results = Vec::new();
    for (index, line) in file.split(|&byte| byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let line = file.slice_ref(line);
        if let Err(error) = Document::new(line.clone()).root() {
            bail!(
                "line {} is not valid JSON: {error}; give one document, or one a line",
                index + 1
            );
        }
        results.push(line);
    }
    Ok(results)
}
