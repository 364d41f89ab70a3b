//! The place of a call in a distributed trace, in the headers of W3C Trace Context: `traceparent` and
//! `tracestate`.

use data_encoding::HEXLOWER;
use std::{fmt, sync::Arc};

/// The longest `tracestate` that is kept: the recommendation requires passing on this much.
const MAX_STATE: usize = 512;
/// The most members of a `tracestate`, by the recommendation.
const MAX_MEMBERS: usize = 32;
/// The longest key or value of a member, by the recommendation.
const MAX_PART: usize = 256;

/// The span of a call in a trace, by its ids.
///
/// Written and read by [W3C Trace Context](https://www.w3.org/TR/trace-context/), version `00`; of a later
/// version, the fields of version `00` are read.
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
#[must_use]
pub struct TraceContext {
    trace_id: [u8; 16],
    span_id: [u8; 8],
    flags: u8,
    state: Option<Arc<str>>,
}

/// Why a `traceparent` is invalid. A caller goes on as if none had been sent.
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
    /// The flag of recorded traces.
    const SAMPLED: u8 = 1;
    /// The flags that have a meaning: sampled, and that the id of the trace is random.
    const KNOWN: u8 = 3;

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

    /// Reads both headers. An invalid `tracestate` is left out, as the recommendation says, without affecting
    /// the `traceparent`.
    ///
    /// # Errors
    ///
    /// [`TraceContextError`] for an invalid `traceparent`.
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

    /// The context with a `tracestate` of vendors. It is left out if it is empty, longer than 512 characters,
    /// or not a list of at most 32 `key=value` with different keys, as the recommendation defines them.
    pub fn with_tracestate(mut self, state: &str) -> Self {
        let state = state.trim_matches([' ', '\t']);
        self.state = is_state(state).then(|| state.into());
        self
    }

    /// The trace.
    pub fn trace_id(&self) -> [u8; 16] {
        self.trace_id
    }

    /// The span in it.
    pub fn span_id(&self) -> [u8; 8] {
        self.span_id
    }

    /// The flags as received; unknown ones are not sent on.
    pub fn flags(&self) -> u8 {
        self.flags
    }

    /// Whether the sender records its spans.
    pub fn is_sampled(&self) -> bool {
        self.flags & Self::SAMPLED != 0
    }

    /// As a `traceparent`, version `00`: flags that have no meaning in it are zero.
    pub fn traceparent(&self) -> String {
        let (trace_id, span_id) = (
            HEXLOWER.encode(&self.trace_id),
            HEXLOWER.encode(&self.span_id),
        );
        format!("00-{trace_id}-{span_id}-{:02x}", self.flags & Self::KNOWN)
    }

    /// The `tracestate`, where there is one.
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

/// Exactly this many bytes, in lower-case hexadecimal digits.
fn hex<const N: usize>(digits: &str) -> Result<[u8; N], TraceContextError> {
    if digits.len() != 2 * N {
        return Err(TraceContextError::Form);
    }
    let mut bytes = [0; N];
    match HEXLOWER.decode_mut(digits.as_bytes(), &mut bytes) {
        Ok(_) => Ok(bytes),
        Err(_) => Err(TraceContextError::Form),
    }
}

/// Whether this is a list of at most 32 `key=value` with different keys. Members may be empty.
fn is_state(state: &str) -> bool {
    if state.is_empty() || state.len() > MAX_STATE {
        return false;
    }
    let mut keys = Vec::new();
    for (number, member) in state.split(',').enumerate() {
        let member = member.trim_matches([' ', '\t']);
        match member.split_once('=') {
            _ if number >= MAX_MEMBERS => return false,
            None if member.is_empty() => {}
            Some((key, value)) if is_key(key) && is_value(value) && !keys.contains(&key) => {
                keys.push(key);
            }
            _ => return false,
        }
    }
    true
}

fn is_key(key: &str) -> bool {
    let begins = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut bytes = key.bytes();
    bytes.next().is_some_and(|first| begins(&first))
        && bytes.all(|byte| begins(&byte) || b"_-*/@".contains(&byte))
        && key.len() <= MAX_PART
}

fn is_value(value: &str) -> bool {
    let is_part = |byte| (0x20..0x7f).contains(&byte) && byte != b'=';
    !value.is_empty() && value.len() <= MAX_PART && value.bytes().all(is_part)
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
        check(
            &WRITTEN.replace("-01", "-03"),
            Ok(&WRITTEN.replace("-01", "-03")),
        );
        // Unknown flags are not sent on.
        check(&WRITTEN.replace("-01", "-fd"), Ok(WRITTEN));
        // Of a later version, the known fields.
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
        let part = |key: usize, value: usize| format!("{}={}", "k".repeat(key), "v".repeat(value));
        assert_eq!(state(&part(256, 1)), Some(part(256, 1)));
        assert_eq!(state(&part(1, 256)), Some(part(1, 256)));
        let most: Vec<_> = (0..32).map(|number| format!("{number}=1")).collect();
        assert_eq!(state(&most.join(",")), Some(most.join(",")));
        for some in ["0=1", "t0_-*/@v=1", "a= 1", "a=1\t,b=\"2;~\""] {
            assert_eq!(state(some).as_deref(), Some(some));
        }
        let many = format!("{},z=1", most.join(","));
        for none in [
            "",
            " ",
            "a",
            "=1",
            "a=",
            "a=\u{e9}",
            "a=1\nb=2",
            "A=1",
            "a =1",
            "@a=1",
            "_a=1",
            "a.b=1",
            "a=1=2",
            "a=1\t2",
            "a=1,a=2",
            "a=1,b=2,a=1",
            &long,
            &many,
            &part(257, 1),
            &part(1, 257),
        ] {
            assert_eq!(state(none), None, "{none}");
        }
    }
}
