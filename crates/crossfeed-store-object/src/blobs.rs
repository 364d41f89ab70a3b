//! Blobs as objects.

use crate::{
    ObjectOptions, OpenError,
    connect::{self, Backend},
    directory::Directory,
    failure::{Request, is_absent, store_error, too_slow, unavailable},
    format::{Decoder, Encoder, Layout, Wanted},
    name,
    upload::{self, UploadError},
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_store::{BlobName, BlobStore, Digest, StoreError, ranges_of};
use crossfeed_wire::Scope;
use futures_util::{StreamExt, TryStreamExt, stream};
use object_store::{
    GetResult, GetResultPayload, OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore,
    ObjectStoreExt, coalesce_ranges, path::Path,
};
use std::{
    collections::BinaryHeap,
    fmt,
    ops::Range,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// How much longer a request may take for each MiB: a link that is slower is in trouble.
const TIME_PER_MIB: Duration = Duration::from_secs(1);

/// A [`BlobStore`] in object storage: one object for each blob.
///
/// A directory is used durably: a blob and its name are flushed to the disk before a `put` is acknowledged. Only its
/// owner can read what is in it.
///
/// ```
/// use crossfeed_store::{BlobName, BlobStore, Digest};
/// use crossfeed_store_object::{ObjectBlobs, ObjectOptions};
/// use crossfeed_wire::Scope;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let blobs = ObjectBlobs::from_url("memory:", ObjectOptions::default())?;
/// let scope = Scope::parse("acme", "support", "conversation-42")?;
/// let name = BlobName::new(&scope, Digest::of(b"large"), 1);
/// blobs.put(&scope, &name, "large".into()).await?;
/// assert_eq!(blobs.get(&scope, &name).await?, Some("large".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ObjectBlobs {
    backend: Backend,
    /// What stands before all names, the format included.
    base: Path,
    options: ObjectOptions,
}

/// What [`ObjectBlobs::probe`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeReport {
    /// The place, without credentials.
    pub place: String,
    /// How long it took to write an object.
    pub write: Duration,
    /// How long it took to read it.
    pub read: Duration,
    /// How long it took to list it.
    pub list: Duration,
    /// How long it took to remove it.
    pub remove: Duration,
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |time: Duration| time.as_millis();
        write!(
            f,
            "{}: an object was written ({} ms), read ({} ms), listed ({} ms) and removed ({} ms)",
            self.place,
            millis(self.write),
            millis(self.read),
            millis(self.list),
            millis(self.remove)
        )
    }
}

impl ObjectBlobs {
    /// Opens `s3://bucket/prefix`, `gs://bucket/prefix`, `az://container/prefix`, `file:///directory`, which is made if
    /// it is missing, or `memory:`, which is empty. No server is asked yet: [`probe`](Self::probe) does that.
    ///
    /// # Errors
    ///
    /// [`OpenError`] for another URL, settings that the backend does not know or cannot use, and a directory that
    /// cannot be written.
    pub fn from_url(url: &str, options: ObjectOptions) -> Result<Self, OpenError> {
        Ok(Self::of(connect::open(url, &options)?, options))
    }

    /// Uses an object store of the caller's, whose requests have time-outs and retries of their own. The options'
    /// settings and retries have no meaning for it.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: Path, options: ObjectOptions) -> Self {
        let label = format!("object store, prefix `{prefix}`");
        let backend = Backend {
            store,
            prefix,
            label,
            is_ordered: false,
            directory: None,
        };
        Self::of(backend, options)
    }

    fn of(backend: Backend, options: ObjectOptions) -> Self {
        let base = backend.prefix.clone().join(name::FORMAT);
        Self {
            backend,
            base,
            options,
        }
    }

    /// Writes a small object, reads, lists and removes it, and says how long each took. One that is left behind goes
    /// like every blob that no record names.
    ///
    /// # Errors
    ///
    /// Those of the requests, [`StoreError::Unavailable`] and its like.
    pub async fn probe(&self) -> Result<ProbeReport, StoreError> {
        let mut nonce = [0; 8];
        // Two that probe at once only see each other's object if there is no randomness.
        let _ = getrandom::fill(&mut nonce);
        let bytes = Bytes::from_static(b"crossfeed was here");
        let scope = probe_scope().map_err(|reason| unavailable(Request::Write, reason, false))?;
        let name = BlobName::new(&scope, Digest::of(&bytes), u64::from_le_bytes(nonce));
        let mut last = Instant::now();
        let mut lap = || std::mem::replace(&mut last, Instant::now()).elapsed();
        self.put(&scope, &name, bytes).await?;
        let write = lap();
        let found = self.get(&scope, &name).await?;
        let read = lap();
        // The last page may hold another one: listing has to work, and what it finds does not matter.
        self.list_old(Duration::ZERO, None, 1).await?;
        let list = lap();
        self.remove(std::slice::from_ref(&name)).await?;
        let remove = lap();
        if found.is_none() {
            let reason = "an object that was written is not there".to_owned();
            return Err(unavailable(Request::Read, reason, false));
        }
        Ok(ProbeReport {
            place: self.to_string(),
            write,
            read,
            list,
            remove,
        })
    }

    pub(crate) fn path(&self, name: &str) -> Path {
        let parts = name.split('/');
        parts.fold(self.base.clone(), |path, part| path.join(part))
    }

    pub(crate) fn store(&self) -> &dyn ObjectStore {
        &*self.backend.store
    }

    /// Waits for a request about so many bytes, no longer than it may take.
    async fn within<T>(
        &self,
        request: Request,
        bytes: u64,
        outcome: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mib = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
        let time = self
            .options
            .timeout
            .saturating_add(TIME_PER_MIB.saturating_mul(mib));
        let outcome = tokio::time::timeout(time, outcome).await;
        outcome.unwrap_or_else(|_| Err(too_slow(request, time)))
    }

    /// That the directory is there, if it is one: on a disk that is not mounted, nothing else would tell.
    async fn check_directory(&self, request: Request) -> Result<(), StoreError> {
        let is_there = self.in_directory(request, |directory| Ok(directory.is_there()));
        if is_there.await?.unwrap_or(true) {
            return Ok(());
        }
        let reason = "the directory is not there any more".to_owned();
        Err(unavailable(request, reason, true))
    }

    /// Does something with the directory, if it is one, where it may block.
    async fn in_directory<T: Send + 'static>(
        &self,
        request: Request,
        work: impl FnOnce(Directory) -> std::io::Result<T> + Send + 'static,
    ) -> Result<Option<T>, StoreError> {
        let Some(directory) = self.backend.directory.clone() else {
            return Ok(None);
        };
        let work = tokio::task::spawn_blocking(move || work(directory));
        let outcome = self.within(request, 0, async { Ok(work.await) }).await?;
        let outcome = outcome
            .map_err(std::io::Error::other)
            .and_then(|outcome| outcome);
        let outcome = outcome.map_err(|error| object_store::Error::Generic {
            store: "directory",
            source: Box::new(error),
        });
        outcome
            .map(Some)
            .map_err(|error| store_error(request, &error))
    }

    fn wanted<'w>(&'w self, scope: &'w Scope, encoded: &'w str, name: &'w BlobName) -> Wanted<'w> {
        Wanted {
            name: encoded,
            digest: name.digest(),
            tenant: scope.tenant(),
            keys: self.options.keys.as_deref(),
            max_bytes: self.options.max_bytes,
        }
    }

    async fn read(
        &self,
        scope: &Scope,
        name: &BlobName,
        found: GetResult,
    ) -> Result<Bytes, StoreError> {
        let encoded = name::encode(name);
        let wanted = self.wanted(scope, &encoded, name);
        let mut decoder = Decoder::new(wanted, found.meta.size)?;
        let failed = |error| store_error(Request::Read, &error);
        let mut blocks = match &found.payload {
            GetResultPayload::Stream(_) => found.into_stream(),
            // As a stream, it would come in a great many small pieces.
            GetResultPayload::File(..) => stream::once(found.bytes()).boxed(),
        };
        while let Some(block) = blocks.try_next().await.map_err(failed)? {
            decoder.feed(&block)?;
        }
        decoder.finish()
    }
}

fn probe_scope() -> Result<Scope, String> {
    Scope::parse("crossfeed", "crossfeed", "probe").map_err(|error| error.to_string())
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl BlobStore for ObjectBlobs {
    async fn put(&self, scope: &Scope, name: &BlobName, bytes: Bytes) -> Result<(), StoreError> {
        let (length, limit) = (bytes.len(), self.options.max_bytes);
        if length > limit {
            return Err(StoreError::TooLarge {
                bytes: length,
                limit,
            });
        }
        let write = async {
            self.check_directory(Request::Write).await?;
            let keys = self.options.keys.as_deref();
            let key = keys.and_then(|keys| keys.current(scope.tenant()));
            let encoded = name::encode(name);
            let blocks = Encoder::new(&encoded, bytes, key.as_ref())?;
            let path = self.path(&encoded);
            let written = if length < upload::PART {
                upload::whole(self.store(), &path, blocks).await
            } else {
                upload::in_parts(Arc::clone(&self.backend.store), path, blocks).await
            };
            written.map_err(|error| match error {
                UploadError::Encoding(error) => error,
                UploadError::Backend(error) => store_error(Request::Write, &error),
            })
        };
        self.within(Request::Write, length as u64, write).await
    }

    async fn get(&self, scope: &Scope, name: &BlobName) -> Result<Option<Bytes>, StoreError> {
        let path = self.path(&name::encode(name));
        let ask = async {
            match self.store().get(&path).await {
                Ok(found) => Ok(Some(found)),
                Err(error) if is_absent(&error) => {
                    self.check_directory(Request::Read).await?;
                    Ok(None)
                }
                Err(error) => Err(store_error(Request::Read, &error)),
            }
        };
        let Some(found) = self.within(Request::Read, 0, ask).await? else {
            return Ok(None);
        };
        let length = found.meta.size.min(self.options.max_bytes as u64);
        let read = self.read(scope, name, found);
        self.within(Request::Read, length, read).await.map(Some)
    }

    async fn get_ranges(
        &self,
        scope: &Scope,
        name: &BlobName,
        length: usize,
        ranges: &[Range<usize>],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let is_within = |range: &Range<usize>| range.start <= range.end && range.end <= length;
        if length <= self.options.max_bytes && ranges.iter().all(is_within) {
            let encoded = name::encode(name);
            let keys = self.options.keys.as_deref();
            let key = keys.and_then(|keys| keys.current(scope.tenant()));
            let layout = Layout::new(length, key.as_ref());
            let places = layout.places(ranges);
            let bytes = places.iter().map(|place| place.end - place.start).sum();
            let path = self.path(&encoded);
            let fetch = |place: Range<u64>| self.all_of(&path, place);
            let read = coalesce_ranges(&places, fetch, OBJECT_STORE_COALESCE_DEFAULT);
            let read = async { Ok(read.await) };
            if let Ok(read) = self.within(Request::Read, bytes, read).await?
                && let Ok(ranges) = layout.open(self.wanted(scope, &encoded, name), ranges, &read)
            {
                return Ok(Some(ranges));
            }
        }
        // It is not there, was written in another way, or is damaged: reading all of it tells.
        let Some(whole) = self.get(scope, name).await? else {
            return Ok(None);
        };
        ranges_of(&whole, length, ranges).map(Some)
    }

    async fn remove(&self, names: &[BlobName]) -> Result<(), StoreError> {
        let paths: Vec<_> = names
            .iter()
            .map(|name| self.path(&name::encode(name)))
            .collect();
        self.check_directory(Request::Remove).await?;
        let paths = stream::iter(paths).map(Ok).boxed();
        let mut removed = self.store().delete_stream(paths);
        let (mut gone, mut failure) = (0, None);
        loop {
            // A batch at a time, of up to a thousand.
            let next = async { Ok(removed.next().await) };
            match self.within(Request::Remove, 0, next).await? {
                None => break,
                Some(Err(error)) if !is_absent(&error) => failure = Some(error),
                Some(_) => gone += 1,
            }
        }
        let of = names.len();
        let request = Request::RemoveAll { gone, of };
        failure.map_or(Ok(()), |error| Err(store_error(request, &error)))
    }

    async fn list_old(
        &self,
        age: Duration,
        after: Option<&BlobName>,
        limit: usize,
    ) -> Result<Vec<BlobName>, StoreError> {
        let Some(before) = SystemTime::now().checked_sub(age) else {
            return Ok(Vec::new());
        };
        if limit == 0 {
            return Ok(Vec::new());
        }
        let after = after.map(|after| self.path(&name::encode(after)));
        self.check_directory(Request::List).await?;
        if after.is_none() {
            self.in_directory(Request::List, |directory| directory.sweep())
                .await?;
        }
        let mut objects = match &after {
            Some(after) => self.store().list_with_offset(Some(&self.base), after),
            None => self.store().list(Some(&self.base)),
        };
        // The first ones, of which the last is on top.
        let mut first = BinaryHeap::new();
        let failed = |error| store_error(Request::List, &error);
        loop {
            // A page of the backend's at a time: there may be any number that hold nothing old.
            let next = async { objects.try_next().await.map_err(failed) };
            let Some(object) = self.within(Request::List, 0, next).await? else {
                break;
            };
            first.extend(self.old_one(&object, before));
            if first.len() > limit {
                first.pop();
            }
            if self.backend.is_ordered && first.len() == limit {
                break;
            }
        }
        Ok(first.into_sorted_vec())
    }
}

impl ObjectBlobs {
    /// A range of an object; an error where less of it is there, as where the object was cut.
    async fn all_of(&self, path: &Path, range: Range<u64>) -> Result<Bytes, Unread> {
        let length = range.end - range.start;
        let read = self.store().get_range(path, range).await;
        read.ok()
            .filter(|bytes| bytes.len() as u64 == length)
            .ok_or(Unread)
    }

    /// The blob of an object, if it is one that was written before then.
    fn old_one(&self, object: &ObjectMeta, before: SystemTime) -> Option<BlobName> {
        let is_old = SystemTime::from(object.last_modified) <= before;
        name::decode(&object.location, &self.base).filter(|_| is_old)
    }
}

/// A range cannot be read: why, reading the whole says.
struct Unread;

/// The place, without credentials.
impl fmt::Display for ObjectBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.backend.label)
    }
}

impl fmt::Debug for ObjectBlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectBlobs")
            .field("place", &self.backend.label)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
