//! How references are admitted and spelled.

use derive_setters::Setters;
use strum::{Display, EnumString, IntoStaticStr};

/// Where a schema admits references.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Display, EnumString, IntoStaticStr,
)]
#[strum(
    serialize_all = "kebab-case",
    parse_err_ty = UnknownStyle,
    parse_err_fn = UnknownStyle::new
)]
#[non_exhaustive]
pub enum Style {
    /// At every value position: `anyOf` the original and the reference.
    Inline,
    /// In one map beside the parameters, which become nullable.
    Refs,
    /// In one flat list beside the parameters, which become nullable.
    RefsList,
}

impl Style {
    /// Every style, the richest first.
    pub const ALL: [Self; 3] = [Self::Inline, Self::Refs, Self::RefsList];

    /// The word as it is written: `inline`, `refs`, `refs-list`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// How the style is spelled where no profile says otherwise.
    pub fn spelling(self) -> Spelling {
        match self {
            Self::Inline => Spelling::Dollar,
            Self::Refs | Self::RefsList => Spelling::Underscore,
        }
    }
}

/// A word that is not the name of a style.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown style `{0}`; styles are inline, refs and refs-list")]
pub struct UnknownStyle(String);

impl UnknownStyle {
    fn new(word: &str) -> Self {
        Self(word.to_owned())
    }
}

/// The sign that the keys of a reference begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the grammar has exactly these two spellings"
)]
#[must_use]
pub enum Spelling {
    /// `$tool`, `$artifact`, `$select`, `$refs`.
    Dollar,
    /// `_tool`, `_artifact`, `_select`, `_refs`.
    Underscore,
}

impl Spelling {
    /// A key in this spelling: `tool` becomes `$tool`.
    pub fn key(self, word: &str) -> String {
        match self {
            Self::Dollar => format!("${word}"),
            Self::Underscore => format!("_{word}"),
        }
    }

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::Dollar => Self::Underscore,
            Self::Underscore => Self::Dollar,
        }
    }
}

/// What references offer besides data of earlier results. A schema shows what works and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
#[must_use]
pub struct Offers {
    /// References to artifacts, for hosts that make some. On by default.
    pub artifacts: bool,
    /// Texts with references in them (`$template`). Off by default: they cost tokens in each tool.
    pub templates: bool,
    /// Changes of what a reference gives (`$patch`, `$merge`, `$edit`). Off by default, as in the engine.
    pub edits: bool,
    /// Files in place of results (`$file`), for hosts that read some. Off by default.
    pub files: bool,
    /// Resources in place of results (`$resource`), for hosts that read some. Off by default.
    pub resources: bool,
}

impl Offers {
    /// Every combination, the default first.
    pub(crate) fn all() -> impl Iterator<Item = Self> + Clone {
        (0..32_u8).map(|bits| Self {
            artifacts: bits & 1 == 0,
            templates: bits & 2 != 0,
            edits: bits & 4 != 0,
            files: bits & 8 != 0,
            resources: bits & 16 != 0,
        })
    }

    /// The words for what references may name besides results.
    pub(crate) fn inputs(self) -> impl Iterator<Item = &'static str> {
        let words = [("file", self.files), ("resource", self.resources)];
        let words = words.into_iter().filter(|(_, is_offered)| *is_offered);
        words.map(|(word, _)| word)
    }
}

impl Default for Offers {
    fn default() -> Self {
        Self {
            artifacts: true,
            templates: false,
            edits: false,
            files: false,
            resources: false,
        }
    }
}
