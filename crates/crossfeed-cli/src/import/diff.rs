//! What differs between two texts, line by line.

use std::io::{self, Write};

/// Lines that are shown around what differs.
const AROUND: usize = 3;

/// Writes what lies between the lines that both begin and end with, and some lines around it.
pub(super) fn write(before: &str, after: &str, out: &mut dyn Write) -> io::Result<()> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let tails = old.iter().skip(head).rev().zip(new.iter().skip(head).rev());
    let tail = tails.take_while(same).count();
    let end = old.len() - tail;
    for line in old.iter().take(head).skip(head.saturating_sub(AROUND)) {
        writeln!(out, "  {line}")?;
    }
    for line in old.iter().take(end).skip(head) {
        writeln!(out, "- {line}")?;
    }
    for line in new.iter().take(new.len() - tail).skip(head) {
        writeln!(out, "+ {line}")?;
    }
    for line in old.iter().skip(end).take(AROUND) {
        writeln!(out, "  {line}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write;

    fn check(before: &str, after: &str, expected: &str) {
        let mut out = Vec::new();
        write(before, after, &mut out).expect("memory can be written");
        assert_eq!(String::from_utf8(out).expect("it is text"), expected);
    }

    #[test]
    fn what_differs_is_shown_with_what_is_around() {
        check("", "", "");
        check("a\nb\n", "a\nb\n", "  a\n  b\n");
        check(
            "1\n2\n3\n4\nx\n5\n6\n7\n8",
            "1\n2\n3\n4\ny\nz\n5\n6\n7\n8",
            "  2\n  3\n  4\n- x\n+ y\n+ z\n  5\n  6\n  7\n",
        );
        check("a\na\n", "a\n", "  a\n- a\n");
        check("a", "", "- a\n");
    }
}
