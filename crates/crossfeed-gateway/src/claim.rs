//! One process alone goes on with a named session: its claim is a record that lasts for seconds and is renewed meanwhile.

use crate::{
    records::{
        Key,
        owned::{Outcome, OwnedRecord},
    },
    tools::{Tools, unguessable},
};
use crossfeed_store::{StoreError, with_causes};
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
    session: String,
    record: OwnedRecord,
}

/// Only whose it is says something.
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
        let mut claim = Self {
            session: session.to_owned(),
            record: OwnedRecord::new(records, Key::new("claim", &[session]), unguessable()),
        };
        let until = Instant::now() + CLAIM_TIME + RENEW_INTERVAL;
        let mut before = None;
        loop {
            let written = claim.renew().await;
            let written = written.map_err(|source| ClaimError::Store {
                session: session.to_owned(),
                source,
            })?;
            let Outcome::Anothers(found) = written else {
                return Ok(Some(claim));
            };
            // It is renewed: who has it lives.
            let is_renewed = before.is_some_and(|before| before != found);
            if is_renewed || Instant::now() > until {
                return Err(claim.in_use());
            }
            before = Some(found);
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Renews the claim until another process has it: says so.
    pub async fn hold(&mut self) -> ClaimError {
        loop {
            sleep(RENEW_INTERVAL).await;
            match self.renew().await {
                Ok(Outcome::Written) => {}
                Ok(Outcome::Anothers(_)) => return self.in_use(),
                // Who cannot reach the store cannot write there either.
                Err(error) => {
                    tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot renew the claim to the session");
                }
            }
        }
    }

    async fn renew(&mut self) -> Result<Outcome, StoreError> {
        self.record.write(&ClaimRecord {}, CLAIM_TIME).await
    }

    fn in_use(&self) -> ClaimError {
        ClaimError::InUse {
            session: self.session.clone(),
        }
    }

    /// Gives the session back. Another's claim stays.
    pub async fn release(mut self) {
        if let Err(error) = self.record.end(CLAIM_TIME).await {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot give the session back");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::GatewayConfig, records::fake::LastingStore};
    use crossfeed_core::{Engine, EngineOptions};
    use std::sync::{Arc, atomic::Ordering};

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
        assert_eq!(next.renew().await.unwrap(), Outcome::Written);
        // One that slept alone goes on.
        sleep(2 * CLAIM_TIME).await;
        assert_eq!(next.renew().await.unwrap(), Outcome::Written);
    }

    #[tokio::test(start_paused = true)]
    async fn a_claim_is_known_again_whose_renewal_got_no_answer() {
        let store = LastingStore::new();
        let tools = tools(&store).await;
        let mut claim = SessionClaim::take(&tools, "s").await.unwrap().unwrap();
        let before = store.snapshot();
        for fault in ["answers", "past", "all"] {
            let is_lost = fault == "answers";
            store.loses_answers.store(is_lost, Ordering::Relaxed);
            assert_eq!(claim.renew().await.is_err(), is_lost);
            store.loses_answers.store(false, Ordering::Relaxed);
            match fault {
                "past" => store.go_back(before.clone()),
                "all" => store.lose_records(),
                _ => {}
            }
            assert_eq!(claim.renew().await.unwrap(), Outcome::Written, "{fault}");
        }
    }
}
