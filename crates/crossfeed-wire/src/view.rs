//! How a result is handed to its reader.

use std::{fmt, str::FromStr};

/// Who reads the results of a client's calls, and so how they are handed out. The rules are normative in
/// `specs/views.md`.
///
/// ```
/// use crossfeed_wire::View;
///
/// assert_eq!("program".parse(), Ok(View::Program));
/// assert_eq!(View::default(), View::Model);
/// assert!("everything".parse::<View>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum View {
    /// A model reads them: small results whole, large ones as a preview.
    #[default]
    Model,
    /// A program reads them: every result as the tool gave it.
    Program,
    /// A model reads them, and may ask for a whole result where it writes a script that reads it.
    Ask,
}

impl View {
    /// Every view.
    pub const ALL: [Self; 3] = [Self::Model, Self::Program, Self::Ask];

    /// The word for it in configurations and requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Program => "program",
            Self::Ask => "ask",
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown view: use `model`, `program` or `ask`")]
#[non_exhaustive]
pub struct UnknownView;

impl FromStr for View {
    type Err = UnknownView;

    fn from_str(word: &str) -> Result<Self, UnknownView> {
        let mut views = Self::ALL.into_iter();
        views.find(|view| view.as_str() == word).ok_or(UnknownView)
    }
}
