//! What a host's telemetry does for the engine.

use crossfeed_wire::TraceContext;
use std::fmt;
use tracing::Span;

/// What is known of a figure or a link: a name of `specs/telemetry.md`, and its value.
pub type Attribute<'a> = (&'static str, AttributeValue<'a>);

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an implementation must pass on each kind"
)]
pub enum AttributeValue<'a> {
    /// A word, an id or a selector without its literals.
    Text(&'a str),
    /// A count or a size.
    Number(i64),
    /// Whether something is so.
    Flag(bool),
}

/// What is measured. Names, units and attributes are those of `specs/telemetry.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Instrument {
    /// Calls whose arguments were resolved, or refused.
    Resolutions,
}

/// What ties the engine's `tracing` spans to the traces of a host, and takes its figures.
///
/// `tracing` knows neither of links to spans that have ended nor of remote parents nor of figures; what
/// exports the spans does. `crossfeed-otel` has the implementation for OpenTelemetry. Methods are called
/// from the threads on which the engine works; they must not block.
pub trait Telemetry: Send + Sync + fmt::Debug {
    /// The place in the exported trace at which a span stands; `None` where it is not exported.
    fn context(&self, span: &Span) -> Option<TraceContext>;

    /// Makes a span the child of one elsewhere. It was created just now.
    fn adopt(&self, span: &Span, parent: &TraceContext);

    /// Adds a link to another span, which may have ended.
    fn link(&self, span: &Span, to: &TraceContext, attributes: &[Attribute<'_>]);

    /// Takes a figure: how many were added to a count, or one value of a distribution.
    fn measure(&self, instrument: Instrument, value: f64, attributes: &[Attribute<'_>]);
}
