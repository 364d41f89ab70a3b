//! Text of others, safe to show: nothing in it ends a line, steers a terminal or changes the order of signs.

use std::borrow::Cow;

/// A text in one line: control characters, line breaks and marks of direction are escaped.
///
/// ```
/// use crossfeed_wire::printable;
///
/// assert_eq!(printable("items\n[0]"), "items\\n[0]");
/// ```
pub fn printable(text: &str) -> Cow<'_, str> {
    let Some(first) = text.find(is_escaped) else {
        return Cow::Borrowed(text);
    };
    let mut printable = text[..first].to_owned();
    for sign in text[first..].chars() {
        if is_escaped(sign) {
            printable.extend(sign.escape_debug());
        } else {
            printable.push(sign);
        }
    }
    Cow::Owned(printable)
}

/// The same of several lines, whose breaks stay.
///
/// ```
/// use crossfeed_wire::printable_lines;
///
/// assert_eq!(printable_lines("a\u{1b}[2J\nb"), "a\\u{1b}[2J\nb");
/// ```
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<_> = text.lines().map(printable).collect();
    Cow::Owned(lines.join("\n"))
}

fn is_escaped(sign: char) -> bool {
    sign.is_control()
        || matches!(sign, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{is_escaped, printable, printable_lines};
    use proptest::prelude::*;

    fn check(text: &str, line: &str, lines: &str) {
        assert_eq!(printable(text), line);
        assert_eq!(printable_lines(text), lines);
    }

    #[test]
    fn what_could_forge_a_line_is_escaped() {
        check("é {\"a\": 1}", "é {\"a\": 1}", "é {\"a\": 1}");
        check("a\tb", "a\\tb", "a\\tb");
        check("a\r\nb\nc", "a\\r\\nb\\nc", "a\nb\nc");
        check("\u{1b}[2J", "\\u{1b}[2J", "\\u{1b}[2J");
        check(
            "x\u{2028}\u{202e}y",
            "x\\u{2028}\\u{202e}y",
            "x\\u{2028}\\u{202e}y",
        );
    }

    proptest! {
        #[test]
        fn nothing_is_escaped_twice(text in "[\\PC\n\t\u{1b}\u{2028}\u{202e}]{0,40}") {
            let line = printable(&text);
            prop_assert!(!line.contains(is_escaped));
            prop_assert_eq!(printable(&line), line.as_ref());
            let lines = printable_lines(&text);
            prop_assert!(lines.split('\n').all(|line| !line.contains(is_escaped)));
        }
    }
}
