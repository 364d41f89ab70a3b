//! Why an input cannot be read: a file (`$file`) or a resource (`$resource`).

use crossfeed_wire::{ErrorCode, Fault};

/// Why a file or a resource that a reference names cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// The host gives the session no inputs of this kind.
    #[error("cannot be read, because such references are switched off")]
    SwitchedOff {
        /// The setting of the host that switches them on, if it has one.
        setting: Option<String>,
    },
    /// The host does not let the session have it: a path outside of the roots, a URI that nobody listed.
    #[error("is refused: {why}")]
    Refused {
        /// Why, in one line.
        why: String,
        /// One next step.
        advice: String,
    },
    /// There is no such thing, or it cannot be read now.
    #[error("cannot be read: {why}")]
    Unavailable {
        /// Why, in one line.
        why: String,
        /// One next step.
        advice: String,
    },
    /// It has more bytes than are read.
    #[error("has more than the {limit} bytes that are read")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// The parameter takes JSON, and this is not.
    #[error("is not valid JSON (line {line}, column {column})")]
    NotJson {
        /// The line of the fault, from 1.
        line: usize,
        /// Its column, from 1.
        column: usize,
    },
    /// The parameter takes JSON, and this nests deeper than is read.
    #[error("is not read as JSON, because it nests too deep or has too many values")]
    JsonTooComplex,
}

impl InputError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::SwitchedOff { .. } => ErrorCode::ReferenceMalformed,
            Self::Refused { .. } => ErrorCode::InputRefused,
            Self::Unavailable { .. } => ErrorCode::InputUnavailable,
            Self::NotJson { .. } => ErrorCode::InputInvalid,
            Self::TooLarge { .. } | Self::JsonTooComplex => ErrorCode::LimitExceeded,
        }
    }

    /// Who can act: the model can always do without it.
    pub fn fault(&self) -> Fault {
        Fault::Model
    }

    /// One next step.
    pub fn advice(&self) -> String {
        match self {
            Self::SwitchedOff { setting } => {
                let setting = setting.as_ref().map(|setting| {
                    format!("; whoever runs this can switch them on by `{setting}`")
                });
                let setting = setting.unwrap_or_default();
                format!(
                    "write the value in place of the reference{setting}; to pass the object as data, put it into \
                     `{{\"$literal\": …}}`"
                )
            }
            Self::Refused { advice, .. } | Self::Unavailable { advice, .. } => advice.clone(),
            Self::TooLarge { .. } => "try: a smaller one".to_owned(),
            Self::NotJson { .. } => {
                "mend it, or name another: this parameter takes no text".to_owned()
            }
            Self::JsonTooComplex => "try: a smaller or flatter one".to_owned(),
        }
    }
}
