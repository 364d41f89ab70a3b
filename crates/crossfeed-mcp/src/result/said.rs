//! A reply without names that are never shown.

use crate::{Reply, Request};
use crossfeed_projection::{Diagnostic, DiagnosticKind, ProjectionRequest, RevealRules};

/// What is said where something is withheld: not what it is.
const WITHHELD: &str = "some of the result is withheld by a rule of the host; no request shows it";
/// The reason where the reason itself would say it.
const UNSAID: &str = "the view cannot be followed";

/// What may be said of what was done. What a request names itself is said back to it as of a field
/// that is not there, or it could ask which rules there are; what a view names is not.
pub(super) fn of(
    mut reply: Reply,
    request: Option<&Request>,
    rules: &RevealRules,
    is_cut: bool,
) -> Reply {
    if rules.never_is_empty() {
        return reply;
    }
    let mut asked = ProjectionRequest::new();
    if let Some(request) = request {
        asked = asked.with_include(request.fields.iter().map(ToString::to_string));
    }
    if reply.view.is_some() {
        let may_be_said = |text: &String| !rules.mentions_never(text);
        if let Some(fields) = &mut reply.fields {
            fields.retain(may_be_said);
        }
        let unsaid = || UNSAID.to_owned();
        let reason = reply.reason.take();
        reply.reason = reason.map(|reason| Some(reason).filter(may_be_said).unwrap_or_else(unsaid));
    }
    reply.diagnostics = rules.scrubbed_diagnostics(reply.diagnostics, &asked);
    if is_cut {
        let withheld = Diagnostic::new(DiagnosticKind::Withheld, "", WITHHELD);
        reply.diagnostics.push(withheld);
    }
    reply
}
