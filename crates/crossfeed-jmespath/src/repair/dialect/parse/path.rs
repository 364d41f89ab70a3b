//! Paths that go on from a value: members, subscripts, slices, filters.

use super::super::super::{
    Rule,
    edit::{quoted, raw_content, spelled},
};
use super::super::{
    call,
    method::{self, is_plain_path},
    query::{Of, Query},
    stream::{on_each, then},
};
use super::{Parser, Scope, Value};
use crate::{
    error::Dialect,
    token::{Kind, decode_quoted},
};

impl<'a> Parser<'_, 'a, '_> {
    pub(super) fn postfix(&mut self) -> Option<Value> {
        let begin = self.at;
        let value = self.primary()?;
        self.path_on(value, begin)
    }

    /// The path that goes on from a value, whose text begins at `begin`.
    pub(super) fn path_on(&mut self, mut value: Value, begin: usize) -> Option<Value> {
        loop {
            self.note_understood(&value);
            if matches!(self.kind(0), Kind::LBracket | Kind::Flatten | Kind::Filter) {
                value.query = value.query.opened();
            }
            value = match self.kind(0) {
                Kind::Dot => self.dotted(value)?,
                Kind::LBracket => self.subscripted(value, begin)?,
                Kind::Flatten => {
                    self.at += 1;
                    self.spread(value)
                }
                Kind::Filter => {
                    self.at += 1;
                    self.collects = true;
                    let predicate = self.scoped(Scope::Fields, Self::piped)?;
                    if !self.eat(Kind::RBracket) {
                        return None;
                    }
                    if self.is(Dialect::JsonPath) && predicate.query.takes_for_true() {
                        self.odd(Rule::JsonPath);
                    }
                    // A filter behind a filter is on the same list, for JMESPath also with a path between them.
                    let of = match &value.query {
                        Query::Filter(..) => Of::Whole,
                        path if self.dialect.is_none() && path.is_of_filter() => Of::Whole,
                        _ => value.of(),
                    };
                    Value {
                        query: Query::Filter(value.query.into(), predicate.query.into(), of),
                        stream: true,
                    }
                }
                Kind::Unknown if self.is_pair("?") => return Some(value),
                Kind::Unknown if self.text(0) == "?" && self.tokens.touches_next(self.at) => {
                    match self.dialect {
                        Some(Dialect::JavaScript) if self.kind(1) == Kind::Dot => {
                            self.at += 1;
                            self.odd(Rule::JavaScript);
                            value
                        }
                        Some(Dialect::Jq) => {
                            self.at += 1;
                            self.odd(Rule::Jq);
                            value
                        }
                        _ => return Some(value),
                    }
                }
                Kind::Unknown if self.text(0) == "?" && self.is(Dialect::Jq) => {
                    self.at += 1;
                    self.odd(Rule::Jq);
                    value
                }
                Kind::Tilde if self.is(Dialect::JsonPath) && !value.stream => {
                    self.at += 1;
                    self.odd(Rule::JsonPath);
                    Value::one(Query::Call("keys", vec![value.query]))
                }
                _ => return Some(value),
            };
        }
    }

    /// `[]`: all items for jq, else a list made flat.
    pub(super) fn spread(&mut self, value: Value) -> Value {
        if self.is(Dialect::Jq) {
            self.odd(Rule::Jq);
        }
        let query = if self.is(Dialect::Jq) && self.flipped {
            Query::Values(value.query.into())
        } else if self.is(Dialect::Jq) && !value.stream {
            Query::Each(value.query.into())
        } else {
            Query::Flat(value.query.into())
        };
        Value {
            query,
            stream: true,
        }
    }

    /// A dot and what follows it.
    pub(super) fn dotted(&mut self, value: Value) -> Option<Value> {
        self.at += 1;
        let stream = value.stream;
        let field = |name: String| {
            let query = if value.query.may_be_empty() && !stream {
                then(&value.query, &Query::Field(Query::Here.into(), name))?
            } else {
                Query::Field(value.query.clone().opened().into(), name)
            };
            Some(Value { query, stream })
        };
        match self.kind(0) {
            Kind::Word if self.kind(1) == Kind::LParen => {
                let name = self.text(0);
                self.at += 1;
                let arguments = self.arguments()?;
                call::on_value(self, name, value, arguments)
            }
            Kind::Word if self.is_length(stream) => {
                let name = self.text(0);
                self.at += 1;
                self.odd(Rule::JavaScript);
                // An object of JavaScript has no length.
                let may_be_object = (self.has_key)(name)
                    || name == "length"
                        && self.is(Dialect::JavaScript)
                        && is_plain_path(&value.query);
                let is_member = may_be_object && !value.stream;
                let object = is_member.then(|| value.query.repeated()).flatten();
                let counted = method::method(self, "length", value, Vec::new())?;
                match object {
                    // It may be a member of an object.
                    Some(object) => {
                        let kind = Query::Call("type", vec![object.repeated()?]);
                        let is_object = kind.compare("==", Query::text("object"));
                        let exact = Query::Choice(
                            is_object.into(),
                            // In quotes, it is not read as a count again.
                            Query::Field(object.into(), quoted(name)).into(),
                            counted.query.repeated()?.into(),
                        );
                        let counted = Query::Exactly(counted.query.into(), exact.into());
                        Some(Value::one(counted))
                    }
                    None => Some(counted),
                }
            }
            Kind::Word | Kind::Loose | Kind::Quoted => {
                let name = self.name()?;
                field(name)
            }
            Kind::Star => {
                self.at += 1;
                Some(Value {
                    query: Query::Values(value.query.into()),
                    stream: true,
                })
            }
            Kind::LBrace => {
                let hash = self.scoped(Scope::Fields, Self::hash)?;
                Some(Value {
                    query: Query::Sub(value.query.into(), hash.into()),
                    stream,
                })
            }
            Kind::LBracket if !self.is_subscript() && self.dialect.is_none() => {
                self.at += 1;
                let list = self.scoped(Scope::Fields, Self::list)?;
                Some(Value {
                    query: Query::Sub(value.query.into(), list.query.into()),
                    stream,
                })
            }
            Kind::LBracket | Kind::Flatten | Kind::Filter => Some(value),
            kind if kind.closes_operand() && value.query == Query::Here => Some(value),
            Kind::Unknown if self.is(Dialect::Jq) && value.query == Query::Here => Some(value),
            _ => None,
        }
    }

    /// Whether the word here is the property that counts items, at the end of a path.
    pub(super) fn is_length(&self, stream: bool) -> bool {
        matches!(self.text(0), "length" | "size" | "count")
            && !matches!(
                self.kind(1),
                Kind::Dot | Kind::LBracket | Kind::Filter | Kind::Flatten
            )
            && !matches!(self.dialect, Some(Dialect::Jq | Dialect::Python))
            && (self.text(0) == "length" && !stream || !(self.has_key)(self.text(0)))
    }

    /// A name as JMESPath spells it. As long as the dialect is not known, it stays as it is written, for the other
    /// repairs.
    pub(super) fn name(&mut self) -> Option<String> {
        let text = self.text(0);
        let name = match self.kind(0) {
            Kind::Quoted if self.dialect.is_some() => spelled(&decode_quoted(text)?),
            Kind::Loose if self.dialect.is_some() => spelled(text),
            _ => text.to_owned(),
        };
        self.at += 1;
        Some(name)
    }

    /// Whether the bracket here is a subscript with an index, a slice or a star.
    pub(super) fn is_subscript(&self) -> bool {
        match self.kind(1) {
            Kind::Number => {
                matches!(self.kind(2), Kind::RBracket | Kind::Colon) && !self.is_list_of_number()
            }
            Kind::Star => self.kind(2) == Kind::RBracket,
            Kind::Colon => true,
            _ => false,
        }
    }

    /// Whether `[2]` is a list here: the operand of a program or of jq, which no value stands in front of.
    pub(super) fn is_list_of_number(&self) -> bool {
        let is_index = [self.kind(0), self.kind(1), self.kind(2)]
            == [Kind::LBracket, Kind::Number, Kind::RBracket];
        let has_lists = matches!(
            self.dialect,
            Some(Dialect::Jq | Dialect::JavaScript | Dialect::Python | Dialect::Lodash)
        );
        let before = self.tokens.behind(self.at, 1);
        let is_operand = before.is_comparator()
            || matches!(before, Kind::LParen | Kind::Comma | Kind::Colon)
            || before == Kind::Word && self.tokens.text(self.at - 1) == "in";
        // `map([0].url)` is a path.
        let goes_on = match self.kind(3) {
            Kind::Dot => !self.tokens.is_call(self.at + 4),
            kind => kind == Kind::LBracket,
        };
        is_index && has_lists && is_operand && !goes_on
    }

    pub(super) fn subscripted(&mut self, value: Value, begin: usize) -> Option<Value> {
        if let Some(at) = self.counted_back(begin) {
            self.odd(Rule::JavaScript);
            return self.indexed(value, at);
        }
        match (self.kind(1), self.kind(2)) {
            (Kind::Word, Kind::LParen)
                if self.text(1) == "last"
                    && self.kind(3) == Kind::RParen
                    && self.kind(4) == Kind::RBracket =>
            {
                self.at += 5;
                self.odd(Rule::XPath);
                self.indexed(value, -1)
            }
            (Kind::Number, Kind::RBracket) => {
                let at = self.text(1).parse().ok()?;
                self.at += 3;
                self.indexed(value, at)
            }
            (Kind::Star, Kind::RBracket) if self.is(Dialect::JsonPath) && self.flipped => {
                self.at += 3;
                self.odd(Rule::JsonPath);
                Some(Value {
                    query: Query::Values(value.query.into()),
                    stream: true,
                })
            }
            (Kind::Star, Kind::RBracket) => {
                self.at += 3;
                self.collects = true;
                Some(Value {
                    query: Query::Each(value.query.into()),
                    stream: true,
                })
            }
            (Kind::Colon, _) | (Kind::Number, Kind::Colon) => self.sliced(value),
            (Kind::Raw | Kind::Quoted, Kind::RBracket)
                if self.dialect.is_some() || !value.stream =>
            {
                let name = self.content(1)?;
                self.at += 3;
                if self.is(Dialect::Jq) {
                    // A list of fields for JMESPath.
                    self.odd(Rule::Jq);
                }
                Some(Value {
                    query: value.query.field(&name),
                    stream: value.stream,
                })
            }
            (Kind::Number | Kind::Raw, Kind::Comma) if self.is(Dialect::JsonPath) => {
                self.union(value)
            }
            _ => None,
        }
    }

    pub(super) fn indexed(&self, value: Value, at: i64) -> Option<Value> {
        self.taken(value, |query, of| Query::Index(query.into(), at, of))
    }

    /// A subscript on a value, or on each of a stream.
    fn taken(&self, value: Value, subscript: impl Fn(Query, Of) -> Query) -> Option<Value> {
        let of = value.of();
        // The items of a stream of jq may be lists that a stage gave.
        let query = if value.query.may_be_empty() && !value.stream {
            then(&value.query, &subscript(Query::Here, Of::Whole))?
        } else if value.stream && self.is(Dialect::Jq) {
            on_each(value.query, &subscript(Query::Here, Of::Whole))?
        } else {
            subscript(value.query, of)
        };
        Some(Value {
            query,
            stream: value.stream,
        })
    }

    /// `[items.length - 1]`, `[(@.length-1)]` and `[len(items) - 1]` on `items`, whose text begins at `begin`: the index
    /// from the end.
    pub(super) fn counted_back(&mut self, begin: usize) -> Option<i64> {
        let closer = (1..16).find(|ahead| self.kind(*ahead) == Kind::RBracket)?;
        let squeezed = |from: usize, to: usize| {
            let text = self.tokens.span(from, to).unwrap_or_default();
            text.replace([' ', '(', ')'], "")
        };
        let inside = squeezed(self.at + 1, (self.at + closer).checked_sub(1)?);
        let (counted, back) = inside.rsplit_once('-')?;
        let back: i64 = back.parse().ok().filter(|back| *back > 0)?;
        let list = counted
            .strip_suffix(".length")
            .or_else(|| counted.strip_prefix("len"))?;
        let own = squeezed(begin, self.at.checked_sub(1)?);
        if list != "@" && list != own {
            return None;
        }
        self.at += closer + 1;
        Some(-back)
    }

    /// `[1:5]`, `[:3]`, `[::2]`.
    pub(super) fn sliced(&mut self, value: Value) -> Option<Value> {
        let mut bounds = String::new();
        self.at += 1;
        let mut colons = 0;
        loop {
            match self.kind(0) {
                Kind::Number => {
                    let _: i64 = self.text(0).parse().ok()?;
                    bounds.push_str(self.text(0));
                    if self.kind(1) == Kind::Number {
                        return None;
                    }
                }
                Kind::Colon if colons < 2 => {
                    colons += 1;
                    bounds.push(':');
                }
                Kind::RBracket => break,
                _ => return None,
            }
            self.at += 1;
        }
        self.at += 1;
        if self.is(Dialect::Jq) {
            // A projection for JMESPath.
            self.odd(Rule::Jq);
        }
        let stream = value.stream || !(self.is_program() || self.is(Dialect::Jq));
        let slice = |query: Query, of| Query::Slice(query.into(), bounds.clone(), of);
        let sliced = self.taken(value, slice)?;
        Some(Value { stream, ..sliced })
    }

    /// JSONPath's `[0,1]` and `['a','b']`.
    pub(super) fn union(&mut self, value: Value) -> Option<Value> {
        let mut parts = Vec::new();
        while !self.eat(Kind::RBracket) {
            self.at += 1;
            parts.push(match self.kind(0) {
                Kind::Number => Query::Here.index(self.text(0).parse().ok()?),
                Kind::Raw | Kind::Quoted => Query::Here.field(&self.content(0)?),
                _ => return None,
            });
            self.at += 1;
            if !matches!(self.kind(0), Kind::Comma | Kind::RBracket) {
                return None;
            }
        }
        self.odd(Rule::JsonPath);
        let parts = Query::Sub(value.query.into(), Query::List(parts).into());
        Some(Value {
            // All that is found is one list.
            query: if value.stream {
                Query::Flat(parts.into())
            } else {
                parts
            },
            stream: value.stream,
        })
    }

    /// The decoded text of the string that is `ahead`.
    pub(super) fn content(&self, ahead: usize) -> Option<String> {
        let index = self.at + ahead;
        match self.tokens.kind(index) {
            Kind::Raw => raw_content(self.tokens, index),
            Kind::Quoted => decode_quoted(self.tokens.text(index)),
            _ => None,
        }
    }

    pub(super) fn is_json_literal(&self) -> bool {
        let content = self.tokens.content(self.at);
        content.is_some_and(|json| jmespath::Variable::from_json(json).is_ok())
    }
}
