//! Reads and writes the trace context of a request: `traceparent`, `tracestate` and `baggage` in `_meta`.
//!
//! The three keys are bare, as MCP reserves them; their values are those of the headers of
//! [W3C Trace Context](https://www.w3.org/TR/trace-context/) and
//! [W3C Baggage](https://www.w3.org/TR/baggage/).

use crossfeed_json::{Cursor, Document, Edits, Kind, object, quoted};
use crossfeed_wire::TraceContext;
use std::{borrow::Cow, fmt};

const META: &str = "_meta";
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";
const BAGGAGE: &str = "baggage";

/// The limit of baggage in bytes: the least that the recommendation requires.
pub const MAX_BAGGAGE: usize = 8192;
/// The limit of members of baggage, for the same reason.
const MAX_MEMBERS: usize = 64;

/// The trace context and baggage in the `_meta` of a request.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_mcp::TraceMeta;
///
/// let came = Document::new(
///     r#"{"name": "search", "_meta": {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "baggage": "tenant=a"}}"#,
/// );
/// let meta = TraceMeta::read(came.root()?);
/// assert_eq!(meta.baggage(), Some("tenant=a"));
///
/// // The call has a span of its own, which is the parent of what the server does.
/// let parent = meta.context().expect("a place in a trace");
/// let own = crossfeed_wire::TraceContext::new(parent.trace_id(), [7; 8], parent.flags())?;
/// let sent = meta.with_context(own).put(&came);
/// assert_eq!(
///     String::from_utf8_lossy(&sent),
///     r#"{"name": "search", "_meta": {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-0707070707070707-01", "baggage": "tenant=a"}}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct TraceMeta {
    context: Option<TraceContext>,
    baggage: Option<String>,
}

/// Without the baggage, which may identify users.
impl fmt::Debug for TraceMeta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceMeta")
            .field("context", &self.context)
            .field("baggage_bytes", &self.baggage.as_ref().map(String::len))
            .finish()
    }
}

impl TraceMeta {
    /// Reads the `params` of a request. An invalid `traceparent` counts as absent, and a `tracestate` without one is
    /// ignored; baggage is independent of both.
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

    /// Sets the context: that of the span that forwards the request.
    pub fn with_context(mut self, context: TraceContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Sets the baggage, in the form of the header.
    ///
    /// Beyond [`MAX_BAGGAGE`] or 64 members, the first whole members that fit are kept. Baggage that no header can carry
    /// counts as absent.
    pub fn with_baggage(mut self, baggage: &str) -> Self {
        let baggage = baggage.trim_matches([' ', '\t']);
        let fits = |byte: u8| byte == b'\t' || (0x20..0x7f).contains(&byte);
        let kept = bounded(baggage);
        self.baggage = (!kept.is_empty() && baggage.bytes().all(fits)).then(|| kept.to_owned());
        self
    }

    /// The context of the sender.
    pub fn context(&self) -> Option<&TraceContext> {
        self.context.as_ref()
    }

    /// The baggage, in the form of the header.
    pub fn baggage(&self) -> Option<&str> {
        self.baggage.as_deref()
    }

    /// Writes this to the `_meta` of `params`; every other byte stays.
    ///
    /// A context without `tracestate` removes the one in `params`. A context or baggage that is absent here leaves the one in
    /// `params`. `params` or a `_meta` that is neither an object nor `null` stay unchanged.
    pub fn put<'d>(&self, params: &'d Document) -> Cow<'d, [u8]> {
        let mut edits = Edits::new(params.raw());
        let members = self.members();
        let root = params.root().ok();
        let root = root.filter(|root| root.kind() == Kind::Object && !members.is_empty());
        let Some(root) = root else {
            return edits.done();
        };
        let mut is_missing = true;
        // A reader may use the first of two `_meta`, or the last: both are written.
        for meta in root.written_members() {
            if meta.key.text() != META {
                continue;
            }
            is_missing = false;
            match meta.value.kind() {
                Kind::Object => self.put_into(meta.value, &members, &mut edits),
                Kind::Null => edits.replace(meta.value, object(&members)),
                _ => {}
            }
        }
        if is_missing {
            edits.put(root, META, object(&members));
        }
        edits.done()
    }

    fn put_into(&self, meta: Cursor<'_>, members: &[(&str, String)], edits: &mut Edits<'_>) {
        let context = self.context.as_ref();
        let is_stateless = context.is_some_and(|context| context.tracestate().is_none());
        if !edits.remove_members(meta, |key| key == STATE && is_stateless) {
            return edits.replace(meta, object(members));
        }
        for member in meta.written_members() {
            let ours = members.iter().find(|(key, _)| *key == member.key.text());
            if let Some((_, value)) = ours {
                edits.replace(member.value, value.as_str());
            }
        }
        edits.set_members(meta, members);
    }

    /// The members to write.
    fn members(&self) -> Vec<(&'static str, String)> {
        let context = self.context.as_ref();
        let state = context.and_then(TraceContext::tracestate);
        let texts = [
            (PARENT, context.map(TraceContext::traceparent)),
            (STATE, state.map(str::to_owned)),
            (BAGGAGE, self.baggage.clone()),
        ];
        let texts = texts.into_iter();
        texts
            .filter_map(|(key, text)| Some((key, quoted(&text?))))
            .collect()
    }
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
