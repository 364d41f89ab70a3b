//! The answers of scripts: a letter, what has left, and what was asked for; or a letter alone, which is quicker to give.

use crate::{
    fault::bad_answer,
    header::{Place, blob_name, parse_token},
};
use crossfeed_store::{BlobName, ScopeTag, StoreError};
use redis::Value;
use std::vec::IntoIter;

/// An answer, read from its beginning.
pub(crate) struct Answer {
    pub(crate) status: u8,
    /// What has left the session.
    pub(crate) departed: Vec<Departed>,
    rest: IntoIter<Value>,
}

/// Why a record has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    Evicted,
    Expired,
    /// With its session.
    Removed,
    /// It is an artifact.
    Artifact,
}

/// A record that has left.
#[derive(Debug)]
pub(crate) struct Departed {
    pub(crate) reason: Reason,
    place: Place,
    token: u64,
    identity: String,
}

impl Departed {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        Some(Self {
            reason: match words.next()? {
                "e" => Reason::Evicted,
                "x" => Reason::Expired,
                "r" => Reason::Removed,
                "a" => Reason::Artifact,
                _ => return None,
            },
            place: Place::parse(words.next()?)?,
            token: parse_token(words.next()?)?,
            identity: words.next()?.to_owned(),
        })
    }

    /// The blob that held its data.
    pub(crate) fn blob(&self, tenant: ScopeTag, session: ScopeTag) -> Option<BlobName> {
        if self.place == Place::Key {
            return None;
        }
        blob_name(tenant, session, &self.identity, self.token)
    }
}

impl Answer {
    pub(crate) fn read(value: Value) -> Result<Self, StoreError> {
        let (values, is_letter) = match value {
            Value::Array(values) => (values, false),
            letter => (vec![letter], true),
        };
        let mut answer = Self {
            status: 0,
            departed: Vec::new(),
            rest: values.into_iter(),
        };
        answer.status = answer.bytes()?.first().copied().unwrap_or_default();
        if is_letter {
            return Ok(answer);
        }
        let departed = answer.list()?.into_iter();
        // What a later version wrote may lie where this one knows nothing of.
        let departed = departed.filter_map(|line| Departed::parse(str::from_utf8(&line).ok()?));
        answer.departed = departed.collect();
        Ok(answer)
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, StoreError> {
        match self.rest.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            _ => Err(bad_answer("a text is missing")),
        }
    }

    pub(crate) fn list(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        let Some(Value::Array(values)) = self.rest.next() else {
            return Err(bad_answer("a list is missing"));
        };
        let texts = values.into_iter().map(|value| match value {
            Value::BulkString(bytes) => Ok(bytes),
            _ => Err(bad_answer("a list holds texts")),
        });
        texts.collect()
    }

    pub(crate) fn unexpected(&self) -> StoreError {
        bad_answer("its first letter is not known")
    }
}
