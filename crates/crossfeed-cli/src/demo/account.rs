//! The bill: what entered the model's context with crossfeed, and what would have without it. It counts the strings that were
//! written, shown and sent.

use super::{
    page::{Page, grouped},
    session::{CallRecord, ToolRun, Transcript},
};
use anstyle::Style;
use crossfeed::TokenCounter;
use serde_json::Value;
use std::{fmt, io, ops::Add};

/// The tokens of a result that a model gets at most without crossfeed, if its client is Claude Code: the default of
/// `MAX_MCP_OUTPUT_TOKENS` (`specs/clients.md`).
const CLIENT_LIMIT: usize = 25_000;
/// Characters of a token, as [`TokenCounter::estimate`] counts.
const CHARS_PER_TOKEN: usize = 4;
/// The context window that large results are compared with.
const WINDOW: usize = 200_000;
/// The width of a table that has bytes, too.
const WIDE: usize = 80;
/// The width of a table that names the tools.
const NARROW: usize = 50;

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

/// The calls of a session, and what they cost.
pub(super) struct Account {
    entries: Vec<Entry>,
    glimpse: Option<Glimpse>,
}

/// One call.
struct Entry {
    call_id: String,
    tool: &'static str,
    /// The arguments as the model wrote them, and what it was shown.
    with: Size,
    /// The same call without crossfeed; `None` if there would have been none.
    without: Option<Without>,
}

/// A call without crossfeed.
struct Without {
    /// The arguments typed out in full.
    typed: Size,
    /// The result read whole.
    read: Size,
}

/// What a model sees of the largest result if the client cuts it.
struct Glimpse {
    call_id: String,
    percent: usize,
    /// The call that takes values from the result, and their number.
    taken_by: String,
    taken: usize,
    /// Those of them that stand in what the model sees.
    seen: usize,
}

impl Account {
    pub(super) fn of(transcript: &Transcript) -> Self {
        Self {
            entries: transcript.calls().map(Entry::of).collect(),
            glimpse: Glimpse::of(transcript),
        }
    }

    fn with(&self) -> Size {
        self.entries
            .iter()
            .fold(Size::default(), |sum, entry| sum + entry.with)
    }

    fn without(&self) -> Size {
        self.calls_without()
            .fold(Size::default(), |sum, call| sum + call.typed + call.read)
    }

    /// The tokens where no result takes more than the limit of a client.
    fn limited(&self) -> usize {
        self.calls_without()
            .map(|call| call.typed.tokens + call.read.tokens.min(CLIENT_LIMIT))
            .sum()
    }

    fn calls_without(&self) -> impl Iterator<Item = &Without> {
        let entries = self.entries.iter();
        entries.filter_map(|entry| entry.without.as_ref())
    }

    /// Writes what each call cost.
    pub(super) fn write_table(&self, page: &mut Page<'_>) -> io::Result<()> {
        let is_wide = page.width() >= WIDE;
        page.blank()?;
        page.head("What entered the model's context")?;
        page.blank()?;
        let faint = page.styles.faint;
        if is_wide {
            let heads = format!(
                "{:28}{:>22}{:>22}",
                "", "without crossfeed", "with crossfeed"
            );
            page.line(faint, &heads)?;
            row(
                page,
                faint,
                ["call", "tool"],
                &["bytes", "tokens", "bytes", "tokens"],
            )?;
        } else {
            page.line(faint, "in tokens, without crossfeed and with it")?;
            row(page, faint, ["call", "tool"], &["", "without", "", "with"])?;
        }
        let plain = Default::default();
        for entry in &self.entries {
            let without = entry.without.as_ref().map(|call| call.typed + call.read);
            let cells = cells(without, entry.with);
            row(page, plain, [&entry.call_id, entry.tool], &cells)?;
        }
        let cells = cells(Some(self.without()), self.with());
        row(page, page.styles.strong, ["total", ""], &cells)?;
        page.blank()?;
        page.text(
            faint,
            "Without: every result read whole, every argument typed in full, and no refused call (-). \
             With: references as written, results and previews as shown, errors as read. \
             Cut: as without, each result up to the limit. \
             Tokens are estimated: characters / 4, rounded up. Not counted on either side: the prompt, \
             the list of tools, what the model says besides its calls, and that a context is read again \
             at each turn.",
        )
    }

    /// Writes the totals, and in the last line the punch line. `rest` says where the rest is.
    pub(super) fn write_total(&self, rest: &str, page: &mut Page<'_>) -> io::Result<()> {
        let (with, without) = (self.with().tokens, self.without().tokens);
        page.blank()?;
        page.head("The bill, in tokens")?;
        let mut whole = "reading all results, typing all arguments".to_owned();
        if without > WINDOW {
            whole.push_str(&format!(": beyond a window of {}", grouped(WINDOW)));
        }
        total(page, without, &whole)?;
        let limit = grouped(CLIENT_LIMIT);
        let mut limited = format!("with results cut at {limit}, Claude Code's default limit");
        if let Some(glimpse) = &self.glimpse {
            limited.push_str(&format!(": {glimpse}"));
        }
        total(page, self.limited(), &limited)?;
        total(page, with, &format!("with crossfeed{rest}"))?;
        let times = without.checked_div(with).unwrap_or_default();
        let (with, without) = (grouped(with), grouped(without));
        page.head(&format!(
            "{with} tokens instead of {without}: {times} times fewer."
        ))
    }
}

impl Entry {
    fn of(call: &CallRecord) -> Self {
        let run = call.outcome.run.as_ref();
        Self {
            call_id: call.call_id.clone(),
            tool: call.tool,
            with: Size::of(call.written) + Size::of(&call.outcome.shown),
            without: run.map(|run| Without {
                typed: Size::of(&run.arguments.to_string()),
                read: Size::of(&run.result),
            }),
        }
    }
}

impl Glimpse {
    /// `None` if no result is cut, or if no call takes a list of values from the largest one.
    fn of(transcript: &Transcript) -> Option<Self> {
        let (source, largest) = transcript.runs().max_by_key(|(_, run)| run.result.len())?;
        let tokens = Size::of(&largest.result).tokens;
        if tokens <= CLIENT_LIMIT {
            return None;
        }
        let taken = |run: &ToolRun| {
            let mut links = run.lineage.iter();
            links.find_map(|link| {
                let is_source = link.source.call_id.as_str() == source.call_id;
                let value = run
                    .arguments
                    .pointer(link.at.as_str())
                    .filter(|_| is_source);
                value.and_then(Value::as_array).cloned()
            })
        };
        let mut runs = transcript.runs();
        let (taken_by, taken) = runs.find_map(|(call, run)| Some((call, taken(run)?)))?;
        let limit = CLIENT_LIMIT * CHARS_PER_TOKEN;
        let part: String = largest.result.chars().take(limit).collect();
        let seen = taken
            .iter()
            .filter(|value| part.contains(&value.to_string()));
        Some(Self {
            call_id: source.call_id.clone(),
            percent: CLIENT_LIMIT * 100 / tokens,
            taken_by: taken_by.call_id.clone(),
            seen: seen.count(),
            taken: taken.len(),
        })
    }
}

impl fmt::Display for Glimpse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            call_id,
            percent,
            taken_by,
            taken,
            seen,
        } = self;
        write!(
            f,
            "the model sees {percent} % of {call_id}, {seen} of the {taken} values for {taken_by}"
        )
    }
}

/// Writes a number of tokens, and what takes them.
fn total(page: &mut Page<'_>, tokens: usize, text: &str) -> io::Result<()> {
    let number = format!("{:>9}  ", grouped(tokens));
    page.hang(Style::new(), [&number, &" ".repeat(number.len())], text)
}

/// The cells of a row; `-` where there would have been no call.
fn cells(without: Option<Size>, with: Size) -> [String; 4] {
    let cell =
        |number: fn(Size) -> usize| without.map_or("-".to_owned(), |size| grouped(number(size)));
    [
        cell(|size| size.bytes),
        cell(|size| size.tokens),
        grouped(with.bytes),
        grouped(with.tokens),
    ]
}

/// Writes a row with the columns that the page has room for.
fn row(
    page: &mut Page<'_>,
    style: Style,
    [call, tool]: [&str; 2],
    [a, b, c, d]: &[impl fmt::Display; 4],
) -> io::Result<()> {
    let line = match page.width() {
        WIDE.. => format!("{call:8}{tool:20}{a:>11}{b:>11}{c:>11}{d:>11}"),
        NARROW.. => format!("{call:8}{tool:20}{b:>11}{d:>11}"),
        _ => format!("{call:8}{b:>11}{d:>11}"),
    };
    page.line(style, &line)
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
