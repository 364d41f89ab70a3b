//! Looks up what references name, and offers known ids in place of unknown ones.

use super::{IdCheck, Session, offload::run_or_spawn};
use crate::{
    canonical::StoredItem,
    error::{Alternatives, KnownId, LookupError, comparison_budget},
    resolve::{LookupKey, LookupResult},
};
use crossfeed_store::{
    ArtifactLookup, Listed, ListedArtifact, Lookup, Missing, PathsOf, StoreError, StoredResult,
};
use crossfeed_wire::CallId;
use std::sync::Arc;

/// The most unknown ids of one call for which similar ones are offered.
const MAX_OFFERS: usize = 32;
/// The most comparisons of ids that run on the async thread.
const SMALL_COMPARISONS: usize = 64;

impl Session {
    /// The current results of this session, the most recently used last, without their content.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store cannot be read.
    pub async fn results(&self) -> Result<Vec<Listed>, StoreError> {
        let mut listed = self.inner().store.list(&self.scope).await?;
        listed.retain(|listed| self.may_know(&listed.call_id));
        Ok(listed)
    }

    /// Whether an id may have been given in this session.
    fn may_know(&self, call_id: &CallId) -> bool {
        let check = self.id_check.as_ref();
        check.is_none_or(|IdCheck(may_be)| may_be(call_id))
    }

    /// A recorded result, unredacted: for hosts, not for models. It stays in memory while the answer is held.
    ///
    /// # Errors
    ///
    /// [`LookupError`] says whether it is unknown, in flight, expired or evicted, or the store is unavailable.
    pub async fn get(&self, call_id: &CallId) -> Result<Arc<StoredResult>, LookupError> {
        let whole = self.look_up(&LookupKey::new(call_id, None), None).await?;
        match whole.as_stored() {
            StoredItem::Result(result) => Ok(Arc::clone(result)),
            StoredItem::Artifact(_) => Err(LookupError::unknown(call_id.clone())),
        }
    }

    pub(super) async fn find_stored(
        &self,
        call_id: &CallId,
        paths: Option<&PathsOf<'_>>,
    ) -> Result<Arc<StoredResult>, LookupError> {
        if !self.may_know(call_id) {
            return Err(LookupError::unknown(call_id.clone()));
        }
        let store = &self.inner().store;
        let found = match paths {
            // What is withheld may be anywhere.
            Some(paths) if !self.inner().options.reveal.hides() => {
                store.get_part(&self.scope, call_id, paths).await
            }
            _ => store.get(&self.scope, call_id).await,
        };
        match found {
            Ok(Lookup::Found(result)) => Ok(result),
            Ok(Lookup::Missing(missing)) => {
                let missing = match missing {
                    Missing::InFlight(_) if self.has_given_up(call_id) => Missing::Unknown,
                    missing => self.inner().options.reveal.forget(missing),
                };
                Err(LookupError::missing(call_id.clone(), missing))
            }
            Err(error) => Err(LookupError::Store(Arc::new(
                self.inner().options.reveal.forget_in(error),
            ))),
        }
    }

    /// Whether a call was given up here, and the store may not know it yet.
    fn has_given_up(&self, call_id: &CallId) -> bool {
        let leases = self.inner().leases.as_ref();
        leases.is_some_and(|leases| leases.is_given_up(&self.scope, call_id))
    }

    /// The stored result or artifact, in flight or not; [`Self::offer`] adds alternatives to unknown ids. If there are
    /// paths, an excerpt with what they lead to may be enough.
    pub(super) async fn find_wanted(
        &self,
        wanted: &LookupKey,
        paths: Option<&PathsOf<'_>>,
    ) -> LookupResult {
        let call_id = &wanted.call_id;
        if let Some((input, form)) = &wanted.input {
            return self.read_input(input, *form).await;
        }
        let Some(artifact_id) = &wanted.artifact_id else {
            let found = self.find_stored(call_id, paths).await;
            return found.map(|result| StoredItem::Result(result).into());
        };
        let store = &self.inner().store;
        match store.get_artifact(&self.scope, artifact_id, call_id).await {
            Ok(ArtifactLookup::Found(artifact)) => Ok(StoredItem::Artifact(artifact).into()),
            Ok(ArtifactLookup::Missing(missing)) => {
                let (artifact_id, call_id) = (artifact_id.clone(), call_id.clone());
                Err(LookupError::artifact_missing(artifact_id, call_id, missing))
            }
            Err(error) => Err(LookupError::Store(Arc::new(error))),
        }
    }

    /// The stored result or artifact, or why it is missing, with alternatives.
    pub(super) async fn look_up(
        &self,
        wanted: &LookupKey,
        paths: Option<&PathsOf<'_>>,
    ) -> LookupResult {
        let call_id = &wanted.call_id;
        // Artifacts are not in flight.
        let is_running =
            wanted.artifact_id.is_none() && self.inner().flights.is_running(&self.scope, call_id);
        // The store is asked in any case: another engine may have recorded the result there.
        let found = self.find_wanted(wanted, paths).await;
        if is_running && found.is_err() {
            return Err(LookupError::Pending {
                call_id: call_id.clone(),
                waited: None,
            });
        }
        let mut looked = [found];
        self.offer(&mut looked).await;
        let [looked] = looked;
        looked
    }

    /// Adds similar ids of this session to unknown ones; none if they are hidden, or the store cannot list them.
    pub(super) async fn offer(&self, looked: &mut [LookupResult]) {
        if self.hides_ids {
            return;
        }
        let unknown = looked.iter_mut().filter_map(|looked| match looked {
            Err(LookupError::Unknown { call_id, offer }) => {
                Some((false, call_id.as_str().to_owned(), offer))
            }
            Err(LookupError::ArtifactUnknown {
                artifact_id, offer, ..
            }) => Some((true, artifact_id.as_str().to_owned(), offer)),
            _ => None,
        });
        let (mut wanted, mut offers) = (Vec::new(), Vec::new());
        for (is_artifact, id, offer) in unknown.take(MAX_OFFERS) {
            wanted.push((is_artifact, id));
            offers.push(offer);
        }
        let (mut calls, mut artifacts) = (None, None);
        if wanted.iter().any(|(is_artifact, _)| !is_artifact) {
            calls = self.known_calls().await.ok();
        }
        if wanted.iter().any(|(is_artifact, _)| *is_artifact) {
            artifacts = self.known_artifacts().await;
        }
        let known = [&calls, &artifacts].into_iter().flatten().map(Vec::len);
        let small = known.sum::<usize>() * wanted.len() <= SMALL_COMPARISONS;
        let found = run_or_spawn(small, move || {
            let mut budget = comparison_budget();
            let offer = |(is_artifact, id): (bool, String)| {
                let known = if is_artifact { &artifacts } else { &calls };
                let offer = known
                    .as_ref()
                    .map(|known| Alternatives::new(&id, known, &mut budget));
                offer.unwrap_or_default()
            };
            wanted.into_iter().map(offer).collect::<Vec<_>>()
        });
        for (offer, found) in offers.into_iter().zip(found.await) {
            *offer = found;
        }
    }

    /// The calls whose results can be referred to, the most recently used last; then those in flight, except
    /// this session's own call and those that wait for it.
    pub(super) async fn known_calls(&self) -> Result<Vec<KnownId>, StoreError> {
        if self.hides_ids {
            return Ok(Vec::new());
        }
        let inner = self.inner();
        // Before the store: a call that returns in between is in both.
        let running = inner.flights.running(&self.scope, self.actor.as_ref());
        let listed = self.results().await?;
        let is_running = |listed: &Listed| running.iter().any(|it| it.call_id == listed.call_id);
        let returned = listed
            .into_iter()
            .filter(|it| !it.failed && !is_running(it));
        let returned = returned.map(|listed| KnownId::new(listed.call_id.as_str(), listed.tool));
        let running = running.iter().filter(|running| !running.is_circular);
        let running = running.map(|call| KnownId::new(call.call_id.as_str(), call.tool.clone()));
        Ok(returned.chain(running).collect())
    }

    async fn known_artifacts(&self) -> Option<Vec<KnownId>> {
        let listed = self.inner().store.list_artifacts(&self.scope).await.ok()?;
        let intact = listed.into_iter().filter(|listed| !listed.damaged);
        let id = |listed: ListedArtifact| {
            KnownId::for_artifact(listed.artifact_id.as_str(), listed.call_id.as_str())
        };
        Some(intact.map(id).collect())
    }
}
