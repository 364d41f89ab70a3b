//! The functions of JMESPath and our own: their names, and how many arguments each takes.

use crate::error::ParseError;
use strum::VariantNames as _;

/// A function: one of JMESPath, or one of ours for texts that are not JSON, `lines`, `match` and `split`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantNames,
)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "what they do is JMESPath's to say")]
pub enum Function {
    Abs,
    Avg,
    Ceil,
    Contains,
    EndsWith,
    Floor,
    Join,
    Keys,
    Length,
    Lines,
    Map,
    Match,
    Max,
    MaxBy,
    Merge,
    Min,
    MinBy,
    NotNull,
    Reverse,
    Sort,
    SortBy,
    Split,
    StartsWith,
    Sum,
    ToArray,
    ToNumber,
    ToString,
    Type,
    Values,
}

impl Function {
    /// The name that it has in expressions.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The least and the most number of arguments.
    fn arity(self) -> (usize, usize) {
        match self {
            Self::Merge | Self::NotNull => (1, usize::MAX),
            Self::Contains | Self::EndsWith | Self::Join | Self::Map | Self::MaxBy => (2, 2),
            Self::Match | Self::MinBy | Self::SortBy | Self::Split | Self::StartsWith => (2, 2),
            _ => (1, 1),
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        name.parse().ok()
    }

    /// The function of that name without its underscores.
    pub(crate) fn named_loosely(name: &str) -> Option<Self> {
        let known = Self::VARIANTS
            .iter()
            .find(|known| known.replace('_', "") == name);
        known.and_then(|known| Self::named(known))
    }

    /// The function whose name shares the most of its letters with `name`, if that is most of them.
    pub(crate) fn nearest(name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase().replace('-', "_");
        let same = |other: &str| {
            let shared = name.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
            shared.count() * 2
        };
        let names = Self::VARIANTS.iter().copied();
        names
            .filter(|other| same(other) >= other.len().max(name.len()))
            .max_by_key(|other| same(other))
    }

    /// The one function whose name `name` is but for a letter or two.
    pub(crate) fn misspelt(name: &str) -> Option<&'static str> {
        // These are what other languages call functions.
        let others = [
            "value", "sorted", "item", "size", "some", "find", "line", "mean", "key", "maps",
            "mapped", "split_by",
        ];
        if Self::named(name).is_some() || others.contains(&name) || name.len() < 4 {
            return None;
        }
        let most = if name.len() < 8 { 1 } else { 2 };
        let mut near = Self::VARIANTS
            .iter()
            .copied()
            .filter(|known| known.len() > 3 && distance(name, known, most) <= most);
        let found = near.next()?;
        near.next().is_none().then_some(found)
    }

    pub(crate) fn check_arity(self, found: usize) -> Result<(), ParseError> {
        let (least, most) = self.arity();
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let plural = if least == 1 { "" } else { "s" };
        let or_more = if most > least { " or more" } else { "" };
        Err(ParseError::Arity {
            name: self.name(),
            expected: format!("{least} argument{plural}{or_more}"),
            found,
        })
    }
}

/// How many letters differ, where two that are swapped count as one; more than `most` where it is more.
fn distance(a: &str, b: &str, most: usize) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > most || a.len() > 32 {
        return most + 1;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, letter) in a.iter().enumerate() {
        let mut here = vec![row + 1];
        for (column, other) in b.iter().enumerate() {
            let changed = last[column] + usize::from(letter != other);
            let mut least = changed.min(last[column + 1] + 1).min(here[column] + 1);
            let is_swap = row > 0 && column > 0 && a[row - 1] == *other && b[column - 1] == *letter;
            if is_swap {
                least = least.min(before[column - 1] + 1);
            }
            here.push(least);
        }
        before = std::mem::replace(&mut last, here);
    }
    last[b.len()]
}
