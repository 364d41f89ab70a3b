//! Spans of single stages: their beginning, their end, their errors, and what takes them to other
//! threads.

use tracing::Span;

/// The span of a stage: with fields for its error, and nothing built where nobody listens.
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

/// A count or a size as what exports spans takes it for a number: not every bridge knows unsigned ones.
pub(crate) fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The most bytes of a name or a place that are said; ids are no longer by themselves.
const MAX_NAME: usize = 256;

/// The beginning of a name or a place, whole characters of it.
pub(crate) fn within(text: &str) -> &str {
    let mut end = text.len().min(MAX_NAME);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Notes that a span ended with an error, by its stable word.
pub(crate) fn fail(span: &Span, word: &str) {
    span.record("error.type", word);
    // What exports spans takes the status to be an error then.
    span.record("otel.status_description", word);
}

/// Work with the span and the subscriber of where it comes from, for another thread.
pub(crate) fn carried<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let span = Span::current();
    let dispatch = tracing::dispatcher::get_default(Clone::clone);
    move || tracing::dispatcher::with_default(&dispatch, || span.in_scope(work))
}
