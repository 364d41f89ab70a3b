//! Writes one `tools/list` result for the pages of all servers.
//!
//! Its other members are those of the first page, without a cursor. It may be cached for the shortest time that a
//! page may be, and by the client alone: tools are written for its name and its rights.

use crate::Revision;
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind};

const TOOLS: &str = "tools";
const CURSOR: &str = "nextCursor";
const TTL: &str = "ttlMs";
const SCOPE: &str = "cacheScope";

pub(super) fn joined(pages: &[Vec<Document>], tools: &[Bytes], revision: Revision) -> Bytes {
    let roots: Vec<_> = pages
        .iter()
        .flatten()
        .filter_map(|page| page.root().ok())
        .filter(|root| root.kind() == Kind::Object)
        .collect();
    let length: usize = tools.iter().map(|tool| tool.len() + 1).sum();
    let mut written = Vec::with_capacity(length + 64);
    written.push(b'{');
    let mut has_tools = false;
    let first = roots.first().copied();
    for (key, value) in first.into_iter().flat_map(Cursor::members) {
        let name = key.text();
        if name == CURSOR {
            continue;
        }
        begin(&mut written);
        written.push(b'"');
        written.extend_from_slice(key.raw());
        written.extend_from_slice(b"\":");
        match &*name {
            TOOLS => {
                has_tools = true;
                list(&mut written, tools);
            }
            TTL => written.extend_from_slice(shortest(&roots).unwrap_or(value).raw()),
            SCOPE => written.extend_from_slice(br#""private""#),
            _ => written.extend_from_slice(value.raw()),
        }
    }
    if !has_tools {
        begin(&mut written);
        written.extend_from_slice(br#""tools":"#);
        list(&mut written, tools);
    }
    // No server has answered: what is there may change at any time.
    if first.is_none() && revision.is_stateless() {
        written.extend_from_slice(br#","resultType":"complete","ttlMs":0,"cacheScope":"private""#);
    }
    written.push(b'}');
    written.into()
}

fn begin(written: &mut Vec<u8>) {
    if written.len() > 1 {
        written.push(b',');
    }
}

fn list(written: &mut Vec<u8>, tools: &[Bytes]) {
    written.push(b'[');
    for (index, tool) in tools.iter().enumerate() {
        if index > 0 {
            written.push(b',');
        }
        written.extend_from_slice(tool);
    }
    written.push(b']');
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
        let tools = [Bytes::from_static(b"1"), Bytes::from_static(b"2")];
        let joined = joined(&pages, &tools, Revision::V2026_07_28);
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
