//! `crossfeed select`: what a selector gives on a document.

use crate::{
    cli::{self, Kind},
    input, records,
    report::Stop,
};
use bytes::Bytes;
use crossfeed::{
    CallId, Engine, EngineOptions, Error, ErrorBody, Failure, LookupError, SelectReport, ToolResult,
};
use std::io::Write;

/// The id of a document whose call is not named. No message shows it.
const UNNAMED: &str = "document";

pub(crate) async fn run(
    args: &cli::Select,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    let document = input::read(&args.file)?;
    let scope = records::scope("select").map_err(|error| Stop::Usage(error.to_string()))?;
    let call_id = match &args.call_id {
        Some(call_id) => call_id.clone(),
        None => CallId::parse(UNNAMED).map_err(|error| Stop::Usage(error.to_string()))?,
    };
    let session = Engine::new(EngineOptions::default(), records::store()).session(scope);
    session
        .record(&call_id, result(document, args.kind))
        .await?;
    let selected = session
        .select(&call_id, &args.expression)
        .await
        .map_err(|failure| body(failure, args.call_id.is_some()))?;
    // Remarks that cannot be written do not keep the answer back.
    if args.explain {
        for line in remarks(&args.expression, &selected.report) {
            let _ = writeln!(err, "{line}");
        }
    }
    if let Some(notice) = &selected.report.notice {
        let _ = writeln!(err, "notice: {notice}");
    }
    out.write_all(&selected.json)?;
    writeln!(out)?;
    Ok(())
}

pub(crate) fn result(document: Bytes, kind: Option<Kind>) -> ToolResult {
    match kind {
        None => ToolResult::undeclared(document),
        Some(Kind::Json) => ToolResult::json(document),
        Some(Kind::Mcp) => ToolResult::mcp(document),
        Some(Kind::Bytes) => ToolResult::bytes(document, records::ANY_MEDIA_TYPE),
        Some(Kind::Text) => match std::str::from_utf8(&document) {
            Ok(text) => ToolResult::text(text),
            // A text in another encoding is kept as the bytes that it is.
            Err(_) => ToolResult::bytes(document, records::ANY_MEDIA_TYPE),
        },
    }
}

/// The failure as it is written: there are no arguments here, and perhaps no call that has a name.
fn body(mut failure: Failure, named: bool) -> ErrorBody {
    if !named {
        failure.call_id = None;
    }
    let mut body = failure.body();
    body.at = None;
    if let (false, Error::Lookup(LookupError::Failed { message, .. })) = (named, &failure.error) {
        body.message = format!("the call failed: {message}");
    }
    body
}

/// How a value was found, a line for each remark, but for the notice.
pub(crate) fn remarks(written: &str, report: &SelectReport) -> Vec<String> {
    let mut lines = Vec::new();
    if report.prefix_stripped {
        let after = match report.repairs.first() {
            Some(repair) => &repair.before,
            None => &report.evaluated,
        };
        lines.push(format!("prefix: {} -> {after}", written.trim()));
    }
    let repairs = report.repairs.iter();
    lines.extend(repairs.map(|repair| format!("repair: {} -> {}", repair.before, repair.after)));
    lines.push(format!("view: {}", report.view.as_str()));
    lines
}
