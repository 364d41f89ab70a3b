//! Reads records of results, one JSON object per line, or one document that is a result. Results and artifacts keep the bytes
//! of the file. A line that is not a record is an error; invalid content of a result is not.

use crate::{
    cli::Kind,
    document, input,
    report::{CommandError, Result, Streams},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use clap::ValueEnum;
use crossfeed::{
    CallId, Engine, EngineOptions, Scope, Session, ToolResult,
    artifact::{ArtifactId, StoredArtifact},
    error::ScopeError,
    json::Document,
    store::{MemoryLimits, MemoryStore},
};
use serde_json::value::RawValue;
use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

/// The media type of unknown bytes.
pub(crate) const ANY_MEDIA_TYPE: &str = "application/octet-stream";

/// A store for the input of a command, which never evicts anything.
pub(crate) fn store() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(plenty()))
}

/// Limits that no input reaches.
pub(crate) fn plenty() -> MemoryLimits {
    const PLENTY: usize = isize::MAX.unsigned_abs();
    MemoryLimits::default()
        .with_session_bytes(PLENTY)
        .with_total_bytes(PLENTY)
        .with_session_results(PLENTY)
        .with_artifact_bytes(PLENTY)
        .with_session_artifacts(PLENTY)
        .with_time_to_live(Duration::MAX)
        .with_max_age(Duration::MAX)
}

/// The scope of a session. The command line has one tenant with one project.
pub(crate) fn scope(session: &str) -> Result<Scope, ScopeError> {
    Scope::parse("local", "local", session)
}

/// The scope of the session that a command names.
pub(crate) fn named_scope(session: &str) -> Result<Scope> {
    scope(session).map_err(|error| {
        CommandError::usage(format!("`{session}` is not a session: {}", error.source))
    })
}

/// A session with the single result of a command.
pub(crate) async fn session(
    options: EngineOptions,
    call_id: &CallId,
    file: &Path,
    kind: Option<Kind>,
    io: &mut Streams<'_>,
) -> Result<Session> {
    let document = document::read(file, kind, io)?;
    session_of(options, call_id, document, kind).await
}

/// A session with a document as its single result.
pub(crate) async fn session_of(
    options: EngineOptions,
    call_id: &CallId,
    document: Document,
    kind: Option<Kind>,
) -> Result<Session> {
    let options = with_room(options, document.raw().len());
    let session = Engine::new(options, store()).session(named_scope("default")?);
    session.record(call_id, result(document, kind)).await?;
    Ok(session)
}

/// Raises the limits of options to the size of the input, so that all of it can be selected.
pub(crate) fn with_room(mut options: EngineOptions, bytes: usize) -> EngineOptions {
    let limits = &mut options.select.limits;
    limits.output_bytes = limits.output_bytes.max(bytes);
    options.max_resolved_bytes = options.max_resolved_bytes.max(bytes);
    options
}

/// A document as a result of its kind.
pub(crate) fn result(document: Document, kind: Option<Kind>) -> ToolResult {
    let bytes = || document.raw().clone();
    match kind {
        None => ToolResult::undeclared_document(document),
        Some(Kind::Json) => ToolResult::json_document(document),
        Some(Kind::Mcp) => ToolResult::mcp_document(document),
        Some(Kind::Bytes) => ToolResult::bytes(bytes(), ANY_MEDIA_TYPE),
        Some(Kind::Text) => match std::str::from_utf8(document.raw()) {
            Ok(text) => ToolResult::text(text),
            // Text in another encoding stays bytes.
            Err(_) => ToolResult::bytes(bytes(), ANY_MEDIA_TYPE),
        },
    }
}

/// One line.
#[derive(Debug)]
pub(crate) struct Record {
    /// Its number in the file, from 1.
    pub(crate) line: usize,
    /// The scope of the session that it names.
    pub(crate) scope: Option<Scope>,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Result(CallId, ToolResult),
    Artifact(StoredArtifact),
}

/// A line that is not a record.
#[derive(Debug, PartialEq, Eq)]
struct NoRecord {
    pub(crate) line: usize,
    pub(crate) why: String,
}

/// All records of the file at a path.
pub(crate) fn of_file(file: &Bytes, path: &Path) -> Result<Vec<Record>> {
    read(file).map_err(|NoRecord { line, why }| {
        let file = input::name(path);
        CommandError::usage(format!("line {line} of {file} is not a record: {why}"))
    })
}

/// All records of a file.
fn read(file: &Bytes) -> Result<Vec<Record>, NoRecord> {
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut records = Vec::new();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let number = index + 1;
        let record = Line::parse(file, line).and_then(|line| line.record(number));
        records.push(record.map_err(|why| NoRecord { line: number, why })?);
    }
    Ok(records)
}

/// The members of a line, not parsed further: results may nest to any depth.
struct Line<'f> {
    file: &'f Bytes,
    members: HashMap<String, &'f RawValue>,
}

impl<'f> Line<'f> {
    fn parse(file: &'f Bytes, line: &'f [u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8".to_owned())?;
        if !text.trim_start().starts_with('{') {
            return Err("it is not a JSON object".to_owned());
        }
        match serde_json::from_str(text) {
            Ok(members) => Ok(Self { file, members }),
            Err(error) => {
                // The line within the line is always the first.
                let place = format!(" at line {} column {}", error.line(), error.column());
                let what = error.to_string().replace(&place, "");
                Err(format!(
                    "it is not valid JSON: {what} at column {}",
                    error.column()
                ))
            }
        }
    }

    fn record(&self, line: usize) -> Result<Record, String> {
        let call_id = self.string("call_id")?.ok_or("it needs `call_id`")?;
        let call_id =
            CallId::parse(&call_id).map_err(|e| format!("`call_id` is not an id: {e}"))?;
        let content = match self.string("artifact_id")? {
            None => {
                let result = self
                    .raw("result")
                    .ok_or("it needs `result` or `artifact_id`")?;
                Content::Result(call_id, self.result(result)?)
            }
            Some(id) => {
                let id = ArtifactId::parse(&id);
                let id = id.map_err(|e| format!("`artifact_id` is not an id: {e}"))?;
                let data = self.raw("data").ok_or("an artifact needs `data`")?;
                let artifact = StoredArtifact::new(id, call_id, Document::new(data));
                let blocked = self.boolean("retrieval_blocked")?;
                Content::Artifact(artifact.with_retrieval_blocked(blocked))
            }
        };
        let scope = self.string("session")?.map(|name| scope(&name)).transpose();
        Ok(Record {
            line,
            scope: scope.map_err(|error| format!("`session` is not an id: {}", error.source))?,
            content,
        })
    }

    fn result(&self, json: Bytes) -> Result<ToolResult, String> {
        let kind = self.string("kind")?;
        let kind = kind.map(|text| {
            Kind::from_str(&text, false)
                .map_err(|_| format!("`kind` must be json, mcp, text or bytes, not `{text}`"))
        });
        let mut result = match kind.transpose()? {
            None => ToolResult::undeclared(json),
            Some(Kind::Json) => ToolResult::json(json),
            Some(Kind::Mcp) => ToolResult::mcp(json),
            Some(Kind::Text) => {
                let text = decoded(&json).unwrap_or_else(|| String::from_utf8_lossy(&json).into());
                ToolResult::text(text)
            }
            Some(Kind::Bytes) => bytes(&json),
        };
        if let Some(tool) = self.string("tool")? {
            result = result.with_tool(tool);
        }
        result = result.with_repeatable(self.boolean("repeatable")?);
        Ok(if self.boolean("failed")? {
            result.failed()
        } else {
            result
        })
    }

    /// A member in the bytes in which it stands in the file, `null` included.
    fn raw(&self, key: &str) -> Option<Bytes> {
        let raw = self.members.get(key)?.get().as_bytes();
        Some(self.file.slice_ref(raw))
    }

    /// A member that is neither absent nor `null`.
    fn given(&self, key: &str) -> Option<&'f str> {
        let text = self.members.get(key)?.get();
        (text != "null").then_some(text)
    }

    fn string(&self, key: &str) -> Result<Option<String>, String> {
        let read =
            |text| serde_json::from_str(text).map_err(|_| format!("`{key}` must be a string"));
        self.given(key).map(read).transpose()
    }

    fn boolean(&self, key: &str) -> Result<bool, String> {
        match self.given(key) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(format!("`{key}` must be true or false")),
        }
    }
}

/// The text of a JSON string.
fn decoded(json: &Bytes) -> Option<String> {
    let document = Document::new(json.clone());
    Some(document.root().ok()?.as_str()?.into_owned())
}

/// Bytes in JSON: base64, alone or with a media type.
fn bytes(json: &Bytes) -> ToolResult {
    let document = Document::new(json.clone());
    let root = document.root().ok();
    let member = |key| root?.get(key)?.as_str();
    let Some(data) = root.and_then(|r| r.as_str()).or_else(|| member("data")) else {
        return ToolResult::bytes(json.clone(), ANY_MEDIA_TYPE);
    };
    let media_type = member("mimeType");
    let content = STANDARD
        .decode(data.as_bytes())
        .unwrap_or_else(|_| data.as_bytes().to_vec());
    ToolResult::bytes(content, media_type.as_deref().unwrap_or(ANY_MEDIA_TYPE))
}

#[cfg(test)]
mod tests {
    use super::{NoRecord, read};
    use bytes::Bytes;

    fn check(file: &str, expected: Result<usize, (usize, &str)>) {
        let read = read(&Bytes::from(file.to_owned())).map(|records| records.len());
        let expected = expected.map_err(|(line, why)| NoRecord {
            line,
            why: why.to_owned(),
        });
        assert_eq!(read, expected, "{file}");
    }

    #[test]
    fn lines_are_records_or_say_why_not() {
        check("", Ok(0));
        check(
            "\u{feff}{\"call_id\":\"c\",\"result\":null}\r\n \n\n",
            Ok(1),
        );
        check(
            r#"{"call_id":"c","result":1,"kind":null,"failed":null,"x":[1e999]}"#,
            Ok(1),
        );
        check(r#"{"artifact_id":null,"call_id":"c","result":1}"#, Ok(1));
        check(r#"{"artifact_id":"a","call_id":"c","data":null}"#, Ok(1));
        check("\n[1]", Err((2, "it is not a JSON object")));
        check(r#"{"result":1}"#, Err((1, "it needs `call_id`")));
        check(
            r#"{"call_id":"c"}"#,
            Err((1, "it needs `result` or `artifact_id`")),
        );
        check(
            r#"{"call_id":7,"result":1}"#,
            Err((1, "`call_id` must be a string")),
        );
        check(
            r#"{"call_id":"","result":1}"#,
            Err((1, "`call_id` is not an id: an id must not be empty")),
        );
        check(
            r#"{"artifact_id":"a","call_id":"c","result":1}"#,
            Err((1, "an artifact needs `data`")),
        );
        check(
            r#"{"call_id":"c","result":1,"failed":"yes"}"#,
            Err((1, "`failed` must be true or false")),
        );
        check(
            r#"{"call_id":"c","result":1,"kind":"xml"}"#,
            Err((1, "`kind` must be json, mcp, text or bytes, not `xml`")),
        );
        check(
            r#"{"call_id":"c","result":1,"session":""}"#,
            Err((1, "`session` is not an id: an id must not be empty")),
        );
        check(
            r#"{"call_id":"c","result":[1,}"#,
            Err((1, "it is not valid JSON: expected value at column 28")),
        );
    }
}
