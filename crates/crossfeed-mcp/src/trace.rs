//! The place of a request in a trace: `traceparent`, `tracestate` and `baggage` in `_meta`.
//!
//! What comes in: the `params` of a request. What goes out: where in a trace its sender was, and the
//! `params` as they are sent on, with our own place. Deliberately not here: spans.
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
    pub fn put<'d>(&self, params: &'d Document) -> Cow<'d, [u8]> {
        let mut edits = Edits::new(params.raw());
        let members = self.members();
        let root = params.root().ok();
        let root = root.filter(|root| root.kind() == Kind::Object && !members.is_empty());
        let Some(root) = root else {
            return edits.done();
        };
        let mut is_missing = true;
        // A reader may take the first of two `_meta`, or the last: it is said in each.
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

    /// What is said, each under its key.
    fn members(&self) -> Vec<(&'static str, String)> {
        let context = self.context.as_ref();
        let said = [
            (PARENT, context.map(TraceContext::traceparent)),
            (
                STATE,
                context.and_then(|own| own.tracestate().map(str::to_owned)),
            ),
            (BAGGAGE, self.baggage.clone()),
        ];
        let said = said.into_iter();
        said.filter_map(|(key, text)| Some((key, quoted(&text?))))
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
