//! The rules of each tool.

use super::redact::redact_json;
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_projection::RevealRules;
use crossfeed_store::{Damage, Missing, StoreError, Tombstone};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// The fields of each tool's results that are always kept, and those that are never revealed.
///
/// A result of an unknown tool may be of any: the never-rules of all tools apply to it.
///
/// ```
/// use crossfeed_core::RevealPolicy;
/// use crossfeed_projection::RevealRules;
///
/// let policy = RevealPolicy::default()
///     .with_every_tool(RevealRules::parse(["id", "error"], ["password"])?)
///     .with_tool("find_customer", RevealRules::parse(["name"], ["customer.ssn"])?);
/// assert!(policy.hides());
/// # Ok::<(), crossfeed_projection::PathError>(())
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
#[must_use]
pub struct RevealPolicy {
    every: Arc<RevealRules>,
    /// For each tool, the rules of every tool and its own together.
    tools: BTreeMap<String, Arc<RevealRules>>,
    own: BTreeMap<String, RevealRules>,
    /// The never-rules of all tools together.
    unnamed: Arc<RevealRules>,
}

/// Prints no rule: names of fields that are never revealed stay out of logs as well.
impl fmt::Debug for RevealPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RevealPolicy")
            .field("tools", &self.own.len())
            .field("never", &self.unnamed.never().len())
            .finish_non_exhaustive()
    }
}

impl RevealPolicy {
    /// Sets the rules for every tool.
    pub fn with_every_tool(mut self, rules: RevealRules) -> Self {
        self.every = Arc::new(rules);
        self.merged()
    }

    /// Sets the rules for one tool, in addition to those for every tool.
    pub fn with_tool(mut self, tool: impl Into<String>, rules: RevealRules) -> Self {
        self.own.insert(tool.into(), rules);
        self.merged()
    }

    fn merged(mut self) -> Self {
        let own = self.own.iter();
        let both = own.map(|(tool, own)| (tool.clone(), Arc::new(self.every.and(own))));
        self.tools = both.collect();
        let all = self.own.values();
        let all = all.fold((*self.every).clone(), |all, own| all.and(own));
        self.unnamed = Arc::new(all);
        self
    }

    /// The rules for the results of a tool; for an unknown one, those of all tools.
    pub fn rules(&self, tool: Option<&str>) -> &Arc<RevealRules> {
        match tool {
            Some(tool) => self.tools.get(tool).unwrap_or(&self.every),
            None => &self.unnamed,
        }
    }

    /// Whether anything of any tool is never revealed.
    pub fn hides(&self) -> bool {
        !self.unnamed.never_is_empty()
    }

    /// The rules for the results of a tool, if they hide anything.
    pub(super) fn hiding(&self, tool: Option<&str>) -> Option<&Arc<RevealRules>> {
        let rules = self.rules(tool);
        (!rules.never_is_empty()).then_some(rules)
    }

    /// The tombstone of a result that is gone, without arguments that contain a never-revealed part of any tool:
    /// references may have brought any tool's results into them.
    pub(crate) fn forget(&self, missing: Missing) -> Missing {
        match missing {
            Missing::Unknown => Missing::Unknown,
            Missing::Expired(tombstone) => Missing::Expired(self.without_arguments(tombstone)),
            Missing::Evicted(tombstone) => Missing::Evicted(self.without_arguments(tombstone)),
            Missing::InFlight(tombstone) => Missing::InFlight(self.without_arguments(tombstone)),
        }
    }

    /// The same of a result that is damaged.
    pub(crate) fn forget_in(&self, mut error: StoreError) -> StoreError {
        if let StoreError::Damaged {
            damage: Damage::Result { about, .. },
            ..
        } = &mut error
        {
            *about = self.without_arguments(std::mem::take(about));
        }
        error
    }

    /// The redacted summary of an artifact.
    pub(crate) fn summary(&self, tool: Option<&str>, summary: Bytes) -> Option<Bytes> {
        let Some(rules) = self.hiding(tool) else {
            return Some(summary);
        };
        let redacted = redact_json(&Document::new(summary.clone()), rules).ok()?;
        Some(redacted.map_or(summary, Bytes::from))
    }

    /// Whether a document, as an artifact of a tool, is redacted to `shown`.
    pub(crate) fn shows_as(&self, tool: Option<&str>, whole: &Document, shown: &Document) -> bool {
        let Some(rules) = self.hiding(tool) else {
            return false;
        };
        let Ok(Some(redacted)) = redact_json(whole, rules) else {
            return false;
        };
        let compact = |document: &Document| {
            let mut json = Vec::new();
            document.root().ok()?.write_compact(&mut json);
            Some(json)
        };
        let redacted = compact(&Document::new(redacted));
        redacted.is_some() && redacted == compact(shown)
    }

    /// Whether the rules of the recorded tool hide all that those of another hide. An unknown tool is that of the
    /// record.
    pub(crate) fn covers(&self, recorded: Option<&str>, tool: Option<&str>) -> bool {
        let (own, other) = (self.rules(recorded), self.rules(tool.or(recorded)));
        Arc::ptr_eq(own, other) || other.never().iter().all(|path| own.never().contains(path))
    }

    /// The tombstone of a call, without arguments that contain never-revealed parts.
    pub(crate) fn without_arguments(&self, tombstone: Tombstone) -> Tombstone {
        let is_hidden = |arguments: &Bytes| {
            let document = Document::new(arguments.clone());
            let root = document.root();
            root.map_or(true, |root| is_hidden_in(root, &self.unnamed))
        };
        if !(self.hides() && tombstone.arguments().is_some_and(is_hidden)) {
            return tombstone;
        }
        Tombstone::new(tombstone.tool().map(Arc::from), None)
            .with_repeatable(tombstone.repeatable())
    }
}

/// Whether any part of remembered arguments is never revealed. A reference without a selector may have brought any
/// part from the root of a result, so each part is judged as a result. Remembered arguments are short.
fn is_hidden_in(cursor: Cursor<'_>, rules: &RevealRules) -> bool {
    let is_named = |text: &str| rules.mentions_never(text);
    // Of duplicate keys only one value is judged here, but all are remembered.
    if cursor.document_has_duplicates() || rules.redact(cursor, &mut Vec::new()).any() {
        return true;
    }
    match cursor.kind() {
        Kind::String => {
            let text = cursor.as_str().unwrap_or_default();
            let is_hidden = |text| {
                Document::new(text)
                    .root()
                    .is_ok_and(|root| is_hidden_in(root, rules))
            };
            is_named(&text) || is_hidden(text.into_owned())
        }
        Kind::Object => {
            let mut members = cursor.items();
            members.any(|member| is_named(&member.key().text()) || is_hidden_in(member, rules))
        }
        Kind::Array => cursor.items().any(|item| is_hidden_in(item, rules)),
        _ => false,
    }
}
