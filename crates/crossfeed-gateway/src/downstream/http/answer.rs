//! Answers: bodies that keep the place of their connection, and those that are not streams.

use super::connections::BusyConnection;
use crate::message::{Id, Message, RpcError};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, combinators::UnsyncBoxBody};
use hyper::{
    Response, StatusCode,
    body::Body,
    header::{CONTENT_TYPE, HeaderValue},
};
use std::convert::Infallible;

pub(super) type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

/// An answer, or a refusal: both are sent.
pub(super) type AnswerResult = Result<Answer, Box<Answer>>;

/// An answer whose connection runs its request until it is written.
pub(super) fn kept_busy(answer: Answer, busy: Option<BusyConnection>) -> Answer {
    answer.map(|body| {
        let body = body.map_err(move |never| {
            let _held = &busy;
            never
        });
        body.boxed_unsync()
    })
}

/// An answer without a body.
pub(super) fn status(status: StatusCode) -> Answer {
    body(status, None, Full::<Bytes>::default())
}

/// One message.
pub(super) fn json(status: StatusCode, message: &Message) -> Answer {
    body(
        status,
        Some("application/json"),
        Full::from(message.to_bytes()),
    )
}

/// An error of JSON-RPC.
pub(super) fn refuse(status: StatusCode, id: Option<&Id>, error: &RpcError) -> Box<Answer> {
    Box::new(json(status, &Message::failure(id, error)))
}

/// Something of a kind.
pub(super) fn body(
    status: StatusCode,
    kind: Option<&'static str>,
    body: impl Body<Data = Bytes, Error = Infallible> + Send + 'static,
) -> Answer {
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = status;
    let kind = kind.map(HeaderValue::from_static);
    let headers = response.headers_mut();
    headers.extend(kind.map(|kind| (CONTENT_TYPE, kind)));
    response
}
