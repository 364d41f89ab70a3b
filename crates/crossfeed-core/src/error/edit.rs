//! Why the edit of a reference is not made.

use crossfeed_edit::EditErrorKind;
use crossfeed_wire::ErrorCode;

/// Why the edit of a reference is not made. The message and the advice may hold passages of the result, as a model may
/// see it: they are for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceEditError {
    /// It is written wrong, does not fit the value, or exceeds a limit.
    #[error("`{key}`: {error}")]
    Refused {
        /// The key of the edit, as it was written.
        key: String,
        /// What is wrong.
        error: crossfeed_edit::EditError,
        /// A selector with which it could be made, where the reference has none.
        fitting: Option<String>,
    },
    /// A reference in it names a result of which something is withheld, and selects nothing of it: what it brought in
    /// could be looked into by the edit.
    #[error("the edit would bring in what is withheld")]
    BringsWithheld,
    /// It was made for another result than the one that the reference names.
    #[error("the result has the digest `{digest}`, not `{based_on}`")]
    OtherResult {
        /// The digest of the result, as a model is shown it.
        digest: String,
        /// The digest that the reference names.
        based_on: String,
    },
}

impl ReferenceEditError {
    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        use EditErrorKind as Kind;
        match self {
            Self::OtherResult { .. } => ErrorCode::EditOutdated,
            Self::BringsWithheld => ErrorCode::EditFailed,
            Self::Refused { error, .. } => match error.kind {
                Kind::LimitExceeded { .. } => ErrorCode::LimitExceeded,
                Kind::WrongType { .. }
                | Kind::MissingMember { .. }
                | Kind::UnknownMember { .. }
                | Kind::UnknownOperation { .. }
                | Kind::InvalidPointer { .. }
                | Kind::EmptyOld
                | Kind::SameText => ErrorCode::EditMalformed,
                _ => ErrorCode::EditFailed,
            },
        }
    }

    /// One next step.
    pub fn advice(&self) -> String {
        match self {
            Self::Refused {
                fitting: Some(select),
                ..
            } => format!("select `{select}`: the edit fits what that gives"),
            Self::Refused { error, .. } => error.advice(),
            Self::BringsWithheld => {
                "add a selector to the reference in the edit: it gives what may be seen".to_owned()
            }
            Self::OtherResult { .. } => {
                "look at the result as it is, then write the edit for it, with at least 12 digits of its digest"
                    .to_owned()
            }
        }
    }
}
