//! The root, subscripts, slices and separators of paths.

use super::super::edit::{Edit, spelled, walk};
use super::{ends_path, is_function, text_of};
use crate::token::{Kind, Tokens};

/// `['items'][0]` is `items[0]`: the path goes on from a member of the whole. So is `['items']`, where it selects nothing as a
/// list of texts.
pub(super) fn member_of_whole(
    tokens: &Tokens<'_>,
    has_key: &dyn Fn(&str) -> bool,
) -> Option<String> {
    let is_subscript = [tokens.kind(0), tokens.kind(2)] == [Kind::LBracket, Kind::RBracket]
        && matches!(tokens.kind(1), Kind::Raw | Kind::Quoted)
        && matches!(
            tokens.kind(3),
            Kind::LBracket | Kind::Dot | Kind::Flatten | Kind::Filter | Kind::Edge
        );
    let name = is_subscript.then(|| text_of(tokens, 1)).flatten()?;
    let rest = tokens.span(3, tokens.len() - 1).unwrap_or_default();
    has_key(&name).then(|| format!("{}{rest}", spelled(&name)))
}

/// `$items`, `$.items`, `$:items`, `$json.items`, `@items` and `&items` are `items`, and `$count(…)` is `count(…)`.
pub(super) fn root(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let text = tokens.source();
    let binds =
        (0..tokens.len()).any(|at| tokens.text(at) == "as" && tokens.kind(at + 1) == Kind::Dollar);
    if binds
        || text.contains("${")
        || text.contains("$.") && text.contains("@.")
        || text.contains("$__")
    {
        return None;
    }
    let is_word = |at: usize| matches!(tokens.kind(at), Kind::Word | Kind::Loose);
    let mut edit = Edit::new(tokens);
    let mut index = 0;
    while index < tokens.len() {
        let at = index;
        index += 1;
        let is_sign = match tokens.kind(at) {
            Kind::Dollar => true,
            Kind::At | Kind::Ampersand => at == 0,
            _ => false,
        };
        if !is_sign || tokens.behind(at, 1).is_name() && tokens.touches_next(at - 1) {
            continue;
        }
        let begins = at == 0
            || tokens.behind(at, 1).opens_expression()
            || tokens.kind(at - 1) == Kind::LBrace;
        // `$$.items`, `$:items`
        let next = tokens.kind(at + 1);
        if begins
            && matches!(next, Kind::Dollar | Kind::Colon)
            && tokens.kind(at) == Kind::Dollar
            && tokens.kind(at + 2) != Kind::RBracket
        {
            let last =
                at + 1 + usize::from(next == Kind::Dollar && tokens.kind(at + 2) == Kind::Dot);
            edit.remove(at, last);
            index = last + 1;
            continue;
        }
        let word = tokens.text(at + 1);
        if !is_word(at + 1)
            || !tokens.touches_next(at)
            || has_key(&format!("{}{word}", tokens.text(at)))
        {
            continue;
        }
        let is_root = matches!(
            word,
            "json"
                | "data"
                | "root"
                | "input"
                | "response"
                | "result"
                | "output"
                | "body"
                | "_"
                | "this"
                | "ctx"
                | "node"
                | "payload"
                | "item"
        ) && !has_key(word)
            && at == 0;
        match tokens.kind(at + 2) {
            Kind::Dot if is_root => edit.remove(at, at + 2),
            Kind::LBracket
                if is_root && matches!(tokens.kind(at + 3), Kind::Raw | Kind::Quoted) =>
            {
                edit.replace(at, at + 1, "@");
            }
            Kind::Unknown
                if is_root && tokens.text(at + 2) == "-" && tokens.kind(at + 3) == Kind::Gt =>
            {
                edit.remove(at, at + 3);
            }
            Kind::LBracket | Kind::Filter | Kind::Flatten if is_root => edit.remove(at, at + 1),
            Kind::Edge if is_root => edit.replace(at, at + 1, "@"),
            Kind::Pipe if is_root => edit.replace(at, at + 1, "@"),
            _ => edit.remove(at, at),
        }
    }
    edit.finish()
}

/// `items(2)`, `items{2}` and `items<2>` are `items[2]`, `items['2']` likewise; `items[last]` is `items[-1]`.
pub(super) fn subscripts(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    walk(tokens, |edit, enclosing, index| {
        let before = tokens.behind(index, 1);
        let is_number = tokens.kind(index + 1) == Kind::Number;
        let touches = index > 0 && tokens.touches_next(index - 1);
        let follows = ends_path(before) && touches && !enclosing.in_filter();
        let number = tokens.text(index + 1);
        let is_known = index > 0
            && (is_function(tokens.text(index - 1))
                || !has_key(tokens.text(index - 1)) && before != Kind::RBracket);
        let closes = tokens.kind(index + 2);
        match tokens.kind(index) {
            Kind::LParen if follows && is_number && closes == Kind::RParen && !is_known => {
                edit.replace(index, index + 2, &format!("[{number}]"));
            }
            Kind::LBrace if follows && is_number && closes == Kind::RBrace => {
                edit.replace(index, index + 2, &format!("[{number}]"));
            }
            Kind::Lt
                if follows && is_number && closes == Kind::Gt && tokens.touches_next(index) =>
            {
                edit.replace(index, index + 2, &format!("[{number}]"));
            }
            Kind::LBracket if follows || index == 0 => {
                if let Some((last, at)) = index_of(tokens, index, has_key) {
                    edit.replace(index, last, &format!("[{at}]"));
                }
            }
            _ => {}
        }
    })
}

/// Where a subscript ends that says an index in another way, and the index.
fn index_of(
    tokens: &Tokens<'_>,
    open: usize,
    has_key: &dyn Fn(&str) -> bool,
) -> Option<(usize, String)> {
    let end = tokens.closer(open)?;
    let inside = tokens.span(open + 1, end.checked_sub(1)?)?;
    let text = match (tokens.kind(open + 1), end == open + 2) {
        (Kind::Raw | Kind::Quoted | Kind::Literal, true) => tokens.content(open + 1)?,
        (Kind::Number, true) => return None,
        _ => inside,
    };
    let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let lower = squeezed.to_ascii_lowercase();
    let word = lower.trim_end_matches("()");
    let is_number = |text: &str| text.parse::<i32>().is_ok();
    let at = match word {
        _ if is_number(text) && end == open + 2 && !has_key(text) => text.to_owned(),
        _ if word.strip_prefix('#').is_some_and(is_number) => {
            word.trim_start_matches('#').to_owned()
        }
        "last" | "end" | "$" | "latest" | "final" | "count-1" | "length-1" | "len-1" | "#"
            if !has_key(text) =>
        {
            "-1".to_owned()
        }
        "first" | "start" | "begin" | "head" if !has_key(text) => "0".to_owned(),
        "second" if !has_key(text) => "1".to_owned(),
        _ => {
            if let Some(back) = lower
                .strip_prefix('^')
                .or_else(|| lower.strip_prefix("*-"))
                .filter(|back| is_number(back))
            {
                format!("-{back}")
            } else {
                format!("-{}", counted_back(tokens, open, &squeezed)?)
            }
        }
    };
    Some((end, at))
}

/// How far from the end `length(items) - 1` is, on that list.
fn counted_back(tokens: &Tokens<'_>, open: usize, squeezed: &str) -> Option<u32> {
    let (counted, back) = squeezed.rsplit_once('-')?;
    let back = back.parse().ok().filter(|back| *back > 0)?;
    let functions = ["length", "len", "count", "size"];
    let in_call = |name: &str| {
        counted
            .strip_prefix(name)?
            .strip_prefix('(')?
            .strip_suffix(')')
    };
    let methods = [
        ".length()",
        ".length",
        ".size()",
        ".size",
        ".count()",
        ".count",
        "|length",
    ];
    let list = functions
        .iter()
        .find_map(|name| in_call(name))
        .or_else(|| methods.iter().find_map(|name| counted.strip_suffix(name)))?;
    let own = tokens.source().get(..tokens.get(open)?.start)?;
    let own: String = own.chars().filter(|c| !c.is_whitespace()).collect();
    (list == "@" || !list.is_empty() && own.ends_with(list)).then_some(back)
}

/// `[0,1]` is `[0:2]`, and so is `[0..1]`; `[-2..]` and `[length(items)-2:]` are `[-2:]`.
pub(super) fn slices(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut edit = Edit::new(tokens);
    for open in 0..tokens.len() {
        let follows =
            open == 0 || ends_path(tokens.behind(open, 1)) && tokens.touches_next(open - 1);
        if tokens.kind(open) != Kind::LBracket || !follows {
            continue;
        }
        let Some(end) = tokens.closer(open) else {
            continue;
        };
        let Some(inside) = tokens.span(open + 1, end.saturating_sub(1)) else {
            continue;
        };
        let squeezed: String = inside.chars().filter(|c| !c.is_whitespace()).collect();
        // A list of numbers may be one.
        let is_list = open == 0 && tokens.kind(end + 1) != Kind::Dot;
        if let Some(bounds) = bounds(tokens, open, &squeezed).filter(|_| !is_list) {
            edit.replace(open, end, &format!("[{bounds}]"));
        }
    }
    edit.finish()
}

fn bounds(tokens: &Tokens<'_>, open: usize, inside: &str) -> Option<String> {
    let number = |text: &str| text.parse::<i32>().ok();
    let inside = inside
        .strip_prefix('[')
        .and_then(|inside| inside.strip_suffix(']'))
        .unwrap_or(inside);
    let parts: Option<Vec<i32>> = inside.split(',').map(number).collect();
    if let Some(parts) = parts.filter(|parts| parts.len() > 1 && parts.len() <= 64) {
        let first = *parts.first()?;
        let is_run = parts.iter().zip(first..).all(|(part, at)| *part == at);
        return (is_run && first >= 0).then(|| format!("{first}:{}", first + parts.len() as i32));
    }
    if let Some((from, to)) = inside.split_once("..") {
        let (to, is_open) = match to.strip_prefix(['.', '<']) {
            Some(to) => (to, true),
            None => (to.strip_prefix('=').unwrap_or(to), false),
        };
        let from = if from.is_empty() { 0 } else { number(from)? };
        if to.is_empty() {
            return Some(format!("{from}:"));
        }
        let to = number(to)?;
        return match (to, is_open || inside.starts_with("..")) {
            (to, true) => Some(format!("{from}:{to}")),
            (-1, false) => Some(format!("{from}:")),
            (to, false) => Some(format!("{from}:{}", to.checked_add(1)?)),
        };
    }
    let (from, to) = inside.split_once(':')?;
    if matches!(to, "end" | "last" | "$" | "len" | "length") {
        return Some(format!(
            "{}:",
            if from.is_empty() { 0 } else { number(from)? }
        ));
    }
    let back = counted_back(tokens, open, from)?;
    (to.is_empty() || number(to).is_some()).then(|| format!("-{back}:{to}"))
}

/// `a->b`, `a → b`, `a::b`, `a:b`, `a..b` and `items[0] name` are `a.b` and `items[0].name`.
pub(super) fn separators(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let is_path = |at: usize| {
        let kind = tokens.kind(at);
        kind.is_name()
            || matches!(
                kind,
                Kind::Number | Kind::LBracket | Kind::RBracket | Kind::Dot
            )
    };
    // Names and numbers alone.
    let is_bare = tokens.len() > 1
        && (0..tokens.len()).all(is_path)
        && (0..tokens.len()).any(|at| tokens.kind(at) == Kind::Number)
        && (0..tokens.len()).all(|at| tokens.kind(at) != Kind::Word || has_key(tokens.text(at)));
    let is_query = matches!(tokens.kind(0), Kind::Dollar | Kind::Dot | Kind::DotDot);
    let mut last = None;
    walk(tokens, |edit, enclosing, index| {
        let before = tokens.behind(index, 1);
        if last.is_some_and(|last| index <= last)
            || !(ends_path(before) || is_bare && before == Kind::Number)
        {
            return;
        }
        let kind = tokens.kind(index);
        let inner = enclosing.innermost();
        let is_plain = inner == Kind::Edge || inner == Kind::LParen && !enclosing.in_filter();
        let is_arrow = tokens.text(index) == "-"
            && tokens.kind(index + 1) == Kind::Gt
            && tokens.touches_next(index);
        // A function of Java.
        let is_lambda = matches!(tokens.behind(index, 2), Kind::LParen | Kind::Comma)
            && tokens.behind(index, 1) == Kind::Word;
        let end = if is_arrow && is_lambda && inner == Kind::LParen {
            edit.replace(index, index + 1, "=>");
            last = Some(index + 1);
            return;
        } else if is_arrow {
            index + 1 + usize::from(tokens.kind(index + 2) == Kind::Gt)
        } else if matches!(tokens.text(index), "→" | "➝" | "»" | "›") {
            index
        } else if kind == Kind::Colon
            && is_plain
            && tokens.touches_next(index - 1)
            && tokens.touches_next(index)
        {
            index + usize::from(tokens.kind(index + 1) == Kind::Colon)
        } else if kind == Kind::DotDot && is_plain && !is_query
            || tokens.text(index) == "/"
                && is_plain
                && !tokens.source().starts_with('/')
                && tokens.touches_next(index)
                && before == Kind::RBracket
        {
            index
        } else if inner == Kind::Edge
            && kind.is_name()
            && before == Kind::RBracket
            && has_key(tokens.text(index).trim_matches('"'))
            && tokens.kind(index + 1) != Kind::LParen
        {
            edit.insert(index, ".");
            return;
        } else if is_bare && kind == Kind::Number && before.is_name() {
            edit.join(index, index, &format!("[{}]", tokens.text(index)));
            return;
        } else if is_bare && kind.is_name() && before == Kind::Number && inner == Kind::Edge {
            edit.insert(index, ".");
            return;
        } else {
            return;
        };
        let next = end + 1;
        let name = tokens.text(next);
        if tokens.kind(next) == Kind::Dot || tokens.kind(next) == Kind::LBracket && is_arrow {
            edit.join(index, end, "");
            last = Some(end);
        } else if tokens.kind(next) == Kind::Number && is_plain {
            edit.join(index, next, &format!("[{name}]"));
            last = Some(next);
        } else if tokens.kind(next).is_name() || tokens.kind(next) == Kind::Raw && is_arrow {
            let is_type = matches!(
                name,
                "string" | "number" | "boolean" | "object" | "array" | "null"
            ) && !has_key(name)
                || name.ends_with("-child");
            if let Some(name) = text_of(tokens, next).filter(|_| !is_type) {
                edit.join(index, next, &format!(".{}", spelled(&name)));
                last = Some(next);
            }
        }
    })
}
