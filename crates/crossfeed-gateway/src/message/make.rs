//! Messages that the gateway makes.

use super::{Id, Kind, Message, RpcError, envelope::Envelope};
use crate::apart::LARGE;
use bytes::Bytes;
use std::ops::Range;

/// Bytes, and where the parts of a message are in them.
#[derive(Default)]
struct Maker {
    raw: Vec<u8>,
}

impl Maker {
    fn put(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.raw.len();
        self.raw.extend_from_slice(bytes);
        start..self.raw.len()
    }

    fn done(
        self,
        kind: Kind,
        method: Option<&str>,
        id: Option<(Id, Range<usize>)>,
        body: Option<Range<usize>>,
    ) -> Message {
        let (id, id_at) = id.unzip();
        Message {
            raw: self.raw.into(),
            envelope: Envelope {
                kind,
                method: method.map(Into::into),
                id,
                id_at,
                body,
                params: None,
                result: None,
            },
            edits: Vec::new(),
            is_unread: true,
        }
    }
}

impl Message {
    /// A request; `params` is JSON.
    #[must_use]
    pub fn request(id: &Id, method: &str, params: Option<&Bytes>) -> Self {
        let mut maker = Maker::default();
        maker.put(br#"{"jsonrpc":"2.0","id":"#);
        let at = maker.put(id.raw());
        let body = maker.method(method, params);
        maker.done(Kind::Request, Some(method), Some((id.clone(), at)), body)
    }

    /// A notification; `params` is JSON.
    #[must_use]
    pub fn notification(method: &str, params: Option<&Bytes>) -> Self {
        let mut maker = Maker::default();
        maker.put(br#"{"jsonrpc":"2.0""#);
        let body = maker.method(method, params);
        maker.done(Kind::Notification, Some(method), None, body)
    }

    /// The answer to a request; `result` is JSON.
    #[must_use]
    pub fn response(id: &Id, result: &Bytes) -> Self {
        if result.len() > LARGE {
            return Self::around(id, result);
        }
        let mut maker = Maker::default();
        maker.put(br#"{"jsonrpc":"2.0","id":"#);
        let at = maker.put(id.raw());
        maker.put(br#","result":"#);
        let body = maker.put(result);
        maker.put(b"}");
        maker.done(Kind::Response, None, Some((id.clone(), at)), Some(body))
    }

    /// The same, sharing the bytes of the result.
    fn around(id: &Id, result: &Bytes) -> Self {
        let before = [
            br#"{"jsonrpc":"2.0","id":"#,
            &id.raw()[..],
            br#","result":"#,
        ]
        .concat();
        let end = result.len();
        Message {
            raw: result.clone(),
            envelope: Envelope {
                kind: Kind::Response,
                method: None,
                id: Some(id.clone()),
                id_at: None,
                body: Some(0..end),
                params: None,
                result: None,
            },
            edits: vec![(0..0, before.into()), (end..end, Bytes::from_static(b"}"))],
            is_unread: true,
        }
    }

    /// The answer to a request that failed; without an id where it could not be read.
    #[must_use]
    pub fn failure(id: Option<&Id>, error: &RpcError) -> Self {
        let mut maker = Maker::default();
        maker.put(br#"{"jsonrpc":"2.0","id":"#);
        let at = maker.put(id.map_or(b"null", |id| id.raw()));
        maker.put(br#","error":"#);
        let body = maker.put(&error.to_bytes());
        maker.put(b"}");
        let id = id.cloned().map(|id| (id, at));
        maker.done(Kind::Error, None, id, Some(body))
    }
}

impl Maker {
    fn method(&mut self, method: &str, params: Option<&Bytes>) -> Option<Range<usize>> {
        self.put(br#","method":"#);
        self.put(serde_json::Value::from(method).to_string().as_bytes());
        let body = params.map(|params| {
            self.put(br#","params":"#);
            self.put(params)
        });
        self.put(b"}");
        body
    }
}
