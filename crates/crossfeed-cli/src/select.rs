//! `crossfeed select`: evaluates a selector on a document.

use crate::{
    cli, inputs, records,
    report::{Result, Streams},
};
use crossfeed::{
    CallId, EngineOptions, Error,
    error::{ErrorBody, Failure, LookupError, printable},
    json::{Document, Kind},
    select::SelectReport,
};

/// The id of a document without a call. No message shows it.
const UNNAMED: &str = "document";

pub(crate) async fn run(args: &cli::Select, io: &mut Streams<'_>) -> Result {
    let call_id = match &args.call_id {
        Some(call_id) => call_id.clone(),
        None => CallId::parse(UNNAMED)?,
    };
    let inputs = &args.inputs;
    inputs::each(
        inputs,
        inputs.kind,
        io,
        async |document, io: &mut Streams<'_>| {
            let options = EngineOptions::default();
            let session = records::session_of(options, &call_id, document, inputs.kind).await?;
            let selected = session.select(&call_id, &args.expression).await;
            let selected = selected.map_err(|failure| match args.call_id {
                Some(_) => placeless(failure.body()),
                None => unnamed(failure),
            })?;
            explain(&args.expression, &selected.report, args.explain, io);
            if args.each {
                let selected = Document::new(selected.json);
                return write_each(&selected, args.raw.raw, io);
            }
            io.value(&selected.json, args.raw.raw)
        },
    )
    .await
}

/// Writes the items of a list, or another value, on a line each.
fn write_each(selected: &Document, raw: bool, io: &mut Streams<'_>) -> Result {
    io.keep_to_lines();
    match selected.root() {
        Ok(list) if list.kind() == Kind::Array => {
            let mut items = list.items();
            items.try_for_each(|item| io.value(item.raw(), raw))
        }
        _ => io.value(selected.raw(), raw),
    }
}

/// Writes how a value was found, with `--explain`, and the notice of the selection.
pub(crate) fn explain(written: &str, report: &SelectReport, explain: bool, io: &mut Streams<'_>) {
    if explain {
        for line in remarks(written, report) {
            let line = io.with_place(line);
            io.remark(printable(&line));
        }
    }
    if let Some(notice) = &report.notice {
        io.notice(notice);
    }
}

/// The failure of a document that no call returned.
pub(crate) fn unnamed(mut failure: Failure) -> ErrorBody {
    failure.call_id = None;
    let mut body = placeless(failure.body());
    if let Error::Lookup(LookupError::Failed { message, .. }) = &failure.error {
        body.message = format!("the call failed: {message}");
    }
    body
}

/// An error without a place in arguments.
fn placeless(mut body: ErrorBody) -> ErrorBody {
    body.at = None;
    body
}

/// How a value was found, a line for each remark, without the notice.
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
