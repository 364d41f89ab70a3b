//! A tool result of MCP without what is never shown: the one place that knows how rules hold within
//! such a result.
//!
//! - A name holds everywhere but of what makes a result and its parts readable: a rule that hides
//!   `text` hides no part. A path begins at `structuredContent`, at what each part stands for, at the
//!   list of those, and at the result itself.
//! - JSON that a text or bytes hold is judged as such; what is not valid JSON goes where it names what is
//!   hidden. Bytes that cannot be read go.
//! - Text may repeat what is hidden beside it. So the result is gone through again when something was
//!   hidden anywhere: then text that is not valid JSON goes; and beside a `structuredContent` of which
//!   something was hidden also JSON of which nothing was.

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
    /// Whether anything was hidden: else keys stood twice.
    pub is_cut: bool,
    /// Whether a text went because it may repeat what was hidden in `structuredContent`, which can be
    /// told again by what is left there.
    pub repeated: bool,
}

impl RevealRules {
    /// What may be shown of a tool result of MCP, each key once; `None` where that is all of it.
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
        // What is written of a document is one. If it were not, nothing could be judged.
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

/// Where something was hidden.
#[derive(Clone, Copy, Default)]
struct Found {
    any: bool,
    structured: bool,
}

struct Envelope<'r> {
    rules: &'r RevealRules,
    by_place: &'r PlacedRules,
    /// What was found to be hidden.
    found: Found,
    /// What was found before, when all is gone through again.
    beside: Found,
    repeated: bool,
}

impl<'r> Envelope<'r> {
    fn new(rules: &'r RevealRules) -> Self {
        Self {
            rules,
            by_place: rules.by_place(),
            found: Found::default(),
            beside: Found::default(),
            repeated: false,
        }
    }

    fn redacted(mut self, result: Cursor<'_>) -> Result<Option<RedactedResult>, JsonError> {
        // What a key had before its last value is not looked at, so it must not stay.
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
            // A result must have it.
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
            // What a result of one text may be wrapped in.
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
                // Its members are taken for parts.
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

    /// A member that has no meaning to the protocol, or none that it needs.
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

    /// The same, if it is not text.
    fn whole(&mut self, value: Cursor<'_>) -> Option<Vec<u8>> {
        self.cut(self.rules, value)
    }

    /// What some rules leave of a value; `None` where that is all of it.
    fn cut(&mut self, rules: &RevealRules, value: Cursor<'_>) -> Option<Vec<u8>> {
        let shown = redact(rules, value);
        self.found.any |= shown.is_some();
        shown
    }

    /// What the part at a position stands for, as an item of the list of what all stand for: paths
    /// begin at the list, too.
    fn as_item(&mut self, at: usize, value: Cursor<'_>, shown: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let Some(rules) = self.by_place.item(at) else {
            return shown;
        };
        let item = shown.clone().unwrap_or_else(|| compact(value));
        let alone = Document::new([b"[", item.as_slice(), b"]"].concat());
        let Ok(root) = alone.root() else {
            // It nests so deep that it cannot stand in a list.
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

/// What is left of a value, or all of it.
fn root<'d>(left: &'d Option<Document>, value: Cursor<'d>) -> Result<Cursor<'d>, JsonError> {
    left.as_ref().map_or(Ok(value), Document::root)
}

fn compact(cursor: Cursor<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    cursor.write_compact(&mut json);
    json
}

/// A value by the engine's own redaction; `None` where it is as it came. It is not, too, where what is
/// hidden stands under a key that stands again behind it.
fn redact(rules: &RevealRules, cursor: Cursor<'_>) -> Option<Vec<u8>> {
    if rules.never_is_empty() {
        return None;
    }
    let mut json = Vec::new();
    let redacted = rules.redact(cursor, &mut json);
    let is_other = || cursor.document_has_duplicates() && json != cursor.raw();
    (redacted.any() || is_other()).then_some(json)
}
