//! Signs that other languages have for what JMESPath says otherwise, where they can mean nothing else: brackets, separators
//! and words of paths, filters and constructions.
//!
//! They are read before an expression is taken for one of another language.

mod filters;
mod paths;
mod words;

use super::{Rule, dialect, edit::raw_content, programs};
use crate::function::Function;
use crate::token::{Kind, Tokens, decode_quoted};

/// One rule: the repaired text; `None` if there is nothing to repair.
type Apply = fn(&Tokens<'_>, &dyn Fn(&str) -> bool) -> Option<String>;

const RULES: [(Rule, Apply); 15] = [
    (Rule::Wrapping, words::spoken),
    (Rule::Wrapping, words::unopened),
    (Rule::RootSign, paths::root),
    (Rule::FilterSign, filters::filter_brackets),
    (Rule::FilterSign, filters::filter_words),
    (Rule::WordOperator, filters::phrases),
    (Rule::EqualsSign, filters::comparisons),
    (Rule::MemberName, filters::constructions),
    (Rule::MemberName, filters::members),
    (Rule::DottedSubscript, paths::subscripts),
    (Rule::DottedSubscript, paths::slices),
    (Rule::DottedSubscript, paths::separators),
    (Rule::WordOperator, words::put_together),
    (Rule::MethodCall, words::bare_calls),
    (Rule::FunctionName, words::misspelt),
];

/// The expression with one rule applied; nothing where there is nothing to repair.
pub(super) fn tightened(text: &str, has_key: &dyn Fn(&str) -> bool) -> Option<(Rule, String)> {
    let tokens = Tokens::new(text);
    if let Some(found) = paths::member_of_whole(&tokens, has_key) {
        return Some((Rule::StringSubscript, found));
    }
    if let Some(found) = programs::documents(&tokens) {
        return Some((Rule::JavaScript, found));
    }
    if dialect::translated(&tokens, has_key, false).is_some() {
        return None;
    }
    if let Some(found) = programs::rewritten(&tokens) {
        return Some(found);
    }
    let mut rules = RULES.into_iter();
    rules.find_map(|(rule, apply)| Some((rule, apply(&tokens, has_key)?)))
}

/// Whether a path may end with this token.
fn ends_path(kind: Kind) -> bool {
    kind.is_name()
        || matches!(
            kind,
            Kind::RBracket | Kind::Flatten | Kind::At | Kind::RParen
        )
}

fn text_of(tokens: &Tokens<'_>, index: usize) -> Option<String> {
    match tokens.kind(index) {
        Kind::Raw => raw_content(tokens, index),
        Kind::Quoted => decode_quoted(tokens.text(index)),
        Kind::Word | Kind::Loose => Some(tokens.text(index).to_owned()),
        _ => None,
    }
}

fn is_function(name: &str) -> bool {
    Function::named(name).is_some()
}
