//! The parts of a reference, however they are arranged: `[{"to": {"name": "url"}, "tool": "call_1"}]`,
//! `<tool>call_1</tool><select>url</select>`.

use super::{
    InputKind, LITERAL, TEMPLATE, TOOL, is_sentinel,
    near::{
        EDIT_WORDS, KeyMeaning, MAX_WHOLE_BYTES, NearReference, Scan, Word, is_call_key, is_one_of,
        is_signed, meaning_of, near_list, steps,
    },
};
use serde_json::Value;

/// The most values and words that are looked at.
const MAX_PARTS: usize = 64;

/// The most lists, objects and texts within each other.
const MAX_LAYERS: usize = 8;

/// Keys for the target of an entry.
pub(super) const TARGETS: [&str; 14] = [
    "to",
    "param",
    "parameter",
    "name",
    "target",
    "argument",
    "arg",
    "field",
    "for",
    "into",
    "key",
    "at",
    "destination",
    "property",
];

/// A reference and its target, put together from their parts.
pub(super) struct Gist {
    pub(super) near: NearReference,
    /// The target, where it is named.
    pub(super) to: Option<String>,
    /// Whether a text has words beside it.
    has_prose: bool,
}

impl Gist {
    /// What a value means where the tool may take data: no word is left over.
    pub(super) fn alone(value: &Value) -> Option<NearReference> {
        let gist = Self::of(value, &|_| false)?;
        let is_meant = gist.to.is_none() && !gist.has_prose && gist.near.is_distinctive();
        is_meant.then_some(gist.near)
    }

    /// The only reference in a value, if no part of it is left over. `is_name` tells the names of parameters.
    pub(super) fn of(value: &Value, is_name: &dyn Fn(&str) -> bool) -> Option<Self> {
        let mut parts = Parts {
            is_name,
            calls: Vec::new(),
            words: Vec::new(),
            selects: Vec::new(),
            targets: Vec::new(),
            others: Vec::new(),
            default: None,
            has_sigil: false,
            has_prose: false,
            left: MAX_PARTS,
        };
        parts.value(None, value, 0)?;
        parts.gist(value)
    }
}

/// What a part is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Call,
    Select,
    Target,
    Default,
}

struct Parts<'n> {
    is_name: &'n dyn Fn(&str) -> bool,
    /// Ids that are hardly anything else, with paths behind them.
    calls: Vec<(String, Option<String>)>,
    /// Words where an id should be.
    words: Vec<String>,
    selects: Vec<String>,
    targets: Vec<String>,
    others: Vec<String>,
    default: Option<Value>,
    has_sigil: bool,
    /// Whether a text has words that mean nothing here.
    has_prose: bool,
    left: usize,
}

impl Parts<'_> {
    fn role(&self, key: &str) -> Option<Role> {
        if TOOL.is(key) || is_call_key(key, true) {
            Some(Role::Call)
        } else if is_one_of(key, &TARGETS[..5]) {
            Some(Role::Target)
        } else if meaning_of(key) == KeyMeaning::Select {
            Some(Role::Select)
        } else if is_one_of(key, &TARGETS) {
            Some(Role::Target)
        } else if is_one_of(key, &["default"]) {
            Some(Role::Default)
        } else {
            None
        }
    }

    fn take(&mut self) -> Option<()> {
        self.left = self.left.checked_sub(1)?;
        Some(())
    }

    /// Adds the parts of a value; `None` if one of them is not understood.
    fn value(&mut self, role: Option<Role>, value: &Value, depth: usize) -> Option<()> {
        self.take()?;
        if depth > MAX_LAYERS {
            return None;
        }
        match value {
            Value::Null => Some(()),
            Value::String(text) => self.text(role, text, depth),
            Value::Array(list) => self.list(role, list, depth),
            Value::Number(index) if role == Some(Role::Select) => {
                self.selects.push(format!("[{}]", index.as_i64()?));
                Some(())
            }
            scalar @ (Value::Bool(_) | Value::Number(_)) => {
                let is_default = role == Some(Role::Default) && self.default.is_none();
                self.default = is_default.then(|| scalar.clone());
                is_default.then_some(())
            }
            Value::Object(members) => {
                let before = self.selects.len();
                for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
                    self.member(role, (key, value), depth)?;
                }
                (role != Some(Role::Select) || self.selects.len() > before).then_some(())
            }
        }
    }

    fn member(
        &mut self,
        outer: Option<Role>,
        (key, value): (&str, &Value),
        depth: usize,
    ) -> Option<()> {
        self.take()?;
        let is_input = InputKind::ALL.iter().any(|(_, input)| input.is(key));
        if is_input || LITERAL.is(key) || TEMPLATE.is(key) || key.ends_with("artifact") {
            return None;
        }
        // An edit that is not understood must not be lost.
        if is_one_of(key, &EDIT_WORDS) && (is_sentinel(key) || !(self.is_name)(key)) {
            return None;
        }
        let is_inner = value.is_object() || value.is_array();
        if let Some(Role::Target | Role::Default) = outer {
            return self.value(outer, value, depth + 1);
        }
        if (self.is_name)(key) && !is_sentinel(key) && (is_inner || self.role(key).is_none()) {
            self.targets.push(key.to_owned());
            return self.value(None, value, depth + 1);
        }
        if let Some(near) = Some(key).filter(|_| is_inner).and_then(id_of) {
            self.calls.push((near.id, None));
            return self.value(None, value, depth + 1);
        }
        self.has_sigil |= is_sentinel(key);
        let role = match self.role(key) {
            Some(Role::Select) if self.is_target(key, value) => Some(Role::Target),
            None if meaning_of(key) == KeyMeaning::Nothing && outer.is_none() => return Some(()),
            None if key == "type" => return Some(()),
            role @ (Some(Role::Call | Role::Select) | None) => role.or(outer),
            role => outer.or(role),
        };
        self.value(role, value, depth + 1)
    }

    /// Whether the value of a key for a selector is the name of a parameter.
    fn is_target(&self, key: &str, value: &Value) -> bool {
        let name = value.as_str().filter(|name| (self.is_name)(name));
        name.is_some() && is_one_of(key, &TARGETS)
    }

    fn list(&mut self, role: Option<Role>, list: &[Value], depth: usize) -> Option<()> {
        if role == Some(Role::Select)
            && let Some(select) = steps(list)
        {
            self.selects.push(select);
            return Some(());
        }
        if let Some(near) = near_list(list) {
            self.calls.push((near.id, near.selects.into_iter().next()?));
            return Some(());
        }
        // `["$tool", "call_1", "$select", "url"]`
        let mut pending = None;
        for value in list {
            let key = value
                .as_str()
                .filter(|_| role.is_none() && pending.is_none());
            match key.and_then(|key| self.key(key)) {
                Some(key) => pending = Some(key),
                None => self.value(pending.take().or(role), value, depth + 1)?,
            }
        }
        Some(())
    }

    /// What stands behind a word that is a key.
    fn key(&mut self, word: &str) -> Option<Role> {
        let is_own = is_sentinel(word);
        if !is_own && (self.is_name)(word) {
            return None;
        }
        self.has_sigil |= is_own;
        self.role(word)
    }

    fn text(&mut self, role: Option<Role>, text: &str, depth: usize) -> Option<()> {
        let text = text.trim();
        match role {
            Some(Role::Select) => self
                .selects
                .push(Some(text).filter(|it| !it.is_empty())?.to_owned()),
            Some(Role::Target) => self.targets.push(text.to_owned()),
            Some(Role::Default) => self.default = Some(text.into()),
            Some(Role::Call) | None => {
                let is_written = text.starts_with(['{', '[', '<', '"', '`', '-', '#', '?', '/'])
                    || ["tool", "select"].iter().all(|key| text.contains(key));
                if is_written && depth < MAX_LAYERS && self.words_of(text).is_some() {
                    return Some(());
                }
                match id_of(text) {
                    Some(near) => {
                        let select = near.selects.into_iter().next()?;
                        self.calls.push((near.id, select));
                    }
                    None if role.is_some() => self.words.push(text.to_owned()),
                    None => self.others.push(text.to_owned()),
                }
            }
        }
        Some(())
    }

    /// Adds the words of a text that is an object or list in some notation; `None` if it names no call.
    fn words_of(&mut self, text: &str) -> Option<()> {
        if text.len() > MAX_WHOLE_BYTES {
            return None;
        }
        let plain = unescaped(text);
        let before = self.calls.len();
        let mut rest = plain.as_str();
        let mut pending = None;
        let mut has_key = false;
        while let Some(first) = rest.chars().next() {
            let behind = &rest[first.len_utf8()..];
            // The end of an element.
            if rest.starts_with("</") {
                rest = rest.split_once('>').map_or("", |(_, rest)| rest);
                continue;
            }
            // A remark.
            let is_note = rest.starts_with("//") || rest.starts_with("# ");
            if is_note || rest.starts_with("/*") {
                let end = if is_note { "\n" } else { "*/" };
                rest = rest.split_once(end).map_or("", |(_, rest)| rest);
                continue;
            }
            let is_quote = matches!(first, '"' | '\'' | '`' | '“' | '‘');
            let is_word = first.is_ascii_alphanumeric() || matches!(first, '_' | '$' | '@');
            let is_select = pending == Some(Role::Select) && !is_quote;
            if !(is_quote || is_word || is_select && matches!(first, '[' | '{' | '*')) {
                rest = behind;
                continue;
            }
            self.take()?;
            let word = match (is_quote, is_select) {
                // `"$tool" "call_1"`
                (true, _) => match quoted_key(rest) {
                    Some((key, behind)) => {
                        rest = behind;
                        key.to_owned()
                    }
                    None => {
                        let word = Word::read(rest)?;
                        rest = word.behind;
                        word.word
                    }
                },
                (false, true) => {
                    let (word, behind) = rest.split_at(end_of_selector(rest));
                    rest = behind;
                    word.trim().to_owned()
                }
                (false, false) => {
                    let is_end = |sign: char| !(sign.is_alphanumeric() || "_-$@".contains(sign));
                    let end = behind.find(is_end).unwrap_or(behind.len());
                    let (word, behind) = rest.split_at(first.len_utf8() + end);
                    rest = behind;
                    word.to_owned()
                }
            };
            let key = self.key(&word);
            if key.is_some()
                && (pending.is_none() || is_sentinel(&word) || pending == Some(Role::Call))
            {
                pending = key;
                has_key = true;
                continue;
            }
            match pending.take() {
                Some(Role::Select) => self.selects.push(word),
                Some(Role::Target) => self.targets.push(word),
                Some(Role::Default) => self.default = Some(word.into()),
                role => match id_of(&word) {
                    Some(near) => self.calls.push((near.id, near.selects.into_iter().next()?)),
                    None if (self.is_name)(&word) => self.targets.push(word),
                    None if role.is_some() && is_quote => self.words.push(word),
                    None => self.has_prose |= !is_name_of_it(&word),
                },
            }
        }
        (has_key && pending.is_none() && self.calls.len() > before).then_some(())
    }

    fn gist(mut self, value: &Value) -> Option<Gist> {
        let is_name = self.is_name;
        if self.calls.is_empty() && self.words.len() == 1 {
            let near = NearReference::from_entry(&self.words.remove(0))?;
            self.calls.push((near.id, near.selects.into_iter().next()?));
        }
        // A word for the call beside its id is a name of the tool.
        let (id, path) = self.calls.pop().filter(|_| self.calls.is_empty())?;
        if self.targets.is_empty()
            && let Some(at) = self.others.iter().position(|other| is_name(other))
        {
            self.targets.push(self.others.remove(at));
        }
        if self.selects.is_empty() {
            self.selects.append(&mut self.others);
        }
        self.selects.extend(path);
        self.selects.dedup();
        self.targets.dedup();
        let select = self.selects.pop();
        let to = self.targets.pop();
        if !(self.others.is_empty() && self.selects.is_empty() && self.targets.is_empty()) {
            return None;
        }
        let written = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let mut near = NearReference::new(&id, vec![select], &written);
        near.default = self.default;
        near.has_sigil = self.has_sigil;
        Some(Gist {
            near,
            to,
            has_prose: self.has_prose,
        })
    }
}

/// Whether a word stands for a reference itself, as the name of an element or a function does.
fn is_name_of_it(word: &str) -> bool {
    const NAMES: [&str; 10] = [
        "ref",
        "refs",
        "reference",
        "json",
        "dict",
        "result",
        "output",
        "value",
        "args",
        "arguments",
    ];
    is_one_of(word, &NAMES)
}

/// A text that is the id of a call, with a path or without, and hardly anything else.
fn id_of(text: &str) -> Option<NearReference> {
    let near = (!is_signed(text)).then(|| NearReference::from_entry(text))?;
    near.filter(NearReference::is_distinctive)
}

/// A key of the grammar in quotes at the beginning of a text, and what is behind it.
fn quoted_key(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next()?;
    let (key, behind) = text[quote.len_utf8()..].split_once(quote)?;
    is_sentinel(key).then_some((key, behind))
}

/// The end of a selector without quotes in a text of other notations.
fn end_of_selector(text: &str) -> usize {
    let mut scan = Scan::default();
    let end = text.bytes().position(|byte| {
        let is_end =
            !scan.is_inside() && matches!(byte, b'\n' | b'<' | b'&' | b';' | b',' | b'}' | b')');
        scan.take(byte);
        is_end
    });
    end.unwrap_or(text.len())
}

/// A text without the quotes around it and escapes of all of its quotes.
fn unescaped(text: &str) -> String {
    let fenced = text.strip_prefix("```");
    let inside = fenced.and_then(|inner| {
        inner
            .trim_start_matches(char::is_alphanumeric)
            .strip_suffix("```")
    });
    let mut plain = inside.unwrap_or(text).to_owned();
    for _ in 0..MAX_LAYERS {
        if let Ok(inner) = serde_json::from_str::<String>(&plain) {
            plain = inner;
        } else if plain
            .find('"')
            .is_some_and(|at| plain[..at].ends_with('\\'))
        {
            plain = plain.replace("\\\"", "\"").replace("\\\\", "\\");
        } else {
            break;
        }
    }
    plain
}
