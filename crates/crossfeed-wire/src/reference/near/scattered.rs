//! Texts that name a call and a path in any notation: `@{body('call_1').items[0].url}`, `jq .items call_1`.

use super::{
    INTRODUCTIONS, MAX_ID_BYTES, NearReference,
    glance::is_address,
    id::{GETTERS, ROOTS, glued, is_distinctive, is_id_byte, word_of},
    keys::is_one_of,
    path::{WRAPPERS, readings},
    scan::Scan,
};

/// The most bytes of such a text.
const MAX_BYTES: usize = 400;

/// The most words of one.
const MAX_WORDS: usize = 16;

/// Words of notations around an id and a path, besides those that introduce a path and those for results.
const AROUND: [&str; 39] = [
    "of",
    "from",
    "in",
    "the",
    "for",
    "to",
    "select",
    "path",
    "field",
    "key",
    "selector",
    "query",
    "jq",
    "jmespath",
    "jsonpath",
    "yq",
    "r",
    "s",
    "str",
    "string",
    "f",
    "format",
    "root",
    "module",
    "local",
    "self",
    "this",
    "json",
    "urn",
    "xcom",
    "pull",
    "taskinstance",
    "instance",
    "ti",
    "get",
    "att",
    "sub",
    "attribute",
    "insert",
];

/// What a text may mean all of whose words are the id of a call, one path, and words of notations around them. It is
/// data if the path selects nothing, unless its delimiters are those of a template.
pub(super) fn scattered(text: &str) -> Option<NearReference> {
    if text.len() > MAX_BYTES || text.contains(['\n', '\\']) || is_address(text) {
        return None;
    }
    let plain = text.replace("->", ".").replace("..", ".");
    let plain = plain.replace("</", "<").replace("/>", ">");
    let mut call: Option<(&str, &str)> = None;
    let mut before = Vec::new();
    let mut behind: Vec<(&str, bool)> = Vec::new();
    // Whether there are only blanks between words that may be a path.
    let mut has_blank = false;
    for (word, is_apart) in words(&plain)? {
        let is_known = is_word_around(word);
        match (id_in(word), call) {
            (Some(_), Some(_)) => return None,
            (Some((root, id, path)), None) => {
                if !root
                    .split(|sign: char| !sign.is_alphanumeric())
                    .all(is_around)
                {
                    return None;
                }
                call = Some((id, path));
            }
            (None, None) if is_known => {}
            (None, None) => before.push(word),
            (None, Some(_)) => {
                has_blank |= is_apart && !behind.is_empty() && !is_known;
                behind.push((word, is_known));
            }
        }
    }
    let (id, own) = call?;
    // The end of a sentence.
    if own.ends_with('.') && !behind.is_empty() {
        return None;
    }
    let own = own
        .trim_start_matches([':', ','])
        .trim_end_matches([':', '/', '#', ',']);
    let own = Some(own).filter(|own| !own.trim_start_matches('.').split('.').all(is_around));
    let known = behind.len();
    let steps: Vec<&str> = behind
        .iter()
        .filter(|(_, is_known)| !is_known)
        .map(|(word, _)| *word)
        .collect();
    let all: Vec<&str> = behind.iter().map(|(word, _)| *word).collect();
    let paths = match (own, before.as_slice(), steps.as_slice()) {
        (Some(path), [], []) => vec![path.to_owned()],
        (None, [path], []) => vec![(*path).to_owned()],
        (None, [], [step]) if known == 1 => vec![(*step).to_owned()],
        // A field may have such a name, too.
        (None, [], [_, ..]) if !has_blank => vec![all.join("."), steps.join(".")],
        (None, [], []) if known > 0 => vec![all.join(".")],
        (None, [], []) => Vec::new(),
        _ => return None,
    };
    let is_template = ["{{", "${", "@{", "$("]
        .iter()
        .any(|open| text.starts_with(open));
    let mut selects = Vec::new();
    for path in &paths {
        let is_joined = path.starts_with(['.', '[', '/', '#', ':']);
        let joined = if is_joined {
            path.clone()
        } else {
            format!(".{path}")
        };
        for select in readings(&joined)? {
            if !selects.contains(&select) {
                selects.push(select);
            }
        }
    }
    let is_signed = || text.starts_with(|sign: char| sign.is_ascii_punctuation());
    if selects.iter().all(Option::is_none) {
        // `<result of call_1>`
        if !paths.is_empty() || !is_signed() || !has_root(text, id) {
            return None;
        }
        selects = vec![None];
    }
    let mut near = NearReference::new(id, selects, text).doubtful();
    near.or_data = !is_template;
    Some(near)
}

/// The words of a text, with the brackets of paths and quotes in them, and whether only blanks stand before.
fn words(text: &str) -> Option<Vec<(&str, bool)>> {
    let mut words = Vec::new();
    let mut scan = Scan::default();
    let mut start = None;
    let mut is_apart = true;
    let mut last = ' ';
    for (at, sign) in text.char_indices().chain([(text.len(), ' ')]) {
        // Quotes and brackets count within a path.
        let is_bracket = matches!(sign, '[' | ']') || matches!(sign, '"' | '\'') && last == '.';
        let is_part = scan.is_inside()
            || is_bracket && (start.is_some() || sign == '[')
            || sign.is_alphanumeric()
            || "_-.$@#/*:".contains(sign);
        if is_part {
            if start.is_none() {
                scan = Scan::default();
                start = Some(at);
            }
            if scan.is_inside() || is_bracket {
                scan.take(u8::try_from(sign).unwrap_or(b' '));
            }
        } else {
            if let Some(start) = start.take() {
                let word = &text[start..at];
                if word.contains(|sign: char| sign.is_alphanumeric() || sign == '*') {
                    words.push((word, is_apart));
                    is_apart = true;
                }
            }
            is_apart &= sign == ' ';
        }
        last = sign;
    }
    // A bracket that is not closed.
    if let Some(start) = start {
        words.push((&text[start..], is_apart));
    }
    (words.len() <= MAX_WORDS).then_some(words)
}

/// The id in a word, with what stands before and behind: `steps.call_1.items`.
fn id_in(word: &str) -> Option<(&str, &str, &str)> {
    let mut at = 0;
    // What begins with a bracket is a path.
    while at < word.len() && !word.starts_with('[') {
        let rest = &word[at..];
        let length = rest
            .bytes()
            .take(MAX_ID_BYTES)
            .take_while(|byte| is_id_byte(*byte))
            .count();
        if length == 0 {
            at += rest.chars().next()?.len_utf8();
            continue;
        }
        if let Some(id) = word_of(rest).filter(|id| is_distinctive(id)) {
            let id = glued(id).map_or(id, |(id, _)| id);
            return Some((&word[..at], id, &word[at + id.len()..]));
        }
        at += length;
    }
    None
}

/// Whether a word is one of a notation around an id, or none.
pub(super) fn is_around(word: &str) -> bool {
    word.is_empty()
        || is_one_of(word, &AROUND)
        || is_one_of(word, &INTRODUCTIONS)
        || is_one_of(word, &ROOTS)
        || is_one_of(word, &GETTERS)
        || is_one_of(word, &WRAPPERS)
}

/// Whether all of a word belongs to a notation: `task_instance.xcom_pull`, `-r`.
fn is_word_around(word: &str) -> bool {
    let is_path = word.starts_with(['.', '[', '/']) || word.contains(['[', '*']);
    !is_path
        && (is_around(word)
            || word
                .split(|sign: char| !sign.is_alphanumeric())
                .all(is_around))
}

/// Whether a word beside an id says that it stands for a result.
fn has_root(text: &str, id: &str) -> bool {
    let mut words = text.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'));
    words.any(|word| word != id && !word.is_empty() && is_one_of(word, &ROOTS))
}
