//! Large bytes that are kept apart from the records that name them.

use crate::{Digest, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_wire::Scope;
use std::{fmt, ops::Range, time::Duration};

/// The name of a blob: whose it is, what it holds, and which record it was written for.
///
/// A name is used once: two records of the same bytes have two blobs, so that one can be removed without asking
/// who else needs it. It does not tell a scope's words, only their digests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobName {
    tenant: ScopeTag,
    session: ScopeTag,
    digest: Digest,
    token: u64,
}

impl BlobName {
    /// The name of bytes of this digest for one record of a session; `token` is different for each record.
    pub fn new(scope: &Scope, digest: Digest, token: u64) -> Self {
        Self {
            tenant: ScopeTag::of_tenant(scope),
            session: ScopeTag::of_session(scope),
            digest,
            token,
        }
    }

    /// The same from its parts, as a backend keeps them.
    pub fn from_parts(tenant: ScopeTag, session: ScopeTag, digest: Digest, token: u64) -> Self {
        Self {
            tenant,
            session,
            digest,
            token,
        }
    }

    /// Whose it is.
    pub fn tenant(&self) -> ScopeTag {
        self.tenant
    }

    /// The session whose record it is of.
    pub fn session(&self) -> ScopeTag {
        self.session
    }

    /// The digest of the bytes as they were recorded.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The number that distinguishes records.
    pub fn token(&self) -> u64 {
        self.token
    }
}

/// A tenant, or a session of one, in 32 hexadecimal digits: half of the SHA-256 digest of its words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScopeTag([u8; Self::BYTES]);

impl ScopeTag {
    const BYTES: usize = 16;

    /// The tenant of a scope.
    pub fn of_tenant(scope: &Scope) -> Self {
        Self::of(&[scope.tenant()])
    }

    /// All of a scope.
    pub fn of_session(scope: &Scope) -> Self {
        Self::of(&[scope.tenant(), scope.project(), scope.session()])
    }

    fn of(words: &[&str]) -> Self {
        let digest = Digest::of_parts(words.iter().map(|word| Some(word.as_bytes())));
        let mut tag = [0; Self::BYTES];
        tag.copy_from_slice(&digest.as_bytes()[..Self::BYTES]);
        Self(tag)
    }

    /// Reads what `Display` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = data_encoding::HEXLOWER.decode(text.as_bytes()).ok()?;
        Some(Self(bytes.try_into().ok()?))
    }
}

impl fmt::Display for ScopeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&data_encoding::HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for ScopeTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A place for large bytes: object storage, or a directory.
///
/// A blob is written before the record that names it and removed after that record has gone. A crash in between
/// leaves one that nothing names, which whoever owns the records finds by [`list_old`](Self::list_old).
///
/// The scope that is given with a name is the one that the name was made for.
///
/// ```
/// use bytes::Bytes;
/// use crossfeed_store::{BlobName, BlobStore, Digest, StoreError};
/// use crossfeed_wire::Scope;
///
/// /// Keeps the data of a record whose token is 7.
/// async fn keep(blobs: &dyn BlobStore, scope: &Scope, data: Bytes) -> Result<BlobName, StoreError> {
///     let name = BlobName::new(scope, Digest::of(&data), 7);
///     blobs.put(scope, &name, data).await?;
///     Ok(name)
/// }
/// ```
#[async_trait]
pub trait BlobStore: Send + Sync {
    /// Keeps bytes under a name; the same again changes nothing. Once this has answered, the bytes are as safe as the
    /// backend makes them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn put(&self, scope: &Scope, name: &BlobName, bytes: Bytes) -> Result<(), StoreError>;

    /// The bytes under a name, checked against its digest; `None` if there are none.
    ///
    /// # Errors
    ///
    /// [`StoreError::DamagedBlob`] when they are not what was kept, and [`StoreError::Unavailable`] and its like when
    /// the backend fails.
    async fn get(&self, scope: &Scope, name: &BlobName) -> Result<Option<Bytes>, StoreError>;

    /// Some ranges of the bytes under a name, which are so many; `None` if there are none. They are not checked against
    /// its digest: who asks knows digests of parts. By default all is read.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get).
    async fn get_ranges(
        &self,
        scope: &Scope,
        name: &BlobName,
        length: usize,
        ranges: &[Range<usize>],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let Some(whole) = self.get(scope, name).await? else {
            return Ok(None);
        };
        ranges_of(&whole, length, ranges).map(Some)
    }

    /// Removes blobs. One that is not there is not an error.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn remove(&self, names: &[BlobName]) -> Result<(), StoreError>;

    /// Names of blobs that were written longer ago than `age`, in the order of their names, behind `after`; at most
    /// `limit`, and fewer only at the end.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn list_old(
        &self,
        age: Duration,
        after: Option<&BlobName>,
        limit: usize,
    ) -> Result<Vec<BlobName>, StoreError>;
}

/// Ranges of the bytes of a blob that was read as a whole, for [`BlobStore::get_ranges`].
///
/// # Errors
///
/// [`StoreError::DamagedBlob`] when the blob has another length, or a range is not within it.
pub fn ranges_of(
    whole: &Bytes,
    length: usize,
    ranges: &[Range<usize>],
) -> Result<Vec<Bytes>, StoreError> {
    let is_within = |range: &Range<usize>| range.start <= range.end && range.end <= length;
    if whole.len() != length || !ranges.iter().all(is_within) {
        return Err(StoreError::DamagedBlob);
    }
    let ranges = ranges.iter().cloned();
    Ok(ranges.map(|range| whole.slice(range)).collect())
}
