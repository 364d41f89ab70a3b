//! Reports names on the command line that match nothing. Most are misspelt, and what they should hide is shown.

use crate::report::{CommandError, Result, Streams};

use crossfeed::{
    ErrorCode,
    error::ErrorBody,
    json::{Cursor, Document, Kind},
    project::{Path, Step, nearest},
};
use std::collections::BTreeSet;

/// Values that are searched for similar names.
const MAX_VALUES: usize = 100_000;

/// A name or path that matches nothing.
pub(crate) struct Unmatched {
    /// The option that it was given to, such as `--never`.
    pub(crate) option: &'static str,
    pub(crate) name: String,
    /// Whether it deserves only a notice: a pattern, or a name that empty data could contain.
    pub(crate) is_expected: bool,
    /// Names that may be meant.
    pub(crate) nearest: Vec<String>,
}

impl Unmatched {
    /// A path that matches nothing in what `names` were collected from.
    pub(crate) fn path(option: &'static str, path: &Path, names: &Names) -> Self {
        let nearest = last_key(path).map_or_else(Vec::new, |name| names.nearest(name));
        let is_pattern = path.steps().contains(&Step::EachKey);
        Self {
            option,
            name: path.to_string(),
            is_expected: is_pattern || nearest.is_empty() && names.has_empty_list,
            nearest,
        }
    }
}

/// The paths that match nothing in a document, with similar names in it.
pub(crate) fn in_document(
    option: &'static str,
    paths: &[Path],
    document: &Document,
) -> Vec<Unmatched> {
    if paths.is_empty() {
        return Vec::new();
    }
    let mut names = Names::default();
    names.collect(document);
    let unmatched = paths.iter();
    unmatched
        .map(|path| Unmatched::path(option, path, &names))
        .collect()
}

/// The last name of a path.
pub(crate) fn last_key(path: &Path) -> Option<&str> {
    path.steps().iter().rev().find_map(|step| match step {
        Step::Key(name) => Some(&**name),
        _ => None,
    })
}

/// Reports an exact name that matches nothing as an error, and other unmatched names as notices.
///
/// # Errors
///
/// When an exact name matches nothing, unless that is allowed.
pub(crate) fn report(unmatched: Vec<Unmatched>, is_allowed: bool, io: &mut Streams<'_>) -> Result {
    let mut bodies = Vec::new();
    for Unmatched {
        option,
        name,
        is_expected,
        nearest,
    } in unmatched
    {
        let message = format!("`{option} {name}` matches nothing");
        if is_allowed || is_expected {
            io.notice(message);
            continue;
        }
        let allow = "`--allow-unmatched` if it may be absent";
        let mut body = ErrorBody::new(ErrorCode::ProjectionInvalid, message);
        body.advice = Some(match nearest.as_slice() {
            [] => format!("try: {allow}"),
            names => format!("try: {}; or {allow}", names.join(", ")),
        });
        bodies.push(body);
    }
    if bodies.is_empty() {
        Ok(())
    } else {
        Err(CommandError::Answer(bodies))
    }
}

/// The names in documents, and in JSON that their strings hold: those within the first values.
pub(crate) struct Names {
    names: BTreeSet<String>,
    /// Whether a list is empty: its items could have any name.
    has_empty_list: bool,
    /// How many values may still be searched.
    left: usize,
}

impl Default for Names {
    fn default() -> Self {
        Self {
            names: BTreeSet::new(),
            has_empty_list: false,
            left: MAX_VALUES,
        }
    }
}

impl Names {
    pub(crate) fn collect(&mut self, document: &Document) {
        self.walk(document, true);
    }

    fn walk(&mut self, document: &Document, opens_texts: bool) {
        let mut open: Vec<Cursor<'_>> = document.root().into_iter().collect();
        while let Some(value) = open.pop() {
            let Some(left) = self.left.checked_sub(1) else {
                break;
            };
            self.left = left;
            match value.kind() {
                Kind::Object => {
                    for (key, value) in value.members().take(left) {
                        self.names.insert(key.text().into_owned());
                        open.push(value);
                    }
                }
                Kind::Array => {
                    self.has_empty_list |= value.items().next().is_none();
                    open.extend(value.items().take(left));
                }
                Kind::String if opens_texts => {
                    let text = value.as_str().unwrap_or_default();
                    if text.trim_start().starts_with(['{', '[']) {
                        self.walk(&Document::new(text.into_owned()), false);
                    }
                }
                _ => {}
            }
        }
    }

    pub(crate) fn nearest(&self, name: &str) -> Vec<String> {
        nearest(name, self.names.iter().map(String::as_str))
    }
}
