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
pub(crate) struct Blobs(pub(crate) Mutex<BTreeMap<BlobName, Bytes>>);

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
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

pub(crate) async fn open(server: &Server, blobs: &Arc<Blobs>, limits: MemoryLimits) -> RedisStore {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_in_another_place_is_compared_there() {
    if !is_installed() {
        return;
    }
    let (server, blobs) = (Server::start(&[]).await.unwrap(), Arc::<Blobs>::default());
    let far = open(&server, &blobs, MemoryLimits::default()).await;
    let options = RedisOptions::from_url(&server.url()).unwrap();
    let blob_store = Arc::clone(&blobs) as Arc<dyn BlobStore>;
    let near = options.with_blobs(blob_store).with_blob_bytes(1 << 30);
    let near = RedisStore::connect(near).await.unwrap();
    for length in [2000, 100_000] {
        for (id, first, second) in [("near", &near, &far), ("far", &far, &near)] {
            let id = format!("{id} {length}");
            let data = "x".repeat(length);
            let put = first.put(&scope(), &call(&id), text(&data)).await;
            assert_eq!(put.unwrap(), Recorded::New);
            let held = blobs.len();
            let put = second.put(&scope(), &call(&id), text(&data)).await;
            assert_eq!(put.unwrap(), Recorded::Unchanged, "{id}");
            let mut other = data.clone();
            other.replace_range(length - 1.., "y");
            for other in [
                text(&other),
                text(&data).with_failed(true),
                text(&data[1..]),
            ] {
                let put = second.put(&scope(), &call(&id), other).await;
                assert!(matches!(put, Err(StoreError::Duplicate { .. })), "{put:?}");
            }
            holds(second, &id, &data).await;
            eventually("no blob is left over", || async { Ok(blobs.len() == held) })
                .await
                .unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_again_repairs_a_blob_that_is_missing_or_damaged() {
    if !is_installed() {
        return;
    }
    let (server, blobs) = (Server::start(&[]).await.unwrap(), Arc::<Blobs>::default());
    let store = open(&server, &blobs, MemoryLimits::default()).await;
    let large = "x".repeat(2000);
    let artifact = || {
        let id = ArtifactId::parse("a1").unwrap();
        StoredArtifact::new(id, call("c1"), Document::new(large.clone()))
    };
    store
        .put(&scope(), &call("c1"), text(large.clone()))
        .await
        .unwrap();
    store.put_artifact(&scope(), artifact()).await.unwrap();
    for is_missing in [true, false] {
        if is_missing {
            blobs.0.lock().clear();
        } else {
            let damage = |blob: &mut Bytes| *blob = Bytes::from("damaged");
            blobs.0.lock().values_mut().for_each(damage);
        }
        let put = store.put(&scope(), &call("c1"), text(large.clone())).await;
        assert_eq!(put.unwrap(), Recorded::Unchanged);
        holds(&store, "c1", &large).await;
        let put = store.put_artifact(&scope(), artifact()).await;
        assert_eq!(put.unwrap(), Recorded::Unchanged);
        let id = ArtifactId::parse("a1").unwrap();
        let got = store.get_artifact(&scope(), &id, &call("c1")).await;
        assert!(got.unwrap().found().is_some());
        eventually("one blob of each is left", || async {
            Ok(blobs.len() == 2)
        })
        .await
        .unwrap();
    }
}
