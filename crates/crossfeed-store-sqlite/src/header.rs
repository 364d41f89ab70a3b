//! A row's facts about its artifact, and the check that the row is undamaged.
//!
//! A header is everything about an artifact but its data.

use crate::rows::Name;
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_store::{Digest, ListedArtifact, StoredArtifact};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use rusqlite::{Result, Row, types::Type};
use std::time::Duration;

/// Everything about an artifact but its data.
pub(crate) struct Header {
    /// No two rows ever have the same.
    pub(crate) number: i64,
    pub(crate) artifact_id: ArtifactId,
    pub(crate) call_id: CallId,
    pub(crate) recorded_at: i64,
    pub(crate) expires_at: Option<i64>,
    pub(crate) kept_bytes: usize,
    pub(crate) blocked: bool,
    pub(crate) tool: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) details: Vec<(String, String)>,
    pub(crate) data_bytes: usize,
    pub(crate) data_digest: Digest,
    pub(crate) in_file: bool,
    pub(crate) summary: Option<Vec<u8>>,
    /// The digest of the row, as it was written.
    written: Digest,
}

/// Milliseconds, as rows have them.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) const COLUMNS: &str = "number, artifact_id, call_id, recorded_at, expires_at, kept_bytes, blocked, \
                       tool, base, details, data_bytes, data_digest, in_file, digest, summary";

impl Header {
    /// The row for an artifact that is not there yet.
    pub(crate) fn new(
        artifact: &StoredArtifact,
        recorded_at: i64,
        expires_at: Option<i64>,
        data_digest: Digest,
        in_file: bool,
    ) -> Self {
        Self {
            number: 0,
            artifact_id: artifact.artifact_id().clone(),
            call_id: artifact.call_id().clone(),
            recorded_at,
            expires_at,
            kept_bytes: artifact.stored_bytes(),
            blocked: artifact.retrieval_blocked(),
            tool: artifact.tool().map(str::to_owned),
            base: artifact.base().map(str::to_owned),
            details: artifact.details().to_vec(),
            data_bytes: artifact.document().raw().len(),
            data_digest,
            in_file,
            summary: artifact.summary().map(|summary| summary.raw().to_vec()),
            written: data_digest,
        }
    }

    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let details: String = row.get("details")?;
        Ok(Self {
            number: row.get("number")?,
            artifact_id: parsed(row, "artifact_id", ArtifactId::parse)?,
            call_id: parsed(row, "call_id", CallId::parse)?,
            recorded_at: row.get("recorded_at")?,
            expires_at: row.get("expires_at")?,
            kept_bytes: row.get("kept_bytes")?,
            blocked: row.get("blocked")?,
            tool: row.get("tool")?,
            base: row.get("base")?,
            details: serde_json::from_str(&details).map_err(|error| unreadable(Box::new(error)))?,
            data_bytes: row.get("data_bytes")?,
            data_digest: digest(row, "data_digest")?,
            in_file: row.get("in_file")?,
            summary: row.get("summary")?,
            written: digest(row, "digest")?,
        })
    }

    /// The digest of everything that the row says.
    pub(crate) fn digest(&self, scope: &Scope) -> Digest {
        let details = details_text(&self.details);
        let expires_at = self.expires_at.map(i64::to_le_bytes);
        Digest::of_parts([
            Some(scope.tenant().as_bytes()),
            Some(scope.project().as_bytes()),
            Some(scope.session().as_bytes()),
            Some(self.artifact_id.as_str().as_bytes()),
            Some(self.call_id.as_str().as_bytes()),
            Some(&self.recorded_at.to_le_bytes()),
            expires_at.as_ref().map(|bytes| &bytes[..]),
            Some(&(self.kept_bytes as u64).to_le_bytes()),
            Some(&[u8::from(self.blocked), u8::from(self.in_file)]),
            self.tool.as_deref().map(str::as_bytes),
            self.base.as_deref().map(str::as_bytes),
            Some(details.as_bytes()),
            Some(&(self.data_bytes as u64).to_le_bytes()),
            Some(self.data_digest.as_bytes()),
            self.summary.as_deref(),
        ])
    }

    /// Whether the row is as it was written.
    pub(crate) fn is_whole(&self, scope: &Scope) -> bool {
        self.digest(scope) == self.written
    }

    pub(crate) fn has_name(&self, (_, artifact_id, call_id): &Name) -> bool {
        self.artifact_id == *artifact_id && self.call_id == *call_id
    }

    pub(crate) fn has_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Whether the row says the same as one for an artifact of the same name, see
    /// [`StoredArtifact::is_same_record`].
    pub(crate) fn is_same_record(&self, other: &Self) -> bool {
        self.data_bytes == other.data_bytes
            && self.data_digest == other.data_digest
            && self.blocked == other.blocked
            && self.summary == other.summary
    }

    /// The artifact, with its data.
    pub(crate) fn artifact(self, data: Bytes) -> StoredArtifact {
        let mut artifact = StoredArtifact::new(self.artifact_id, self.call_id, Document::new(data))
            .with_retrieval_blocked(self.blocked);
        if let Some(summary) = self.summary {
            artifact = artifact.with_summary(Document::new(summary));
        }
        if let Some(tool) = self.tool {
            artifact = artifact.with_tool(tool);
        }
        if let Some(base) = self.base {
            artifact = artifact.with_base(base);
        }
        for (name, selector) in self.details {
            artifact = artifact.with_detail(name, selector);
        }
        artifact
    }

    /// The line of a list.
    pub(crate) fn line(self) -> ListedArtifact {
        ListedArtifact::new(self.artifact_id, self.call_id, self.data_bytes)
            .with_tool(self.tool.map(Into::into))
            .with_retrieval_blocked(self.blocked)
            .with_summary(self.summary.map(Bytes::from))
    }
}

pub(crate) fn details_text(details: &[(String, String)]) -> String {
    // Pairs of texts can always be written.
    serde_json::to_string(details).unwrap_or_default()
}

pub(crate) fn parsed<T, E>(
    row: &Row<'_>,
    column: &str,
    parse: fn(&str) -> std::result::Result<T, E>,
) -> Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let text: String = row.get(column)?;
    parse(&text).map_err(|error| unreadable(Box::new(error)))
}

pub(crate) fn scope(row: &Row<'_>) -> Result<Scope> {
    let part = |column: &str| row.get::<_, String>(column);
    let scope = Scope::parse(&part("tenant")?, &part("project")?, &part("session")?);
    scope.map_err(|error| unreadable(Box::new(error)))
}

pub(crate) fn digest(row: &Row<'_>, column: &str) -> Result<Digest> {
    let bytes: Vec<u8> = row.get(column)?;
    Digest::try_from(&bytes[..]).map_err(|error| unreadable(Box::new(error)))
}

pub(crate) fn unreadable(error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error)
}

/// Whether SQLite has given a row, but not one that can have been written.
pub(crate) fn is_unreadable(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}
