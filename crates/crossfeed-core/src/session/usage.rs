//! What a session's results cost and saved, and the end of a session.

use super::Session;
use crate::account::TokenAccount;
use crossfeed_store::StoreError;

impl Session {
    /// What results, references and errors of this session took of the model's context, and what
    /// they kept out of it. The sums are kept while the engine lives, for the 10,000 sessions that
    /// were used last.
    #[must_use]
    pub fn usage(&self) -> TokenAccount {
        self.inner().accounts.sums(&self.scope)
    }

    /// Removes all that the session holds: results, artifacts, what is remembered of those that have
    /// gone, and its sums. Every id then reads as unknown.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when the store cannot do it now; the sums are kept then.
    pub async fn close(&self) -> Result<(), StoreError> {
        self.inner().store.remove_session(&self.scope).await?;
        self.inner().accounts.close(&self.scope);
        Ok(())
    }
}
