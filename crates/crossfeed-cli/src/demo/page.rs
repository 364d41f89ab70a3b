//! Lines of text for a terminal: wrapped to its width, and styled where it shows colours. Styles are put around lines that are
//! wrapped already, so they take no columns.

use crate::terminal::{self, Styles};
use anstyle::Style;
use std::io::{self, Write};

/// Longer lines are hard to read.
const MAX_WIDTH: usize = 100;
/// Characters of the words on the left.
const MARGIN: usize = 10;

/// A page on standard output.
pub(super) struct Page<'w> {
    out: &'w mut dyn Write,
    width: usize,
    pub(super) styles: Styles,
}

impl<'w> Page<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            width: terminal::columns().min(MAX_WIDTH),
            styles: Styles::of_stream(&io::stdout()),
        }
    }

    /// The characters of a line.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Writes a line as it is, which must fit.
    pub(super) fn line(&mut self, style: Style, line: &str) -> io::Result<()> {
        let line = line.trim_end();
        writeln!(self.out, "{style}{line}{style:#}")
    }

    /// Writes a paragraph.
    pub(super) fn text(&mut self, style: Style, text: &str) -> io::Result<()> {
        self.hang(style, ["", ""], text)
    }

    /// Writes what matters most.
    pub(super) fn head(&mut self, text: &str) -> io::Result<()> {
        self.text(self.styles.strong, text)
    }

    /// Writes a word at the left and a text beside it.
    pub(super) fn entry(&mut self, word: &str, style: Style, text: &str) -> io::Result<()> {
        let first = format!("{word:MARGIN$}");
        let prefixes = [first.as_str(), &" ".repeat(MARGIN)];
        self.put(self.styles.faint, prefixes, style, text)
    }

    /// The characters of a line beside a word.
    pub(super) fn text_width(&self) -> usize {
        self.width - MARGIN
    }

    /// As [`Page::entry`], but a longer line of the text is cut.
    pub(super) fn brief_entry(&mut self, word: &str, style: Style, text: &str) -> io::Result<()> {
        let width = self.text_width();
        let lines: Vec<String> = text.lines().map(|line| clip(line, width)).collect();
        self.entry(word, style, &lines.join("\n"))
    }

    /// Writes a text, its first line after one prefix and the others after another as long.
    pub(super) fn hang(&mut self, style: Style, prefixes: [&str; 2], text: &str) -> io::Result<()> {
        self.put(Style::new(), prefixes, style, text)
    }

    fn put(
        &mut self,
        prefix_style: Style,
        [first, others]: [&str; 2],
        style: Style,
        text: &str,
    ) -> io::Result<()> {
        let width = self.width - others.chars().count();
        let mut prefix = first;
        for line in text.lines().flat_map(|line| wrap(line, width)) {
            let (line, word) = (line.trim_end(), prefix.trim_end());
            let blanks = match line {
                "" => "",
                _ => &prefix[word.len()..],
            };
            if word.is_empty() {
                write!(self.out, "{blanks}")?;
            } else {
                write!(self.out, "{prefix_style}{word}{prefix_style:#}{blanks}")?;
            }
            if line.is_empty() {
                writeln!(self.out)?;
            } else {
                writeln!(self.out, "{style}{line}{style:#}")?;
            }
            prefix = others;
        }
        Ok(())
    }
}

/// A number with its digits in groups of three.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A line of at most `width` characters; `…` stands for what is cut.
pub(super) fn clip(line: &str, width: usize) -> String {
    match line.char_indices().nth(width) {
        None => line.to_owned(),
        Some(_) => line
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
    }
}

/// Breaks a line at blanks into parts of at most `width` characters. Only longer words are cut: after a comma, if
/// there is one in the last half of the part.
fn wrap(line: &str, width: usize) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut length = 0;
    for word in line.split(' ') {
        let letters: Vec<char> = word.chars().collect();
        if !part.is_empty() && length + 1 + letters.len() > width {
            parts.push(std::mem::take(&mut part));
            length = 0;
        }
        if !part.is_empty() {
            part.push(' ');
            length += 1;
        }
        for letter in letters {
            if length == width {
                let comma = part.rfind(',').map_or(0, |at| at + 1);
                let chars = part[..comma].chars().count();
                let rest = if chars > width / 2 {
                    part.split_off(comma)
                } else {
                    String::new()
                };
                parts.push(std::mem::replace(&mut part, rest));
                length = part.chars().count();
            }
            part.push(letter);
            length += 1;
        }
    }
    parts.push(part);
    parts
}

#[cfg(test)]
mod tests {
    use super::{Page, clip, grouped, wrap};
    use crate::terminal::Styles;
    use anstyle::{Effects, Style};

    fn check(line: &str, expected: &[&str]) {
        assert_eq!(wrap(line, 5), expected, "{line}");
    }

    #[test]
    fn lines_are_wrapped_at_blanks() {
        check("", &[""]);
        check("ab cd", &["ab cd"]);
        check("ab cde fg", &["ab", "cde", "fg"]);
        check("abcdefghijk l", &["abcde", "fghij", "k l"]);
        check("éééé éé", &["éééé", "éé"]);
        check("abc,def,g", &["abc,", "def,g"]);
        check("a,bcdefg", &["a,bcd", "efg"]);
    }

    #[test]
    fn digits_are_grouped() {
        let check = |number, expected| assert_eq!(grouped(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(12_345_678, "12,345,678");
    }

    #[test]
    fn long_lines_are_cut() {
        let check = |line, expected| assert_eq!(clip(line, 4), expected);
        check("", "");
        check("éééé", "éééé");
        check("abcde", "abc…");
    }

    #[test]
    fn styles_take_no_columns() {
        let styles = Styles {
            faint: Style::new() | Effects::DIMMED,
            ..Styles::default()
        };
        let mut out = Vec::new();
        let mut page = Page {
            out: &mut out,
            width: 14,
            styles,
        };
        page.entry("word", Style::new() | Effects::BOLD, "ab cd\n\nef")
            .unwrap();
        page.entry("word", Style::new(), "abcd efgh").unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\u{1b}[2mword\u{1b}[0m      \u{1b}[1mab\u{1b}[0m\n\
             \u{20}         \u{1b}[1mcd\u{1b}[0m\n\
             \n\
             \u{20}         \u{1b}[1mef\u{1b}[0m\n\
             \u{1b}[2mword\u{1b}[0m      abcd\n\
             \u{20}         efgh\n"
        );
    }
}
