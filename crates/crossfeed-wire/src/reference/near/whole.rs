//! Texts that are a reference as a whole.

use super::{
    MAX_PATH_BYTES, NearReference,
    glance::is_address,
    id::{GETTERS, Head, ROOTS, is_compound, is_distinctive, is_id_byte, word_of},
    keys::is_one_of,
    loose::{self, serialised},
    part::Part,
    path::{Path, behind_root, readings},
    region::expression,
    scan::is_one_expression,
    shortened,
};
use crate::reference::gist::Gist;
use serde_json::Value;

/// A text that is a reference as a whole: serialised, in delimiters, or an id with a path.
pub(super) fn whole_text(text: &str) -> Option<NearReference> {
    let first = text.chars().next()?;
    if is_signed(text) {
        let exact = serialised(text.trim_end_matches([';', ',']));
        let exact = exact.filter(|near| !near.selects.is_empty());
        if let Some(mut near) = exact.or_else(|| Gist::alone(&Value::from(text))) {
            near.or_data = !near.has_sigil && !text.contains(['$', '_']);
            return Some(near);
        }
    }
    if first.is_ascii_alphanumeric() || first == '_' {
        if is_address(text) {
            return None;
        }
        return bare(text, text)
            .or_else(|| called(text, text))
            .or_else(|| around(text))
            .or_else(|| spoken(text, text))
            .or_else(|| introduced(text))
            .or_else(|| loose::members(text));
    }
    if matches!(first, '{' | '$' | '<') {
        let part = Part::read(text, 0).filter(|part| part.place == (0..text.len()));
        if let Some(part) = part {
            // `$call_1.items`
            return Some(match part.near {
                near if first == '$' && near.or_data && !near.is_guess => near.certain(),
                near => near,
            });
        }
    }
    if let Some(near) = introduced(text) {
        return Some(near);
    }
    if let Some(near) = serialised(text.trim_end_matches([';', ','])) {
        return Some(near);
    }
    // `${"$tool": "call_1"}`
    let object = text
        .strip_prefix('$')
        .filter(|object| object.starts_with(['{', '(']));
    if let Some(near) = object.and_then(serialised) {
        return Some(NearReference {
            written: shortened(text),
            ..near
        });
    }
    if let Some(near) = sole(text).or_else(|| link(text)) {
        return Some(near);
    }
    let inner = within_signs(text);
    let within = inner.and_then(|inner| {
        bare(inner, text)
            .or_else(|| called(inner, text))
            .or_else(|| spoken(inner, text))
    });
    // `#/call_1/items/0`
    let rooted = text.trim_start_matches(['$', '#', '/', '.']);
    let rooted = || {
        let near = bare(rooted, text).filter(|_| rooted.len() < text.len())?;
        // `/call_1/items` may as well be the path of a file.
        let is_file = text.starts_with('/') || text.starts_with("./");
        Some(if is_file { near.doubtful() } else { near })
    };
    within.or_else(rooted).or_else(|| {
        // `[call_1].items[0].url`
        let start = text.find(|sign: char| sign.is_ascii_alphanumeric())?;
        let id = word_of(&text[start..])?;
        let behind = &text[start + id.len()..];
        let path = behind.find(['.', '['])?;
        within_signs(&text[..start + id.len() + path]).filter(|inner| *inner == id)?;
        bare(&format!("{id}{}", &behind[path..]), text)
    })
}

/// Whether a text has the keys of a reference for the call and for the selector: with signs, as elements or as pairs.
pub(crate) fn is_signed(text: &str) -> bool {
    let has = |keys: [&str; 2]| keys.iter().any(|key| text.contains(key));
    has(["$tool", "_tool"]) && has(["$select", "_select"])
        || text.contains("tool>") && text.contains("select>")
        || text.contains("tool=") && text.contains("select=")
}

/// A serialised reference behind a word for one: `Reference: {"$tool": "call_1"}`.
fn introduced(text: &str) -> Option<NearReference> {
    const WORDS: [&str; 18] = [
        "reference",
        "ref",
        "the reference",
        "json",
        "value",
        "the value",
        "result",
        "tool result",
        "tool reference",
        "output",
        "use",
        "insert",
        "argument",
        "crossfeed",
        "using",
        "from",
        "see",
        "here",
    ];
    let (word, object) = text.split_at(text.find(['{', '`'])?);
    let word = word.trim().trim_end_matches([':', '=']).trim_end();
    let is_word = WORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_object = is_word && (object.starts_with('`') || object.contains("tool"));
    is_object.then(|| serialised(object.trim_end_matches('.')))?
}

/// A text without the quotes, brackets and signs around it.
pub(super) fn within_signs(text: &str) -> Option<&str> {
    const AROUND: [(char, char); 13] = [
        ('‹', '›'),
        ('⟨', '⟩'),
        ('【', '】'),
        ('{', '}'),
        ('[', ']'),
        ('(', ')'),
        ('<', '>'),
        ('"', '"'),
        ('\'', '\''),
        ('`', '`'),
        ('“', '”'),
        ('‘', '’'),
        ('«', '»'),
    ];
    const MAX_LAYERS: usize = 8;
    let mut inner = text;
    for _ in 0..MAX_LAYERS {
        let Some(first) = inner.chars().next() else {
            break;
        };
        let rest = &inner[first.len_utf8()..];
        inner = match AROUND.iter().find(|(open, _)| *open == first) {
            Some((_, close)) => rest.strip_suffix(*close)?,
            None if matches!(
                first,
                '%' | '@' | '#' | '=' | '$' | '~' | '&' | '!' | '*' | '^' | '|' | ':'
            ) =>
            {
                rest.strip_suffix(first).unwrap_or(rest)
            }
            None => break,
        }
        .trim();
    }
    (inner.len() < text.len()).then_some(inner)
}

/// `items[0].url of call_1`, `call_1: items[0].url`
fn spoken(text: &str, written: &str) -> Option<NearReference> {
    const JOINTS: [&str; 8] = [
        " of ", " from ", " in ", " @ ", "@", " on ", " <- ", " for ",
    ];
    let near = |id: &str, path: &str| {
        let is_id = word_of(id) == Some(id) && is_distinctive(id);
        let path = path.trim().trim_matches('`');
        // A word alone is prose.
        let is_path = is_path(path) && word_of(path) != Some(path);
        (is_id && is_path).then(|| NearReference::new(id, vec![Some(path.to_owned())], written))
    };
    // The id ends the text, in backticks or not.
    let last = text.trim_end_matches('`');
    let id = last
        .bytes()
        .rev()
        .take_while(|byte| is_id_byte(*byte))
        .count();
    let ends_in_id = is_distinctive(&last[last.len() - id..]);
    let joints = JOINTS.iter().filter(|_| ends_in_id);
    let joints = joints.filter_map(|joint| text.rsplit_once(joint));
    let mut joints = joints.filter_map(|(path, id)| {
        let path = path.strip_prefix("the ").unwrap_or(path);
        near(id.trim_matches('`'), path)
    });
    // `items[0].url (call_1)`
    let bracketed = || {
        let (path, id) = text.strip_suffix(')')?.rsplit_once(" (")?;
        near(id, path)
    };
    joints.next().or_else(bracketed).or_else(|| {
        let id = word_of(text)?;
        let behind = &text[id.len()..];
        let path = behind.strip_prefix([':', ',', ';']).unwrap_or(behind);
        let joints = [
            "?select=", "?path=", "'s ", "’s ", " at ", " path ", " select ",
        ];
        let inner = path
            .strip_prefix(" (")
            .and_then(|path| path.strip_suffix(')'));
        let mut behind_joint = joints.iter().filter_map(|joint| path.strip_prefix(joint));
        let path = inner.or_else(|| behind_joint.next()).unwrap_or(path);
        near(id, path).filter(|_| path.len() < behind.len() || path.starts_with(' '))
    })
}

/// The id of a call alone, with signs that say that it is one: `<call_1>`, `$call_1`.
fn sole(text: &str) -> Option<NearReference> {
    const AROUND: [(&str, &str); 10] = [
        ("<<", ">>"),
        ("[[", "]]"),
        ("{", "}"),
        ("<", "/>"),
        ("<", " />"),
        ("<", ">"),
        ("[", "]"),
        ("%", "%"),
        ("$", ""),
        ("@", ""),
    ];
    let within = |(open, close): &(&str, &str)| text.strip_prefix(open)?.strip_suffix(close);
    let mut inner = AROUND.iter().filter_map(within).map(|inner| inner.trim());
    let id = inner.find(|inner| word_of(inner) == Some(inner) && is_distinctive(inner))?;
    Some(NearReference::new(id, vec![None], text))
}

/// `[call_1](items[0].url)`
fn link(text: &str) -> Option<NearReference> {
    let inner = text.strip_prefix('[')?;
    let id = word_of(inner).filter(|id| is_distinctive(id))?;
    let path = inner[id.len()..].strip_prefix("](")?.strip_suffix(')')?;
    is_path(path).then(|| NearReference::new(id, vec![Some(path.to_owned())], text))
}

/// Whether a text is a path, which may begin with a key: `items[0].url`.
fn is_path(path: &str) -> bool {
    let (first, rest) = match path.strip_prefix('[') {
        Some(_) => ("", path),
        None => path.split_at(word_of(path).unwrap_or_default().len()),
    };
    let (_, length) = Path::read(rest);
    length == rest.len() && !path.is_empty() && !is_distinctive(first)
}

/// A function around a path: `length(call_1.items)`.
fn around(text: &str) -> Option<NearReference> {
    let name = word_of(text)?;
    let is_call = text[name.len()..].starts_with('(') && is_one_expression(text);
    (is_call && text.len() <= MAX_PATH_BYTES).then(|| expression(text, text))?
}

/// `ref(call_1, 'items[0].url')`
pub(super) fn called(text: &str, written: &str) -> Option<NearReference> {
    let name = word_of(text.trim_start_matches(['$', '@']))?;
    let name_end = text.find(name)? + name.len();
    let is_getter = is_one_of(name, &GETTERS) || is_one_of(name, &ROOTS);
    let inner = text[name_end..]
        .strip_prefix('(')?
        .strip_suffix(')')
        .filter(|_| is_getter)?;
    let is_quote = |sign: char| matches!(sign, '"' | '\'' | '`' | ' ');
    let (id, select) = match inner.split_once(',') {
        Some((id, select)) => (id, Some(select.trim().trim_matches(is_quote))),
        None => return bare(inner.trim_matches(is_quote), written),
    };
    let id = id.trim_matches(is_quote);
    if word_of(id) != Some(id) || !is_distinctive(id) {
        return None;
    }
    let select = select.filter(|select| !select.is_empty() && select.len() <= MAX_PATH_BYTES);
    Some(NearReference::new(
        id,
        vec![select.map(str::to_owned)],
        written,
    ))
}

/// An id with a path, without delimiters.
fn bare(text: &str, written: &str) -> Option<NearReference> {
    let is_call = |head: &Head<'_>| is_distinctive(head.id) || is_compound(head.id);
    let head = Head::read(text).filter(is_call)?;
    let rest = behind_root(text[head.end..].trim_start());
    // `call_1("items[0].url")`
    let argument = rest
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let argument = argument.map(|select| select.trim_matches(['"', '\'', ' ']));
    if let Some(select) = argument.filter(|select| is_path(select) && is_distinctive(head.id)) {
        return Some(NearReference::new(
            head.id,
            vec![Some(select.to_owned())],
            written,
        ));
    }
    // `call_1().items`
    let rest = rest.strip_prefix("()").unwrap_or(rest);
    // `call_1 -> items`
    let arrow = rest
        .strip_prefix("-> ")
        .or_else(|| rest.strip_prefix("=>"))
        .or_else(|| rest.strip_prefix(['!', '→', '»', '>']));
    let piped = arrow.map(|path| format!("| {}", path.trim_start()));
    let rest = piped
        .as_deref()
        .unwrap_or(rest)
        .trim_end_matches(['.', ';']);
    let is_path = rest.starts_with(['.', '[', '#', ':', '/', '|'])
        || rest.starts_with("->")
        || rest.starts_with("?.");
    if !is_path || rest.len() > MAX_PATH_BYTES || !is_one_expression(rest) {
        return None;
    }
    let (path, length) = Path::read(rest);
    // The name of a tool in place of an id needs more: `search_issues.items[0]`.
    let is_short = path.steps.len() < 2 && !rest.starts_with('[');
    if !is_distinctive(head.id) && (is_short || path.is_name_of_file()) {
        return None;
    }
    // Text that follows is not of the expression: `call_1.url/comments`.
    let behind = rest[length..].trim_start();
    let is_operator =
        behind.is_empty() || behind.starts_with(['|', '.', '[', '=', '!', '&', '<', '>', '(', '?']);
    // `call_1.get("items")`
    let is_method = || {
        let word = rest.strip_prefix('.').and_then(word_of);
        word.is_some_and(|word| rest[word.len() + 1..].starts_with('('))
    };
    let is_path = !path.steps.is_empty() || rest.starts_with(['[', '|']) || rest.starts_with(".{");
    if !is_operator && !is_method() || !is_path && !is_method() {
        return None;
    }
    let mut near = NearReference::new(head.id, readings(rest)?, written);
    if length == rest.len() && path.is_name_of_file() {
        near.selects.truncate(1);
        near.or_data = true;
    }
    Some(near)
}
