//! What a foreign expression asks for, and how JMESPath says it.

use super::super::edit::{spelled, string};
use super::exact::mapped;
use crate::token::decode_quoted;

/// Whether an operation is on a whole list, or on each item of the projection that gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Whole,
    Item,
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Comparison(&'static str),
}

/// An expression of any dialect, as far as JMESPath can say it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Query {
    /// The value itself; within a filter or a projection, the item.
    Here,
    /// A member, its name as JMESPath spells it.
    Field(Box<Query>, String),
    Index(Box<Query>, i64, Of),
    /// A slice, with its bounds as they are written.
    Slice(Box<Query>, String, Of),
    /// A list of which what follows takes each item.
    Each(Box<Query>),
    /// The values of an object, likewise.
    Values(Box<Query>),
    Flat(Box<Query>),
    Filter(Box<Query>, Box<Query>, Of),
    /// The second evaluated on what the first gives, or on each item that it projects.
    Sub(Box<Query>, Box<Query>),
    /// The second evaluated on what the first gives as a whole.
    Pipe(Box<Query>, Box<Query>),
    Call(&'static str, Vec<Query>),
    Reference(Box<Query>),
    Not(Box<Query>),
    Binary(Operator, Box<Query>, Box<Query>),
    /// A string or a literal, as JMESPath spells it.
    Constant(String),
    List(Vec<Query>),
    Hash(Vec<(String, Query)>),
    /// The second where the first is true, else the third.
    Choice(Box<Query>, Box<Query>, Box<Query>),
    /// What is usually meant, and what the dialect says for any value.
    Exactly(Box<Query>, Box<Query>),
}

/// The most parts of a query that stands in an expression twice.
const MAX_SIZE: usize = 800;

impl Query {
    pub(super) fn field(self, name: &str) -> Self {
        Self::Field(self.into(), spelled(name))
    }

    pub(super) fn index(self, at: i64) -> Self {
        Self::Index(self.opened().into(), at, Of::Whole)
    }

    pub(super) fn slice(self, bounds: String) -> Self {
        Self::Slice(self.opened().into(), bounds, Of::Whole)
    }

    /// `each` evaluated on every item.
    pub(super) fn map(self, each: Self) -> Self {
        Self::Sub(Box::new(Self::Each(self.opened().into())), each.into())
    }

    pub(super) fn filter(self, predicate: Self) -> Self {
        Self::Filter(self.opened().into(), predicate.into(), Of::Whole)
    }

    /// The JSON in a text, as long as a path goes on in it.
    pub(super) fn parsed(self) -> Self {
        Self::Exactly(self.into(), Self::refusal().into())
    }

    /// The text itself, where a path goes on in the JSON in it.
    pub(super) fn opened(self) -> Self {
        match self {
            Self::Exactly(text, exact) if *exact == Self::refusal() => *text,
            other => other,
        }
    }

    /// What has no value: the dialect means something else than JMESPath can say.
    pub(super) fn refusal() -> Self {
        Self::Call("abs", vec![Self::Constant("''".to_owned())])
    }

    /// What has no value: items on which JMESPath does not say what the dialect does.
    pub(super) fn unlike() -> Self {
        Self::Call("ceil", vec![Self::Constant("''".to_owned())])
    }

    /// What is usually a number, as one.
    pub(super) fn number(self) -> Option<Self> {
        let number = Self::Call("to_number", vec![self.repeated()?]);
        Some(Self::Exactly(self.into(), number.into()))
    }

    /// This, as long as `condition` is false.
    pub(super) fn unless(self, condition: Self) -> Option<Self> {
        let exact = Self::Choice(
            condition.into(),
            Self::refusal().into(),
            self.repeated()?.into(),
        );
        Some(Self::Exactly(self.into(), exact.into()))
    }

    /// A copy that stands in the same expression, if it is short.
    pub(super) fn repeated(&self) -> Option<Self> {
        (self.size() <= MAX_SIZE).then(|| self.clone())
    }

    /// How many parts it has.
    fn size(&self) -> usize {
        1 + self.parts().into_iter().map(Self::size).sum::<usize>()
    }

    /// Whether a part of it, or itself, is such.
    pub(super) fn any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self) || self.parts().into_iter().any(|part| part.any(is))
    }

    /// Whether it is a condition on the item itself, not only on its members.
    pub(super) fn is_of_item(&self) -> bool {
        match self {
            Self::Here => true,
            Self::Field(base, _) | Self::Index(base, ..) if **base == Self::Here => false,
            other => other.parts().into_iter().any(Self::is_of_item),
        }
    }

    /// What it is made of.
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Here | Self::Constant(_) => Vec::new(),
            Self::Field(a, _)
            | Self::Index(a, ..)
            | Self::Slice(a, ..)
            | Self::Each(a)
            | Self::Values(a)
            | Self::Flat(a)
            | Self::Reference(a)
            | Self::Not(a) => vec![a],
            Self::Filter(a, b, _)
            | Self::Sub(a, b)
            | Self::Pipe(a, b)
            | Self::Binary(_, a, b)
            | Self::Exactly(a, b) => vec![a, b],
            Self::Choice(a, b, c) => vec![a, b, c],
            Self::Call(_, parts) | Self::List(parts) => parts.iter().collect(),
            Self::Hash(members) => members.iter().map(|(_, value)| value).collect(),
        }
    }

    /// Where this is true, itself; else another one.
    pub(super) fn or(self, other: Self) -> Self {
        Self::Binary(Operator::Or, self.into(), other.into())
    }

    pub(super) fn text(text: &str) -> Self {
        Self::Constant(string(text))
    }

    pub(super) fn not(self) -> Self {
        Self::Not(self.into())
    }

    /// What a program means by the negation: of a number, that it is 0.
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Call("length", _) => self.compare("==", Self::literal("0")),
            Self::Exactly(counted, _) if matches!(*counted, Self::Call("length", _)) => {
                counted.negated()
            }
            other => other.not(),
        }
    }

    pub(super) fn compare(self, operator: &'static str, other: Self) -> Self {
        Self::Binary(Operator::Comparison(operator), self.into(), other.into())
    }

    /// Whether an object has a member of this name, as JMESPath spells it, be it null.
    pub(super) fn has_member(self, name: &str) -> Self {
        let object = match self {
            Self::Here => Self::Here,
            base => base.or_default(Self::literal("{}")),
        };
        let name = decode_quoted(name).unwrap_or_else(|| name.to_owned());
        let keys = Self::Call("keys", vec![object]);
        Self::Call("contains", vec![keys, Self::text(&name)])
    }

    /// A comparison of a member with null where it is there, or with what is missing.
    pub(super) fn exactly_nothing(self, null: bool, operator: &'static str) -> Option<Self> {
        let Self::Field(base, name) = &self else {
            return None;
        };
        let is_there = base.repeated()?.has_member(name);
        let is = if null {
            let is_null = self.compare("==", Self::literal("null"));
            Self::Binary(Operator::And, is_there.into(), is_null.into())
        } else {
            is_there.not()
        };
        Some(match (operator, is) {
            ("==", is) => is,
            (_, Self::Not(is)) => *is,
            (_, is) => is.not(),
        })
    }

    /// The first of two that is there.
    pub(super) fn or_default(self, default: Self) -> Self {
        let mut values = match self {
            Self::Call("not_null", values) => values,
            other => vec![other],
        };
        values.push(default);
        Self::Call("not_null", values)
    }

    /// Whether it gives `true` or `false`.
    pub(super) fn is_condition(&self) -> bool {
        match self {
            Self::Not(_) | Self::Binary(Operator::Comparison(_), ..) => true,
            Self::Binary(_, left, right) => left.is_condition() && right.is_condition(),
            Self::Call(name, _) => matches!(*name, "contains" | "starts_with" | "ends_with"),
            Self::Constant(text) => matches!(text.as_str(), "`true`" | "`false`"),
            Self::Exactly(plain, _) => plain.is_condition(),
            _ => false,
        }
    }

    /// Whether a value that is neither `true` nor `false` is taken for one of them.
    pub(super) fn takes_for_true(&self) -> bool {
        match self {
            Self::Not(inner) => inner.takes_for_true(),
            Self::Binary(Operator::And | Operator::Or, left, right) => {
                left.takes_for_true() || right.takes_for_true()
            }
            other => !other.is_condition(),
        }
    }

    /// Whether a text has a match of a pattern.
    pub(super) fn matches(self, pattern: Self) -> Self {
        let found = Self::Call("match", vec![self, pattern]);
        Self::Call("length", vec![found]).compare(">", Self::literal("0"))
    }

    /// What is true where this is: an empty list of matches is false.
    fn as_condition(&self) -> Self {
        match self {
            Self::Binary(Operator::Comparison(">"), counted, zero)
                if **zero == Self::literal("0") =>
            {
                match &**counted {
                    Self::Call("length", list) => match list.as_slice() {
                        [found @ Self::Call("match", _)] => found.clone(),
                        _ => self.clone(),
                    },
                    _ => self.clone(),
                }
            }
            Self::Binary(operator @ (Operator::Or | Operator::And), left, right) => {
                let [left, right] = [left, right].map(|side| Box::new(side.as_condition()));
                Self::Binary(*operator, left, right)
            }
            Self::Not(inner) => inner.as_condition().not(),
            other => other.clone(),
        }
    }

    pub(super) fn literal(json: &str) -> Self {
        Self::Constant(format!("`{json}`"))
    }

    /// Whether a step of the path is on the whole outcome of a projection in front of it: `[]` always, a filter behind a filter.
    fn ends_projection(&self, is_filter: bool) -> bool {
        match self {
            Self::Flat(_) => true,
            Self::Filter(base, ..) => is_filter || base.ends_projection(is_filter),
            Self::Sub(base, each) => {
                base.ends_projection(is_filter) || each.ends_projection(is_filter)
            }
            Self::Field(base, _)
            | Self::Index(base, ..)
            | Self::Slice(base, ..)
            | Self::Each(base)
            | Self::Values(base) => base.ends_projection(is_filter),
            Self::Exactly(plain, _) => plain.ends_projection(is_filter),
            _ => false,
        }
    }

    /// Whether it is a path of what a filter leaves.
    pub(super) fn is_of_filter(&self) -> bool {
        match self {
            Self::Filter(..) => true,
            Self::Field(base, _) | Self::Index(base, ..) => base.is_of_filter(),
            _ => false,
        }
    }

    /// The expression in JMESPath. With `words`, names stand as they were written, so that the other repairs can
    /// judge which of them are strings.
    pub(super) fn to_jmespath(&self, words: bool) -> String {
        Writer { words }.write(self).text
    }
}

/// How tightly the outermost operator of a text binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Pipe,
    Or,
    And,
    Compare,
    Not,
    Path,
}

/// What the text of an expression begins with, as far as it matters behind another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begins {
    /// `@` alone: nothing to say behind another expression.
    Here,
    /// A name, a call, a brace: after a dot.
    Dotted,
    /// A subscript: directly.
    Subscript,
    /// Nothing that can go on a path.
    Other,
}

struct Written {
    text: String,
    level: Level,
    /// How tightly the last stage of a pipe binds; of anything else, its level.
    last: Level,
    begins: Begins,
    /// How many list projections are going on, one in another.
    projections: usize,
    /// Whether the innermost of them is over a list to which nothing has been added: what goes on needs `[*]`.
    is_list: bool,
    /// Whether the innermost of them is a filter, on whose whole outcome another filter is.
    is_filter: bool,
}

impl Written {
    fn new(text: String, level: Level, begins: Begins) -> Self {
        Self {
            text,
            level,
            last: level,
            begins,
            projections: 0,
            is_list: false,
            is_filter: false,
        }
    }

    fn projecting(mut self, more: usize) -> Self {
        self.projections += more;
        self.is_filter &= more == 0;
        self
    }

    /// A filter of which what follows takes each item.
    fn filtering(self) -> Self {
        Self {
            is_filter: true,
            ..self.projecting(1)
        }
    }

    /// A list of which what follows takes each item.
    fn listing(mut self) -> Self {
        self.projections += 1;
        self.is_list = true;
        self
    }

    /// The text with a dot and a name, call or brace behind it.
    fn dotted(mut self, rest: &str) -> Self {
        if self.begins == Begins::Here {
            return Self {
                text: rest.to_owned(),
                begins: Begins::Dotted,
                ..self
            };
        }
        self.go_on();
        self.text.push('.');
        self.text.push_str(rest);
        self
    }

    /// The text with a subscript behind it.
    fn subscripted(mut self, subscript: &str) -> Self {
        if self.begins == Begins::Here {
            return Self {
                text: subscript.to_owned(),
                begins: Begins::Subscript,
                ..self
            };
        }
        self.go_on();
        self.text.push_str(subscript);
        self
    }

    fn go_on(&mut self) {
        if std::mem::take(&mut self.is_list) {
            self.text.push_str("[*]");
        }
    }

    /// The text with its last list as a whole.
    fn whole(mut self) -> Self {
        self.projections -= usize::from(std::mem::take(&mut self.is_list));
        self
    }

    /// The text with all projections ended.
    fn stopped(self) -> Self {
        let mut whole = self.whole();
        if whole.projections > 0 {
            whole.text.push_str(" | ");
            whole.level = Level::Pipe;
            whole.projections = 0;
            // A subscript follows the pipe.
            whole.begins = Begins::Other;
        }
        whole
    }

    fn enclosed(self, level: Level) -> String {
        if self.level < level {
            format!("({})", self.text)
        } else {
            self.text
        }
    }
}

struct Writer {
    words: bool,
}

impl Writer {
    fn write(&self, query: &Query) -> Written {
        match query {
            Query::Here => Written::new("@".to_owned(), Level::Path, Begins::Here),
            Query::Field(base, name) => self.base(base).dotted(name),
            Query::Index(base, at, of) => self.on(base, *of).subscripted(&format!("[{at}]")),
            Query::Slice(base, bounds, of) => {
                let on = self.on(base, *of);
                on.subscripted(&format!("[{bounds}]")).projecting(1)
            }
            Query::Each(base) => {
                let base = self.base(base);
                match base.projections {
                    1 => base,
                    0 => base.subscripted("[*]").projecting(1),
                    _ => base.stopped().subscripted("[*]").projecting(1),
                }
            }
            Query::Values(base) => self.base(base).dotted("*").projecting(1),
            Query::Flat(base) => {
                // Each item of a list, flattened, is the list flattened.
                let base = match &**base {
                    Query::Each(list) => self.base(list),
                    base => self.base(base),
                };
                let mut flat = base.whole().subscripted("[]");
                flat.projections = 0;
                flat.projecting(1)
            }
            Query::Filter(base, predicate, of) => {
                let on = self.on(base, *of);
                if on.is_filter
                    && on.projections > 0
                    && let Some((list, each)) = mapped(base)
                {
                    let each = Query::Filter(each.into(), predicate.clone(), Of::Whole);
                    return self.sub(&list, &each);
                }
                let predicate = self.write(&predicate.as_condition()).enclosed(Level::Or);
                on.subscripted(&format!("[?{predicate}]")).filtering()
            }
            Query::Sub(base, each) => self.sub(base, each),
            Query::Pipe(first, second) => {
                let (first, second) = (self.write(first).text, self.write(second));
                Written {
                    text: format!("{first} | {}", second.text),
                    level: Level::Pipe,
                    begins: Begins::Other,
                    ..second
                }
            }
            Query::Call(name, arguments) => {
                let arguments: Vec<_> = arguments.iter().map(|one| self.argument(one)).collect();
                let text = format!("{name}({})", arguments.join(", "));
                Written::new(text, Level::Path, Begins::Dotted)
            }
            Query::Reference(each) => {
                let text = format!("&{}", self.write(each).enclosed(Level::Or));
                Written::new(text, Level::Or, Begins::Other)
            }
            Query::Not(inner) => {
                let simple = match &**inner {
                    Query::Here | Query::Call(..) => true,
                    Query::Field(base, _) => **base == Query::Here,
                    _ => false,
                };
                let inner = self.write(inner).text;
                let text = if simple {
                    format!("!{inner}")
                } else {
                    format!("!({inner})")
                };
                Written::new(text, Level::Not, Begins::Other)
            }
            Query::Binary(operator, left, right) => {
                let (sign, level) = match operator {
                    Operator::Or => ("||", Level::Or),
                    Operator::And => ("&&", Level::And),
                    Operator::Comparison(sign) => (*sign, Level::Compare),
                };
                let (tighter, compares) = match operator {
                    Operator::Or => (Level::And, false),
                    Operator::And => (Level::Compare, false),
                    Operator::Comparison(_) => (Level::Not, true),
                };
                let loose = if compares { tighter } else { level };
                let [left, right] = [(left, right, loose), (right, left, tighter)].map(
                    |(operand, other, level)| {
                        let is_field = !self.words
                            && compares
                            && !matches!(**other, Query::Constant(_))
                            && is_lone_field(operand);
                        let mark = if is_field { "@." } else { "" };
                        format!("{mark}{}", self.write(operand).enclosed(level))
                    },
                );
                Written::new(format!("{left} {sign} {right}"), level, Begins::Other)
            }
            Query::Constant(text) => Written::new(text.clone(), Level::Path, Begins::Other),
            Query::List(items) => {
                let items: Vec<_> = items.iter().map(|item| self.write(item).text).collect();
                let text = format!("[{}]", items.join(", "));
                Written::new(text, Level::Path, Begins::Dotted)
            }
            Query::Exactly(plain, _) => self.write(plain),
            Query::Choice(condition, then, otherwise) => {
                let condition = self.write(&condition.as_condition()).enclosed(Level::And);
                let [then, otherwise] = [then, otherwise].map(|one| self.alone(one));
                let text = format!("({condition} && {then} || {otherwise})[0]");
                Written::new(text, Level::Path, Begins::Other)
            }
            Query::Hash(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, value)| format!("{key}: {}", self.write(value).text))
                    .collect();
                let text = format!("{{{}}}", members.join(", "));
                Written::new(text, Level::Path, Begins::Dotted)
            }
        }
    }

    /// A text that a path can go on from.
    fn base(&self, query: &Query) -> Written {
        let base = self.write(query);
        match base.last {
            Level::Path => base,
            _ => Written::new(format!("({})", base.text), Level::Path, Begins::Other),
        }
    }

    /// A text that a subscript follows: on a whole list, all projections end first.
    fn on(&self, query: &Query, of: Of) -> Written {
        match (query, of) {
            (_, Of::Item) => self.base(query),
            // Each item of a list, taken whole, is the list.
            (Query::Each(list), Of::Whole) => self.base(list).stopped(),
            (_, Of::Whole) => self.base(query).stopped(),
        }
    }

    fn sub(&self, base: &Query, each: &Query) -> Written {
        let on = self.base(base);
        if on.projections > 0
            && let Some((construction, rest)) = begun(each)
        {
            let constructed = Query::Sub(base.clone().into(), construction.into());
            return self.sub(&constructed, &rest);
        }
        let body = self.write(each);
        if on.projections > 0 && each.ends_projection(on.is_filter) {
            return self.mapped(base, on, body);
        }
        match body.begins {
            Begins::Here if body.level == Level::Path => on,
            Begins::Dotted if body.level == Level::Path => {
                // What follows a construction is on the list of them.
                let is_list = body.is_list || on.projections > 0 && is_construction(each);
                let is_filter = body.is_filter;
                let on = on.dotted(&body.text).projecting(body.projections);
                let is_filter = on.is_filter || is_filter;
                Written {
                    is_list,
                    is_filter,
                    ..on
                }
            }
            Begins::Subscript if body.level == Level::Path => {
                let is_filter = body.is_filter;
                let on = on.subscripted(&body.text).projecting(body.projections);
                let is_filter = on.is_filter || is_filter;
                Written { is_filter, ..on }
            }
            _ if on.begins == Begins::Here => body,
            _ if on.projections == 0 => Written {
                text: format!("{} | {}", on.text, body.text),
                level: Level::Pipe,
                begins: Begins::Other,
                ..body
            },
            _ => self.mapped(base, on, body),
        }
    }

    /// A call of `map`, where a projection cannot say it.
    fn mapped(&self, base: &Query, on: Written, body: Written) -> Written {
        let list = match base {
            Query::Each(list) => self.write(list).text,
            _ => on.text,
        };
        let text = format!("map(&{}, {list})", body.enclosed(Level::Or));
        Written::new(text, Level::Path, Begins::Dotted).listing()
    }

    /// A list of one value, which is a literal where it can be: a list that is built on a null is null.
    fn alone(&self, query: &Query) -> String {
        let text = self.write(query).text;
        let between = |sign| text.strip_prefix(sign)?.strip_suffix(sign);
        let is_plain = |text: &&str| !text.contains(['\\', '"', '`']);
        match query {
            Query::Constant(_) => match (between('`'), between('\'').filter(is_plain)) {
                (Some(json), _) => format!("`[{json}]`"),
                (_, Some(content)) => format!("`[\"{content}\"]`"),
                _ => format!("[{text}]"),
            },
            _ => format!("[{text}]"),
        }
    }

    fn argument(&self, query: &Query) -> String {
        let text = self.write(query).text;
        // A lone word in quotes may be taken for a string.
        if !self.words && is_lone_field(query) && text.starts_with('"') {
            return format!("@.{text}");
        }
        text
    }
}

fn is_construction(query: &Query) -> bool {
    match query {
        Query::List(_) | Query::Hash(_) => true,
        Query::Exactly(plain, _) => is_construction(plain),
        _ => false,
    }
}

/// The construction that a path begins with, and the path.
fn begun(query: &Query) -> Option<(Query, Query)> {
    let base = |base: &Query| {
        if is_construction(base) {
            Some((base.clone(), Box::new(Query::Here)))
        } else {
            begun(base).map(|(first, rest)| (first, rest.into()))
        }
    };
    match query {
        Query::Field(path, name) => {
            base(path).map(|(first, rest)| (first, Query::Field(rest, name.clone())))
        }
        Query::Index(path, at, of) => {
            base(path).map(|(first, rest)| (first, Query::Index(rest, *at, *of)))
        }
        Query::Slice(path, bounds, of) => {
            base(path).map(|(first, rest)| (first, Query::Slice(rest, bounds.clone(), *of)))
        }
        Query::Filter(path, predicate, of) => {
            base(path).map(|(first, rest)| (first, Query::Filter(rest, predicate.clone(), *of)))
        }
        Query::Sub(path, each) => {
            base(path).map(|(first, rest)| (first, Query::Sub(rest, each.clone())))
        }
        Query::Exactly(plain, _) => begun(plain),
        _ => None,
    }
}

fn is_lone_field(query: &Query) -> bool {
    matches!(query, Query::Field(base, _) if **base == Query::Here)
}
