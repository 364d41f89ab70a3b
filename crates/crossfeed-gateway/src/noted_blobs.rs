//! What a store notes of the place of its large data, so that no gateway goes on without what is there.

use crate::records::{Key, Records};
use crossfeed_store::{Expected, ResultStore, StoreError};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

/// How long it is noted after the last start: longer than processes run.
const TIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A note that gateways keep large data in a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NotedBlobs {
    /// The id of the key that encrypted there last; none where nothing was encrypted.
    pub key: Option<String>,
}

impl NotedBlobs {
    /// A note of a place where this key encrypts.
    pub fn new(key: Option<String>) -> Self {
        Self { key }
    }

    /// What is noted of a place; none where no gateway has used it.
    ///
    /// # Errors
    ///
    /// The store does not answer, the note is damaged, or a later version wrote it.
    pub async fn read(
        store: Arc<dyn ResultStore>,
        place: &str,
    ) -> Result<Option<Self>, StoreError> {
        let Some(records) = Records::of(store) else {
            return Ok(None);
        };
        let found = records.read(&key(place)).await?;
        Ok(found.map(|found| found.value))
    }

    /// Notes it, where the store has a place for the gateway's records. Where a store that is full has the same note
    /// already, that stays.
    ///
    /// # Errors
    ///
    /// The store does not answer, or is full.
    pub async fn write(&self, store: Arc<dyn ResultStore>, place: &str) -> Result<(), StoreError> {
        if let Some(records) = Records::of(store) {
            let key = key(place);
            records.keep(&key, self, Expected::Any, TIME).await?;
        }
        Ok(())
    }
}

fn key(place: &str) -> Key {
    Key::new("blobs", &[place])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fake::LastingStore;
    use std::sync::atomic::Ordering;

    #[tokio::test]
    async fn a_full_store_needs_no_second_note() {
        let store = LastingStore::new();
        let note = NotedBlobs::new(Some("a".to_owned()));
        note.write(store.clone(), "s3://x").await.unwrap();
        store.is_full.store(true, Ordering::Relaxed);
        note.write(store.clone(), "s3://x").await.unwrap();
        for (note, place) in [(&note, "s3://y"), (&NotedBlobs::new(None), "s3://x")] {
            let full = note.write(store.clone(), place).await.unwrap_err();
            assert!(matches!(full, StoreError::NoSpace { .. }), "{place}");
        }
    }

    #[tokio::test]
    async fn a_place_is_noted_with_its_key() {
        let store = LastingStore::new();
        let read = async |place| NotedBlobs::read(store.clone(), place).await;
        for key in [None, Some("a".to_owned()), Some("b".to_owned())] {
            let note = NotedBlobs::new(key);
            note.write(store.clone(), "s3://x").await.unwrap();
            assert_eq!(read("s3://x").await.unwrap(), Some(note));
        }
        assert_eq!(read("s3://y").await.unwrap(), None);
        let key = &store.keys("blobs")[0];
        store.overwrite(key, r#"{"format":2,"key":3}"#);
        let newer = read("s3://x").await.unwrap_err();
        assert!(matches!(newer, StoreError::Newer { found: 2, .. }));
        store.overwrite(key, r#"{"format":1,"key":3}"#);
        let damaged = read("s3://x").await.unwrap_err();
        assert!(damaged.to_string().contains(&**key), "{damaged}");
    }
}
