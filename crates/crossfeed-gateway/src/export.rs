//! What a stored result is outside of the gateway: what a file or a resource holds of it.
//!
//! It is what a reference to the result brings, so that it is bounded. What the configuration withholds was taken out when
//! the result arrived.

use crate::apart::apart;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use crossfeed_core::{Failure, LineageEntry, Notices, Session};
use crossfeed_json::{Cursor, Document};
use crossfeed_wire::{ArtifactId, CallId, ErrorBody, ErrorCode, Pointer};
use serde_json::json;
use std::borrow::Cow;

/// What is wanted: a result or an artifact, or what a selector picks of it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ExportRequest<'r> {
    /// The call.
    pub call_id: &'r CallId,
    /// The artifact that was made from its result, if that is wanted in place of the result.
    pub artifact_id: Option<&'r ArtifactId>,
    /// The selector, as it was written.
    pub select: Option<&'r str>,
}

impl<'r> ExportRequest<'r> {
    /// All of a result.
    pub fn new(call_id: &'r CallId) -> Self {
        Self {
            call_id,
            artifact_id: None,
            select: None,
        }
    }

    /// Wants what a selector picks.
    pub fn with_select(mut self, select: Option<&'r str>) -> Self {
        self.select = select;
        self
    }

    /// Wants an artifact of the call.
    pub fn with_artifact(mut self, artifact_id: Option<&'r ArtifactId>) -> Self {
        self.artifact_id = artifact_id;
        self
    }
}

/// A value as it leaves the gateway.
#[derive(Debug)]
#[non_exhaustive]
pub struct Export {
    /// What it is.
    pub content: Content,
    /// Whose data it is.
    pub lineage: Vec<LineageEntry>,
    /// What of the request was not taken as it was written.
    pub notices: Notices,
}

/// What a file or a resource holds.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// A text.
    Text(String),
    /// A value that is no text, as JSON.
    Json(Bytes),
    /// Binary data.
    Binary {
        /// Its media type.
        media_type: String,
        /// The data.
        bytes: Vec<u8>,
    },
}

/// Why there is nothing to export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// There is no such result, or the selector picks nothing.
    #[error("{0}")]
    Failure(Box<Failure>),
    /// The value is larger than it may be.
    #[error("the result has {bytes} bytes; the limit is {most}")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    /// There is no memory for it now.
    #[error("the memory limit is reached: there is no room for the result now")]
    NoMemory,
    /// The request cannot be read.
    #[error("{}", .0.message)]
    Request(Box<ErrorBody>),
}

/// The value of a request, of at most so many bytes as JSON. `reserve` makes room for the bytes that are copied, until
/// what it gives is dropped.
///
/// # Errors
///
/// [`ExportError`].
pub async fn export<R>(
    session: &Session,
    request: ExportRequest<'_>,
    most: usize,
    reserve: impl FnOnce(usize) -> Option<R>,
) -> Result<(Export, R), ExportError> {
    const KEY: &str = "value";
    /// What stands around the value.
    const AROUND: usize = r#"{"value":}"#.len();
    let mut reference = json!({"$tool": request.call_id.as_str()});
    if let Some(artifact_id) = request.artifact_id {
        reference["$artifact"] = json!(artifact_id.as_str());
    }
    if let Some(select) = request.select {
        reference["$select"] = json!(select);
    }
    let session = session.clone().with_exact_references();
    let arguments = json!({ KEY: reference }).to_string();
    let resolved = session.resolve_json(arguments, None).await;
    let resolved = resolved.map_err(|error| match error.failures().first() {
        Some(first) => {
            // Nobody wrote these arguments.
            let mut failure = first.clone();
            failure.at = Pointer::default();
            ExportError::Failure(Box::new(failure))
        }
        None => {
            let body = error.bodies().into_iter().next();
            let none = || ErrorBody::new(ErrorCode::ResultUnknown, "there is no such result");
            ExportError::Request(Box::new(body.unwrap_or_else(none)))
        }
    })?;
    let notices = resolved.notices();
    let bytes = resolved.arguments.len().saturating_sub(AROUND);
    if bytes > most {
        return Err(ExportError::TooLarge { bytes, most });
    }
    // As JSON, and as what it stands for.
    let room = reserve(2 * bytes).ok_or(ExportError::NoMemory)?;
    let arguments = resolved.arguments;
    let content = apart(bytes, move || {
        let document = Document::new(arguments.into_bytes());
        let value = document.root().ok()?.get(KEY)?;
        Some(Content::new(value.shared()))
    });
    let export = Export {
        content: content.await.unwrap_or(Content::Json(Bytes::new())),
        lineage: resolved.lineage,
        notices,
    };
    Ok((export, room))
}

impl Content {
    /// What a value stands for.
    fn new(json: Bytes) -> Self {
        let document = Document::new(json.clone());
        let Ok(root) = document.root() else {
            return Self::Json(json);
        };
        if let Some(text) = root.as_str() {
            return Self::Text(text.into_owned());
        }
        let binary = binary_parts(root).and_then(|(data, media_type)| {
            let bytes = BASE64_STANDARD.decode(data.as_bytes()).ok()?;
            let media_type = media_type.into_owned();
            Some(Self::Binary { media_type, bytes })
        });
        binary.unwrap_or(Self::Json(json))
    }

    /// The bytes of a file.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Json(json) => json,
            Self::Binary { bytes, .. } => bytes,
        }
    }

    /// Its media type; a text that is a JSON object or list is JSON.
    pub fn media_type(&self) -> &str {
        match self {
            Self::Text(text) if is_json(text) => "application/json",
            Self::Text(_) => "text/plain",
            Self::Json(_) => "application/json",
            Self::Binary { media_type, .. } => media_type,
        }
    }
}

/// The base64 and the media type of a value that stands for binary data.
pub(crate) fn binary_parts(value: Cursor<'_>) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let text = |key: &str| value.get(key)?.as_str();
    let is_whole = value.len() == Some(3) && text("encoding")? == "base64";
    is_whole.then(|| Some((text("data")?, text("mimeType")?)))?
}

/// Whether a text is a JSON object or list.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && Document::new(text.to_owned()).root().is_ok()
}

#[cfg(test)]
mod tests {
    use super::Content;

    fn check(json: &str, media_type: &str, bytes: &str) {
        let content = Content::new(json.to_owned().into());
        assert_eq!(content.media_type(), media_type, "{json}");
        assert_eq!(content.as_bytes(), bytes.as_bytes(), "{json}");
    }

    #[test]
    fn values_are_what_they_stand_for() {
        check(r#""a\n\u00e9""#, "text/plain", "a\né");
        check(
            r#""{\"a\": 1.50}\n""#,
            "application/json",
            "{\"a\": 1.50}\n",
        );
        check(r#""{a""#, "text/plain", "{a");
        check(r#"{"a": 1.50}"#, "application/json", r#"{"a": 1.50}"#);
        check("null", "application/json", "null");
        check(
            r#"{"data": "aGk=", "encoding": "base64", "mimeType": "image/png"}"#,
            "image/png",
            "hi",
        );
        for not_binary in [
            r#"{"data": "a", "encoding": "base64", "mimeType": "image/png"}"#,
            r#"{"data": "aGk=", "encoding": "base64", "mimeType": "a/b", "more": 1}"#,
        ] {
            check(not_binary, "application/json", not_binary);
        }
    }
}
