//! The `params` of a call, and its arguments apart from them.
//!
//! What comes in: the `params` of a `tools/call`. What goes out: its members, the arguments as their bytes,
//! and the `params` for a server. Deliberately not here: what is in the arguments. Long ones have no index
//! before somebody needs one, so that there are never two of them.

use super::{client::Shared, room};
use crate::{
    apart::{apart, indexed},
    budget::{Charge, UNCHARGED},
};
use bytes::Bytes;
use crossfeed_json::{
    Cursor, Document, Kind, MAX_DEPTH, Quoted, TokenVisitor, quoted, read_tokens,
};
use crossfeed_mcp::TraceMeta;
use crossfeed_wire::ErrorBody;
use std::ops::Range;

const ARGUMENTS: &str = "arguments";
/// What stands in the place of arguments that are kept apart.
const STAND_IN: &[u8] = b"null";

/// The `params` of a call.
pub(super) struct Params {
    /// As they came.
    raw: Bytes,
    /// The same, with a stand-in for arguments that are kept apart.
    others: Document,
    apart: Option<Bytes>,
    _room: Charge,
}

impl Params {
    /// Reads `params`, for which there has to be room.
    pub(super) async fn read(shared: &Shared, raw: Bytes) -> Result<Self, Box<ErrorBody>> {
        let long = raw.clone();
        let range = if raw.len() > UNCHARGED {
            apart(raw.len(), move || arguments_in(&long)).await
        } else {
            None
        };
        let others = match &range {
            Some(range) => {
                let (before, behind) = (raw.slice(..range.start), raw.slice(range.end..));
                let charge = room::to_write(shared, before.len() + behind.len())?;
                charge.hold([&before, STAND_IN, &behind].concat())
            }
            None => raw.clone(),
        };
        let room = room::to_index(shared, &others).await?;
        Ok(Self {
            others: indexed(others).await,
            apart: range.map(|range| raw.slice(range)),
            raw,
            _room: room,
        })
    }

    /// The object, without what is in long arguments; none where they are no object.
    pub(super) fn root(&self) -> Option<Cursor<'_>> {
        let root = self.others.root().ok()?;
        (root.kind() == Kind::Object).then_some(root)
    }

    /// The bytes of the arguments.
    pub(super) fn arguments(&self) -> Option<Bytes> {
        let short = || self.root()?.get(ARGUMENTS).map(Cursor::shared);
        self.apart.clone().or_else(short)
    }

    /// All bytes, as they came.
    pub(super) fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The `params` as the server gets them: its own `name` for the tool, the arguments resolved, our place in
    /// the trace. And where the resolved arguments stand in them.
    pub(super) async fn sent(
        &self,
        name: &str,
        resolved: Option<&Bytes>,
        trace: Option<TraceMeta>,
    ) -> (Bytes, Option<usize>) {
        let traced = trace.zip(self.root());
        let traced = traced.map(|(trace, root)| Document::new(trace.put(root).into_owned()));
        let others = traced.as_ref().unwrap_or(&self.others);
        let Ok(root) = others.root() else {
            return (self.raw.clone(), None);
        };
        let range = |value: Cursor<'_>| value.offset()..value.offset() + value.raw().len();
        let own = quoted(name);
        let name = root.get("name").filter(|name| name.raw() != own.as_bytes());
        let name = name.map(|name| (range(name), Bytes::from(own)));
        if traced.is_none() && name.is_none() && resolved.is_none() {
            return (self.raw.clone(), None);
        }
        let arguments = resolved.or(self.apart.as_ref()).cloned();
        let arguments = root.get(ARGUMENTS).map(range).zip(arguments);
        let at = arguments.as_ref().filter(|_| resolved.is_some());
        let at = at.map(|(range, _)| {
            let before = name.as_ref().filter(|(name, _)| name.start < range.start);
            before.map_or(range.start, |(name, own)| {
                range.start - name.len() + own.len()
            })
        });
        let mut changes: Vec<_> = [name, arguments].into_iter().flatten().collect();
        changes.sort_by_key(|(range, _)| range.start);
        let raw = others.raw().clone();
        let more: usize = changes.iter().map(|(_, with)| with.len()).sum();
        let bytes = raw.len() + more;
        let sent = apart(bytes, move || with_changes(&raw, &changes)).await;
        (sent, at)
    }
}

/// Bytes with others in the place of some.
fn with_changes(raw: &[u8], changes: &[(Range<usize>, Bytes)]) -> Bytes {
    let mut pieces = Vec::with_capacity(2 * changes.len() + 1);
    let mut from = 0;
    for (range, with) in changes {
        pieces.extend([raw.get(from..range.start).unwrap_or_default(), with]);
        from = range.end;
    }
    pieces.push(raw.get(from..).unwrap_or_default());
    pieces.concat().into()
}

/// Where the arguments stand that are a list or object; none where `params` nest too deep to be read, or are
/// not valid JSON, which their index says.
fn arguments_in(params: &[u8]) -> Option<Range<usize>> {
    let mut reader = Reader::default();
    read_tokens(std::str::from_utf8(params).ok()?, &mut reader).ok()?;
    reader.found.filter(|_| reader.deepest <= MAX_DEPTH)
}

#[derive(Default)]
struct Reader {
    depth: usize,
    deepest: usize,
    /// Whether the value that comes is that of the arguments.
    is_next: bool,
    from: Option<usize>,
    found: Option<Range<usize>>,
}

impl TokenVisitor for Reader {
    fn open(&mut self, at: usize) {
        if self.depth == 1 && self.is_next {
            self.from = Some(at);
        }
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
    }

    fn key(&mut self, key: Quoted<'_>) {
        if self.depth == 1 {
            self.is_next = key.text() == ARGUMENTS;
        }
    }

    fn value_end(&mut self, end: usize) {
        if self.depth == 1
            && let Some(from) = self.from.take()
        {
            self.found = Some(from..end);
        }
    }

    fn close(&mut self, _: usize) {
        self.depth -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::arguments_in;
    use crossfeed_json::MAX_DEPTH;

    fn check(params: &str, expected: Option<&str>) {
        let found = arguments_in(params.as_bytes());
        assert_eq!(found.map(|range| &params[range]), expected, "{params}");
    }

    #[test]
    fn arguments_are_found_without_an_index() {
        check(
            r#"{"name": "a", "arguments" : {"x": [1]} }"#,
            Some(r#"{"x": [1]}"#),
        );
        check(
            r#"{"\u0061rguments":[{}],"_meta":{"arguments":{}}}"#,
            Some("[{}]"),
        );
        check(r#"{"_meta": {"arguments": {}}, "name": "a"}"#, None);
        check(r#"{"arguments": "{}", "a": {}}"#, None);
        check(r#"{"arguments": null, "a": {}}"#, None);
        check(r#"[{"arguments": {}}]"#, None);
        check(r#"{"arguments": {}"#, None);
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let (most, more) = (nested(MAX_DEPTH - 1), nested(MAX_DEPTH));
        check(&format!("{{\"arguments\":{most}}}"), Some(&most));
        check(&format!("{{\"arguments\":{more}}}"), None);
    }
}
