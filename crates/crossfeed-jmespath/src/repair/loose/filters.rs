//! The brackets, comparisons and words of filters, and constructions.

use super::super::{
    call::path_start,
    edit::{Edit, spelled, string, walk},
};
use super::{ends_path, text_of};
use crate::token::{Enclosing, Kind, Tokens};

/// `items(?id == 3)`, `items{?id == 3}`, `items?[id == 3]` and `?[id == 3]` are `items[?id == 3]`.
pub(super) fn filter_brackets(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
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
pub(super) fn filter_words(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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
pub(super) fn phrases(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
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
pub(super) fn comparisons(tokens: &Tokens<'_>, has_key: &dyn Fn(&str) -> bool) -> Option<String> {
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
                .and_then(|last| Some((path_start(tokens, last)?, last)));
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

/// `items[*].(id: id)`, `items[*](id: id)` and `items[*].[id: id]` are `items[*].{id: id}`.
pub(super) fn constructions(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
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
pub(super) fn members(tokens: &Tokens<'_>, _: &dyn Fn(&str) -> bool) -> Option<String> {
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
