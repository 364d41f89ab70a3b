//! Looking up what references name, and what is offered in place of ids that are not known.

use super::{Session, offload::run_or_spawn};
use crate::{
    canonical::Stored,
    error::{Alternatives, KnownId, LookupError, comparison_budget},
    resolve::{LookupKey, LookupResult},
};
use crossfeed_store::{ArtifactLookup, Listed, Lookup, StoreError, StoredResult};
use crossfeed_wire::CallId;
use std::sync::Arc;

/// For how many unknown ids of one call it is looked for those that may be meant.
const OFFERED_FOR: usize = 32;
/// The most ids that are compared with unknown ones on the async thread, each as often as it is.
const SMALL_COMPARISONS: usize = 64;

/// What a session lists.
#[derive(Clone, Copy, PartialEq)]
enum Listing {
    Calls,
    Artifacts,
}

impl Session {
    /// The results of this session that are there now, the most recently used last: none of what they
    /// hold.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store cannot be read.
    pub async fn results(&self) -> Result<Vec<Listed>, StoreError> {
        self.inner().store.list(&self.scope).await
    }

    /// A recorded result, all of it: for hosts, not for models. It stays where it is while the answer
    /// is held.
    ///
    /// # Errors
    ///
    /// [`LookupError`] says whether it is unknown, in flight, expired or evicted, or the store is away.
    pub async fn get(&self, call_id: &CallId) -> Result<Arc<StoredResult>, LookupError> {
        let whole = self.look_up(&LookupKey::new(call_id, None)).await?;
        match whole.as_stored() {
            Stored::Result(result) => Ok(Arc::clone(result)),
            Stored::Artifact(_) => Err(LookupError::unknown(call_id.clone())),
        }
    }

    pub(super) async fn find_stored(
        &self,
        call_id: &CallId,
    ) -> Result<Arc<StoredResult>, LookupError> {
        match self.inner().store.get(&self.scope, call_id).await {
            Ok(Lookup::Found(result)) => Ok(result),
            Ok(Lookup::Missing(missing)) => {
                let missing = self.inner().options.reveal.forget(missing);
                Err(LookupError::missing(call_id.clone(), missing))
            }
            Err(error) => Err(LookupError::Store(Arc::new(error))),
        }
    }

    /// What is stored of what is wanted, in flight or not; [`Self::offer`] says what there is in place
    /// of what is not known.
    pub(super) async fn find_wanted(&self, wanted: &LookupKey) -> LookupResult {
        let call_id = &wanted.call_id;
        let Some(artifact_id) = &wanted.artifact_id else {
            let found = self.find_stored(call_id).await;
            return found.map(|result| Stored::Result(result).into());
        };
        let store = &self.inner().store;
        match store.get_artifact(&self.scope, artifact_id, call_id).await {
            Ok(ArtifactLookup::Found(artifact)) => Ok(Stored::Artifact(artifact).into()),
            Ok(ArtifactLookup::Missing(missing)) => {
                let (artifact_id, call_id) = (artifact_id.clone(), call_id.clone());
                Err(LookupError::artifact_missing(artifact_id, call_id, missing))
            }
            Err(error) => Err(LookupError::Store(Arc::new(error))),
        }
    }

    /// What is wanted, or why it is not there and what is.
    pub(super) async fn look_up(&self, wanted: &LookupKey) -> LookupResult {
        // Artifacts are not in flight.
        let is_running = wanted.artifact_id.is_none()
            && (self.inner().flights).is_running(&self.scope, &wanted.call_id);
        // Also then: another engine over the same store may have recorded it.
        let found = self.find_wanted(wanted).await;
        let found = found.map_err(|error| {
            if is_running {
                LookupError::Pending {
                    call_id: wanted.call_id.clone(),
                    waited: None,
                }
            } else {
                error
            }
        });
        let mut looked = [found];
        self.offer(&mut looked).await;
        let [looked] = looked;
        looked
    }

    /// Adds to unknown ids those of this session that may be meant. Where the store cannot list them,
    /// nothing is added: the id is unknown all the same.
    pub(super) async fn offer(&self, looked: &mut [LookupResult]) {
        let unknown = looked.iter_mut().filter_map(|looked| match looked {
            Err(LookupError::Unknown { call_id, offer }) => {
                Some((Listing::Calls, call_id.as_str().to_owned(), offer))
            }
            Err(LookupError::ArtifactUnknown {
                artifact_id, offer, ..
            }) => Some((Listing::Artifacts, artifact_id.as_str().to_owned(), offer)),
            _ => None,
        });
        let mut wanted = Vec::new();
        let mut offers = Vec::new();
        for (listing, id, offer) in unknown.take(OFFERED_FOR) {
            wanted.push((listing, id));
            offers.push(offer);
        }
        let asks_for = |listing| wanted.iter().any(|(wanted, _)| *wanted == listing);
        let calls = if asks_for(Listing::Calls) {
            self.calls_there().await
        } else {
            None
        };
        let artifacts = if asks_for(Listing::Artifacts) {
            self.artifacts_there().await
        } else {
            None
        };
        let listed = [&calls, &artifacts].map(|there| there.as_ref().map_or(0, Vec::len));
        let small = listed.iter().sum::<usize>() * wanted.len() <= SMALL_COMPARISONS;
        let found = run_or_spawn(small, move || {
            let mut comparison_budget = comparison_budget();
            let offer = |(listing, id): (Listing, String)| {
                let there = match listing {
                    Listing::Calls => calls.as_deref(),
                    Listing::Artifacts => artifacts.as_deref(),
                };
                there.map_or_else(Alternatives::default, |there| {
                    Alternatives::of(&id, there, &mut comparison_budget)
                })
            };
            wanted.into_iter().map(offer).collect::<Vec<_>>()
        });
        for (offer, found) in offers.into_iter().zip(found.await) {
            *offer = found;
        }
    }

    /// The calls whose results can be referred to, the most recently used last; behind them those in
    /// flight, but for those that wait for the call for which this is asked, and that call itself.
    async fn calls_there(&self) -> Option<Vec<KnownId>> {
        // First, as everywhere: a call that returns in between is in both.
        let running = self
            .inner()
            .flights
            .running(&self.scope, self.actor.as_ref());
        let listed = self.inner().store.list(&self.scope).await.ok()?;
        let listed = listed.into_iter();
        let there = listed.filter(|listed| {
            let mut running = running.iter();
            !listed.failed && !running.any(|running| running.call_id == listed.call_id)
        });
        let there = there.map(|listed| KnownId::new(listed.call_id.as_str(), listed.tool));
        let running = running.iter().filter(|running| !running.is_circular);
        let running = running.map(|call| KnownId::new(call.call_id.as_str(), call.tool.clone()));
        Some(there.chain(running).collect())
    }

    async fn artifacts_there(&self) -> Option<Vec<KnownId>> {
        let listed = self.inner().store.list_artifacts(&self.scope).await.ok()?;
        let whole = listed.into_iter().filter(|listed| !listed.damaged);
        let there = whole
            .map(|listed| KnownId::of_call(listed.artifact_id.as_str(), listed.call_id.as_str()));
        Some(there.collect())
    }
}
