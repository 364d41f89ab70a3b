//! Rules for fields that are always kept and fields that are never shown, whatever a request wants.
//!
//! An entry of one name holds at any depth; an entry with more steps is a path from the root. A
//! never-rule beats everything, holds in whatever case a key is written, and reaches into JSON that a
//! string holds. A string that cannot be read far enough to be sure is withheld.

mod by_place;
mod prose;
mod scan;

pub(crate) use by_place::PlacedRules;
pub(crate) use scan::{Scan, Suspects};

use crate::{Path, PathError, PathTree, Step, fold_case};
use prose::Words;
use std::{
    borrow::Cow,
    collections::HashSet,
    fmt,
    hash::Hash,
    sync::{Arc, OnceLock},
};

/// The text that replaces a withheld string.
pub const WITHHELD: &str = "[withheld]";

/// Which fields are always kept and which are never shown.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_projection::RevealRules;
///
/// let rules = RevealRules::parse(["id"], ["password", "owner.mail"])?;
/// let user = Document::new(r#"{"id":1,"owner":{"mail":"a@b","log":"{\"password\":\"x\",\"n\":2}"}}"#);
/// let mut out = Vec::new();
/// let redacted = rules.redact(user.root()?, &mut out);
/// assert_eq!(out, br#"{"id":1,"owner":{"log":"{\"n\":2}"}}"#);
/// assert_eq!(redacted.fields, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct RevealRules {
    always: Vec<Path>,
    never: Vec<Path>,
    always_names: HashSet<Box<str>>,
    /// Folded.
    never_names: HashSet<Box<str>>,
    pub(crate) always_tree: PathTree,
    pub(crate) never_tree: PathTree,
    pub(crate) scan: Scan,
    words: Words,
    /// Whether some never-rule names nothing: `[0]`, `*`.
    is_nameless: bool,
    /// The rules as [`PlacedRules`], made when the first tool result is redacted.
    by_place: OnceLock<Arc<PlacedRules>>,
}

/// Shows no rules: the names of hidden fields have no place in logs.
impl fmt::Debug for RevealRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevealRules")
            .field("always", &self.always.len())
            .field("never", &self.never.len())
            .finish_non_exhaustive()
    }
}

impl PartialEq for RevealRules {
    fn eq(&self, other: &Self) -> bool {
        self.always == other.always && self.never == other.never
    }
}

impl Eq for RevealRules {}

/// Counts of the data that [`RevealRules::redact`] took out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redacted {
    /// Fields and items that were left out, those within JSON in strings included.
    pub fields: usize,
    /// Strings that were replaced by [`WITHHELD`], because they could not be looked into far enough.
    pub strings: usize,
}

impl Redacted {
    /// Whether anything was taken out.
    pub fn any(self) -> bool {
        self.fields + self.strings > 0
    }
}

impl RevealRules {
    /// Reads entries: a name (at any depth), or a path of more steps (from the root).
    ///
    /// # Errors
    ///
    /// [`PathError`] for the first entry that is not a path.
    pub fn parse<A: AsRef<str>, N: AsRef<str>>(
        always: impl IntoIterator<Item = A>,
        never: impl IntoIterator<Item = N>,
    ) -> Result<Self, PathError> {
        let always = always.into_iter().map(|entry| Path::parse(entry.as_ref()));
        let never = never.into_iter().map(|entry| Path::parse(entry.as_ref()));
        let always: Vec<_> = always.collect::<Result<_, _>>()?;
        Ok(Self::new(always, never.collect::<Result<Vec<_>, _>>()?))
    }

    /// Rules from entries that are paths already.
    pub fn new(
        always: impl IntoIterator<Item = Path>,
        never: impl IntoIterator<Item = Path>,
    ) -> Self {
        let always = each_once(always);
        let never = each_once(never);
        let never_names: HashSet<Box<str>> = names_of(&never)
            .map(|name| fold_case(name).into())
            .collect();
        let keys = each_once(never.iter().flat_map(keys_of).map(fold_case));
        let last_keys = never.iter().filter_map(|path| keys_of(path).last());
        Self {
            always_tree: PathTree::new(longer(&always).cloned()),
            never_tree: PathTree::ignoring_case(longer(&never).cloned()),
            scan: Scan::new(keys.into_iter().map(|key| {
                let anywhere = never_names.contains(&*key);
                (key, anywhere)
            })),
            words: Words::new(each_once(last_keys)),
            is_nameless: never.iter().any(|path| keys_of(path).next().is_none()),
            always_names: names_of(&always).map(Into::into).collect(),
            never_names,
            always,
            never,
            by_place: OnceLock::new(),
        }
    }

    /// The rules of both, such as those for all tools and those for one.
    pub fn and(&self, other: &Self) -> Self {
        let always = self.always.iter().chain(&other.always).cloned();
        let never = self.never.iter().chain(&other.never).cloned();
        Self::new(always, never)
    }

    /// The entries for fields that are always kept, each once.
    pub fn always(&self) -> &[Path] {
        &self.always
    }

    /// The entries for fields that are never shown, each once.
    pub fn never(&self) -> &[Path] {
        &self.never
    }

    /// Whether no rule withholds anything.
    pub fn never_is_empty(&self) -> bool {
        self.never.is_empty()
    }

    /// Whether a field of this name is never shown, wherever it stands and in whatever case its name
    /// is written. This does not know fields that only a longer path names.
    pub fn is_never_name(&self, name: &str) -> bool {
        self.never_names.contains(&*fold_case(name))
    }

    /// Whether a text that is not valid JSON names a hidden field: a name, or the last name of a path, as a
    /// word of its own, whatever its case. If a path has no name, any text could hold its field.
    pub fn mentions_never(&self, text: &str) -> bool {
        self.is_nameless || !self.mentioned(text).is_empty()
    }

    /// The names of hidden fields that a text holds, see [`Self::mentions_never`].
    pub(crate) fn mentioned(&self, text: &str) -> HashSet<&str> {
        self.words.found_in(text)
    }

    /// Whether a field of this name is always kept, wherever it stands.
    pub fn is_always_name(&self, name: &str) -> bool {
        self.always_names.contains(name)
    }

    /// Whether a text that is not valid JSON still has a key that `is_meant` accepts: lines of JSON, JSON
    /// with something around it, or an object as a programming language writes it. Only keys of
    /// never-rules are looked for; `is_meant` gets them folded.
    pub(crate) fn holds_key(&self, text: &str, is_meant: impl Fn(&str) -> bool) -> bool {
        self.scan.has_key(text, &is_meant)
            || match prose::unescaped(text) {
                Cow::Owned(plain) => self.scan.has_key(&plain, is_meant),
                Cow::Borrowed(_) => false,
            }
    }

    /// Whether never-rules hide a member of this name wherever it stands, or its name is itself a text that
    /// holds such a key.
    pub(crate) fn hides_key(&self, name: &str) -> bool {
        self.is_never_name(name)
            || self.has_never_names()
                && name.contains([':', '=', '\\', '%', '&', '/', '#'])
                && self.holds_key(name, |key| self.is_never_name(key))
    }

    /// The rules by where they begin, made once.
    pub(crate) fn by_place(&self) -> &PlacedRules {
        self.by_place
            .get_or_init(|| Arc::new(PlacedRules::new(self)))
    }

    pub(crate) fn has_never_names(&self) -> bool {
        !self.never_names.is_empty()
    }
}

/// The entries that are one name, in the order given.
pub(crate) fn names_of(entries: &[Path]) -> impl Iterator<Item = &str> {
    entries.iter().filter_map(Path::as_name)
}

/// All other entries.
pub(crate) fn longer(entries: &[Path]) -> impl Iterator<Item = &Path> {
    entries.iter().filter(|path| path.as_name().is_none())
}

/// The names of a path.
fn keys_of(path: &Path) -> impl Iterator<Item = &str> {
    path.steps().iter().filter_map(Step::name)
}

fn each_once<T: Clone + Eq + Hash>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    let values = values.into_iter();
    values.filter(|value| seen.insert(value.clone())).collect()
}
