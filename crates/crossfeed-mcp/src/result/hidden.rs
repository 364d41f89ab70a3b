//! What never-rules take out of a result, where a projection does not do it.
//!
//! A path of a rule begins at `structuredContent`, and at each text that is JSON. A name holds there
//! and in everything else that a server may add, but not of the protocol's own keys: a rule that hides
//! `text` hides no part. Text that is no JSON goes where it names what is hidden, or where it may
//! repeat what was hidden beside it.

use super::{
    CONTENT, META, STRUCTURED,
    parts::{self, Part},
    splice::{Edits, is_object, object_of},
};
use crossfeed_json::{Cursor, Document, Kind, quoted};
use crossfeed_projection::{RevealRules, WITHHELD};
use serde_json::Value;
use std::sync::Arc;

#[derive(Clone, Debug, Default)]
pub(super) struct Hidden {
    rules: Arc<RevealRules>,
    /// The rules that are names: what holds where no path begins.
    names: RevealRules,
}

impl Hidden {
    pub(super) fn new(rules: &Arc<RevealRules>) -> Self {
        let names = rules.never().iter().filter(|path| path.as_name().is_some());
        Self {
            rules: rules.clone(),
            names: RevealRules::new([], names.cloned()),
        }
    }

    /// What is shown of a result that is not projected.
    pub(super) fn shown(&self, root: Cursor<'_>, edits: &mut Edits<'_>) {
        if self.rules.never_is_empty() {
            return;
        }
        let mut was_cut = false;
        if let Some(own) = root.get(STRUCTURED)
            && let Some(shown) = redacted(&self.rules, own)
        {
            edits.replace(own, shown);
            was_cut = true;
        }
        let parts = parts::of(root);
        for part in &parts {
            if let Some(text) = part.text {
                self.text(text, was_cut, edits);
            }
        }
        self.parts(&parts, was_cut, edits);
    }

    /// What is shown of the parts that are no text, of a result whose text was made anew.
    pub(super) fn other_parts(&self, root: Cursor<'_>, parts: &[Part<'_>], edits: &mut Edits<'_>) {
        let is_all_text = parts.iter().all(|part| part.text.is_some());
        if self.rules.never_is_empty() || is_all_text {
            return;
        }
        let own = root.get(STRUCTURED);
        let was_cut = own.is_some_and(|own| redacted(&self.rules, own).is_some());
        self.parts(parts, was_cut, edits);
    }

    fn parts(&self, parts: &[Part<'_>], was_cut: bool, edits: &mut Edits<'_>) {
        for part in parts {
            if part.text.is_none() {
                let resource = part.part.get("resource");
                let text = resource.and_then(|resource| resource.get("text"));
                if let Some(text) = text.filter(|text| text.kind() == Kind::String) {
                    self.text(text, was_cut, edits);
                }
            }
            if let Some(meta) = part.part.get(META)
                && let Some(shown) = redacted(&self.names, meta)
            {
                edits.replace(meta, shown);
            }
        }
    }

    fn text(&self, text: Cursor<'_>, was_cut: bool, edits: &mut Edits<'_>) {
        let plain = text.as_str().unwrap_or_default();
        let document = Document::new(plain.as_ref().to_owned());
        let shown = match document.root() {
            Ok(root) if matches!(root.kind(), Kind::Object | Kind::Array) => {
                redacted(&self.rules, root)
            }
            _ if was_cut || self.rules.mentions_never(&plain) => Some(WITHHELD.into()),
            // JSON that nests too deep cannot be looked into.
            Err(error) if error.is_limit() => Some(WITHHELD.into()),
            _ => None,
        };
        if let Some(shown) = shown {
            let shown = String::from_utf8_lossy(&shown);
            edits.replace(text, quoted(&shown).into_bytes());
        }
    }

    /// Everything beside the content, and what is said in `_meta`.
    pub(super) fn other_members(
        &self,
        root: Cursor<'_>,
        said: Option<(&str, Value)>,
        edits: &mut Edits<'_>,
    ) {
        for (key, value) in root.members() {
            if matches!(&*key.text(), STRUCTURED | CONTENT | META | "isError") {
                continue;
            }
            if let Some(shown) = redacted(&self.names, value) {
                edits.replace(value, shown);
            }
        }
        let said = said.map(|(key, reply)| (key, reply.to_string().into_bytes()));
        let meta = root.get(META);
        let shown = meta.and_then(|meta| redacted(&self.names, meta));
        match (meta, said) {
            (Some(meta), None) => {
                if let Some(shown) = shown {
                    edits.replace(meta, shown);
                }
            }
            (Some(meta), Some((key, json))) if !is_object(meta) => {
                edits.replace(meta, object_of(key, &json));
            }
            (Some(meta), Some((key, json))) => match shown {
                Some(shown) => {
                    let document = Document::new(shown);
                    let mut own = Edits::new(document.raw());
                    if let Ok(root) = document.root() {
                        own.put(root, key, &json);
                    }
                    edits.replace(meta, own.done().into_owned());
                }
                None => edits.put(meta, key, &json),
            },
            (None, Some((key, json))) => edits.put(root, META, &object_of(key, &json)),
            (None, None) => {}
        }
    }
}

/// The value without what is never shown; `None` where that is all of it.
fn redacted(rules: &RevealRules, value: Cursor<'_>) -> Option<Vec<u8>> {
    if rules.never_is_empty() {
        return None;
    }
    let mut shown = Vec::new();
    rules.redact(value, &mut shown).any().then_some(shown)
}
