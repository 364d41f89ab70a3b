//! The flow of data between calls: for each reference a link from the call that uses a result to the one that
//! returned it, or an event if there is no span to link to.

use crate::{
    error::LookupError,
    failure::{Error, Failure},
    lineage::{LineageEntry, ReferenceEdit},
    select::{masked_failed_selector, masked_selector},
    telemetry::{AttributeValue, Telemetry, number, within},
};
use crossfeed_jmespath::masked;
use crossfeed_wire::{
    ErrorCode, TraceContext,
    reference::{Input, InputKind},
};
use tracing::Span;

/// The most links and events of one resolution: the number of links that OpenTelemetry keeps of a span by default.
const MAX_LINKS: usize = 128;
/// Replaces an unknown id.
const UNKNOWN: &str = "…";

/// Records in `span` where each value came from: by links, where `telemetry` can make them. Returns how many
/// were not recorded.
pub(super) fn brought(
    span: &Span,
    telemetry: Option<&dyn Telemetry>,
    lineage: &[LineageEntry],
) -> usize {
    for link in lineage.iter().take(MAX_LINKS) {
        let source = &link.source;
        let report = source.report.as_ref();
        let select = source.select.as_deref();
        let facts = ReferenceFacts {
            call: match &source.input {
                Some(input) => key_of(input),
                None => source.call_id.as_str(),
            },
            artifact: source.artifact_id.as_ref().map(|id| id.as_str()),
            tool: source.tool.as_deref().map(within),
            at: within(link.at.as_str()),
            selector: &|| masked_selector(select?, report),
            view: report.map(|report| report.view.as_str()),
            repairs: report.map_or(0, |report| report.repairs.len()),
            used_default: source.used_default,
            edit: source.edit.as_ref(),
            bytes_in: source.bytes_in,
            bytes_out: source.bytes_out,
            hit: true,
            error: None,
        };
        let target = telemetry.zip(source.trace.as_ref());
        if !target.is_some_and(|(telemetry, to)| facts.link(telemetry, span, to)) {
            facts.event(span);
        }
    }
    lineage.len().saturating_sub(MAX_LINKS)
}

/// Records which references failed.
pub(super) fn failed(span: &Span, failures: &[Failure]) {
    let refers = |failure: &&Failure| failure.call_id.is_some() || failure.input.is_some();
    let referring = failures.iter().filter(refers);
    for failure in referring.take(MAX_LINKS) {
        // An unknown id is text from the model.
        let is_unknown = matches!(
            failure.error.code(),
            ErrorCode::ResultUnknown | ErrorCode::ArtifactUnknown
        );
        let known = |id| if is_unknown { UNKNOWN } else { id };
        let facts = ReferenceFacts {
            call: match &failure.input {
                Some(input) => key_of(input),
                None => failure.call_id.as_ref().map_or("", |id| known(id.as_str())),
            },
            artifact: failure.artifact_id.as_ref().map(|id| known(id.as_str())),
            tool: None,
            at: within(failure.at.as_str()),
            selector: &|| unmet(failure.expression.as_deref()?, &failure.error),
            view: None,
            repairs: 0,
            used_default: false,
            edit: None,
            bytes_in: 0,
            bytes_out: 0,
            hit: missed(&failure.error).is_none(),
            error: Some(failure.error.code().as_str()),
        };
        facts.event(span);
    }
}

/// The key of an input in place of the id of a call: its path or URI is payload.
fn key_of(input: &Input) -> &'static str {
    match input.kind() {
        InputKind::File => "$file",
        InputKind::Resource => "$resource",
    }
}

/// The masked selector of a reference that failed; `None` if it is not an expression.
fn unmet(written: &str, error: &Error) -> Option<String> {
    match error {
        Error::Select(error) => masked_failed_selector(written, error),
        _ => masked(written, false),
    }
}

/// The recorded facts of one reference.
struct ReferenceFacts<'l> {
    call: &'l str,
    artifact: Option<&'l str>,
    tool: Option<&'l str>,
    at: &'l str,
    /// Built only if a subscriber wants it.
    selector: &'l dyn Fn() -> Option<String>,
    view: Option<&'static str>,
    repairs: usize,
    used_default: bool,
    edit: Option<&'l ReferenceEdit>,
    bytes_in: usize,
    bytes_out: usize,
    hit: bool,
    error: Option<&'static str>,
}

impl ReferenceFacts<'_> {
    fn link(&self, telemetry: &dyn Telemetry, span: &Span, to: &TraceContext) -> bool {
        use AttributeValue::{Flag, Number, Text};
        let selector = (self.selector)();
        let mut attributes = vec![
            ("gen_ai.tool.call.id", Text(self.call)),
            ("crossfeed.argument", Text(self.at)),
            ("crossfeed.repairs", Number(number(self.repairs))),
            ("crossfeed.default.used", Flag(self.used_default)),
            ("crossfeed.bytes.in", Number(number(self.bytes_in))),
            ("crossfeed.bytes.out", Number(number(self.bytes_out))),
            ("crossfeed.cache.hit", Flag(self.hit)),
        ];
        let texts = [
            ("crossfeed.artifact.id", self.artifact),
            ("gen_ai.tool.name", self.tool),
            ("crossfeed.selector", selector.as_deref()),
            ("crossfeed.view", self.view),
            (
                "crossfeed.edit.kind",
                self.edit.map(|edit| edit.kind.as_str()),
            ),
        ];
        let texts = texts.into_iter();
        attributes.extend(texts.filter_map(|(name, text)| Some((name, Text(text?)))));
        let edit = self.edit.map(|edit| Number(number(edit.bytes)));
        attributes.extend(edit.map(|bytes| ("crossfeed.edit.bytes", bytes)));
        telemetry.link(span, to, &attributes)
    }

    fn event(&self, span: &Span) {
        tracing::event!(
            name: "crossfeed.reference",
            target: "crossfeed::resolve",
            parent: span,
            tracing::Level::DEBUG,
            "gen_ai.tool.call.id" = self.call,
            "crossfeed.artifact.id" = self.artifact,
            "gen_ai.tool.name" = self.tool,
            "crossfeed.argument" = self.at,
            "crossfeed.selector" = (self.selector)().as_deref(),
            "crossfeed.view" = self.view,
            "crossfeed.repairs" = number(self.repairs),
            "crossfeed.default.used" = self.used_default,
            "crossfeed.edit.kind" = self.edit.map(|edit| edit.kind.as_str()),
            "crossfeed.edit.bytes" = self.edit.map(|edit| number(edit.bytes)),
            "crossfeed.bytes.in" = number(self.bytes_in),
            "crossfeed.bytes.out" = number(self.bytes_out),
            "crossfeed.cache.hit" = self.hit,
            "error.type" = self.error,
        );
    }
}

/// Why a result was missing, if the error says so.
pub(super) fn missed(error: &Error) -> Option<&'static str> {
    match error {
        // The result exists.
        Error::Lookup(LookupError::Failed { .. }) => None,
        Error::Lookup(error) => Some(error.code().as_str()),
        _ => None,
    }
}
