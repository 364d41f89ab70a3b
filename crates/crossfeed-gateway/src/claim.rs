//! One process alone goes on with a named session: its claim is a record that lasts for seconds and is renewed meanwhile.

use crate::{
    records::{Found, Key, Records},
    tools::Tools,
};
use crossfeed_store::{Expected, StoreError};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a claim lasts that is not renewed: a process that was killed is in the way for that long.
const CLAIM_TIME: Duration = Duration::from_secs(6);
const RENEW_INTERVAL: Duration = Duration::from_secs(2);
/// How often a claim is looked at that is in the way.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// A session cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// Another process has it.
    #[error("another process serves the session `{session}`")]
    InUse {
        /// The name of the session.
        session: String,
    },
    /// The store does not answer.
    #[error("cannot ask the store who serves the session `{session}`")]
    Store {
        /// The name of the session.
        session: String,
        /// Why.
        source: StoreError,
    },
}

/// The claim of this process to a named session.
pub struct SessionClaim {
    records: Records,
    session: String,
    key: Key,
    version: u64,
}

/// Only which write of it it is says something.
#[derive(Serialize, Deserialize)]
struct ClaimRecord {}

impl SessionClaim {
    /// Claims a session; waits for as long as a process that was killed would be in the way. None where there are no
    /// records, so that no process goes on with it.
    ///
    /// # Errors
    ///
    /// Another process has it, or the store does not answer.
    pub async fn take(tools: &Tools, session: &str) -> Result<Option<Self>, ClaimError> {
        let Some(records) = tools.records().cloned() else {
            return Ok(None);
        };
        let key = Key::new("claim", &[session]);
        let version = claim(&records, &key, session).await?;
        Ok(Some(Self {
            records,
            session: session.to_owned(),
            key,
            version,
        }))
    }

    /// Renews the claim until another process has it: says so.
    pub async fn hold(&mut self) -> ClaimError {
        loop {
            sleep(RENEW_INTERVAL).await;
            match self.renew().await {
                Ok(Some(version)) => self.version = version,
                Ok(None) => {
                    return ClaimError::InUse {
                        session: self.session.clone(),
                    };
                }
                // Who cannot reach the store cannot write there either.
                Err(error) => {
                    tracing::warn!(target: "crossfeed::gateway", %error, "cannot renew the claim to the session");
                }
            }
        }
    }

    async fn renew(&self) -> Result<Option<u64>, StoreError> {
        let renewed = write(&self.records, &self.key, Expected::Version(self.version)).await?;
        if renewed.is_some() {
            return Ok(renewed);
        }
        // It is over where this process slept; then nobody may have taken it.
        write(&self.records, &self.key, Expected::Absent).await
    }

    /// Gives the session back.
    pub async fn release(self) {
        // Another's claim stays.
        let found = self.records.read::<ClaimRecord>(&self.key).await;
        let is_own = found.map(|found| found.is_some_and(|found| found.version == self.version));
        let removed = match is_own {
            Ok(true) => self.records.remove(&self.key).await,
            Ok(false) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            tracing::warn!(target: "crossfeed::gateway", %error, "cannot give the session back");
        }
    }
}

async fn write(
    records: &Records,
    key: &Key,
    expected: Expected,
) -> Result<Option<u64>, StoreError> {
    let written = records.write(key, &ClaimRecord {}, expected, CLAIM_TIME);
    written.await
}

async fn claim(records: &Records, key: &Key, session: &str) -> Result<u64, ClaimError> {
    let failed = |source| ClaimError::Store {
        session: session.to_owned(),
        source,
    };
    let until = Instant::now() + CLAIM_TIME + RENEW_INTERVAL;
    let mut before = None;
    loop {
        let own = write(records, key, Expected::Absent).await;
        if let Some(own) = own.map_err(failed)? {
            return Ok(own);
        }
        let found = records.read::<ClaimRecord>(key).await.map_err(failed)?;
        let found = found.map(|Found { version, .. }| version);
        // It is renewed: who has it lives.
        let is_renewed = before.is_some() && found.is_some() && before != found;
        if is_renewed || Instant::now() > until {
            return Err(ClaimError::InUse {
                session: session.to_owned(),
            });
        }
        before = found;
        sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::GatewayConfig, records::fake::LastingStore};
    use crossfeed_core::{Engine, EngineOptions};
    use std::sync::Arc;

    async fn tools(store: &Arc<LastingStore>) -> Tools {
        let engine = Engine::new(EngineOptions::default(), store.clone());
        let tools = Tools::new(engine, Arc::new(GatewayConfig::default()));
        tools.with_records(store.clone()).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn one_process_has_a_session() {
        let store = LastingStore::new();
        let tools = tools(&store).await;
        let mut first = SessionClaim::take(&tools, "s").await.unwrap().unwrap();
        let other = SessionClaim::take(&tools, "other").await.unwrap();
        assert!(other.is_some());
        // As long as it is renewed, no other has it.
        let refused = tokio::select! {
            lost = first.hold() => panic!("{lost}"),
            second = SessionClaim::take(&tools, "s") => second.err().unwrap(),
        };
        let message = "another process serves the session `s`";
        assert_eq!(refused.to_string(), message);
        first.release().await;
        let second = SessionClaim::take(&tools, "s").await.unwrap().unwrap();
        second.release().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_was_killed_is_in_the_way_for_seconds() {
        let store = LastingStore::new();
        let tools = tools(&store).await;
        let mut killed = SessionClaim::take(&tools, "s").await.unwrap().unwrap();
        let began = Instant::now();
        let mut next = SessionClaim::take(&tools, "s").await.unwrap().unwrap();
        assert!(began.elapsed() < CLAIM_TIME + RENEW_INTERVAL);
        // One that was only stopped finds out, and leaves the other alone.
        tokio::select! {
            lost = killed.hold() => assert!(matches!(lost, ClaimError::InUse { .. })),
            lost = next.hold() => panic!("{lost}"),
        }
        killed.release().await;
        assert!(next.renew().await.unwrap().is_some());
        // One that slept alone goes on.
        sleep(2 * CLAIM_TIME).await;
        assert!(next.renew().await.unwrap().is_some());
    }
}
