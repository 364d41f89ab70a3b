//! The place of a request in a trace: `traceparent`, `tracestate` and `baggage` in `_meta`.
//!
//! What comes in: the `params` of a request. What goes out: where in a trace its sender was, and the
//! `params` as they are sent on, with our own place. Deliberately not here: spans.
//!
//! The three keys are bare, as MCP reserves them; their values are those of the headers of
//! [W3C Trace Context](https://www.w3.org/TR/trace-context/) and
//! [W3C Baggage](https://www.w3.org/TR/baggage/).

use crossfeed_json::{Cursor, Kind, quoted};
use crossfeed_wire::TraceContext;
use std::{borrow::Cow, fmt};

const META: &str = "_meta";
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// The longest baggage that is passed on, in bytes: what the recommendation asks of every party.
pub const MAX_BAGGAGE: usize = 8192;
/// The most members of a baggage that are passed on, for the same reason.
const MAX_MEMBERS: usize = 64;

/// What the `_meta` of a request says of traces.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_mcp::TraceMeta;
///
/// let came = Document::new(
///     r#"{"name": "search", "_meta": {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "baggage": "tenant=a"}}"#,
/// );
/// let params = came.root()?;
/// let meta = TraceMeta::read(params);
/// assert_eq!(meta.baggage(), Some("tenant=a"));
///
/// // The call has a span of its own, which is the parent of what the server does.
/// let parent = meta.context().expect("a place in a trace");
/// let own = crossfeed_wire::TraceContext::new(parent.trace_id(), [7; 8], parent.flags())?;
/// let sent = meta.with_context(own).put(params);
/// assert_eq!(
///     String::from_utf8_lossy(&sent),
///     r#"{"name": "search", "_meta": {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-0707070707070707-01", "baggage": "tenant=a"}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct TraceMeta {
    context: Option<TraceContext>,
    baggage: Option<String>,
}

/// Baggage may hold what users are known by: it has no place in logs.
impl fmt::Debug for TraceMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceMeta")
            .field("context", &self.context)
            .field("baggage_bytes", &self.baggage.as_ref().map(String::len))
            .finish()
    }
}

impl TraceMeta {
    /// What the `params` of a request say. What is no `traceparent` is as good as none, and a
    /// `tracestate` without one means nothing; baggage is read on its own.
    #[must_use]
    pub fn read(params: Cursor<'_>) -> Self {
        let meta = params.get(META);
        let text = |key| meta.and_then(|meta| meta.get(key)?.as_str());
        let state = text(STATE);
        let context =
            text(PARENT).and_then(|parent| TraceContext::parse(&parent, state.as_deref()).ok());
        let read = Self {
            context,
            baggage: None,
        };
        read.with_baggage(&text(BAGGAGE).unwrap_or_default())
    }

    /// The same at another place: that of the span from which a request is sent on.
    #[must_use]
    pub fn with_context(mut self, context: TraceContext) -> Self {
        self.context = Some(context);
        self
    }

    /// The same with a baggage as it is written in the header.
    ///
    /// Of one that is longer than [`MAX_BAGGAGE`] or has more than 64 members, those members are kept,
    /// whole, that fit. What no header could hold is none.
    #[must_use]
    pub fn with_baggage(mut self, baggage: &str) -> Self {
        let baggage = baggage.trim_matches([' ', '\t']);
        let fits = |byte: u8| byte == b'\t' || (0x20..0x7f).contains(&byte);
        let kept = bounded(baggage);
        self.baggage = (!kept.is_empty() && baggage.bytes().all(fits)).then(|| kept.to_owned());
        self
    }

    /// Where the sender was.
    #[must_use]
    pub fn context(&self) -> Option<&TraceContext> {
        self.context.as_ref()
    }

    /// What is handed from service to service beside it, as written.
    #[must_use]
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// The `params` with this in their `_meta`, every other byte as it came.
    ///
    /// A place goes with its `tracestate`: where it has none, one that came goes. Of what is not known
    /// here, what came stays. Nothing is changed where there is no room for it: `params` or a `_meta`
    /// that is not an object, but for `null`, which says nothing.
    #[must_use]
    pub fn put<'d>(&self, params: Cursor<'d>) -> Cow<'d, [u8]> {
        let said = self.said();
        if said.iter().all(|(_, said)| said.is_none()) || params.kind() != Kind::Object {
            return Cow::Borrowed(params.raw());
        }
        let mut members = Vec::new();
        for (key, said) in &said {
            if let Some(Said::Is(value)) = said {
                members.push((*key, value.clone()));
            }
        }
        // A reader may take the first of two `_meta`, or the last: it is said in each.
        let written = rewritten(
            params,
            |key, value| match value.kind() {
                _ if key != META => None,
                Kind::Object => Some(Said::Is(rewritten(
                    value,
                    |key, _| of(&said, key),
                    &members,
                ))),
                Kind::Null => Some(Said::Is(object(&members))),
                _ => Some(Said::Is(value.raw().to_vec())),
            },
            &[(META, object(&members))],
        );
        if written == params.raw() {
            Cow::Borrowed(params.raw())
        } else {
            Cow::Owned(written)
        }
    }

    /// What is said under each key; `None` where what came stays.
    fn said(&self) -> [(&'static str, Option<Said>); 3] {
        let is = |text: &str| Said::Is(quoted(text).into_bytes());
        let context = self.context.as_ref();
        let parent = context.map(|context| is(&context.traceparent()));
        let state = context.map(|context| context.tracestate().map_or(Said::Nothing, is));
        [
            (PARENT, parent),
            (STATE, state),
            (BAGGAGE, self.baggage().map(is)),
        ]
    }
}

/// What stands under a key.
#[derive(Clone)]
enum Said {
    /// This, as JSON.
    Is(Vec<u8>),
    Nothing,
}

fn of(said: &[(&str, Option<Said>)], key: &str) -> Option<Said> {
    let found = said.iter().find(|(name, _)| *name == key);
    found.and_then(|(_, said)| said.clone())
}

/// The longest beginning of whole members within the limits.
fn bounded(baggage: &str) -> &str {
    let mut end = 0;
    for (number, member) in baggage.split(',').take(MAX_MEMBERS).enumerate() {
        // The comma before it, but for the first, which may be empty.
        let next = end + usize::from(number > 0) + member.len();
        if next > MAX_BAGGAGE {
            break;
        }
        end = next;
    }
    baggage.get(..end).unwrap_or_default()
}

fn object(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = vec![b'{'];
    for member in members {
        append(&mut out, member);
    }
    out.push(b'}');
    out
}

/// An object with other values under some keys, without some members, and with those of `wanted` that
/// it does not have behind the others. Every other byte is as it came.
fn rewritten(
    object: Cursor<'_>,
    said: impl Fn(&str, Cursor<'_>) -> Option<Said>,
    wanted: &[(&str, Vec<u8>)],
) -> Vec<u8> {
    let begin = object.offset();
    let raw = object.raw();
    let mut out = vec![b'{'];
    let mut missing: Vec<_> = wanted.iter().collect();
    // Behind the bracket or the value before the next member, and behind the comma between.
    let (mut before, mut from) = (1, 1);
    for member in object.written_members() {
        let end = member.end - begin;
        let key = member.key.text();
        let said = said(&key, member.value);
        missing.retain(|(wanted, _)| *wanted != key);
        // What is the first now has no comma before it.
        let at = if out.len() > 1 { before } else { from };
        match said {
            Some(Said::Is(value)) => {
                out.extend_from_slice(&raw[at..member.value.offset() - begin]);
                out.extend(value);
            }
            Some(Said::Nothing) => {}
            None => out.extend_from_slice(&raw[at..end]),
        }
        let comma = raw[end..].iter().position(|byte| *byte == b',');
        (before, from) = (end, comma.map_or(end, |comma| end + comma + 1));
    }
    for member in missing {
        append(&mut out, member);
    }
    out.extend_from_slice(&raw[before..]);
    out
}

/// Appends a member to an object whose members so far are `out`.
fn append(out: &mut Vec<u8>, (key, value): &(&str, Vec<u8>)) {
    if out.len() > 1 {
        out.push(b',');
    }
    out.extend_from_slice(quoted(key).as_bytes());
    out.push(b':');
    out.extend_from_slice(value);
}
