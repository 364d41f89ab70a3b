//! A model's context: its size, how texts are counted, and how much may be brought into it.

use crate::shape::key_text;
use crossfeed_jmespath::{Kind, View};
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::{ArtifactId, CallId, ErrorCode, internal::is_internal};
use derive_setters::Setters;
use std::fmt;

/// How many keys of an object an outline names.
const MAX_NAMES: usize = 10;
/// How many characters of a key an outline shows.
const MAX_NAME_CHARS: usize = 40;

/// The context of the model that a session works for.
///
/// ```
/// use crossfeed_core::ContextOptions;
///
/// // One retrieval takes at most a tenth of a context of 128,000 tokens.
/// let options = ContextOptions::default().with_window(128_000).with_share(10);
/// assert_eq!(options.limit(), 12_800);
/// ```
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ContextOptions {
    /// Its size in tokens: 200,000, which is common.
    pub window: usize,
    /// The share that one result or artifact may take, in percent: 30, so that the conversation still has
    /// room.
    pub share: u8,
    /// Counts tokens; an estimate by default.
    pub tokens: TokenCounter,
}

impl Default for ContextOptions {
    fn default() -> Self {
        Self {
            window: 200_000,
            share: 30,
            tokens: TokenCounter::default(),
        }
    }
}

impl ContextOptions {
    /// The most tokens that one result or artifact may bring into the context.
    pub fn limit(&self) -> usize {
        // The product may overflow, so the parts are computed one by one.
        let share = usize::from(self.share.min(100));
        self.window / 100 * share + self.window % 100 * share / 100
    }
}

/// A short description of a value: all that is shown of one that is too large.
///
/// ```
/// use crossfeed_core::Outline;
/// use crossfeed_jmespath::View;
/// use crossfeed_json::Document;
///
/// let outline = |json: &'static str| {
///     let document = Document::new(json);
///     document.root().map(|root| Outline::new(&View::from(root)).to_string())
/// };
/// assert_eq!(outline("[1, 2]")?, "Array with 2 items");
/// assert_eq!(outline(r#"{"a": 1, "b c": 2}"#)?, "Object with 2 keys: a, \"b c\"");
/// assert_eq!(outline(r#""one\ntwo""#)?, "String: 7 characters, 2 lines");
/// # Ok::<(), crossfeed_json::JsonError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outline {
    /// A list.
    Array {
        /// The number of its items.
        items: usize,
    },
    /// An object.
    Object {
        /// The number of its keys, without internal fields.
        keys: usize,
        /// The first ten of them, long ones cut.
        names: Vec<String>,
    },
    /// A text.
    Text {
        /// The number of its characters.
        chars: usize,
        /// The number of its lines.
        lines: usize,
    },
    /// A number, a boolean or null.
    Scalar(
        /// Its type.
        Kind,
    ),
}

impl Outline {
    /// The outline of a value.
    pub fn new(view: &View<'_>) -> Self {
        match view.kind() {
            Kind::Array => Self::Array {
                items: view.len().unwrap_or_default(),
            },
            Kind::Object => {
                let keys = || view.members().filter(|(key, _)| !is_internal(key));
                Self::Object {
                    keys: keys().count(),
                    names: keys().take(MAX_NAMES).map(|(key, _)| name(&key)).collect(),
                }
            }
            Kind::String => {
                let text = view.as_str().unwrap_or_default();
                Self::Text {
                    chars: text.chars().count(),
                    lines: text.lines().count(),
                }
            }
            scalar => Self::Scalar(scalar),
        }
    }
}

/// A key as an outline names it: quoted where it could be mistaken for something else.
pub(crate) fn name(key: &str) -> String {
    key_text(key, MAX_NAME_CHARS, ".")
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |n: &usize| if *n == 1 { "" } else { "s" };
        match self {
            Self::Array { items } => write!(f, "Array with {items} item{}", s(items)),
            Self::Object { keys, names } => {
                write!(f, "Object with {keys} key{}", s(keys))?;
                if !names.is_empty() {
                    write!(f, ": {}", names.join(", "))?;
                }
                if names.len() < *keys {
                    f.write_str(", …")?;
                }
                Ok(())
            }
            Self::Text { chars, lines } => write!(
                f,
                "String: {chars} character{}, {lines} line{}",
                s(chars),
                s(lines)
            ),
            Self::Scalar(kind) => f.write_str(kind.as_str()),
        }
    }
}

/// A result or artifact that is too large to be brought into the context, or blocked from it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {outline}", self.why())]
#[non_exhaustive]
pub struct Oversized {
    /// The call.
    pub call_id: CallId,
    /// The artifact; `None` for a result.
    pub artifact_id: Option<ArtifactId>,
    /// The tokens that it takes.
    pub tokens: usize,
    /// The most tokens that may be brought into the context.
    pub limit: usize,
    /// Its description.
    pub outline: Outline,
    /// Whether its record allows only parts of it, however large it is.
    pub blocked: bool,
    /// A selector that was evaluated and gives a part that fits.
    pub select: Option<String>,
}

impl Oversized {
    fn why(&self) -> String {
        if self.blocked && self.tokens <= self.limit {
            return "the record of the artifact says that no more than parts of it may be brought \
                into the context"
                .to_owned();
        }
        let what = match self.artifact_id {
            Some(_) => "the artifact",
            None => "the result",
        };
        let Self { tokens, limit, .. } = self;
        format!("{what} takes {tokens} tokens, and at most {limit} may be brought into the context")
    }

    /// The stable code.
    pub fn code(&self) -> ErrorCode {
        match self.artifact_id {
            Some(_) => ErrorCode::ArtifactBlocked,
            None => ErrorCode::LimitExceeded,
        }
    }

    /// One next step that works.
    pub fn advice(&self) -> String {
        let reference = ALL_BY_REFERENCE;
        match &self.select {
            Some(select) => format!("try: {select}; {reference}"),
            None => reference.to_owned(),
        }
    }
}

/// How to pass all of it to a tool without showing it to the model.
pub(crate) const ALL_BY_REFERENCE: &str =
    "a reference without a selector still passes all of it to a tool";

#[cfg(test)]
mod tests {
    use super::{ContextOptions, Outline};
    use crossfeed_jmespath::View;
    use crossfeed_json::Document;

    fn check(json: &str, expected: &str) {
        let document = Document::new(json.to_owned());
        let outline = Outline::new(&View::from(document.root().unwrap()));
        assert_eq!(outline.to_string(), expected, "{json}");
    }

    #[test]
    fn an_outline_says_what_and_how_much() {
        check("[]", "Array with 0 items");
        check("[[1, 2]]", "Array with 1 item");
        check("{}", "Object with 0 keys");
        check(
            r#"{"a": 1, "_toolCallId": 2, "_id": 3}"#,
            "Object with 2 keys: a, _id",
        );
        check(
            r#"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j, k":1,"l":1}"#,
            "Object with 11 keys: a, b, c, d, e, f, g, h, i, \"j, k\", …",
        );
        check(
            &format!("{{\"{}\": 1}}", "k".repeat(1000)),
            &format!("Object with 1 key: {}…", "k".repeat(40)),
        );
        check(r#""""#, "String: 0 characters, 0 lines");
        check(r#""é\nb\n""#, "String: 4 characters, 2 lines");
        check("1e400", "number");
        check("null", "null");
    }

    #[test]
    fn the_limit_is_a_share_of_the_window() {
        assert_eq!(ContextOptions::default().limit(), 60_000);
        let options = ContextOptions::default().with_window(usize::MAX);
        assert!(options.with_share(255).limit() >= usize::MAX - 100);
        assert_eq!(ContextOptions::default().with_window(99).limit(), 29);
    }
}
