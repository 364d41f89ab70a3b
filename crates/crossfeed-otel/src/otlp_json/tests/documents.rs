use crate::{JsonDocuments, JsonPiece};
use crossfeed_json::Document;
use proptest::{collection::vec, prelude::*, sample::select};

/// All pieces of a stream that comes in chunks of so many bytes.
fn pieces(stream: &[u8], chunk: usize) -> Vec<JsonPiece> {
    let mut documents = JsonDocuments::new(1 << 20);
    let mut pieces = Vec::new();
    for chunk in stream.chunks(chunk) {
        documents.push(chunk);
        while let Some(piece) = documents.next() {
            pieces.push(piece);
        }
    }
    documents.end();
    while let Some(piece) = documents.next() {
        pieces.push(piece);
    }
    pieces
}

/// The documents of a stream, as texts.
fn documents(stream: &[u8], chunk: usize) -> Vec<String> {
    let pieces = pieces(stream, chunk).into_iter();
    let documents = pieces.filter_map(|piece| match piece {
        JsonPiece::Document(bytes, _) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        _ => None,
    });
    documents.collect()
}

fn check(stream: &str, expected: &[&str]) {
    for chunk in [1, 2, 3, 7, 1000] {
        assert_eq!(documents(stream.as_bytes(), chunk), expected, "{stream}");
    }
}

#[test]
fn documents_are_told_apart() {
    check("", &[]);
    check(" \n\t\r ", &[]);
    check("{}", &["{}"]);
    check("\u{feff}{} [] \n{}{}\n", &["{}", "[]", "{}", "{}"]);
    check(
        "{\"a\": [1, {\"b\": \"}]\\\"\\\\\"}]}\n\n{\n  \"a\": 1\n}\n",
        &["{\"a\": [1, {\"b\": \"}]\\\"\\\\\"}]}", "{\n  \"a\": 1\n}"],
    );
    check("1 \"a b\" true\n{}", &["1", "\"a b\"", "true", "{}"]);
}

#[test]
fn what_is_broken_takes_little_along() {
    // Given out up to the byte by which it is known.
    check("{\"a\": [1\n{}\n{}", &["{\"a\": [1\n{", "}", "{}"]);
    check("{\"a\": \"b\n{}", &["{\"a\": \"b\n", "{}"]);
    check("{\"a\": 1]{}", &["{\"a\": 1]", "{}"]);
    check("{\"a\"", &["{\"a\""]);
    check("\"a\\", &["\"a\\"]);
    check("}{}", &["}", "{}"]);
    check("x{}", &["x{", "}"]);
    let deep = "[".repeat(1000);
    assert_eq!(documents(deep.as_bytes(), 1000)[0], "[".repeat(128));
}

#[test]
fn places_are_told() {
    let mut documents = JsonDocuments::new(100);
    documents.push("{}\n\n {\n\"a\":1} {}".as_bytes());
    let mut places = Vec::new();
    while let Some(piece) = documents.next() {
        if let JsonPiece::Document(_, place) = piece {
            places.push((place.number, place.line, place.offset));
        }
    }
    assert_eq!(places, [(1, 1, 0), (2, 3, 5), (3, 4, 14)]);
    assert_eq!(documents.place().offset, 16);
}

#[test]
fn a_document_has_a_size() {
    let mut documents = JsonDocuments::new(4);
    documents.push(b"[12] [1");
    assert!(matches!(documents.next(), Some(JsonPiece::Document(..))));
    assert!(matches!(documents.next(), Some(JsonPiece::Blanks(_))));
    assert_eq!(documents.next(), None);
    documents.push(b"23]");
    let Some(JsonPiece::TooLarge(place)) = documents.next() else {
        panic!("it is too large");
    };
    assert_eq!((place.number, place.offset), (2, 5));
    documents.push(b"[]");
    documents.end();
    assert_eq!(documents.next(), None);
}

proptest! {
    #[test]
    fn however_they_come_documents_are_the_same(
        written in vec((select(vec!["{}", "[]", "{\"a\":\"}\\\\\"}", "[[1],{\"b\":[\"\\\"\"]}]"]), "[ \n]{0,2}"), 0..6),
        chunk in 1_usize..9,
    ) {
        let stream: String = written.iter().map(|(document, blanks)| format!("{document}{blanks}")).collect();
        let expected: Vec<_> = written.iter().map(|(document, _)| (*document).to_owned()).collect();
        prop_assert_eq!(documents(stream.as_bytes(), chunk), expected);
    }

    #[test]
    fn no_byte_is_lost_and_no_sound_document_is_cut(
        stream in "[{}\\[\\],:\"\\\\a1 \n]{0,40}",
        chunk in 1_usize..9,
    ) {
        let mut all = Vec::new();
        for piece in pieces(stream.as_bytes(), chunk) {
            match piece {
                JsonPiece::Blanks(bytes) | JsonPiece::Document(bytes, _) => all.extend_from_slice(&bytes),
                JsonPiece::TooLarge(_) => prop_assert!(false),
            }
        }
        prop_assert_eq!(String::from_utf8_lossy(&all), stream.as_str());
        if Document::new(stream.clone()).root().is_ok() {
            prop_assert_eq!(documents(stream.as_bytes(), chunk), [stream.trim()]);
        }
    }
}
