//! Words round paths: what is said in a sentence, and functions without parentheses or with a letter wrong.

use super::super::edit::walk;
use super::ends_path;
use crate::function::Function;
use crate::token::{Enclosing, Kind, Tokens};

/// `url of items[0]` is `items[0].url`, `items where id is 3, url` is `items[?id is 3].url`.
pub(super) fn spoken(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let is = |at: usize, words: &[&str]| {
        let word = tokens.text(at).to_ascii_lowercase();
        tokens.kind(at) == Kind::Word && words.contains(&word.as_str()) && !has_key(tokens.text(at))
    };
    let last = tokens.len().checked_sub(1)?;
    let first = usize::from(is(0, &["the"]));
    let mut outside = Vec::new();
    let mut enclosing = Enclosing::default();
    for at in 0..tokens.len() {
        enclosing.step(tokens.kind(at));
        if enclosing.innermost() == Kind::Edge {
            outside.push(at);
        }
    }
    if let Some(of) = outside
        .iter()
        .copied()
        .find(|at| *at > first && *at < last && is(*at, &["of"]))
    {
        let field = tokens.span(first, of - 1)?;
        let mut at = of + 1;
        let mut subscript = "";
        while at < last {
            subscript = if is(at, &["all", "each", "every"]) {
                "[*]"
            } else if is(at, &["first"]) {
                "[0]"
            } else if is(at, &["last"]) {
                "[-1]"
            } else if is(at, &["the", "item", "element"]) {
                subscript
            } else {
                break;
            };
            at += 1;
        }
        let path = tokens.span(at, last)?;
        let condition = (at..last).find(|at| is(*at, &["where", "with"]));
        return Some(match condition {
            Some(_) => format!("{path}, {field}"),
            None => format!("{path}{subscript}.{field}"),
        });
    }
    let place = outside
        .iter()
        .copied()
        .find(|at| *at > 0 && *at < last && is(*at, &["where", "with", "whose"]))?;
    let list = tokens.span(first, place - 1)?;
    let arrow = |at: usize| {
        tokens.text(at) == "-" && tokens.kind(at + 1) == Kind::Gt || matches!(tokens.text(at), "→")
    };
    let stop = outside
        .iter()
        .copied()
        .find(|at| *at > place + 1 && (tokens.kind(*at) == Kind::Comma || arrow(*at)));
    let end = stop.map_or(last, |stop| stop - 1);
    let mut condition = tokens.span(place + 1, end)?.to_owned();
    // `with id 3`
    let compares = (place..=end).any(|at| {
        tokens.kind(at).is_comparator() || tokens.kind(at) == Kind::Assign || tokens.is_call(at)
    });
    if !compares && end == last_of_path(tokens, place + 1) + 1 {
        let value = tokens.text(end);
        condition = format!("{} == {value}", tokens.span(place + 1, end - 1)?);
    }
    let rest = match stop {
        Some(stop) => {
            let begin = stop + 1 + usize::from(tokens.kind(stop + 1) == Kind::Gt);
            format!(".{}", tokens.span(begin, last)?)
        }
        None => String::new(),
    };
    Some(format!("{list}[?{condition}]{rest}"))
}

/// Where the path of names that begins at `first` ends.
fn last_of_path(tokens: &Tokens<'_>, first: usize) -> usize {
    let mut at = first;
    while tokens.kind(at + 1) == Kind::Dot && tokens.kind(at + 2).is_name() {
        at += 2;
    }
    at
}

/// A closing bracket too many before a path goes on: `items[?a]].url`; and signs that say that a value is there: `items[0]!.url`.
pub(super) fn unopened(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut open = Vec::new();
    walk(tokens, |edit, _, index| {
        let kind = tokens.kind(index);
        let goes_on = matches!(
            tokens.kind(index + 1),
            Kind::Dot | Kind::Pipe | Kind::LBracket
        );
        if kind.is_opener() {
            open.push(kind);
        } else if kind.is_closer() && open.pop().is_none() && goes_on
            || kind == Kind::Not
                && ends_path(tokens.behind(index, 1))
                && (goes_on || tokens.kind(index + 1) == Kind::Not)
        {
            edit.remove(index, index);
        }
    })
}

/// `a & ' ' & b` is `a + ' ' + b`.
pub(super) fn put_together(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_text = |at: usize| matches!(tokens.kind(at), Kind::Raw | Kind::Quoted);
    let is_sign = |at: usize| {
        tokens.kind(at) == Kind::Ampersand
            && tokens.behind(at, 1).ends_operand()
            && !tokens.touches_next(at)
    };
    let has_text = (1..tokens.len()).any(|at| is_sign(at) && (is_text(at + 1) || is_text(at - 1)));
    walk(tokens, |edit, enclosing, index| {
        if has_text && is_sign(index) && !enclosing.in_filter() {
            edit.replace(index, index, "+");
        }
    })
}

/// `length items` and `items length` are `length(items)`.
pub(super) fn bare_calls(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let end = tokens.len().checked_sub(1).filter(|end| *end > 0)?;
    let is_bare = |at: usize| {
        let name = tokens.text(at);
        let known = [
            "length", "sum", "max", "min", "avg", "keys", "values", "sort", "reverse", "type",
            "len", "count", "size", "average", "first", "last",
        ];
        tokens.kind(at) == Kind::Word && known.contains(&name) && !has_key(name)
    };
    let begins = |at: usize| {
        tokens.kind(at).is_name()
            || matches!(
                tokens.kind(at),
                Kind::At | Kind::Dot | Kind::LBracket | Kind::Filter
            )
    };
    // No other operator takes the operand.
    let is_path = |from: usize, to: usize| {
        let mut enclosing = Enclosing::default();
        (from..=to).all(|at| {
            enclosing.step(tokens.kind(at));
            let outside = enclosing.innermost() == Kind::Edge;
            let joins =
                tokens.kind(at).is_name() && tokens.behind(at, 1).ends_operand() && at > from;
            !outside
                || !(tokens.kind(at).is_comparator()
                    || matches!(
                        tokens.kind(at),
                        Kind::Pipe
                            | Kind::And
                            | Kind::Or
                            | Kind::Comma
                            | Kind::Colon
                            | Kind::Unknown
                            | Kind::Assign
                    )
                    || joins)
        })
    };
    if is_bare(0) && begins(1) && !tokens.touches_next(0) && is_path(1, end) {
        let path = tokens.span(1, end)?;
        return Some(format!("{}({path})", tokens.text(0)));
    }
    if is_bare(end)
        && tokens.behind(end, 1).ends_operand()
        && !tokens.touches_next(end - 1)
        && is_path(0, end - 1)
    {
        let path = tokens.span(0, end - 1)?;
        return Some(format!("{}({path})", tokens.text(end)));
    }
    None
}

/// `legnth(items)` is `length(items)`: one letter wrong, or two swapped, or two in a long name.
pub(super) fn misspelt(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    walk(tokens, |edit, _, index| {
        let name = tokens.text(index);
        if tokens.is_call(index)
            && tokens.behind(index, 1) != Kind::Dot
            && !has_key(name)
            && let Some(known) = Function::misspelt(name)
        {
            edit.replace(index, index, known);
        }
    })
}
