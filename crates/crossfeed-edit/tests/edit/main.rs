//! Edits through the public interface: the suites, laws against independent implementations, hostile input.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bytes;
mod hostile;
mod merge;
mod oracle;
mod patch;
mod suite;
mod text;
mod withheld;

use crossfeed_edit::{EditError, EditErrorKind, EditLimits, Merge, Patch, TextEdits};
use crossfeed_json::Document;
use serde_json::Value;

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A document with a patch applied.
fn patched(json: &str, patch: &Value) -> Result<String, EditError> {
    patched_within(json, patch, &EditLimits::default())
}

fn patched_within(json: &str, patch: &Value, limits: &EditLimits) -> Result<String, EditError> {
    let document = Document::new(json.to_owned());
    let patch = Patch::read(patch, limits)?;
    let outcome = patch.apply(document.root().unwrap(), None, limits)?;
    Document::new(outcome.clone()).root().unwrap();
    Ok(text_of(&outcome))
}

fn merged(json: &str, merge: &Value) -> Result<String, EditError> {
    let limits = EditLimits::default();
    let document = Document::new(json.to_owned());
    let merge = Merge::read(merge, &limits)?;
    let outcome = merge.apply(document.root().unwrap(), None, &limits)?;
    Document::new(outcome.clone()).root().unwrap();
    Ok(text_of(&outcome))
}

/// A text, given as JSON, with edits made.
fn edited(json: &str, edits: &Value) -> Result<String, EditError> {
    let limits = EditLimits::default();
    let document = Document::new(json.to_owned());
    let edits = TextEdits::read(edits, &limits)?;
    let outcome = edits.apply(document.root().unwrap(), &limits)?;
    Document::new(outcome.clone()).root().unwrap();
    Ok(text_of(&outcome))
}

/// The variant of an error.
fn code(kind: &EditErrorKind) -> String {
    let text = format!("{kind:?}");
    text.split([' ', '{']).next().unwrap().to_owned()
}
