//! A stored result or artifact, and the only way to its redacted form.

use super::{RevealPolicy, redact};
use crate::{canonical::StoredItem, error::RevealError};
use crossfeed_projection::RevealRules;
use std::{any::Any, sync::Arc};

/// A result or an artifact as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct UnredactedItem(StoredItem);

impl From<StoredItem> for UnredactedItem {
    fn from(stored: StoredItem) -> Self {
        Self(stored)
    }
}

impl UnredactedItem {
    /// The redacted form, which models see and their expressions run on. It is built once and kept with the
    /// stored item; if nothing is withheld, it is the stored item.
    pub(crate) fn redacted(&self, policy: &RevealPolicy) -> Result<StoredItem, RevealError> {
        let Some(rules) = policy.hiding(self.0.tool()) else {
            return Ok(self.0.clone());
        };
        let key: Arc<dyn Any + Send + Sync> = Arc::<RevealRules>::clone(rules);
        Ok(match &self.0 {
            StoredItem::Result(whole) => {
                StoredItem::Result(whole.shown_under(&key, || redact::result(whole, rules))?)
            }
            StoredItem::Artifact(whole) => {
                StoredItem::Artifact(whole.shown_under(&key, || redact::artifact(whole, rules))?)
            }
        })
    }

    /// The redacted form, if it lacks some of the item.
    pub(crate) fn cut(&self, policy: &RevealPolicy) -> Result<Option<StoredItem>, RevealError> {
        let shown = self.redacted(policy)?;
        Ok(self.hides_from(&shown).then_some(shown))
    }

    /// The stored item: for hosts, and for references without a selector, which pass it on unseen.
    pub(crate) fn as_stored(&self) -> &StoredItem {
        &self.0
    }

    /// Whether `shown`, its redacted form, lacks some of it.
    pub(crate) fn hides_from(&self, shown: &StoredItem) -> bool {
        match (shown, &self.0) {
            (StoredItem::Result(seen), StoredItem::Result(all)) => !Arc::ptr_eq(seen, all),
            (StoredItem::Artifact(seen), StoredItem::Artifact(all)) => !Arc::ptr_eq(seen, all),
            _ => true,
        }
    }
}
