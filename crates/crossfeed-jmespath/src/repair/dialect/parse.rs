//! Reads an expression of any dialect into a [`Query`].
//!
//! The grammar is one for all: operators of falling power, then paths that begin with a name, a sign, a call or a
//! construction. What only one dialect has is read in it alone. Nothing is read twice, except a stage of jq.

use super::super::{
    Rule,
    edit::{raw_content, spelled, string},
};
use super::{
    call,
    query::{Of, Operator, Query},
};
use crate::error::Dialect;
use crate::token::{Kind, Tokens, decode_quoted, is_identifier};
use crossfeed_json::is_number;

/// How deep brackets, calls and signs may nest.
const MAX_DEPTH: usize = 24;

/// What a name stands for.
enum Scope {
    /// A member of the value, or of the item.
    Fields,
    /// The item, if it is this name; else nothing that a selector can reach.
    Variable(String),
}

/// What a part of the expression gives.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) query: Query,
    /// Whether a path that goes on does so on each item.
    pub(super) stream: bool,
}

impl Value {
    pub(super) fn one(query: Query) -> Self {
        Self {
            query,
            stream: false,
        }
    }

    pub(super) fn of(&self) -> Of {
        if self.stream { Of::Item } else { Of::Whole }
    }
}

/// An argument of a call.
pub(super) enum Argument {
    Value(Value),
    /// `x => x.url`: what it gives for an item.
    Lambda(Query),
    /// `(a, b) => a.score - b.score`
    Order {
        by: Query,
        descending: bool,
    },
    /// `(sum, x) => sum + x.score`
    Sum(Query),
    /// `key=lambda x: x.score`
    Named(String, Box<Argument>),
}

pub(super) struct Parser<'t, 'a, 'k> {
    tokens: &'t Tokens<'a>,
    at: usize,
    depth: usize,
    /// How many more expressions may be read: stages of jq may be read twice.
    fuel: usize,
    pub(super) dialect: Option<Dialect>,
    pub(super) has_key: &'k dyn Fn(&str) -> bool,
    scopes: Vec<Scope>,
    /// What the path of a stage of jq begins with.
    input: Option<Value>,
    /// Whether `map(a, b)` takes the list first.
    pub(super) flipped: bool,
    /// The first thing that is not JMESPath.
    pub(super) rule: Option<Rule>,
    /// Whether projections of JMESPath have been read, which jq does not have.
    collects: bool,
    /// The longest part from the beginning that was read.
    pub(super) understood: Option<Query>,
}

impl<'t, 'a, 'k> Parser<'t, 'a, 'k> {
    pub(super) fn new(
        tokens: &'t Tokens<'a>,
        dialect: Option<Dialect>,
        has_key: &'k dyn Fn(&str) -> bool,
    ) -> Self {
        Self {
            tokens,
            at: 0,
            depth: 0,
            fuel: 1000 + 4 * tokens.len(),
            dialect,
            has_key,
            scopes: Vec::new(),
            input: None,
            flipped: false,
            rule: None,
            collects: false,
            understood: None,
        }
    }

    /// The whole expression.
    pub(super) fn whole(&mut self) -> Option<Query> {
        let query = match self.lambda() {
            // `data => data.items`: a function of the value.
            Some(Some(Argument::Lambda(query))) => query,
            Some(_) => return None,
            None => self.piped()?.query,
        };
        (self.at == self.tokens.len()).then_some(query)
    }

    /// The whole text as a condition on an item.
    pub(super) fn predicate(&mut self) -> Option<Query> {
        self.scopes.push(Scope::Fields);
        self.whole()
    }

    pub(super) fn is(&self, dialect: Dialect) -> bool {
        self.dialect == Some(dialect)
    }

    /// Whether the dialect is a programming language, where paths are those of single values.
    fn is_program(&self) -> bool {
        matches!(
            self.dialect,
            Some(Dialect::JavaScript | Dialect::Python | Dialect::Lodash)
        )
    }

    /// Takes note of something that is not JMESPath; `otherwise` names it where no dialect is known.
    pub(super) fn odd(&mut self, otherwise: Rule) {
        let rule = self.dialect.map_or(otherwise, Dialect::rule);
        self.rule.get_or_insert(rule);
    }

    fn kind(&self, ahead: usize) -> Kind {
        self.tokens.kind(self.at + ahead)
    }

    fn text(&self, ahead: usize) -> &'a str {
        self.tokens.text(self.at + ahead)
    }

    fn is_word(&self, ahead: usize, word: &str) -> bool {
        self.kind(ahead) == Kind::Word && self.text(ahead) == word
    }

    fn eat(&mut self, kind: Kind) -> bool {
        let found = self.kind(0) == kind;
        self.at += usize::from(found);
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(0, word);
        self.at += usize::from(found);
        found
    }

    /// Two equal signs that the tokenizer does not know as one: `//`, `??`.
    fn eat_pair(&mut self, sign: &str) -> bool {
        let found =
            self.text(0) == sign && self.text(1) == sign && self.tokens.touches_next(self.at);
        self.at += 2 * usize::from(found);
        found
    }

    /// Reads something that may nest.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.fuel = self.fuel.checked_sub(1)?;
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn scoped<T>(&mut self, scope: Scope, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.scopes.push(scope);
        let read = read(self);
        self.scopes.pop();
        read
    }

    fn note_understood(&mut self, value: &Value) {
        if self.scopes.is_empty() && self.depth == 1 {
            self.understood = Some(value.query.clone());
        }
    }

    /// A whole expression, or a part in brackets.
    pub(super) fn piped(&mut self) -> Option<Value> {
        self.nested(|parser| {
            let mut value = parser.either()?;
            while parser.eat(Kind::Pipe) {
                value = parser.stage(value)?;
                parser.note_understood(&value);
            }
            Some(value)
        })
    }

    /// What follows a pipe, on what stands before it.
    fn stage(&mut self, mut value: Value) -> Option<Value> {
        // A projection of JMESPath ends at a pipe.
        value.stream &= !self.collects;
        if !self.is(Dialect::Jq) {
            if self.kind(0) == Kind::Word
                && self.kind(1) == Kind::LParen
                && let Some(found) = self.piped_call(&value)
            {
                return found;
            }
            let next = self.scoped(Scope::Fields, Self::either)?;
            return Some(Value {
                query: Query::Pipe(value.query.into(), next.query.into()),
                stream: next.stream,
            });
        }
        let begin = self.at;
        let ends = |parser: &Self| {
            matches!(parser.kind(0), Kind::Pipe | Kind::Comma | Kind::Edge)
                || parser.kind(0).is_closer()
        };
        // A path, or a function, goes on from the value.
        let gone_on = if matches!(self.kind(0), Kind::Dot | Kind::Flatten | Kind::LBracket) {
            self.odd_stage(&value);
            self.input = Some(value.clone());
            let path = match self.kind(0) {
                Kind::LBracket if !matches!(self.kind(1), Kind::Number | Kind::Colon) => None,
                _ => self.postfix(),
            };
            self.input = None;
            path
        } else if self.kind(0) == Kind::Word {
            self.function_stage(&value)
        } else {
            None
        };
        if let Some(gone_on) = gone_on.filter(|_| ends(self)) {
            return Some(gone_on);
        }
        self.at = begin;
        // A word alone is a function of jq, and this one is not known.
        let is_alone = self.kind(1).closes_operand();
        if self.kind(0) == Kind::Word && is_alone && !(self.has_key)(self.text(0)) {
            return None;
        }
        let next = self.scoped(Scope::Fields, Self::either)?;
        if !value.stream {
            return Some(Value {
                query: Query::Pipe(value.query.into(), next.query.into()),
                stream: next.stream,
            });
        }
        if next.stream {
            return None;
        }
        self.odd(Rule::Jq);
        Some(Value {
            query: Query::Sub(value.query.into(), next.query.into()),
            stream: true,
        })
    }

    /// `items | sort_by(&score)`: a function behind a pipe that lacks what it is called on; nothing if it lacks nothing.
    fn piped_call(&mut self, value: &Value) -> Option<Option<Value>> {
        let (begin, name) = (self.at, self.text(0));
        self.at += 1;
        let Some(arguments) = self.scoped(Scope::Fields, Self::arguments) else {
            return Some(None);
        };
        if call::is_complete(name, arguments.len()) {
            self.at = begin;
            return None;
        }
        self.odd(Rule::MethodCall);
        let found = call::method(self, name, Value::one(value.query.clone()), arguments);
        Some(found.and_then(|found| self.path_on(found, begin)))
    }

    /// A pipe after a call or construction is more than the other repairs read.
    fn odd_stage(&mut self, value: &Value) {
        if !matches!(
            value.query,
            Query::Here
                | Query::Field(..)
                | Query::Index(..)
                | Query::Each(_)
                | Query::Values(_)
                | Query::Flat(_)
                | Query::Filter(..)
                | Query::Slice(..)
        ) {
            self.odd(Rule::Jq);
        }
    }

    /// A function of jq as a stage: `select(.id == 3)`, `length`.
    fn function_stage(&mut self, value: &Value) -> Option<Value> {
        let name = self.text(0);
        let has_arguments = self.kind(1) == Kind::LParen;
        if !has_arguments && (!call::STAGES.contains(&name) || (self.has_key)(name)) {
            return None;
        }
        self.at += 1;
        let arguments = if has_arguments {
            self.arguments()?
        } else {
            Vec::new()
        };
        self.odd(Rule::Jq);
        let whole = !value.stream || call::fold(name) == "select";
        let stage = if whole {
            let subject = Value::one(value.query.clone());
            let found = call::method(self, name, subject, arguments)?;
            Value {
                stream: value.stream,
                query: found.query,
            }
        } else {
            let found = call::method(self, name, Value::one(Query::Here), arguments)?;
            Value {
                query: Query::Sub(value.query.clone().into(), found.query.into()),
                stream: true,
            }
        };
        self.path_on(stage, self.at)
    }

    /// A value and what stands for it where it is missing: `//` of jq, `??` of JavaScript.
    fn either(&mut self) -> Option<Value> {
        let mut left = self.any()?;
        loop {
            let is_alternative = match self.dialect {
                Some(Dialect::Jq) => self.eat_pair("/"),
                Some(Dialect::JavaScript) => self.eat_pair("?"),
                _ => false,
            };
            if !is_alternative {
                return Some(left);
            }
            self.odd(Rule::Jq);
            let right = self.right(&left, Self::any)?;
            // jq does not take `false` either.
            let is_condition = self.is(Dialect::Jq)
                && (left.query.is_condition() || right.query == Query::literal("true"));
            left = Value::one(if is_condition {
                Query::Binary(Operator::Or, left.query.into(), right.query.into())
            } else {
                left.query.or_default(right.query)
            });
        }
    }

    fn any(&mut self) -> Option<Value> {
        let mut left = self.both()?;
        while self.eat(Kind::Or) || self.eat_word("or") {
            left = self.operation(Operator::Or, left, Self::both)?;
        }
        Some(left)
    }

    fn both(&mut self) -> Option<Value> {
        let mut left = self.negated()?;
        while self.eat(Kind::And) || self.eat_word("and") {
            left = self.operation(Operator::And, left, Self::negated)?;
        }
        Some(left)
    }

    fn operation(
        &mut self,
        operator: Operator,
        left: Value,
        right: fn(&mut Self) -> Option<Value>,
    ) -> Option<Value> {
        let right = self.right(&left, right)?;
        Some(Value::one(Query::Binary(
            operator,
            left.query.into(),
            right.query.into(),
        )))
    }

    /// The right operand of an operator.
    fn right(&mut self, left: &Value, read: fn(&mut Self) -> Option<Value>) -> Option<Value> {
        self.fuel = self.fuel.checked_sub(1)?;
        let right = read(self)?;
        // jq would combine each value of a stream with each of the other.
        let streams = left.stream || right.stream;
        (!self.is(Dialect::Jq) || !streams).then_some(right)
    }

    /// Python's `not`, which binds looser than a comparison.
    fn negated(&mut self) -> Option<Value> {
        if self.is(Dialect::Python) && self.eat_word("not") {
            let inner = self.nested(Self::negated)?;
            return Some(Value::one(inner.query.not()));
        }
        let left = self.operand()?;
        if let Some(pattern) = self.pattern() {
            self.odd(Rule::JsonPath);
            let pattern = Query::Constant(string(&pattern?));
            return Some(Value::one(left.query.matches(pattern)));
        }
        let Some(operator) = self.comparator() else {
            return self.membership(left);
        };
        self.operation(Operator::Comparison(operator), left, Self::operand)
    }

    /// `=~ /^a/i`; nothing if there is no such sign.
    fn pattern(&mut self) -> Option<Option<String>> {
        if self.kind(0) != Kind::Assign || self.kind(1) != Kind::Tilde || self.text(2) != "/" {
            return None;
        }
        let first = self.at + 3;
        let end = (first..self.tokens.len()).find(|at| self.tokens.text(*at) == "/");
        let Some(end) = end.filter(|end| *end > first) else {
            return Some(None);
        };
        self.at = end + 1;
        let flag = if self.eat_word("i") { "(?i)" } else { "" };
        let pattern = self.tokens.span(first, end - 1);
        Some(pattern.map(|pattern| format!("{flag}{pattern}")))
    }

    fn comparator(&mut self) -> Option<&'static str> {
        let (operator, mut tokens) = match self.kind(0) {
            Kind::Eq => ("==", 1),
            Kind::Ne => ("!=", 1),
            Kind::Lt => ("<", 1),
            Kind::Le => ("<=", 1),
            Kind::Gt => (">", 1),
            Kind::Ge => (">=", 1),
            Kind::Assign if self.kind(1) != Kind::Gt && !self.scopes.is_empty() => ("==", 1),
            Kind::Word if self.is(Dialect::Python) && self.text(0) == "is" => {
                if self.is_word(1, "not") {
                    ("!=", 2)
                } else {
                    ("==", 1)
                }
            }
            _ => return None,
        };
        // `===`
        if matches!(self.kind(0), Kind::Eq | Kind::Ne) && self.kind(1) == Kind::Assign {
            tokens += 1;
        }
        self.at += tokens;
        Some(operator)
    }

    /// Python's `in` and `not in`.
    fn membership(&mut self, left: Value) -> Option<Value> {
        if !self.is(Dialect::Python) {
            return Some(left);
        }
        let negative = self.is_word(0, "not") && self.is_word(1, "in");
        if negative {
            self.at += 1;
        }
        if !self.eat_word("in") {
            return Some(left);
        }
        let list = self.operand()?;
        self.odd(Rule::Python);
        let contains = Query::Call("contains", vec![list.query, left.query]);
        Some(Value::one(if negative { contains.not() } else { contains }))
    }

    fn operand(&mut self) -> Option<Value> {
        if self.eat(Kind::Not) {
            let inner = self.nested(Self::operand)?;
            return Some(Value::one(inner.query.not()));
        }
        if self.eat(Kind::Ampersand) {
            let each = self.nested(|parser| parser.scoped(Scope::Fields, Self::either))?;
            return Some(Value::one(Query::Reference(each.query.into())));
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Option<Value> {
        let begin = self.at;
        let value = self.primary()?;
        self.path_on(value, begin)
    }

    /// The path that goes on from a value, whose text begins at `begin`.
    fn path_on(&mut self, mut value: Value, begin: usize) -> Option<Value> {
        loop {
            self.note_understood(&value);
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
                    let of = value.of();
                    Value {
                        query: Query::Filter(value.query.into(), predicate.query.into(), of),
                        stream: true,
                    }
                }
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
                _ => return Some(value),
            };
        }
    }

    /// `[]`: all items for jq, else a list made flat.
    fn spread(&mut self, value: Value) -> Value {
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
    fn dotted(&mut self, value: Value) -> Option<Value> {
        self.at += 1;
        let stream = value.stream;
        let field = |name: String| Value {
            query: Query::Field(value.query.clone().into(), name),
            stream,
        };
        match self.kind(0) {
            Kind::Word if self.kind(1) == Kind::LParen => {
                let name = self.text(0);
                self.at += 1;
                let arguments = self.arguments()?;
                call::on_value(self, name, value, arguments)
            }
            Kind::Word if self.is_length() => {
                self.at += 1;
                self.odd(Rule::JavaScript);
                call::method(self, "length", value, Vec::new())
            }
            Kind::Word | Kind::Loose | Kind::Quoted => {
                let name = self.name()?;
                Some(field(name))
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
    fn is_length(&self) -> bool {
        self.text(0) == "length"
            && !matches!(
                self.kind(1),
                Kind::Dot | Kind::LBracket | Kind::Filter | Kind::Flatten
            )
            && !matches!(self.dialect, Some(Dialect::Jq | Dialect::Python))
            && !(self.has_key)("length")
    }

    /// A name as JMESPath spells it. As long as the dialect is not known, it stays as it is written, for the other
    /// repairs.
    fn name(&mut self) -> Option<String> {
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
    fn is_subscript(&self) -> bool {
        match self.kind(1) {
            Kind::Number => matches!(self.kind(2), Kind::RBracket | Kind::Colon),
            Kind::Star => self.kind(2) == Kind::RBracket,
            Kind::Colon => true,
            _ => false,
        }
    }

    fn subscripted(&mut self, value: Value, begin: usize) -> Option<Value> {
        if let Some(at) = self.counted_back(begin) {
            self.odd(Rule::JavaScript);
            return Some(self.indexed(value, at));
        }
        match (self.kind(1), self.kind(2)) {
            (Kind::Word, Kind::LParen)
                if self.text(1) == "last"
                    && self.kind(3) == Kind::RParen
                    && self.kind(4) == Kind::RBracket =>
            {
                self.at += 5;
                self.odd(Rule::XPath);
                Some(self.indexed(value, -1))
            }
            (Kind::Number, Kind::RBracket) => {
                let at = self.text(1).parse().ok()?;
                self.at += 3;
                Some(self.indexed(value, at))
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

    fn indexed(&self, value: Value, at: i64) -> Value {
        let of = value.of();
        Value {
            query: Query::Index(value.query.into(), at, of),
            stream: value.stream,
        }
    }

    /// `[items.length - 1]`, `[(@.length-1)]` and `[len(items) - 1]` on `items`, whose text begins at `begin`: the index
    /// from the end.
    fn counted_back(&mut self, begin: usize) -> Option<i64> {
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
    fn sliced(&mut self, value: Value) -> Option<Value> {
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
        let of = value.of();
        let stream = value.stream || !(self.is_program() || self.is(Dialect::Jq));
        Some(Value {
            query: Query::Slice(value.query.into(), bounds, of),
            stream,
        })
    }

    /// JSONPath's `[0,1]` and `['a','b']`.
    fn union(&mut self, value: Value) -> Option<Value> {
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
        Some(Value {
            query: Query::Sub(value.query.into(), Query::List(parts).into()),
            stream: value.stream,
        })
    }

    /// The decoded text of the string that is `ahead`.
    fn content(&self, ahead: usize) -> Option<String> {
        let index = self.at + ahead;
        match self.tokens.kind(index) {
            Kind::Raw => raw_content(self.tokens, index),
            Kind::Quoted => decode_quoted(self.tokens.text(index)),
            _ => None,
        }
    }

    fn is_json_literal(&self) -> bool {
        let content = self.tokens.content(self.at);
        content.is_some_and(|json| jmespath::Variable::from_json(json).is_ok())
    }

    fn primary(&mut self) -> Option<Value> {
        let text = self.text(0);
        match self.kind(0) {
            Kind::Dot => Some(self.input.take().unwrap_or_else(|| Value::one(Query::Here))),
            Kind::LBracket | Kind::Flatten | Kind::Filter if self.input.is_some() => {
                self.input.take()
            }
            Kind::Dollar if self.scopes.is_empty() => {
                self.at += 1;
                Some(Value::one(Query::Here))
            }
            Kind::At => {
                self.at += 1;
                Some(Value::one(Query::Here))
            }
            Kind::Star => {
                self.at += 1;
                Some(Value {
                    query: Query::Values(Query::Here.into()),
                    stream: true,
                })
            }
            Kind::Number => {
                self.at += 1;
                is_number(text).then(|| Value::one(Query::literal(text)))
            }
            // A template of JavaScript, or no JSON.
            Kind::Literal if self.dialect.is_some() && !self.is_json_literal() => None,
            Kind::Literal => {
                self.at += 1;
                Some(Value::one(Query::Constant(text.to_owned())))
            }
            Kind::Quoted if self.dialect.is_none() => {
                self.at += 1;
                let field = Query::Field(Query::Here.into(), text.to_owned());
                Some(Value::one(field))
            }
            Kind::Raw if self.dialect.is_none() => {
                self.at += 1;
                Some(Value::one(Query::Constant(text.to_owned())))
            }
            Kind::Raw | Kind::Quoted => {
                let content = self.content(0)?;
                self.at += 1;
                Some(Value::one(Query::Constant(string(&content))))
            }
            Kind::LParen => {
                self.at += 1;
                let inner = match self.comprehension(Kind::RParen) {
                    Some(found) => found?,
                    None => self.piped()?,
                };
                self.eat(Kind::RParen).then_some(inner)
            }
            Kind::LBracket if !self.is_subscript() => {
                self.at += 1;
                self.list()
            }
            Kind::Flatten if matches!(self.kind(1), Kind::RParen | Kind::Comma) => {
                self.at += 1;
                Some(Value::one(Query::literal("[]")))
            }
            // A subscript on the value itself.
            Kind::LBracket | Kind::Flatten | Kind::Filter => Some(Value::one(Query::Here)),
            Kind::LBrace if self.kind(1) == Kind::RBrace => {
                self.at += 2;
                Some(Value::one(Query::literal("{}")))
            }
            Kind::LBrace => self.hash().map(Value::one),
            Kind::Word | Kind::Loose => self.word(),
            _ => None,
        }
    }

    fn word(&mut self) -> Option<Value> {
        let text = self.text(0);
        let is_constant = self.dialect.is_some() || !(self.has_key)(text);
        let constant = match text {
            "true" | "false" | "null" => Some(text),
            "True" if is_constant => Some("true"),
            "False" if is_constant => Some("false"),
            "None" | "undefined" | "nil" if self.dialect.is_some() => Some("null"),
            _ => None,
        };
        let is_alone = !matches!(
            self.kind(1),
            Kind::LParen | Kind::Dot | Kind::LBracket | Kind::Flatten | Kind::Filter
        );
        if let Some(constant) = constant.filter(|_| is_alone) {
            self.at += 1;
            return Some(Value::one(Query::literal(constant)));
        }
        if self.kind(1) == Kind::LParen && self.kind(0) == Kind::Word {
            self.at += 1;
            let arguments = self.arguments()?;
            return call::free(self, text, arguments);
        }
        let is_module = matches!(
            text,
            "Object" | "Math" | "JSON" | "Array" | "Number" | "String" | "json" | "math" | "_"
        );
        if is_module
            && self.kind(1) == Kind::Dot
            && self.tokens.is_call(self.at + 2)
            && self.dialect.is_some()
        {
            let name = self.text(2);
            self.at += 3;
            let arguments = self.arguments()?;
            self.odd(Rule::JavaScript);
            return call::free(self, name, arguments);
        }
        if let Some(Scope::Variable(variable)) = self.scopes.last() {
            if variable != text {
                return None;
            }
            self.at += 1;
            return Some(Value::one(Query::Here));
        }
        if self.is_root_word(text) {
            self.at += 1;
            return Some(Value::one(Query::Here));
        }
        if self.tokens.len() == 1 && text == "length" && !(self.has_key)(text) {
            self.at += 1;
            self.odd(Rule::JavaScript);
            return Some(Value::one(Query::Call("length", vec![Query::Here])));
        }
        if self.is(Dialect::Jq) && is_alone && call::STAGES.contains(&text) && !(self.has_key)(text)
        {
            self.at += 1;
            self.odd(Rule::Jq);
            return call::method(self, text, Value::one(Query::Here), Vec::new());
        }
        let name = self.name()?;
        Some(Value::one(Query::Field(Query::Here.into(), name)))
    }

    /// Whether a program calls the whole value by this name.
    fn is_root_word(&self, text: &str) -> bool {
        let is_usual = matches!(
            text,
            "result"
                | "results"
                | "response"
                | "data"
                | "output"
                | "res"
                | "json"
                | "obj"
                | "value"
        );
        is_usual && self.is_program() && self.scopes.is_empty() && !(self.has_key)(text)
    }

    /// A list behind its opening bracket; for jq the values of a stream.
    fn list(&mut self) -> Option<Value> {
        if let Some(found) = self.comprehension(Kind::RBracket) {
            let found = found?;
            return self.eat(Kind::RBracket).then_some(found);
        }
        let mut items = Vec::new();
        // `[...items]` is a copy.
        if self.eat_spread() {
            let copied = self.piped()?;
            return self.eat(Kind::RBracket).then(|| Value::one(copied.query));
        }
        loop {
            let item = self.piped()?;
            if self.is(Dialect::Jq) && item.stream {
                let alone = items.is_empty() && self.eat(Kind::RBracket);
                self.odd(Rule::Jq);
                return alone.then(|| Value::one(item.query));
            }
            items.push(item.query);
            if self.eat(Kind::RBracket) {
                return Some(Value::one(Query::List(items)));
            }
            if !self.eat(Kind::Comma) {
                return None;
            }
        }
    }

    /// `x.url for x in items if x.score > 1`, up to the bracket `closer`; nothing if there is no `for`.
    fn comprehension(&mut self, closer: Kind) -> Option<Option<Value>> {
        if !self.is(Dialect::Python) {
            return None;
        }
        let mut open = 0_usize;
        let mut ahead = 0;
        loop {
            let kind = self.kind(ahead);
            if kind == Kind::Edge || open == 0 && (kind == closer || kind == Kind::Comma) {
                return None;
            }
            if open == 0 && self.is_word(ahead, "for") {
                break;
            }
            if kind.is_opener() {
                open += 1;
            } else if kind.is_closer() {
                open = open.checked_sub(1)?;
            }
            ahead += 1;
        }
        Some(self.nested(|parser| parser.comprehended(ahead)))
    }

    fn comprehended(&mut self, ahead: usize) -> Option<Value> {
        let body = self.at;
        self.at += ahead;
        let mut list = Query::Here;
        let mut scope = None;
        while self.eat_word("for") {
            let variable = self.text(0).to_owned();
            if !is_identifier(&variable) {
                return None;
            }
            self.at += 1;
            if !self.eat_word("in") {
                return None;
            }
            let source = match scope.replace(variable.clone()) {
                None => self.either()?.query,
                Some(outer) => {
                    let inner = self.scoped(Scope::Variable(outer), Self::either)?;
                    Query::Flat(list.map(inner.query).into())
                }
            };
            list = source;
            while self.eat_word("if") {
                let variable = Scope::Variable(variable.clone());
                list = list.filter(self.scoped(variable, Self::either)?.query);
            }
        }
        if self.scopes.is_empty() {
            self.understood = Some(list.clone());
        }
        let end = self.at;
        self.at = body;
        let each = self.scoped(Scope::Variable(scope?), Self::either)?;
        if self.at != body + ahead {
            return None;
        }
        self.at = end;
        self.odd(Rule::Python);
        Some(Value::one(if each.query == Query::Here {
            list
        } else {
            list.map(each.query)
        }))
    }

    fn hash(&mut self) -> Option<Query> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            let name = match self.kind(0) {
                Kind::Word | Kind::Loose => self.text(0).to_owned(),
                Kind::Raw | Kind::Quoted => self.content(0)?,
                _ => return None,
            };
            let key = spelled(&name);
            let is_raw = self.kind(0) == Kind::Raw;
            let assigns = self.kind(1) == Kind::Assign && self.kind(2) != Kind::Gt;
            let value = if assigns || self.kind(1) == Kind::Colon {
                if assigns || is_raw {
                    self.odd(Rule::MemberName);
                }
                self.at += 2;
                self.piped()?
            } else {
                // `{name}` names a member of the item.
                if is_raw || matches!(self.scopes.last(), Some(Scope::Variable(_))) {
                    return None;
                }
                self.at += 1;
                self.odd(Rule::MemberName);
                Value::one(Query::Here.field(&name))
            };
            if self.is(Dialect::Jq) && value.stream {
                return None;
            }
            members.push((key, value.query));
            if self.eat(Kind::RBrace) {
                return Some(Query::Hash(members));
            }
            if !self.eat(Kind::Comma) {
                return None;
            }
            if self.eat(Kind::RBrace) {
                self.odd(Rule::Comma);
                return Some(Query::Hash(members));
            }
        }
    }

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

    fn argument(&mut self) -> Option<Argument> {
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

    fn is_identifier(&self, ahead: usize) -> bool {
        self.kind(ahead) == Kind::Word
    }

    /// `...`
    fn eat_spread(&mut self) -> bool {
        let found = self.kind(0) == Kind::DotDot && self.kind(1) == Kind::Dot;
        self.at += 2 * usize::from(found);
        found
    }

    /// The sign in front of a key by which items are sorted from the largest.
    fn eat_minus(&mut self) -> bool {
        let found = self.kind(0) == Kind::Unknown && self.text(0) == "-";
        self.at += usize::from(found);
        found
    }

    fn is_arrow(&self, ahead: usize) -> bool {
        self.kind(ahead) == Kind::Assign && self.kind(ahead + 1) == Kind::Gt
    }

    /// `x => x.url`, `(x, i) => x.url`, `({url}) => url`, `lambda x: x["url"]`; nothing if there is no function.
    fn lambda(&mut self) -> Option<Option<Argument>> {
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
    fn destructured(&mut self) -> Option<Option<Argument>> {
        if self.kind(1) != Kind::LBrace {
            return None;
        }
        let mut ahead = 2;
        while self.is_identifier(ahead) {
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
        Some(self.body(Scope::Fields))
    }

    fn body(&mut self, scope: Scope) -> Option<Argument> {
        // A brace begins statements.
        if self.kind(0) == Kind::LBrace && !self.is(Dialect::Python) {
            return None;
        }
        let falls = self.eat_minus();
        let body = self.scoped(scope, Self::either)?;
        self.odd(Rule::JavaScript);
        Some(ordered(body, falls, |body| Argument::Lambda(body.query)))
    }

    /// The body of a function of two items that sorts or adds.
    fn pairwise(&mut self, first: &str, second: &str) -> Option<Argument> {
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
        } else {
            let (left, right) = two_sides(&body)?;
            let (by, descending) = match (path(left, first), path(right, second)) {
                (Some(left), Some(right)) if left == right => (left, false),
                _ => (
                    path(left, second).filter(|by| path(right, first).as_ref() == Some(by))?,
                    true,
                ),
            };
            Argument::Order { by, descending }
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
        };
    }
    otherwise(value)
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
