//! What is stripped, what is redacted, and in which order.
//!
//! Decides by the name of an attribute whether its text leaves as it is, leaves changed, or does
//! not leave. [`crate::table`] knows the attributes.
//!
//! # The stages, in their order
//!
//! 1. An attribute whose own name is internal goes.
//! 2. The host's rule, if it has one. What it gives passes through all that follows.
//! 3. Internal fields are stripped.
//! 4. What is never revealed is taken out.
//! 5. Payload is dropped or hashed, if the policy says so.
//! 6. The text is cut to the most bytes.
//!
//! # Invariants
//!
//! - A text that holds nothing to strip leaves byte for byte. Without the last three stages, one that
//!   could not hold anything costs the two scans of [`prefilter`].
//! - A panic in any stage, the host's rule included, does not leave: the text is replaced by
//!   [`FAILED`].

mod cap;
mod fields;
mod hash;
mod nested_json;
mod never;
mod prefilter;

#[cfg(test)]
mod tests;

pub use hash::HashKey;

use crate::{
    guard::guarded,
    table::{KNOWN, Kind, SpanKind, Table, segments},
};
use crossfeed_projection::PathError;
use crossfeed_wire::internal::is_internal;
use never::Never;
use std::{collections::HashSet, fmt, sync::Arc};

/// What leaves instead of a text for which the policy failed.
pub const FAILED: &str = "[withheld: the policy failed]";

/// What is stripped from telemetry, and what else may not leave. Cloning is cheap.
///
/// By default the named internal fields go wherever they stand, and from results of tools every
/// top-level key that begins with `_`. Nothing else changes.
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
pub struct Policy(Arc<Rules>);

#[derive(Clone, Default)]
struct Rules {
    kept: HashSet<Box<str>>,
    /// Attributes beside those of the conventions.
    own: Table,
    redaction: Redaction,
    most: Option<usize>,
    never: Never,
    rule: Option<Arc<Rule>>,
}

type Rule = dyn Fn(&str, &str) -> Outcome + Send + Sync;

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("kept", &self.kept)
            .field("redaction", &self.redaction)
            .field("most", &self.most)
            .field("never", &self.never)
            .field("rule", &self.rule.is_some())
            .finish_non_exhaustive()
    }
}

/// What becomes of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an exporter must know everything that can become of an attribute"
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
    /// Their SHA-256 leaves instead. Whoever can guess a payload can check the guess.
    Hash,
    /// Their HMAC-SHA-256 leaves instead: without the key no guess can be checked.
    KeyedHash(HashKey),
}

/// A policy that knows of which kind a span is: made once for a span, asked for each of its texts.
#[derive(Clone, Debug)]
pub struct Reader<'p> {
    rules: &'p Rules,
    span: SpanKind,
    /// Only as far as the digest of payload, without it and without the cut.
    is_partial: bool,
}

impl Policy {
    fn with(mut self, set: impl FnOnce(&mut Rules)) -> Self {
        set(Arc::make_mut(&mut self.0));
        self
    }

    /// Top-level keys of tool results that stay although they begin with `_`, such as `_id`; by default
    /// none. The engine's own fields go even if they are named here.
    #[must_use]
    pub fn with_kept(self, keys: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with(|rules| {
            let keys = keys.into_iter().map(|key| key.into().into_boxed_str());
            rules.kept.extend(keys);
        })
    }

    /// Further attributes that carry tool results: names, or patterns in which `*` is one segment and
    /// a last `**` all that follow.
    #[must_use]
    pub fn with_tool_results(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.with_attributes(names, Kind::ToolResult)
    }

    /// Further attributes that carry other payload, such as messages and arguments. A known attribute of
    /// tool results is one no more if it is named here itself; patterns and longer names do not say that.
    #[must_use]
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

    /// What becomes of attributes that carry payload; by default they leave, stripped.
    #[must_use]
    pub fn with_redaction(self, redaction: Redaction) -> Self {
        self.with(|rules| rules.redaction = redaction)
    }

    /// The most bytes that a text may have, of any attribute; by default any. What was JSON is JSON
    /// after the cut, and says how much was left out. Less than 96 bytes are 96, which that takes.
    #[must_use]
    pub fn with_max_bytes(self, bytes: usize) -> Self {
        self.with(|rules| rules.most = Some(bytes.max(cap::LEAST)))
    }

    /// What is never revealed, as paths of the path language of projection: `password`, `owner.mail`,
    /// `items[].token`. They replace those of an earlier call.
    ///
    /// A path begins at any object of a text, JSON in its strings included, and hides whatever it names.
    /// Lists are crossed, an index hides what any item has, and a path that ends in a list hides the list.
    /// A string or text that is not valid JSON and mentions a hidden name is replaced by `[withheld]`; a member
    /// whose key is a text that does so goes.
    ///
    /// An attribute that a path names from its first part goes, and so does what is flattened below an
    /// attribute of payload. What is not known by its name stays: other texts that repeat what is hidden,
    /// and bytes in base64.
    ///
    /// # Errors
    ///
    /// [`PathError`] for the first that is not a path.
    pub fn with_never(
        self,
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, PathError> {
        let never = Never::parse(paths)?;
        Ok(self.with(|rules| rules.never = never))
    }

    /// A rule of the host's own, asked first with the name of an attribute and its text. What it gives
    /// instead passes the rest of the policy like any text. Where it panics, the text is replaced by
    /// [`FAILED`].
    #[must_use]
    pub fn with_rule(self, rule: impl Fn(&str, &str) -> Outcome + Send + Sync + 'static) -> Self {
        self.with(|rules| rules.rule = Some(Arc::new(rule)))
    }

    /// The policy for one span or record, of which these are the attributes that are strings: by some
    /// of them it is known whether it is the span of a tool. Where none says so, what could be the result
    /// of a tool is taken for one.
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
    #[must_use]
    pub fn reader<'a>(&self, hints: impl IntoIterator<Item = (&'a str, &'a str)>) -> Reader<'_> {
        Reader {
            rules: &self.0,
            span: SpanKind::of(hints),
            is_partial: false,
        }
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
    /// of an object that was flattened into attributes. In tool results that were flattened, so goes each
    /// top-level key that begins with `_`.
    #[must_use]
    pub fn drops_key(&self, key: &str) -> bool {
        self.reader([]).drops_key(key)
    }
}

/// Whether some part of a name begins with `_`: most do not, and every name is asked for.
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
    /// As [`Policy::strip`], knowing the kind of the span.
    #[must_use]
    pub fn strip(&self, attribute: &str, text: &str) -> Outcome {
        guarded(
            || self.stages(attribute, text),
            || Outcome::Text(FAILED.to_owned()),
        )
    }

    /// As [`Policy::drops_key`], knowing the kind of the span.
    #[inline]
    #[must_use]
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

    /// Whether it is known what attributes of this name carry.
    pub(crate) fn knows(&self, attribute: &str) -> bool {
        self.kind(attribute).is_some()
    }

    /// The most bytes that a text may have.
    pub(crate) fn most(&self) -> Option<usize> {
        self.rules.most.filter(|_| !self.is_partial)
    }

    /// Where a digest leaves instead of this attribute: the policy up to there, for what consists of
    /// several texts. Of what it leaves [`digest`](Self::digest) is to be taken.
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

    /// What leaves instead of payload that is hashed.
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
        // What leaves instead, once something does.
        let mut instead: Option<String> = None;
        if let Some(rule) = &rules.rule {
            match rule(attribute, text) {
                Outcome::Unchanged => {}
                Outcome::Text(text) => instead = Some(text),
                Outcome::Dropped => return Outcome::Dropped,
            }
        }
        let now = instead.as_deref().unwrap_or(text);
        if prefilter::is_suspect(now) {
            let is_result = matches!(self.kind(attribute), Some((Kind::ToolResult, _)));
            instead = fields::strip(now, is_result, &rules.kept).or(instead);
        }
        if !rules.never.is_empty() {
            let now = instead.as_deref().unwrap_or(text);
            let Some(ways) = rules
                .never
                .ways_of(attribute, self.kind(attribute).map(|(_, len)| len))
            else {
                return Outcome::Dropped;
            };
            instead = rules.never.hide(now, ways).or(instead);
        }
        if self.is_partial {
            return instead.map_or(Outcome::Unchanged, Outcome::Text);
        }
        if rules.redaction != Redaction::None && self.is_payload(attribute) {
            let now = instead.as_deref().unwrap_or(text);
            instead = match &rules.redaction {
                Redaction::None => instead,
                Redaction::Drop => return Outcome::Dropped,
                Redaction::Hash | Redaction::KeyedHash(_) => Some(self.digest(now)),
            };
        }
        if let Some(most) = rules.most {
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

    /// Whether an attribute of results that is known is one although the host says payload: not by the
    /// same name, nor by one below it.
    fn is_result_beside_own(&self, attribute: &str, (kind, len): (Kind, usize)) -> bool {
        let named = self.rules.own.named(attribute);
        matches!(kind, Kind::ToolResult | Kind::Output) && named.is_none_or(|(_, own)| own < len)
    }

    /// The kind of an attribute on this span, and how much of its name says so.
    fn kind(&self, attribute: &str) -> Option<(Kind, usize)> {
        let own = if self.rules.own.is_empty() {
            None
        } else {
            self.rules.own.find(attribute)
        };
        let known = || KNOWN.find(attribute);
        let found = match own {
            // Results are not hidden among payload by a name that says more than they.
            Some((Kind::Payload, _)) => known()
                .filter(|known| self.is_result_beside_own(attribute, *known))
                .or(own),
            own => own.or_else(known),
        };
        let (kind, len) = found?;
        let kind = match (kind, self.span) {
            (Kind::Output, SpanKind::Tool | SpanKind::Unsaid) => Kind::ToolResult,
            (Kind::Output, SpanKind::Other) => Kind::Payload,
            (kind, _) => kind,
        };
        Some((kind, len))
    }
}
