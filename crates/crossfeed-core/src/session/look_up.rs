//! Looking up what references name, and what is offered in place of ids that are not known.

use super::Session;
use crate::{
    canonical::Stored,
    error::LookupError,
    resolve::{Looked, Wanted},
    suggest::{Offer, There},
};
use crossfeed_store::{ArtifactLookup, Lookup, StoredResult};
use crossfeed_wire::CallId;
use std::{collections::HashSet, sync::Arc};

/// For how many unknown ids of one call it is looked for those that may be meant.
const OFFERED_FOR: usize = 32;

/// The most bytes of a result that is read to see whether it says that its call failed.
const READ_BYTES: usize = 4 << 10;
/// How often calls that failed are replaced by others in what is offered.
const CHECKED: usize = 3;

impl Session {
    /// A recorded result. It stays where it is while the answer is held.
    ///
    /// # Errors
    ///
    /// [`LookupError`] says whether it is unknown, expired or evicted, or the store is away.
    pub async fn get(&self, call_id: &CallId) -> Result<Arc<StoredResult>, LookupError> {
        let mut looked = [self.find(call_id).await.map(Stored::Result)];
        self.offer(&mut looked).await;
        let [looked] = looked;
        match looked? {
            Stored::Result(result) => Ok(result),
            Stored::Artifact(_) => Err(LookupError::unknown(call_id.clone())),
        }
    }

    async fn find(&self, call_id: &CallId) -> Result<Arc<StoredResult>, LookupError> {
        match self.inner().store.get(&self.scope, call_id).await {
            Ok(Lookup::Found(result)) => Ok(result),
            Ok(Lookup::Missing(missing)) => Err(LookupError::missing(call_id.clone(), missing)),
            Err(error) => Err(LookupError::Store(Arc::new(error))),
        }
    }

    /// What is wanted; [`Self::offer`] says what there is in place of what is not known.
    pub(super) async fn find_wanted(&self, wanted: &Wanted) -> Looked {
        let call_id = &wanted.call_id;
        let Some(artifact_id) = &wanted.artifact_id else {
            return self.find(call_id).await.map(Stored::Result);
        };
        let store = &self.inner().store;
        match store.get_artifact(&self.scope, artifact_id, call_id).await {
            Ok(ArtifactLookup::Found(artifact)) => Ok(Stored::Artifact(artifact)),
            Ok(ArtifactLookup::Missing(missing)) => {
                let (artifact_id, call_id) = (artifact_id.clone(), call_id.clone());
                Err(LookupError::artifact_missing(artifact_id, call_id, missing))
            }
            Err(error) => Err(LookupError::Store(Arc::new(error))),
        }
    }

    /// What is wanted, or why it is not there and what is.
    pub(super) async fn look_up(&self, wanted: &Wanted) -> Looked {
        let mut looked = [self.find_wanted(wanted).await];
        self.offer(&mut looked).await;
        let [looked] = looked;
        looked
    }

    /// Adds to unknown ids those of this session that may be meant. Where the store cannot list them,
    /// nothing is added: the id is unknown all the same.
    pub(super) async fn offer(&self, looked: &mut [Looked]) {
        let (mut calls, mut artifacts) = (None, None);
        let unknown = looked.iter_mut().filter_map(|looked| match looked {
            Err(error @ (LookupError::Unknown { .. } | LookupError::ArtifactUnknown { .. })) => {
                Some(error)
            }
            _ => None,
        });
        for error in unknown.take(OFFERED_FOR) {
            match error {
                LookupError::Unknown { call_id, offer } => {
                    if calls.is_none() {
                        calls = self.calls_there().await;
                    }
                    let Some(there) = &mut calls else { return };
                    *offer = self.offer_calls(call_id, there).await;
                }
                LookupError::ArtifactUnknown {
                    artifact_id, offer, ..
                } => {
                    if artifacts.is_none() {
                        artifacts = self.artifacts_there().await;
                    }
                    let Some(there) = &artifacts else { return };
                    *offer = Offer::of(artifact_id.as_str(), there);
                }
                _ => {}
            }
        }
    }

    /// The calls whose results can be referred to, the most recently used last.
    async fn calls_there(&self) -> Option<Vec<There>> {
        let listed = self.inner().store.list(&self.scope).await.ok()?;
        let listed = listed.into_iter().filter(|listed| !listed.failed);
        let there = listed.map(|listed| There {
            id: listed.call_id.as_str().to_owned(),
            of: listed.tool,
        });
        Some(there.collect())
    }

    /// What to offer for an unknown call: none that says itself that it failed.
    async fn offer_calls(&self, wanted: &CallId, there: &mut Vec<There>) -> Offer {
        let mut offer = Offer::of(wanted.as_str(), there);
        for _ in 0..CHECKED {
            let mut failed = HashSet::new();
            for (id, _) in &offer.ids {
                if self.says_it_failed(id).await {
                    failed.insert(id.clone());
                }
            }
            if failed.is_empty() {
                break;
            }
            there.retain(|one| !failed.contains(&one.id));
            offer = Offer::of(wanted.as_str(), there);
        }
        offer
    }

    /// Whether a short result of MCP says itself that its call failed. Long ones are no errors.
    async fn says_it_failed(&self, id: &str) -> bool {
        let Ok(call_id) = CallId::parse(id) else {
            return false;
        };
        let found = self.find(&call_id).await;
        found.is_ok_and(|result| {
            let short = result.document().raw().len() <= READ_BYTES;
            short && Stored::Result(result).failure().is_some()
        })
    }

    async fn artifacts_there(&self) -> Option<Vec<There>> {
        let listed = self.inner().store.list_artifacts(&self.scope).await.ok()?;
        let there = listed.into_iter().map(|listed| There {
            id: listed.artifact_id.as_str().to_owned(),
            of: Some(format!("of call {}", listed.call_id).into()),
        });
        Some(there.collect())
    }
}
