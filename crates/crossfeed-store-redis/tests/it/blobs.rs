//! Large data in a store of blobs.

use crate::faults::{call, holds, scope, text};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_redis_servers::{Server, eventually, is_installed};
use crossfeed_store::{
    BlobName, BlobStore, Damage, Digest, MemoryLimits, PathStep, Recorded, ResultKind, ResultStore,
    StoreError, StoredArtifact, StoredResult, ranges_of,
};
use crossfeed_store_redis::{RedisOptions, RedisStore};
use crossfeed_wire::{ArtifactId, Scope};
use parking_lot::Mutex;
use std::{collections::BTreeMap, ops::Range, sync::Arc, time::Duration};

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
        let is_damaged = |bytes: &Bytes| Digest::of(bytes) != *name.digest();
        if found.as_ref().is_some_and(is_damaged) {
            return Err(StoreError::DamagedBlob);
        }
        Ok(found)
    }

    async fn get_ranges(
        &self,
        _: &Scope,
        name: &BlobName,
        length: usize,
        ranges: &[Range<usize>],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let found = self.0.lock().get(name).cloned();
        found
            .map(|whole| ranges_of(&whole, length, ranges))
            .transpose()
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
    let is_damaged = |error: &StoreError| matches!(error, StoreError::Damaged { damage: Damage::Result { call_id, .. }, .. } if *call_id == call("c1"));
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

/// Rows whose JSON is large, and the path to the title of one of them.
fn rows(title: &str) -> (String, Vec<PathStep>) {
    let rows: Vec<String> = (0..20_000)
        .map(|id| format!(r#"{{"id": {id}, "title": "{title} {id}"}}"#))
        .collect();
    let key = |key: &str| PathStep::Key(key.into());
    let path = vec![key("rows"), PathStep::Index(7000), key("title")];
    (format!(r#"{{"rows": [{}]}}"#, rows.join(", ")), path)
}

async fn part(store: &RedisStore, id: &str, path: &[PathStep]) -> Option<Arc<StoredResult>> {
    let paths = || vec![path.to_vec()];
    let found = store.get_part(&scope(), &call(id), &paths).await;
    found.unwrap().found()
}

fn title(result: &StoredResult) -> String {
    let rows = result.document().root().unwrap().get("rows").unwrap();
    let title = rows.at(7000).and_then(|row| row.get("title")).unwrap();
    title.as_str().unwrap().into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_of_a_blob_is_read_as_long_as_its_record_is_there() {
    if !is_installed() {
        return;
    }
    let (server, blobs) = (Server::start(&[]).await.unwrap(), Arc::<Blobs>::default());
    let store = open(
        &server,
        &blobs,
        MemoryLimits::default().with_session_results(1),
    )
    .await;
    let (data, path) = rows("Title");
    let json = |data: &str| StoredResult::new(Document::new(data.to_owned()), ResultKind::Json);
    let recorded = json(&data).with_tool("search");
    store.put(&scope(), &call("c1"), recorded).await.unwrap();
    let reader = open(&server, &blobs, MemoryLimits::default()).await;
    let found = part(&reader, "c1", &path).await.unwrap();
    assert_eq!(found.excerpt_of(), Some(data.len()));
    assert!(found.document().raw().len() < data.len() / 2);
    assert_eq!(
        (title(&found).as_str(), found.tool()),
        ("Title 7000", Some("search"))
    );
    // One part after another ends in the whole, as does what is more than a part.
    let mut reads = 1;
    while part(&reader, "c1", &path)
        .await
        .unwrap()
        .excerpt_of()
        .is_some()
    {
        reads += 1;
    }
    assert!((2..9).contains(&reads), "{reads}");
    let reader = open(&server, &blobs, MemoryLimits::default()).await;
    let whole = part(&reader, "c1", &path[..1]).await.unwrap();
    assert_eq!(whole.excerpt_of(), None);
    holds(&reader, "c1", &data).await;

    // Of an id that was recorded again, nothing old is read.
    let (other, _) = rows("Other");
    store.put(&scope(), &call("c2"), text("1")).await.unwrap();
    assert!(part(&reader, "c1", &path).await.is_none(), "it was evicted");
    store
        .put(&scope(), &call("c1"), json(&other))
        .await
        .unwrap();
    let reader = open(&server, &blobs, MemoryLimits::default()).await;
    assert_eq!(
        title(&part(&reader, "c1", &path).await.unwrap()),
        "Other 7000"
    );

    let keys = server.ask(&["KEYS", "*b:c1"]).await.unwrap().texts();
    let [contents] = &keys[..] else {
        panic!("the contents of one blob: {keys:?}");
    };
    let length = server.ask(&["STRLEN", contents]).await.unwrap();
    assert!(length.text().parse::<usize>().unwrap() < 10 << 10);
    // Contents of another version, of another record, or that are gone: all is read.
    let changes: [&[&str]; 3] = [
        &["SETRANGE", contents, "16", "\u{2}"],
        &["SETRANGE", contents, "0", "0000000000000000"],
        &["DEL", contents],
    ];
    for change in changes {
        store.remove_session(&scope()).await.unwrap();
        store
            .put(&scope(), &call("c1"), json(&other))
            .await
            .unwrap();
        server.ask(change).await.unwrap();
        let reader = open(&server, &blobs, MemoryLimits::default()).await;
        let whole = part(&reader, "c1", &path).await.unwrap();
        assert_eq!(
            (whole.excerpt_of(), title(&whole).as_str()),
            (None, "Other 7000")
        );
    }
    store.remove_session(&scope()).await.unwrap();
    store
        .put(&scope(), &call("c1"), json(&other))
        .await
        .unwrap();
    // Other bytes are damage where they are read.
    let damage = |at: usize| {
        for data in blobs.0.lock().values_mut() {
            let mut changed = data.to_vec();
            changed[at] ^= 1;
            *data = changed.into();
        }
    };
    let reader = open(&server, &blobs, MemoryLimits::default()).await;
    let place = other.find("Other 7000").unwrap();
    let elsewhere = other.find("Other 15000").unwrap();
    damage(elsewhere);
    let found = part(&reader, "c1", &path).await.unwrap();
    assert_eq!(title(&found), "Other 7000", "only what is wanted is read");
    damage(elsewhere);
    damage(place);
    let paths = || vec![path.clone()];
    let got = reader.get_part(&scope(), &call("c1"), &paths).await;
    assert!(got.is_err(), "{got:?}");
    store.remove_session(&scope()).await.unwrap();
    let left = server.ask(&["KEYS", "*b:c*"]).await.unwrap().texts();
    assert!(left.is_empty(), "{left:?}");
}
