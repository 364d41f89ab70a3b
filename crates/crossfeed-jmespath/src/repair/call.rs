//! Calls: arguments in double quotes, and the tilde that models put in front of a predicate.

use super::{
    Reading,
    edit::{string, walk},
};
use crate::token::{Kind, Tokens, decode_quoted, is_identifier};

fn is_predicate(name: &str) -> bool {
    matches!(name, "contains" | "starts_with" | "ends_with")
}

/// `path ~ contains(@, "x")` becomes `contains(path, 'x')`, and `path =~ "x"` becomes `match(path, 'x')`; any other tilde goes.
pub(super) fn tilde(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, _, index| {
        if tokens.kind(index) != Kind::Tilde {
            return;
        }
        if let Some((first, call)) = applied(tokens, index) {
            edit.replace(first, index + 6, &call);
        } else if let Some((first, last, call)) = matched(tokens, index) {
            edit.replace(first, last, &call);
        } else {
            edit.remove(index, index);
        }
    })
}

/// The call that `=~` with a tilde at `index` means, and the places that it takes.
fn matched(tokens: &Tokens<'_>, index: usize) -> Option<(usize, usize, String)> {
    if tokens.behind(index, 1) != Kind::Assign {
        return None;
    }
    let (before, last) = (index.checked_sub(2)?, index + 1);
    let first = path_start(tokens, before)?;
    let pattern = match tokens.kind(last) {
        Kind::Quoted => string(&decode_quoted(tokens.text(last))?),
        Kind::Raw => tokens.text(last).to_owned(),
        _ => return None,
    };
    let path = tokens.span(first, before)?;
    Some((first, last, format!("match({path}, {pattern})")))
}

/// The call that the tilde at `index` means, and where the path in front of it begins.
fn applied(tokens: &Tokens<'_>, index: usize) -> Option<(usize, String)> {
    let name = tokens.text(index + 1);
    let shape = [
        (index + 1, Kind::Word),
        (index + 2, Kind::LParen),
        (index + 3, Kind::At),
        (index + 4, Kind::Comma),
        (index + 6, Kind::RParen),
    ];
    if !is_predicate(name) || shape.iter().any(|(at, kind)| tokens.kind(*at) != *kind) {
        return None;
    }
    let argument = tokens.text(index + 5);
    let argument = match tokens.kind(index + 5) {
        Kind::Quoted => string(&decode_quoted(argument)?),
        Kind::Raw | Kind::Literal => argument.to_owned(),
        Kind::Number => format!("`{argument}`"),
        _ => return None,
    };
    let last = index.checked_sub(1)?;
    let first = path_start(tokens, last)?;
    let path = tokens.span(first, last)?;
    Some((first, format!("{name}({path}, {argument})")))
}

/// Where the path of names and subscripts that ends at `last` begins.
pub(super) fn path_start(tokens: &Tokens<'_>, last: usize) -> Option<usize> {
    let mut at = last;
    loop {
        match tokens.kind(at) {
            Kind::RBracket
                if matches!(tokens.behind(at, 1), Kind::Number | Kind::Star)
                    && tokens.behind(at, 2) == Kind::LBracket =>
            {
                at = at.checked_sub(2)?;
                if ends_path(tokens.behind(at, 1)) {
                    at = at.checked_sub(1)?;
                    continue;
                }
            }
            Kind::Flatten if ends_path(tokens.behind(at, 1)) => {
                at = at.checked_sub(1)?;
                continue;
            }
            Kind::Flatten | Kind::At => {}
            kind if kind.is_name() => {
                if tokens.behind(at, 1) == Kind::Dot {
                    at = at.checked_sub(2)?;
                    continue;
                }
            }
            _ => return None,
        }
        let before = tokens.behind(at, 1);
        return (before.opens_expression() || before == Kind::LBrace).then_some(at);
    }
}

fn ends_path(kind: Kind) -> bool {
    kind.is_name() || matches!(kind, Kind::At | Kind::RBracket | Kind::Flatten)
}

/// The double-quoted second argument of a function that looks for a part of a text, such as `contains` and `split`, and the
/// first of `join`, becomes a string, and so does a word there that is not an identifier; unless it is a key of the value that
/// needs quotes.
pub(super) fn quoted_argument(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    // For each open bracket: which argument is a string, and how many commas have passed.
    let mut open: Vec<(Option<usize>, usize)> = Vec::new();
    walk(tokens, |edit, _, index| match tokens.kind(index) {
        Kind::LParen => {
            let callee = match index.checked_sub(1) {
                Some(before) if tokens.is_call(before) => tokens.text(before),
                _ => "",
            };
            let wanted = match callee {
                "join" => Some(0),
                name if is_predicate(name) || matches!(name, "split" | "match") => Some(1),
                _ => None,
            };
            open.push((wanted, 0));
        }
        kind if kind.is_opener() => open.push((None, 0)),
        kind if kind.is_closer() => {
            open.pop();
        }
        Kind::Comma => {
            if let Some((_, commas)) = open.last_mut() {
                *commas += 1;
            }
        }
        Kind::Quoted | Kind::Loose => {
            let alone = matches!(tokens.behind(index, 1), Kind::LParen | Kind::Comma)
                && matches!(tokens.kind(index + 1), Kind::RParen | Kind::Comma);
            if !alone || !matches!(open.last(), Some((Some(wanted), commas)) if wanted == commas) {
                return;
            }
            let content = if tokens.kind(index) == Kind::Quoted {
                decode_quoted(tokens.text(index))
            } else {
                Some(tokens.text(index).to_owned())
            };
            // A key that needs quotes is a field.
            let is_field = |word: &String| !is_identifier(word) && (reading.has_key)(word);
            if let Some(content) = content.filter(|word| !is_field(word)) {
                edit.replace(index, index, &string(&content));
            }
        }
        _ => {}
    })
}

/// `[a b]` becomes `[a, b]`, and `contains(x 'y')` becomes `contains(x, 'y')`: where one operand of a list, a call or a hash
/// ends and another begins. Words of programs, as in `[x for x in items]`, are no operands. A comma after the last goes.
pub(super) fn commas(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    let is_speech = |index: usize| {
        tokens.kind(index) == Kind::Word
            && matches!(
                tokens.text(index),
                "for" | "in" | "if" | "else" | "is" | "not" | "and" | "or" | "as" | "lambda"
            )
    };
    if (0..tokens.len()).any(is_speech) {
        return None;
    }
    walk(tokens, |edit, enclosing, index| {
        let listed = matches!(
            enclosing.innermost(),
            Kind::LBracket | Kind::LParen | Kind::LBrace
        );
        // An opening brace is not yet enclosed by itself.
        let begins = tokens.kind(index).begins_anew() && tokens.kind(index) != Kind::LBrace;
        if listed && begins && tokens.behind(index, 1).ends_operand() {
            edit.insert(index, ", ");
        } else if tokens.kind(index) == Kind::Comma && tokens.kind(index + 1).is_closer() {
            edit.remove(index, index);
        }
    })
}
