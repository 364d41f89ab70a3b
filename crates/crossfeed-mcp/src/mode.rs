//! The ways to ask.

use std::fmt;

/// How fields are named in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// The fields are kept.
    Include,
    /// The fields are left out.
    Exclude,
    /// A view that the tool recommends, by its name.
    View,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Include, Self::Exclude, Self::View];

    /// The word as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Include => "include",
            Self::Exclude => "exclude",
            Self::View => "view",
        }
    }

    /// The mode of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
