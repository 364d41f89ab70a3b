//! Arguments of calls, and functions as arguments.

use super::super::super::Rule;
use super::super::query::Query;
use super::{Argument, Parser, Scope, Value};
use crate::{
    error::Dialect,
    token::{Kind, is_identifier},
};

impl<'a> Parser<'_, 'a, '_> {
    /// The arguments of a call, with their parentheses.
    pub(super) fn arguments(&mut self) -> Option<Vec<Argument>> {
        self.at += 1;
        let mut arguments = Vec::new();
        if self.eat(Kind::RParen) {
            return Some(arguments);
        }
        loop {
            arguments.push(self.nested(Self::argument)?);
            if self.eat(Kind::RParen) {
                return Some(arguments);
            }
            if self.is(Dialect::Jq) && self.text(0) == ";" {
                self.at += 1;
            } else if !self.eat(Kind::Comma) {
                return None;
            }
        }
    }

    pub(super) fn argument(&mut self) -> Option<Argument> {
        if self.eat_spread() {
            // The items of a list are the arguments.
        } else if self.is_identifier(0) && self.kind(1) == Kind::Assign && self.kind(2) != Kind::Gt
        {
            let name = self.text(0).to_owned();
            self.at += 2;
            let value = self.nested(Self::argument)?;
            return Some(Argument::Named(name, value.into()));
        }
        if let Some(lambda) = self.lambda() {
            return lambda;
        }
        if let Some(found) = self.comprehension(Kind::RParen) {
            return found.map(Argument::Value);
        }
        let falls = self.eat_minus();
        let value = if self.is(Dialect::Jq) {
            self.scoped(Scope::Fields, Self::piped)?
        } else {
            self.piped()?
        };
        Some(ordered(value, falls, Argument::Value))
    }

    pub(super) fn is_identifier(&self, ahead: usize) -> bool {
        self.kind(ahead) == Kind::Word
    }

    /// `...`
    pub(super) fn eat_spread(&mut self) -> bool {
        let found = self.kind(0) == Kind::DotDot && self.kind(1) == Kind::Dot;
        self.at += 2 * usize::from(found);
        found
    }

    /// The sign in front of a key by which items are sorted from the largest.
    pub(super) fn eat_minus(&mut self) -> bool {
        let found = self.kind(0) == Kind::Unknown && self.text(0) == "-";
        self.at += usize::from(found);
        found
    }

    pub(super) fn is_arrow(&self, ahead: usize) -> bool {
        self.kind(ahead) == Kind::Assign && self.kind(ahead + 1) == Kind::Gt
    }

    /// `x => x.url`, `(x, i) => x.url`, `({url}) => url`, `lambda x: x["url"]`; nothing if there is no function.
    pub(super) fn lambda(&mut self) -> Option<Option<Argument>> {
        if self.is(Dialect::Python) && self.is_word(0, "lambda") {
            if !self.is_identifier(1) || self.kind(2) != Kind::Colon {
                return Some(None);
            }
            let variable = self.text(1).to_owned();
            self.at += 3;
            return Some(self.body(Scope::Variable(variable)));
        }
        if self.is_identifier(0) && self.is_arrow(1) {
            let variable = self.text(0).to_owned();
            self.at += 3;
            return Some(self.body(Scope::Variable(variable)));
        }
        if self.kind(0) != Kind::LParen {
            return None;
        }
        // `([key, value]) => …`
        let is_pair = self.kind(1) == Kind::LBracket
            && self.is_identifier(2)
            && self.kind(3) == Kind::Comma
            && self.is_identifier(4)
            && [self.kind(5), self.kind(6)] == [Kind::RBracket, Kind::RParen]
            && self.is_arrow(7);
        if is_pair {
            let pair = Scope::Pair(self.text(2).to_owned(), self.text(4).to_owned());
            self.at += 9;
            return Some(self.body(pair));
        }
        if self.is_identifier(1) && self.kind(2) == Kind::RParen && self.is_arrow(3) {
            let variable = self.text(1).to_owned();
            self.at += 5;
            return Some(self.body(Scope::Variable(variable)));
        }
        if self.is_identifier(1)
            && self.kind(2) == Kind::Comma
            && self.is_identifier(3)
            && self.kind(4) == Kind::RParen
            && self.is_arrow(5)
        {
            let (first, second) = (self.text(1), self.text(3));
            self.at += 7;
            return Some(
                self.pairwise(first, second)
                    .or_else(|| self.body(Scope::Variable(first.to_owned()))),
            );
        }
        self.destructured()
    }

    /// `({url, score}) => score > 1`
    pub(super) fn destructured(&mut self) -> Option<Option<Argument>> {
        if self.kind(1) != Kind::LBrace {
            return None;
        }
        let mut ahead = 2;
        let mut names = Vec::new();
        while self.is_identifier(ahead) {
            names.push(self.text(ahead).to_owned());
            ahead += 1;
            if self.kind(ahead) == Kind::Comma {
                ahead += 1;
            }
        }
        if self.kind(ahead) != Kind::RBrace
            || self.kind(ahead + 1) != Kind::RParen
            || !self.is_arrow(ahead + 2)
        {
            return None;
        }
        self.at += ahead + 4;
        Some(self.body(Scope::Names(names)))
    }

    pub(super) fn body(&mut self, scope: Scope) -> Option<Argument> {
        // A brace begins statements, of which one is read.
        let is_block = self.kind(0) == Kind::LBrace && !self.is(Dialect::Python);
        if is_block {
            if !self.is_word(1, "return") {
                return None;
            }
            self.at += 2;
        }
        let falls = self.eat_minus();
        let body = self.scoped(scope, Self::either)?;
        if is_block {
            self.at += usize::from(self.text(0) == ";");
            if !self.eat(Kind::RBrace) {
                return None;
            }
        }
        self.odd(Rule::JavaScript);
        Some(ordered(body, falls, |body| Argument::Lambda(body.query)))
    }

    /// The body of a function of two items that sorts or adds.
    pub(super) fn pairwise(&mut self, first: &str, second: &str) -> Option<Argument> {
        let (mut end, mut open) = (self.at, 0_usize);
        loop {
            let kind = self.tokens.kind(end);
            if kind == Kind::Edge {
                return None;
            }
            if open == 0 && matches!(kind, Kind::Comma | Kind::RParen) {
                break;
            }
            if kind.is_opener() {
                open += 1;
            } else if kind.is_closer() {
                open = open.checked_sub(1)?;
            }
            end += 1;
        }
        let body = self.tokens.span(self.at, end.checked_sub(1)?)?;
        let body: String = body.split_whitespace().collect();
        let argument = if let Some((left, right)) = body.split_once('+') {
            let (sum, item) = if left == first {
                (left, right)
            } else {
                (right, left)
            };
            if sum != first {
                return None;
            }
            Argument::Sum(path(item, second)?)
        } else if let Some(best) = best(&body, first, second) {
            best
        } else {
            let (left, right) = two_sides(&body)?;
            let (by, descending) = match (path(left, first), path(right, second)) {
                (Some(left), Some(right)) if left == right => (left, false),
                _ => (
                    path(left, second).filter(|by| path(right, first).as_ref() == Some(by))?,
                    true,
                ),
            };
            Argument::Order {
                // A difference is one of numbers.
                by: if body.contains(['?', '(']) {
                    by
                } else {
                    by.number()?
                },
                descending,
                locale: body.contains("localeCompare"),
            }
        };
        self.at = end;
        Some(argument)
    }
}

fn ordered(value: Value, falls: bool, otherwise: impl FnOnce(Value) -> Argument) -> Argument {
    if falls {
        return Argument::Order {
            by: value.query,
            descending: true,
            locale: false,
        };
    }
    otherwise(value)
}

/// `a.x>b.x?a:b`
fn best(body: &str, first: &str, second: &str) -> Option<Argument> {
    let (sides, outcome) = body.split_once('?')?;
    let (then, otherwise) = outcome.split_once(':')?;
    let at = sides.find(['<', '>'])?;
    let (left, rest) = sides.split_at(at);
    let sign_len = 1 + usize::from(rest[1..].starts_with('='));
    let (sign, right) = rest.split_at(sign_len);
    let is_first = path(left, first).is_some_and(|by| path(right, second) == Some(by));
    let (by, in_order) = if is_first {
        (path(left, first)?, true)
    } else {
        let by = path(left, second)?;
        (path(right, first).filter(|right| *right == by)?, false)
    };
    let takes_first = match (then == first, otherwise == second) {
        (true, true) => true,
        (false, false) if then == second && otherwise == first => false,
        _ => return None,
    };
    let takes_left = takes_first == in_order;
    let equal_takes_first = (sign.len() == 2) == takes_first;
    Some(Argument::Best {
        by,
        greatest: takes_left == sign.starts_with('>'),
        last: !equal_takes_first,
    })
}

/// The sides of `a.x-b.x`, `a.x.localeCompare(b.x)` and `a.x<b.x?-1:1`, of which the smaller comes first.
fn two_sides(body: &str) -> Option<(&str, &str)> {
    if let Some((left, rest)) = body.split_once(".localeCompare(") {
        return Some((left, rest.strip_suffix(')')?));
    }
    if let Some((sides, outcome)) = body.split_once('?') {
        if let Some((left, right)) = sides.split_once('<') {
            return match outcome {
                "-1:1" => Some((left, right)),
                "1:-1" => Some((right, left)),
                _ => None,
            };
        }
        let (left, right) = sides.split_once('>')?;
        return match outcome {
            "1:-1" => Some((left, right)),
            "-1:1" => Some((right, left)),
            _ => None,
        };
    }
    body.split_once('-')
}

/// The path of fields after a variable: `.score` in `a.score`.
fn path(text: &str, variable: &str) -> Option<Query> {
    let rest = text.strip_prefix(variable)?;
    if rest.is_empty() {
        return Some(Query::Here);
    }
    let mut query = Query::Here;
    for name in rest.strip_prefix('.')?.split('.') {
        if !is_identifier(name) {
            return None;
        }
        query = query.field(name);
    }
    Some(query)
}
