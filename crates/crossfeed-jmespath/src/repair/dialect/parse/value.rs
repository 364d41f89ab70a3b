//! What a path begins with: names, constants, lists, comprehensions, objects.

use super::super::super::{
    Rule,
    edit::{spelled, string},
};
use super::super::{call, method, query::Query};
use super::{Parser, Scope, Value, chosen};
use crate::{
    error::Dialect,
    token::{Kind, is_identifier},
};
use crossfeed_json::is_number;

impl<'a> Parser<'_, 'a, '_> {
    pub(super) fn primary(&mut self) -> Option<Value> {
        let text = self.text(0);
        match self.kind(0) {
            Kind::Dot => Some(self.input.take().unwrap_or_else(|| Value::one(Query::Here))),
            Kind::LBracket | Kind::Flatten | Kind::Filter
                if self.input.is_some() && !self.is_list_of_number() =>
            {
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
            Kind::Literal if text.contains("${") && !self.is_json_literal() => {
                let content = self.tokens.content(self.at)?;
                self.at += 1;
                self.template(content, "${", '}')
            }
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
            Kind::Quoted if self.is(Dialect::Jq) && text.contains("\\(") => {
                let content = self.tokens.content(self.at)?;
                self.at += 1;
                self.template(content, "\\(", ')')
            }
            Kind::Raw | Kind::Quoted => {
                let content = self.content(0)?;
                if self.kind(0) == Kind::Quoted {
                    // A name for JMESPath.
                    self.odd(Rule::JsonPath);
                }
                self.at += 1;
                Some(Value::one(Query::Constant(string(&content))))
            }
            Kind::Unknown if text == "/" && self.is(Dialect::JavaScript) => self.tested(),
            Kind::LParen => {
                self.at += 1;
                let inner = match self.comprehension(Kind::RParen) {
                    Some(found) => found?,
                    None => self.piped()?,
                };
                if self.is(Dialect::Python) && self.kind(0) == Kind::Comma {
                    return self.tuple(inner);
                }
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

    pub(super) fn word(&mut self) -> Option<Value> {
        let text = self.text(0);
        if self.is(Dialect::Python)
            && text == "f"
            && matches!(self.kind(1), Kind::Raw | Kind::Quoted)
            && self.tokens.touches_next(self.at)
        {
            let content = self.content(1)?;
            self.at += 2;
            return self.template(&content, "{", '}');
        }
        if self.is(Dialect::Jq) && text == "if" {
            return self.conditional();
        }
        if self.is(Dialect::Jq) && text == "empty" && self.kind(1) != Kind::LParen {
            self.at += 1;
            self.odd(Rule::Jq);
            return Some(Value::one(Query::empty()));
        }
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
            let value = call::free(self, name, arguments)?;
            return if text == "Math" {
                of_numbers(value)
            } else {
                Some(value)
            };
        }
        // `Math.max.apply(null, list)`
        if text == "Math" && self.text(4) == "apply" && self.tokens.is_call(self.at + 4) {
            let name = self.text(2);
            self.at += 5;
            let arguments = self.arguments()?;
            self.odd(Rule::JavaScript);
            return of_numbers(call::free(
                self,
                name,
                arguments.into_iter().skip(1).collect(),
            )?);
        }
        let named = match self.scopes.last() {
            Some(Scope::Variable(variable)) => Some((variable == text).then_some(Query::Here)),
            Some(Scope::Names(names)) => {
                let is_known = names.iter().any(|name| name == text);
                Some(is_known.then(|| Query::Here.field(text)))
            }
            Some(Scope::Pair(key, value)) => Some(match text {
                _ if text == key => Some(Query::Here.field("key")),
                _ if text == value => Some(Query::Here.field("value")),
                _ => None,
            }),
            Some(Scope::Fields) | None => None,
        };
        if let Some(named) = named {
            self.at += 1;
            return named.map(Value::one);
        }
        if self.is_called_text() {
            self.at += 1;
            self.odd(Rule::MethodCall);
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
        if self.is(Dialect::Jq) && is_alone && self.is_stage(text) {
            self.at += 1;
            self.odd(Rule::Jq);
            return method::method(self, text, Value::one(Query::Here), Vec::new());
        }
        let name = self.name()?;
        Some(Value::one(Query::Field(Query::Here.into(), name)))
    }

    /// `text.splitlines()`: a method of texts on what is no member of the value.
    fn is_called_text(&self) -> bool {
        let text = self.text(0);
        matches!(
            text,
            "text" | "content" | "stdout" | "output" | "body" | "log" | "result" | "response" | "s"
        ) && self.scopes.is_empty()
            && !(self.has_key)(text)
            && self.kind(1) == Kind::Dot
            && self.tokens.is_call(self.at + 2)
            && matches!(self.text(2), "split" | "splitlines" | "lines")
    }

    /// Whether it is a name for the whole text, which is no member of the value.
    pub(in super::super) fn is_called_whole(&self, query: &Query) -> bool {
        let Query::Field(base, name) = query else {
            return false;
        };
        let is_usual = matches!(
            name.as_str(),
            "text"
                | "content"
                | "body"
                | "result"
                | "response"
                | "output"
                | "data"
                | "s"
                | "raw"
                | "stdout"
        );
        is_usual && **base == Query::Here && !(self.has_key)(name)
    }

    /// jq's `if a then b else c end`.
    fn conditional(&mut self) -> Option<Value> {
        self.at += 1;
        let condition = self.piped()?;
        let then = self.eat_word("then").then(|| self.piped())??;
        let otherwise = if self.is_word(0, "elif") {
            self.nested(Self::conditional)?
        } else {
            let otherwise = if self.eat_word("else") {
                self.piped()?
            } else {
                Value::one(Query::Here)
            };
            self.eat_word("end").then_some(otherwise)?
        };
        self.odd(Rule::Jq);
        let streams = condition.stream || then.stream || otherwise.stream;
        (!streams).then(|| chosen(condition, then, otherwise))
    }

    /// `('a', 'b')`, behind its first element.
    fn tuple(&mut self, first: Value) -> Option<Value> {
        let mut items = vec![first.query];
        while self.eat(Kind::Comma) {
            if self.kind(0) == Kind::RParen {
                break;
            }
            items.push(self.nested(Self::either)?.query);
        }
        self.eat(Kind::RParen)
            .then(|| Value::one(Query::List(items)))
    }

    /// Whether a program calls the whole value by this name.
    pub(super) fn is_root_word(&self, text: &str) -> bool {
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
    pub(super) fn list(&mut self) -> Option<Value> {
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
    pub(super) fn comprehension(&mut self, closer: Kind) -> Option<Option<Value>> {
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

    pub(super) fn comprehended(&mut self, ahead: usize) -> Option<Value> {
        let body = self.at;
        self.at += ahead;
        let mut list = Query::Here;
        let (mut scope, mut pair) = (None, None);
        while self.eat_word("for") {
            let variable = self.text(0).to_owned();
            if !is_identifier(&variable) {
                return None;
            }
            self.at += 1;
            // `for key, value in d.items()`
            if self.eat(Kind::Comma) {
                pair = Some(Scope::Pair(variable.clone(), self.text(0).to_owned()));
                self.at += 1;
            }
            if !self.eat_word("in") || pair.is_some() && scope.is_some() {
                return None;
            }
            let source = match scope.replace(variable.clone()) {
                None => self.any()?.query,
                Some(outer) => {
                    let inner = self.scoped(Scope::Variable(outer), Self::any)?;
                    Query::Flat(list.map(inner.query).into())
                }
            };
            list = source;
            while self.eat_word("if") {
                let variable = pair
                    .clone()
                    .unwrap_or_else(|| Scope::Variable(variable.clone()));
                list = list.filter(self.scoped(variable, Self::any)?.query);
            }
        }
        if self.scopes.is_empty() {
            self.understood = Some(list.clone());
        }
        let end = self.at;
        self.at = body;
        let scope = pair.unwrap_or(Scope::Variable(scope?));
        let each = self.scoped(scope, Self::either)?;
        if self.at != body + ahead {
            return None;
        }
        self.at = end;
        self.odd(Rule::Python);
        Some(Value::one(match each.query {
            Query::Here if method::is_plain_path(&list) => method::copied(self, list)?,
            Query::Here => list,
            each => list.map(each),
        }))
    }

    pub(super) fn hash(&mut self) -> Option<Query> {
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
                let is_member = match self.scopes.last() {
                    Some(Scope::Variable(_) | Scope::Pair(..)) => false,
                    Some(Scope::Names(names)) => names.contains(&name),
                    Some(Scope::Fields) | None => true,
                };
                if is_raw || !is_member {
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
}

/// The largest or smallest of some values as numbers, which is what `Math` compares.
fn of_numbers(value: Value) -> Option<Value> {
    let Query::Call(name @ ("max" | "min"), arguments) = &value.query else {
        return Some(value);
    };
    let number = Query::Call("to_number", vec![Query::Here]);
    let list = match arguments.as_slice() {
        [Query::List(values)] => {
            let numbers = values.iter().cloned();
            Query::List(numbers.map(Query::number).collect::<Option<_>>()?)
        }
        [list] => list.repeated()?.map(number),
        _ => return None,
    };
    let exact = Query::Call(name, vec![list]);
    Some(Value::one(Query::Exactly(value.query.into(), exact.into())))
}
