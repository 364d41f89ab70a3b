//! Paths with slashes: JSON Pointer, and XPath as far as it means the same.

use super::{
    parse::Parser,
    query::{Of, Query},
};
use crate::{error::Dialect, token::Tokens};

/// The function and the path of `count(/items)`.
fn called(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_once('(')?;
    let inside = rest.strip_suffix(')')?.trim();
    let inside = inside.strip_prefix('.').unwrap_or(inside);
    let is_path = inside.starts_with('/') && !inside.starts_with("//");
    (matches!(
        name,
        "count" | "length" | "sum" | "max" | "min" | "avg" | "string"
    ) && is_path)
        .then_some((name, inside))
}

/// Whether the text is a path with slashes.
pub(super) fn is_path(text: &str) -> bool {
    let text = text.trim();
    let path = text.strip_prefix('#').unwrap_or(text);
    if let Some(rest) = path.strip_prefix('/') {
        // Not the regular expression of a program.
        return !rest.is_empty() && !rest.contains(".test(");
    }
    if called(text).is_some() || text.starts_with("(/") && text.contains(")[") {
        return true;
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

fn counted(list: Query) -> Query {
    let list = match list {
        Query::Each(list) => *list,
        list => list,
    };
    Query::Call("length", vec![list])
}

/// A subscript on a list, or on the items that a star takes.
fn of_each(query: Query, subscripted: impl FnOnce(Query) -> Query) -> Query {
    match query {
        Query::Each(list) => subscripted(*list),
        list => subscripted(list),
    }
}

/// What the path selects. An index is that of JSON Pointer, from 0; one in brackets, which XPath counts from 1, is not read.
pub(super) fn read(text: &str, has_key: &dyn Fn(&str) -> bool, flipped: bool) -> Option<Query> {
    let mut query = Query::Here;
    let text = text.trim();
    if let Some((name, inside)) = called(text) {
        let list = read(inside, has_key, flipped)?;
        return Some(match name {
            "count" | "length" => counted(list),
            "sum" => Query::Call("sum", vec![list]),
            "max" => Query::Call("max", vec![list]),
            "min" => Query::Call("min", vec![list]),
            "avg" => Query::Call("avg", vec![list]),
            // The text of one value.
            _ => list,
        });
    }
    // An index on all that a path selects counts from 1.
    if let Some((inside, rest)) = text
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(")["))
    {
        let (number, rest) = rest.split_once(']')?;
        let number: i64 = number.parse().ok().filter(|number| *number > 0)?;
        let mut query = read(inside, has_key, flipped)?.index(number - 1);
        for name in rest.split('/').filter(|name| !name.is_empty()) {
            query = crate::token::is_identifier(name).then(|| query.field(name))?;
        }
        return Some(query);
    }
    let path = text.strip_prefix('#').unwrap_or(text);
    let path = path
        .strip_suffix('/')
        .filter(|path| !path.is_empty())
        .unwrap_or(path);
    for part in parts(path.strip_prefix('/').unwrap_or(path))? {
        let (name, mut predicates) = part.split_at(part.find('[').unwrap_or(part.len()));
        // An attribute is a member.
        let name = name.strip_prefix('@').unwrap_or(name);
        query = match name {
            "" => return None,
            "*" if flipped => Query::Values(query.into()),
            "*" => Query::Each(query.into()),
            "text()" => query,
            "last()" => query.index(-1),
            "length()" | "count()" | "size()" => counted(query),
            "length" if !has_key("length") => counted(query),
            _ if name
                .strip_prefix('-')
                .unwrap_or(name)
                .bytes()
                .all(|byte| byte.is_ascii_digit()) =>
            {
                Query::Index(query.into(), name.parse().ok()?, Of::Item)
            }
            _ if name.contains(['(', ')', '|', '=', '"', '\'', ' ', '@', ':', '<', '>', ',']) => {
                return None;
            }
            _ => query.field(&name.replace("~1", "/").replace("~0", "~")),
        };
        while !predicates.is_empty() {
            let (predicate, rest) = first_predicate(predicates)?;
            query = taken(query, predicate, has_key)?;
            predicates = rest;
        }
    }
    Some(query)
}

/// What is in the brackets that a text begins with, and the rest of it.
fn first_predicate(text: &str) -> Option<(&str, &str)> {
    let (mut open, mut quote) = (0_usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(sign), c) if sign == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => open += 1,
            (None, ']') => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            return Some((text.get(1..at)?, text.get(at + 1..)?));
        }
    }
    None
}

/// What a predicate leaves.
fn taken(query: Query, predicate: &str, has_key: &dyn Fn(&str) -> bool) -> Option<Query> {
    let squeezed = predicate.replace(' ', "");
    if let Some(most) = squeezed.strip_prefix("position()<=") {
        let most: u32 = most.parse().ok()?;
        return Some(of_each(query, |list| {
            Query::Slice(list.into(), format!(":{most}"), Of::Item)
        }));
    }
    Some(match squeezed.as_str() {
        "*" => Query::Each(query.into()),
        "last()" | "position()=last()" => {
            of_each(query, |list| Query::Index(list.into(), -1, Of::Item))
        }
        // No item of XPath has that number.
        "0" => of_each(query, |list| Query::Index(list.into(), 0, Of::Item)),
        _ => {
            let predicate = with_dots(predicate.trim_start_matches("./"));
            let tokens = Tokens::new(&predicate);
            let mut parser = Parser::new(&tokens, Some(Dialect::XPath), has_key);
            let predicate = match parser.predicate()? {
                Query::Constant(_) => return None,
                predicate => predicate,
            };
            // Another filter is on what the first one leaves.
            let of = match &query {
                Query::Filter(..) => Of::Whole,
                _ => Of::Item,
            };
            of_each(query, |list| {
                Query::Filter(list.into(), predicate.into(), of)
            })
        }
    })
}

/// A predicate with dots for the slashes in its paths, and attributes as members.
fn with_dots(predicate: &str) -> String {
    let mut quote = None;
    predicate
        .chars()
        .filter_map(|c| {
            match quote {
                Some(sign) if sign == c => quote = None,
                None if matches!(c, '\'' | '"') => quote = Some(c),
                None if c == '/' => return Some('.'),
                None if c == '@' => return None,
                _ => {}
            }
            Some(c)
        })
        .collect()
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
