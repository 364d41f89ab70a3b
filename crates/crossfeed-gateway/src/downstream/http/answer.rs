//! Answers that are no streams.

use super::stream::Events;
use crate::message::{Id, Message, RpcError};
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};

/// The body of an answer.
pub(super) type Answer = Either<Full<Bytes>, Events>;

/// An answer without a body.
pub(super) fn status(status: StatusCode) -> Response<Answer> {
    body(status, None, Bytes::new())
}

/// One message.
pub(super) fn json(status: StatusCode, message: &Message) -> Response<Answer> {
    body(status, Some("application/json"), message.to_bytes())
}

/// An error of JSON-RPC.
pub(super) fn refuse(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Response<Answer> {
    json(status, &Message::failure(id, error))
}

/// Some text of a kind.
pub(super) fn body(
    status: StatusCode,
    kind: Option<&'static str>,
    bytes: Bytes,
) -> Response<Answer> {
    let mut response = Response::new(Either::Left(Full::new(bytes)));
    *response.status_mut() = status;
    if let Some(kind) = kind {
        response
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    response
}
