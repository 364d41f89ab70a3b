//! Pipes: what follows one, on what stands before it.

use super::super::super::Rule;
use super::super::{
    call, method,
    query::Query,
    stream::{on_each, then},
};
use super::{Argument, Parser, Scope, Value};
use crate::{error::Dialect, token::Kind};

impl<'a> Parser<'_, 'a, '_> {
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
    pub(super) fn stage(&mut self, mut value: Value) -> Option<Value> {
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
        if value.stream {
            self.odd(Rule::Jq);
        }
        let begin = self.at;
        let ends = |parser: &Self| {
            matches!(parser.kind(0), Kind::Pipe | Kind::Comma | Kind::Edge)
                || parser.kind(0).is_closer()
        };
        // A path, or a function, goes on from the value.
        let gone_on = if matches!(self.kind(0), Kind::Dot | Kind::Flatten | Kind::LBracket) {
            self.odd_stage(&value);
            let may_be_empty = value.query.may_be_empty();
            self.input = Some(if may_be_empty {
                Value::one(Query::Here)
            } else {
                value.clone()
            });
            let path = match self.kind(0) {
                Kind::LBracket if !matches!(self.kind(1), Kind::Number | Kind::Colon) => None,
                _ => self.postfix(),
            };
            self.input = None;
            path.and_then(|path| {
                if may_be_empty {
                    followed(&value, path)
                } else {
                    Some(path)
                }
            })
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
        let word = self.text(0);
        if self.kind(0) == Kind::Word
            && is_alone
            && !self.is_stage(word)
            && !matches!(word, "true" | "false" | "null")
            && !(self.has_key)(word)
        {
            return None;
        }
        let next = self.scoped(Scope::Fields, Self::either)?;
        if !value.stream && !value.query.may_be_empty() {
            return Some(Value {
                query: Query::Pipe(value.query.into(), next.query.into()),
                stream: next.stream,
            });
        }
        self.odd(Rule::Jq);
        followed(&value, next)
    }

    /// `items | sort_by(&score)`: a function behind a pipe that lacks what it is called on; nothing if it lacks nothing.
    pub(super) fn piped_call(&mut self, value: &Value) -> Option<Option<Value>> {
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
        let mut arguments = arguments;
        // `items | count(@)`
        if matches!(arguments.first(), Some(Argument::Value(value)) if value.query == Query::Here) {
            arguments.remove(0);
        }
        let found = method::method(self, name, Value::one(value.query.clone()), arguments);
        Some(found.and_then(|found| self.path_on(found, begin)))
    }

    /// A pipe after a call or construction is more than the other repairs read.
    pub(super) fn odd_stage(&mut self, value: &Value) {
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

    /// Whether jq calls this word without parentheses; what it does not know may be a field.
    pub(super) fn is_stage(&self, name: &str) -> bool {
        call::STAGES.contains(&name)
            && (!call::LOOSE_STAGES.contains(&name) || !(self.has_key)(name))
    }

    /// A function of jq as a stage: `select(.id == 3)`, `length`.
    pub(super) fn function_stage(&mut self, value: &Value) -> Option<Value> {
        let name = self.text(0);
        let has_arguments = self.kind(1) == Kind::LParen;
        if !has_arguments && !self.is_stage(name) {
            return None;
        }
        self.at += 1;
        let arguments = if has_arguments {
            self.arguments()?
        } else {
            Vec::new()
        };
        self.odd(Rule::Jq);
        let is_selection = call::fold(name) == "select";
        let stage = if value.query.may_be_empty()
            || value.stream && !is_selection
            || is_selection && self.is_inner() && !value.stream
        {
            let found = method::method(self, name, Value::one(Query::Here), arguments)?;
            followed(value, found)?
        } else {
            let subject = Value::one(value.query.clone());
            let found = method::method(self, name, subject, arguments)?;
            Value {
                stream: value.stream,
                query: found.query,
            }
        };
        self.path_on(stage, self.at)
    }
}

/// What a stage of jq gives on what stands before it.
fn followed(value: &Value, next: Value) -> Option<Value> {
    let query = if value.stream {
        on_each(value.query.clone(), &next.query)?
    } else {
        then(&value.query, &next.query)?
    };
    let stream = value.stream || next.stream;
    Some(Value {
        query: if value.stream && next.stream {
            Query::Flat(query.into())
        } else {
            query
        },
        stream,
    })
}
