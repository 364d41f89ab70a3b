//! The `params` of a call, and its arguments apart from them.
//!
//! Long arguments have no index before one is needed, so that there are never two.

use super::{
    client::Shared,
    refusal::{self, ErrorBodies},
    room,
};
use crate::{
    apart::{apart, indexed},
    budget::{Charge, UNCHARGED},
    members::{Member, each_member},
    message::over,
};
use bytes::Bytes;
use crossfeed_core::LimitError;
use crossfeed_json::{Cursor, Document, JsonErrorKind, Kind, MAX_DEPTH, quoted};
use crossfeed_mcp::TraceMeta;
use crossfeed_wire::{ErrorBody, ErrorCode};
use std::sync::Arc;

const ARGUMENTS: &str = "arguments";
/// What stands in the place of arguments that are kept apart.
const STAND_IN: &[u8] = b"null";

/// The `params` of a call.
pub(super) struct Params {
    /// As they came.
    raw: Bytes,
    /// The same, with a stand-in for arguments that are kept apart.
    others: Arc<Document>,
    apart: Option<Bytes>,
    /// For the index of the others.
    room: Charge,
}

impl Params {
    /// Reads `params`, for which there has to be room. Arguments may nest as deep as anything that is read,
    /// though `params` that hold them nest deeper.
    pub(super) async fn read(shared: &Shared, raw: Bytes) -> Result<Self, ErrorBodies> {
        if raw.len() <= UNCHARGED {
            let others = Document::new(raw.clone());
            let error = others.root().err();
            if error.is_none_or(|error| error.kind != JsonErrorKind::TooDeep) {
                return Ok(Self {
                    raw,
                    others: Arc::new(others),
                    apart: None,
                    room: shared.account.nothing(),
                });
            }
        }
        let long = raw.clone();
        let found = apart(raw.len(), move || arguments_in(&long)).await;
        if found.as_ref().is_some_and(|found| found.depth > MAX_DEPTH) {
            let error = LimitError::ArgumentsTooDeep;
            let code = ErrorCode::LimitExceeded;
            return Err(refusal::body(code, error.to_string(), error.advice()));
        }
        let range = found.map(|found| found.value);
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
            others: Arc::new(indexed(others).await),
            apart: range.map(|range| raw.slice(range)),
            raw,
            room,
        })
    }

    /// The object, without what is in arguments that are kept apart; else what is wrong with it.
    pub(super) fn object(&self) -> Result<Cursor<'_>, String> {
        match self.others.root() {
            Ok(root) if root.kind() == Kind::Object => Ok(root),
            Ok(_) => Err("the params of tools/call are not an object".to_owned()),
            Err(error) => Err(format!("the params of tools/call are invalid: {error}")),
        }
    }

    /// The bytes of the arguments.
    pub(super) fn arguments(&self) -> Option<Bytes> {
        let short = || self.object().ok()?.get(ARGUMENTS).map(Cursor::shared);
        self.apart.clone().or_else(short)
    }

    /// The `params` as the server gets them, charged where they are not the bytes that came: its own `name` for
    /// the tool, the arguments resolved, our place in the trace. And where the resolved arguments stand in them.
    pub(super) async fn sent(
        &self,
        shared: &Shared,
        name: &str,
        resolved: Option<&Bytes>,
        trace: Option<TraceMeta>,
    ) -> Result<(Bytes, Option<usize>), ErrorBodies> {
        let traced = match trace {
            Some(trace) => Some(self.traced(shared, trace).await?),
            None => None,
        };
        let others = traced.as_ref().map_or(&*self.others, |(traced, _)| traced);
        let root = others.root().map_err(|error| {
            let message = format!("the params of tools/call are invalid: {error}");
            vec![ErrorBody::new(ErrorCode::ArgumentsInvalid, message)]
        })?;
        let range = |value: Cursor<'_>| value.offset()..value.offset() + value.raw().len();
        let own = quoted(name);
        let name = root.get("name").filter(|name| name.raw() != own.as_bytes());
        let name = name.map(|name| (range(name), Bytes::from(own)));
        if traced.is_none() && name.is_none() && resolved.is_none() {
            return Ok((self.raw.clone(), None));
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
        let mut charge = room::to_write(shared, bytes)?;
        let sent = apart(bytes, move || over(&raw, &changes)).await;
        charge.keep(sent.len());
        Ok((charge.hold(sent), at))
    }

    /// The same, without arguments that are kept apart, with our place in the trace.
    async fn traced(
        &self,
        shared: &Shared,
        trace: TraceMeta,
    ) -> Result<(Document, Charge), ErrorBodies> {
        let others = Arc::clone(&self.others);
        let bytes = others.raw().len();
        // Bytes and index once more: what is added is short.
        let room = room::to_write(shared, bytes + self.room.bytes())?;
        let put = move || {
            let document = Document::new(trace.put(&others).into_owned());
            // Indexed here.
            let _ = document.root();
            document
        };
        Ok((apart(bytes, put).await, room))
    }
}

/// Arguments that are a list or object; `None` where `params` are not valid JSON, which their index says.
fn arguments_in(params: &[u8]) -> Option<Member<()>> {
    let text = std::str::from_utf8(params).ok()?;
    let mut last = None;
    let is_wanted = |key: &str| (key == ARGUMENTS).then_some(());
    each_member(text, is_wanted, |member| {
        if matches!(params.get(member.value.start), Some(b'[' | b'{')) {
            last = Some(member);
        }
    })?;
    last
}

#[cfg(test)]
mod tests {
    use super::arguments_in;
    use crossfeed_json::MAX_DEPTH;

    fn check(params: &str, expected: Option<&str>) {
        let found = arguments_in(params.as_bytes());
        let range = found.map(|found| found.value);
        assert_eq!(range.map(|range| &params[range]), expected, "{params}");
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
        for depth in [1, MAX_DEPTH, MAX_DEPTH + 1] {
            let params = format!(
                r#"{{"_meta":{},"arguments":{}}}"#,
                nested(200),
                nested(depth)
            );
            assert_eq!(arguments_in(params.as_bytes()).unwrap().depth, depth);
        }
    }
}
