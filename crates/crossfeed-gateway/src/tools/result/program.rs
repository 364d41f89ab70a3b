//! Results that a program reads: the server's bytes, with the gateway's own words in `_meta`, under
//! `dev.crossfeed/…`.
//!
//! # What holds
//!
//! - Only the result's own `_meta` changes: of it the members that only the gateway may write.
//! - What is looked at is the outermost object; no index is built of what is in it.

use super::{
    ResultNotes, Show,
    passthrough::with_object,
    whole::{CONTENT, META, NOTICES, OURS, STRUCTURED, is_claim},
};
use crate::{
    members::{may_hold, members_of, object},
    message::{Body, BodyMember, Edits, RESULT_MEMBERS, over},
};
use bytes::Bytes;
use crossfeed_json::{Document, quoted};
use serde_json::json;
use std::ops::Range;

/// The members of which only the kind is looked at.
const LONG: [&str; 2] = [CONTENT, STRUCTURED];
/// Bytes of a value that is looked at; what is longer says nothing that is understood. A state is known by all of it.
const SHORT: usize = 64 << 10;
/// What `_meta` grows by beside the words of the gateway: keys and punctuation.
const KEYS_OF_META: usize = 256;
const STATE: &str = "requestState";
/// What the gateway says beside a result.
const CALL_ID: &str = "dev.crossfeed/callId";

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
    /// Whether a client with a session refuses its structured content.
    pub(super) has_odd_structure: bool,
}

impl Outline {
    /// The outline of a result; none where it is not an object.
    pub(super) fn from_result(result: &Bytes) -> Option<Self> {
        let text = std::str::from_utf8(result).ok()?;
        let known = |name: &str| RESULT_MEMBERS.into_iter().find(|key| *key == name);
        let members = members_of(text, known)?;
        Self::by(result, members)
    }

    /// The same by its members.
    pub(super) fn by(result: &Bytes, members: Vec<BodyMember>) -> Option<Self> {
        let inner = result.trim_ascii().strip_prefix(b"{")?;
        let is_empty = inner.trim_ascii_start() == b"}";
        let end = result.iter().rposition(|byte| *byte == b'}')?;
        let mut said = Vec::new();
        let mut meta = Vec::new();
        let mut has_odd_structure = false;
        for member in members {
            let raw = &result[member.value.clone()];
            match member.key {
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

    /// How many bytes [`shown_by`] writes at most; none where it writes all of the result anew.
    pub(super) fn bytes_written(&self, show: &Show) -> Option<usize> {
        let said = show.said.call_id.iter().cloned().chain(show.said.texts());
        let said = said.map(|text| quoted(&text).len() + 1);
        let written = said.chain(self.meta.iter().map(Range::len)).sum::<usize>() + KEYS_OF_META;
        (!self.is_odd(show)).then_some(written)
    }

    /// Whether the client does not take its structured content.
    fn is_odd(&self, show: &Show) -> bool {
        self.has_odd_structure && !show.passing.is_stateless
    }
}

/// How many bytes of a result are read where its members are known.
pub(super) fn bytes_read(members: &[BodyMember]) -> usize {
    let read = members
        .iter()
        .filter(|member| !LONG.contains(&member.key) && member.key != META);
    members.len() + read.map(|member| member.value.len()).sum::<usize>()
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

/// A result as it is shown.
pub(super) fn shown(result: &Bytes, show: &Show) -> Bytes {
    match Outline::from_result(result) {
        Some(outline) => shown_by(result, &outline, show).over(result),
        None => result.clone(),
    }
}

/// The same by its outline.
pub(super) fn shown_by(result: &Bytes, outline: &Outline, show: &Show) -> Body {
    let withholds = show.passing.withholds;
    if outline.is_odd(show) {
        let result = with_object(result.clone());
        return Body::Other(said(&result, &show.said, withholds));
    }
    Body::Edited(with_said(result, outline, &show.said, withholds))
}

/// A result to which the gateway adds nothing, without what the server says in the gateway's place.
pub(super) fn unclaimed(result: Bytes, withholds: bool) -> Bytes {
    if !may_hold(&result, OURS) {
        return result;
    }
    said(&result, &ResultNotes::default(), withholds)
}

fn said(result: &Bytes, said: &ResultNotes, withholds: bool) -> Bytes {
    let outline = Outline::from_result(result);
    let edits = outline.map(|outline| with_said(result, &outline, said, withholds));
    over(result, &edits.unwrap_or_default())
}

/// What puts what the gateway says into the `_meta` of a result, and takes out what the server says there in its
/// place.
fn with_said(result: &Bytes, outline: &Outline, said: &ResultNotes, withholds: bool) -> Edits {
    let mut ours = Vec::new();
    if let Some(id) = &said.call_id {
        ours.push((CALL_ID, quoted(id)));
    }
    let notices: Vec<_> = said.texts().collect();
    if !notices.is_empty() {
        ours.push((NOTICES, json!(notices).to_string()));
    }
    let is_claim = |key: &str| is_claim(key, withholds) && said.keeps != Some(key);
    let mut changes = Vec::new();
    let last = outline.meta.len().saturating_sub(1);
    for (index, range) in outline.meta.iter().enumerate() {
        // Most readers go by the last of several.
        let ours = if index == last { &ours[..] } else { &[] };
        if let Some(meta) = with_ours(&result[range.clone()], ours, is_claim) {
            changes.push((range.clone(), meta.into()));
        }
    }
    if outline.meta.is_empty() && !ours.is_empty() {
        let comma = if outline.is_empty { "" } else { "," };
        let mut meta = format!("{comma}{}:", quoted(META)).into_bytes();
        meta.extend_from_slice(&object(&ours));
        changes.push((outline.end..outline.end, meta.into()));
    }
    changes
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
    let members = text.and_then(|text| members_of(text, |key| Some(is_claim(key))));
    let Some(members) = members else {
        // Nothing can be put into it.
        return (!ours.is_empty()).then(|| object(ours).into());
    };
    let has_claims = members.iter().any(|member| member.key);
    if ours.is_empty() && !has_claims {
        return None;
    }
    let said = ours.iter().map(|(key, value)| key.len() + value.len() + 4);
    let mut with = Vec::with_capacity(meta.len() + said.sum::<usize>() + 2);
    with.push(b'{');
    for member in members.into_iter().filter(|member| !member.key) {
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
    use super::{Outline, ResultNotes, with_said};
    use crate::message::over;
    use bytes::Bytes;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn said(result: &str, call_id: Option<&str>, note: Option<&str>) -> String {
        all_said(result, call_id, note, &[])
    }

    fn all_said(
        result: &str,
        call_id: Option<&str>,
        note: Option<&str>,
        notices: &[&str],
    ) -> String {
        let result = Bytes::from(result.to_owned());
        let outline = Outline::from_result(&result).unwrap();
        let said = ResultNotes {
            call_id: call_id.map(str::to_owned),
            note: note.map(str::to_owned),
            notices: notices.iter().map(|notice| (*notice).to_owned()).collect(),
            ..ResultNotes::default()
        };
        let with = over(&result, &with_said(&result, &outline, &said, false));
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
        let noted = all_said(r#"{"content":[]}"#, None, Some("not kept"), &["a", "b"]);
        assert_eq!(
            noted,
            r#"{"content":[],"_meta":{"dev.crossfeed/notices":["not kept","a","b"]}}"#
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
            assert!(Outline::from_result(&Bytes::from(json)).is_none(), "{json}");
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
