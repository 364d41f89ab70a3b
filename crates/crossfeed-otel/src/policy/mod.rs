//! The policy: decides by the name of an attribute whether its text leaves unchanged, leaves changed, or is
//! dropped. [`crate::table`] knows the attributes.
//!
//! # The stages, in order
//!
//! 1. An attribute whose own name is internal is dropped.
//! 2. The host's rule, if there is one; its output passes through all later stages.
//! 3. Internal fields are stripped.
//! 4. What is never revealed is removed.
//! 5. Payload is dropped or hashed, if the policy asks for it.
//! 6. The text is cut to the maximum number of bytes.
//!
//! # Invariants
//!
//! - A text with nothing to strip leaves byte for byte. Without the last three stages, a text that cannot
//!   hold an internal field costs only the two scans of [`prefilter`].
//! - A panic in any stage, the host's rule included, does not propagate: the text is replaced by
//!   [`FAILED`].

mod cap;
mod fields;
mod hash;
mod hidden_paths;
mod nested_json;
mod prefilter;

#[cfg(test)]
mod tests;

pub use hash::HashKey;

use crate::{
    guard::guarded,
    table::{KNOWN, Kind, SpanKind, Table, segments},
};
use crossfeed_projection::{PathError, WITHHELD};
use crossfeed_wire::internal::is_internal;
use hidden_paths::HiddenPaths;
use std::{borrow::Cow, collections::HashSet, fmt, sync::Arc};

/// Replaces a text on which the policy panicked.
pub const FAILED: &str = "[withheld: the policy failed]";

/// What is stripped from telemetry, and what else may not leave. Cloning is cheap.
///
/// By default it strips the named internal fields everywhere, and from results of tools every top-level key that begins
/// with `_`. Nothing else changes.
///
/// ```
/// use crossfeed_otel::{Outcome, Policy};
///
/// let policy = Policy::default().with_kept(["_id"]);
/// let result = r#"{"_toolCallId": "call_1", "_id": 7, "_rank": 0.5, "n": 1.50}"#;
/// assert_eq!(
///     policy.strip("gen_ai.tool.call.result", result),
///     Outcome::Text(r#"{ "_id": 7, "n": 1.50}"#.to_owned())
/// );
/// // Elsewhere only the named fields go: other keys are data.
/// assert_eq!(
///     policy.strip("gen_ai.input.messages", r#"[{"content": "{\"_toolCallId\": 1, \"_rank\": 2}"}]"#),
///     Outcome::Text(r#"[{"content": "{ \"_rank\": 2}"}]"#.to_owned())
/// );
/// assert_eq!(policy.strip("http.route", "/a/_b"), Outcome::Unchanged);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
#[must_use]
pub struct Policy(Arc<Rules>);

#[derive(Clone, Default)]
struct Rules {
    kept: HashSet<Box<str>>,
    /// Attributes beside those of the conventions.
    own: Table,
    redaction: Redaction,
    max_bytes: Option<usize>,
    never: HiddenPaths,
    rule: Option<Arc<Rule>>,
}

type Rule = dyn Fn(&str, &str) -> Outcome + Send + Sync;

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("kept", &self.kept)
            .field("redaction", &self.redaction)
            .field("max_bytes", &self.max_bytes)
            .field("never", &self.never)
            .field("rule", &self.rule.is_some())
            .finish_non_exhaustive()
    }
}

/// The outcome of stripping an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an exporter must handle every outcome"
)]
pub enum Outcome {
    /// It may leave byte for byte.
    Unchanged,
    /// This text leaves instead.
    Text(String),
    /// The attribute does not leave at all.
    Dropped,
}

/// How attributes with payload leave: messages, arguments, results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redaction {
    /// They leave, stripped.
    #[default]
    None,
    /// They do not leave.
    Drop,
    /// Their SHA-256 leaves instead, which confirms a correctly guessed payload.
    Hash,
    /// Their HMAC-SHA-256 leaves instead, which confirms guesses only to holders of the key.
    KeyedHash(HashKey),
}

/// A policy for one kind of span: made once per span, and used for each of its texts.
#[derive(Clone, Debug)]
pub struct Reader<'p> {
    rules: &'p Rules,
    span: SpanKind,
    /// Stops before payload is hashed and texts are cut.
    is_partial: bool,
}

impl Policy {
    fn with(mut self, set: impl FnOnce(&mut Rules)) -> Self {
        set(Arc::make_mut(&mut self.0));
        self
    }

    /// Keeps top-level keys of tool results that begin with `_`, such as `_id`; by default none. The engine's own fields
    /// are stripped even if they are named here.
    pub fn with_kept(self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|rules| {
            let keys = keys.into_iter().map(|key| key.into().into_boxed_str());
            rules.kept.extend(keys);
        })
    }

    /// Adds attributes with tool results: names, or patterns in which `*` is one segment and a last `**` all that
    /// follow.
    pub fn with_tool_results(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with_attributes(names, Kind::ToolResult)
    }

    /// Adds attributes with other payload, such as messages and arguments. A known attribute of tool results becomes
    /// payload only if this names it itself, rather than by a pattern or a longer name.
    pub fn with_payloads(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with_attributes(names, Kind::Payload)
    }

    fn with_attributes(
        self,
        names: impl IntoIterator<Item = impl Into<String>>,
        kind: Kind,
    ) -> Self {
        self.with(|rules| {
            for name in names {
                rules.own.add(&name.into(), kind);
            }
        })
    }

    /// Sets how attributes with payload leave; by default stripped.
    pub fn with_redaction(self, redaction: Redaction) -> Self {
        self.with(|rules| rules.redaction = redaction)
    }

    /// Sets the most bytes of a text, of any attribute; by default there is no limit. JSON stays JSON after the cut, and
    /// notes how much was left out. The least are the 96 bytes that the note takes.
    pub fn with_max_bytes(self, bytes: usize) -> Self {
        self.with(|rules| rules.max_bytes = Some(bytes.max(cap::MIN_BYTES)))
    }

    /// Sets what is never revealed, as paths in projection's path language: `password`, `owner.mail`, `items[].token`.
    /// Replaces the paths of an earlier call.
    ///
    /// A path begins at any object of a text, JSON in its strings included, and hides whatever it names. Lists are
    /// crossed, an index hides what any item has, and a path that ends in a list hides the list. A string or text that
    /// is not valid JSON and mentions a hidden name is replaced by `[withheld]`; a member whose key is such a text is
    /// removed.
    ///
    /// An attribute that a path names from its first part is dropped, and so is one that is flattened below an attribute
    /// of payload. What its name does not reveal stays: other texts that repeat what is hidden, and bytes in base64.
    ///
    /// # Errors
    ///
    /// [`PathError`] for the first that is not a path.
    pub fn with_never(
        self,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, PathError> {
        let never = HiddenPaths::parse(paths)?;
        Ok(self.with(|rules| rules.never = never))
    }

    /// Sets a rule of the host, which runs first, on the name and the text of an attribute. Its output passes the rest of
    /// the policy like any text. If it panics, the text is replaced by [`FAILED`].
    pub fn with_rule(self, rule: impl Fn(&str, &str) -> Outcome + Send + Sync + 'static) -> Self {
        self.with(|rules| rules.rule = Some(Arc::new(rule)))
    }

    /// The policy for one span or record with these string attributes, some of which tell whether it is the span of a
    /// tool. If none does, what could be the result of a tool is taken for one.
    ///
    /// ```
    /// use crossfeed_otel::{Outcome, Policy};
    ///
    /// let policy = Policy::default();
    /// let tool = policy.reader([("openinference.span.kind", "TOOL")]);
    /// assert_eq!(tool.strip("output.value", r#"{"_rank":1}"#), Outcome::Text("{}".to_owned()));
    /// let model = policy.reader([("openinference.span.kind", "LLM")]);
    /// assert_eq!(model.strip("output.value", r#"{"_rank":1}"#), Outcome::Unchanged);
    /// ```
    pub fn reader<'a>(&self, hints: impl IntoIterator<Item = (&'a str, &'a str)>) -> Reader<'_> {
        Reader {
            rules: &self.0,
            span: SpanKind::new(hints),
            is_partial: false,
        }
    }

    /// Strips the text of an attribute of an unknown span.
    ///
    /// `attribute` is the name of the attribute, which determines its content; empty for other texts, such as the body
    /// of a log record. Never panics.
    pub fn strip(&self, attribute: &str, text: &str) -> Outcome {
        self.reader([]).strip(attribute, text)
    }

    /// Whether an attribute of this name is dropped, whatever its value: an internal field, by itself or of an object that
    /// was flattened into attributes, and each top-level key that begins with `_` of a flattened tool result.
    pub fn drops_key(&self, key: &str) -> bool {
        self.reader([]).drops_key(key)
    }
}

/// Whether some part of a name begins with `_`: a fast test, since most names have none.
#[inline]
fn begins_with_underscore(name: &str) -> bool {
    let name = name.as_bytes();
    let mut found = memchr::memchr_iter(b'_', name);
    found.any(|at| {
        let before = at.checked_sub(1).and_then(|before| name.get(before));
        before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
    })
}

impl Reader<'_> {
    /// As [`Policy::strip`], for this kind of span.
    pub fn strip(&self, attribute: &str, text: &str) -> Outcome {
        guarded(
            || self.stages(attribute, text),
            || Outcome::Text(FAILED.to_owned()),
        )
    }

    /// Strips the name of a span or an event in place; a dropped one is replaced, since they need a name.
    pub(crate) fn strip_name(&self, name: &mut Cow<'static, str>) {
        match self.strip("", name) {
            Outcome::Unchanged => {}
            Outcome::Text(stripped) => *name = stripped.into(),
            Outcome::Dropped => *name = WITHHELD.into(),
        }
    }

    /// As [`Policy::drops_key`], for this kind of span.
    #[inline]
    pub fn drops_key(&self, key: &str) -> bool {
        if !begins_with_underscore(key) {
            return false;
        }
        if segments(key).any(is_internal) {
            return true;
        }
        let Some((Kind::ToolResult, len)) = self.kind(key) else {
            return false;
        };
        let member = key.get(len..).and_then(|rest| segments(rest).next());
        member.is_some_and(|member| member.starts_with('_') && !self.rules.kept.contains(member))
    }

    /// Whether attributes of this name are known.
    pub(crate) fn knows(&self, attribute: &str) -> bool {
        self.kind(attribute).is_some()
    }

    /// The most bytes that a text may have.
    pub(crate) fn max_bytes(&self) -> Option<usize> {
        self.rules.max_bytes.filter(|_| !self.is_partial)
    }

    /// Where this attribute leaves as a digest: the policy without its last two stages, for values of
    /// several texts. Their [`digest`](Self::digest) is then taken at once.
    pub(crate) fn before_digest(&self, attribute: &str) -> Option<Self> {
        let hashes = matches!(
            self.rules.redaction,
            Redaction::Hash | Redaction::KeyedHash(_)
        );
        (hashes && !self.is_partial && self.is_payload(attribute)).then(|| Self {
            is_partial: true,
            ..self.clone()
        })
    }

    /// Replaces payload that is hashed.
    pub(crate) fn digest(&self, text: &str) -> String {
        match &self.rules.redaction {
            Redaction::Hash => hash::plain(text),
            Redaction::KeyedHash(key) => hash::keyed(key, text),
            Redaction::None | Redaction::Drop => FAILED.to_owned(),
        }
    }

    fn stages(&self, attribute: &str, text: &str) -> Outcome {
        let rules = self.rules;
        if self.drops_key(attribute) {
            return Outcome::Dropped;
        }
        // The text that leaves instead, once a stage has changed it.
        let mut instead = match rules.rule.as_ref().map(|rule| rule(attribute, text)) {
            None | Some(Outcome::Unchanged) => None,
            Some(Outcome::Text(text)) => Some(text),
            Some(Outcome::Dropped) => return Outcome::Dropped,
        };
        let now = instead.as_deref().unwrap_or(text);
        if prefilter::is_suspect(now) {
            let is_result = matches!(self.kind(attribute), Some((Kind::ToolResult, _)));
            instead = fields::strip(now, is_result, &rules.kept).or(instead);
        }
        if !rules.never.is_empty() {
            let now = instead.as_deref().unwrap_or(text);
            let known = self.kind(attribute).map(|(_, len)| len);
            let Some(progress) = rules.never.progress_at(attribute, known) else {
                return Outcome::Dropped;
            };
            instead = rules.never.hide(now, progress).or(instead);
        }
        if self.is_partial {
            return instead.map_or(Outcome::Unchanged, Outcome::Text);
        }
        if rules.redaction != Redaction::None && self.is_payload(attribute) {
            if rules.redaction == Redaction::Drop {
                return Outcome::Dropped;
            }
            instead = Some(self.digest(instead.as_deref().unwrap_or(text)));
        }
        if let Some(most) = rules.max_bytes {
            let now = instead.as_deref().unwrap_or(text);
            instead = cap::cut(now, most).or(instead);
        }
        instead.map_or(Outcome::Unchanged, Outcome::Text)
    }

    fn is_payload(&self, attribute: &str) -> bool {
        matches!(
            self.kind(attribute),
            Some((Kind::ToolResult | Kind::Payload, _))
        )
    }

    /// Whether a known attribute of results stays one although the host declares payload: unless the host
    /// does so by the same name, or by one below it.
    fn is_result_beside_own(&self, attribute: &str, (kind, len): (Kind, usize)) -> bool {
        let named = self.rules.own.named(attribute);
        matches!(kind, Kind::ToolResult | Kind::Output) && named.is_none_or(|(_, own)| own < len)
    }

    /// The kind of an attribute on this span, and how many bytes of its name determine it.
    fn kind(&self, attribute: &str) -> Option<(Kind, usize)> {
        let known = || KNOWN.find(attribute);
        let (kind, len) = match self.rules.own.find(attribute) {
            // A longer name of the host's does not turn a known result into payload.
            Some(own @ (Kind::Payload, _)) => known()
                .filter(|known| self.is_result_beside_own(attribute, *known))
                .unwrap_or(own),
            Some(own) => own,
            None => known()?,
        };
        let kind = match (kind, self.span) {
            (Kind::Output, SpanKind::Tool | SpanKind::Unknown) => Kind::ToolResult,
            (Kind::Output, SpanKind::Other) => Kind::Payload,
            (kind, _) => kind,
        };
        Some((kind, len))
    }
}
