//! Signs that other languages have for what JMESPath says otherwise, where they can mean nothing else: brackets, separators
//! and words of paths, filters and constructions.
//!
//! They are read before an expression is taken for one of another language.

use super::{
    Rule, dialect,
    edit::{Edit, raw_content, spelled, string, walk},
    programs,
};
use crate::function::Function;
use crate::token::{Enclosing, Kind, Tokens, decode_quoted};

/// One rule: the repaired text; `None` if there is nothing to repair.
type Apply = fn(&Tokens<'_>, &dyn Fn(&str) -> bool) -> Option<String>;

const RULES: [(Rule, Apply); 15] = [
    (Rule::Wrapping, spoken),
    (Rule::Wrapping, unopened),
    (Rule::RootSign, root),
    (Rule::FilterSign, filter_brackets),
    (Rule::FilterSign, filter_words),
    (Rule::WordOperator, phrases),
    (Rule::EqualsSign, comparisons),
    (Rule::MemberName, constructions),
    (Rule::MemberName, members),
    (Rule::DottedSubscript, subscripts),
    (Rule::DottedSubscript, slices),
    (Rule::DottedSubscript, separators),
    (Rule::WordOperator, put_together),
    (Rule::MethodCall, bare_calls),
    (Rule::FunctionName, misspelt),
];

/// The expression with one rule applied; nothing where there is nothing to repair.
pub(super) fn tightened(text: &str, has_key: &dyn Fn(&str) -> bool) -> Option<(Rule, String)> {
    let tokens = Tokens::new(text);
    if let Some(found) = member_of_whole(&tokens, has_key) {
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

/// `['items'][0]` is `items[0]`: the path goes on from a member of the whole. So is `['items']`, where it selects nothing as a
/// list of texts.
fn member_of_whole(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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
fn root(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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

/// `items(?id == 3)`, `items{?id == 3}`, `items?[id == 3]` and `?[id == 3]` are `items[?id == 3]`.
fn filter_brackets(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut edit = Edit::new(tokens);
    let mut index = 0;
    while index < tokens.len() {
        let at = index;
        index += 1;
        let is_question = |at: usize| tokens.text(at) == "?";
        let opens = matches!(tokens.kind(at), Kind::LParen | Kind::LBrace);
        let before = tokens.behind(at, 1);
        let is_place = ends_path(before)
            || matches!(before, Kind::Edge | Kind::Pipe | Kind::LParen | Kind::Dot);
        let (first, open) = if opens && is_question(at + 1) && is_place {
            (at, at)
        } else if is_question(at)
            && matches!(tokens.kind(at + 1), Kind::LBracket | Kind::LParen)
            && tokens.touches_next(at)
            && (at == 0 || ends_path(tokens.behind(at, 1)) && tokens.touches_next(at - 1))
            && !matches!(tokens.kind(at + 2), Kind::Number | Kind::Star | Kind::Colon)
        {
            (at, at + 1)
        } else {
            continue;
        };
        let Some(end) = tokens.closer(open) else {
            continue;
        };
        let inside = if open == at { at + 2 } else { open + 1 };
        let Some(condition) = tokens.span(inside, end.checked_sub(1)?) else {
            continue;
        };
        edit.replace(first, end, &format!("[?{condition}]"));
        index = end + 1;
    }
    edit.finish()
}

/// `[where id == 3]` is `[?id == 3]`, and so is `[?where id == 3]`; `&& ?b` is `&& b`, and `[?a, b]` is `[?a && b]`.
fn filter_words(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    walk(tokens, |edit, enclosing, index| {
        let kind = tokens.kind(index);
        let text = tokens.text(index);
        let is_where = |at: usize| {
            let is_word = matches!(
                tokens.text(at).to_ascii_lowercase().as_str(),
                "where" | "filter" | "when" | "if"
            );
            is_word
                && tokens.kind(at) == Kind::Word
                && tokens.kind(at + 1).begins_operand()
                && !tokens.touches_next(at)
                && !has_key(tokens.text(at))
        };
        if kind == Kind::LBracket && is_where(index + 1) {
            edit.join(index, index + 1, "[?");
        } else if kind == Kind::Filter && is_where(index + 1) {
            edit.remove(index + 1, index + 1);
        } else if enclosing.in_filter()
            && text == "?"
            && matches!(
                tokens.behind(index, 1),
                Kind::And | Kind::Or | Kind::Filter | Kind::LParen | Kind::Not
            )
        {
            edit.remove(index, index);
        } else if enclosing.innermost() == Kind::Filter && (kind == Kind::Comma || text == ";") {
            edit.replace(index, index, " &&");
        }
    })
}

/// Words for a comparison, longest first, and their signs.
const PHRASES: [(&str, &str); 34] = [
    ("is greater than or equal to", ">="),
    ("is less than or equal to", "<="),
    ("greater than or equal to", ">="),
    ("less than or equal to", "<="),
    ("is not equal to", "!="),
    ("is greater than", ">"),
    ("is more than", ">"),
    ("is larger than", ">"),
    ("is less than", "<"),
    ("is smaller than", "<"),
    ("is at least", ">="),
    ("is at most", "<="),
    ("is equal to", "=="),
    ("is equals to", "=="),
    ("does not equal", "!="),
    ("not equal to", "!="),
    ("equal to", "=="),
    ("greater than", ">"),
    ("more than", ">"),
    ("larger than", ">"),
    ("bigger than", ">"),
    ("less than", "<"),
    ("smaller than", "<"),
    ("fewer than", "<"),
    ("at least", ">="),
    ("at most", "<="),
    ("not equals", "!="),
    ("is exactly", "=="),
    ("equals", "=="),
    ("equal", "=="),
    ("above", ">"),
    ("below", "<"),
    ("after", ">"),
    ("before", "<"),
];

/// `[?id is equal to 3]` is `[?id == 3]`; a hyphen before a word is that of a shell: `[?id -eq 3]`.
fn phrases(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    walk(tokens, |edit, enclosing, index| {
        if !enclosing.in_filter() || !tokens.behind(index, 1).ends_operand() {
            return;
        }
        for (phrase, sign) in PHRASES {
            let words = phrase.split(' ').count();
            let mut said = phrase.split(' ').enumerate();
            let is_said = said.all(|(ahead, word)| {
                tokens.kind(index + ahead) == Kind::Word
                    && tokens.text(index + ahead).eq_ignore_ascii_case(word)
            });
            let last = index + words - 1 + usize::from(tokens.kind(index + words) == Kind::Colon);
            if is_said
                && tokens.kind(last + 1).begins_operand()
                && tokens.kind(last + 1) != Kind::LParen
            {
                edit.replace(index, last, sign);
                return;
            }
        }
        let word = tokens.text(index + 1).to_ascii_lowercase();
        let is_short = matches!(
            word.as_str(),
            "eq" | "ne" | "gt" | "ge" | "lt" | "le" | "like" | "match" | "contains" | "and" | "or"
        );
        if tokens.text(index) == "-" && tokens.touches_next(index) && is_short {
            edit.remove(index, index);
        }
        if tokens.kind(index) == Kind::Word && tokens.text(index) == "IN" {
            edit.replace(index, index, "in");
        }
    })
}

/// Comparisons with other signs in a filter: `:`, `>>`, `<>`, `*=`; a name in brackets; slashes in a path; `not null a`.
fn comparisons(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut compared_at = None;
    walk(tokens, |edit, enclosing, index| {
        if !enclosing.in_filter() || compared_at.is_some_and(|last| index <= last) {
            return;
        }
        let kind = tokens.kind(index);
        let next = tokens.kind(index + 1);
        let follows = tokens.behind(index, 1).ends_operand();
        let is_double = kind == next && tokens.touches_next(index);
        if kind == Kind::Colon
            && follows
            && matches!(enclosing.innermost(), Kind::Filter | Kind::LParen)
            && next.begins_operand()
        {
            let word = tokens.text(index.saturating_sub(1));
            if !matches!(word, "eq" | "is" | "ne" | "gt" | "lt") {
                edit.replace(index, index, " ==");
            } else {
                edit.remove(index, index);
            }
        } else if follows && is_double && matches!(kind, Kind::Gt | Kind::Lt) {
            edit.replace(index, index + 1, tokens.text(index));
        } else if follows && kind == Kind::Lt && next == Kind::Gt && tokens.touches_next(index) {
            edit.replace(index, index + 1, "!=");
        } else if kind == Kind::LBracket
            && matches!(next, Kind::Raw | Kind::Quoted)
            && tokens.kind(index + 2) == Kind::RBracket
            && !follows
            && (tokens.kind(index + 3).is_comparator() || tokens.kind(index + 3) == Kind::Dot)
        {
            if let Some(name) = text_of(tokens, index + 1) {
                edit.replace(index, index + 2, &spelled(&name));
            }
        } else if tokens.text(index) == "/"
            && tokens.behind(index, 1).is_name()
            && next.is_name()
            && tokens.touches_next(index)
            && tokens.touches_next(index - 1)
        {
            edit.replace(index, index, ".");
        } else if matches!(tokens.text(index), "*" | "^" | "$" | "%")
            && next == Kind::Assign
            && tokens.touches_next(index)
        {
            let function = match tokens.text(index) {
                "^" => "starts_with",
                "$" => "ends_with",
                _ => "contains",
            };
            let path = index
                .checked_sub(1)
                .and_then(|last| Some((super::call::path_start(tokens, last)?, last)));
            if let Some((first, last)) = path
                && let (Some(path), Some(part)) =
                    (tokens.span(first, last), text_of(tokens, index + 2))
            {
                edit.replace(
                    first,
                    index + 2,
                    &format!("{function}({path}, {})", string(&part)),
                );
                compared_at = Some(index + 2);
            }
        } else if tokens.text(index).eq_ignore_ascii_case("not")
            && tokens.text(index + 1).eq_ignore_ascii_case("null")
            && tokens.kind(index + 2).is_name()
            && !follows
            && !has_key("null")
        {
            edit.replace(
                index,
                index + 2,
                &format!("{} != `null`", tokens.text(index + 2)),
            );
            compared_at = Some(index + 2);
        }
    })
}

fn text_of(tokens: &Tokens<'_>, index: usize) -> Option<String> {
    match tokens.kind(index) {
        Kind::Raw => raw_content(tokens, index),
        Kind::Quoted => decode_quoted(tokens.text(index)),
        Kind::Word | Kind::Loose => Some(tokens.text(index).to_owned()),
        _ => None,
    }
}

/// `items[*].(id: id)`, `items[*](id: id)` and `items[*].[id: id]` are `items[*].{id: id}`.
fn constructions(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut edit = Edit::new(tokens);
    for open in 0..tokens.len() {
        let before = tokens.behind(open, 1);
        let is_open = match tokens.kind(open) {
            Kind::LParen => {
                before == Kind::Dot || matches!(before, Kind::RBracket | Kind::Flatten | Kind::Star)
            }
            Kind::LBracket => before == Kind::Dot || open == 0,
            _ => false,
        };
        if !is_open {
            continue;
        }
        let Some(end) = tokens.closer(open) else {
            continue;
        };
        let mut depth = 0_usize;
        let names = (open + 1..end).any(|at| {
            let kind = tokens.kind(at);
            if kind.is_opener() {
                depth += 1;
            } else if kind.is_closer() {
                depth = depth.saturating_sub(1);
            }
            let is_named = tokens.behind(at, 1).is_name() && tokens.behind(at, 2) != Kind::Dot;
            let begins = tokens.kind(at + 1).begins_operand();
            depth == 0
                && begins
                && (kind == Kind::Colon
                    && is_named
                    && matches!(
                        tokens.behind(at, 2),
                        Kind::Comma | Kind::LParen | Kind::LBracket
                    )
                    || tokens.text(at) == "as"
                        && kind == Kind::Word
                        && tokens.behind(at, 1).ends_operand())
        });
        if names {
            edit.replace(
                open,
                open,
                if before == Kind::Dot || open == 0 {
                    "{"
                } else {
                    ".{"
                },
            );
            edit.replace(end, end, "}");
        }
    }
    edit.finish()
}

/// `{id as label}` is `{label: id}`, `{id => id}` is `{id: id}`, and members stand between commas.
fn members(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut edit = Edit::new(tokens);
    let mut enclosing = Enclosing::default();
    let mut begins = Vec::new();
    for index in 0..tokens.len() {
        let kind = tokens.kind(index);
        if kind.is_opener() {
            begins.push(index + 1);
        } else if kind.is_closer() {
            begins.pop();
        }
        enclosing.step(kind);
        if enclosing.innermost() != Kind::LBrace {
            continue;
        }
        let begin = begins.last().copied().unwrap_or(0);
        let is_end = |at: usize| {
            matches!(tokens.kind(at), Kind::Comma | Kind::RBrace) || tokens.text(at) == ";"
        };
        if kind == Kind::Word
            && tokens.text(index) == "as"
            && tokens.kind(index + 1).is_name()
            && is_end(index + 2)
            && index > begin
        {
            if let Some(value) = tokens.span(begin, index - 1) {
                edit.replace(
                    begin,
                    index + 1,
                    &format!("{}: {value}", tokens.text(index + 1)),
                );
            }
        } else if kind == Kind::Assign
            && tokens.kind(index + 1) == Kind::Gt
            && index == begin + 1
            && tokens.kind(begin).is_name()
            && tokens.kind(0) != Kind::LBrace
        {
            edit.join(index, index + 1, ": ");
        } else if tokens.text(index) == ";" && tokens.kind(begin + 1) == Kind::Colon {
            edit.replace(index, index, ",");
        }
        if (kind == Kind::Comma || tokens.text(index) == ";")
            && let Some(begin) = begins.last_mut()
        {
            *begin = index + 1;
        }
    }
    edit.finish()
}

/// `items(2)`, `items{2}` and `items<2>` are `items[2]`, `items['2']` likewise; `items[last]` is `items[-1]`.
fn subscripts(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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
fn slices(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
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
fn separators(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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

/// `url of items[0]` is `items[0].url`, `items where id is 3, url` is `items[?id is 3].url`.
fn spoken(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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
fn unopened(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
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
fn put_together(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
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

fn is_function(name: &str) -> bool {
    Function::named(name).is_some()
}

/// `length items` and `items length` are `length(items)`.
fn bare_calls(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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
fn misspelt(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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
