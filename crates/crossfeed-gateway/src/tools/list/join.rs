//! Writes one `tools/list` result for the pages of all servers.
//!
//! Its other members are those of the first page, without a cursor. It may be cached for the shortest time that a
//! page may be, and by the client alone: tools are written for its name and its rights.

use crate::{Revision, members::object};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind};
use std::borrow::Cow;

const TOOLS: &str = "tools";
const CURSOR: &str = "nextCursor";
const TTL: &str = "ttlMs";
const SCOPE: &str = "cacheScope";

pub(super) fn joined(pages: &[Vec<Document>], tools: Vec<Bytes>, revision: Revision) -> Bytes {
    let roots: Vec<_> = pages
        .iter()
        .flatten()
        .filter_map(|page| page.root().ok())
        .filter(|root| root.kind() == Kind::Object)
        .collect();
    let mut list = tools.join(&b","[..]);
    list.insert(0, b'[');
    list.push(b']');
    // The same bytes are not held three times.
    drop(tools);
    let first = roots.first().copied();
    let members = first.into_iter().flat_map(Cursor::members);
    let members = members.map(|(key, value)| (key.text(), value));
    let mut members: Vec<(Cow<'_, str>, &[u8])> = members
        .filter(|(key, _)| key != CURSOR)
        .map(|(key, value)| match &*key {
            TOOLS => (key, &list[..]),
            TTL => (key, shortest(&roots).unwrap_or(value).raw()),
            SCOPE => (key, &b"\"private\""[..]),
            _ => (key, value.raw()),
        })
        .collect();
    if !members.iter().any(|(key, _)| key == TOOLS) {
        members.push((TOOLS.into(), &list));
    }
    // No server has answered: what is there may change at any time.
    if first.is_none() && revision.is_stateless() {
        members.push(("resultType".into(), b"\"complete\""));
        members.push((TTL.into(), b"0"));
        members.push((SCOPE.into(), b"\"private\""));
    }
    let members: Vec<_> = members.iter().map(|(key, raw)| (&**key, *raw)).collect();
    object(&members)
}

/// The shortest time that a page may be kept for.
fn shortest<'d>(roots: &[Cursor<'d>]) -> Option<Cursor<'d>> {
    let times = roots.iter().filter_map(|root| {
        let time = root.get(TTL)?;
        let number: f64 = time.as_number()?.parse().ok()?;
        Some((number, time))
    });
    times
        .min_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, time)| time)
}

#[cfg(test)]
mod tests {
    use super::joined;
    use crate::Revision;
    use bytes::Bytes;
    use crossfeed_json::Document;

    fn check(pages: &[&[&str]], expected: &str) {
        let pages: Vec<Vec<_>> = pages
            .iter()
            .map(|pages| {
                pages
                    .iter()
                    .map(|page| Document::new((*page).to_owned()))
                    .collect()
            })
            .collect();
        let tools = vec![Bytes::from_static(b"1"), Bytes::from_static(b"2")];
        let joined = joined(&pages, tools, Revision::V2026_07_28);
        assert_eq!(String::from_utf8_lossy(&joined), expected);
    }

    #[test]
    fn members_of_the_first_page_stay() {
        check(
            &[],
            r#"{"tools":[1,2],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#,
        );
        check(
            &[&["[]"]],
            r#"{"tools":[1,2],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#,
        );
        check(&[&["{}"]], r#"{"tools":[1,2]}"#);
        check(
            &[&[
                r#"{"_meta": {"a" : 1.0}, "tools": [], "nextCursor": "x", "own": 1}"#,
                r#"{"tools": []}"#,
            ]],
            r#"{"_meta":{"a" : 1.0},"tools":[1,2],"own":1}"#,
        );
        check(
            &[
                &[r#"{"ttlMs": 500, "cacheScope": "public"}"#],
                &[r#"{"ttlMs": 20, "cacheScope": "public"}"#],
            ],
            r#"{"ttlMs":20,"cacheScope":"private","tools":[1,2]}"#,
        );
    }
}
