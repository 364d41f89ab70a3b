//! Diagnostics about a request: bounded, and without values of the data.

use serde_json::{Value, json};

/// How many diagnostics are kept; more are only counted.
pub const MAX_DIAGNOSTICS: usize = 100;

/// The kind of a [`Diagnostic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticKind {
    /// Nothing is there: `titel` where objects have `title`.
    UnknownField,
    /// A path went on where a string, number or boolean ended it: `id.x`. The scalar was kept.
    MetScalar,
    /// A path went on where there was null. The null was kept.
    MetNull,
    /// Brackets stood behind a value that is not a list: `author[].name` of an object. The value was kept.
    NotAList,
    /// An exclude path named an always-kept field.
    AlwaysKept,
    /// A field was withheld by a rule of the host.
    Withheld,
    /// A parameter had the wrong form, and counts as absent: `_select: 7`.
    Ignored,
    /// A name that the output schema or the resource type does not know.
    UnknownName,
    /// The value does not fit its own output schema, so no schema is announced.
    BreaksSchema,
    /// The schema of the outcome is unknown.
    NoSchema,
}

impl DiagnosticKind {
    /// The word as it is written.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One thing that a caller should know about a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct Diagnostic {
    /// Its kind.
    pub kind: DiagnosticKind,
    /// The path, rule or parameter it is about, in its canonical text.
    pub path: String,
    /// One line for people and models; shapes, never values.
    pub message: String,
    /// Up to three names that may have been meant.
    pub nearest: Vec<String>,
}

impl Diagnostic {
    /// A diagnostic without suggestions.
    pub fn new(kind: DiagnosticKind, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            kind,
            path: path.into(),
            message: message.into(),
            nearest: Vec::new(),
        }
    }

    /// The same with names that may have been meant; three of them are kept.
    pub fn with_nearest(mut self, nearest: impl IntoIterator<Item = String>) -> Self {
        self.nearest = nearest.into_iter().take(3).collect();
        self
    }

    /// The diagnostic as JSON: `{"kind", "path", "message", "nearest"?}`.
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": self.kind.as_str(),
            "path": self.path,
            "message": self.message,
        });
        if !self.nearest.is_empty() {
            value["nearest"] = json!(self.nearest);
        }
        value
    }
}

/// Diagnostics in the order in which they were made: the first [`MAX_DIAGNOSTICS`] of them, and the
/// number of the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    more: usize,
}

impl Diagnostics {
    /// Adds one; beyond [`MAX_DIAGNOSTICS`] it is only counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.is_full() {
            self.count(1);
        } else {
            self.kept.push(diagnostic);
        }
    }

    /// Whether the next one would only be counted.
    pub(crate) fn is_full(&self) -> bool {
        self.kept.len() >= MAX_DIAGNOSTICS
    }

    /// Counts more of them that are not kept.
    pub(crate) fn count(&mut self, more: usize) {
        self.more = self.more.saturating_add(more);
    }

    /// Adds all of `others`.
    pub fn extend(&mut self, others: Self) {
        for diagnostic in others.kept {
            self.push(diagnostic);
        }
        self.count(others.more);
    }

    /// Those that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// How many were only counted.
    pub fn more(&self) -> usize {
        self.more
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty() && self.more == 0
    }

    /// All of them as a JSON list; where some were only counted, the last entry is
    /// `{"kind": "more", "count": n, "message"}`.
    pub fn to_value(&self) -> Value {
        let mut list: Vec<Value> = self.kept.iter().map(Diagnostic::to_value).collect();
        if self.more > 0 {
            list.push(json!({
                "kind": "more",
                "count": self.more,
                "message": format!("{} more diagnostics were left out", self.more),
            }));
        }
        Value::Array(list)
    }
}
