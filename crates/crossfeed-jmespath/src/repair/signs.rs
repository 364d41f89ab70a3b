//! Signs as something else writes them: typography, HTML, URLs, a text of a program.
//!
//! Only where such a sign stands outside the texts of an expression; then it was written in that way as a whole.

use super::edit::{quoted, string};
use crate::token::Tokens;

/// How a sign that no expression has is written there, if it is known.
type Decode = fn(&str) -> Option<String>;

/// The expression in plain signs; nothing where it is.
pub(super) fn plain(text: &str) -> Option<String> {
    let decoders: [Decode; 6] = [of_html, of_urls, without_escapes, blanks, brackets, quotes];
    let found = decoders.into_iter().find_map(|decode| decode(text))?;
    (found != text && !found.trim().is_empty()).then_some(found)
}

/// The places of characters that are not within quotes or backticks.
fn outside(text: &str) -> impl Fn(usize) -> bool {
    let tokens = Tokens::new(text);
    let inside: Vec<_> = tokens
        .iter()
        .filter(|(_, token)| token.kind.is_delimited())
        .map(|(_, token)| (token.start, token.end))
        .collect();
    move |at| {
        let next = inside.partition_point(|(_, end)| *end <= at);
        inside.get(next).is_none_or(|(start, _)| at < *start)
    }
}

/// The characters outside quotes, with their places.
fn signs(text: &str) -> Vec<(usize, char)> {
    let is_outside = outside(text);
    let signs = text.char_indices().filter(|(at, _)| is_outside(*at));
    signs.collect()
}

/// `&#39;x&#39;` is `'x'`, and `&amp;` is `&`.
fn of_html(text: &str) -> Option<String> {
    let rest = |at: usize| text.get(at..).unwrap_or_default();
    let mut signs = signs(text).into_iter();
    signs.find(|(at, c)| *c == '&' && entity(rest(*at)).is_some())?;
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = rest(at).chars().next() {
        let found = entity(rest(at)).filter(|_| c == '&');
        let (sign, len) = found.unwrap_or((c, c.len_utf8()));
        plain.push(sign);
        at += len;
    }
    Some(plain)
}

/// The sign for which an entity at the beginning stands, and how long it is.
fn entity(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(9).position(|byte| byte == b';')?;
    let name = text.get(1..end)?;
    let sign = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "lsqb" | "lbrack" => '[',
        "rsqb" | "rbrack" => ']',
        "lcub" => '{',
        "rcub" => '}',
        "grave" => '`',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|sign| !sign.is_control())?
        }
    };
    Some((sign, end + 1))
}

/// `items%5B0%5D` is `items[0]`.
fn of_urls(text: &str) -> Option<String> {
    let is_code = |at: usize| {
        let digits = text.as_bytes().get(at + 1..at + 3);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let mut signs = signs(text).into_iter();
    signs.find(|(at, c)| *c == '%' && is_code(*at))?;
    let is_form = !text.contains(' ') && !text.contains("%20");
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        plain.push(match byte {
            b'%' => {
                let digits = text.get(at + 1..at + 3)?;
                let code = u8::from_str_radix(digits, 16).ok()?;
                bytes.nth(1);
                code
            }
            b'+' if is_form => b' ',
            other => other,
        });
    }
    let plain = String::from_utf8(plain).ok()?;
    (!plain.contains(|c: char| c.is_control() && c != '\n')).then_some(plain)
}

/// `[?a == \'x\']` is `[?a == 'x']`; `\n` and its like at an end go, and so do backslashes before signs.
fn without_escapes(text: &str) -> Option<String> {
    let mut inner = text.trim();
    loop {
        let ends = ["\\n", "\\r", "\\t"];
        let cut = ends.iter().find_map(|end| inner.strip_suffix(end));
        let Some(cut) = cut.filter(|cut| signs(inner).iter().any(|(at, _)| *at == cut.len()))
        else {
            break;
        };
        inner = cut.trim_end();
    }
    if inner.len() < text.trim().len() {
        return Some(inner.to_owned());
    }
    let after = |at: usize| text.get(at + 1..).and_then(|rest| rest.chars().next());
    let mut escapes = signs(text).into_iter().filter(|(_, c)| *c == '\\');
    let first = escapes.next()?;
    let is_sign = |c: char| c.is_ascii_punctuation() && c != '\\';
    // Between slashes, a backslash is part of a regular expression.
    let is_pattern = text.contains('/') || text.contains('~');
    match after(first.0)? {
        '\'' | '"' | '`' => {}
        '[' | ']' | '_' | '*' | '{' | '}' | '(' | ')' | '<' | '>' | '&' | '|' if !is_pattern => {}
        _ => return None,
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && (is_sign(*next) || *next == '\\') => {
                plain.extend(chars.next())
            }
            _ => plain.push(c),
        }
    }
    Some(plain)
}

/// Blanks of typography are blanks, and signs that nobody sees go.
fn blanks(text: &str) -> Option<String> {
    let is_blank = |c: char| c.is_whitespace() && !matches!(c, ' ' | '\t' | '\n' | '\r');
    let is_unseen = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    let mut signs = signs(text).into_iter();
    signs.find(|(_, c)| is_blank(*c) || is_unseen(*c))?;
    let chars = text.chars().filter(|c| !is_unseen(*c));
    Some(chars.map(|c| if is_blank(c) { ' ' } else { c }).collect())
}

/// Signs in the width of East Asian letters, and other signs of typography.
fn brackets(text: &str) -> Option<String> {
    let is_outside = outside(text);
    let mut changed = false;
    let mut plain = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let sign = match c {
            // Quotes are for another rule.
            '\u{ff02}' | '\u{ff07}' | '\u{ff40}' => None,
            '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).map(String::from),
            '【' | '〔' | '⟦' => Some("[".to_owned()),
            '】' | '〕' | '⟧' => Some("]".to_owned()),
            '。' | '·' | '∙' => Some(".".to_owned()),
            '、' => Some(",".to_owned()),
            '–' | '—' | '−' | '‐' | '‑' => Some("-".to_owned()),
            '…' => Some("...".to_owned()),
            '≥' | '⩾' => Some(">=".to_owned()),
            '≤' | '⩽' => Some("<=".to_owned()),
            '≠' => Some("!=".to_owned()),
            '∧' => Some("&&".to_owned()),
            '∨' => Some("||".to_owned()),
            '¬' => Some("!".to_owned()),
            '⇒' | '➔' | '➜' | '⟶' => Some("→".to_owned()),
            _ => None,
        };
        match sign.filter(|_| is_outside(at)) {
            Some(sign) => {
                changed = true;
                plain.push_str(&sign);
            }
            None => plain.push(c),
        }
    }
    changed.then_some(plain)
}

/// The sign that closes what a quote of typography opens.
fn closing(open: char) -> Option<&'static [char]> {
    Some(match open {
        '“' | '”' | '„' | '‟' | '＂' | '″' | '〝' => {
            &['”', '“', '‟', '＂', '″', '〞', '"']
        }
        '‘' | '’' | '‚' | '‛' | '＇' | '′' | '´' => {
            &['’', '‘', '‛', '＇', '′', '´', '\'']
        }
        '«' => &['»'],
        '»' => &['«', '»'],
        '‹' => &['›'],
        '›' => &['‹', '›'],
        '「' => &['」'],
        '『' => &['』'],
        _ => return None,
    })
}

/// A text in quotes of typography is a text in quotes, or a name where one stands.
fn quotes(text: &str) -> Option<String> {
    let is_outside = outside(text);
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    let mut changed = false;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let begin = at + c.len_utf8();
        let rest = text.get(begin..).unwrap_or_default();
        let end = closing(c)
            .filter(|_| is_outside(at) || changed)
            .and_then(|closers| rest.find(closers));
        let Some(end) = end else {
            plain.push(c);
            at = begin;
            continue;
        };
        let content = rest.get(..end).unwrap_or_default();
        let closer = rest.get(end..).and_then(|rest| rest.chars().next());
        at = begin + end + closer.map_or(0, char::len_utf8);
        changed = true;
        let after = text.get(at..).unwrap_or_default();
        let goes_on = after.starts_with(['.', '[']) && !after.starts_with("..");
        let is_name = plain.ends_with('.') || goes_on || after.trim_start().starts_with(':');
        if plain.trim().is_empty() && after.trim().is_empty() {
            plain.push_str(content);
        } else if is_name {
            plain.push_str(&quoted(content));
        } else {
            plain.push_str(&string(content));
        }
    }
    changed.then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(plain(text).as_deref(), expected, "{text}");
    }

    #[test]
    fn signs_of_something_else() {
        check("items[?id == &#39;a&#39;].b", Some("items[?id == 'a'].b"));
        check("max_by(items, &amp;id)", Some("max_by(items, &id)"));
        check("items%5B2%5D.b", Some("items[2].b"));
        check("items[?a == \\'x\\'].b", Some("items[?a == 'x'].b"));
        check("items[0].b\\r\\n", Some("items[0].b"));
        check("items\\[0\\].b\\_c", Some("items[0].b_c"));
        check("\u{feff}items[0]", Some("items[0]"));
        check("items[?a\u{a0}== 'b\u{a0}c']", Some("items[?a == 'b c']"));
        check("items［0］.b", Some("items[0].b"));
        check("items[?a ≥ `1`]", Some("items[?a >= `1`]"));
        check("items[?a == “it's”].b", Some("items[?a == 'it\\'s'].b"));
        check(
            "items[?a == «x» && b == ‘y’]",
            Some("items[?a == 'x' && b == 'y']"),
        );
        check("headers.“x-id”", Some("headers.\"x-id\""));
        check("“items[0].b”", Some("items[0].b"));
    }

    #[test]
    fn what_stands_in_a_text_stays() {
        for text in [
            "items[?a == 'x &amp; y'].b",
            "items[?a like '%ab%'].b",
            "items[?a == '“x”'].b",
            "items[?match(a, '\\w+')].b",
            "items[?a == 'b\u{a0}c']",
            "a % 20",
            "a && b",
            "größe",
            "",
        ] {
            check(text, None);
        }
    }
}
