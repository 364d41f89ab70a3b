//! Named lists of paths.

use super::ProjectionError;
use crate::{MAX_PATHS, Path};

/// The preset that is always there: everything.
pub(super) const FULL: &str = "full";

/// Named lists of paths, in the order in which they were given; a name without a list is
/// everything.
///
/// ```
/// use crossfeed_projection::Views;
/// use serde_json::json;
///
/// let views = Views::parse(&json!({"brief": ["id", "owner.name"], "all": null}))?;
/// assert_eq!(views.names().collect::<Vec<_>>(), ["brief", "all"]);
/// # Ok::<(), crossfeed_projection::ProjectionError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct Views {
    named: Vec<(String, Option<Vec<Path>>)>,
}

impl Views {
    /// No views.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a list; each text may be a comma list.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Path`] for a text that is not a path.
    pub fn with(
        mut self,
        name: impl Into<String>,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, ProjectionError> {
        let name = name.into();
        let paths = parse_each(&name, paths)?;
        self.put(name, Some(paths));
        Ok(self)
    }

    /// A name for everything.
    pub fn with_everything(mut self, name: impl Into<String>) -> Self {
        self.put(name.into(), None);
        self
    }

    pub(super) fn put(&mut self, name: String, paths: Option<Vec<Path>>) {
        match self.named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = paths,
            None => self.named.push((name, paths)),
        }
    }

    pub(super) fn retain(&mut self, shown: impl Fn(&Path) -> bool) {
        for paths in self
            .named
            .iter_mut()
            .filter_map(|(_, paths)| paths.as_mut())
        {
            paths.retain(&shown);
        }
    }

    /// The names.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str())
    }

    /// The paths of a name; `Some(None)` is everything.
    pub fn get(&self, name: &str) -> Option<Option<&[Path]>> {
        let found = self.named.iter().find(|(known, _)| known == name);
        found.map(|(_, paths)| paths.as_deref())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Option<&[Path]>)> {
        let named = self.named.iter();
        named.map(|(name, paths)| (name.as_str(), paths.as_deref()))
    }
}

/// Paths of texts, each of which may be a comma list; one that is blank is not a path.
pub(super) fn parse_each(
    parameter: &str,
    texts: impl IntoIterator<Item = impl AsRef<str>>,
) -> Result<Vec<Path>, ProjectionError> {
    let mut paths = Vec::new();
    for text in texts {
        let text = text.as_ref();
        let parsed = if text.trim().is_empty() {
            Path::parse(text).map(|path| vec![path])
        } else {
            Path::parse_list(text)
        };
        let parsed = parsed.map_err(|error| ProjectionError::Path {
            parameter: parameter.to_owned(),
            error,
        })?;
        paths.extend(parsed);
        within(paths.len())?;
    }
    Ok(paths)
}

/// Refuses more paths than one request may have.
pub(super) fn within(count: usize) -> Result<(), ProjectionError> {
    let limit = MAX_PATHS;
    if count > limit {
        return Err(ProjectionError::TooMany { count, limit });
    }
    Ok(())
}
