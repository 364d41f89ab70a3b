//! Whose data went to calls that were asked back, as records of the store: where there are flow rules, such a call may go
//! on at another process.
//!
//! # What holds
//!
//! - A state that a server gives to several calls of a client holds the data of all of them.
//! - Where a record cannot be written it is removed: other processes then know nothing, rather than too little.
//! - Where it cannot be removed either, the client does not get the state.

use super::flow::{Flows, Sources};
use crate::records::{
    Key, Records,
    owned::{MAX_ATTEMPTS, contended},
};
use crossfeed_store::{Expected, StoreError, with_causes};
use crossfeed_wire::Scope;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long the client may take to answer.
pub(super) const ROUND_TIME: Duration = Duration::from_secs(60 * 60);

/// The records of one client.
pub(super) struct KeptRounds {
    records: Records,
    client: Scope,
}

#[derive(Serialize, Deserialize)]
struct RoundRecord {
    sources: String,
}

/// What the records say of a state.
pub(super) enum KeptRound {
    Sources(Sources),
    /// Whose data it holds is unknown.
    Unknown,
    Absent,
}

impl KeptRounds {
    /// The records of the client of a scope.
    pub(super) fn new(records: Records, client: Scope) -> Self {
        Self { records, client }
    }

    fn key(&self, tool: &str, state: &[u8; 32]) -> Key {
        let (client, state) = (&self.client, HEXLOWER.encode(state));
        let parts = [
            client.tenant(),
            client.project(),
            client.session(),
            tool,
            &state,
        ];
        Key::new("rounds", &parts)
    }

    /// Notes whose data went to the call of a tool that was answered with a state; whether that is recorded.
    ///
    /// # Errors
    ///
    /// Other processes may know of other calls that were answered with the state, and not of this one.
    pub(super) async fn keep(
        &self,
        flows: &Flows,
        tool: &str,
        state: &[u8; 32],
        sources: &Sources,
    ) -> Result<bool, StoreError> {
        let key = self.key(tool, state);
        let Err(error) = self.write(flows, &key, sources.clone()).await else {
            return Ok(true);
        };
        self.records.remove(&key).await?;
        tracing::warn!(
            target: "crossfeed::gateway::flow",
            error = with_causes(&error),
            "cannot record whose data a `requestState` holds: the call can only go on at this process"
        );
        Ok(false)
    }

    async fn write(
        &self,
        flows: &Flows,
        key: &Key,
        mut sources: Sources,
    ) -> Result<(), StoreError> {
        let mut expected = Expected::Absent;
        for _ in 0..MAX_ATTEMPTS {
            let Some(text) = flows.write(sources.clone()) else {
                return Ok(());
            };
            let record = RoundRecord { sources: text };
            let written = self.records.write(key, &record, expected, ROUND_TIME);
            if written.await?.is_some() {
                return Ok(());
            }
            expected = match self.records.read::<RoundRecord>(key).await? {
                Some(found) => {
                    let Some(before) = flows.read(&found.value.sources) else {
                        // Unknown it stays.
                        return Ok(());
                    };
                    sources.extend(&before);
                    Expected::Version(found.version)
                }
                None => Expected::Absent,
            };
        }
        Err(contended())
    }

    /// Whose data a state of a tool holds.
    pub(super) async fn find(
        &self,
        flows: &Flows,
        tool: &str,
        state: &[u8; 32],
    ) -> Result<KeptRound, StoreError> {
        let key = self.key(tool, state);
        Ok(match self.records.read::<RoundRecord>(&key).await? {
            None => KeptRound::Absent,
            Some(found) => {
                let known = flows.read(&found.value.sources);
                known.map_or(KeptRound::Unknown, KeptRound::Sources)
            }
        })
    }
}
