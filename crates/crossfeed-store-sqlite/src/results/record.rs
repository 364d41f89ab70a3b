//! What a row says of a result. It can tell whether it is as it was written, but for its last use, which changes.
//!
//! Where its data came from has a digest of its own: older versions, which do not know of it, go by the row's.

use super::rows::scope_values;
use crate::header::{digest, parsed, unreadable};
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_store::{Digest, Listed, ResultKind, StoredResult, Tombstone};
use crossfeed_wire::{CallId, Scope, TraceContext};
use rusqlite::{Result, Row};
use std::sync::Arc;

/// Everything about a result but its bytes.
pub(super) struct Header {
    /// No two rows ever have the same.
    pub(super) number: i64,
    pub(super) call_id: CallId,
    pub(super) recorded_at: i64,
    /// Not in the digest, since it changes.
    pub(super) used_at: i64,
    pub(super) kept_bytes: usize,
    pub(super) kind: ResultKind,
    pub(super) failed: bool,
    pub(super) repeatable: bool,
    pub(super) media_type: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) server: Option<String>,
    pub(super) trace: Option<Vec<u8>>,
    /// Where its data came from, and the digest of that.
    pub(super) sources: Option<(String, Digest)>,
    pub(super) arguments_digest: Option<Digest>,
    pub(super) data_bytes: usize,
    pub(super) data_digest: Digest,
    pub(super) in_file: bool,
    pub(super) written: Digest,
}

pub(super) const COLUMNS: &str = "number, call_id, recorded_at, used_at, kept_bytes, kind, failed, repeatable, media_type, \
                       tool, server, trace, arguments_digest, data_bytes, data_digest, in_file, digest, \
                       sources";

impl Header {
    /// The row for a result that is not there yet.
    pub(super) fn new(call: &CallId, result: &StoredResult, now: i64, file_bytes: usize) -> Self {
        let data = result.document().raw();
        let data_digest = Digest::of(data);
        Self {
            number: 0,
            call_id: call.clone(),
            recorded_at: now,
            used_at: now,
            kept_bytes: kept_bytes(result),
            kind: result.kind(),
            failed: result.failed(),
            repeatable: result.repeatable(),
            media_type: result.media_type().map(str::to_owned),
            tool: result.tool().map(str::to_owned),
            server: result.server().map(|server| server.to_string()),
            trace: result.trace().map(trace_bytes),
            sources: result.sources().map(|text| (text.to_string(), data_digest)),
            arguments_digest: result.arguments().map(|arguments| Digest::of(arguments)),
            data_bytes: data.len(),
            data_digest,
            in_file: data.len() > file_bytes,
            written: data_digest,
        }
    }

    pub(super) fn read(row: &Row<'_>) -> Result<Self> {
        let has_arguments = row.get_ref("arguments_digest")? != rusqlite::types::ValueRef::Null;
        Ok(Self {
            number: row.get("number")?,
            call_id: parsed(row, "call_id", CallId::parse)?,
            recorded_at: row.get("recorded_at")?,
            used_at: row.get("used_at")?,
            kept_bytes: row.get("kept_bytes")?,
            kind: kind_of(&row.get::<_, String>("kind")?)?,
            failed: row.get("failed")?,
            repeatable: row.get("repeatable")?,
            media_type: row.get("media_type")?,
            tool: row.get("tool")?,
            server: row.get("server")?,
            trace: row.get("trace")?,
            sources: row
                .get::<_, Option<Vec<u8>>>("sources")?
                .map(sources_of)
                .transpose()?,
            arguments_digest: if has_arguments {
                Some(digest(row, "arguments_digest")?)
            } else {
                None
            },
            data_bytes: row.get("data_bytes")?,
            data_digest: digest(row, "data_digest")?,
            in_file: row.get("in_file")?,
            written: digest(row, "digest")?,
        })
    }

    /// The digest of everything that stays as it was recorded.
    pub(super) fn digest(&self, scope: &Scope) -> Digest {
        let [tenant, project, session] = scope_values(scope);
        let flags = [self.failed, self.repeatable, self.in_file].map(u8::from);
        Digest::of_parts([
            Some(tenant.as_bytes()),
            Some(project.as_bytes()),
            Some(session.as_bytes()),
            Some(self.call_id.as_str().as_bytes()),
            Some(&self.recorded_at.to_le_bytes()),
            Some(&(self.kept_bytes as u64).to_le_bytes()),
            Some(kind_name(self.kind).as_bytes()),
            Some(&flags),
            self.media_type.as_deref().map(str::as_bytes),
            self.tool.as_deref().map(str::as_bytes),
            self.server.as_deref().map(str::as_bytes),
            self.trace.as_deref(),
            self.arguments_digest
                .as_ref()
                .map(|digest| &digest.as_bytes()[..]),
            Some(&(self.data_bytes as u64).to_le_bytes()),
            Some(self.data_digest.as_bytes()),
        ])
    }

    /// The sources as they stand in a row of this digest: behind their own.
    pub(super) fn sources_bytes(&self, row: &Digest) -> Option<Vec<u8>> {
        let (text, _) = self.sources.as_ref()?;
        Some([sources_digest(row, text).as_bytes(), text.as_bytes()].concat())
    }

    /// Whether the row is as it was written, for that call.
    pub(super) fn is_whole(&self, scope: &Scope) -> bool {
        let sources = self.sources.as_ref();
        self.digest(scope) == self.written
            && sources.is_none_or(|(text, own)| sources_digest(&self.written, text) == *own)
    }

    /// See [`StoredResult::is_same_record`].
    pub(super) fn is_same_record(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.failed == other.failed
            && self.data_bytes == other.data_bytes
            && self.data_digest == other.data_digest
    }

    /// How the call can be repeated.
    pub(super) fn tombstone(&self, arguments: Option<&[u8]>) -> Tombstone {
        let tool = self.tool.as_deref().map(Arc::from);
        Tombstone::new(tool, arguments).with_repeatable(self.repeatable)
    }

    /// The result, with its arguments and bytes.
    pub(super) fn result(self, arguments: Option<Vec<u8>>, data: Vec<u8>) -> StoredResult {
        let mut result = StoredResult::new(Document::new(data), self.kind)
            .with_failed(self.failed)
            .with_repeatable(self.repeatable);
        if let Some(media_type) = self.media_type {
            result = result.with_media_type(media_type);
        }
        if let Some(tool) = self.tool {
            result = result.with_tool(tool);
        }
        if let Some(server) = self.server {
            result = result.with_server(server);
        }
        if let Some(arguments) = arguments {
            result = result.with_arguments(Bytes::from(arguments));
        }
        if let Some(trace) = self.trace.as_deref().and_then(trace_of) {
            result = result.with_trace(trace);
        }
        if let Some((sources, _)) = self.sources {
            result = result.with_sources(sources);
        }
        result
    }

    /// The line of a list.
    pub(super) fn line(self) -> Listed {
        Listed::new(self.call_id, self.kind, self.data_bytes)
            .with_tool(self.tool.map(Into::into))
            .with_failed(self.failed)
    }
}

/// The bytes that limits count.
pub(super) fn kept_bytes(result: &StoredResult) -> usize {
    result.document().raw().len()
        + result.arguments().map_or(0, Bytes::len)
        + result.sources().map_or(0, |sources| sources.len())
}

/// The digest of sources, for a row of this one: those of another row do not fit.
fn sources_digest(row: &Digest, text: &str) -> Digest {
    Digest::of_parts([Some(&row.as_bytes()[..]), Some(text.as_bytes())])
}

/// The sources of a row and their digest.
fn sources_of(mut bytes: Vec<u8>) -> Result<(String, Digest)> {
    if bytes.len() < Digest::BYTES {
        return Err(unreadable("sources without a digest".into()));
    }
    let text = bytes.split_off(Digest::BYTES);
    let own = Digest::try_from(&bytes[..]).map_err(|error| unreadable(Box::new(error)))?;
    let text = String::from_utf8(text).map_err(|error| unreadable(Box::new(error)))?;
    Ok((text, own))
}

/// How a kind is written in a row. Never changed.
pub(super) fn kind_name(kind: ResultKind) -> &'static str {
    match kind {
        ResultKind::Undeclared => "undeclared",
        ResultKind::Json => "json",
        ResultKind::Mcp => "mcp",
        ResultKind::Text => "text",
        ResultKind::Bytes => "bytes",
    }
}

fn kind_of(name: &str) -> Result<ResultKind> {
    let kinds = [
        ResultKind::Undeclared,
        ResultKind::Json,
        ResultKind::Mcp,
        ResultKind::Text,
        ResultKind::Bytes,
    ];
    let kind = kinds.into_iter().find(|kind| kind_name(*kind) == name);
    kind.ok_or_else(|| unreadable("an unknown kind of result".into()))
}

/// A place in a trace: its ids, flags, and what vendors say.
fn trace_bytes(trace: &TraceContext) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(trace.trace_id());
    bytes.extend(trace.span_id());
    bytes.push(trace.flags());
    bytes.extend(trace.tracestate().unwrap_or_default().as_bytes());
    bytes
}

fn trace_of(bytes: &[u8]) -> Option<TraceContext> {
    let (trace_id, rest) = bytes.split_first_chunk()?;
    let (span_id, rest) = rest.split_first_chunk()?;
    let (flags, state) = rest.split_first()?;
    let trace = TraceContext::new(*trace_id, *span_id, *flags).ok()?;
    Some(trace.with_tracestate(std::str::from_utf8(state).ok()?))
}
