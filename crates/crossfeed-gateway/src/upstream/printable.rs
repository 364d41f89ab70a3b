//! Untrusted text as one line that is safe to show.

/// Text of a server as a log may show it: at most `limit` bytes of it, control characters escaped, so
/// that it can neither forge lines nor steer a terminal.
pub(in crate::upstream) fn printable(text: &[u8], limit: usize) -> String {
    let shown = &text[..text.len().min(limit)];
    let without_tabs = String::from_utf8_lossy(shown).replace('\t', " ");
    let mut line = crossfeed_wire::printable(&without_tabs).into_owned();
    if shown.len() < text.len() {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_cannot_forge_another() {
        #[track_caller]
        fn check(text: &[u8], expected: &str) {
            assert_eq!(printable(text, 8), expected);
        }
        check(b"a\tb", "a b");
        check(b"\x1b[2J", "\\u{1b}[2J");
        check(b"a\r\nb", "a\\r\\nb");
        check("\u{202e}x".as_bytes(), "\\u{202e}x");
        check(b"\xff", "\u{fffd}");
        check(b"123456789", "12345678…");
    }
}
