//! Reads an expression of any dialect into a [`Query`].
//!
//! The grammar is one for all: operators of falling power, then paths that begin with a name, a sign, a call or a
//! construction. What only one dialect has is read in it alone. Nothing is read twice, except a stage of jq.

mod argument;
mod path;
mod stage;
mod statement;
mod text;
mod value;

pub(super) use self::text::joined;

use super::super::{Rule, edit::string};
use super::{
    exact::compared,
    query::{Of, Operator, Query},
};
use crate::error::Dialect;
use crate::token::{Kind, Tokens};

/// How deep brackets, calls and signs may nest.
const MAX_DEPTH: usize = 24;

/// What a name stands for.
#[derive(Clone)]
enum Scope {
    /// A member of the value, or of the item.
    Fields,
    /// The item, if it is this name; else nothing that a selector can reach.
    Variable(String),
    /// Members of the item, if it is one of these names.
    Names(Vec<String>),
    /// The key and the value of a member of an object.
    Pair(String, String),
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
        /// Whether texts are compared as people do: `a` before `B`.
        locale: bool,
    },
    /// `(sum, x) => sum + x.score`
    Sum(Query),
    /// `(a, b) => a.score > b.score ? a : b`
    Best {
        by: Query,
        greatest: bool,
        /// Whether it is the last of several that are equal.
        last: bool,
    },
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
    pub(super) collects: bool,
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
        if self.is(Dialect::Sql) {
            let query = self.nested(Self::statement)?;
            return (self.at == self.tokens.len()).then_some(query);
        }
        let query = match self.lambda() {
            // `data => data.items`: a function of the value.
            Some(Some(Argument::Lambda(query))) => query,
            Some(_) => return None,
            None => self.piped()?.query,
        };
        if self.at < self.tokens.len() {
            return None;
        }
        super::finished(query)
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

    /// Whether what is read is evaluated on another value than the whole.
    pub(super) fn is_inner(&self) -> bool {
        !self.scopes.is_empty()
    }

    /// Whether it is jq without a doubt, and not a name of one of its functions.
    pub(super) fn begins_with_dot(&self) -> bool {
        matches!(self.tokens.kind(0), Kind::Dot | Kind::LBracket)
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

    /// An operator that is a word.
    fn eat_speech(&mut self, word: &str) -> bool {
        let found = match self.dialect {
            Some(Dialect::Sql) => self.eat_keyword(word),
            _ => self.eat_word(word),
        };
        if found && matches!(self.dialect, Some(Dialect::Jq | Dialect::Python)) {
            self.odd(Rule::WordOperator);
        }
        found
    }

    /// Two equal signs that the tokenizer does not know as one: `//`, `??`.
    fn eat_pair(&mut self, sign: &str) -> bool {
        let found = self.is_pair(sign);
        self.at += 2 * usize::from(found);
        found
    }

    fn is_pair(&self, sign: &str) -> bool {
        self.text(0) == sign && self.text(1) == sign && self.tokens.touches_next(self.at)
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

    /// A value, one that stands for it where it is missing (`//` of jq, `??` of JavaScript), and a choice between two.
    fn either(&mut self) -> Option<Value> {
        let mut left = self.any()?;
        let is_alternative = matches!(
            self.dialect,
            Some(Dialect::JavaScript | Dialect::Jq | Dialect::Lodash) | None
        );
        while is_alternative && self.eat_pair("?") {
            self.odd(Rule::JavaScript);
            let right = self.right(&left, Self::any)?;
            left = Value::one(left.query.or_default(right.query));
        }
        if self.is(Dialect::Jq) && self.is_pair("/") {
            left = self.alternatives(left)?;
        }
        self.choice(left)
    }

    /// `.a // .b // .c`: the first that is neither missing nor false; usually none is false.
    fn alternatives(&mut self, first: Value) -> Option<Value> {
        self.odd(Rule::Jq);
        let (mut values, mut ends) = (vec![first], false);
        while self.eat_pair("/") {
            if self.eat_word("empty") {
                ends = true;
                break;
            }
            let right = self.right(values.last()?, Self::any)?;
            values.push(right);
        }
        if let ([first], true) = (values.as_slice(), ends)
            && first.stream
        {
            let query = first.query.clone().filter(Query::Here);
            return Some(Value {
                query,
                stream: true,
            });
        }
        let mut queries = values.into_iter().map(|value| value.query);
        let first = queries.next()?;
        let rest: Vec<Query> = queries.collect();
        let mut plain = first.repeated()?;
        for right in &rest {
            let is_condition = plain.is_condition() || *right == Query::literal("true");
            let right = right.repeated()?;
            plain = if is_condition {
                plain.or(right)
            } else {
                plain.or_default(right)
            };
        }
        let mut exact = ends.then(Query::empty);
        for query in std::iter::once(first).chain(rest).rev() {
            exact = Some(match exact {
                None => query,
                Some(last) => Query::Choice(query.repeated()?.into(), query.into(), last.into()),
            });
        }
        let exact = exact?;
        Some(Value::one(Query::Exactly(plain.into(), exact.into())))
    }

    /// `x ? a : b` and Python's `a if x else b`.
    fn choice(&mut self, left: Value) -> Option<Value> {
        let is_script = matches!(self.dialect, Some(Dialect::JavaScript | Dialect::Lodash));
        if is_script && self.text(0) == "?" && self.kind(1) != Kind::Dot {
            self.at += 1;
            self.odd(Rule::JavaScript);
            let then = self.nested(Self::either)?;
            if !self.eat(Kind::Colon) {
                return None;
            }
            let otherwise = self.nested(Self::either)?;
            return Some(chosen(left, then, otherwise));
        }
        if self.is(Dialect::Python) && self.eat_word("if") {
            let condition = self.nested(Self::any)?;
            if !self.eat_word("else") {
                return None;
            }
            let otherwise = self.nested(Self::either)?;
            return Some(chosen(condition, left, otherwise));
        }
        Some(left)
    }

    fn any(&mut self) -> Option<Value> {
        let mut left = self.both()?;
        while self.eat(Kind::Or) || self.eat_speech("or") {
            left = self.operation(Operator::Or, left, Self::both)?;
        }
        Some(left)
    }

    fn both(&mut self) -> Option<Value> {
        let mut left = self.negated()?;
        while self.eat(Kind::And) || self.eat_speech("and") {
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
            return Some(Value::one(inner.query.negated()));
        }
        if self.is(Dialect::Sql) && self.eat_keyword("not") {
            return self.sql_negation().map(Value::one);
        }
        let left = self.added()?;
        if let Some(pattern) = self.pattern() {
            self.odd(Rule::JsonPath);
            let pattern = Query::Constant(string(&pattern?));
            return Some(Value::one(left.query.matches(pattern)));
        }
        if self.is(Dialect::Sql) {
            return self.sql_condition(left);
        }
        let is_strict = matches!(self.kind(0), Kind::Eq | Kind::Ne) && self.kind(1) == Kind::Assign;
        let Some(operator) = self.comparator() else {
            return self.membership(left);
        };
        let nothing = self.text(0);
        if is_strict && matches!(nothing, "undefined" | "null") && self.kind(1).closes_operand() {
            self.at += 1;
            self.odd(Rule::JavaScript);
            let exact = left
                .query
                .repeated()?
                .exactly_nothing(nothing == "null", operator);
            let plain = left.query.compare(operator, Query::literal("null"));
            return Some(Value::one(match exact {
                Some(exact) => Query::Exactly(plain.into(), exact.into()),
                None => plain,
            }));
        }
        // jq knows no fields without a dot.
        let is_word = self.kind(0) == Kind::Word && self.kind(1).closes_operand();
        let word = self.text(0);
        if self.is(Dialect::Jq)
            && is_word
            && !matches!(word, "true" | "false" | "null")
            && !self.is_stage(word)
            && !(self.has_key)(word)
        {
            return None;
        }
        let comparison = self.operation(Operator::Comparison(operator), left, Self::added)?;
        compared(self.dialect, comparison.query, is_strict).map(Value::one)
    }

    fn sql_condition(&mut self, left: Value) -> Option<Value> {
        if let Some(test) = self.sql_test(&left.query) {
            return test.map(Value::one);
        }
        let is_unequal = self.kind(0) == Kind::Lt && self.kind(1) == Kind::Gt;
        let operator = if is_unequal {
            self.at += 2;
            "!="
        } else {
            match self.comparator() {
                Some(operator) => operator,
                // A flag.
                None => return Some(Value::one(left.query.compare("==", Query::literal("true")))),
            }
        };
        let value = left.query.repeated()?;
        let test = self.operation(Operator::Comparison(operator), left, Self::operand)?;
        Some(Value::one(if operator == "!=" {
            statement::unless_null(&value, test.query)
        } else {
            test.query
        }))
    }

    /// `=~ /^a/i`; nothing if there is no such sign.
    fn pattern(&mut self) -> Option<Option<String>> {
        if self.kind(0) != Kind::Assign || self.kind(1) != Kind::Tilde || self.text(2) != "/" {
            return None;
        }
        self.at += 2;
        Some(self.regular_expression())
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
            // Within a filter, the other repairs read it.
            if self.is(Dialect::JavaScript) && self.scopes.is_empty() {
                self.odd(Rule::JavaScript);
            }
        }
        self.at += tokens;
        Some(operator)
    }

    /// `in` and `not in`.
    fn membership(&mut self, left: Value) -> Option<Value> {
        if !matches!(self.dialect, Some(Dialect::Python | Dialect::JsonPath)) {
            return Some(left);
        }
        let negative = self.is_word(0, "not") && self.is_word(1, "in");
        if negative {
            self.at += 1;
        }
        if !self.eat_word("in") {
            return Some(left);
        }
        let list = self.added()?;
        self.odd(Rule::Python);
        // In an object, keys are looked for.
        let list = if self.flipped {
            Query::Call("keys", vec![list.query])
        } else {
            list.query
        };
        let contains = Query::Call("contains", vec![list, left.query]);
        Some(Value::one(if negative { contains.not() } else { contains }))
    }

    fn operand(&mut self) -> Option<Value> {
        if self.eat(Kind::Not) {
            let inner = self.nested(Self::operand)?;
            return Some(Value::one(inner.query.negated()));
        }
        if self.eat(Kind::Ampersand) {
            let each = self.nested(|parser| parser.scoped(Scope::Fields, Self::either))?;
            return Some(Value::one(Query::Reference(each.query.into())));
        }
        self.postfix()
    }
}

fn chosen(condition: Value, then: Value, otherwise: Value) -> Value {
    Value::one(Query::Choice(
        condition.query.into(),
        then.query.into(),
        otherwise.query.into(),
    ))
}
