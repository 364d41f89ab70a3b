use super::{Contents, PathStep};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind, quoted};
use proptest::{collection::vec, prelude::*, sample::select};
use std::borrow::Cow;

/// JSON with blanks and escapes, of values of all sizes.
fn json() -> impl Strategy<Value = String> {
    let leaf = select(vec![
        "1",
        "null",
        "true",
        r#""a""#,
        r#""\u005b1]""#,
        r#""{x""#,
        "-1.5e3",
    ]);
    let leaf = prop_oneof![
        leaf.prop_map(str::to_owned),
        "[a-c\\n\"é]{0,90}".prop_map(|text| quoted(&text)),
    ];
    let json = leaf.prop_recursive(4, 60, 9, |inner| {
        let blank = || select(vec!["", " ", "\n  "]);
        let list = (vec(inner.clone(), 0..9), blank());
        let members = vec(
            (
                select(vec!["a", "b", "content", "text", "é", r"\u0061", r#"\""#]),
                inner.clone(),
            ),
            0..5,
        );
        prop_oneof![
            list.prop_map(|(items, blank)| format!(
                "[{blank}{}{blank}]",
                items.join(&format!("{blank},{blank}"))
            )),
            (members, blank()).prop_map(|(members, blank)| {
                let members = members
                    .iter()
                    .map(|(key, value)| format!("\"{key}\"{blank}:{value}"));
                format!("{{{}{blank}}}", members.collect::<Vec<_>>().join(","))
            }),
            inner.prop_map(|json| quoted(&json)),
            // Escaped as few write it.
            vec(Just("[1,2]".to_owned()), 1..9)
                .prop_map(|items| format!("\"\\u005b{}\\u005d\"", items.join(r"\u002c\n"))),
        ]
    });
    // Several, for a part of them to be small.
    vec(json, 1..6).prop_map(|items| match &items[..] {
        [a, b] => format!("{{\"a\": {a}, \"b\": {b}}}"),
        [one] => one.clone(),
        items => format!("[{}]", items.join(", ")),
    })
}

fn paths() -> impl Strategy<Value = Vec<Vec<PathStep>>> {
    let step = prop_oneof![
        select(vec!["a", "b", "content", "text", "é", "\""])
            .prop_map(|key| PathStep::Key(key.into())),
        (-9_i64..9).prop_map(PathStep::Index),
    ];
    vec(vec(step, 0..6), 0..4)
}

/// The value at the end of a path, as it is written.
fn at(value: Cursor<'_>, path: &[PathStep]) -> Option<Vec<u8>> {
    let text = value.as_str().unwrap_or_default();
    let Some((first, rest)) = path.split_first() else {
        return Some(value.raw().to_vec());
    };
    if value.kind() == Kind::String {
        return at(Document::new(Cow::into_owned(text)).root().ok()?, path);
    }
    let next = match first {
        PathStep::Key(key) => value.get(key)?,
        PathStep::Index(index) => {
            let length = value.len().filter(|_| value.kind() == Kind::Array)?;
            let index = if *index < 0 {
                *index + length as i64
            } else {
                *index
            };
            value.at(usize::try_from(index).ok()?)?
        }
    };
    at(next, rest)
}

/// Whether both have the same keys and as many items wherever one has any, and values of the same kinds but for items.
fn is_alike(part: Cursor<'_>, whole: Cursor<'_>) -> bool {
    let is_empty = matches!(part.raw(), br#""""# | b"[]" | b"{}" | b"0");
    is_empty
        || part.kind() == whole.kind()
            && part.len() == whole.len()
            && part
                .members()
                .zip(whole.members())
                .all(|((key, part), (other, whole))| {
                    key.text() == other.text()
                        && part.kind() == whole.kind()
                        && is_alike(part, whole)
                })
            && (part.kind() != Kind::Array
                || part
                    .items()
                    .zip(whole.items())
                    .all(|(part, whole)| is_alike(part, whole)))
}

fn read(data: &[u8], ranges: &[std::ops::Range<usize>]) -> Vec<Bytes> {
    let read = |range: &std::ops::Range<usize>| Bytes::copy_from_slice(&data[range.clone()]);
    ranges.iter().map(read).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_a_path_leads_to_is_as_in_the_whole(data in json(), smallest in 1_usize..40, paths in paths()) {
        let document = Document::new(data.clone());
        let Some(contents) = Contents::in_blocks(&document, smallest) else {
            return Ok(());
        };
        prop_assert_eq!(Contents::decode(&contents.encode()), Some(contents.clone()));
        let Some(excerpt) = contents.excerpt(&paths) else {
            return Ok(());
        };
        prop_assert!(excerpt.ranges().iter().map(ExactSizeIterator::len).sum::<usize>() <= data.len() / 2);
        let part = excerpt.assemble(&read(data.as_bytes(), excerpt.ranges())).unwrap();
        let part = Document::new(part);
        let (part, whole) = (part.root().unwrap(), document.root().unwrap());
        prop_assert!(is_alike(part, whole), "{:?}", part.raw());
        for path in &paths {
            prop_assert_eq!(at(part, path), at(whole, path), "{:?}", path);
        }
    }

    #[test]
    fn other_bytes_are_noticed(data in json(), paths in paths(), at in any::<prop::sample::Index>(), by in 1_u8..) {
        let document = Document::new(data.clone());
        let contents = Contents::in_blocks(&document, 8);
        let excerpt = contents.as_ref().and_then(|contents| contents.excerpt(&paths));
        let Some(excerpt) = excerpt.filter(|excerpt| !excerpt.ranges().is_empty()) else {
            return Ok(());
        };
        let mut data = data.into_bytes();
        let at = at.index(data.len());
        let is_read = excerpt.ranges().iter().any(|range| range.contains(&at));
        data[at] = data[at].wrapping_add(by);
        let mut bytes = read(&data, excerpt.ranges());
        prop_assert_eq!(excerpt.assemble(&bytes).is_err(), is_read);
        bytes.pop();
        prop_assert!(excerpt.assemble(&bytes).is_err());
    }

    #[test]
    fn nothing_from_outside_makes_it_fail(mut bytes: Vec<u8>, data in json(), at in any::<prop::sample::Index>(), byte: u8, paths in paths()) {
        let _ = Contents::decode(&bytes);
        if let Some(contents) = Contents::in_blocks(&Document::new(data.clone()), 8) {
            bytes = contents.encode();
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(contents) = Contents::decode(&bytes)
            && let Some(excerpt) = contents.excerpt(&paths)
            && excerpt.ranges().iter().all(|range| range.end <= data.len())
        {
            let _ = excerpt.assemble(&read(data.as_bytes(), excerpt.ranges()));
        }
    }
}

fn key(key: &str) -> PathStep {
    PathStep::Key(key.into())
}

/// What is read for one path.
#[track_caller]
fn check(data: &str, path: &[PathStep], expected: &str) {
    let contents = Contents::in_blocks(&Document::new(data.to_owned()), 64).unwrap();
    let excerpt = contents.excerpt(&[path.to_vec()]).unwrap();
    let part = excerpt.assemble(&read(data.as_bytes(), excerpt.ranges()));
    assert_eq!(part.unwrap(), expected);
}

#[test]
fn leaves_out_what_is_large_and_not_wanted() {
    let long = "0123456789".repeat(30);
    let ids: Vec<String> = (10..40).map(|id: u8| id.to_string()).collect();
    let (left_out, kept) = ("0,".repeat(17), ids[17..].join(", "));
    let item = format!(r#"{{"a": "{}"}}"#, "a".repeat(60));
    let rows = format!(
        r#"{{"ids": [{}], "text": "{long}", "list": ["{long}", {item}], "total": 6}}"#,
        ids.join(", "),
    );
    check(
        &rows,
        &[key("ids"), PathStep::Index(-1)],
        &format!(r#"{{"ids": [{left_out}{kept}], "text": "", "list": [], "total": 6}}"#),
    );
    check(
        &rows,
        &[key("list"), PathStep::Index(1), key("a")],
        &format!(r#"{{"ids": [], "text": "", "list": [0,{item}], "total": 6}}"#),
    );
    for small in ["total", "none"] {
        let nothing = r#"{"ids": [], "text": "", "list": [], "total": 6}"#;
        check(&rows, &[key(small)], nothing);
    }
    let text = quoted(&rows);
    check(
        &format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#),
        &[
            key("content"),
            PathStep::Index(0),
            key("text"),
            key("total"),
        ],
        r#"{"content":[{"type":"text","text":"{\"ids\": [], \"text\": \"\", \"list\": [], \"total\": 6}"}]}"#,
    );
}

#[test]
fn is_small_however_long_the_document_is() {
    let row = format!(r#"{{"id": 1, "text": "{}"}}"#, "x".repeat(400));
    let rows = vec![row.as_str(); 20_000].join(",");
    let document = Document::new(format!(r#"{{"a": [{rows}], "b": {{"c": [{rows}]}}}}"#));
    let contents = Contents::of(&document).unwrap();
    let encoded = contents.encode().len();
    assert!(encoded < 10 << 10, "{encoded}");
    let path = vec![key("b"), key("c"), PathStep::Index(10_000)];
    let excerpt = contents.excerpt(&[path]).unwrap();
    let read: usize = excerpt.ranges().iter().map(ExactSizeIterator::len).sum();
    assert!(read < document.raw().len() / 20, "{read}");
}
