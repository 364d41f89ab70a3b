//! Stores that take no artifact, and ids that they do not have: what a model is told of it.

use super::{NewArtifact, call, id, recorded, run, wanted};
use crate::{Engine, EngineOptions, ToolResult};
use async_trait::async_trait;
use crossfeed_store::{
    ArtifactLookup, Listed, ListedArtifact, Lookup, MemoryLimits, MemoryStore, Recorded,
    ResultStore, StoreError, StoredArtifact, StoredResult, with_causes,
};
use crossfeed_wire::{ArtifactId, CallId, Fault, Scope};
use std::sync::Arc;

/// A store that takes nothing, for a reason of its own or of the one behind it.
struct Broken(MemoryStore);

#[async_trait]
impl ResultStore for Broken {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        self.0.put(scope, call, result).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        self.0.get(scope, call).await
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.0.measure(scope, call).await
    }

    async fn put_artifact(&self, _: &Scope, _: StoredArtifact) -> Result<Recorded, StoreError> {
        let source = "disk 7 is on fire".into();
        Err(StoreError::NoSpace { source })
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        self.0.get_artifact(scope, artifact, call).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        self.0.list_artifacts(scope).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        self.0.list(scope).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        self.0.remove_session(scope).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.0.sweep().await
    }
}

#[test]
fn what_a_store_has_is_not_told_to_the_model() {
    let store = Arc::new(Broken(MemoryStore::new(MemoryLimits::default())));
    let engine = Engine::new(EngineOptions::default(), store);
    let session = engine.session(Scope::parse("t", "p", "s").unwrap());
    run(session.record(&call("c"), ToolResult::json("1"))).unwrap();
    let refused = run(session.create_artifact(wanted())).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "artifacts cannot be stored at the moment\n\
         trying again does not help: go on without storing it"
    );
    assert_eq!(refused.error.fault(), Fault::Backend);
    // The host can see.
    let causes = with_causes(&refused.error);
    assert!(causes.ends_with(": disk 7 is on fire"), "{causes}");
    assert_eq!(session.usage().errors, 0);
    run(session.create_artifact(wanted().with_base("nothing"))).unwrap_err();
    assert_ne!(session.usage().errors, 0);
}

#[test]
fn limits_say_what_a_model_can_do() {
    let check = |limits: MemoryLimits, line: &str, advice: &str| {
        let store = Arc::new(MemoryStore::new(limits));
        let engine = Engine::new(EngineOptions::default(), store);
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        run(session.record(
            &call("c"),
            ToolResult::json(r#"{"a": "xxxxxxxxxxxxxxxxxxxx"}"#),
        ))
        .unwrap();
        run(session.create_artifact(NewArtifact::new(id("first"), call("c")).with_base("a")))
            .unwrap();
        let refused = run(session.create_artifact(wanted())).unwrap_err();
        assert!(refused.to_string().contains(line), "{refused}");
        assert_eq!(refused.error.advice(), advice);
        assert_eq!(refused.error.fault(), Fault::Model);
        assert_ne!(session.usage().errors, 0);
    };
    let smaller = "try: a smaller artifact, by a base selector that picks only what is needed";
    let limits = MemoryLimits::default;
    check(
        limits().with_artifact_bytes(25),
        "more than may be stored",
        smaller,
    );
    check(limits().with_artifact_bytes(40), "no room", smaller);
    check(
        limits().with_session_artifacts(1),
        "no room",
        "no more artifacts can be made in this session: use those that are there",
    );
}

#[test]
fn an_unknown_artifact_is_offered_with_its_call() {
    let session = recorded(ToolResult::json("1"));
    run(session.create_artifact(wanted())).unwrap();
    let other = call("nope");
    let error = run(session.artifact(&id("a"), &other)).unwrap_err();
    assert_eq!(error.advice(), "found: a of call c\ntry: a of call c");
}
