//! Removes hidden fields from a tool result of MCP. Only this module knows how rules apply within such
//! a result.
//!
//! - A name applies everywhere except to the keys that make a result and its parts readable: a rule that
//!   hides `text` hides no part. A path begins at `structuredContent`, at the value that each part
//!   stands for, at the list of those values, and at the result itself.
//! - JSON in a text or in bytes is redacted like any value. Text that is not valid JSON is withheld if it
//!   names a hidden field, and so are bytes that cannot be read.
//! - Text may repeat data that is hidden beside it. So if a first pass hid anything, a second pass also
//!   withholds text that is not valid JSON; and, if it hid something in `structuredContent`, JSON in
//!   which it hid nothing.

mod part;
mod text;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use crate::rules::{PlacedRules, RevealRules, WITHHELD};
use crossfeed_json::{Change, Cursor, Document, JsonError, Kind, quoted};
use serde_json::json;
use text::withheld;

const STRUCTURED: &str = "structuredContent";
const CONTENT: &str = "content";

/// What [`RevealRules::redact_result`] leaves of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedactedResult {
    /// The result as JSON.
    pub json: Vec<u8>,
    /// Whether the rules hid anything. If not, the result only had duplicate keys.
    pub is_cut: bool,
    /// Whether a text was withheld because it may repeat data hidden in `structuredContent`. A host can
    /// write a new text from the rest.
    pub repeated: bool,
}

impl RevealRules {
    /// The part of a tool result of MCP that may be shown, each key once; `None` for all of it.
    ///
    /// ```
    /// use crossfeed_json::Document;
    /// use crossfeed_projection::RevealRules;
    ///
    /// let rules = RevealRules::parse([""; 0], ["pin"])?;
    /// let result = Document::new(
    ///     r#"{"content":[{"type":"text","text":"it is 7"}],"structuredContent":{"pin":7,"n":1}}"#,
    /// );
    /// let shown = rules.redact_result(result.root()?).expect("something is hidden");
    /// assert_eq!(
    ///     String::from_utf8(shown.json)?,
    ///     r#"{"content":[{"type":"text","text":"[withheld]"}],"structuredContent":{"n":1}}"#
    /// );
    /// assert!(shown.repeated);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn redact_result(&self, result: Cursor<'_>) -> Option<RedactedResult> {
        if self.never_is_empty() {
            return None;
        }
        let shown = Envelope::new(self).redacted(result);
        // Output written from a document is valid JSON. If it were not, the rules could not be applied.
        shown.unwrap_or_else(|_| {
            let part = json!({"type": "text", "text": WITHHELD});
            Some(RedactedResult {
                json: json!({CONTENT: [part]}).to_string().into_bytes(),
                is_cut: true,
                repeated: false,
            })
        })
    }
}

/// Where the rules hid something.
#[derive(Clone, Copy, Default)]
struct Findings {
    any: bool,
    structured: bool,
}

struct Envelope<'r> {
    rules: &'r RevealRules,
    by_place: &'r PlacedRules,
    /// Where this pass hid something.
    found: Findings,
    /// Where the first pass hid something, during the second pass.
    beside: Findings,
    repeated: bool,
}

impl<'r> Envelope<'r> {
    fn new(rules: &'r RevealRules) -> Self {
        Self {
            rules,
            by_place: rules.by_place(),
            found: Findings::default(),
            beside: Findings::default(),
            repeated: false,
        }
    }

    fn redacted(mut self, result: Cursor<'_>) -> Result<Option<RedactedResult>, JsonError> {
        // Earlier values of a duplicate key are not checked, so they must not stay.
        let once = result.document_has_duplicates().then(|| compact(result));
        let once = once.map(Document::new);
        let own = root(&once, result)?;
        let outer = redact(&self.by_place.from_here, own).map(Document::new);
        let seen = root(&outer, own)?;
        if outer.is_some() {
            self.found.any = true;
            let structured = |root: Cursor<'_>| root.get(STRUCTURED).map(compact);
            self.found.structured = structured(own) != structured(seen);
        }
        let mut shown = self.result(seen);
        if self.found.any {
            self.beside = self.found;
            shown = self.result(seen);
        }
        let is_cut = shown.is_some() || outer.is_some();

        let mut json = match shown {
            Some(json) => json,
            None if !is_cut && once.is_none() => return Ok(None),
            None => compact(seen),
        };
        if own.get(CONTENT).is_some() && seen.get(CONTENT).is_none() {
            // A result must have `content`.
            json.pop();
            let comma = if json.len() > 1 { "," } else { "" };
            json.extend_from_slice(format!("{comma}{}:[]}}", quoted(CONTENT)).as_bytes());
        }
        Ok(Some(RedactedResult {
            json,
            is_cut,
            repeated: self.repeated,
        }))
    }

    fn result(&mut self, root: Cursor<'_>) -> Option<Vec<u8>> {
        root.with_members(|key, value| match key {
            STRUCTURED => {
                let shown = self.value(value);
                self.found.structured |= shown.is_some();
                shown.into()
            }
            // A result that is one text may be wrapped in `value`.
            "value" if !self.rules.hides_key(key) => self.value(value).into(),
            CONTENT => self.content(value).into(),
            "isError" if value.as_bool().is_some() => Change::Keep,
            "type" if value.as_str().as_deref() == Some("text") => Change::Keep,
            _ => self.member(key, value),
        })
    }

    fn content(&mut self, content: Cursor<'_>) -> Option<Vec<u8>> {
        match content.kind() {
            Kind::Array => {
                let mut at = 0;
                content.with_items(|part| {
                    at += 1;
                    self.part(at - 1, part)
                })
            }
            Kind::Object => {
                // Its members count as parts.
                let whole = self.whole(content).map(Document::new);
                let Ok(seen) = root(&whole, content) else {
                    return Some(withheld());
                };
                let mut at = 0;
                let parts = seen.with_members(|_, part| {
                    at += 1;
                    self.part(at - 1, part)
                });
                parts.or_else(|| whole.as_ref().map(|whole| whole.raw().to_vec()))
            }
            _ => self.held(0, content),
        }
    }

    /// A member that the protocol does not need.
    fn member(&mut self, key: &str, value: Cursor<'_>) -> Change {
        if self.rules.hides_key(key) {
            self.found.any = true;
            return Change::Remove;
        }
        self.cut(&self.by_place.names, value).into()
    }

    /// A value at which paths begin.
    fn value(&mut self, value: Cursor<'_>) -> Option<Vec<u8>> {
        let shown = self.rules.redact_value(value);
        self.found.any |= shown.is_some();
        shown
    }

    /// A value at which paths begin and that is not text.
    fn whole(&mut self, value: Cursor<'_>) -> Option<Vec<u8>> {
        self.cut(self.rules, value)
    }

    /// A value as some rules leave it; `None` for all of it.
    fn cut(&mut self, rules: &RevealRules, value: Cursor<'_>) -> Option<Vec<u8>> {
        let shown = redact(rules, value);
        self.found.any |= shown.is_some();
        shown
    }

    /// The value that the part at `at` stands for, as an item of the list of such values: paths begin
    /// at that list, too.
    fn as_item(&mut self, at: usize, value: Cursor<'_>, shown: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let Some(rules) = self.by_place.item(at) else {
            return shown;
        };
        let item = shown.clone().unwrap_or_else(|| compact(value));
        let alone = Document::new([b"[", item.as_slice(), b"]"].concat());
        let Ok(root) = alone.root() else {
            // It is nested so deeply that it cannot stand in a list.
            self.found.any = true;
            return Some(withheld());
        };
        let Some(left) = redact(rules, root).map(Document::new) else {
            return shown;
        };
        self.found.any = true;
        let item = left.root().ok().and_then(|list| list.at(0));
        Some(item.map_or_else(withheld, compact))
    }
}

/// The redacted document's root, or the value itself where nothing was cut.
fn root<'d>(left: &'d Option<Document>, value: Cursor<'d>) -> Result<Cursor<'d>, JsonError> {
    left.as_ref().map_or(Ok(value), Document::root)
}

fn compact(cursor: Cursor<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    cursor.write_compact(&mut json);
    json
}

/// Redacts a value with the engine; `None` if it stays as it came. It also changes if a hidden field
/// stood under a duplicate key.
fn redact(rules: &RevealRules, cursor: Cursor<'_>) -> Option<Vec<u8>> {
    if rules.never_is_empty() {
        return None;
    }
    let mut json = Vec::new();
    let redacted = rules.redact(cursor, &mut json);
    let is_other = || cursor.document_has_duplicates() && json != cursor.raw();
    (redacted.any() || is_other()).then_some(json)
}
