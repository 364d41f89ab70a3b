//! Reads and writes paths, which name fields of a value (`specs/projection.md`). The printed
//! form of a [`Path`] reads back as the same path.

mod error;
mod parse;

#[cfg(test)]
mod tests;

pub(crate) use error::beginning;
pub use error::{PathError, PathErrorKind};

use std::fmt;

/// Characters that a path may have as it is written.
pub const MAX_PATH_CHARS: usize = 1000;
/// Steps that a path may have: data nests no deeper.
pub const MAX_PATH_STEPS: usize = 127;
/// Paths that one list may have.
pub const MAX_PATHS: usize = 10_000;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the path language is these four steps; code that walks a path must know all of them"
)]
pub enum Step {
    /// The member of this name: `name`, `"a name"`.
    Key(String),
    /// Every member of an object: `*`.
    EachKey,
    /// Every item of a list: `[]`, `[*]`.
    EachItem,
    /// One item of a list: `[0]`.
    Index(usize),
}

impl Step {
    /// The name of a [`Step::Key`].
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Key(name) => Some(name),
            Self::EachKey | Self::EachItem | Self::Index(_) => None,
        }
    }

    /// Whether it is written in brackets.
    pub(crate) fn is_bracket(&self) -> bool {
        matches!(self, Self::EachItem | Self::Index(_))
    }
}

/// Names fields of a value: at least one step from its root.
///
/// ```
/// use crossfeed_projection::{Path, Step};
///
/// let path = Path::parse(r#"items[*]."a name".id"#)?;
/// assert_eq!(path.to_string(), r#"items[]."a name".id"#);
/// assert_eq!(path.steps()[0], Step::Key("items".to_owned()));
/// assert_eq!(path.steps()[1], Step::EachItem);
/// # Ok::<(), crossfeed_projection::PathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path {
    pub(crate) steps: Vec<Step>,
}

impl Path {
    /// Reads one path; blanks around it do not count.
    ///
    /// # Errors
    ///
    /// [`PathError`] names the fault and its byte: `a..b` has an empty segment at byte 2.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        parse::one(text)
    }

    /// Reads a comma list: `id,author.name,"a,b"`. Commas within quotes and brackets do not split,
    /// blanks around an entry do not count, and a text of nothing but blanks is an empty list.
    ///
    /// # Errors
    ///
    /// [`PathError`] as for [`Self::parse`]; its offset counts from the beginning of the list.
    /// More than [`MAX_PATHS`] entries are [`PathErrorKind::TooManyPaths`].
    pub fn parse_list(text: &str) -> Result<Vec<Self>, PathError> {
        parse::list(text)
    }

    /// The path of one top-level key, whatever characters it holds.
    pub fn key(name: impl Into<String>) -> Self {
        Self {
            steps: vec![Step::Key(name.into())],
        }
    }

    /// The path of these steps.
    ///
    /// # Errors
    ///
    /// [`PathErrorKind::Empty`] where there are none, [`PathErrorKind::TooManySteps`] beyond
    /// [`MAX_PATH_STEPS`], [`PathErrorKind::TooLong`] where its text is longer than
    /// [`MAX_PATH_CHARS`] characters.
    pub fn from_steps(steps: impl IntoIterator<Item = Step>) -> Result<Self, PathError> {
        let path = Self {
            steps: steps.into_iter().take(MAX_PATH_STEPS + 1).collect(),
        };
        let text = path.to_string();
        let kind = if path.steps.is_empty() {
            PathErrorKind::Empty
        } else if path.steps.len() > MAX_PATH_STEPS {
            PathErrorKind::TooManySteps
        } else if text.chars().count() > MAX_PATH_CHARS {
            PathErrorKind::TooLong
        } else {
            return Ok(path);
        };
        Err(PathError::new(kind, &text, 0))
    }

    /// The steps from the root, at least one.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The same path without its brackets, if it has names.
    pub(crate) fn without_brackets(&self) -> Option<Self> {
        let names = self.steps.iter().filter(|step| !step.is_bracket());
        let steps: Vec<_> = names.cloned().collect();
        (!steps.is_empty()).then_some(Self { steps })
    }

    /// The path's only name, where it is one name and nothing else.
    pub fn as_name(&self) -> Option<&str> {
        match &self.steps[..] {
            [Step::Key(name)] => Some(name),
            _ => None,
        }
    }
}

/// The canonical text: names bare where they can be, `[]` for each item.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_steps(f, &self.steps)
    }
}

impl std::str::FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

/// Steps as a path is written; nothing for none.
pub(crate) fn write_steps(f: &mut dyn fmt::Write, steps: &[Step]) -> fmt::Result {
    for (at, step) in steps.iter().enumerate() {
        if at > 0 && !step.is_bracket() {
            f.write_str(".")?;
        }
        match step {
            Step::Key(name) if is_bare(name) => f.write_str(name)?,
            Step::Key(name) => f.write_str(&crossfeed_json::quoted(name))?,
            Step::EachKey => f.write_str("*")?,
            Step::EachItem => f.write_str("[]")?,
            Step::Index(index) => write!(f, "[{index}]")?,
        }
    }
    Ok(())
}

/// Whether a name needs no quotes.
fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_bare_char)
}

fn is_bare_char(c: char) -> bool {
    !matches!(c, '.' | '[' | ']' | '"' | '*' | ',') && !c.is_control() && !c.is_whitespace()
}
