//! Prints a table of what entered the model's context with crossfeed, and what would have without it. It counts the strings
//! that were written, shown and sent.

use crossfeed::{TokenCounter, render::TokenUsage};
use std::{
    io::{self, Write},
    ops::Add,
};

/// The context window that large results are compared with.
const WINDOW: usize = 200_000;

/// A size in bytes and in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: usize,
    pub(super) tokens: usize,
}

impl Size {
    /// The size of a text. Tokens are estimated: characters / 4, rounded up.
    pub(super) fn of(text: &str) -> Self {
        Self {
            bytes: text.len(),
            tokens: TokenCounter::estimate().count(text),
        }
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            tokens: self.tokens + other.tokens,
        }
    }
}

/// One call.
pub(super) struct Entry {
    pub(super) call_id: String,
    pub(super) tool: &'static str,
    /// The arguments as the model wrote them.
    pub(super) written: Size,
    /// What the model was shown: the result, a preview of it, or an error.
    pub(super) shown: Size,
    /// The same call without crossfeed; `None` if it was refused for a mistake in a reference.
    pub(super) without: Option<Without>,
}

/// A call without crossfeed.
pub(super) struct Without {
    /// The arguments typed out in full.
    pub(super) typed: Size,
    /// The result read whole.
    pub(super) read: Size,
}

/// Writes the table, and the engine's own account beside it.
pub(super) fn write(entries: &[Entry], usage: &TokenUsage, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "What entered the model's context")?;
    writeln!(out)?;
    writeln!(
        out,
        "{:31}{:>27}  {:>27}",
        "", "without crossfeed", "with crossfeed"
    )?;
    let heads = ["bytes", "tokens", "bytes", "tokens"];
    row(out, ["call", "tool"], heads.map(str::to_owned))?;
    let (mut all_without, mut all_with) = (Size::default(), Size::default());
    for entry in entries {
        let without = entry.without.as_ref();
        let without = without.map(|without| without.typed + without.read);
        let with = entry.written + entry.shown;
        let cell = |size: fn(Size) -> usize| {
            without.map_or_else(|| "-".to_owned(), |without| size(without).to_string())
        };
        let cells = [
            cell(|size| size.bytes),
            cell(|size| size.tokens),
            with.bytes.to_string(),
            with.tokens.to_string(),
        ];
        row(out, [&entry.call_id, entry.tool], cells)?;
        all_without = all_without + without.unwrap_or_default();
        all_with = all_with + with;
    }
    let (without, with) = (all_without, all_with);
    let cells = [without.bytes, without.tokens, with.bytes, with.tokens];
    row(out, ["total", ""], cells.map(|cell| cell.to_string()))?;
    writeln!(out)?;
    writeln!(
        out,
        "Without: every result read whole, every argument typed in full, and no refused call (-).\n\
         With: references as written, results and previews as shown, errors as read.\n\
         Tokens are estimated: characters / 4, rounded up. Not counted on either side: the prompt,\n\
         the list of tools, what the model says beside its calls, and that a context is read again\n\
         at each turn."
    )?;
    for entry in entries {
        let without = entry.without.as_ref();
        let read = without.map_or(0, |without| without.read.tokens);
        if read > WINDOW {
            let id = &entry.call_id;
            writeln!(
                out,
                "The result of {id} alone has {read} tokens and would not fit a window of {WINDOW}."
            )?;
        }
    }
    let times = without.tokens.checked_div(with.tokens).unwrap_or_default();
    writeln!(
        out,
        "\n{} tokens instead of {}: {times} times fewer.",
        with.tokens, without.tokens
    )?;
    writeln!(
        out,
        "\nThe session's own account, in tokens: shown {} of {}, references {} for {}, errors {};\n\
         avoided {}, and {} bytes moved by reference.",
        usage.shown,
        usage.whole,
        usage.references,
        usage.referred,
        usage.errors,
        usage.avoided(),
        usage.bytes_moved
    )
}

fn row(out: &mut dyn Write, head: [&str; 2], cells: [String; 4]) -> io::Result<()> {
    let [call, tool] = head;
    let [a, b, c, d] = cells;
    let line = format!("  {call:8}{tool:21}{a:>16}{b:>11}  {c:>16}{d:>11}");
    writeln!(out, "{}", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn tokens_are_characters_by_four_rounded_up() {
        let check = |text: &str, bytes, tokens| {
            assert_eq!(Size::of(text), Size { bytes, tokens }, "{text}");
        };
        check("", 0, 0);
        check("abcd", 4, 1);
        check("abcde", 5, 2);
        check("éééé", 8, 1);
    }
}
