//! What is stored, and the only way to its redacted form.

use super::{RevealPolicy, redact};
use crate::{canonical::Stored, error::RevealError};
use crossfeed_projection::RevealRules;
use std::{any::Any, sync::Arc};

/// A result or an artifact as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Unredacted(Stored);

impl From<Stored> for Unredacted {
    fn from(stored: Stored) -> Self {
        Self(stored)
    }
}

impl Unredacted {
    /// The redacted form, which models see and their expressions run on. It is made once and kept with the stored
    /// one; if nothing is withheld, it is the stored one.
    pub(crate) fn redacted(&self, policy: &RevealPolicy) -> Result<Stored, RevealError> {
        let Some(rules) = policy.hiding(self.0.tool()) else {
            return Ok(self.0.clone());
        };
        let key: Arc<dyn Any + Send + Sync> = Arc::<RevealRules>::clone(rules);
        Ok(match &self.0 {
            Stored::Result(whole) => {
                Stored::Result(whole.shown_under(&key, || redact::result(whole, rules))?)
            }
            Stored::Artifact(whole) => {
                Stored::Artifact(whole.shown_under(&key, || redact::artifact(whole, rules))?)
            }
        })
    }

    /// What hosts get, and what a reference without a selector passes on unseen.
    pub(crate) fn as_stored(&self) -> &Stored {
        &self.0
    }

    /// Whether its redacted form lacks some of it.
    pub(crate) fn hides_from(&self, shown: &Stored) -> bool {
        match (shown, &self.0) {
            (Stored::Result(shown), Stored::Result(whole)) => !Arc::ptr_eq(shown, whole),
            (Stored::Artifact(shown), Stored::Artifact(whole)) => !Arc::ptr_eq(shown, whole),
            _ => true,
        }
    }
}
