//! The place of a call in a distributed trace, as W3C Trace Context spells it: `traceparent` and
//! `tracestate`.

use std::{fmt, sync::Arc};

/// The longest `tracestate` that is kept: what the recommendation asks every party to pass on.
const MAX_STATE: usize = 512;

/// Where in a trace something happened: the span of a call, by its ids.
///
/// Written and read by [W3C Trace Context](https://www.w3.org/TR/trace-context/), version `00`; of a
/// later version what version `00` knows is read.
///
/// ```
/// use crossfeed_wire::TraceContext;
///
/// let written = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let context = TraceContext::parse(written, Some("vendor=1"))?;
/// assert!(context.is_sampled());
/// assert_eq!(context.traceparent(), written);
/// assert_eq!(context.tracestate(), Some("vendor=1"));
/// # Ok::<(), crossfeed_wire::TraceContextError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
    state: Option<Arc<str>>,
}

/// Why something is no place in a trace. A caller that has none goes on as if none had been sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceContextError {
    /// `4bf92f35-00f0-01`
    #[error(
        "a `traceparent` is `00-` and 32, 16 and 2 lower-case hexadecimal digits with `-` between them"
    )]
    Form,
    /// `00-00000000000000000000000000000000-00f067aa0ba902b7-01`
    #[error("the ids of a `traceparent` are not all zeros")]
    Zero,
}

impl TraceContext {
    /// The flag of what is recorded.
    const SAMPLED: u8 = 1;

    /// The context of a span by its ids, neither of which is zero.
    ///
    /// # Errors
    ///
    /// [`TraceContextError::Zero`].
    pub fn new(trace_id: [u8; 16], span_id: [u8; 8], flags: u8) -> Result<Self, TraceContextError> {
        if trace_id == [0; 16] || span_id == [0; 8] {
            return Err(TraceContextError::Zero);
        }
        Ok(Self {
            trace_id,
            span_id,
            flags,
            state: None,
        })
    }

    /// Reads both headers. A `tracestate` that cannot be one is left out, as the recommendation says:
    /// it does not spoil the `traceparent`.
    ///
    /// # Errors
    ///
    /// [`TraceContextError`], when the `traceparent` is none.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Result<Self, TraceContextError> {
        const FORM: TraceContextError = TraceContextError::Form;
        let mut parts = traceparent.trim_matches([' ', '\t']).split('-');
        let mut next = || parts.next().ok_or(FORM);
        let [version] = hex::<1>(next()?)?;
        let (trace_id, span_id) = (hex::<16>(next()?)?, hex::<8>(next()?)?);
        let [flags] = hex::<1>(next()?)?;
        // Later versions may append parts.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return Err(FORM);
        }
        let context = Self::new(trace_id, span_id, flags)?;
        Ok(context.with_tracestate(tracestate.unwrap_or_default()))
    }

    /// The context with what vendors say beside it. What is empty, longer than 512 characters, or no
    /// list of `key=value` in ASCII is left out.
    #[must_use]
    pub fn with_tracestate(mut self, state: &str) -> Self {
        let state = state.trim_matches([' ', '\t']);
        self.state = is_state(state).then(|| state.into());
        self
    }

    /// The trace.
    #[must_use]
    pub fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The span in it.
    #[must_use]
    pub fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// The flags; only [`Self::is_sampled`] is standard.
    #[must_use]
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Whether the sender records its spans.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.flags & Self::SAMPLED != 0
    }

    /// As a `traceparent`, version `00`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        let digits = |bytes: &[u8]| {
            bytes
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
        };
        let (trace_id, span_id) = (digits(&self.trace_id), digits(&self.span_id));
        format!("00-{trace_id}-{span_id}-{:02x}", self.flags)
    }

    /// The `tracestate`, where there is one.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }
}

/// As a `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.traceparent())
    }
}

/// So many bytes in lower-case hexadecimal digits, and no more.
fn hex<const N: usize>(digits: &str) -> Result<[u8; N], TraceContextError> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return Err(TraceContextError::Form);
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks_exact(2)) {
        let (high, low) = (digit(pair[0]), digit(pair[1]));
        let (Some(high), Some(low)) = (high, low) else {
            return Err(TraceContextError::Form);
        };
        *byte = high << 4 | low;
    }
    Ok(bytes)
}

/// Whether this is a list of at most 32 `key=value`, in what headers may hold.
fn is_state(state: &str) -> bool {
    let is_printable = |text: &str| text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let mut members = state
        .split(',')
        .map(|member| member.trim_matches([' ', '\t']));
    let is_member = |member: &str| {
        member.is_empty()
            || member
                .split_once('=')
                .is_some_and(|(key, value)| !key.is_empty() && !value.is_empty())
    };
    !state.is_empty()
        && state.len() <= MAX_STATE
        && state.split(',').count() <= 32
        && is_printable(&state.replace('\t', " "))
        && members.all(is_member)
}

#[cfg(test)]
mod tests {
    use super::{TraceContext, TraceContextError};

    const WRITTEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn check(traceparent: &str, expected: Result<&str, TraceContextError>) {
        let read = TraceContext::parse(traceparent, None).map(|context| context.to_string());
        assert_eq!(read, expected.map(str::to_owned), "{traceparent}");
    }

    #[test]
    fn what_is_written_is_read() {
        check(WRITTEN, Ok(WRITTEN));
        check(&format!(" {WRITTEN}\t"), Ok(WRITTEN));
        let unsampled = WRITTEN.replace("-01", "-00");
        check(&unsampled, Ok(&unsampled));
        // Of a later version, what is known of it.
        check(&WRITTEN.replacen("00", "cc", 1), Ok(WRITTEN));
        check(
            &format!("{}-more", WRITTEN.replacen("00", "cc", 1)),
            Ok(WRITTEN),
        );
    }

    #[test]
    fn what_is_no_place_in_a_trace_is_refused() {
        for text in [
            "",
            "00",
            "-",
            "---",
            &WRITTEN[..54],
            &format!("{WRITTEN}-"),
            &format!("{WRITTEN}-more"),
            &format!("{WRITTEN}0"),
            &WRITTEN.to_uppercase(),
            &WRITTEN.replacen("00", "ff", 1),
            &WRITTEN.replace('-', "_"),
            "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-00f067aa0ba902b7-01",
        ] {
            check(text, Err(TraceContextError::Form));
        }
        let zero = |part: &str| WRITTEN.replace(part, &"0".repeat(part.len()));
        check(
            &zero("4bf92f3577b34da6a3ce929d0e0e4736"),
            Err(TraceContextError::Zero),
        );
        check(&zero("00f067aa0ba902b7"), Err(TraceContextError::Zero));
    }

    #[test]
    fn a_state_that_is_none_spoils_nothing() {
        let state = |state: &str| {
            let context = TraceContext::parse(WRITTEN, Some(state)).unwrap();
            context.tracestate().map(str::to_owned)
        };
        assert_eq!(state("a=1, b@c=2").as_deref(), Some("a=1, b@c=2"));
        assert_eq!(state(" a=1,, ").as_deref(), Some("a=1,,"));
        let long = format!("a={}", "x".repeat(511));
        let many = vec!["a=1"; 33].join(",");
        for none in [
            "", " ", "a", "=1", "a=", "a=\u{e9}", "a=1\nb=2", &long, &many,
        ] {
            assert_eq!(state(none), None, "{none}");
        }
    }
}
