//! What is stored, and the one way from it to what may be shown.

use super::{RevealPolicy, redact};
use crate::{canonical::Stored, error::RevealError};
use crossfeed_projection::RevealRules;
use std::{any::Any, sync::Arc};

/// All that is stored of a result or an artifact.
#[derive(Clone, Debug)]
pub(crate) struct Unredacted(Stored);

impl From<Stored> for Unredacted {
    fn from(stored: Stored) -> Self {
        Self(stored)
    }
}

impl Unredacted {
    /// What of it a model may see, and what expressions work on that a model wrote. It is made once
    /// and kept with what is stored; where nothing is hidden, it is what is stored.
    pub(crate) fn redacted(&self, policy: &RevealPolicy) -> Result<Stored, RevealError> {
        let Some(rules) = policy.hiding(self.0.tool()) else {
            return Ok(self.0.clone());
        };
        let asking: Arc<RevealRules> = Arc::clone(rules);
        let asking: Arc<dyn Any + Send + Sync> = asking;
        Ok(match &self.0 {
            Stored::Result(whole) => {
                Stored::Result(whole.shown_under(&asking, || redact::result(whole, rules))?)
            }
            Stored::Artifact(whole) => {
                Stored::Artifact(whole.shown_under(&asking, || redact::artifact(whole, rules))?)
            }
        })
    }

    /// What a reference without a selector passes on, unseen; and what a host gets.
    pub(crate) fn as_stored(&self) -> &Stored {
        &self.0
    }

    /// Whether what is shown of it is not all of it.
    pub(crate) fn hides_from(&self, shown: &Stored) -> bool {
        match (shown, &self.0) {
            (Stored::Result(shown), Stored::Result(whole)) => !Arc::ptr_eq(shown, whole),
            (Stored::Artifact(shown), Stored::Artifact(whole)) => !Arc::ptr_eq(shown, whole),
            _ => true,
        }
    }
}
