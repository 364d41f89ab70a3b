//! What the engine reports, the trait by which a host receives it, and helpers for the spans of stages.

use crossfeed_store::{ResultStore, Usage};
use crossfeed_wire::TraceContext;
use std::{
    fmt,
    sync::{Arc, Weak},
};
use tracing::Span;

/// An attribute of a measurement or a link: a name of `specs/telemetry.md`, and its value.
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
    /// A condition.
    Flag(bool),
}

/// An instrument that the engine records to. `specs/telemetry.md` defines names, units and attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Instrument {
    /// Calls whose arguments were resolved, or refused: a count.
    Resolutions,
    /// References whose results were looked up: a count, by whether the results existed.
    References,
    /// Bytes of JSON that references moved from results into arguments: a count.
    BytesMoved,
    /// Tokens that did not enter the context: a sum that can go down, since showing results and references costs
    /// tokens as well.
    TokensAvoided,
    /// How long selectors took, in seconds: a distribution.
    SelectDuration,
    /// Calls in flight: a sum that goes up and down.
    CallsInFlight,
    /// References that waited for calls in other processes: a count.
    WaitsElsewhere,
    /// Calls in flight whose leases have ended too early, so that other processes count them as given up: a count.
    LeaseLosses,
}

/// Connects the engine's `tracing` spans to a host's traces, and takes its measurements.
///
/// `tracing` has neither links to spans that have ended, nor remote parents, nor metrics; the exporter of the
/// spans has. `crossfeed-otel` implements this for OpenTelemetry.
///
/// The engine calls the methods from its own threads, some with the span entered; they must neither block nor
/// panic.
///
/// ```
/// use crossfeed_core::{Attribute, Engine, EngineOptions, Instrument, Telemetry};
/// use crossfeed_wire::TraceContext;
/// use std::sync::Arc;
/// use tracing::Span;
///
/// /// Prints measurements, and has no traces.
/// #[derive(Debug)]
/// struct Printed;
///
/// impl Telemetry for Printed {
///     fn context(&self, _: &Span) -> Option<TraceContext> {
///         None
///     }
///     fn adopt(&self, _: &Span, _: &TraceContext) {}
///     fn link(&self, _: &Span, _: &TraceContext, _: &[Attribute<'_>]) -> bool {
///         false
///     }
///     fn measure(&self, instrument: Instrument, value: f64, _: &[Attribute<'_>]) {
///         println!("{instrument:?}: {value}");
///     }
/// }
///
/// let engine = Engine::in_memory(EngineOptions::default().with_telemetry(Arc::new(Printed)));
/// ```
pub trait Telemetry: Send + Sync + fmt::Debug {
    /// The context of a span in its trace, which is passed on even if the trace is not sampled; `None` if no
    /// exporter knows the span. For [`Span::none`] it is the context that the host has made current, if any.
    ///
    /// This may fix the span: its name and its parent are set before.
    fn context(&self, span: &Span) -> Option<TraceContext>;

    /// Makes a span the child of a remote one, before anything else uses it.
    fn adopt(&self, span: &Span, parent: &TraceContext);

    /// Adds a link to another span, which may have ended. Returns whether it was added: not to a span that is not
    /// recorded, for which the engine then makes an event.
    fn link(&self, span: &Span, to: &TraceContext, attributes: &[Attribute<'_>]) -> bool;

    /// Takes a measurement: the increment of a count or a sum, or one value of a distribution.
    fn measure(&self, instrument: Instrument, value: f64, attributes: &[Attribute<'_>]);

    /// Receives the store of each engine, whose usage can be read at any time. Does nothing by default.
    fn watch(&self, store: StoreWatch) {
        let _ = store;
    }
}

/// Reports a change of the tokens kept out of the context.
pub(crate) fn avoided(telemetry: &dyn Telemetry, before: i64, after: i64) {
    let more = after.saturating_sub(before);
    if more != 0 {
        telemetry.measure(Instrument::TokensAvoided, more as f64, &[]);
    }
}

/// Reads the usage of a store, for metrics; does not keep the store alive.
#[derive(Clone)]
pub struct StoreWatch(Weak<dyn ResultStore>);

impl StoreWatch {
    pub(crate) fn new(store: &Arc<dyn ResultStore>) -> Self {
        Self(Arc::downgrade(store))
    }

    /// The usage of the store, and the results that left it; `None` if the store cannot tell or was dropped.
    pub fn usage(&self) -> Option<Usage> {
        self.0.upgrade()?.held()
    }

    /// Whether the store was dropped.
    pub fn is_over(&self) -> bool {
        self.0.strong_count() == 0
    }

    /// Whether both watch the same store, which engines may share.
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

impl fmt::Debug for StoreWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWatch")
            .field("is_over", &self.is_over())
            .finish_non_exhaustive()
    }
}

/// The span of a stage, with fields for its error; without a subscriber nothing is built.
macro_rules! stage {
    ($target:literal, $name:literal $(, $field:literal = $value:expr)* $(,)?) => {
        tracing::debug_span!(
            target: $target,
            $name,
            "otel.status_description" = tracing::field::Empty,
            $($field = $value,)*
            "error.type" = tracing::field::Empty,
        )
    };
}
pub(crate) use stage;

/// A count or a size as a signed number, because some exporters lack unsigned ones.
pub(crate) fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The most bytes of a name or a place in a span; ids are never longer.
const MAX_NAME_BYTES: usize = 256;

/// The beginning of a name or a place, whole characters of it.
pub(crate) fn within(text: &str) -> &str {
    let mut end = text.len().min(MAX_NAME_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Records that a span ended with an error, by its stable code.
pub(crate) fn fail(span: &Span, word: &str) {
    span.record("error.type", word);
    // Sets the exported status to an error.
    span.record("otel.status_description", word);
}

/// Wraps work for another thread in the current span and subscriber.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = Span::current();
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    move || tracing::dispatcher::with_default(&dispatch, || span.in_scope(work))
}
