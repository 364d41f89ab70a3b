//! The messages of the race: what is sent, and what is looked for in what comes.

use crate::Outcome;

pub(crate) const INITIALIZE: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"race\",\"version\":\"1\"}}}\n";
pub(crate) const INITIALIZED: &[u8] =
    b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

const SMALL: usize = 1_000;
pub(crate) const LARGE: usize = 1_000_000;
pub(crate) const LARGER: usize = 10 * LARGE;

/// Whether a message answers something.
pub(crate) fn is_answer(message: &[u8]) -> bool {
    let start = &message[..message.len().min(60)];
    let has = |what: &[u8]| {
        message
            .windows(what.len())
            .take(200)
            .any(|window| window == what)
    };
    start.contains(&b'{') && !has(b"\"method\":") && (has(b"\"result\":") || has(b"\"error\":"))
}

/// Whether an answer is a result.
pub(crate) fn check(answer: &[u8]) -> Outcome<()> {
    let end = &answer[answer.len().saturating_sub(400)..];
    let start = &answer[..answer.len().min(200)];
    let has = |part: &[u8], what: &[u8]| part.windows(what.len()).any(|window| window == what);
    if has(start, b"\"error\":") || has(end, b"\"isError\":true") {
        return Err(format!("refused: {}", String::from_utf8_lossy(start)).into());
    }
    Ok(())
}

/// What a call asks for.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    /// 1 KB of text, which is sent first.
    Echo,
    /// So many bytes of prose.
    Prose(usize),
    /// So many bytes of records as the JSON text that most servers give.
    Records(usize),
}

/// A call, as a line.
pub(crate) fn call(prefix: &str, id: usize, asked: Asked) -> Vec<u8> {
    let name = |name: &str| format!("{prefix}{name}");
    let call = match asked {
        Asked::Echo => {
            serde_json::json!({ "name": name("echo"), "arguments": { "message": "x".repeat(SMALL) } })
        }
        Asked::Prose(bytes) => {
            serde_json::json!({ "name": name("large_text"), "arguments": { "bytes": bytes } })
        }
        Asked::Records(bytes) => {
            serde_json::json!({ "name": name("records_text"), "arguments": { "bytes": bytes } })
        }
    };
    let message =
        serde_json::json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
    format!("{message}\n").into_bytes()
}

/// The number behind the first or, where the envelope comes last, the last `"id":`.
pub(crate) fn id_of(message: &[u8]) -> Option<usize> {
    let at = |range: &[u8]| range.windows(5).position(|window| window == b"\"id\":");
    let start = &message[..message.len().min(40)];
    let tail = message.len().saturating_sub(40);
    let rest = match at(start) {
        Some(found) => &message[found + 5..],
        None => &message[tail + at(&message[tail..])? + 5..],
    };
    let digits: Vec<u8> = rest
        .iter()
        .copied()
        .skip_while(|byte| *byte == b' ')
        .take_while(u8::is_ascii_digit)
        .collect();
    String::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_other_messages() {
        assert!(is_answer(
            br#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#
        ));
        assert!(!is_answer(
            br#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#
        ));
        assert_eq!(id_of(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#), Some(7));
        assert_eq!(id_of(br#"{"result":{"content":[{"type":"text","text":"long enough to push it out"}]},"jsonrpc":"2.0","id": 12}"#), Some(12));
    }
}
