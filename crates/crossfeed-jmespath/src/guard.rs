//! Guards that refuse an expression before it is parsed: nesting that would exhaust the parser's stack, and
//! forbidden patterns.
//!
//! Measures how deep an expression nests and how many operators it has, for the limits [`MAX_NESTING`] and
//! [`MAX_OPERATORS`], and finds the patterns that [`Patterns`] refuses. Every function takes linear time and does not
//! recurse.

#[cfg(test)]
mod tests;

use crate::token::{Kind, Token, Tokens, decode_quoted};
use derive_setters::Setters;

/// How deep an expression may nest.
///
/// The parser and the drop of its tree recurse. On a 1 MiB stack and in a debug build, the costliest shape that is known
/// overflows beyond 140 levels; an optimised build takes a third of that stack or less.
pub const MAX_NESTING: usize = 128;

/// How many operators an expression may have.
///
/// A chain such as `a.b.c` does not nest, but its tree leans to the left, one level for each operator (two for `[]`), and
/// is dropped by recursion. On a 1 MiB stack and in a debug build, the costliest shape overflows beyond 5,000 operators.
pub const MAX_OPERATORS: usize = 2048;

/// An upper bound of how deep the parser recurses on `expression`.
///
/// Brackets, `!`, `&`, the right-hand sides of binary operators and of list projections nest, for as long as they
/// last; a chain of one operator (`a.b.c`, `a || b || c`) does not nest. A filter and a slice, which cost the parser more
/// stack than others, count as two levels. Text that does not parse has a bound too.
///
/// ```
/// # use crossfeed_jmespath::guard::nesting;
/// assert_eq!(nesting("a.b.c.d"), 1);
/// assert_eq!(nesting("((((a))))"), 4);
/// ```
pub fn nesting(expression: &str) -> usize {
    nesting_of(&Tokens::new(expression))
}

/// How many operators and opening brackets `expression` has.
///
/// ```
/// # use crossfeed_jmespath::guard::operators;
/// assert_eq!(operators("items[?score > `0.8`].url"), 3);
/// ```
pub fn operators(expression: &str) -> usize {
    operators_of(&Tokens::new(expression))
}

/// Whether the parser and the drop of its tree are safe on these tokens.
pub(crate) fn is_bounded(tokens: &Tokens<'_>) -> bool {
    operators_of(tokens) <= MAX_OPERATORS && nesting_of(tokens) <= MAX_NESTING
}

/// Where an expression that the parser accepts leaves the grammar: two operands without a comma between them, a list of
/// nothing, a dot before `&`.
///
/// The parser takes commas as blanks. In a list of arguments or elements it begins the next one wherever an operand can
/// begin, so two tokens that neither comma nor operator parts tell all such places.
pub(crate) fn outside_grammar(tokens: &Tokens<'_>) -> Option<usize> {
    let leaves = |&(index, token): &(usize, Token)| {
        let kind = token.kind;
        match tokens.behind(index, 1) {
            Kind::LBracket => kind == Kind::RBracket,
            Kind::Dot => kind == Kind::Ampersand,
            before => before.ends_operand() && kind.begins_anew(),
        }
    };
    tokens.iter().find(leaves).map(|(_, token)| token.start)
}

pub(crate) fn operators_of(tokens: &Tokens<'_>) -> usize {
    let weigh = |(_, token): (usize, Token)| match token.kind {
        Kind::Comma | Kind::Colon | Kind::At => 0,
        kind if kind.is_operand() || kind.is_closer() => 0,
        Kind::DotDot => 2,
        _ => 1,
    };
    tokens.iter().map(weigh).sum()
}

/// One level of the parser's recursion.
#[derive(Clone, Copy)]
enum Level {
    /// The right-hand side of an operator: it ends at an operator that binds no tighter.
    Operand(u8),
    /// An open bracket, and the binding power of the list projection that begins where it is closed.
    Bracket(Option<u8>),
}

/// What the parser expects after the last token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Operand,
    /// A list projection has begun: a path that goes on, or its end.
    Projected,
    Operator,
}

// Binding powers of the grammar.
const PIPE: u8 = 1;
const OR: u8 = 2;
const AND: u8 = 3;
const COMPARATOR: u8 = 5;
const FLATTEN: u8 = 9;
const STAR: u8 = 20;
const FILTER: u8 = 21;
const DOT: u8 = 40;
const NOT: u8 = 45;

#[derive(Default)]
struct Depth {
    levels: Vec<Level>,
    brackets: usize,
    deepest: usize,
}

impl Depth {
    fn push(&mut self, level: Level) {
        self.levels.push(level);
        self.deepest = self.deepest.max(self.levels.len());
    }

    /// Ends the operands that an operator of this power ends.
    fn end_operands(&mut self, power: u8) {
        while let Some(Level::Operand(open)) = self.levels.last() {
            if *open < power {
                break;
            }
            self.levels.pop();
        }
    }

    fn operand(&mut self, power: u8) -> Expect {
        self.push(Level::Operand(power));
        Expect::Operand
    }

    fn binary(&mut self, power: u8) -> Expect {
        self.end_operands(power);
        self.operand(power)
    }

    fn project(&mut self, power: u8) -> Expect {
        self.push(Level::Operand(power));
        Expect::Projected
    }

    /// The path after a projection's dot, which ends where the projection does.
    fn go_on(&mut self) -> Expect {
        if let Some(level @ Level::Operand(_)) = self.levels.last().copied() {
            self.push(level);
        }
        Expect::Operand
    }

    fn open(&mut self, projection: Option<u8>) -> Expect {
        self.brackets += 1;
        self.push(Level::Bracket(projection));
        Expect::Operand
    }

    /// Ends all levels inside the innermost bracket. Without an open bracket the text does not parse, and no
    /// level ends.
    fn separate(&mut self) -> Expect {
        if self.brackets > 0 {
            self.end_operands(0);
        }
        Expect::Operand
    }

    fn close(&mut self) -> Expect {
        self.separate();
        if self.brackets > 0
            && let Some(Level::Bracket(projection)) = self.levels.pop()
        {
            self.brackets -= 1;
            if let Some(power) = projection {
                return self.project(power);
            }
        }
        Expect::Operator
    }
}

/// Follows the parser's recursion without recursing: one level for each call that has not returned yet.
pub(crate) fn nesting_of(tokens: &Tokens<'_>) -> usize {
    let mut depth = Depth::default();
    let mut expect = Expect::Operand;
    let mut index = 0;
    while index < tokens.len() {
        expect = match tokens.kind(index) {
            Kind::Dot | Kind::DotDot if expect == Expect::Projected => depth.go_on(),
            Kind::Dot | Kind::DotDot => {
                depth.end_operands(DOT);
                if tokens.kind(index + 1) != Kind::Star {
                    depth.push(Level::Operand(DOT));
                }
                Expect::Operand
            }
            Kind::Star => depth.project(STAR),
            Kind::LBracket => match subscript(tokens, index) {
                Some((last, kind)) => {
                    index = last;
                    match kind {
                        Subscript::Index => Expect::Operator,
                        Subscript::List => depth.project(STAR),
                        Subscript::Slice => {
                            depth.push(Level::Operand(STAR));
                            depth.project(STAR)
                        }
                    }
                }
                None => depth.open(None),
            },
            Kind::Filter => {
                if expect == Expect::Operator {
                    depth.end_operands(FILTER);
                }
                depth.open(Some(FILTER));
                depth.operand(0)
            }
            Kind::Flatten => {
                if expect != Expect::Operand {
                    depth.end_operands(FLATTEN);
                }
                depth.project(FLATTEN)
            }
            Kind::LParen | Kind::LBrace => depth.open(None),
            Kind::RBracket | Kind::RParen | Kind::RBrace => depth.close(),
            Kind::Comma | Kind::Colon => depth.separate(),
            Kind::Not => depth.operand(NOT),
            Kind::Ampersand => depth.operand(0),
            Kind::Pipe => depth.binary(PIPE),
            Kind::Or => depth.binary(OR),
            Kind::And => depth.binary(AND),
            kind if kind.is_comparator() => depth.binary(COMPARATOR),
            _ => Expect::Operator,
        };
        index += 1;
    }
    depth.deepest
}

enum Subscript {
    /// `[0]`
    Index,
    /// `[1:2]`
    Slice,
    /// `[*]`
    List,
}

/// The subscript whose opening bracket is at `index`, and the place of its closing bracket.
fn subscript(tokens: &Tokens<'_>, index: usize) -> Option<(usize, Subscript)> {
    if tokens.kind(index + 1) == Kind::Star {
        return (tokens.kind(index + 2) == Kind::RBracket).then_some((index + 2, Subscript::List));
    }
    let mut kind = Subscript::Index;
    let mut at = index + 1;
    loop {
        match tokens.kind(at) {
            Kind::Number => {}
            Kind::Colon => kind = Subscript::Slice,
            Kind::RBracket if at > index + 1 => return Some((at, kind)),
            _ => return None,
        }
        at += 1;
    }
}

/// Which patterns are refused, outside raw strings and literals.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Patterns {
    /// Identifiers, quoted or not, that must not occur. They are compared whole, quoted ones with their escapes decoded.
    /// By default `__proto__`, `prototype` and `constructor`: they reach an object's machinery in hosts that are written
    /// in JavaScript, and no selector needs them.
    pub identifiers: Vec<String>,
    /// Functions that must not be called. By default `eval` and `function`: JMESPath has neither, so they are an attempt.
    pub calls: Vec<String>,
    /// Whether `${` is refused, also within a quoted identifier. By default it is: a template engine
    /// further on would expand it.
    pub template_injection: bool,
}

impl Default for Patterns {
    fn default() -> Self {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            identifiers: owned(&["__proto__", "prototype", "constructor"]),
            calls: owned(&["eval", "function"]),
            template_injection: true,
        }
    }
}

/// The expression holds a pattern that is refused, such as `constructor` in `items[0].constructor`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` at byte {offset} of the expression is forbidden")]
#[non_exhaustive]
pub struct Forbidden {
    /// The pattern, as it is configured; `${` for template injection.
    pub pattern: String,
    /// Where it begins in the expression, in bytes.
    pub offset: usize,
}

impl Patterns {
    /// Looks for a forbidden pattern in `expression`.
    ///
    /// # Errors
    ///
    /// [`Forbidden`], naming the first one.
    pub fn check(&self, expression: &str) -> Result<(), Forbidden> {
        let tokens = Tokens::new(expression);
        for (index, token) in tokens.iter() {
            if let Some(pattern) = self.forbidden_at(&tokens, index) {
                return Err(Forbidden {
                    pattern: pattern.to_owned(),
                    offset: token.start,
                });
            }
        }
        Ok(())
    }

    fn forbidden_at(&self, tokens: &Tokens<'_>, index: usize) -> Option<&str> {
        let injection = Some("${").filter(|_| self.template_injection);
        let text = tokens.text(index);
        match tokens.kind(index) {
            Kind::Word => {
                let call = listed(&self.calls, text).filter(|_| tokens.is_call(index));
                call.or_else(|| listed(&self.identifiers, text))
            }
            Kind::Loose => listed(&self.identifiers, text),
            Kind::Quoted => {
                let name = unquoted(text);
                let injection = injection.filter(|sign| name.contains(sign));
                injection.or_else(|| listed(&self.identifiers, &name))
            }
            Kind::Dollar => {
                let opens = tokens.kind(index + 1) == Kind::LBrace && tokens.touches_next(index);
                injection.filter(|_| opens)
            }
            _ => None,
        }
    }
}

/// The entry of a list that equals a name.
fn listed<'l>(list: &'l [String], name: &str) -> Option<&'l str> {
    let mut entries = list.iter().map(String::as_str);
    entries.find(|entry| *entry == name)
}

/// The name of a quoted identifier; its text, if it is not closed or has broken escapes.
fn unquoted(text: &str) -> String {
    decode_quoted(text).unwrap_or_else(|| text.trim_matches('"').to_owned())
}
