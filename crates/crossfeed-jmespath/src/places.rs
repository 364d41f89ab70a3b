//! Where the names, literals and indexes of an expression stand in its text, so that one of them can be replaced.

use crate::token::{Kind, Tokens};

/// A name, literal or index of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// What it is.
    pub kind: PlaceKind,
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
    /// The offset of the dot before it, if there is one.
    pub dot: Option<usize>,
}

/// What stands at a place of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a path has these kinds of places")]
pub enum PlaceKind {
    /// `name`, quoted or not.
    Name,
    /// `'text'` or `` `1` ``.
    Literal,
    /// `[0]`, brackets included.
    Index,
}

/// The names, literals and indexes of an expression that parses, in the order in which they are written, which
/// is that of [`crate::Doubt::place`]. Keys of `{key: value}` are none of them.
///
/// ```
/// let places = crossfeed_jmespath::places("items[?a == 'x'].{b: c}");
/// let texts = places.iter().map(|place| &"items[?a == 'x'].{b: c}"[place.start..place.end]);
/// assert_eq!(texts.collect::<Vec<_>>(), ["items", "a", "'x'", "c"]);
/// ```
pub fn places(text: &str) -> Vec<Place> {
    let tokens = Tokens::new(text);
    let dot = |index: usize| {
        let dot = index.checked_sub(1).and_then(|index| tokens.get(index))?;
        (dot.kind == Kind::Dot).then_some(dot.start)
    };
    let place = |(index, token): (usize, crate::token::Token)| {
        let next = tokens.kind(index + 1);
        let is_index = tokens.behind(index, 1) == Kind::LBracket && next == Kind::RBracket;
        let kind = match token.kind {
            Kind::Word | Kind::Quoted if next == Kind::Colon || tokens.is_call(index) => {
                return None;
            }
            Kind::Word | Kind::Quoted => PlaceKind::Name,
            Kind::Raw | Kind::Literal => PlaceKind::Literal,
            Kind::Number if is_index => PlaceKind::Index,
            _ => return None,
        };
        let (start, end) = match kind {
            PlaceKind::Index => (tokens.get(index - 1)?.start, tokens.get(index + 1)?.end),
            _ => (token.start, token.end),
        };
        Some(Place {
            kind,
            start,
            end,
            dot: dot(index),
        })
    };
    tokens.iter().filter_map(place).collect()
}
