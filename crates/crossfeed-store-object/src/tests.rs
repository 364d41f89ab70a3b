//! Tests of the whole crate.

use crate::{ObjectBlobs, ObjectOptions};
use crossfeed_store::{BlobStore, conformance::run_blobs};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread")]
async fn memory_conforms() {
    run_blobs(async || {
        let blobs = ObjectBlobs::from_url("memory:", ObjectOptions::default());
        Arc::new(blobs.unwrap()) as Arc<dyn BlobStore>
    })
    .await;
}
