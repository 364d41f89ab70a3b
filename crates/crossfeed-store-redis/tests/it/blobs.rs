//! Large data in a store of blobs.

use crate::faults::{call, holds, scope, text};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_redis_servers::{Server, eventually, is_installed};
use crossfeed_store::{
    BlobName, BlobStore, Damage, MemoryLimits, Recorded, ResultStore, StoreError, StoredArtifact,
};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_wire::{ArtifactId, Scope};
use parking_lot::Mutex;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Blobs in memory, all of which are old.
#[derive(Default)]
pub(crate) struct Blobs(Mutex<BTreeMap<BlobName, Bytes>>);

#[async_trait]
impl BlobStore for Blobs {
    async fn put(&self, _: &Scope, name: &BlobName, bytes: Bytes) -> Result<(), StoreError> {
        self.0.lock().insert(name.clone(), bytes);
        Ok(())
    }

    async fn get(&self, _: &Scope, name: &BlobName) -> Result<Option<Bytes>, StoreError> {
        let found = self.0.lock().get(name).cloned();
        if found.as_deref() == Some(b"damaged") {
            return Err(StoreError::DamagedBlob);
        }
        Ok(found)
    }

    async fn remove(&self, names: &[BlobName]) -> Result<(), StoreError> {
        self.0.lock().retain(|name, _| !names.contains(name));
        Ok(())
    }

    async fn list_old(
        &self,
        _: Duration,
        after: Option<&BlobName>,
        limit: usize,
    ) -> Result<Vec<BlobName>, StoreError> {
        let blobs = self.0.lock();
        let names = blobs
            .keys()
            .filter(|name| after.is_none_or(|after| *name > after));
        Ok(names.take(limit).cloned().collect())
    }
}

impl Blobs {
    fn len(&self) -> usize {
        self.0.lock().len()
    }
}

async fn open(server: &Server, blobs: &Arc<Blobs>, limits: MemoryLimits) -> RedisStore {
    let options = RedisOptions::from_url(&server.url())
        .unwrap()
        .with_cache_bytes(0)
        .with_limits(limits)
        .with_blobs(Arc::clone(blobs) as Arc<dyn BlobStore>)
        .with_blob_bytes(1000);
    RedisStore::connect(options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_data_lies_in_blobs_as_long_as_its_record_does() {
    if !is_installed() {
        return;
    }
    let (server, blobs) = (Server::start(&[]).await.unwrap(), Arc::<Blobs>::default());
    let store = open(
        &server,
        &blobs,
        MemoryLimits::default().with_session_results(2),
    )
    .await;
    let large = |letter: &str| letter.repeat(1001);
    store
        .put(&scope(), &call("small"), text("1"))
        .await
        .unwrap();
    assert_eq!(blobs.len(), 0);
    store
        .put(&scope(), &call("c1"), text(large("a")))
        .await
        .unwrap();
    holds(&store, "c1", &large("a")).await;
    // Neither the same again nor a duplicate leaves another blob.
    let again = store
        .put(&scope(), &call("c1"), text(large("a")))
        .await
        .unwrap();
    assert_eq!(again, Recorded::Unchanged);
    store
        .put(&scope(), &call("c1"), text(large("b")))
        .await
        .unwrap_err();
    eventually("one blob is left", || async { Ok(blobs.len() == 1) })
        .await
        .unwrap();
    for id in ["c2", "c3"] {
        store
            .put(&scope(), &call(id), text(large(id)))
            .await
            .unwrap();
    }
    eventually("an evicted result's blob goes", || async {
        Ok(blobs.len() == 2)
    })
    .await
    .unwrap();
    let artifact = ArtifactId::parse("a1").unwrap();
    let kept = || StoredArtifact::new(artifact.clone(), call("c1"), Document::new(large("x")));
    store.put_artifact(&scope(), kept()).await.unwrap();
    let found = store
        .get_artifact(&scope(), &artifact, &call("c1"))
        .await
        .unwrap()
        .found()
        .unwrap();
    assert_eq!(found.document().raw().len(), 1001);
    assert_eq!(
        store.put_artifact(&scope(), kept()).await.unwrap(),
        Recorded::Unchanged
    );
    store.remove_session(&scope()).await.unwrap();
    eventually("a removed session's blobs go", || async {
        Ok(blobs.len() == 0)
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_removes_what_no_record_names_and_nothing_else() {
    if !is_installed() {
        return;
    }
    let (server, blobs) = (Server::start(&[]).await.unwrap(), Arc::<Blobs>::default());
    let store = open(&server, &blobs, MemoryLimits::default()).await;
    let large = "x".repeat(2000);
    store
        .put(&scope(), &call("c1"), text(large.clone()))
        .await
        .unwrap();
    let (named, _) = blobs
        .0
        .lock()
        .iter()
        .next()
        .map(|(name, data)| (name.clone(), data.clone()))
        .unwrap();
    for token in 0..3 {
        let orphan = BlobName::new(&scope(), *named.digest(), token);
        blobs
            .put(&scope(), &orphan, Bytes::from(large.clone()))
            .await
            .unwrap();
    }
    store.sweep().await.unwrap();
    assert_eq!(blobs.0.lock().keys().collect::<Vec<_>>(), [&named]);
    holds(&store, "c1", &large).await;

    blobs.0.lock().insert(named.clone(), Bytes::from("damaged"));
    let got = store.get(&scope(), &call("c1")).await;
    let is_damaged = |error: &StoreError| matches!(error, StoreError::Damaged { damage: Damage::Result { call_id }, .. } if *call_id == call("c1"));
    assert!(got.as_ref().is_err_and(is_damaged), "{got:?}");
    blobs.0.lock().clear();
    let got = store.get(&scope(), &call("c1")).await;
    assert!(
        got.as_ref().is_err_and(is_damaged),
        "a blob that is missing is not an absent result: {got:?}"
    );
}
