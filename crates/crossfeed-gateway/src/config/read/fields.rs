//! The keys of a table, and the values that they may have.
//!
//! What comes in: a table. What goes out: its values as they were asked for; a key that nobody asked for
//! is a problem that names the nearest one. Deliberately not here: what the values are for.

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

/// How like a word must be to be offered, of 1.
const LIKE: f64 = 0.5;

/// A table whose keys are taken one by one. `never_chain` is the same key as `neverChain`.
pub(super) struct Fields<'n> {
    at: String,
    entries: &'n [Entry],
    taken: Vec<bool>,
    known: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    pub(super) fn of(reader: &mut Reader<'_>, at: &str, node: &'n Node) -> Option<Self> {
        let entries = table(reader, at, node)?;
        Some(Self {
            at: at.to_owned(),
            entries,
            taken: vec![false; entries.len()],
            known: Vec::new(),
        })
    }

    /// Where a key stands.
    pub(super) fn at(&self, key: &str) -> String {
        match self.at.as_str() {
            "" => key.to_owned(),
            at => format!("{at}.{key}"),
        }
    }

    /// Takes the value of a key; null is as good as absent.
    pub(super) fn take(&mut self, key: &'static str) -> Option<&'n Node> {
        self.known.push(key);
        let mut found = None;
        for (entry, taken) in self.entries.iter().zip(&mut self.taken) {
            // The second spelling of a key that is there twice stays, and is reported.
            if found.is_none() && (entry.key == key || camel(&entry.key) == key) {
                *taken = true;
                found = Some(&entry.node);
            }
        }
        found.filter(|node| node.value != Value::Null)
    }

    /// Reports what nobody asked for.
    pub(super) fn finish(self, reader: &mut Reader<'_>) {
        for (entry, _) in self
            .entries
            .iter()
            .zip(&self.taken)
            .filter(|(_, taken)| !**taken)
        {
            let at = self.at(&key(&entry.key));
            let offset = entry.key_span.start;
            if self.known.contains(&&*camel(&entry.key)) {
                reader.problem(&at, offset, "the key is there twice, in two spellings");
                continue;
            }
            let advice = match nearest(&entry.key, self.known.iter().copied()) {
                Some(near) => format!("the nearest known key is `{}`", alike(near, &entry.key)),
                None => format!("known keys: {}", self.known.join(", ")),
            };
            reader.advise(&at, offset, "the key is unknown", Some(advice));
        }
    }

    pub(super) fn text(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<String> {
        let node = self.take(key)?;
        text(reader, &self.at(key), node)
    }

    pub(super) fn truth(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        default: bool,
    ) -> bool {
        let Some(node) = self.take(key) else {
            return default;
        };
        match node.value {
            Value::Bool(truth) => truth,
            _ => {
                wrong(reader, &self.at(key), node, "true or false");
                default
            }
        }
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
        words: &[(&str, T)],
    ) -> Option<T> {
        let node = self.take(key)?;
        let known = words.iter().find(|(word, _)| match &node.value {
            Value::Text(text) => text == word,
            _ => false,
        });
        if known.is_none() {
            let words: Vec<_> = words
                .iter()
                .map(|(word, _)| format!("\"{word}\""))
                .collect();
            wrong(reader, &self.at(key), node, &words.join(" or "));
        }
        known.map(|(_, value)| *value)
    }

    /// How results are handed to clients.
    pub(super) fn view(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
    ) -> Option<ViewChoice> {
        let auto = ("auto", ViewChoice::Auto);
        let views = View::ALL.map(|view| (view.as_str(), ViewChoice::Always(view)));
        let [model, program, ask] = views;
        self.word(reader, key, &[auto, model, program, ask])
    }

    /// Says what stands for a key that there was.
    pub(super) fn refuse_previews(&mut self, reader: &mut Reader<'_>) {
        const OLD: &str = "previews";
        let at = self.at(OLD);
        let own = self.entries.iter().zip(&mut self.taken);
        for (entry, taken) in own.filter(|(entry, _)| entry.key == OLD) {
            *taken = true;
            let what = "`previews` is `view` now: write `view = \"program\"` in place of `previews = false`, and leave \
                        `previews = true` out";
            reader.problem(&at, entry.key_span.start, what);
        }
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Vec<String> {
        match self.take(key) {
            Some(node) => texts(reader, &self.at(key), node),
            None => Vec::new(),
        }
    }

    /// A list of paths to fields, as projection writes them.
    pub(super) fn paths(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Vec<Path> {
        let Some(node) = self.take(key) else {
            return Vec::new();
        };
        let at = self.at(key);
        let Value::List(items) = &node.value else {
            wrong(reader, &at, node, "a list of paths");
            return Vec::new();
        };
        if items.len() > MAX_PATHS {
            let what = format!("it has more than {MAX_PATHS} paths");
            reader.problem(&at, node.span.start, what);
            return Vec::new();
        }
        let mut paths = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let at = format!("{at}[{index}]");
            let Some(written) = text(reader, &at, item) else {
                continue;
            };
            match Path::parse(&written) {
                // Other languages write the root so. Here it would name a field that is never there.
                Ok(_) if names_the_root(&written) => {
                    let what = "the path begins with a sign for the root".to_owned();
                    let advice = "a path begins at the root: write `user.email` for `$.user.email` and \
                                  `/user/email`, and quote a name that begins so: `\"/user\"`";
                    reader.advise(&at, item.span.start, what, Some(advice.to_owned()));
                }
                Ok(path) => paths.push(path),
                // Without the text: no error shows a value of the configuration.
                Err(error) => {
                    let what = format!("the path {}", error.kind);
                    let advice = Some(error.advice().to_owned());
                    reader.advise(&at, item.span.start, what, advice);
                }
            }
        }
        paths
    }

    /// A number of things, at least one.
    pub(super) fn count(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<usize> {
        let node = self.take(key)?;
        let count = match node.value {
            Value::Integer(count) => usize::try_from(count).ok().filter(|count| *count > 0),
            _ => None,
        };
        if count.is_none() {
            wrong(reader, &self.at(key), node, "a whole number from 1");
        }
        count
    }

    /// A number of bytes, and where it stands: `1048576`, `"64 MiB"`.
    pub(super) fn bytes(
        &mut self,
        reader: &mut Reader<'_>,
        key: &'static str,
    ) -> Option<(usize, &'n Node)> {
        const UNITS: [(&str, f64); 7] = [
            ("B", 1.0),
            ("kB", 1e3),
            ("MB", 1e6),
            ("GB", 1e9),
            ("KiB", 1024.0),
            ("MiB", 1_048_576.0),
            ("GiB", 1_073_741_824.0),
        ];
        let node = self.take(key)?;
        // Beyond 2^53 a size would be rounded, and is nonsense.
        let read = quantity(&node.value, 1.0, &UNITS).filter(|bytes| (1.0..=9e15).contains(bytes));
        if read.is_none() {
            wrong(
                reader,
                &self.at(key),
                node,
                "a size like 1048576 or \"64 MiB\", in B, KiB, MiB, GiB, kB, MB or GB",
            );
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range was checked"
        )]
        let bytes = read.and_then(|bytes| usize::try_from(bytes as u64).ok());
        bytes.map(|bytes| (bytes, node))
    }

    /// A time: `30`, `0.5`, `"500 ms"`, `"5 min"`.
    pub(super) fn time(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<Duration> {
        const UNITS: [(&str, f64); 7] = [
            ("ms", 1e-3),
            ("s", 1.0),
            ("m", 60.0),
            ("min", 60.0),
            ("h", 3600.0),
            ("d", 86_400.0),
            ("days", 86_400.0),
        ];
        let node = self.take(key)?;
        // A year is as good as forever, and no clock overflows by it.
        let read = quantity(&node.value, 1.0, &UNITS)
            .filter(|seconds| (1e-3..=31_536_000.0).contains(seconds));
        if read.is_none() {
            let expected = "a time of 1 ms to 365 days like 30 (seconds), \"500 ms\" or \"5 min\"";
            wrong(reader, &self.at(key), node, expected);
        }
        read.map(Duration::from_secs_f64)
    }

    /// The name of a profile, or of a style.
    pub(super) fn profile(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Option<String> {
        let node = self.take(key)?;
        let at = self.at(key);
        let name = text(reader, &at, node)?;
        let known = || {
            let profiles = Profile::ALL.iter().map(|profile| profile.as_str());
            profiles.chain(Style::ALL.iter().map(|style| style.as_str()))
        };
        if known().any(|known| known == name) {
            return Some(name);
        }
        let names: Vec<_> = known().collect();
        let advice = match nearest(&name, known()) {
            Some(near) => format!("the nearest known one is `{near}`"),
            None => format!("known ones: {}", names.join(", ")),
        };
        let what = "there is no such profile";
        reader.advise(&at, node.span.start, what, Some(advice));
        None
    }
}

/// The entries of a table.
pub(super) fn table<'n>(reader: &mut Reader<'_>, at: &str, node: &'n Node) -> Option<&'n [Entry]> {
    let entries = node.entries();
    if entries.is_none() {
        wrong(reader, at, node, "a table");
    }
    entries
}

/// A text, with its variables put in.
pub(super) fn text(reader: &mut Reader<'_>, at: &str, node: &Node) -> Option<String> {
    let Value::Text(text) = &node.value else {
        wrong(reader, at, node, "a text");
        return None;
    };
    match expand(text, &reader.sources.environment) {
        Ok(text) if text.contains('\0') => {
            reader.problem(at, node.span.start, "the text holds a NUL");
            None
        }
        Ok(text) => Some(text),
        Err(why) => {
            reader.problem(at, node.span.start, why);
            None
        }
    }
}

/// A list of texts.
pub(super) fn texts(reader: &mut Reader<'_>, at: &str, node: &Node) -> Vec<String> {
    let Value::List(items) = &node.value else {
        wrong(reader, at, node, "a list of texts");
        return Vec::new();
    };
    let read = |(index, item)| text(reader, &format!("{at}[{index}]"), item);
    items.iter().enumerate().filter_map(read).collect()
}

/// Whether a list is written, and nothing in it. One whose items cannot be read is not empty.
pub(super) fn is_empty(list: &Node) -> bool {
    matches!(&list.value, Value::List(items) if items.is_empty())
}

/// Says that a value is of the wrong kind.
pub(super) fn wrong(reader: &mut Reader<'_>, at: &str, node: &Node, expected: &str) {
    let what = match node.value {
        // It is of the kind, but not what is admitted.
        Value::Text(_) | Value::Integer(_) | Value::Float(_) => format!("it is not {expected}"),
        _ => format!("it is {}, not {expected}", node.value.kind()),
    };
    reader.problem(at, node.span.start, what);
}

/// A number, or one with a unit behind it.
fn quantity(value: &Value, plain: f64, units: &[(&str, f64)]) -> Option<f64> {
    match value {
        #[expect(
            clippy::cast_precision_loss,
            reason = "what would be rounded is refused"
        )]
        Value::Integer(number) => Some(*number as f64 * plain),
        Value::Float(number) => Some(number * plain),
        Value::Text(text) => {
            let text = text.trim();
            let digits = |c: char| !c.is_ascii_digit() && c != '.';
            let (number, unit) = text.split_at(text.find(digits).unwrap_or(text.len()));
            let number: f64 = number.parse().ok()?;
            let unit = unit.trim();
            if unit.is_empty() {
                return Some(number * plain);
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
    if !like.contains('_') {
        return known.to_owned();
    }
    let mut snake = String::with_capacity(known.len() + 2);
    for c in known.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// Bytes of words that are compared: nobody means longer ones by mistake.
const MAX_WORD: usize = 200;
/// Steps that looking for the nearest word takes: those known beyond are not looked at.
const MAX_STEPS: usize = 4 << 20;

/// The known word that another may be meant for. Comparing two takes as many steps as both are long, multiplied.
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
