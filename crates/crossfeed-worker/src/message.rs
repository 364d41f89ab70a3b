//! What a host asks and a worker answers: one line of JSON, and bytes behind it.

use crate::sandbox::Sandbox;
use bytes::Bytes;
use crossfeed_sql::SqlLimits;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::time::Duration;

/// What a host asks.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", tag = "ask")]
pub(crate) enum Request {
    /// Shut yourself off, and open a database: the first.
    Open(Opening),
    /// Import the JSON behind this.
    Import { name: String },
    /// Answer the statement behind this, about these results or all.
    Query { results: Option<Vec<String>> },
    /// Describe the tables of these results, or of all.
    Outline { results: Option<Vec<String>> },
}

/// How a worker begins.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Opening {
    pub(crate) memory_bytes: u64,
    millis: u64,
    sql_bytes: usize,
    rows: usize,
    answer_bytes: usize,
    value_bytes: usize,
    import_bytes: usize,
}

impl Opening {
    pub(crate) fn new(limits: &SqlLimits, memory_bytes: u64) -> Self {
        Self {
            memory_bytes,
            millis: u64::try_from(limits.time.as_millis()).unwrap_or(u64::MAX),
            sql_bytes: limits.sql_bytes,
            rows: limits.rows,
            answer_bytes: limits.answer_bytes,
            value_bytes: limits.value_bytes,
            import_bytes: limits.import_bytes,
        }
    }

    pub(crate) fn limits(&self) -> SqlLimits {
        SqlLimits::default()
            .with_time(Duration::from_millis(self.millis))
            .with_sql_bytes(self.sql_bytes)
            .with_rows(self.rows)
            .with_answer_bytes(self.answer_bytes)
            .with_value_bytes(self.value_bytes)
            .with_import_bytes(self.import_bytes)
    }
}

/// What a worker answers.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub(crate) enum Reply {
    Opened {
        sandbox: Sandbox,
    },
    Outlined(TableOutline),
    /// The rows stand behind this.
    Rows {
        rows: usize,
        is_cut: bool,
    },
    Failed(Fault),
}

/// Why a worker did not do as it was asked.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Fault {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) advice: String,
    /// Whether there was no memory for it.
    pub(crate) is_memory: bool,
}

/// Tables in few words, for a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct TableOutline {
    /// A line for each table: `call_1(id INTEGER): 2 rows`.
    pub text: String,
}

/// The rows that a statement gives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryAnswer {
    /// A list with an object for each row.
    pub json: Bytes,
    /// The rows in it.
    pub rows: usize,
    /// Whether there were more.
    pub is_cut: bool,
}

/// What stands before the bytes of a frame.
pub(crate) fn head(message: &impl Serialize) -> Vec<u8> {
    let mut head = serde_json::to_vec(message).unwrap_or_default();
    head.push(b'\n');
    head
}

/// A message and where the bytes behind it begin; `None` where it cannot be read.
pub(crate) fn read<M: DeserializeOwned>(frame: &[u8]) -> Option<(M, usize)> {
    let end = frame.iter().position(|byte| *byte == b'\n')?;
    Some((serde_json::from_slice(&frame[..end]).ok()?, end + 1))
}
