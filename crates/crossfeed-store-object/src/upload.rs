//! Uploads in several parts.

use crate::format::Encoder;
use bytes::Bytes;
use crossfeed_store::StoreError;
use futures_util::{TryStreamExt, stream::FuturesUnordered};
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, PutPayload, path::Path};
use std::sync::Arc;
use tokio::runtime::Handle;

/// Length of a part, and the least for which parts are worth three requests more. S3 admits 5 MiB to 5 GiB and 10,000
/// parts; some that speak its protocol want all parts but the last to be of one length.
pub(crate) const PART: usize = 8 << 20;
/// Parts that are under way at once: two, so that one is encrypted while another is sent.
const PARTS_AT_ONCE: usize = 2;

/// Why an upload failed.
pub(crate) enum UploadError {
    /// Its bytes could not be made.
    Encoding(StoreError),
    /// The backend failed.
    Backend(object_store::Error),
}

impl From<StoreError> for UploadError {
    fn from(error: StoreError) -> Self {
        Self::Encoding(error)
    }
}

impl From<object_store::Error> for UploadError {
    fn from(error: object_store::Error) -> Self {
        Self::Backend(error)
    }
}

/// Writes all of an object at once.
pub(crate) async fn whole(
    store: &dyn ObjectStore,
    path: &Path,
    blocks: Encoder,
) -> Result<(), UploadError> {
    let payload: PutPayload = blocks
        .collect::<Result<Vec<Bytes>, _>>()?
        .into_iter()
        .collect();
    store.put(path, payload).await?;
    Ok(())
}

/// Writes an object in parts, of which the backend makes one at the end. If it fails or is dropped, the parts are given
/// up.
pub(crate) async fn in_parts(
    store: Arc<dyn ObjectStore>,
    path: Path,
    blocks: Encoder,
) -> Result<(), UploadError> {
    // A task of its own goes on when this is dropped: an upload whose id nobody has heard cannot be given up.
    let begin = async move { Ok(Upload(Some(store.put_multipart(&path).await?))) };
    let begun = tokio::spawn(begin).await;
    let mut upload = begun.unwrap_or_else(|error| Err(object_store::Error::from(error)))?;
    let mut parts = Parts {
        blocks,
        rest: Bytes::new(),
    };
    let mut running = FuturesUnordered::new();
    while let Some(part) = parts.next()? {
        if running.len() == PARTS_AT_ONCE {
            running.try_next().await?;
        }
        running.extend(upload.0.as_mut().map(|upload| upload.put_part(part)));
    }
    while running.try_next().await?.is_some() {}
    if let Some(upload) = &mut upload.0 {
        upload.complete().await?;
    }
    upload.0 = None;
    Ok(())
}

/// An upload that is given up unless it is taken out.
struct Upload(Option<Box<dyn MultipartUpload>>);

impl Drop for Upload {
    fn drop(&mut self) {
        // As far as this process gets to it; the backend's rule for what is incomplete does the rest.
        if let (Some(mut upload), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move { upload.abort().await });
        }
    }
}

/// Cuts blocks into parts of one length.
struct Parts {
    blocks: Encoder,
    rest: Bytes,
}

impl Parts {
    /// The next part; only the last one is shorter than the others.
    fn next(&mut self) -> Result<Option<PutPayload>, StoreError> {
        let mut part = Vec::new();
        let mut missing = PART;
        while missing > 0 {
            if self.rest.is_empty() {
                let Some(block) = self.blocks.next().transpose()? else {
                    break;
                };
                self.rest = block;
            }
            let piece = self.rest.split_to(self.rest.len().min(missing));
            missing -= piece.len();
            part.push(piece);
        }
        Ok((missing < PART).then(|| part.into_iter().collect()))
    }
}
