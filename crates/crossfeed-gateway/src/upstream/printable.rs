//! Untrusted text as one line that is safe to show.

/// Text of a server as a log may show it: at most `limit` bytes of it, control characters escaped, so
/// that it can neither forge lines nor steer a terminal.
pub(in crate::upstream) fn printable(text: &[u8], limit: usize) -> String {
    let shown = &text[..text.len().min(limit)];
    let mut line = String::with_capacity(shown.len());
    for character in String::from_utf8_lossy(shown).chars() {
        match character {
            '\t' => line.push(' '),
            _ if character.is_control() || is_invisible(character) => {
                line.extend(character.escape_default());
            }
            _ => line.push(character),
        }
    }
    if shown.len() < text.len() {
        line.push('…');
    }
    line
}

/// Characters that change the order or the breaks of a line without being control characters.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
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
