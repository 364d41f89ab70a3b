//! Removes the names of withheld fields from a reply.

use crate::{Reply, Request};
use crossfeed_projection::{Diagnostic, DiagnosticKind, ProjectionRequest, RevealRules};

/// The diagnostic of a cut result. It does not say what is withheld.
const WITHHELD: &str = "some of the result is withheld by a rule of the host; no request shows it";
/// Replaces a reason that names a withheld field.
const NEUTRAL_REASON: &str = "the view cannot be followed";

/// Removes names that the rules withhold. Names in the request itself are reported as fields that do not exist, so that
/// requests cannot find out the rules; names in a view are removed.
pub(super) fn scrub(
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
        let may_be_shown = |text: &String| !rules.mentions_never(text);
        if let Some(fields) = &mut reply.fields {
            fields.retain(may_be_shown);
        }
        if let Some(reason) = reply.reason.as_mut().filter(|reason| !may_be_shown(reason)) {
            *reason = NEUTRAL_REASON.to_owned();
        }
    }
    reply.diagnostics = rules.scrubbed_diagnostics(reply.diagnostics, &asked);
    if is_cut {
        let withheld = Diagnostic::new(DiagnosticKind::Withheld, "", WITHHELD);
        reply.diagnostics.push(withheld);
    }
    reply
}
