//! Cuts a text to a number of bytes: keeps its beginning and notes how much was left out. JSON stays JSON:
//! long strings are cut first, then the text ends at the last member or item that fits, and open containers
//! are closed.

use crossfeed_json::{JsonError, RawString, TokenVisitor, read_tokens};

/// The least that a text is cut to: the note needs room.
pub(crate) const MIN_BYTES: usize = 96;

/// The share of the room that one string may have where not everything fits.
const STRING_SHARE: usize = 4;

/// The text in no more than `most` bytes, which are at least [`MIN_BYTES`]; `None` if it fits.
pub(crate) fn cut(text: &str, most: usize) -> Option<String> {
    let most = most.max(MIN_BYTES);
    if text.len() <= most {
        return None;
    }
    Some(cut_json(text, most).unwrap_or_else(|_| {
        let mut end = most - note(text.len(), text.len()).len();
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let note = note(text.len() - end, text.len());
        format!("{}{note}", &text[..end])
    }))
}

fn note(left_out: usize, of: usize) -> String {
    format!("[cut: left out {left_out} of {of} bytes]")
}

fn cut_json(text: &str, most: usize) -> Result<String, JsonError> {
    let mut cutter = Cutter {
        text,
        // `,"cut":` at most, and quotes.
        room: most - note(text.len(), text.len()).len() - KEY.len() - 3,
        most,
        out: String::with_capacity(most),
        copied: 0,
        closers: Vec::new(),
        is_full: false,
        owes_quote: false,
        checkpoint: Checkpoint::default(),
    };
    read_tokens(text, &mut cutter)?;
    Ok(cutter.finish())
}

/// The key of the note where a text ends within an object.
const KEY: &str = "\"[cut]\":";

/// The last place at which the text may end.
#[derive(Clone, Copy, Default)]
struct Checkpoint {
    /// The bytes written so far, and the bytes of the text that they represent.
    out: usize,
    copied: usize,
    /// Whether the innermost container has a member or an item.
    follows: bool,
}

struct Cutter<'t> {
    text: &'t str,
    /// Bytes that may be written before the note.
    room: usize,
    /// Bytes that may be written with it.
    most: usize,
    out: String,
    /// How much of the text is written, or left out of strings.
    copied: usize,
    /// The closing brackets of open containers, innermost last.
    closers: Vec<char>,
    /// Nothing more fits.
    is_full: bool,
    /// The text is a string that was cut, whose closing quote comes next.
    owes_quote: bool,
    checkpoint: Checkpoint,
}

impl Cutter<'_> {
    /// Writes the text up to `end`, if it fits with `closers` bytes behind it, and nothing failed to fit before.
    fn write(&mut self, end: usize, closers: usize) -> bool {
        self.is_full |= self.out.len() + (end - self.copied) + closers > self.room;
        if !self.is_full {
            self.copy(end);
            self.copied = end;
        }
        !self.is_full
    }

    fn copy(&mut self, end: usize) {
        let text = self.text.get(self.copied..end).unwrap_or_default();
        self.out.push_str(text);
    }

    /// Marks that the text may end here.
    fn set_checkpoint(&mut self, follows: bool) {
        self.checkpoint = Checkpoint {
            out: self.out.len(),
            copied: self.copied,
            follows,
        };
    }

    fn finish(mut self) -> String {
        if self.write(self.text.len(), 0) {
            return self.out;
        }
        let note = note(self.text.len() - self.checkpoint.copied, self.text.len());
        if self.checkpoint.copied == 0 {
            // Not even a bracket fits behind the blanks, or the text is a number, which cannot be cut.
            return format!("\"{note}\"");
        }
        self.out.truncate(self.checkpoint.out);
        if let Some(closer) = self.closers.last() {
            if self.checkpoint.follows {
                self.out.push(',');
            }
            if *closer == '}' {
                self.out.push_str(KEY);
            }
            self.out.push_str(&format!("\"{note}\""));
        }
        self.out.extend(self.closers.iter().rev());
        self.out
    }
}

impl TokenVisitor for Cutter<'_> {
    fn open(&mut self, at: usize) {
        if self.write(at + 1, self.closers.len() + 1) {
            let is_object = self.text.as_bytes().get(at) == Some(&b'{');
            self.closers.push(if is_object { '}' } else { ']' });
            self.set_checkpoint(false);
        }
    }

    fn string(&mut self, string: RawString<'_>) {
        let raw = string.raw();
        let note_len = note(raw.len(), raw.len()).len();
        let longest = self.most / STRING_SHARE;
        // With its note it must not become longer.
        if self.is_full || raw.len() <= longest + note_len {
            return;
        }
        let before = self.out.len() + (string.start() - self.copied);
        // No other note follows a string that is the whole text.
        let (room, longest) = if self.closers.is_empty() {
            (self.most, self.most.saturating_sub(before + note_len + 1))
        } else {
            (self.room, longest)
        };
        if before + longest + note_len + self.closers.len() + 1 > room {
            self.is_full = true;
            return;
        }
        let kept = boundary(raw, longest);
        let note = note(raw.len() - kept, raw.len());
        self.copy(string.start() + kept);
        self.out.push_str(&note);
        self.copied = string.start() + raw.len();
        self.owes_quote = self.closers.is_empty();
    }

    fn value_end(&mut self, end: usize) {
        if std::mem::take(&mut self.owes_quote) {
            // There is room for the quote behind a string that was cut.
            self.out.push('"');
            self.copied = end;
            self.set_checkpoint(true);
        } else if self.write(end, self.closers.len()) {
            self.set_checkpoint(true);
        }
    }

    fn close(&mut self, at: usize) {
        if self.write(at + 1, self.closers.len().saturating_sub(1)) {
            self.closers.pop();
        }
    }
}

/// The last character boundary within the first `most` bytes of a string as it is written.
fn boundary(raw: &str, most: usize) -> usize {
    let bytes = raw.as_bytes();
    let mut at = 0;
    loop {
        let step = match bytes.get(at) {
            Some(b'\\') if bytes.get(at + 1) == Some(&b'u') => {
                // Surrogate pairs stay together.
                let is_high = matches!(
                    bytes.get(at + 2..at + 4),
                    Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B'])
                );
                let is_pair = is_high && bytes.get(at + 6..at + 8) == Some(b"\\u");
                if is_pair { 12 } else { 6 }
            }
            Some(b'\\') => 2,
            Some(_) => {
                let rest = raw.get(at..).unwrap_or_default();
                rest.chars().next().map_or(1, char::len_utf8)
            }
            None => return at,
        };
        if at + step > most {
            return at;
        }
        at += step;
    }
}

#[cfg(test)]
mod tests {
    use super::{MIN_BYTES, cut};
    use crate::policy::tests::nesting;
    use proptest::prelude::*;

    fn check(text: &str, most: usize, expected: &str) {
        let found = cut(text, most);
        assert_eq!(found.as_deref().unwrap_or(text), expected);
        assert!(expected.len() <= most.max(MIN_BYTES) || found.is_none());
    }

    #[test]
    fn a_text_ends_where_it_still_fits() {
        check("short", 0, "short");
        let long = "é".repeat(100);
        let left = "é".repeat(32);
        check(
            &long,
            96,
            &format!("{left}[cut: left out 136 of 200 bytes]"),
        );
        let list = format!("[{}1]", "1,".repeat(100));
        check(
            &list,
            96,
            r#"[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"[cut: left out 151 of 203 bytes]"]"#,
        );
        let object = format!(
            r#"{{"a":{{"b":"{}"}},"c":1,"d":{{"e":[{list}]}}}}"#,
            "x".repeat(100)
        );
        let head = format!(
            r#"{{"a":{{"b":"{}[cut: left out 50 of 100 bytes]"}}"#,
            "x".repeat(50)
        );
        let tail = r#","c":1,"d":{"e":[[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"[cut: left out 164 of 336 bytes]"]]}}"#;
        check(&object, 200, &(head + tail));
        let number = "1".repeat(100);
        check(&number, 96, r#""[cut: left out 100 of 100 bytes]""#);
        let blanks = format!("1{}", " ".repeat(100));
        check(&blanks, 96, "1");
        let string = format!("\"{}\"", r"\ud83d\ude00".repeat(20));
        check(
            &string,
            96,
            r#""\ud83d\ude00\ud83d\ude00\ud83d\ude00\ud83d\ude00\ud83d\ude00[cut: left out 180 of 240 bytes]""#,
        );
        // The half of a character that has no other stands alone.
        let alone = format!("\"{}\"", r"\ud83dx".repeat(20));
        let left = r"\ud83dx".repeat(8) + r"\ud83d";
        check(
            &alone,
            96,
            &format!("\"{left}[cut: left out 78 of 140 bytes]\""),
        );
        // A string that its note would make longer stays whole.
        let short = format!(r#"["{}",{}1]"#, "x".repeat(50), "1,".repeat(100));
        check(
            &short,
            144,
            &format!(
                r#"["{}",{}"[cut: left out 157 of 256 bytes]"]"#,
                "x".repeat(50),
                "1,".repeat(23)
            ),
        );
        let marked = format!("\u{feff}{{\"a\":\"{}\"}}", "x".repeat(200));
        check(
            &marked,
            160,
            &format!(
                "\u{feff}{{\"a\":\"{}[cut: left out 160 of 200 bytes]\"}}",
                "x".repeat(40)
            ),
        );
        let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
        let open = "[".repeat(25);
        check(
            &deep,
            96,
            &format!(
                r#"{open}"[cut: left out 1975 of 2000 bytes]"{}"#,
                open.replace('[', "]")
            ),
        );
    }

    proptest! {
        #[test]
        fn what_was_json_is_json_and_fits(nesting in nesting(), most in 0..400_usize) {
            let text = nesting.text;
            match cut(&text, most) {
                None => prop_assert!(text.len() <= most.max(MIN_BYTES)),
                Some(cut) => {
                    prop_assert!(cut.len() <= most.max(MIN_BYTES), "{} > {}: {}", cut.len(), most, cut);
                    let read = crossfeed_json::read_tokens(&cut, &mut Nothing);
                    prop_assert!(read.is_ok(), "{}", cut);
                    prop_assert!(cut.contains("left out"));
                }
            }
        }

        #[test]
        fn any_text_fits(text in any::<String>(), times in 1..50_usize, most in 0..400_usize) {
            let text = text.repeat(times);
            let found = cut(&text, most);
            prop_assert!(found.unwrap_or(text).len() <= most.max(MIN_BYTES));
        }
    }

    struct Nothing;
    impl crossfeed_json::TokenVisitor for Nothing {}
}
