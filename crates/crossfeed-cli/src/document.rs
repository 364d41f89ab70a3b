//! Reads the file of a result: decodes UTF-16, checks it against the declared kind, and reports where a file that looks like
//! JSON is invalid.

use crate::{
    cli::Kind,
    encoding::decoded,
    input,
    report::{CommandError, Result, Streams},
};
use bytes::Bytes;
use crossfeed::json::{self, Document, JsonError, JsonErrorKind};
use std::path::Path;

/// How a file that is not text is read.
const BYTES: &str = "bytes";

/// The bytes of a result, in UTF-8 where it is text. A notice on `err` says when a file that looks like JSON is read
/// as something else.
///
/// # Errors
///
/// When the file cannot be read, or is not of the declared kind.
pub(crate) fn read(path: &Path, kind: Option<Kind>, io: &mut Streams<'_>) -> Result<Document> {
    let (document, misread) = opened(path, input::read(path)?, kind)?;
    if let Some(Misread { why, read_as }) = misread {
        io.notice(format_args!(
            "{} {why}; it is read as {read_as}",
            input::name(path)
        ));
    }
    Ok(document)
}

/// One line of several as a document.
///
/// # Errors
///
/// Why it is not JSON, or not of the declared kind.
pub(crate) fn line(line: &[u8], kind: Option<Kind>) -> Result<Document, String> {
    let line = Bytes::copy_from_slice(line);
    // The kind of the result is still detected.
    let read = interpret(line, Some(kind.unwrap_or(Kind::Json)), true);
    // The line in the line is always the first.
    let (document, _) = read.map_err(|why| why.replace("at line 1, column", "at column"))?;
    Ok(document)
}

/// Why a file has no lines of JSON, by its first one.
pub(crate) fn no_lines(first: &[u8]) -> Option<String> {
    let is_utf16 = first.starts_with(&[0xff, 0xfe]) || first.starts_with(&[0xfe, 0xff]);
    let utf16_fault = || "is text in UTF-16: with `--ndjson` give UTF-8".to_owned();
    compression_fault(first).or_else(|| is_utf16.then(utf16_fault))
}

/// Like [`read`], but an invalid JSON object and compressed data are errors.
///
/// # Errors
///
/// When the file cannot be read, is compressed, or begins as an object and is not one.
pub(crate) fn read_object(path: &Path) -> Result<Document> {
    let bytes = input::read(path)?;
    let (document, misread) = opened(path, bytes.clone(), None)?;
    let is_object = document.raw().trim_ascii_start().starts_with(b"{");
    match misread {
        Some(Misread { why, read_as }) if is_object || read_as == BYTES => {
            Err(CommandError::usage(format!("{} {why}", input::name(path))))
        }
        // A byte order mark stays.
        _ if bytes.starts_with("\u{feff}".as_bytes()) => Ok(Document::new(bytes)),
        _ => Ok(document),
    }
}

/// A file that looks like JSON or is compressed, and is read as something else.
struct Misread {
    why: String,
    read_as: &'static str,
}

fn opened(path: &Path, bytes: Bytes, kind: Option<Kind>) -> Result<(Document, Option<Misread>)> {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_named_json = extension.is_some_and(|extension| {
        ["json", "jsonl", "ndjson"]
            .iter()
            .any(|json| extension.eq_ignore_ascii_case(json))
    });
    interpret(bytes, kind, is_named_json)
        .map_err(|why| CommandError::usage(format!("{} {why}", input::name(path))))
}

/// The document of the bytes, and a notice about it; or why they are not of the declared kind.
fn interpret(
    bytes: Bytes,
    kind: Option<Kind>,
    is_named_json: bool,
) -> Result<(Document, Option<Misread>), String> {
    if kind == Some(Kind::Bytes) {
        return Ok((Document::new(bytes), None));
    }
    if let Some(why) = compression_fault(&bytes) {
        return match kind {
            Some(_) => Err(why),
            None => {
                let read_as = BYTES;
                Ok((Document::new(bytes), Some(Misread { why, read_as })))
            }
        };
    }
    let document = Document::new(decoded(bytes));
    let bytes = document.raw();
    match kind {
        Some(Kind::Text) => match std::str::from_utf8(bytes) {
            Ok(_) => Ok((document, None)),
            Err(error) => Err(format!(
                "is not text in UTF-8: byte {} is invalid",
                error.valid_up_to()
            )),
        },
        Some(_) => {
            if let Some(why) = json_fault(&document) {
                return Err(format!("is not valid JSON: {why}"));
            }
            if kind == Some(Kind::Mcp)
                && let Some(why) = tool_result_fault(&document)
            {
                return Err(format!("is not a tool result of MCP: {why}"));
            }
            Ok((document, None))
        }
        None => {
            let looks_like_json = is_named_json || begins_like_json(bytes) || has_two_lines(bytes);
            let fault = looks_like_json.then(|| json_fault(&document)).flatten();
            let read_as = match std::str::from_utf8(bytes) {
                Ok(_) => "text",
                Err(_) => BYTES,
            };
            let misread = fault.map(|why| Misread {
                why: format!("is not valid JSON: {why}"),
                read_as,
            });
            Ok((document, misread))
        }
    }
}

/// Whether bytes are empty or begin like JSON, unlike a line of a log (`[2026-01-01] start`) or of an INI file
/// (`[section]`).
fn begins_like_json(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    let Some(rest) = text.strip_prefix(b"[") else {
        return matches!(text.first(), None | Some(b'{'));
    };
    let rest = rest.trim_ascii_start();
    if matches!(rest.first(), None | Some(b']' | b'{' | b'[' | b'"')) {
        return true;
    }
    let is_scalar = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let end = rest.iter().position(|byte| !is_scalar(byte));
    let (first, behind) = rest.split_at(end.unwrap_or(rest.len()));
    let is_value = serde_json::from_slice::<serde_json::Value>(first).is_ok()
        || matches!(first, b"NaN" | b"None" | b"True" | b"False" | b"undefined");
    let line = behind.split(|&byte| byte == b'\n').next();
    let ends = line.is_some_and(|line| matches!(line.trim_ascii(), b"]" | b""));
    is_value && (behind.trim_ascii_start().starts_with(b",") || ends)
}

/// Why compressed bytes cannot be read, by their first ones.
fn compression_fault(bytes: &[u8]) -> Option<String> {
    let format = match bytes {
        [0x1f, 0x8b, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "xz",
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => "bzip2",
        [b'P', b'K', 3, 4, ..] => "zip",
        _ => return None,
    };
    Some(format!("is compressed with {format}: decompress it first"))
}

/// Why bytes are not JSON. JSON beyond a limit is left to the engine.
fn json_fault(document: &Document) -> Option<String> {
    let bytes = document.raw();
    if bytes.trim_ascii().is_empty() {
        return Some("it is empty".to_owned());
    }
    let error = document.root().err().filter(|error| !error.is_limit())?;
    if has_two_lines(bytes) {
        let advice =
            "`select` and `project` read each line with `--ndjson`, `jq -s .` makes it one list";
        return Some(format!(
            "it holds one JSON document a line (NDJSON): {advice}"
        ));
    }
    Some(place_of(bytes, error))
}

/// Whether each of the first two lines is an object or a list.
fn has_two_lines(bytes: &Bytes) -> bool {
    let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty()).take(2);
    let mut is_document = || {
        let line = lines
            .next()
            .filter(|line| line.starts_with(b"{") || line.starts_with(b"["));
        line.is_some_and(|line| Document::new(bytes.slice_ref(line)).root().is_ok())
    };
    is_document() && is_document()
}

/// What is wrong, and at which line and column.
fn place_of(bytes: &[u8], error: JsonError) -> String {
    let before = bytes.get(..error.offset).unwrap_or(bytes);
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    let begin = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |end| end + 1);
    let in_line = String::from_utf8_lossy(before.get(begin..).unwrap_or_default());
    let place = format!("at line {line}, column {}", in_line.chars().count() + 1);
    let rest = bytes.get(error.offset..).unwrap_or_default();
    let rest = String::from_utf8_lossy(rest.get(..4).unwrap_or(rest));
    match (error.kind, rest.chars().next()) {
        (JsonErrorKind::UnexpectedEnd, _) => format!("it ends within a value, {place}"),
        (JsonErrorKind::Syntax, Some(found)) => {
            format!("unexpected `{}` {place}", found.escape_debug())
        }
        (JsonErrorKind::InvalidString, _) => {
            format!("a string holds a control character or an unknown escape {place}")
        }
        (JsonErrorKind::NotUtf8, _) => format!("it is not UTF-8 {place}"),
        (kind, _) => format!("{kind} {place}"),
    }
}

/// Why JSON is not a tool result of MCP.
fn tool_result_fault(document: &Document) -> Option<&'static str> {
    let root = document.root().ok()?;
    let is = |key: &str, kind| root.get(key).is_some_and(|value| value.kind() == kind);
    if root.kind() != json::Kind::Object {
        return Some("it is not an object");
    }
    let has_value = root.get("type").is_some() && root.get("value").is_some();
    if is("content", json::Kind::Array) || root.get("structuredContent").is_some() || has_value {
        return None;
    }
    Some(match root.get("jsonrpc") {
        Some(_) => "it is a JSON-RPC message: give its `result`",
        None => "it has neither a list `content` nor `structuredContent`",
    })
}

#[cfg(test)]
mod tests {
    use super::{Misread, interpret};
    use crate::cli::Kind;
    use bytes::Bytes;

    fn check(
        bytes: impl AsRef<[u8]>,
        kind: Option<Kind>,
        expected: Result<(&str, Option<&str>), &str>,
    ) {
        let bytes = bytes.as_ref();
        let found = interpret(Bytes::copy_from_slice(bytes), kind, false);
        let found = found.map(|(read, misread)| {
            let notice =
                misread.map(|Misread { why, read_as }| format!("{why}; it is read as {read_as}"));
            (String::from_utf8_lossy(read.raw()).into_owned(), notice)
        });
        let found = match &found {
            Ok((read, notice)) => Ok((read.as_str(), notice.as_deref())),
            Err(why) => Err(why.as_str()),
        };
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(bytes));
    }

    fn check_notice(text: &str, notice: &str) {
        check(text, None, Ok((text, Some(notice))));
    }

    fn utf16(text: &str, read: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(read).collect()
    }

    #[test]
    fn logs_and_ini_files_are_text() {
        for text in [
            "[2026-01-01] starting\n",
            "[12345] ready\n",
            "[section]\nkey = 1\n",
            "[-] skipped",
        ] {
            check(text, None, Ok((text, None)));
        }
        for (text, notice) in [
            ("[1, 2", "it ends within a value, at line 1, column 6"),
            ("[None, 1]", "unexpected `N` at line 1, column 2"),
            ("[\n  1\n  2\n]", "unexpected `2` at line 3, column 3"),
        ] {
            let notice = format!("is not valid JSON: {notice}; it is read as text");
            check_notice(text, &notice);
        }
    }

    #[test]
    fn what_looks_like_json_is_said_not_to_be() {
        let text = "; it is read as text";
        for (json, why) in [
            (r#"{"a": NaN}"#, "unexpected `N` at line 1, column 7"),
            (
                "{\"a\": 1,\n \"é\": x}",
                "unexpected `x` at line 2, column 7",
            ),
            (r#"{"a": 1"#, "it ends within a value, at line 1, column 8"),
            ("", "it is empty"),
            (" \n", "it is empty"),
            (
                "{\"a\":1}\n\n[2]\n",
                "it holds one JSON document a line (NDJSON): `select` and `project` read each line with `--ndjson`, `jq -s .` makes it one list",
            ),
        ] {
            check_notice(json, &format!("is not valid JSON: {why}{text}"));
            let refused = format!("is not valid JSON: {why}");
            check(json, Some(Kind::Json), Err(&refused));
            check(json, Some(Kind::Mcp), Err(&refused));
            check(json, Some(Kind::Text), Ok((json, None)));
        }
        check("plain text", None, Ok(("plain text", None)));
        check("1\n2\n", None, Ok(("1\n2\n", None)));
        check(r#"{"a": 1}"#, None, Ok((r#"{"a": 1}"#, None)));
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        check(&deep, Some(Kind::Json), Ok((&deep, None)));
    }

    #[test]
    fn other_encodings_are_read() {
        let json = r#"{"é": 1}"#;
        for kind in [None, Some(Kind::Json), Some(Kind::Text)] {
            check(format!("\u{feff}{json}"), kind, Ok((json, None)));
            for read in [u16::to_le_bytes, u16::to_be_bytes] {
                check(utf16(json, read), kind, Ok((json, None)));
                check(
                    utf16(&format!("\u{feff}{json}"), read),
                    kind,
                    Ok((json, None)),
                );
            }
        }
        let not_utf8 = "is not text in UTF-8: byte 1 is invalid";
        check(b"a\xff", Some(Kind::Text), Err(not_utf8));
        check(
            b"\xff\xfe",
            Some(Kind::Bytes),
            Ok(("\u{fffd}\u{fffd}", None)),
        );
        let gzip = "is compressed with gzip";
        check(
            b"\x1f\x8b",
            Some(Kind::Json),
            Err(&format!("{gzip}: decompress it first")),
        );
        let notice = format!("{gzip}: decompress it first; it is read as bytes");
        check(b"\x1f\x8b", None, Ok(("\x1f\u{fffd}", Some(&notice))));
    }

    #[test]
    fn a_tool_result_has_content() {
        let check = |json: &str, why: Option<&str>| {
            let refused = why.map(|why| format!("is not a tool result of MCP: {why}"));
            let expected = refused.as_deref().map_or(Ok((json, None)), Err);
            check(json, Some(Kind::Mcp), expected);
        };
        check(r#"{"content": []}"#, None);
        check(r#"{"structuredContent": null}"#, None);
        check(r#"{"type": "text", "value": 1}"#, None);
        check("[1]", Some("it is not an object"));
        check(
            r#"{"items": []}"#,
            Some("it has neither a list `content` nor `structuredContent`"),
        );
        check(
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"content": []}}"#,
            Some("it is a JSON-RPC message: give its `result`"),
        );
    }
}
