//! Redacts results by the host's rules. The kind of a result is that of the whole one: the rest after
//! redaction never becomes an envelope.

use crate::{
    canonical::{failure, is_enveloped, wrapped_value},
    error::RevealError,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, quoted};
use crossfeed_projection::{RevealRules, WITHHELD};
use crossfeed_store::{ResultKind, StoredArtifact, StoredResult};

/// The redacted result; `None` if nothing is withheld.
pub(super) fn result(
    result: &StoredResult,
    rules: &RevealRules,
) -> Result<Option<StoredResult>, RevealError> {
    let (document, kind) = (result.document(), result.kind());
    let withheld = || (WITHHELD.as_bytes().to_vec(), ResultKind::Text);
    let text = || rules.mentions_never_in(document.raw()).then(withheld);
    let redacted = match (kind, document.root()) {
        (ResultKind::Bytes, _) => text(),
        (_, Ok(root)) => json(root, kind, rules),
        (_, Err(error)) if error.is_limit() => return Err(RevealError::Unjudged(error)),
        (_, Err(_)) => text(),
    };
    // Kept even if the member that says so is hidden.
    let has_failed = result.failed() || failure(result).is_some();
    let with_document = |(bytes, kind)| {
        let redacted = result.with_document_of_call(Document::new(bytes), kind);
        redacted.with_failed(has_failed)
    };
    let redacted = redacted.map(with_document);
    // The message of a failed call is passed on.
    let message = failure(redacted.as_ref().unwrap_or(result));
    if message.is_some_and(|message| rules.mentions_never(&message)) {
        return Ok(Some(with_document(withheld())));
    }
    Ok(redacted)
}

/// Redacted JSON, and its kind; `None` if nothing is withheld.
fn json(root: Cursor<'_>, kind: ResultKind, rules: &RevealRules) -> Option<(Vec<u8>, ResultKind)> {
    let may_be_wrapped = matches!(kind, ResultKind::Undeclared | ResultKind::Mcp);
    if may_be_wrapped && wrapped_value(root).is_some() {
        return Some((rules.redact_result(root)?.json, kind));
    }
    if is_enveloped(root, kind) {
        return Some((rules.redact_result(root)?.json, ResultKind::Mcp));
    }
    let kind = if may_be_wrapped {
        ResultKind::Json
    } else {
        kind
    };
    Some((rules.redact_value(root)?, kind))
}

/// The redacted artifact; `None` if nothing is withheld.
pub(super) fn artifact(
    artifact: &StoredArtifact,
    rules: &RevealRules,
) -> Result<Option<StoredArtifact>, RevealError> {
    let data = redact_json(artifact.document(), rules)?;
    let summary = artifact
        .summary()
        .map(|summary| redact_json(summary, rules));
    let summary = summary.transpose()?.flatten();
    if data.is_none() && summary.is_none() {
        return Ok(None);
    }
    let document = |redacted: Option<Vec<u8>>, whole: &Document| {
        Document::new(redacted.map_or_else(|| whole.raw().clone(), Bytes::from))
    };
    let (artifact_id, call_id) = (artifact.artifact_id().clone(), artifact.call_id().clone());
    let data = document(data, artifact.document());
    let mut redacted = StoredArtifact::new(artifact_id, call_id, data)
        .with_retrieval_blocked(artifact.retrieval_blocked())
        .with_repeatable(artifact.repeatable());
    if let Some(whole) = artifact.summary() {
        redacted = redacted.with_summary(document(summary, whole));
    }
    Ok(Some(match artifact.tool() {
        Some(tool) => redacted.with_tool(tool),
        None => redacted,
    }))
}

/// Redacted JSON without an envelope; `None` if nothing is withheld.
pub(super) fn redact_json(
    document: &Document,
    rules: &RevealRules,
) -> Result<Option<Vec<u8>>, RevealError> {
    match document.root() {
        Ok(root) => Ok(rules.redact_value(root)),
        Err(error) if error.is_limit() => Err(RevealError::Unjudged(error)),
        Err(_) => {
            let names = rules.mentions_never_in(document.raw());
            Ok(names.then(|| quoted(WITHHELD).into_bytes()))
        }
    }
}
