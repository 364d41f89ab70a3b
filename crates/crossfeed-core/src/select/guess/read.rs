//! The words, literals and signs of a text in any language.

use crate::paths::words;

/// The most tokens of a text that are read.
const MAX_TOKENS: usize = 200;
/// The most bytes between brackets that are read as an index.
const MAX_INDEX_BYTES: usize = 24;
/// The signs that compare, connect or separate. Others do not matter.
const SIGNS: &str = "=!<>~^*&|+:-,;{}";
/// Signs that open a quoted text, and those that close it.
const QUOTES: [(char, char); 8] = [
    ('\'', '\''),
    ('"', '"'),
    ('`', '`'),
    ('“', '”'),
    ('„', '“'),
    ('‘', '’'),
    ('«', '»'),
    ('”', '”'),
];

/// A part of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A word, and whether arguments in parentheses follow.
    Word { text: String, is_call: bool },
    /// What stands in quotes.
    Text(String),
    /// A number, which may be an index.
    Number(String),
    /// An index or a slice in brackets.
    Index(Index),
    /// Signs that compare, connect or separate.
    Sign(String),
}

/// Which items are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    One(i64),
    Slice(Option<i64>, Option<i64>),
}

/// How a field is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Greater,
    AtLeast,
    Less,
    AtMost,
    Contains,
    /// It is one of several values, or a part.
    OneOf,
    Starts,
    Ends,
}

/// What a word says other than a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Count,
    First,
    Last,
    Second,
    Third,
    Take,
    FromOne,
    /// A loop that counts or adds up.
    Fold,
    Sum,
    Average,
    Max,
    Min,
    Sort,
    Descending,
    Keys,
    Join,
    Compare(Comparison),
    Not,
    Or,
    As,
    Truth(bool),
    Nothing,
    Something,
    /// It says nothing of its own.
    Plain,
}

/// The words of functions, methods and sentences in the languages that models write.
const ROLES: [(Role, &str); 34] = [
    (
        Role::Count,
        "count length len size nrow shape cardinality countif many number",
    ),
    (Role::First, "first find findone head single next one"),
    (Role::Last, "last tail end final"),
    (Role::Second, "second"),
    (Role::Third, "third"),
    (Role::Take, "take limit top range"),
    (Role::FromOne, "nth child position row no"),
    (Role::Fold, "reduce fold inject aggregate"),
    (Role::Sum, "sum total add"),
    (Role::Average, "avg average mean"),
    (
        Role::Max,
        "max maximum greatest largest highest idxmax argmax nlargest newest latest maxby",
    ),
    (
        Role::Min,
        "min minimum smallest lowest idxmin argmin nsmallest oldest minby",
    ),
    (
        Role::Sort,
        "sort sorted order ordered orderby sortby arrange ascending",
    ),
    (Role::Descending, "desc descending reverse reversed"),
    (Role::Keys, "keys keyset names"),
    (Role::Join, "join concat format sprintf printf combine"),
    (
        Role::Compare(Comparison::Equal),
        "eq equal equals equalto is match same",
    ),
    (
        Role::Compare(Comparison::Unequal),
        "ne neq isnt differs unequal except",
    ),
    (
        Role::Compare(Comparison::Greater),
        "gt greater above more over exceeds after greaterthan",
    ),
    (
        Role::Compare(Comparison::AtLeast),
        "ge gte since least from",
    ),
    (
        Role::Compare(Comparison::Less),
        "lt less below under before lessthan",
    ),
    (Role::Compare(Comparison::AtMost), "le lte until most"),
    (
        Role::Compare(Comparison::Contains),
        "contains contain containing include includes like ilike matches has search test regex \
         substring indexof some any",
    ),
    (Role::Compare(Comparison::OneOf), "in oneof isin"),
    (
        Role::Compare(Comparison::Starts),
        "starts start begins begin prefix startswith beginswith",
    ),
    (Role::Compare(Comparison::Ends), "ends endswith suffix"),
    (Role::Not, "not isnot without"),
    (Role::Or, "or"),
    (Role::As, "as"),
    (Role::Truth(true), "true"),
    (Role::Truth(false), "false"),
    (
        Role::Nothing,
        "null none nil undefined missing notexists isnull nan",
    ),
    (Role::Something, "exists present defined notnull"),
    (
        Role::Plain,
        "where filter select selectattr map each every all the of whose which with and by to for \
         function return lambda object expand property then than let const var def query db get \
         dig unwrap iter collect list array item items it value values data result response \
         output json jq jmespath string str int x attribute pluck flatten element on that a an \
         stdout index at elementat iloc loc",
    ),
];

/// What a word says, by its parts: `FirstOrDefault` and `sort_by` say what they begin with.
pub(super) fn roles(word: &str) -> Vec<Role> {
    let role_of = |word: &str| {
        let mut known = known_words();
        known
            .find(|(known, _)| *known == word)
            .map(|(_, role)| role)
    };
    if let Some(role) = role_of(&word.to_lowercase()) {
        return vec![role];
    }
    let parts = words(word);
    let roles: Option<Vec<_>> = parts.iter().map(|part| role_of(part)).collect();
    let mut roles = match roles {
        Some(roles) => roles,
        // `Measure-Object` says nothing; `max_value` may.
        None => parts
            .first()
            .and_then(|part| role_of(part))
            .into_iter()
            .collect(),
    };
    // `FirstOrDefault` and `greater_than_or_equal`.
    if let Some(at) = roles.iter().position(|role| *role == Role::Or) {
        let is_equal = roles[at..].contains(&Role::Compare(Comparison::Equal));
        roles.truncate(at);
        for role in &mut roles {
            *role = match *role {
                Role::Compare(Comparison::Greater) if is_equal => {
                    Role::Compare(Comparison::AtLeast)
                }
                Role::Compare(Comparison::Less) if is_equal => Role::Compare(Comparison::AtMost),
                role => role,
            };
        }
    }
    roles
}

/// The words that say something.
fn known_words() -> impl Iterator<Item = (&'static str, Role)> {
    let all = ROLES.into_iter();
    all.flat_map(|(role, words)| words.split(' ').map(move |word| (word, role)))
}

/// What a misspelt function says.
pub(super) fn called(word: &str) -> Option<Role> {
    let word = word.to_lowercase();
    let slips = |known: &str| strsim::damerau_levenshtein(known, &word);
    let known = known_words().filter(|(known, _)| known.len() > 3);
    let (known, role) = known.min_by_key(|(known, _)| slips(known))?;
    (word.len() < 32 && slips(known) <= known.len() / 3).then_some(role)
}

/// What signs say.
pub(super) fn sign_role(sign: &str) -> Option<Role> {
    use Comparison::{AtLeast, AtMost, Contains, Ends, Equal, Greater, Less, Starts, Unequal};
    Some(match sign {
        "=" | "==" | "===" | ":" => Role::Compare(Equal),
        "!=" | "!==" | "<>" => Role::Compare(Unequal),
        ">" => Role::Compare(Greater),
        ">=" => Role::Compare(AtLeast),
        "<" => Role::Compare(Less),
        "<=" => Role::Compare(AtMost),
        "=~" | "~" | "*=" | "~=" | "~*" => Role::Compare(Contains),
        "^=" => Role::Compare(Starts),
        "$=" => Role::Compare(Ends),
        "||" | "|" => Role::Or,
        "!" => Role::Not,
        _ => return None,
    })
}

/// Reads a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(sign) = text[at..].chars().next() {
        if found.len() == MAX_TOKENS {
            break;
        }
        let (token, end) = token(text, at, sign);
        found.extend(token);
        at = end;
    }
    found
}

/// The token that begins at a place, if what is there matters, and its end.
fn token(text: &str, at: usize, sign: char) -> (Option<Token>, usize) {
    let rest = &text[at..];
    let next = at + sign.len_utf8();
    let before = text[..at].chars().next_back();
    let is_after_word = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, ')' | ']'));
    if let Some((_, close)) = QUOTES.iter().find(|(open, _)| *open == sign) {
        // `feature's`
        let is_apostrophe = matches!(sign, '\'' | '’') && is_after_word;
        if let Some(end) =
            closing(rest, sign.len_utf8(), *close, before == Some('\\')).filter(|_| !is_apostrophe)
        {
            let inside = &rest[sign.len_utf8()..end];
            let token = quoted(inside, text, at, at + end + close.len_utf8());
            return (Some(token), at + end + close.len_utf8());
        }
        let is_possessive = is_apostrophe && text[next..].starts_with('s');
        return (None, next + usize::from(is_possessive));
    }
    if matches!(sign, '[' | '<') {
        let close = if sign == '[' { ']' } else { '>' };
        let inside = rest[1..]
            .split(close)
            .next()
            .filter(|inside| inside.len() <= MAX_INDEX_BYTES && inside.len() + 1 < rest.len());
        if let Some((inside, index)) = inside.and_then(|inside| Some((inside, index(inside)?))) {
            return (Some(Token::Index(index)), at + inside.len() + 2);
        }
    }
    let is_negative =
        sign == '-' && !is_after_word && text[next..].starts_with(|c: char| c.is_ascii_digit());
    if sign.is_ascii_digit() || is_negative {
        let digits = rest[1..]
            .find(|c: char| !c.is_ascii_digit())
            .map_or(rest.len(), |end| end + 1);
        let fraction = rest[digits..].strip_prefix('.').map_or(0, |fraction| {
            fraction
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(fraction.len())
        });
        let end = if fraction > 0 && before != Some('.') {
            digits + 1 + fraction
        } else {
            digits
        };
        let ordinal = ["st", "nd", "rd", "th"]
            .iter()
            .find(|suffix| rest[end..].starts_with(**suffix));
        if let Some((suffix, number)) = ordinal.zip(rest[..end].parse::<i64>().ok()) {
            return (
                Some(Token::Index(Index::One(number - 1))),
                at + end + suffix.len(),
            );
        }
        return (Some(Token::Number(rest[..end].to_owned())), at + end);
    }
    if sign.is_alphabetic() || sign == '_' {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let mut end = 0;
        for (place, c) in rest.char_indices() {
            let hyphenates = c == '-' && rest[place + 1..].starts_with(char::is_alphabetic);
            if !is_part(c) && !hyphenates {
                break;
            }
            end = place + c.len_utf8();
        }
        let word = Token::Word {
            text: rest[..end].to_owned(),
            is_call: rest[end..].starts_with('('),
        };
        return (Some(word), at + end);
    }
    if sign == '→' {
        return (Some(Token::Sign("->".to_owned())), next);
    }
    if SIGNS.contains(sign) {
        let single = matches!(sign, ',' | ';' | '{' | '}' | '+');
        let end = if single {
            1
        } else {
            rest.find(|c: char| !SIGNS.contains(c) || matches!(c, ',' | ';' | '{' | '}' | '+'))
                .unwrap_or(rest.len())
        };
        // `=-1`
        let end = if end > 1
            && rest[..end].ends_with('-')
            && rest[end..].starts_with(|c: char| c.is_ascii_digit())
        {
            end - 1
        } else {
            end
        };
        return (Some(Token::Sign(rest[..end].to_owned())), at + end);
    }
    (None, next)
}

/// The place of the sign that closes a quoted text.
fn closing(rest: &str, from: usize, close: char, is_escaped: bool) -> Option<usize> {
    let mut is_next_escaped = false;
    for (at, sign) in rest[from..].char_indices() {
        if sign == close && (is_escaped || !is_next_escaped) {
            return Some(from + at);
        }
        is_next_escaped = sign == '\\' && !is_next_escaped;
    }
    None
}

/// What stands in quotes: a number in backticks is one, and digits alone in brackets are an index.
fn quoted(inside: &str, text: &str, start: usize, end: usize) -> Token {
    let plain = inside
        .trim_end_matches('\\')
        .replace("\\'", "'")
        .replace("\\\"", "\"");
    let is_literal = text[start..].starts_with('`');
    let is_in_brackets = text[..start].ends_with('[') && text[end..].starts_with(']');
    if is_in_brackets && let Ok(number) = plain.parse() {
        return Token::Index(Index::One(number));
    }
    if !is_literal {
        return Token::Text(plain);
    }
    match plain.trim() {
        word @ ("true" | "false" | "null") => Token::Word {
            text: word.to_owned(),
            is_call: false,
        },
        plain => {
            let inner = plain
                .strip_prefix('"')
                .and_then(|plain| plain.strip_suffix('"'));
            Token::Text(inner.unwrap_or(plain).to_owned())
        }
    }
}

/// An index or slice: `2`, `-2:`, `0..1`, `0,1`.
fn index(inside: &str) -> Option<Index> {
    let number = |text: &str| text.trim().parse::<i64>().ok();
    let inside = inside.trim().trim_start_matches(['?', '[']);
    // The last item of other languages.
    if inside == "$" {
        return Some(Index::One(-1));
    }
    if let Some(number) = inside.strip_prefix('^').and_then(number) {
        return Some(Index::One(number.wrapping_neg()));
    }
    if let Some(number) = number(inside) {
        return Some(Index::One(number));
    }
    if let Some((first, last)) = inside.split_once("..") {
        let last = number(last.trim_start_matches(['<', '.']));
        let end = last
            .and_then(|last| last.checked_add(1))
            .filter(|end| *end > 0);
        return number(first).map(|first| Index::Slice(Some(first), end));
    }
    if let Some((first, last)) = inside.split_once(':') {
        let last = if last.trim() == "end" { "" } else { last };
        let is_slice = [first, last]
            .iter()
            .all(|end| end.trim().is_empty() || number(end).is_some());
        return (is_slice && inside.len() > 1).then(|| Index::Slice(number(first), number(last)));
    }
    let all: Option<Vec<_>> = inside.split(',').map(number).collect();
    let all = all.filter(|all| {
        all.windows(2)
            .all(|pair| pair[0].checked_add(1) == Some(pair[1]))
    })?;
    let end = all.last()?.checked_add(1)?;
    Some(Index::Slice(
        all.first().copied().filter(|first| *first != 0),
        Some(end),
    ))
}

#[cfg(test)]
mod tests {
    use super::{Comparison, Index, Role, Token, roles, tokens};

    #[test]
    fn words_texts_numbers_and_signs_are_read() {
        let word = |text: &str, is_call| Token::Word {
            text: text.to_owned(),
            is_call,
        };
        assert_eq!(
            tokens("count(items, x.id === \"a b\")[-1] -eq 4.5"),
            [
                word("count", true),
                word("items", false),
                Token::Sign(",".to_owned()),
                word("x", false),
                word("id", false),
                Token::Sign("===".to_owned()),
                Token::Text("a b".to_owned()),
                Token::Index(Index::One(-1)),
                Token::Sign("-".to_owned()),
                word("eq", false),
                Token::Number("4.5".to_owned()),
            ]
        );
        assert_eq!(
            tokens("[0..1] [:2] [0,1] [-2:]"),
            [
                (Some(0), Some(2)),
                (None, Some(2)),
                (None, Some(2)),
                (Some(-2), None)
            ]
            .map(|(a, b)| Token::Index(Index::Slice(a, b)))
        );
    }

    #[test]
    fn no_text_is_too_odd_to_be_read() {
        for text in [
            "",
            "'",
            "[",
            "[[",
            "é'é",
            "`",
            "-",
            "9223372036854775807th",
            "[9223372036854775807,1]",
            "[0..9223372036854775807]",
            "„“”«»",
            "\\'a\\'",
            "<",
            "<2",
            "[é",
        ] {
            tokens(text);
        }
    }

    #[test]
    fn words_say_what_their_parts_say() {
        assert_eq!(roles("FirstOrDefault"), [Role::First]);
        assert_eq!(
            roles("greater_than_or_equal"),
            [Role::Compare(Comparison::AtLeast), Role::Plain]
        );
        assert_eq!(
            roles("starts_with"),
            [Role::Compare(Comparison::Starts), Role::Plain]
        );
        assert_eq!(roles("created_at"), []);
    }
}
