//! Messages that the gateway makes.

use super::{Id, Kind, Message, RpcError, envelope::Envelope};
use crate::apart::LARGE;
use bytes::Bytes;
use crossfeed_json::quoted;

impl Message {
    /// A request; `params` is JSON.
    pub fn request(id: &Id, method: &str, params: Option<&Bytes>) -> Self {
        Self::made(Kind::Request, Some(id), Some(method), params)
    }

    /// A notification; `params` is JSON.
    pub fn notification(method: &str, params: Option<&Bytes>) -> Self {
        Self::made(Kind::Notification, None, Some(method), params)
    }

    /// The answer to a request; `result` is JSON.
    pub fn response(id: &Id, result: &Bytes) -> Self {
        Self::made(Kind::Response, Some(id), None, Some(result))
    }

    /// The answer to a request that failed; without an id where it could not be read.
    pub fn failure(id: Option<&Id>, error: &RpcError) -> Self {
        Self::made(Kind::Error, id, None, Some(&error.to_bytes()))
    }

    /// A message of these parts; the bytes of a large body are shared.
    pub(crate) fn made(
        kind: Kind,
        id: Option<&Id>,
        method: Option<&str>,
        body: Option<&Bytes>,
    ) -> Self {
        let mut raw = br#"{"jsonrpc":"2.0""#.to_vec();
        let mut put = |key: &str, value: &[u8]| {
            raw.extend_from_slice(format!(",\"{key}\":").as_bytes());
            let start = raw.len();
            raw.extend_from_slice(value);
            start..raw.len()
        };
        let id_at = id.map(|id| put("id", id.raw()));
        if id.is_none() && kind == Kind::Error {
            put("id", b"null");
        }
        if let Some(method) = method {
            put("method", quoted(method).as_bytes());
        }
        let key = match kind {
            Kind::Request | Kind::Notification => "params",
            Kind::Response => "result",
            Kind::Error => "error",
        };
        let large = body.filter(|body| body.len() > LARGE);
        // What is shared stands in the place of a word.
        let body = body.map(|body| put(key, large.map_or(&body[..], |_| b"null")));
        raw.push(b'}');
        Self {
            raw: raw.into(),
            edits: large
                .and_then(|large| Some((body.clone()?, large.clone())))
                .into_iter()
                .collect(),
            envelope: Envelope {
                kind,
                method: method.map(Into::into),
                id: id.cloned(),
                id_at,
                body,
                members: None,
            },
        }
    }
}
