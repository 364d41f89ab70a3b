//! Expressions of other query languages and of programs, read as JMESPath where their meaning is the same.
//!
//! One tolerant [parser](parse) reads paths, projections, filters, calls and constructions as jq, JSONPath, JavaScript,
//! Python, XPath, lodash and SQL spell them, into one tree, a [`Query`](query::Query), which is written as JMESPath. What the
//! tree cannot say is not translated: arithmetic but sums, variables of an outer function, a search at any depth. Where JMESPath
//! says the same for usual values only, there is an [exact](exact) form beside the plain one.
//!
//! # Invariants
//!
//! - Nothing is translated that is JMESPath but for what the other repairs put right.
//! - A translation holds nothing that would be translated again.
//! - Nesting, the number of tokens and the work on them are bounded.

mod call;
mod entries;
mod exact;
mod method;
mod parse;
mod query;
mod slashes;
mod stream;
#[cfg(test)]
mod tests;

use self::{exact::exact, parse::Parser, query::Query};
use super::Rule;
use crate::error::{Dialect, Foreign};
use crate::token::{Kind, Tokens};

impl Dialect {
    /// The rule that reads it.
    pub(super) fn rule(self) -> Rule {
        match self {
            Self::Jq => Rule::Jq,
            Self::JsonPath => Rule::JsonPath,
            Self::JavaScript => Rule::JavaScript,
            Self::Python => Rule::Python,
            Self::XPath => Rule::XPath,
            Self::Lodash => Rule::Lodash,
            Self::Sql => Rule::Sql,
        }
    }
}

/// The language of an expression that is not JMESPath, and the part of it that JMESPath can say.
///
/// ```
/// # use crossfeed_jmespath::{Dialect, repair::foreign};
/// let found = foreign(".items[] | .url | ascii_downcase", &|_| false).unwrap();
/// assert_eq!(found.dialect, Dialect::Jq);
/// assert_eq!(found.understood.as_deref(), Some("items[*].url"));
/// assert!(foreign("items[*].url", &|_| false).is_none());
/// ```
pub fn foreign(expression: &str, has_key: &dyn Fn(&str) -> bool) -> Option<Foreign> {
    let (plain, _) = super::bared(expression, has_key);
    let expression = plain.as_str();
    let tokens = Tokens::new(expression);
    let dialect = detected(&tokens, has_key)?;
    let mut found = Foreign {
        dialect,
        understood: None,
        complete: false,
    };
    if tokens.len() > MAX_TOKENS {
        return Some(found);
    }
    if dialect == Dialect::XPath {
        let query = slashes::read(expression, has_key, false);
        found.complete = query.is_some();
        found.understood = query.map(|query| query.to_jmespath(false));
        return Some(found);
    }
    let mut parser = Parser::new(&tokens, Some(dialect), has_key);
    let whole = parser.whole();
    found.complete = whole.as_ref().is_some_and(|query| {
        let exact = exact(query, Some(dialect), parser.collects);
        exact.is_some_and(|(query, refuses)| {
            !refuses && !query.any(&|part| *part == Query::unlike())
        })
    });
    let understood = whole.or_else(|| parser.understood.take());
    found.understood = understood
        .and_then(finished)
        .filter(|query| *query != Query::Here)
        .map(|query| query.to_jmespath(false));
    Some(found)
}

/// The query without what JMESPath does not have; nothing where it cannot do without.
fn finished(query: Query) -> Option<Query> {
    entries::resolved(query.without_empty()?)
}

/// More tokens than any selector that a model writes, and few enough for a tree that is walked by recursion.
pub(super) const MAX_TOKENS: usize = 400;

/// An expression in JMESPath.
pub(super) struct Translation {
    pub(super) rule: Rule,
    /// What is usually meant.
    pub(super) plain: String,
    /// What says the same as the dialect, for any value.
    pub(super) exact: String,
    /// Whether it may mean something else as a whole.
    pub(super) refuses: bool,
}

/// The expression in JMESPath, if it is written in another language or calls functions as another one does. Where both are
/// possible, `flipped` reads the arguments of `map` in the other order, and `*` and `.[]` as the values of an object.
pub(super) fn translated(
    tokens: &Tokens<'_>,
    has_key: &dyn Fn(&str) -> bool,
    flipped: bool,
) -> Option<Translation> {
    if tokens.len() > MAX_TOKENS {
        return None;
    }
    let dialect = detected(tokens, has_key);
    if dialect == Some(Dialect::XPath) {
        let query = slashes::read(tokens.source(), has_key, flipped)?;
        let plain = query.to_jmespath(false);
        return Some(Translation {
            rule: Rule::XPath,
            exact: plain.clone(),
            plain,
            refuses: false,
        });
    }
    let mut parser = Parser::new(tokens, dialect, has_key);
    parser.flipped = flipped;
    let query = parser.whole()?;
    let rule = parser.rule?;
    let plain = query.to_jmespath(dialect.is_none());
    if plain == tokens.source() {
        return None;
    }
    let (query, refuses) = exact(&query, dialect, parser.collects)?;
    Some(Translation {
        rule,
        plain,
        exact: query.to_jmespath(dialect.is_none()),
        refuses,
    })
}

/// Whether an expression is in another language, so that it must not be read as anything else: names of functions would be
/// taken for fields, and texts for names.
pub(super) fn is_foreign(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> bool {
    if tokens.len() > MAX_TOKENS {
        return false;
    }
    let Some(dialect) = detected(tokens, has_key) else {
        return false;
    };
    if dialect == Dialect::XPath {
        return true;
    }
    let mut parser = Parser::new(tokens, Some(dialect), has_key);
    let is_read = parser.whole().is_some();
    // Signs of a language before a path that is otherwise that of JMESPath are for the other repairs.
    let is_path = if is_read {
        parser.rule.is_none()
    } else {
        // Within a filter, `$` is the whole and `@` the item.
        let has = |kind| (1..tokens.len()).any(|at| tokens.kind(at) == kind);
        let is_query = has(Kind::Dollar) && has(Kind::At);
        // `$.items[*]~`: names, which are not those of the values.
        let names = tokens.behind(tokens.len(), 1) == Kind::Tilde;
        dialect == Dialect::JsonPath && !(is_query || names)
    };
    let is_mixed = parser.collects && dialect != Dialect::JsonPath;
    !(is_path || is_mixed)
}

/// The language whose signs an expression bears; nothing for JMESPath, also with what other repairs put right.
fn detected(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<Dialect> {
    if slashes::is_path(tokens.source()) {
        return Some(Dialect::XPath);
    }
    let found = |what: &dyn Fn(usize) -> bool| (0..tokens.len()).any(what);
    let word = |at: usize, word: &str| tokens.kind(at) == Kind::Word && tokens.text(at) == word;
    let calls = |at: usize, names: &[&str]| tokens.is_call(at) && names.contains(&tokens.text(at));
    let is_arrow = |at: usize| {
        tokens.kind(at) == Kind::Assign
            && tokens.kind(at + 1) == Kind::Gt
            && tokens.touches_next(at)
    };
    let keyword = |at: usize, word: &str| {
        tokens.kind(at) == Kind::Word && tokens.text(at).eq_ignore_ascii_case(word)
    };
    if keyword(0, "select") && !tokens.is_call(0) && found(&|at| at > 1 && keyword(at, "from")) {
        return Some(Dialect::Sql);
    }
    if word(0, "_") && matches!(tokens.kind(1), Kind::Dot | Kind::LParen) {
        return Some(Dialect::Lodash);
    }
    if found(&is_arrow) {
        return Some(Dialect::JavaScript);
    }
    let has_else = found(&|at| word(at, "else"));
    let has_filter = found(&|at| tokens.kind(at) == Kind::Filter);
    let is_python = |at: usize| {
        word(at, "lambda") && tokens.kind(at + 1) == Kind::Word
            || word(at, "for") && (word(at + 2, "in") || word(at + 4, "in"))
            || at == 0 && word(at, "not") && tokens.kind(1).begins_operand()
            || calls(at, &["sorted", "next", "reversed", "tuple", "enumerate"])
            || calls(at, &["get"])
                && tokens.behind(at, 1) == Kind::Dot
                && matches!(tokens.kind(at + 2), Kind::Raw | Kind::Quoted)
            || matches!(tokens.text(at), "or" | "and")
                && tokens.behind(at, 1) == Kind::RBracket
                && matches!(tokens.behind(at, 2), Kind::Raw | Kind::Quoted)
                && !has_filter
            || word(at, "or")
                && tokens.behind(at, 1).ends_operand()
                && (tokens.kind(at + 1) == Kind::Flatten
                    || [tokens.kind(at + 1), tokens.kind(at + 2)] == [Kind::LBrace, Kind::RBrace])
            || word(at, "loads") && tokens.is_call(at)
            || word(at, "f")
                && matches!(tokens.kind(at + 1), Kind::Raw | Kind::Quoted)
                && tokens.touches_next(at)
            || word(at, "if") && tokens.behind(at, 1).ends_operand() && has_else
            || (tokens.behind(at, 1).is_comparator()
                || word(at.wrapping_sub(1), "is")
                || word(at.wrapping_sub(2), "is") && word(at.wrapping_sub(1), "not"))
                && ["None", "True", "False"].iter().any(|name| word(at, name))
            || tokens.kind(at).ends_operand()
                && word(at + 1, "in")
                && tokens.kind(at + 2).begins_operand()
    };
    let is_path = tokens.kind(0) == Kind::Dollar && tokens.kind(1) != Kind::LBrace;
    if !is_path && found(&is_python) {
        return Some(Dialect::Python);
    }
    let has_colon = found(&|at| tokens.kind(at) == Kind::Colon);
    let is_script = |at: usize| {
        let chained = tokens.text(at) == "?" && tokens.kind(at + 1) == Kind::Dot;
        let spread = tokens.kind(at) == Kind::DotDot && tokens.kind(at + 1) == Kind::Dot;
        let strict = matches!(tokens.kind(at), Kind::Eq | Kind::Ne)
            && tokens.kind(at + 1) == Kind::Assign
            && tokens.touches_next(at);
        let object = matches!(
            tokens.text(at),
            "Object" | "Math" | "JSON" | "Array" | "Number"
        ) && tokens.kind(at + 1) == Kind::Dot
            && (tokens.is_call(at + 2) || tokens.text(at + 4) == "apply");
        let template = tokens.kind(at) == Kind::Literal
            && tokens.text(at).contains("${")
            && tokens
                .content(at)
                .is_some_and(|text| jmespath::Variable::from_json(text).is_err());
        let pattern = tokens.text(at) == "/"
            && tokens.kind(at + 1) == Kind::Dot
            && tokens.text(at + 2) == "test";
        let sorted = tokens.behind(at, 1) == Kind::Dot
            && calls(at, &["sort", "toSorted"])
            && tokens.kind(at + 2) == Kind::RParen;
        let choice = tokens.text(at) == "?" && tokens.kind(at + 1).begins_operand() && has_colon;
        // jq has such a path after a dot.
        chained && tokens.touches_next(at) && tokens.kind(0) != Kind::Dot
            || spread
            || strict
            || object
            || template
            || pattern
            || sorted
            || choice
    };
    if found(&is_script) {
        return Some(Dialect::JavaScript);
    }
    if is_path {
        return Some(Dialect::JsonPath);
    }
    let is_jq = |at: usize| {
        let before = tokens.behind(at, 1);
        let opens = at == 0
            || matches!(before, Kind::Pipe | Kind::LParen)
            || matches!(before, Kind::LBracket | Kind::Colon) && tokens.kind(0) != Kind::Word;
        let stage = before == Kind::Pipe
            && (tokens.kind(at + 1).is_comparator()
                || matches!(tokens.kind(at + 1), Kind::Pipe | Kind::Edge))
            && tokens.kind(at) == Kind::Word
            && call::STAGES.contains(&tokens.text(at))
            && !has_key(tokens.text(at));
        let dots = tokens.kind(at) == Kind::Dot && opens;
        dots || stage
            || calls(at, &["select"])
            || word(at, "as") && tokens.kind(at + 1) == Kind::Dollar
            || tokens.kind(at) == Kind::Quoted && tokens.text(at).contains("\\(")
            || at == 0 && word(at, "if") && found(&|at| word(at, "then"))
    };
    found(&is_jq).then_some(Dialect::Jq)
}
