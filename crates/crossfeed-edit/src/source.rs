//! An edit as it is given: a `serde_json::Value`, or a value of a document, which keeps its digits.

use crate::error::EditErrorKind;
use crossfeed_json::{Cursor, Document, Kind, is_deeper};
use serde_json::Value;
use std::borrow::Cow;

/// What an edit is read from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'s> {
    Value(&'s Value),
    Cursor(Cursor<'s>),
}

impl<'s> Source<'s> {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Cursor(cursor) => cursor.kind(),
            Self::Value(Value::Null) => Kind::Null,
            Self::Value(Value::Bool(_)) => Kind::Boolean,
            Self::Value(Value::Number(_)) => Kind::Number,
            Self::Value(Value::String(_)) => Kind::String,
            Self::Value(Value::Array(_)) => Kind::Array,
            Self::Value(Value::Object(_)) => Kind::Object,
        }
    }

    pub(crate) fn get(self, key: &str) -> Option<Self> {
        match self {
            Self::Value(value) => value.get(key).map(Self::Value),
            Self::Cursor(cursor) => cursor.get(key).map(Self::Cursor),
        }
    }

    pub(crate) fn text(self) -> Option<Cow<'s, str>> {
        match self {
            Self::Value(value) => value.as_str().map(Cow::Borrowed),
            Self::Cursor(cursor) => cursor.as_str(),
        }
    }

    pub(crate) fn flag(self) -> Option<bool> {
        match self {
            Self::Value(value) => value.as_bool(),
            Self::Cursor(cursor) => cursor.as_bool(),
        }
    }

    pub(crate) fn keys(self) -> Vec<Cow<'s, str>> {
        match self {
            Self::Value(value) => {
                let members = value.as_object().into_iter().flatten();
                members
                    .map(|(key, _)| Cow::Borrowed(key.as_str()))
                    .collect()
            }
            Self::Cursor(cursor) => cursor.members().map(|(key, _)| key.text()).collect(),
        }
    }

    /// The items of a list, at most `most` of them and one more; `None` for any other value.
    pub(crate) fn items(self, most: usize) -> Option<Vec<Self>> {
        let most = most.saturating_add(1);
        Some(match self {
            Self::Value(value) => value
                .as_array()?
                .iter()
                .take(most)
                .map(Self::Value)
                .collect(),
            Self::Cursor(cursor) if cursor.kind() == Kind::Array => {
                cursor.items().take(most).map(Self::Cursor).collect()
            }
            Self::Cursor(_) => return None,
        })
    }

    /// Its bytes without blanks, each key once, as a document; `None` if it nests deeper than a document may,
    /// or than `depth`.
    pub(crate) fn document(self, depth: usize) -> Option<Document> {
        let mut json = Vec::new();
        match self {
            // Checked before the recursion of the serializer.
            Self::Value(value) if is_deeper(value, depth) => return None,
            Self::Value(value) => serde_json::to_writer(&mut json, value).ok()?,
            Self::Cursor(cursor) if cursor.is_deeper(depth) => return None,
            Self::Cursor(cursor) => cursor.write_compact(&mut json),
        }
        let document = Document::new(json);
        document.root().is_ok().then_some(document)
    }

    /// The error that this is not what it must be.
    pub(crate) fn wrong(self, part: &'static str, expected: &'static str) -> EditErrorKind {
        EditErrorKind::WrongType {
            part,
            expected,
            found: self.kind(),
        }
    }

    /// A member that must be there.
    pub(crate) fn required(self, member: &'static str) -> Result<Self, EditErrorKind> {
        self.get(member)
            .ok_or(EditErrorKind::MissingMember { member })
    }

    /// A member that must be a string.
    pub(crate) fn required_text(self, member: &'static str) -> Result<Cow<'s, str>, EditErrorKind> {
        let value = self.required(member)?;
        value.text().ok_or_else(|| value.wrong(member, "a string"))
    }
}
