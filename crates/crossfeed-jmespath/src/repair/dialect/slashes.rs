//! Paths with slashes: JSON Pointer, and XPath as far as it means the same.

use super::{parse::Parser, query::Query};
use crate::{error::Dialect, token::Tokens};

/// Whether the text is a path with slashes.
pub(super) fn is_path(text: &str) -> bool {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('/') {
        return !rest.is_empty();
    }
    let mut parts = text.split('/');
    let is_name = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'*'))
    };
    parts.clone().nth(1).is_some() && parts.all(is_name)
}

/// What the path selects. An index is that of JSON Pointer, from 0; one in brackets, which XPath counts from 1, is not read.
pub(super) fn read(text: &str, has_key: &dyn Fn(&str) -> bool) -> Option<Query> {
    let mut query = Query::Here;
    let text = text.trim();
    for part in parts(text.strip_prefix('/').unwrap_or(text))? {
        let (name, predicate) = match part.split_once('[') {
            Some((name, rest)) => (name, Some(rest.strip_suffix(']')?)),
            None => (part, None),
        };
        query = match name {
            "" => return None,
            "*" => Query::Each(query.into()),
            _ if name.bytes().all(|byte| byte.is_ascii_digit()) => {
                Query::Index(query.into(), name.parse().ok()?, super::query::Of::Item)
            }
            _ if name.contains(['(', ')', '|', '=', '"', '\'', ' ', '@', ':', '<', '>', ',']) => {
                return None;
            }
            _ => query.field(&name.replace("~1", "/").replace("~0", "~")),
        };
        query = match predicate {
            None => query,
            Some("*") => Query::Each(query.into()),
            Some(predicate) => {
                let predicate = predicate.replace('@', "");
                let tokens = Tokens::new(&predicate);
                let mut parser = Parser::new(&tokens, Some(Dialect::XPath), has_key);
                match parser.predicate()? {
                    Query::Constant(_) => return None,
                    predicate => query.filter(predicate),
                }
            }
        };
    }
    Some(query)
}

/// The parts between slashes that are not in brackets.
fn parts(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut open, mut begin) = (Vec::new(), 0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' => open += 1,
            ']' => open = open.checked_sub(1)?,
            '/' if open == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if open > 0 {
        return None;
    }
    parts.push(&text[begin..]);
    (parts.len() < super::MAX_TOKENS / 4).then_some(parts)
}
