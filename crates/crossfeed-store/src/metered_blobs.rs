//! Blobs whose requests are counted.

use crate::{BlobName, BlobStore, StoreError, StoreMeter, StoreOperation};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_wire::Scope;
use std::{sync::Arc, time::Duration};

/// A [`BlobStore`] whose requests count with those of the store that uses it.
pub struct MeteredBlobs {
    blobs: Arc<dyn BlobStore>,
    meter: Arc<StoreMeter>,
}

impl MeteredBlobs {
    /// Counts the requests to `blobs` in `meter`.
    pub fn new(blobs: Arc<dyn BlobStore>, meter: Arc<StoreMeter>) -> Self {
        Self { blobs, meter }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl BlobStore for MeteredBlobs {
    async fn put(&self, scope: &Scope, name: &BlobName, bytes: Bytes) -> Result<(), StoreError> {
        let put = self.blobs.put(scope, name, bytes);
        self.meter.time(StoreOperation::PutBlob, put).await
    }

    async fn get(&self, scope: &Scope, name: &BlobName) -> Result<Option<Bytes>, StoreError> {
        let get = self.blobs.get(scope, name);
        self.meter.time(StoreOperation::GetBlob, get).await
    }

    async fn remove(&self, names: &[BlobName]) -> Result<(), StoreError> {
        let remove = self.blobs.remove(names);
        self.meter.time(StoreOperation::RemoveBlobs, remove).await
    }

    async fn list_old(
        &self,
        age: Duration,
        after: Option<&BlobName>,
        limit: usize,
    ) -> Result<Vec<BlobName>, StoreError> {
        let list = self.blobs.list_old(age, after, limit);
        self.meter.time(StoreOperation::ListBlobs, list).await
    }
}
