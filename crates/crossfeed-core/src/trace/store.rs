//! A store that traces each operation in a span.

use super::stage::coded;
use crate::telemetry::{number, stage};
use async_trait::async_trait;
use crossfeed_json::Document;
use crossfeed_store::{
    ArtifactLookup, ArtifactMissing, CallLeases, Listed, ListedArtifact, Lookup, Missing, PathsOf,
    Recorded, ResultStore, ScopeTag, StateStore, StoreError, StoreMetrics, StoredArtifact,
    StoredResult, Usage,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use std::{error::Error as _, sync::Arc};
use tracing::{Span, field};

/// The store of an engine.
pub(crate) struct TracedStore(pub(crate) Arc<dyn ResultStore>);

fn span(operation: &'static str, call: Option<&CallId>, artifact: Option<&ArtifactId>) -> Span {
    stage!(
        "crossfeed::store",
        "crossfeed.store",
        "crossfeed.store.operation" = operation,
        "gen_ai.tool.call.id" = call.map(CallId::as_str),
        "crossfeed.artifact.id" = artifact.map(ArtifactId::as_str),
        "crossfeed.cache.hit" = field::Empty,
        "crossfeed.store.missing" = field::Empty,
        "crossfeed.bytes" = field::Empty,
    )
}

/// Runs an operation in its span, and records its outcome.
async fn traced<T>(
    span: Span,
    operation: impl Future<Output = Result<T, StoreError>>,
    note: impl FnOnce(&Span, &T),
) -> Result<T, StoreError> {
    coded(span, operation, note, StoreError::code).await
}

/// The same of a look-up in a scope. Damage, of which a model hears only as much as it needs, is logged.
async fn traced_look_up<T>(
    span: Span,
    scope: &Scope,
    looking: impl Future<Output = Result<T, StoreError>>,
    note: impl FnOnce(&Span, &T),
) -> Result<T, StoreError> {
    let found = traced(span, looking, note).await;
    if let Err(error) = &found
        && error.damaged_record().is_some()
    {
        tracing::warn!(
            target: "crossfeed::store",
            %error,
            part = error.source().map(tracing::field::display),
            session = %ScopeTag::of_session(scope),
            "a stored record is damaged: others can be read"
        );
    }
    found
}

/// Traces a use of the store's leases, of a call where it is about one.
pub(crate) async fn traced_lease<T>(
    operation: &'static str,
    call: Option<&CallId>,
    using: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    traced(span(operation, call, None), using, |_, _| {}).await
}

fn hit(span: &Span, document: &Document) {
    span.record("crossfeed.cache.hit", true);
    span.record("crossfeed.bytes", number(document.raw().len()));
}

fn missing(span: &Span, why: &'static str) {
    span.record("crossfeed.cache.hit", false);
    span.record("crossfeed.store.missing", why);
}

fn note_found(span: &Span, call: &CallId, found: &Lookup) {
    // An unknown id is text from the model.
    if !matches!(found, Lookup::Missing(Missing::Unknown)) {
        span.record("gen_ai.tool.call.id", call.as_str());
    }
    match found {
        Lookup::Found(result) => hit(span, result.document()),
        Lookup::Missing(Missing::Unknown) => missing(span, "unknown"),
        Lookup::Missing(Missing::Expired(_)) => missing(span, "expired"),
        Lookup::Missing(Missing::Evicted(_)) => missing(span, "evicted"),
        Lookup::Missing(Missing::InFlight(_)) => missing(span, "in_flight"),
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ResultStore for TracedStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let span = span("put", Some(call), None);
        span.record("crossfeed.bytes", number(result.document().raw().len()));
        traced(span, self.0.put(scope, call, result), |_, _| {}).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        let got = self.0.get(scope, call);
        traced_look_up(span("get", None, None), scope, got, |span, found| {
            note_found(span, call, found);
        })
        .await
    }

    async fn get_part(
        &self,
        scope: &Scope,
        call: &CallId,
        paths: &PathsOf<'_>,
    ) -> Result<Lookup, StoreError> {
        let got = self.0.get_part(scope, call, paths);
        traced_look_up(span("get_part", None, None), scope, got, |span, found| {
            note_found(span, call, found);
        })
        .await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        let measured = self.0.measure(scope, call);
        traced(span("measure", Some(call), None), measured, |_, ()| {}).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        let ids = (artifact.call_id(), artifact.artifact_id());
        let span = span("put_artifact", Some(ids.0), Some(ids.1));
        span.record("crossfeed.bytes", number(artifact.document().raw().len()));
        traced(span, self.0.put_artifact(scope, artifact), |_, _| {}).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        let got = self.0.get_artifact(scope, artifact, call);
        traced_look_up(
            span("get_artifact", None, None),
            scope,
            got,
            |span, found| {
                if !matches!(found, ArtifactLookup::Missing(ArtifactMissing::Unknown)) {
                    span.record("gen_ai.tool.call.id", call.as_str());
                    span.record("crossfeed.artifact.id", artifact.as_str());
                }
                match found {
                    ArtifactLookup::Found(artifact) => hit(span, artifact.document()),
                    ArtifactLookup::Missing(ArtifactMissing::Unknown) => missing(span, "unknown"),
                    ArtifactLookup::Missing(ArtifactMissing::Expired(_)) => {
                        missing(span, "expired")
                    }
                }
            },
        )
        .await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        let listed = self.0.list_artifacts(scope);
        traced(span("list_artifacts", None, None), listed, |_, _| {}).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        traced(span("list", None, None), self.0.list(scope), |_, _| {}).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        let removed = self.0.remove_session(scope);
        traced(span("remove_session", None, None), removed, |_, ()| {}).await
    }

    fn held(&self) -> Option<Usage> {
        self.0.held()
    }

    fn metrics(&self) -> Option<StoreMetrics> {
        self.0.metrics()
    }

    fn leases(&self) -> Option<&dyn CallLeases> {
        self.0.leases()
    }

    fn state(&self) -> Option<&dyn StateStore> {
        self.0.state()
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        traced(span("sweep", None, None), self.0.sweep(), |_, ()| {}).await
    }
}
