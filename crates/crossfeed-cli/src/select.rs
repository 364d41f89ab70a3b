//! `crossfeed select`: what a selector gives on a document.

use crate::{cli, records, report::Stop};
use crossfeed::{CallId, EngineOptions, Error, ErrorBody, Failure, LookupError, SelectReport};
use std::io::Write;

/// The id of a document whose call is not named. No message shows it.
const UNNAMED: &str = "document";

pub(crate) async fn run(
    args: &cli::Select,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    let call_id = match &args.call_id {
        Some(call_id) => call_id.clone(),
        None => CallId::parse(UNNAMED).map_err(|error| Stop::Usage(error.to_string()))?,
    };
    let options = EngineOptions::default();
    let session = records::session(options, &call_id, &args.file, args.kind, err).await?;
    let selected =
        session
            .select(&call_id, &args.expression)
            .await
            .map_err(|failure| match args.call_id {
                Some(_) => placeless(failure.body()),
                None => unnamed(failure),
            })?;
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

/// The failure of a document that is not a call of anybody's.
pub(crate) fn unnamed(mut failure: Failure) -> ErrorBody {
    failure.call_id = None;
    let mut body = placeless(failure.body());
    if let Error::Lookup(LookupError::Failed { message, .. }) = &failure.error {
        body.message = format!("the call failed: {message}");
    }
    body
}

/// An error where there are no arguments that it could have a place in.
fn placeless(mut body: ErrorBody) -> ErrorBody {
    body.at = None;
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
