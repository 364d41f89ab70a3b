//! Stores that break the contract: the conformance functions must find out.

use super::{Memory, run};
use crate::{
    ArtifactLookup, ArtifactMissing, CallLeases, Listed, ListedArtifact, Lookup, MemoryLimits,
    Missing, PathsOf, Recorded, ResultStore, StateStore, StoreError, StoreMetrics, StoredArtifact,
    StoredResult, Usage,
    conformance::{self, Harness},
};
use async_trait::async_trait;
use crossfeed_json::Document;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

/// What the store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    Nothing,
    IgnoresTenant,
    IgnoresSession,
    Overwrites,
    SwallowsDuplicates,
    ForgetsWhy,
    HandsOutCopies,
    LosesSources,
    LosesDigits,
    ForgetsTombstones,
    KeepsSessions,
    LosesSummaries,
    ForgetsExpiredArtifacts,
    ListsNewestFirst,
    OverwritesArtifacts,
    MiscountsLosses,
}

struct WrongStore {
    inner: Arc<dyn ResultStore>,
    wrong: Wrong,
}

impl WrongStore {
    fn scope(&self, scope: &Scope) -> Scope {
        let (tenant, session) = match self.wrong {
            Wrong::IgnoresTenant => ("t", scope.session()),
            Wrong::IgnoresSession => (scope.tenant(), "s"),
            _ => (scope.tenant(), scope.session()),
        };
        Scope::parse(tenant, scope.project(), session).unwrap()
    }

    fn bare(artifact: &StoredArtifact) -> StoredArtifact {
        StoredArtifact::new(
            artifact.artifact_id().clone(),
            artifact.call_id().clone(),
            Document::new(artifact.document().raw().clone()),
        )
        .with_retrieval_blocked(artifact.retrieval_blocked())
    }

    fn copy(result: &StoredResult) -> StoredResult {
        let mut copy = StoredResult::new(
            Document::new(result.document().raw().clone()),
            result.kind(),
        )
        .with_failed(result.failed())
        .with_repeatable(result.repeatable());
        if let Some(tool) = result.tool() {
            copy = copy.with_tool(tool);
        }
        if let Some(media_type) = result.media_type() {
            copy = copy.with_media_type(media_type);
        }
        if let Some(trace) = result.trace() {
            copy = copy.with_trace(trace.clone());
        }
        if let Some(arguments) = result.arguments() {
            copy = copy.with_arguments(arguments.clone());
        }
        if let Some(sources) = result.sources() {
            copy = copy.with_sources(Arc::clone(sources));
        }
        copy
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ResultStore for WrongStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let scope = self.scope(scope);
        let result = if self.wrong == Wrong::LosesDigits {
            let text = String::from_utf8_lossy(result.document().raw()).replace("1.50", "1.5");
            StoredResult::new(Document::new(text), result.kind())
        } else {
            result
        };
        let result = match result.sources() {
            Some(_) if self.wrong == Wrong::LosesSources => result.with_sources(""),
            _ => result,
        };
        let copy = Self::copy(&result);
        match self.inner.put(&scope, call, result).await {
            Err(StoreError::Duplicate { .. }) if self.wrong == Wrong::Overwrites => {
                self.inner.remove_session(&scope).await?;
                self.inner.put(&scope, call, copy).await
            }
            Err(StoreError::Duplicate { .. }) if self.wrong == Wrong::SwallowsDuplicates => {
                Ok(Recorded::Unchanged)
            }
            outcome => outcome,
        }
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        let scope = self.scope(scope);
        if self.wrong == Wrong::ForgetsTombstones
            && !self
                .inner
                .list(&scope)
                .await?
                .iter()
                .any(|line| line.call_id == *call)
        {
            return Ok(Lookup::Missing(Missing::Unknown));
        }
        Ok(match self.inner.get(&scope, call).await? {
            Lookup::Missing(_) if self.wrong == Wrong::ForgetsWhy => {
                Lookup::Missing(Missing::Unknown)
            }
            Lookup::Found(result) if self.wrong == Wrong::HandsOutCopies => {
                Lookup::Found(Arc::new(Self::copy(&result)))
            }
            lookup => lookup,
        })
    }

    async fn get_part(
        &self,
        scope: &Scope,
        call: &CallId,
        _paths: &PathsOf<'_>,
    ) -> Result<Lookup, StoreError> {
        self.get(scope, call).await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.inner.measure(&self.scope(scope), call).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        let scope = self.scope(scope);
        match self.inner.put_artifact(&scope, artifact).await {
            Err(StoreError::DuplicateArtifact { .. })
                if self.wrong == Wrong::OverwritesArtifacts =>
            {
                Ok(Recorded::New)
            }
            outcome => outcome,
        }
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        let scope = self.scope(scope);
        Ok(
            match self.inner.get_artifact(&scope, artifact, call).await? {
                ArtifactLookup::Missing(_) if self.wrong == Wrong::ForgetsExpiredArtifacts => {
                    ArtifactLookup::Missing(ArtifactMissing::Unknown)
                }
                ArtifactLookup::Found(artifact) if self.wrong == Wrong::LosesSummaries => {
                    ArtifactLookup::Found(Arc::new(Self::bare(&artifact)))
                }
                lookup => lookup,
            },
        )
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        let mut listed = self.inner.list_artifacts(&self.scope(scope)).await?;
        if self.wrong == Wrong::ListsNewestFirst {
            listed.reverse();
        }
        Ok(listed)
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        self.inner.list(&self.scope(scope)).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        if self.wrong == Wrong::KeepsSessions {
            return Ok(());
        }
        self.inner.remove_session(&self.scope(scope)).await
    }

    fn held(&self) -> Option<Usage> {
        let mut held = self.inner.held()?;
        if self.wrong == Wrong::MiscountsLosses {
            held.expired += held.evicted;
        }
        Some(held)
    }

    fn metrics(&self) -> Option<StoreMetrics> {
        self.inner.metrics()
    }

    fn leases(&self) -> Option<&dyn CallLeases> {
        None
    }

    fn state(&self) -> Option<&dyn StateStore> {
        None
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.inner.sweep().await
    }
}

struct WrongHarness {
    inner: Memory,
    wrong: Wrong,
}

#[async_trait]
impl Harness for WrongHarness {
    async fn store(&self, limits: &MemoryLimits) -> Arc<dyn ResultStore> {
        Arc::new(WrongStore {
            inner: self.inner.store(limits).await,
            wrong: self.wrong,
        })
    }

    async fn advance(&self, by: Duration) {
        self.inner.advance(by).await;
    }
}

/// What the conformance functions say of such a store; nothing if it passes.
fn complaint(wrong: Wrong) -> Option<String> {
    let harness = WrongHarness {
        inner: Memory::default(),
        wrong,
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| run(conformance::run_all(&harness))));
    let panic = outcome.err()?;
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
}

fn check(wrong: Wrong, says: &str) {
    let complaint = complaint(wrong).unwrap_or_default();
    assert!(complaint.contains(says), "{wrong:?}: {complaint:?}");
}

#[test]
fn a_faithful_wrapper_passes() {
    assert_eq!(complaint(Wrong::Nothing), None);
}

#[test]
fn a_store_that_reaches_across_scopes_fails() {
    check(Wrong::IgnoresTenant, "from scope");
    check(Wrong::IgnoresSession, "from scope");
}

#[test]
fn a_store_that_overwrites_fails() {
    check(Wrong::Overwrites, "must be a duplicate");
    check(Wrong::SwallowsDuplicates, "must be a duplicate");
}

#[test]
fn a_store_that_forgets_why_fails() {
    check(Wrong::ForgetsWhy, "should be expired");
    check(Wrong::ForgetsTombstones, "should be expired");
}

#[test]
fn a_store_that_miscounts_fails() {
    check(Wrong::MiscountsLosses, "after the number was passed");
}

#[test]
fn a_store_that_does_not_pin_fails() {
    check(Wrong::HandsOutCopies, "others make room for what is held");
}

#[test]
fn a_store_that_loses_sources_fails() {
    check(Wrong::LosesSources, "the sources come back");
}

#[test]
fn a_store_that_rewrites_fails() {
    check(Wrong::LosesDigits, "bytes come back untouched");
}

#[test]
fn a_store_that_keeps_removed_sessions_fails() {
    check(Wrong::KeepsSessions, "should not be there");
}

#[test]
fn a_store_that_loses_artifacts_or_parts_of_them_fails() {
    check(Wrong::LosesSummaries, "the summary comes back");
    check(Wrong::ForgetsExpiredArtifacts, "should be expired");
    check(Wrong::ListsNewestFirst, "oldest first");
    check(Wrong::OverwritesArtifacts, "must be a duplicate");
}
