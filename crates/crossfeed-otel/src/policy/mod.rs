//! What is stripped, and from where.

use crossfeed_projection::PathError;
use std::fmt;

/// What is stripped from telemetry. Cloning is cheap.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Policy {}

/// What becomes of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever exports an attribute must know everything that can become of it"
)]
pub enum Outcome {
    /// It may leave as it is, byte for byte.
    Unchanged,
    /// This text leaves instead.
    Text(String),
    /// The attribute does not leave at all.
    Dropped,
}

/// What becomes of attributes that carry payload: messages, arguments, results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redaction {
    /// They leave, stripped.
    #[default]
    None,
    /// They do not leave.
    Drop,
    /// Their SHA-256 leaves instead.
    Hash,
    /// Their HMAC-SHA-256 leaves instead.
    KeyedHash(HashKey),
}

/// The key of [`Redaction::KeyedHash`]. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct HashKey(std::sync::Arc<[u8]>);

impl HashKey {
    /// The key of these bytes.
    #[must_use]
    pub fn new(key: impl AsRef<[u8]>) -> Self {
        Self(key.as_ref().into())
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(..)")
    }
}

/// A policy that knows of which kind a span is: made once for a span, asked for each of its texts.
#[derive(Clone, Debug)]
pub struct Reader<'p> {
    policy: &'p Policy,
}

impl Policy {
    /// Top-level keys of tool results that stay although they begin with `_`, such as `_id`.
    #[must_use]
    pub fn with_kept(self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let _ = keys.into_iter().map(Into::into).collect::<Vec<String>>();
        self
    }

    /// Further attributes that carry tool results: names, or patterns in which `*` is one segment and
    /// a last `**` all that follow.
    #[must_use]
    pub fn with_tool_results(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let _ = names.into_iter().map(Into::into).collect::<Vec<String>>();
        self
    }

    /// Further attributes that carry other payload: messages, arguments.
    #[must_use]
    pub fn with_payloads(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let _ = names.into_iter().map(Into::into).collect::<Vec<String>>();
        self
    }

    /// What becomes of attributes that carry payload; by default they leave, stripped.
    #[must_use]
    pub fn with_redaction(self, redaction: Redaction) -> Self {
        let _ = redaction;
        self
    }

    /// The most bytes that a text may have; by default any.
    #[must_use]
    pub fn with_max_bytes(self, bytes: usize) -> Self {
        let _ = bytes;
        self
    }

    /// What is never revealed, as paths of the path language of projection: `password`, `owner.mail`,
    /// `items[].token`.
    ///
    /// # Errors
    ///
    /// [`PathError`] for the first that is no path.
    pub fn with_never(
        self,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, PathError> {
        for path in paths {
            crossfeed_projection::Path::parse(path.as_ref())?;
        }
        Ok(self)
    }

    /// A rule of the host's own, asked first with the name of an attribute and its text. What it gives
    /// instead passes the rest of the policy like any text.
    #[must_use]
    pub fn with_rule(self, rule: impl Fn(&str, &str) -> Outcome + Send + Sync + 'static) -> Self {
        let _ = rule;
        self
    }

    /// The policy for one span or record, of which these are the attributes that are strings: by some
    /// of them it is known whether it is the span of a tool.
    #[must_use]
    pub fn reader<'a>(&self, hints: impl IntoIterator<Item = (&'a str, &'a str)>) -> Reader<'_> {
        let _ = hints.into_iter().count();
        Reader { policy: self }
    }

    /// What becomes of the text of an attribute, where nothing is known of its span.
    ///
    /// `attribute` is the name of the attribute, by which it is known what the text holds; empty for a
    /// text that is none, such as the body of a log record. Never panics.
    #[must_use]
    pub fn strip(&self, attribute: &str, text: &str) -> Outcome {
        self.reader([]).strip(attribute, text)
    }

    /// Whether an attribute of this name goes, whatever its value: an internal field by itself, or one
    /// of a flattened object.
    #[must_use]
    pub fn drops_key(&self, key: &str) -> bool {
        key.split('.').any(crossfeed_wire::internal::is_internal)
    }
}

impl Reader<'_> {
    /// As [`Policy::strip`], knowing the kind of the span.
    #[must_use]
    pub fn strip(&self, attribute: &str, text: &str) -> Outcome {
        let _ = (self.policy, attribute, text);
        Outcome::Unchanged
    }

    /// As [`Policy::drops_key`], knowing the kind of the span.
    #[must_use]
    pub fn drops_key(&self, key: &str) -> bool {
        self.policy.drops_key(key)
    }
}
