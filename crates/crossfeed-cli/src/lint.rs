//! `crossfeed lint`: what a provider would refuse of a list of tools.

use crate::{
    cli,
    report::{self, Stop},
    rewrite::{check_schema, foreign, list, read},
};
use crossfeed::tools::{Finding, Severity, ToolList, lint_list};
use serde_json::{Value, json};
use std::io::Write;

/// How one schema is called, which is no tool of a list.
const SCHEMA: &str = "schema";

pub(crate) fn run(
    args: &cli::Lint,
    json: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<(), Stop> {
    // A part that is too deep is not a schema in what is judged: the tool is refused.
    let (document, _) = read(&args.file)?;
    let document = if ToolList::is_list(&document) {
        document
    } else {
        check_schema(&document, &args.file)?;
        json!({"tools": [{"name": SCHEMA, "inputSchema": document}]})
    };
    let list = list(document, &args.file)?;
    if let Some(shape) = foreign(&list, args.profile) {
        let _ = writeln!(
            err,
            "notice: the shape `{shape}` is another provider's than {}",
            args.profile
        );
    }
    let findings = lint_list(&list, args.profile);
    if json {
        let findings: Vec<_> = findings.iter().map(as_json).collect();
        serde_json::to_writer(&mut *out, &json!({ "findings": findings }))
            .map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        for finding in &findings {
            writeln!(out, "{finding}")?;
        }
    }
    out.flush()?;
    let refused = findings
        .iter()
        .filter(|f| f.severity == Severity::Refused)
        .count();
    let _ = writeln!(
        err,
        "{}: {}, {}, {} by {}",
        count(list.tools().len(), "tool"),
        count(findings.len(), "finding"),
        count(findings.len() - refused, "warning"),
        count(refused, "refusal"),
        args.profile
    );
    match refused {
        0 => Ok(()),
        // The findings are the answer, and they are written.
        _ => Err(Stop::Written(report::ERROR)),
    }
}

fn count(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn as_json(finding: &Finding) -> Value {
    json!({
        "tool": finding.tool,
        "at": finding.at.as_str(),
        "severity": match finding.severity {
            Severity::Refused => "refused",
            _ => "warning",
        },
        "what": finding.what,
        "why": finding.why,
        "fix": finding.fix,
    })
}
