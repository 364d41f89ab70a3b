//! Why a request cannot be answered.

use crate::{PathError, nearest, path::beginning};
use crossfeed_wire::{ErrorBody, ErrorCode, Fault};
use std::borrow::Cow;

/// The most characters of a name that a message quotes.
const QUOTED: usize = 200;
/// The most names that a message lists.
const LISTED: usize = 20;

/// Why a request to project cannot be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProjectionError {
    /// `{"include": ["a..b"]}`.
    #[error("{error} (in `{parameter}`)")]
    Path {
        /// The parameter that holds the path.
        parameter: String,
        /// Its fault.
        error: PathError,
    },
    /// `{"preset": "tiny"}` for an unknown preset, or an unknown `view`; in a document of a host an
    /// unknown member, kind of operation or default.
    #[error("there is no {what} `{}`; there are {}", quoted(name), listed(valid))]
    Unknown {
        /// `preset` or `view`; `member` or `kind of operation` of a document.
        what: &'static str,
        /// The name as it is written.
        name: String,
        /// The valid ones, in the order in which they were given.
        valid: Vec<String>,
        /// The valid name closest to it.
        nearest: Option<String>,
    },
    /// `{"fields": "tiny"}` where that is neither a preset nor a field of the value.
    #[error(
        "`{}` is neither a preset nor a field that is there; there are the presets {}",
        quoted(name),
        listed(valid)
    )]
    NeitherPresetNorField {
        /// The word as it is written.
        name: String,
        /// The valid presets.
        valid: Vec<String>,
        /// The preset or known field closest to it.
        nearest: Option<String>,
    },
    /// 10,001 paths in one request.
    #[error("{count} paths are asked for where {limit} are allowed")]
    TooMany {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// `{"include": 7}`, where the form is checked strictly; `{"presets": 7}` in a document.
    #[error("`{}` must be {expected}, not {found}", quoted(at))]
    Form {
        /// The parameter, or the place in a document.
        at: String,
        /// The expected form.
        expected: &'static str,
        /// The kind of the value found.
        found: &'static str,
    },
    /// `{"presets": {"full": ["id"]}}`.
    #[error("the preset `full` is always everything")]
    FullIsEverything,
}

impl ProjectionError {
    /// An unknown name; the nearest of those that are valid and not `is_hidden` is suggested.
    pub(super) fn unknown(
        what: &'static str,
        name: &str,
        valid: Vec<String>,
        is_hidden: impl Fn(&str) -> bool,
    ) -> Self {
        let shown = valid.iter().map(String::as_str);
        let shown = shown.filter(|name| !is_hidden(name));
        Self::Unknown {
            what,
            name: name.to_owned(),
            nearest: nearest(name, shown).into_iter().next(),
            valid,
        }
    }

    /// A value of the wrong form at a place.
    pub(super) fn form(at: &str, expected: &'static str, found: &'static str) -> Self {
        Self::Form {
            at: at.to_owned(),
            expected,
            found,
        }
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::TooMany { .. } => ErrorCode::LimitExceeded,
            Self::Path { error, .. } => error.code(),
            _ => ErrorCode::ProjectionInvalid,
        }
    }

    /// Who can act: the author of the request, which is the model; the host where its own document is
    /// wrong.
    pub fn fault(&self) -> Fault {
        match self {
            Self::FullIsEverything => Fault::Host,
            _ => Fault::Model,
        }
    }

    /// One next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Path { error, .. } => error.advice().to_owned(),
            Self::Unknown { nearest, valid, .. }
            | Self::NeitherPresetNorField { nearest, valid, .. } => {
                match nearest.as_ref().or(valid.first()) {
                    Some(name) => format!("try: {}", quoted(name)),
                    None => "leave it out".to_owned(),
                }
            }
            Self::TooMany { limit, .. } => {
                format!("ask for at most {limit} paths, or for a parent of several")
            }
            Self::Form { expected, .. } => format!("write {expected}"),
            Self::FullIsEverything => "give the preset another name".to_owned(),
        }
    }

    /// The error as it is written in JSON.
    pub fn body(&self) -> ErrorBody {
        let mut body = ErrorBody::new(self.code(), self.to_string());
        body.advice = Some(self.advice());
        body
    }
}

/// The beginning of a text that a model or a host wrote.
pub(super) fn quoted(text: &str) -> Cow<'_, str> {
    beginning(text, QUOTED)
}

/// Names in words, the first of many.
fn listed(names: &[String]) -> String {
    let first = names.iter().take(LISTED);
    let shown: Vec<_> = first.map(|name| format!("`{}`", quoted(name))).collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
