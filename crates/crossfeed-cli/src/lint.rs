//! `crossfeed lint`: reports what a provider would refuse of a list of tools.

use crate::{
    cli,
    report::{self, CommandError, Result, Streams, count},
    rewrite::{check_schema, foreign, list, read},
};
use crossfeed::tools::{Finding, Severity, ToolList, lint_list};
use serde_json::{Value, json};

/// The name of a schema that is not in a list of tools.
const SCHEMA: &str = "schema";

pub(crate) fn run(args: &cli::Lint, io: &mut Streams<'_>) -> Result {
    // A tool with a part that is too deep is refused.
    let (document, _) = read(&args.file)?;
    let document = if ToolList::is_list(&document) {
        document
    } else {
        check_schema(&document, &args.file)?;
        json!({"tools": [{"name": SCHEMA, "inputSchema": document}]})
    };
    let list = list(document, &args.file)?;
    if let Some(shape) = foreign(&list, args.profile) {
        io.notice(format_args!(
            "the shape `{shape}` is another provider's than {}",
            args.profile
        ));
    }
    let findings = lint_list(&list, args.profile);
    if io.errors_as_json {
        let findings: Vec<_> = findings.iter().map(as_json).collect();
        io.json(json!({ "findings": findings }).to_string())?;
    } else {
        findings.iter().try_for_each(|finding| io.answer(finding))?;
    }
    io.out.flush()?;
    let is_refused = |finding: &&Finding| finding.severity == Severity::Refused;
    let refused = findings.iter().filter(is_refused).count();
    io.remark(format_args!(
        "{}: {}, {}, {} by {}",
        count(list.tools().len(), "tool"),
        count(findings.len(), "finding"),
        count(findings.len() - refused, "warning"),
        count(refused, "refusal"),
        args.profile
    ));
    match refused {
        0 => Ok(()),
        // The findings are the answer, and they are written.
        _ => Err(CommandError::Written(report::ERROR)),
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
