//! A result without what the host's rules withhold. Its kind is judged on the whole result: what remains after
//! redaction never becomes an envelope.
//!
//! What it means was judged on the whole: taking something out makes no envelope of what was none.

use crate::{
    canonical::{failure, is_enveloped, wrapped_value},
    error::RevealError,
};
use crossfeed_json::{Cursor, Document, quoted};
use crossfeed_projection::{RevealRules, WITHHELD};
use crossfeed_store::{ResultKind, StoredArtifact, StoredResult};

/// What of a result may be shown; `None` where that is all of it.
pub(super) fn result(
    result: &StoredResult,
    rules: &RevealRules,
) -> Result<Option<StoredResult>, RevealError> {
    let (document, kind) = (result.document(), result.kind());
    let text = || {
        let names = rules.mentions_never_in(document.raw());
        names.then(|| (WITHHELD.as_bytes().to_vec(), ResultKind::Text))
    };
    let shown = match (kind, document.root()) {
        (ResultKind::Bytes, _) => text(),
        (_, Ok(root)) => json(root, kind, rules),
        (_, Err(error)) if error.is_limit() => return Err(RevealError::Unjudged(error)),
        (_, Err(_)) => text(),
    };
    let has_failed = result.failed() || failure(result).is_some();
    let described = |bytes, kind| {
        // Also if what said that it failed is hidden.
        let made = result.with_document_of_call(Document::new(bytes), kind);
        made.with_failed(has_failed)
    };
    let made = shown.map(|(bytes, kind)| described(bytes, kind));
    // A call that failed says so itself, and its message is passed on.
    let message = failure(made.as_ref().unwrap_or(result));
    if message.is_some_and(|message| rules.mentions_never(&message)) {
        return Ok(Some(described(WITHHELD.into(), ResultKind::Text)));
    }
    Ok(made)
}

/// What of JSON may be shown, and what it means; `None` where that is all of it.
fn json(root: Cursor<'_>, kind: ResultKind, rules: &RevealRules) -> Option<(Vec<u8>, ResultKind)> {
    let declared = matches!(kind, ResultKind::Undeclared | ResultKind::Mcp);
    if declared && wrapped_value(root).is_some() {
        return Some((rules.redact_result(root)?.json, kind));
    }
    if is_enveloped(root, kind) {
        return Some((rules.redact_result(root)?.json, ResultKind::Mcp));
    }
    let kind = if declared { ResultKind::Json } else { kind };
    Some((rules.redact_value(root)?, kind))
}

/// What of an artifact may be shown; `None` where that is all of it.
pub(super) fn artifact(
    artifact: &StoredArtifact,
    rules: &RevealRules,
) -> Result<Option<StoredArtifact>, RevealError> {
    let data = shown_json(artifact.document(), rules)?;
    let summary = match artifact.summary() {
        Some(summary) => shown_json(summary, rules)?,
        None => None,
    };
    if data.is_none() && summary.is_none() {
        return Ok(None);
    }
    let of = |shown: Option<Vec<u8>>, whole: &Document| match shown {
        Some(shown) => Document::new(shown),
        None => Document::new(whole.raw().clone()),
    };
    let (artifact_id, call_id) = (artifact.artifact_id().clone(), artifact.call_id().clone());
    let mut made = StoredArtifact::new(artifact_id, call_id, of(data, artifact.document()))
        .with_retrieval_blocked(artifact.retrieval_blocked())
        .with_repeatable(artifact.repeatable());
    if let Some(whole) = artifact.summary() {
        made = made.with_summary(of(summary, whole));
    }
    Ok(Some(match artifact.tool() {
        Some(tool) => made.with_tool(tool),
        None => made,
    }))
}

/// What of a document without an envelope may be shown; `None` where that is all of it.
pub(super) fn shown_json(
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
