//! What the engine reports, and the trait by which a host receives it.
//!
//! Knows no stage: each stage builds its own spans from the helpers here.

mod span;
mod watch;

pub(crate) use span::{carried, fail, number, stage, within};
pub use watch::StoreWatch;

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

/// What is measured as it happens. Names, units and attributes are those of `specs/telemetry.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Instrument {
    /// Calls whose arguments were resolved, or refused: a count.
    Resolutions,
    /// References whose results were looked up: a count, by whether they were there.
    References,
    /// Bytes of JSON that references moved from results into arguments: a count.
    BytesMoved,
    /// Tokens that did not enter the context: a sum that can go down, since what is shown and referred
    /// to costs tokens as well.
    TokensAvoided,
    /// How long selectors took, in seconds: a distribution.
    SelectDuration,
    /// Calls in flight: a sum that goes up and down.
    CallsInFlight,
}

/// What ties the engine's `tracing` spans to the traces of a host, and takes its figures.
///
/// `tracing` knows neither of links to spans that have ended nor of remote parents nor of figures; what
/// exports the spans does. `crossfeed-otel` has the implementation for OpenTelemetry.
///
/// Methods are called from the threads on which the engine works, some of them with the span entered;
/// they must neither block nor panic.
pub trait Telemetry: Send + Sync + fmt::Debug {
    /// The place in a trace at which a span stands, also where that trace is not sampled: it is what is
    /// passed on. `None` where nothing that exports knows the span. Asked of a span that is none, it is
    /// the place that the host has otherwise made current, if there is one.
    ///
    /// A span may be fixed by this: its name and its parent are settled before.
    fn context(&self, span: &Span) -> Option<TraceContext>;

    /// Makes a span the child of one elsewhere. Nothing was asked of it and nothing done in it so far.
    fn adopt(&self, span: &Span, parent: &TraceContext);

    /// Adds a link to another span, which may have ended; whether it was: not to a span that is not
    /// recorded, for which the engine then makes an event.
    fn link(&self, span: &Span, to: &TraceContext, attributes: &[Attribute<'_>]) -> bool;

    /// Takes a figure: how many were added to a count or a sum, or one value of a distribution.
    fn measure(&self, instrument: Instrument, value: f64, attributes: &[Attribute<'_>]);

    /// Is given a store whose figures can be asked for at any time: once for each engine. Does nothing
    /// by default.
    fn watch(&self, store: StoreWatch) {
        let _ = store;
    }
}

/// Reports how many more tokens were kept out of the context, or fewer.
pub(crate) fn avoided(telemetry: &dyn Telemetry, before: i64, after: i64) {
    let more = after.saturating_sub(before);
    if more != 0 {
        telemetry.measure(Instrument::TokensAvoided, more as f64, &[]);
    }
}
