//! Values of a document with their place in it: read as what they should be, or reported as problems.

use super::Reader;
use crate::config::{
    ViewChoice,
    expand::expand,
    node::{Entry, Node, Value},
};
use crossfeed_projection::{MAX_PATHS, Path};
use crossfeed_tools::{Profile, Style};
use crossfeed_wire::View;
use std::time::Duration;

/// How similar a word must be to be suggested, of 1.
const LIKE: f64 = 0.5;

/// A value, and where it stands.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub(super) reader: &'a Reader<'a>,
    /// Its keys from the root: `mcpServers.files.command`.
    at: String,
    /// The byte whose line is reported: that of the key, or of the value where it has none.
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

    /// Where a key below it stands.
    fn below(&self, key: &str) -> String {
        match self.at.as_str() {
            "" => key.to_owned(),
            at => format!("{at}.{key}"),
        }
    }

    fn child(&self, key: &str, entry: &'a Entry) -> Self {
        Self {
            at: self.below(key),
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

    /// What was read, or else a report of what was expected.
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
        let Value::List(items) = &self.node.value else {
            self.wrong(expected);
            return None;
        };
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
        let Value::Text(text) = &self.node.value else {
            self.wrong("a text");
            return None;
        };
        match expand(text, &self.reader.sources.environment) {
            Ok(text) if text.contains('\0') => self.problem("the text contains a NUL character"),
            Ok(text) => return Some(text),
            Err(why) => self.problem(why),
        }
        None
    }

    pub(super) fn texts(&self) -> Vec<String> {
        let items = self.list("a list of texts").unwrap_or_default();
        items.iter().filter_map(Self::text).collect()
    }

    /// The items of a list of texts that, empty, would not mean what it says.
    pub(super) fn some_items(&self, if_empty: &str) -> Vec<Self> {
        let items = self.list("a list of texts");
        if items.as_ref().is_some_and(Vec::is_empty) {
            self.problem(if_empty);
        }
        items.unwrap_or_default()
    }

    pub(super) fn flag(&self) -> Option<bool> {
        let flag = match self.node.value {
            Value::Bool(flag) => Some(flag),
            _ => None,
        };
        self.expect(flag, "true or false")
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let known = words.iter().find(|(word, _)| match &self.node.value {
            Value::Text(text) => text == word,
            _ => false,
        });
        let quoted = |(word, _): &(&str, T)| format!("\"{word}\"");
        let expected: Vec<_> = words.iter().map(quoted).collect();
        self.expect(known.map(|(_, value)| *value), &expected.join(" or "))
    }

    /// A path to fields, as projection writes them.
    fn path(&self) -> Option<Path> {
        let written = self.text()?;
        match Path::parse(&written) {
            // Other languages write the root so. Here it would name a field that never exists.
            Ok(_) if names_the_root(&written) => {
                let advice = "a path begins at the root: write `user.email` for `$.user.email` and \
                              `/user/email`, and quote a name that begins so: `\"/user\"`";
                let what = "the path begins with a sign for the root";
                self.advise(what, Some(advice.to_owned()));
                None
            }
            Ok(path) => Some(path),
            // Without the text: no error shows a value of the configuration.
            Err(error) => {
                let advice = Some(error.advice().to_owned());
                self.advise(format!("the path {}", error.kind), advice);
                None
            }
        }
    }

    /// A whole number from 1.
    fn count(&self) -> Option<usize> {
        let count = match self.node.value {
            Value::Integer(count) => usize::try_from(count).ok().filter(|count| *count > 0),
            _ => None,
        };
        self.expect(count, "a whole number from 1")
    }

    /// A number of bytes: `1048576`, `"64 MiB"`.
    fn bytes(&self) -> Option<usize> {
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
        let read = quantity(&self.node.value, &UNITS).filter(|own| (1.0..=9e15).contains(own));
        let expected = "a size like 1048576 or \"64 MiB\", in B, KiB, MiB, GiB, kB, MB or GB";
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        let bytes = self.expect(read, expected)? as u64;
        usize::try_from(bytes).ok()
    }

    /// A time: `30`, `0.5`, `"500 ms"`, `"5 min"`.
    fn time(&self) -> Option<Duration> {
        const UNITS: [(&str, f64); 7] = [
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("min", 60.0),
            ("h", 3600.0),
            ("d", 86_400.0),
            ("days", 86_400.0),
        ];
        // A year is as good as forever, and overflows no clock.
        let read = quantity(&self.node.value, &UNITS);
        let read = read.filter(|seconds| (1e-3..=31_536_000.0).contains(seconds));
        let expected = "a time of 1 ms to 365 days like 30 (seconds), \"500 ms\" or \"5 min\"";
        self.expect(read, expected).map(Duration::from_secs_f64)
    }

    /// The name of a profile, or of a style.
    fn profile(&self) -> Option<String> {
        let name = self.text()?;
        let profiles = Profile::ALL.iter().map(|profile| profile.as_str());
        let known: Vec<_> = profiles
            .chain(Style::ALL.iter().map(|style| style.as_str()))
            .collect();
        if known.contains(&name.as_str()) {
            return Some(name);
        }
        let advice = match nearest(&name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known profiles: {}", known.join(", ")),
        };
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
                Some(near) => format!("did you mean `{}`?", alike(near, &entry.key)),
                None => format!("known keys: {}", self.known.join(", ")),
            };
            field.advise("unknown key", Some(advice));
        }
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<String> {
        self.take(key)?.text()
    }

    pub(super) fn texts(&mut self, key: &'static str) -> Vec<String> {
        self.take(key).map(|own| own.texts()).unwrap_or_default()
    }

    pub(super) fn flag(&mut self, key: &'static str, default: bool) -> bool {
        self.take(key).and_then(|own| own.flag()).unwrap_or(default)
    }

    /// One of several words, else the default.
    pub(super) fn word<T: Copy + Default>(&mut self, key: &'static str, words: &[(&str, T)]) -> T {
        let word = self.take(key).and_then(|own| own.word(words));
        word.unwrap_or_default()
    }

    /// How results are handed to clients.
    pub(super) fn view(&mut self, key: &'static str) -> Option<ViewChoice> {
        let auto = ("auto", ViewChoice::Auto);
        let [model, program, ask] = View::ALL.map(|view| (view.as_str(), ViewChoice::Always(view)));
        self.take(key)?.word(&[auto, model, program, ask])
    }

    /// Reports a key of earlier versions, and what replaces it.
    pub(super) fn refuse_previews(&mut self) {
        const OLD: &str = "previews";
        let own = self.entries.iter().zip(&mut self.taken);
        for (entry, taken) in own.filter(|(entry, _)| entry.key == OLD) {
            *taken = true;
            let what = "`previews` is `view` now: write `view = \"program\"` in place of `previews = false`, and leave \
                        `previews = true` out";
            self.field.child(OLD, entry).problem(what);
        }
    }

    /// A list of paths to fields, as projection writes them.
    pub(super) fn paths(&mut self, key: &'static str) -> Vec<Path> {
        let Some(field) = self.take(key) else {
            return Vec::new();
        };
        let items = field.list("a list of paths").unwrap_or_default();
        if items.len() > MAX_PATHS {
            field.problem(format!("more than {MAX_PATHS} paths"));
            return Vec::new();
        }
        items.iter().filter_map(Field::path).collect()
    }

    pub(super) fn count(&mut self, key: &'static str) -> Option<usize> {
        self.take(key)?.count()
    }

    /// A number of bytes, and where it stands.
    pub(super) fn bytes(&mut self, key: &'static str) -> Option<(usize, Field<'a>)> {
        let field = self.take(key)?;
        Some((field.bytes()?, field))
    }

    pub(super) fn time(&mut self, key: &'static str) -> Option<Duration> {
        self.take(key)?.time()
    }

    pub(super) fn profile(&mut self, key: &'static str) -> Option<String> {
        self.take(key)?.profile()
    }
}

/// A number, or one with a unit behind it.
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

/// A key as a place spells it.
pub(super) fn key(key: &str) -> String {
    const MOST: usize = 80;
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    if !key.is_empty() && key.chars().all(plain) && key.chars().count() <= MOST {
        return key.to_owned();
    }
    let shown: String = key.chars().take(MOST).collect();
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

/// A known key in the spelling of another.
fn alike(known: &str, like: &str) -> String {
    let mut spelled = known.to_owned();
    if like.contains('_') {
        for upper in 'A'..='Z' {
            spelled = spelled.replace(upper, &format!("_{}", upper.to_ascii_lowercase()));
        }
    }
    spelled
}

/// Bytes of words that are compared: longer ones are not typing mistakes.
const MAX_WORD: usize = 200;
/// The most steps that a search takes; candidates beyond are skipped.
const MAX_STEPS: usize = 4 << 20;

/// The known word that is most similar. Comparing two words takes the product of their lengths in steps.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if word.len() > MAX_WORD {
        return None;
    }
    let mut steps = MAX_STEPS;
    let cost = word.len().max(1);
    let folded = |word: &str| word.replace(['_', '-'], "").to_lowercase();
    let word = folded(word);
    let likeness = |other: &str| {
        let other = folded(other);
        let whole = strsim::normalized_damerau_levenshtein(&word, &other);
        // `servers` is meant for `mcpServers`.
        let within = word.len() > 2 && (other.contains(&word) || word.contains(&other));
        if within { whole.max(LIKE) } else { whole }
    };
    known
        .filter(|other| other.len() <= MAX_WORD)
        .take_while(|other| {
            let left = steps.checked_sub(cost * other.len().max(1));
            steps = left.unwrap_or(0);
            left.is_some()
        })
        .map(|other| (likeness(other), other))
        .filter(|(like, _)| *like >= LIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, other)| other)
}
