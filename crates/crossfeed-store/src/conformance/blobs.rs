//! Behaviours of places for large bytes.

use super::{basics::drop_after, sure};
use crate::{BlobName, BlobStore, Digest};
use bytes::Bytes;
use crossfeed_wire::Scope;
use futures_util::future::join_all;
use std::{slice, sync::Arc, time::Duration};

/// Enough for a backend to send it in several parts.
const LARGE: usize = 20 << 20;

/// Runs every function of this module, each on a store of its own that is empty.
///
/// # Panics
///
/// When the store breaks its contract; the message says how.
pub async fn run_blobs(make: impl AsyncFn() -> Arc<dyn BlobStore>) {
    a_blob_is_found_as_it_was(&*make().await).await;
    ranges_are_those_of_the_blob(&*make().await).await;
    the_same_blob_again_changes_nothing(&*make().await).await;
    blobs_of_the_same_bytes_are_apart(&*make().await).await;
    no_scope_reaches_another_ones_blob(&*make().await).await;
    removing_blobs_leaves_the_others(&*make().await).await;
    blobs_are_listed_in_order_by_pages(&*make().await).await;
    only_old_blobs_are_listed(&*make().await).await;
    a_blob_that_is_put_at_once_is_whole(&*make().await).await;
    a_dropped_blob_is_whole_or_not_there(&*make().await).await;
}

/// Blobs of one scope.
struct Blobs<'s> {
    store: &'s dyn BlobStore,
    scope: Scope,
}

impl<'s> Blobs<'s> {
    fn of(store: &'s dyn BlobStore, tenant: &str, session: &str) -> Self {
        let scope = Scope::parse(tenant, "project", session);
        let scope = sure(scope, "making a test scope");
        Self { store, scope }
    }

    fn name(&self, bytes: &[u8], token: u64) -> BlobName {
        BlobName::new(&self.scope, Digest::of(bytes), token)
    }

    async fn put(&self, bytes: &Bytes, token: u64) -> BlobName {
        let name = self.name(bytes, token);
        let put = self.store.put(&self.scope, &name, bytes.clone()).await;
        sure(put, "keeping a blob");
        name
    }

    async fn get(&self, name: &BlobName) -> Option<Bytes> {
        sure(self.store.get(&self.scope, name).await, "reading a blob")
    }

    async fn finds(&self, name: &BlobName, expected: &Bytes, when: &str) {
        // Not `assert_eq!`, which would print all of it.
        let found = self.get(name).await;
        let is_same = found.as_ref() == Some(expected);
        let (found, expected) = (found.map(|bytes| bytes.len()), expected.len());
        assert!(
            is_same,
            "{when}: a blob of {expected} bytes must be found as it was, not {found:?} bytes"
        );
    }

    async fn misses(&self, name: &BlobName, when: &str) {
        let found = self.get(name).await.map(|bytes| bytes.len());
        assert_eq!(found, None, "{when}: there must be no blob of this name");
    }
}

async fn remove(store: &dyn BlobStore, names: &[BlobName]) {
    sure(store.remove(names).await, "removing blobs");
}

async fn list(
    store: &dyn BlobStore,
    age: Duration,
    after: Option<&BlobName>,
    limit: usize,
) -> Vec<BlobName> {
    sure(store.list_old(age, after, limit).await, "listing blobs")
}

/// Bytes that no compression and no alignment favours.
fn bytes(length: usize) -> Bytes {
    (0..length)
        .map(|at| (at.wrapping_mul(at) >> 7) as u8)
        .collect()
}

/// What was kept is read as it was, whatever its length and its bytes.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_blob_is_found_as_it_was(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    a.misses(&a.name(b"never", 1), "in an empty store").await;
    for length in [0, 1, 1000, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, LARGE] {
        let bytes = bytes(length);
        let name = a.put(&bytes, length as u64).await;
        a.finds(&name, &bytes, "after it was kept").await;
    }
}

/// Ranges of a blob are those of what was kept, wherever they begin.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn ranges_are_those_of_the_blob(store: &dyn BlobStore) {
    const CHUNK: usize = 1 << 20;
    let a = Blobs::of(store, "tenant", "a");
    for length in [1, 1000, CHUNK, 3 * CHUNK + 7] {
        let bytes = bytes(length);
        let name = a.put(&bytes, length as u64).await;
        let ranges = [
            vec![0..length, 0..1],
            vec![0..1, length / 3..length / 2, length - 1..length],
            vec![
                CHUNK - 1..CHUNK + 1,
                2 * CHUNK..3 * CHUNK,
                3 * CHUNK + 6..length,
            ],
            vec![5..5, 0..1],
            Vec::new(),
        ];
        for ranges in ranges {
            if ranges
                .iter()
                .any(|range| range.end > length || range.start > range.end)
            {
                continue;
            }
            let read = store.get_ranges(&a.scope, &name, length, &ranges).await;
            let read = sure(read, "reading ranges of a blob");
            let expected = ranges.iter().map(|range| bytes.slice(range.clone()));
            let is_same = read == Some(expected.collect());
            assert!(
                is_same,
                "{ranges:?} of {length} bytes must be read as they were kept"
            );
        }
        let other = store
            .get_ranges(&a.scope, &name, length + 1, &[0..1, 0..1])
            .await;
        assert!(other.is_err(), "a blob of another length must be an error");
    }
    let read = store
        .get_ranges(&a.scope, &a.name(b"never", 1), 5, &[0..5, 0..1])
        .await;
    let read = sure(read, "reading ranges of no blob");
    assert!(read.is_none(), "there must be no blob of this name");
}

/// The same bytes under the same name again are not an error.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn the_same_blob_again_changes_nothing(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    let bytes = bytes(1000);
    for _ in 0..3 {
        let name = a.put(&bytes, 1).await;
        a.finds(&name, &bytes, "after it was kept again").await;
    }
    let listed = list(store, Duration::ZERO, None, 10).await;
    assert_eq!(listed, [a.name(&bytes, 1)], "one name is one blob");
}

/// Two blobs of the same bytes go one by one.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn blobs_of_the_same_bytes_are_apart(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    let bytes = bytes(1000);
    let (first, second) = (a.put(&bytes, 1).await, a.put(&bytes, u64::MAX).await);
    remove(store, slice::from_ref(&first)).await;
    a.misses(&first, "after it was removed").await;
    a.finds(&second, &bytes, "after another was removed").await;
}

/// The same bytes and token in another session or of another tenant are another blob.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn no_scope_reaches_another_ones_blob(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    let bytes = bytes(1000);
    let name = a.put(&bytes, 1).await;
    for other in [
        Blobs::of(store, "tenant", "b"),
        Blobs::of(store, "other", "a"),
    ] {
        let others = other.name(&bytes, 1);
        other.misses(&others, "in another scope").await;
        other.put(&bytes, 1).await;
        remove(store, &[others]).await;
        a.finds(&name, &bytes, "after another scope's was removed")
            .await;
    }
}

/// Removing takes what is named, whether it is there or not.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn removing_blobs_leaves_the_others(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    let bytes = bytes(100);
    let mut names = Vec::new();
    for token in 0..12 {
        names.push(a.put(&bytes, token).await);
    }
    let (gone, kept) = names.split_at(9);
    remove(store, &[]).await;
    for _ in 0..2 {
        let never = a.name(b"never", 1);
        remove(store, &[&[never], gone].concat()).await;
        for name in gone {
            a.misses(name, "after it was removed").await;
        }
        for name in kept {
            a.finds(name, &bytes, "after others were removed").await;
        }
    }
}

/// Listing goes through all blobs of all scopes in the order of their names, whatever the length of a page.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn blobs_are_listed_in_order_by_pages(store: &dyn BlobStore) {
    let mut names = Vec::new();
    for (tenant, session) in [("t", "a"), ("u", "a"), ("t", "b")] {
        let blobs = Blobs::of(store, tenant, session);
        for token in [0, 1, u64::MAX] {
            names.push(blobs.put(&bytes(10), token).await);
            names.push(blobs.put(&bytes(20), token).await);
        }
    }
    names.sort();
    for limit in [1, 4, names.len(), names.len() + 1] {
        let mut listed: Vec<BlobName> = Vec::new();
        loop {
            let page = list(store, Duration::ZERO, listed.last(), limit).await;
            assert!(page.len() <= limit, "a page is not longer than its limit");
            let is_last = page.len() < limit;
            listed.extend(page);
            if is_last {
                break;
            }
        }
        assert_eq!(listed, names, "all in order, by pages of {limit}");
    }
    assert_eq!(list(store, Duration::ZERO, None, 0).await, []);
}

/// What was written lately is not old.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn only_old_blobs_are_listed(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    let name = a.put(&bytes(10), 1).await;
    let hour = Duration::from_secs(60 * 60);
    assert_eq!(list(store, hour, None, 10).await, [], "nothing is old yet");
    assert_eq!(list(store, Duration::MAX, None, 10).await, []);
    assert_eq!(list(store, Duration::ZERO, None, 10).await, [name]);
}

/// Several that keep the same blob at once leave one that is whole.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_blob_that_is_put_at_once_is_whole(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    for (length, writers) in [(1000, 8), (9 << 20, 2)] {
        let bytes = bytes(length);
        join_all((0..writers).map(|_| a.put(&bytes, 1))).await;
        a.finds(&a.name(&bytes, 1), &bytes, "after several kept it")
            .await;
    }
}

/// A `put` that is dropped leaves all of a blob or nothing, and the store goes on.
///
/// # Panics
///
/// When the store breaks its contract.
pub async fn a_dropped_blob_is_whole_or_not_there(store: &dyn BlobStore) {
    let a = Blobs::of(store, "tenant", "a");
    for (length, all_polls) in [(1000, &[0, 1, 2, 3, 4, 5, 6, 7][..]), (9 << 20, &[1, 4])] {
        let bytes = bytes(length);
        for &polls in all_polls {
            let name = a.name(&bytes, polls as u64);
            drop_after(polls, store.put(&a.scope, &name, bytes.clone())).await;
            if a.get(&name).await.is_some() {
                a.finds(&name, &bytes, "after a dropped `put`").await;
            }
            a.put(&bytes, polls as u64).await;
            drop_after(polls, store.get(&a.scope, &name)).await;
            drop_after(polls, store.list_old(Duration::ZERO, None, 10)).await;
            a.finds(&name, &bytes, "after dropped futures").await;
        }
    }
}
