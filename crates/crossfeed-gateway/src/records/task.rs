//! Which servers began a task of a principal, for all processes over one store.

use super::{
    Found, Key, Records,
    owned::{MAX_ATTEMPTS, contended},
};
use crossfeed_json::Cursor;
use crossfeed_store::{Expected, StoreError};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, time::Duration};

/// How long a record lasts at least, and at most; a server may remember a task for longer or forget it before.
const MIN_TIME: Duration = Duration::from_secs(60 * 60);
const MAX_TIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The same of a task of which its server does not say how long it remembers it.
const DEFAULT_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Servers that began a task of one id: from the second on no request about it is answered.
const MAX_SERVERS: usize = 8;

/// The member of parameters and results that names a task.
pub(crate) const ID: &str = "taskId";

/// The task that the result of a request stands for.
pub(crate) struct BegunTask {
    pub(crate) id: String,
    /// For how many milliseconds its server remembers it, if that is said.
    pub(crate) ttl: Option<u64>,
}

impl BegunTask {
    /// That of a result, if it stands for one: in either form of the protocol.
    pub(crate) fn of(result: Cursor<'_>) -> Option<Self> {
        let id = |task: Cursor<'_>| Some(task.get(ID)?.as_str()?.into_owned());
        // `null` is without end.
        let ttl = |task: Cursor<'_>, key| {
            let ttl = serde_json::from_slice::<Option<u64>>(task.get(key)?.raw()).ok()?;
            Some(ttl.unwrap_or(u64::MAX))
        };
        if let Some(task) = result.get("task")
            && let Some(id) = id(task)
        {
            let ttl = ttl(task, "ttl");
            return Some(Self { id, ttl });
        }
        let kind = result.get("resultType").and_then(Cursor::as_str);
        (kind.as_deref() == Some("task")).then_some(())?;
        Some(Self {
            id: id(result)?,
            ttl: ttl(result, "ttlMs"),
        })
    }
}

/// What is recorded of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskRecord {
    /// The names of the servers that began a task of this id.
    pub(crate) servers: BTreeSet<String>,
}

/// The tasks of one principal, or of one session.
pub(crate) struct TaskRecords {
    records: Records,
    owner: [String; 2],
}

/// How long the record of a task lasts that its server remembers for so many milliseconds.
pub(crate) fn time_of(ttl: Option<u64>) -> Duration {
    ttl.map_or(DEFAULT_TIME, |ttl| {
        Duration::from_millis(ttl).clamp(MIN_TIME, MAX_TIME)
    })
}

impl TaskRecords {
    /// Those of an owner: who began them, and in which session, if others of the same do not have them.
    pub(crate) fn new(records: &Records, owner: [String; 2]) -> Self {
        let records = records.clone();
        Self { records, owner }
    }

    fn key(&self, task: &str) -> Key {
        let [principal, session] = &self.owner;
        Key::new("task", &[principal, session, task])
    }

    /// What is recorded of a task.
    pub(crate) async fn find(&self, task: &str) -> Result<Option<TaskRecord>, StoreError> {
        let found = self.records.read(&self.key(task)).await?;
        Ok(found.map(|found| found.value))
    }

    /// Records that a server began a task; returns what is recorded then, other servers included.
    pub(crate) async fn begin(
        &self,
        task: &str,
        server: &str,
        time: Duration,
    ) -> Result<TaskRecord, StoreError> {
        let key = self.key(task);
        let mut record = TaskRecord::default();
        let (mut expected, mut time) = (Expected::Absent, time);
        for _ in 0..MAX_ATTEMPTS {
            if record.servers.len() < MAX_SERVERS {
                record.servers.insert(server.to_owned());
            }
            let written = self.records.keep(&key, &record, expected, time);
            if written.await?.is_some() {
                return Ok(record);
            }
            (record, expected) = match self.records.read::<TaskRecord>(&key).await? {
                Some(Found { value, version }) => (value, Expected::Version(version)),
                None => (TaskRecord::default(), Expected::Absent),
            };
            if record.servers.iter().any(|other| other != server) {
                // As long as the task of the other may last.
                time = MAX_TIME;
            }
        }
        Err(contended())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::fake::LastingStore;
    use std::sync::Arc;

    #[test]
    fn a_record_lasts_as_its_task_within_bounds() {
        let hours = |hours: u64| Duration::from_secs(hours * 60 * 60);
        assert_eq!(time_of(None), hours(24));
        assert_eq!(time_of(Some(0)), hours(1));
        assert_eq!(time_of(Some(2 * 60 * 60 * 1000)), hours(2));
        assert_eq!(time_of(Some(u64::MAX)), hours(7 * 24));
    }

    #[tokio::test(start_paused = true)]
    async fn servers_that_began_the_same_id_are_all_there_and_bounded() {
        let store = LastingStore::new();
        let records = Records::of(store).unwrap();
        let owner = |name: &str| [name.to_owned(), String::new()];
        let ada = Arc::new(TaskRecords::new(&records, owner("ada")));
        let hour = MIN_TIME;
        let begun = ["a", "b", "c"].map(|server| {
            let ada = Arc::clone(&ada);
            tokio::spawn(async move { ada.begin("t", server, hour).await.unwrap() })
        });
        for begun in begun {
            begun.await.unwrap();
        }
        let servers = ada.find("t").await.unwrap().unwrap().servers;
        assert_eq!(servers.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(ada.find("u").await.unwrap(), None);
        let bob = TaskRecords::new(&records, owner("bob"));
        assert_eq!(bob.find("t").await.unwrap(), None);
        for server in 0..20 {
            let record = ada.begin("t", &format!("d{server}"), hour).await.unwrap();
            assert!(record.servers.len() <= MAX_SERVERS);
        }
        bob.begin("t", "a", hour).await.unwrap();
        tokio::time::sleep(hour).await;
        assert_eq!(bob.find("t").await.unwrap(), None);
        assert!(ada.find("t").await.unwrap().is_some());
    }
}
