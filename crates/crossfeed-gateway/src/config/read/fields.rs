//! Reads values of a document as the types that keys take, and reports others as problems with their place.

use super::Reader;
use crate::config::{
    expand::expand,
    node::{Entry, Node, Value},
};
use crossfeed_projection::{MAX_PATHS, Path};
use crossfeed_tools::{Profile, Style};
use std::{str::FromStr, time::Duration};
use strum::VariantNames;

/// How similar a word must be to be suggested, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.5;

/// A value and its place.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub(super) reader: &'a Reader<'a>,
    /// Its keys from the root: `mcpServers.files.command`.
    at: String,
    /// The byte whose line is reported: that of the key, or of the value of a list's item.
    offset: usize,
    pub(super) node: &'a Node,
}

impl<'a> Field<'a> {
    pub(super) fn root(reader: &'a Reader<'a>, node: &'a Node) -> Self {
        Self {
            reader,
            at: String::new(),
            offset: node.span.start,
            node,
        }
    }

    fn child(&self, key: &str, entry: &'a Entry) -> Self {
        Self {
            at: match self.at.as_str() {
                "" => key.to_owned(),
                at => format!("{at}.{key}"),
            },
            offset: entry.key_span.start,
            node: &entry.node,
            ..*self
        }
    }

    pub(super) fn problem(&self, what: impl Into<String>) {
        self.reader.problem(&self.at, self.offset, what, None);
    }

    pub(super) fn advise(&self, what: impl Into<String>, advice: Option<String>) {
        self.reader.problem(&self.at, self.offset, what, advice);
    }

    /// Reports a value of the wrong kind.
    pub(super) fn wrong(&self, expected: &str) {
        self.problem(match self.node.value {
            // The kind is right, but not the value, which may be a secret.
            Value::Text(_) | Value::Integer(_) | Value::Float(_) => format!("expected {expected}"),
            _ => format!("expected {expected}, found {}", self.node.value.kind()),
        });
    }

    /// Passes a value on, or reports what was expected.
    pub(super) fn expect<T>(&self, read: Option<T>, expected: &str) -> Option<T> {
        if read.is_none() {
            self.wrong(expected);
        }
        read
    }

    /// The entries of a table, with their names.
    pub(super) fn table(&self) -> Option<Vec<(&'a str, Self)>> {
        let entries = self.expect(self.node.entries(), "a table")?.iter();
        let named = entries.map(|entry| (entry.key.as_str(), self.child(&key(&entry.key), entry)));
        Some(named.collect())
    }

    /// The items of a list.
    pub(super) fn list(&self, expected: &str) -> Option<Vec<Self>> {
        let items = self.expect(self.node.items(), expected)?;
        let items = items.iter().enumerate().map(|(index, node)| Self {
            at: format!("{}[{index}]", self.at),
            offset: node.span.start,
            node,
            ..*self
        });
        Some(items.collect())
    }

    /// The keys of a table, to be taken one by one.
    pub(super) fn fields(self) -> Option<Fields<'a>> {
        let entries = self.expect(self.node.entries(), "a table")?;
        Some(Fields {
            taken: vec![false; entries.len()],
            field: self,
            entries,
            known: Vec::new(),
        })
    }

    /// A text with its variables replaced.
    pub(super) fn text(&self) -> Option<String> {
        let text = self.expect(self.node.text(), "a text")?;
        match expand(text, &self.reader.sources.environment) {
            Ok(text) if text.contains('\0') => self.problem("the text contains a NUL character"),
            Ok(text) => return Some(text),
            Err(why) => self.problem(why),
        }
        None
    }

    /// The items of a list of texts; reports `if_empty` for a list without items.
    pub(super) fn some_items(&self, if_empty: &str) -> Vec<Self> {
        let items = self.list("a list of texts");
        if items.as_ref().is_some_and(Vec::is_empty) {
            self.problem(if_empty);
        }
        items.unwrap_or_default()
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let text = self.node.text();
        let known = words.iter().find(|(word, _)| text == Some(word));
        let quoted = |(word, _): &(&str, T)| format!("\"{word}\"");
        let expected: Vec<_> = words.iter().map(quoted).collect();
        self.expect(known.map(|(_, value)| *value), &expected.join(" or "))
    }

    /// One of the words that name a `T`.
    pub(super) fn choice<T: FromStr + VariantNames + Copy>(&self) -> Option<T> {
        let words = T::VARIANTS.iter();
        let words: Vec<(&str, T)> = words
            .filter_map(|word| Some((*word, word.parse().ok()?)))
            .collect();
        self.word(&words)
    }

    /// A path to fields, in the path language of projection.
    fn path(&self) -> Option<Path> {
        let written = self.text()?;
        match Path::parse(&written) {
            // The signs of other languages for the root. Here they would name a field that never exists.
            Ok(_) if names_the_root(&written) => {
                let advice = "a path begins at the root: write `user.email` for `$.user.email` and \
                              `/user/email`, and quote a name that begins so: `\"/user\"`";
                let what = "the path begins with a sign for the root";
                self.advise(what, Some(advice.to_owned()));
            }
            Ok(path) => return Some(path),
            // Without the text: no error shows a value of the configuration.
            Err(error) => {
                let advice = Some(error.advice().to_owned());
                self.advise(format!("the path {}", error.kind), advice);
            }
        }
        None
    }

    /// A number of bytes: `1048576`, `"64 MiB"`.
    pub(super) fn bytes(&self) -> Option<usize> {
        const UNITS: [(&str, f64); 7] = [
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ];
        // Beyond 2^53 a size would be rounded, and is nonsense.
        let read = quantity(&self.node.value, &UNITS).filter(|size| (1.0..=9e15).contains(size));
        let expected = "a size like 1048576 or \"64 MiB\", in B, KiB, MiB, GiB, kB, MB or GB";
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        let bytes = self.expect(read, expected)? as u64;
        usize::try_from(bytes).ok()
    }

    /// The name of a profile, or of a style.
    pub(super) fn profile(&self) -> Option<String> {
        let name = self.text()?;
        let profiles = Profile::ALL.iter().map(|profile| profile.as_str());
        let known: Vec<_> = profiles
            .chain(Style::ALL.iter().map(|style| style.as_str()))
            .collect();
        if known.contains(&name.as_str()) {
            return Some(name);
        }
        let advice = did_you_mean(&name, known.iter().copied())
            .unwrap_or_else(|| format!("known profiles: {}", known.join(", ")));
        self.advise("unknown profile", Some(advice));
        None
    }
}

/// A table whose keys are taken one by one. `never_chain` is the same key as `neverChain`.
pub(super) struct Fields<'a> {
    pub(super) field: Field<'a>,
    entries: &'a [Entry],
    taken: Vec<bool>,
    known: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// Takes the value of a key; null counts as absent.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Field<'a>> {
        self.known.push(key);
        // Where a key has two spellings, the second stays, and is reported.
        let mut entries = self.entries.iter().zip(&mut self.taken);
        let (entry, taken) =
            entries.find(|(entry, _)| entry.key == key || camel(&entry.key) == key)?;
        *taken = true;
        (entry.node.value != Value::Null).then(|| self.field.child(key, entry))
    }

    /// Takes the value of a key that must be there.
    pub(super) fn require(&mut self, key: &'static str, why: &str) -> Option<Field<'a>> {
        let field = self.take(key);
        if field.is_none() {
            self.field.problem(format!("`{key}` is missing{why}"));
        }
        field
    }

    /// Reports the keys that were not taken.
    pub(super) fn finish(self) {
        let left = self.entries.iter().zip(&self.taken);
        for (entry, _) in left.filter(|(_, taken)| !**taken) {
            let field = self.field.child(&key(&entry.key), entry);
            if self.known.contains(&&*camel(&entry.key)) {
                field.problem("duplicate key, in two spellings");
                continue;
            }
            let advice = match nearest(&entry.key, self.known.iter().copied()) {
                Some(near) => format!("did you mean `{}`?", spelled_like(near, &entry.key)),
                None => format!("known keys: {}", self.known.join(", ")),
            };
            field.advise("unknown key", Some(advice));
        }
    }

    /// Takes the value of a key as a `T`.
    pub(super) fn get<T: FromField>(&mut self, key: &'static str) -> Option<T> {
        T::from_field(&self.take(key)?)
    }

    /// Takes one of the words that name a `T`.
    pub(super) fn choice<T: FromStr + VariantNames + Copy>(
        &mut self,
        key: &'static str,
    ) -> Option<T> {
        self.take(key)?.choice()
    }

    /// Reports a key of earlier versions, and what replaces it.
    pub(super) fn refuse_previews(&mut self) {
        if let Some(field) = self.take("previews") {
            field.problem(
                "`previews` is `view` now: write `view = \"program\"` in place of `previews = false`, and leave \
                 `previews = true` out",
            );
        }
        // It is never suggested.
        self.known.pop();
    }
}

/// A type that values of a configuration are read as.
pub(super) trait FromField: Sized {
    /// Reads a value, or reports why it cannot be read.
    fn from_field(field: &Field<'_>) -> Option<Self>;
}

/// A text with its variables replaced.
impl FromField for String {
    fn from_field(field: &Field<'_>) -> Option<Self> {
        field.text()
    }
}

/// The texts of a list that can be read.
impl FromField for Vec<String> {
    fn from_field(field: &Field<'_>) -> Option<Self> {
        let items = field.list("a list of texts")?;
        Some(items.iter().filter_map(Field::text).collect())
    }
}

/// The paths of a list that can be read.
impl FromField for Vec<Path> {
    fn from_field(field: &Field<'_>) -> Option<Self> {
        let items = field.list("a list of paths")?;
        if items.len() > MAX_PATHS {
            field.problem(format!("more than {MAX_PATHS} paths"));
            return None;
        }
        Some(items.iter().filter_map(Field::path).collect())
    }
}

impl FromField for bool {
    fn from_field(field: &Field<'_>) -> Option<Self> {
        let flag = match field.node.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        };
        field.expect(flag, "true or false")
    }
}

/// A whole number from 1.
impl FromField for usize {
    fn from_field(field: &Field<'_>) -> Option<Self> {
        let count = match field.node.value {
            Value::Integer(count) => Self::try_from(count).ok().filter(|count| *count > 0),
            _ => None,
        };
        field.expect(count, "a whole number from 1")
    }
}

/// A time: `30`, `0.5`, `"500 ms"`, `"5 min"`.
impl FromField for Duration {
    fn from_field(field: &Field<'_>) -> Option<Self> {
        const UNITS: [(&str, f64); 7] = [
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("min", 60.0),
            ("h", 3600.0),
            ("d", 86_400.0),
            ("days", 86_400.0),
        ];
        // More than a year could overflow a clock.
        let read = quantity(&field.node.value, &UNITS)
            .filter(|seconds| (1e-3..=31_536_000.0).contains(seconds));
        let expected = "a time of 1 ms to 365 days like 30 (seconds), \"500 ms\" or \"5 min\"";
        field.expect(read, expected).map(Self::from_secs_f64)
    }
}

/// A number, with or without a unit.
fn quantity(value: &Value, units: &[(&str, f64)]) -> Option<f64> {
    match value {
        #[expect(
            clippy::cast_precision_loss,
            reason = "what would be rounded is refused"
        )]
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        Value::Text(text) => {
            let text = text.trim();
            let digits = |c: char| !c.is_ascii_digit() && c != '.';
            let (number, unit) = text.split_at(text.find(digits).unwrap_or(text.len()));
            let number: f64 = number.parse().ok()?;
            let unit = unit.trim();
            if unit.is_empty() {
                return Some(number);
            }
            let (_, times) = units
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
            Some(number * times)
        }
        _ => None,
    }
}

/// A key as a problem's place spells it.
pub(super) fn key(key: &str) -> String {
    const MAX_KEY_CHARS: usize = 80;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    if !key.is_empty() && key.chars().all(plain) && key.chars().count() <= MAX_KEY_CHARS {
        return key.to_owned();
    }
    let shown: String = key.chars().take(MAX_KEY_CHARS).collect();
    let more = if shown.len() < key.len() { "…" } else { "" };
    format!("{:?}", format!("{shown}{more}"))
}

/// Whether a path begins as JSONPath or a JSON pointer does.
fn names_the_root(path: &str) -> bool {
    let path = path.trim_start();
    path.starts_with('/')
        || path
            .strip_prefix('$')
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// `never_chain` and `never-chain` as `neverChain`.
fn camel(key: &str) -> String {
    let mut camel = String::with_capacity(key.len());
    let mut raised = false;
    for c in key.chars() {
        if matches!(c, '_' | '-') {
            raised = !camel.is_empty();
        } else if raised {
            camel.extend(c.to_uppercase());
            raised = false;
        } else {
            camel.push(c);
        }
    }
    camel
}

/// A known key, in snake case where `like` is written so.
fn spelled_like(known: &str, like: &str) -> String {
    let mut spelled = known.to_owned();
    if like.contains('_') {
        for upper in 'A'..='Z' {
            spelled = spelled.replace(upper, &format!("_{}", upper.to_ascii_lowercase()));
        }
    }
    spelled
}

/// Longer words are not typing mistakes, and are not compared.
const MAX_WORD_BYTES: usize = 200;
/// Steps of a search; further candidates are skipped.
const MAX_STEPS: usize = 4 << 20;

/// The advice to write the most similar of the known words.
pub(super) fn did_you_mean<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<String> {
    nearest(word, known).map(|near| format!("did you mean `{near}`?"))
}

/// The most similar of the known words. Comparing two words takes the product of their lengths in steps.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let mut steps = MAX_STEPS;
    let cost = word.len().max(1);
    let folded = |word: &str| word.replace(['_', '-'], "").to_lowercase();
    let word = folded(word);
    let similarity = |other: &str| {
        let other = folded(other);
        let whole = strsim::normalized_damerau_levenshtein(&word, &other);
        // `servers` is meant for `mcpServers`.
        let within = word.len() > 2 && (other.contains(&word) || word.contains(&other));
        if within {
            whole.max(MIN_SIMILARITY)
        } else {
            whole
        }
    };
    known
        .filter(|other| other.len() <= MAX_WORD_BYTES)
        .take_while(|other| {
            let left = steps.checked_sub(cost * other.len().max(1));
            steps = left.unwrap_or(0);
            left.is_some()
        })
        .map(|other| (similarity(other), other))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, other)| other)
}
