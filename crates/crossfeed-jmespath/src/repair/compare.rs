//! Comparisons: their operators, and operands that are words, numbers or broken literals.

use crossfeed_json::is_number;
use jmespath::Variable;

use super::{
    Reading,
    call::path_start,
    edit::{Edit, raw_content, spelled, string, walk},
};
use crate::token::{Kind, Tokens, decode_quoted, is_identifier};

/// `=`, `===` and `!==` inside a filter become `==` and `!=`.
pub(super) fn equals_sign(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, enclosing, index| {
        let kind = tokens.kind(index);
        if kind != Kind::Assign || !enclosing.in_filter() {
            return;
        }
        let before = tokens.behind(index, 1);
        if matches!(before, Kind::Eq | Kind::Ne) && tokens.touches_next(index - 1) {
            edit.remove(index, index);
        } else if before.ends_operand() && tokens.kind(index + 1).begins_operand() {
            edit.replace(index, index, "==");
        }
    })
}

/// `items[id == 3]` becomes `items[?id == 3]`, and `items[contains(tags, 'a')]` likewise: a subscript that compares is a
/// filter. At the beginning it is one if a path goes on behind it.
pub(super) fn filter_sign(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    // For each open bracket: its place if it is a subscript, and whether something in it is compared.
    let mut open: Vec<(Option<usize>, bool)> = Vec::new();
    let mut filters = Vec::new();
    for (index, token) in tokens.iter() {
        if token.kind.is_opener() {
            let before = tokens.behind(index, 1);
            let follows = before.is_name() || before.is_closer() || before == Kind::At;
            let is_subscript = token.kind == Kind::LBracket && (follows || index == 0);
            let tests = tokens.is_call(index + 1)
                && matches!(
                    tokens.text(index + 1),
                    "contains" | "starts_with" | "ends_with"
                );
            open.push((is_subscript.then_some(index), tests));
        } else if token.kind.is_closer() {
            let goes_on = matches!(
                tokens.kind(index + 1),
                Kind::Dot | Kind::LBracket | Kind::Flatten | Kind::Pipe
            );
            if let Some((Some(place), true)) = open.pop()
                && (place > 0 || goes_on)
            {
                filters.push(place);
            }
        } else if let Some((place, compares)) = open.last_mut() {
            *compares |= token.kind.is_comparator() || token.kind == Kind::Assign;
            // A list of its own has elements.
            if token.kind == Kind::Comma && *place == Some(0) {
                *place = None;
            }
        }
    }
    filters.sort_unstable();
    let mut filters = filters.into_iter().peekable();
    walk(tokens, |edit, _, index| {
        if filters.next_if_eq(&index).is_some() {
            edit.replace(index, index, "[?");
        }
    })
}

/// `and`, `or`, `is`, `is not`, `eq` and their like between two operands of a filter become `&&`, `||`, `==`, `!=` and so on;
/// `not` in front of one becomes `!`, and a lone `&` between two becomes `&&`.
pub(super) fn word_operator(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, enclosing, index| {
        let kind = tokens.kind(index);
        let follows = tokens.behind(index, 1).ends_operand();
        if kind == Kind::Ampersand && enclosing.in_filter() && follows {
            edit.replace(index, index, "&&");
        }
        if is_not(tokens, index) && enclosing.in_filter() && !follows {
            negate(tokens, edit, index);
            return;
        }
        if kind != Kind::Word
            || !enclosing.in_filter()
            || !tokens.behind(index, 1).ends_operand()
            || !tokens.kind(index + 1).begins_operand()
            || (tokens.is_call(index) && tokens.touches_next(index))
        {
            return;
        }
        if let Some((first, call)) = spoken_test(tokens, index) {
            edit.replace(first, index + 1, &call);
            return;
        }
        match tokens.text(index) {
            "and" | "AND" => edit.replace(index, index, "&&"),
            "or" | "OR" => edit.replace(index, index, "||"),
            "is" | "IS" if matches!(tokens.text(index + 1), "not" | "NOT") => {
                edit.replace(index, index + 1, "!=");
            }
            "is" | "IS" | "eq" | "EQ" => edit.replace(index, index, "=="),
            "ne" | "NE" | "neq" => edit.replace(index, index, "!="),
            "gt" | "GT" => edit.replace(index, index, ">"),
            "gte" | "ge" | "GE" => edit.replace(index, index, ">="),
            "lt" | "LT" => edit.replace(index, index, "<"),
            "lte" | "le" | "LE" => edit.replace(index, index, "<="),
            _ => {}
        }
    })
}

/// The call that `name like '%a%'` and `name contains 'a'` mean, and where the path in front of the word begins.
fn spoken_test(tokens: &Tokens<'_>, index: usize) -> Option<(usize, String)> {
    let content = match tokens.kind(index + 1) {
        Kind::Raw => raw_content(tokens, index + 1)?,
        Kind::Quoted => decode_quoted(tokens.text(index + 1))?,
        _ => return None,
    };
    let word = tokens.text(index).replace('_', "").to_ascii_lowercase();
    let (call, part) = match word.as_str() {
        "like" => like(&content)?,
        "contains" | "includes" => ("contains", content.as_str()),
        "startswith" => ("starts_with", content.as_str()),
        "endswith" => ("ends_with", content.as_str()),
        "matches" => ("match", content.as_str()),
        _ => return None,
    };
    let last = index.checked_sub(1)?;
    let first = path_start(tokens, last)?;
    let path = tokens.span(first, last)?;
    Some((first, format!("{call}({path}, {})", string(part))))
}

/// The function that a pattern of `like` means, and the part of a text that it looks for.
pub(super) fn like(pattern: &str) -> Option<(&'static str, &str)> {
    let begun = pattern.strip_prefix('%');
    let inner = begun.unwrap_or(pattern);
    let ended = inner.strip_suffix('%');
    let part = ended.unwrap_or(inner);
    // Other signs stand for any letter.
    if part.is_empty() || part.contains(['%', '_']) {
        return None;
    }
    let name = match (begun.is_some(), ended.is_some()) {
        (true, true) => "contains",
        (false, true) => "starts_with",
        (true, false) => "ends_with",
        (false, false) => return None,
    };
    Some((name, part))
}

fn is_not(tokens: &Tokens<'_>, index: usize) -> bool {
    let is_word = tokens.kind(index) == Kind::Word && matches!(tokens.text(index), "not" | "NOT");
    is_word && tokens.kind(index + 1).begins_operand()
}

/// `not a == 'x'` becomes `!(a == 'x')`, and `not (…)` becomes `!(…)`.
fn negate(tokens: &Tokens<'_>, edit: &mut Edit<'_, '_>, index: usize) {
    let (mut end, mut open) = (index + 1, 0_usize);
    let mut compares = false;
    loop {
        let kind = tokens.kind(end);
        let ends = matches!(kind, Kind::And | Kind::Or | Kind::Comma | Kind::Pipe)
            || kind.is_closer()
            || kind == Kind::Word && matches!(tokens.text(end), "and" | "or" | "AND" | "OR");
        if kind == Kind::Edge || open == 0 && ends {
            break;
        }
        if kind.is_opener() {
            open += 1;
        } else if kind.is_closer() {
            open -= 1;
        }
        compares |= open == 0 && (kind.is_comparator() || kind == Kind::Assign);
        end += 1;
    }
    let compared = tokens.span(index + 1, end - 1).filter(|_| compares);
    match compared {
        Some(operand) => edit.replace(index, end - 1, &format!("!({operand})")),
        None => edit.join(index, index, blank_before(tokens, index)),
    }
}

/// The sign for `not`, apart from a name before it.
fn blank_before(tokens: &Tokens<'_>, index: usize) -> &'static str {
    let before = tokens.behind(index, 1);
    if before.is_opener() || before == Kind::Edge {
        "!"
    } else {
        " !"
    }
}

/// A literal whose content is a word and not valid JSON becomes a string; quotes inside its backticks go.
///
/// A literal that begins like a JSON string, list or object is left alone, and so are a template of JavaScript
/// and one that is the whole expression.
pub(super) fn bare_literal(tokens: &Tokens<'_>, _: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, _, index| {
        if tokens.kind(index) != Kind::Literal || tokens.len() == 1 {
            return;
        }
        let Some(content) = tokens.content(index) else {
            return;
        };
        let content = content.replace("\\`", "`");
        if content.trim_start().starts_with(['"', '[', '{'])
            || content.contains("${")
            || is_json(&content)
            || is_number(content.trim())
        {
            return;
        }
        let inner = content
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''));
        edit.replace(index, index, &string(inner.unwrap_or(&content)));
    })
}

/// Of two texts that a filter compares, one that is a key of the value is a field: `'status' == 'done'` is the same for every
/// item. Where both are, the left one is.
pub(super) fn quoted_field(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    let key = |at: usize| text_at(tokens, at).filter(|text| (reading.has_key)(text));
    let is_constant =
        |at: usize| matches!(tokens.kind(at), Kind::Raw | Kind::Literal | Kind::Number);
    walk(tokens, |edit, enclosing, index| {
        if !tokens.kind(index).is_comparator() || !enclosing.in_filter() {
            return;
        }
        let operands = [lone_before(tokens, index), lone_after(tokens, index)];
        let mut operands = operands.into_iter();
        if operands.clone().all(|at| at.is_some_and(is_constant))
            && let Some((at, name)) = operands.find_map(|at| Some((at?, key(at?)?)))
        {
            edit.replace(at, at, &spelled(&name));
        }
    })
}

/// The text of a string or of a literal that is one.
fn text_at(tokens: &Tokens<'_>, index: usize) -> Option<String> {
    match tokens.kind(index) {
        Kind::Raw => raw_content(tokens, index),
        Kind::Literal => decode_quoted(&tokens.content(index)?.replace("\\`", "`")),
        _ => None,
    }
}

/// A bare number, `true`, `false` or `null` that is compared becomes a literal, as do `True`, `False` and `None`.
pub(super) fn bare_constant(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    walk(tokens, |edit, _, index| {
        if !tokens.kind(index).is_comparator() {
            return;
        }
        let operands = [lone_before(tokens, index), lone_after(tokens, index)];
        for operand in operands.into_iter().flatten() {
            if let Some(constant) = constant_word(tokens, operand, reading) {
                edit.replace(operand, operand, &format!("`{constant}`"));
            }
        }
    })
}

/// The JSON that a bare word or number stands for.
fn constant_word<'t>(tokens: &Tokens<'t>, index: usize, reading: &Reading<'_>) -> Option<&'t str> {
    let text = tokens.text(index);
    match (tokens.kind(index), text) {
        (Kind::Number, _) => is_json(text).then_some(text),
        (Kind::Word, "true" | "false" | "null") => Some(text),
        (Kind::Word, _) if (reading.has_key)(text) => None,
        (Kind::Word, "True" | "TRUE") => Some("true"),
        (Kind::Word, "False" | "FALSE") => Some("false"),
        (Kind::Word, "None" | "NULL" | "undefined") => Some("null"),
        _ => None,
    }
}

fn is_json(text: &str) -> bool {
    Variable::from_json(text).is_ok()
}

/// The token that is the whole left operand of the comparator at `index`.
fn lone_before(tokens: &Tokens<'_>, index: usize) -> Option<usize> {
    let operand = index.checked_sub(1)?;
    let before = tokens.behind(operand, 1);
    let begins = before != Kind::Not && (before.opens_expression() || before == Kind::LBrace);
    (begins && tokens.kind(operand).is_operand()).then_some(operand)
}

/// The token that is the whole right operand of the comparator at `index`.
pub(super) fn lone_after(tokens: &Tokens<'_>, index: usize) -> Option<usize> {
    let operand = index + 1;
    (tokens.kind(operand).is_operand() && tokens.kind(operand + 1).closes_operand())
        .then_some(operand)
}

/// One side of a comparison.
enum Side {
    /// A single word, which may be meant as a string.
    Word(Word),
    /// A string, a literal or a number.
    Constant,
    /// A path, a call or another expression.
    Other,
    /// Not an operand of a comparison.
    Missing,
}

struct Word {
    index: usize,
    content: String,
    /// Without double quotes.
    bare: bool,
    /// The value has such a key.
    key: bool,
    /// Fit for a field name without quotes.
    identifier: bool,
}

impl Word {
    /// The evidence for a string. The value's keys count most, then whether the word is a valid field name,
    /// then its quotes.
    fn claim(&self) -> u8 {
        match (self.key, self.bare, self.identifier) {
            (false, false, _) | (false, true, false) => 5,
            (false, true, true) => 4,
            (true, false, true) => 3,
            (true, ..) => 1,
        }
    }

    /// Whether the word, alone against another expression, is a field: a key that needs its quotes, or any key where the
    /// comparison is `!=`, which a string would pass on every item.
    fn is_field(&self, comparator: Kind) -> bool {
        self.claim() == 1 && (!self.identifier || comparator == Kind::Ne)
    }
}

/// A word that a filter compares with something becomes a string: of two words the one that looks more like one, in doubt
/// the right one. With `other_word`, of two bare words it is the other.
pub(super) fn compared_word(tokens: &Tokens<'_>, reading: &Reading<'_>) -> Option<String> {
    let mut last_string = None;
    walk(tokens, |edit, enclosing, index| {
        let comparator = tokens.kind(index);
        if !comparator.is_comparator() || !enclosing.in_filter() {
            return;
        }
        let left = match lone_before(tokens, index) {
            Some(operand) if last_string == Some(operand) => Side::Constant,
            Some(operand) => side(tokens, operand, reading.has_key),
            None if tokens.behind(index, 1).ends_operand() => Side::Other,
            None => Side::Missing,
        };
        let right = match lone_after(tokens, index) {
            Some(operand) => side(tokens, operand, reading.has_key),
            None if tokens.kind(index + 1).begins_operand() => Side::Other,
            None => Side::Missing,
        };
        let word = match (left, right) {
            (Side::Word(left), Side::Word(right)) => {
                choose(left, right, comparator, reading.choice.other_word)
            }
            (Side::Word(word), Side::Other) | (Side::Other, Side::Word(word)) => {
                (!word.is_field(comparator)).then_some(word)
            }
            _ => None,
        };
        if let Some(word) = word {
            edit.replace(word.index, word.index, &string(&word.content));
            last_string = Some(word.index);
        }
    })
}

/// Which of two words is the string.
fn choose(left: Word, right: Word, comparator: Kind, other_word: bool) -> Option<Word> {
    if left.is_field(comparator) && right.is_field(comparator) && comparator == Kind::Ne {
        return None;
    }
    let swappable = left.bare
        && right.bare
        && ((left.identifier && right.identifier) || (left.key && right.key));
    let (first, second) = if right.claim() >= left.claim() {
        (right, left)
    } else {
        (left, right)
    };
    // A field's name as a string differs from everything: `!=` would select every item.
    let swap = other_word && swappable && !(comparator == Kind::Ne && second.key);
    Some(if swap { second } else { first })
}

fn side(tokens: &Tokens<'_>, index: usize, has_key: &dyn Fn(&str) -> bool) -> Side {
    let kind = tokens.kind(index);
    let content = match kind {
        Kind::Word | Kind::Loose => Some(tokens.text(index).to_owned()),
        Kind::Number if !is_json(tokens.text(index)) => Some(tokens.text(index).to_owned()),
        Kind::Quoted => decode_quoted(tokens.text(index)),
        Kind::Raw | Kind::Literal | Kind::Number => return Side::Constant,
        _ => None,
    };
    match content {
        Some(content) => Side::Word(Word {
            index,
            bare: kind != Kind::Quoted,
            key: has_key(&content),
            identifier: is_identifier(&content),
            content,
        }),
        None => Side::Missing,
    }
}
