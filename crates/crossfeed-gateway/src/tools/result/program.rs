//! Results that a program reads: the bytes that the server gave.
//!
//! What comes in: a result as it came. What goes out: the same bytes, with the call id and whatever else the
//! gateway has to say in `_meta`, under `dev.crossfeed/…`. Deliberately not here: what never reaches a client,
//! which was taken out when the result arrived.
//!
//! # What holds
//!
//! - Only the result's own `_meta` changes: of it the members that only the gateway may write.
//! - What is looked at is the outermost object; no index is built of what is in it.

use super::{
    Show,
    passed::with_object,
    whole::{CONTENT, META, OURS, STRUCTURED, is_claim},
};
use crate::members::{may_hold, object, value_start};
use bytes::Bytes;
use crossfeed_json::{Document, Quoted, TokenVisitor, quoted, read_tokens};
use std::ops::Range;

/// The members of a result that are looked at.
const LOOKED_AT: [&str; 8] = [
    "isError",
    "resultType",
    STATE,
    "task",
    "taskId",
    CONTENT,
    STRUCTURED,
    META,
];
/// Those of which only the kind is.
const LONG: [&str; 2] = [CONTENT, STRUCTURED];
/// Bytes of a value that is looked at; what is longer says nothing that is understood. A state is known by all of it.
const SHORT: usize = 64 << 10;
const STATE: &str = "requestState";
/// What the gateway says beside a result.
const CALL_ID: &str = "dev.crossfeed/callId";
const NOTICES: &str = "dev.crossfeed/notices";

/// Where the members of a result are.
pub(super) struct Outline {
    /// The result with stand-ins for what is long in it.
    pub(super) skeleton: Document,
    /// Where its `_meta` is; each, where there are several.
    meta: Vec<Range<usize>>,
    /// Where its last brace is.
    end: usize,
    /// Whether it has no member at all.
    is_empty: bool,
    /// Whether its structured content is none that a client with a session takes.
    pub(super) has_odd_structure: bool,
}

impl Outline {
    /// The outline of a result; none where it is no object.
    pub(super) fn of(result: &Bytes) -> Option<Self> {
        let text = std::str::from_utf8(result).ok()?;
        let looked_at = |name: &str| LOOKED_AT.into_iter().find(|key| *key == name);
        let (members, is_empty) = Members::of(text, looked_at)?;
        let end = result.iter().rposition(|byte| *byte == b'}')?;
        if !text.trim_start().starts_with('{') {
            return None;
        }
        let mut said = Vec::new();
        let mut meta = Vec::new();
        let mut has_odd_structure = false;
        for member in members {
            let raw = &result[member.value.clone()];
            match member.of_key {
                META => meta.push(member.value),
                key if LONG.contains(&key) => {
                    has_odd_structure |= key == STRUCTURED && raw.first() != Some(&b'{');
                    said.push((key, stand_in(raw)));
                }
                key if key != STATE && raw.len() > SHORT => said.push((key, stand_in(raw))),
                key => said.push((key, raw)),
            }
        }
        Some(Self {
            skeleton: Document::new(object(&said)),
            meta,
            end,
            is_empty,
            has_odd_structure,
        })
    }
}

/// A short value of the same kind.
fn stand_in(raw: &[u8]) -> &'static [u8] {
    match raw.first() {
        Some(b'[') => b"[]",
        Some(b'{') => b"{}",
        Some(b'"') => b"\"\"",
        _ => b"null",
    }
}

/// Finds the members of the outermost object.
struct Members<'t, T, F> {
    text: &'t [u8],
    /// What is made of a key; none where its member is not wanted.
    read: F,
    depth: usize,
    is_empty: bool,
    /// The member whose value comes.
    next: Option<Member<T>>,
    found: Vec<Member<T>>,
}

struct Member<T> {
    of_key: T,
    /// With its key.
    whole: Range<usize>,
    value: Range<usize>,
}

impl<'t, T, F: Fn(&str) -> Option<T>> Members<'t, T, F> {
    /// The members, if it is JSON; and whether there are none at all.
    fn of(text: &'t str, read: F) -> Option<(Vec<Member<T>>, bool)> {
        let mut members = Self {
            text: text.as_bytes(),
            read,
            depth: 0,
            is_empty: true,
            next: None,
            found: Vec::new(),
        };
        read_tokens(text, &mut members).ok()?;
        Some((members.found, members.is_empty))
    }
}

impl<T, F: Fn(&str) -> Option<T>> TokenVisitor for Members<'_, T, F> {
    fn open(&mut self, _: usize) {
        self.depth += 1;
    }

    fn close(&mut self, _: usize) {
        self.depth -= 1;
    }

    fn key(&mut self, key: Quoted<'_>) {
        if self.depth != 1 {
            return;
        }
        self.is_empty = false;
        let value = value_start(self.text, &key);
        let of_key = (self.read)(&key.text());
        self.next = of_key.zip(value).map(|(of_key, value)| Member {
            of_key,
            // The quote before it is part of the member.
            whole: key.start() - 1..value,
            value: value..value,
        });
    }

    fn value_end(&mut self, end: usize) {
        if self.depth == 1
            && let Some(mut member) = self.next.take()
        {
            member.whole.end = end;
            member.value.end = end;
            self.found.push(member);
        }
    }
}

/// What the gateway says beside a result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Said<'s> {
    pub(super) call_id: Option<&'s str>,
    pub(super) notice: Option<&'s str>,
    /// A member that the gateway said before.
    pub(super) keeps: Option<&'static str>,
}

/// A result as it is shown; `keeps` is a member of `_meta` that the gateway said before.
pub(super) fn shown(result: &Bytes, show: &Show, keeps: Option<&'static str>) -> Bytes {
    match Outline::of(result) {
        Some(outline) => shown_by(result, &outline, show, keeps),
        None => result.clone(),
    }
}

/// The same by its outline.
pub(super) fn shown_by(
    result: &Bytes,
    outline: &Outline,
    show: &Show,
    keeps: Option<&'static str>,
) -> Bytes {
    let withholds = show.offered.withholds();
    let said = Said {
        keeps,
        ..show.said()
    };
    if outline.has_odd_structure && !show.is_stateless {
        let result = with_object(result.clone());
        return match Outline::of(&result) {
            Some(outline) => with_said(&result, &outline, said, withholds),
            None => result,
        };
    }
    with_said(result, outline, said, withholds)
}

/// A result of which nothing is said, without what the server says in the gateway's place.
pub(super) fn unclaimed(result: Bytes, withholds: bool) -> Bytes {
    if !may_hold(&result, OURS) {
        return result;
    }
    match Outline::of(&result) {
        Some(outline) => with_said(&result, &outline, Said::default(), withholds),
        None => result,
    }
}

/// The result with what the gateway says in its `_meta`, and without what the server says there in its place.
pub(super) fn with_said(
    result: &Bytes,
    outline: &Outline,
    said: Said<'_>,
    withholds: bool,
) -> Bytes {
    let mut ours = Vec::new();
    if let Some(id) = said.call_id {
        ours.push((CALL_ID, quoted(id)));
    }
    if let Some(notice) = said.notice {
        ours.push((NOTICES, format!("[{}]", quoted(notice))));
    }
    let is_claim = |key: &str| is_claim(key, withholds) && said.keeps != Some(key);
    let mut changes = Vec::new();
    let last = outline.meta.len().saturating_sub(1);
    for (index, range) in outline.meta.iter().enumerate() {
        // Most readers go by the last of several.
        let ours = if index == last { &ours[..] } else { &[] };
        if let Some(meta) = with_ours(&result[range.clone()], ours, is_claim) {
            changes.push((range.clone(), meta));
        }
    }
    if outline.meta.is_empty() && !ours.is_empty() {
        let comma = if outline.is_empty { "" } else { "," };
        let mut meta = format!("{comma}{}:", quoted(META)).into_bytes();
        meta.extend_from_slice(&object(&ours));
        changes.push((outline.end..outline.end, meta));
    }
    if changes.is_empty() {
        return result.clone();
    }
    let more: usize = changes.iter().map(|(_, with)| with.len()).sum();
    let mut with = Vec::with_capacity(result.len() + more);
    let mut from = 0;
    for (range, change) in changes {
        with.extend_from_slice(&result[from..range.start]);
        with.extend_from_slice(&change);
        from = range.end;
    }
    with.extend_from_slice(&result[from..]);
    with.into()
}

/// A `_meta` with members of ours and without claims of others, however deep it nests; none where it stays as it
/// came.
fn with_ours(
    meta: &[u8],
    ours: &[(&str, String)],
    is_claim: impl Fn(&str) -> bool,
) -> Option<Vec<u8>> {
    let is_object = meta.first() == Some(&b'{');
    let text = std::str::from_utf8(meta).ok().filter(|_| is_object);
    let members = text.and_then(|text| Members::of(text, |key| Some(is_claim(key))));
    let Some((members, _)) = members else {
        // Nothing can be put into it.
        return (!ours.is_empty()).then(|| object(ours).into());
    };
    let has_claims = members.iter().any(|member| member.of_key);
    if ours.is_empty() && !has_claims {
        return None;
    }
    let mut with = vec![b'{'];
    for member in members.into_iter().filter(|member| !member.of_key) {
        with.extend_from_slice(&meta[member.whole]);
        with.push(b',');
    }
    for (key, value) in ours {
        with.extend_from_slice(format!("{}:{value},", quoted(key)).as_bytes());
    }
    if with.len() > 1 {
        with.pop();
    }
    with.push(b'}');
    Some(with)
}

#[cfg(test)]
mod tests {
    use super::{Outline, Said, with_said};
    use bytes::Bytes;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn said(result: &str, call_id: Option<&str>, notice: Option<&str>) -> String {
        let result = Bytes::from(result.to_owned());
        let outline = Outline::of(&result).unwrap();
        let said = Said {
            call_id,
            notice,
            ..Said::default()
        };
        let with = with_said(&result, &outline, said, false);
        String::from_utf8(with.to_vec()).unwrap()
    }

    #[test]
    fn only_meta_changes() {
        for (came, shown) in [
            ("{}", r#"{"_meta":{"dev.crossfeed/callId":"c"}}"#),
            (
                "{ \"content\" : [ 1.50 ] }\n",
                "{ \"content\" : [ 1.50 ] ,\"_meta\":{\"dev.crossfeed/callId\":\"c\"}}\n",
            ),
            (
                r#"{"_meta": {"a": 1}, "content":[]}"#,
                r#"{"_meta": {"a": 1,"dev.crossfeed/callId":"c"}, "content":[]}"#,
            ),
            (
                r#"{"\u005fmeta":{"dev.crossfeed/callId":"forged","dev.crossfeed/notices":["x"]},"content":[]}"#,
                r#"{"\u005fmeta":{"dev.crossfeed/callId":"c"},"content":[]}"#,
            ),
            (
                r#"{"_meta":{"dev.crossfeed/callId":"first","a":1},"_meta":{"b":[2] }}"#,
                r#"{"_meta":{"a":1},"_meta":{"b":[2],"dev.crossfeed/callId":"c"}}"#,
            ),
            (
                r#"{"_meta":null,"content":[{"_meta":{"dev.crossfeed/callId":"of a part"}}]}"#,
                r#"{"_meta":{"dev.crossfeed/callId":"c"},"content":[{"_meta":{"dev.crossfeed/callId":"of a part"}}]}"#,
            ),
        ] {
            assert_eq!(said(came, Some("c"), None), shown);
        }
        let noted = said(r#"{"content":[]}"#, None, Some("not kept"));
        assert_eq!(
            noted,
            r#"{"content":[],"_meta":{"dev.crossfeed/notices":["not kept"]}}"#
        );
        let plain = r#"{"content":[], "_meta":{"b":[2]}}"#;
        assert_eq!(said(plain, None, None), plain);
    }

    #[test]
    fn what_nests_deep_stays() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (came, shown) in [
            (
                format!(r#"{{"_meta":{{"x":{deep},"dev.crossfeed/error":1}},"content":[]}}"#),
                format!(r#"{{"_meta":{{"x":{deep},"dev.crossfeed/callId":"c"}},"content":[]}}"#),
            ),
            (
                format!(r#"{{"content":{deep}}}"#),
                format!(r#"{{"content":{deep},"_meta":{{"dev.crossfeed/callId":"c"}}}}"#),
            ),
        ] {
            assert_eq!(said(&came, Some("c"), None), shown);
        }
    }

    #[test]
    fn what_is_no_object_has_no_outline() {
        for json in ["[]", "1", "\"{}\"", "null", "{", ""] {
            assert!(Outline::of(&Bytes::from(json)).is_none(), "{json}");
        }
    }

    proptest! {
        #[test]
        fn all_else_is_what_came(
            text in ".*",
            structured in proptest::option::of(proptest::collection::btree_map("[a-c_]{0,6}", any::<i64>(), 0..4)),
            meta in proptest::option::of(proptest::collection::btree_map("[a-c./]{0,6}", any::<bool>(), 0..3)),
        ) {
            let mut came = json!({"content": [{"type": "text", "text": text}]});
            if let Some(structured) = structured {
                came["structuredContent"] = json!(structured);
            }
            if let Some(meta) = meta {
                came["_meta"] = json!(meta);
            }
            let mut shown: Value = serde_json::from_str(&said(&came.to_string(), Some("c"), None)).unwrap();
            let own = shown["_meta"].as_object_mut().unwrap();
            prop_assert_eq!(own.remove("dev.crossfeed/callId"), Some(json!("c")));
            if own.is_empty() && came.get("_meta").is_none() {
                shown.as_object_mut().unwrap().remove("_meta");
            }
            prop_assert_eq!(shown, came);
        }
    }
}
