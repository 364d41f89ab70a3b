//! The results of a session, as a model may be told of them.

use super::Session;
use crossfeed_store::{Listed, StoreError};

impl Session {
    /// The results of this session that are there now, the most recently used last: none of what they
    /// hold.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the store cannot be read.
    pub async fn results(&self) -> Result<Vec<Listed>, StoreError> {
        self.inner().store.list(&self.scope).await
    }
}
