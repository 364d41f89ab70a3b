//! Texts that are put together: `a + ' ' + b`, `` `${a} ${b}` ``, `f"{a} {b}"`; and regular expressions between slashes.

use super::super::{super::Rule, call::as_text, query::Query};
use super::{Argument, Parser, Value};
use crate::{
    error::Dialect,
    token::{Kind, Tokens},
};

/// The most parts of a text.
const MAX_PARTS: usize = 16;

impl Parser<'_, '_, '_> {
    /// Operands with `+` between them: a text that is put together, or a sum.
    pub(super) fn added(&mut self) -> Option<Value> {
        let first = self.operand()?;
        if self.text(0) != "+" {
            return Some(first);
        }
        let mut parts = vec![first];
        while self.text(0) == "+" {
            self.at += 1;
            parts.push(self.operand()?);
        }
        if parts.len() > MAX_PARTS || parts.iter().any(|part| part.stream) {
            return None;
        }
        self.odd(Rule::JavaScript);
        let as_text = |part: Value| match &part.query {
            Query::Field(_, name) if (self.has_key)(name.trim_matches('"')) => part.query,
            other => as_text(other),
        };
        let parts: Vec<Query> = parts.into_iter().map(as_text).collect();
        let has_text = parts.iter().any(is_text);
        if !has_text && !self.flipped {
            return Some(Value::one(Query::Call("sum", vec![Query::List(parts)])));
        }
        if has_text && self.flipped && self.is(Dialect::JavaScript) {
            return self.printed(parts);
        }
        Some(Value::one(joined(parts)))
    }

    /// A text of parts of which some are numbers.
    fn printed(&self, parts: Vec<Query>) -> Option<Value> {
        let printed = parts.into_iter().map(|part| {
            if is_text(&part) {
                return Some(part);
            }
            let is_jq = self.is(Dialect::Jq);
            let text = Query::Call("to_string", vec![part.repeated()?]);
            if is_jq {
                return Some(text);
            }
            let kinds = Query::literal("[\"string\",\"number\"]");
            let kind = Query::Call("type", vec![part]);
            text.unless(Query::Call("contains", vec![kinds, kind]).not())
        });
        Some(Value::one(joined(printed.collect::<Option<_>>()?)))
    }

    /// A text with expressions in it, each between `open` and `close`.
    pub(super) fn template(&mut self, text: &str, open: &str, close: char) -> Option<Value> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(open) {
            let end = closing(after, close)?;
            if !before.is_empty() {
                parts.push(Query::text(before));
            }
            parts.push(self.embedded(&after[..end])?);
            rest = &after[end + close.len_utf8()..];
            if parts.len() > MAX_PARTS {
                return None;
            }
        }
        if !rest.is_empty() {
            parts.push(Query::text(rest));
        }
        self.odd(Rule::JavaScript);
        match parts.as_slice() {
            [] => Some(Value::one(Query::text(""))),
            _ if self.flipped || self.is(Dialect::Jq) => self.printed(parts),
            _ => Some(Value::one(joined(parts))),
        }
    }

    /// An expression within a text.
    fn embedded(&mut self, text: &str) -> Option<Query> {
        self.fuel = self.fuel.checked_sub(1)?;
        let tokens = Tokens::new(text);
        if tokens.len() > super::super::MAX_TOKENS {
            return None;
        }
        let mut inner = Parser::new(&tokens, self.dialect, self.has_key);
        inner.depth = self.depth + 1;
        inner.fuel = self.fuel;
        inner.flipped = self.flipped;
        inner.scopes.clone_from(&self.scopes);
        let value = inner.piped()?;
        (inner.at == tokens.len() && !value.stream).then_some(value.query)
    }

    /// `/^a/i`
    pub(super) fn regular_expression(&mut self) -> Option<String> {
        let start = self.tokens.get(self.at)?.end;
        let rest = self.tokens.source().get(start..)?;
        let (mut escaped, mut in_class) = (false, false);
        let end = rest.char_indices().find_map(|(at, c)| {
            let ends = c == '/' && !escaped && !in_class;
            match c {
                '[' if !escaped => in_class = true,
                ']' if !escaped => in_class = false,
                _ => {}
            }
            escaped = c == '\\' && !escaped;
            ends.then_some(at)
        })?;
        let pattern = rest.get(..end)?.replace("\\/", "/");
        let after = start + end + 1;
        let mut at = self.at + 1;
        while self.tokens.get(at).is_some_and(|token| token.start < after) {
            at += 1;
        }
        // The last sign stands alone, or a text that begins in the pattern hides what follows.
        if pattern.is_empty() || self.tokens.get(at - 1)?.end != after {
            return None;
        }
        self.at = at;
        let flags = match self.tokens.get(at) {
            Some(token) if token.start == after && self.kind(0) == Kind::Word => self.text(0),
            _ => "",
        };
        if !flags.is_empty() {
            self.at += 1;
        }
        if !flags.chars().all(|flag| "gimsu".contains(flag)) {
            return None;
        }
        let case = if flags.contains('i') { "(?i)" } else { "" };
        Some(format!("{case}{pattern}"))
    }

    /// `/^a/.test(x.name)`
    pub(super) fn tested(&mut self) -> Option<Value> {
        let pattern = self.regular_expression()?;
        if self.kind(0) != Kind::Dot || self.text(1) != "test" || self.kind(2) != Kind::LParen {
            return None;
        }
        self.at += 2;
        let mut arguments = self.arguments()?.into_iter();
        let (Some(Argument::Value(text)), None) = (arguments.next(), arguments.next()) else {
            return None;
        };
        self.odd(Rule::JavaScript);
        Some(Value::one(text.query.matches(Query::text(&pattern))))
    }
}

fn is_text(query: &Query) -> bool {
    match query {
        Query::Constant(text) => text.starts_with('\''),
        Query::Call(name, _) => matches!(*name, "join" | "to_string"),
        Query::Exactly(plain, _) => is_text(plain),
        _ => false,
    }
}

/// Parts one after another; with the same text between all, that as the glue.
pub(in super::super) fn joined(parts: Vec<Query>) -> Query {
    let glue = parts
        .get(1)
        .filter(|glue| is_text(glue) && matches!(glue, Query::Constant(_)));
    let is_regular = glue.is_some_and(|glue| {
        parts.len() % 2 == 1
            && parts.iter().skip(1).step_by(2).all(|part| part == glue)
            && parts
                .iter()
                .step_by(2)
                .all(|part| !matches!(part, Query::Constant(_)))
    });
    match glue.filter(|_| is_regular).cloned() {
        Some(glue) => {
            let values = parts.into_iter().step_by(2).collect();
            Query::Call("join", vec![glue, Query::List(values)])
        }
        None => Query::Call("join", vec![Query::text(""), Query::List(parts)]),
    }
}

/// Where the bracket that closes an expression in a text stands.
fn closing(text: &str, close: char) -> Option<usize> {
    let open = if close == ')' { '(' } else { '{' };
    let (mut depth, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match quote {
            Some(sign) if sign == c => quote = None,
            Some(_) => {}
            None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
            None if c == open => depth += 1,
            None if c == close && depth == 0 => return Some(at),
            None if c == close => depth -= 1,
            None => {}
        }
    }
    None
}
