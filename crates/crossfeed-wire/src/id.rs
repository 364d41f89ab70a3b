//! Ids of calls, artifacts and sessions: untrusted text, checked once.

use std::{fmt, sync::Arc};

/// The longest id that is accepted, in bytes. Providers' own call ids have 24 to 64.
const MAX_ID_BYTES: usize = 256;

/// Why a text is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// The text is empty: `""`.
    #[error("an id must not be empty")]
    Empty,
    /// The text is longer than 256 bytes.
    #[error("an id has at most {MAX_ID_BYTES} bytes, this one has {bytes}")]
    TooLong {
        /// Length of the text that was given, in bytes.
        bytes: usize,
    },
    /// The text holds a control character: `"call\n1"`.
    #[error("an id must not hold control characters")]
    ControlCharacter,
}

fn check(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > MAX_ID_BYTES {
        return Err(IdError::TooLong { bytes: text.len() });
    }
    if text.chars().any(char::is_control) {
        return Err(IdError::ControlCharacter);
    }
    Ok(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// # Invariants
        ///
        /// 1 to 256 bytes of UTF-8 without control characters. Cloning shares the text.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks and takes an id.
            ///
            /// # Errors
            ///
            /// [`IdError`] when the text is empty, longer than 256 bytes or holds a control
            /// character.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                check(text).map(|()| Self(text.into()))
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id of one tool call, unique in its session.
    CallId
}
id! {
    /// The id of an artifact; with a [`CallId`] it names one.
    ArtifactId
}

/// Why a scope was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the {part} of a scope is not an id")]
pub struct ScopeError {
    /// Which part: `tenant`, `project` or `session`.
    pub part: &'static str,
    /// The fault.
    #[source]
    pub source: IdError,
}

/// The scope of call ids: `(tenant, project, session)`.
///
/// Two scopes are equal only if all three parts are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    tenant: Arc<str>,
    project: Arc<str>,
    session: Arc<str>,
}

impl Scope {
    /// Checks and takes the three parts.
    ///
    /// # Errors
    ///
    /// [`ScopeError`] names the part that is empty, longer than 256 bytes or holds a control
    /// character.
    pub fn parse(tenant: &str, project: &str, session: &str) -> Result<Self, ScopeError> {
        for (part, text) in [
            ("tenant", tenant),
            ("project", project),
            ("session", session),
        ] {
            check(text).map_err(|source| ScopeError { part, source })?;
        }
        Ok(Self {
            tenant: tenant.into(),
            project: project.into(),
            session: session.into(),
        })
    }

    /// The owner of the data.
    pub fn tenant(&self) -> &str {
        &self.tenant
    }

    /// The tenant's project.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// The project's session.
    pub fn session(&self) -> &str {
        &self.session
    }
}

#[cfg(test)]
mod tests {
    use super::{CallId, IdError, Scope};

    #[test]
    fn ids_are_checked() {
        assert_eq!(CallId::parse("call_1").unwrap().as_str(), "call_1");
        assert_eq!(CallId::parse(""), Err(IdError::Empty));
        assert_eq!(CallId::parse("a\0b"), Err(IdError::ControlCharacter));
        assert_eq!(
            CallId::parse(&"x".repeat(257)),
            Err(IdError::TooLong { bytes: 257 })
        );
    }

    #[test]
    fn a_scope_names_the_part_it_refuses() {
        assert_eq!(Scope::parse("t", "", "s").unwrap_err().part, "project");
        assert_ne!(
            Scope::parse("a", "b", "c").unwrap(),
            Scope::parse("a", "b", "d").unwrap()
        );
    }
}
