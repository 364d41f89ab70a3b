//! Answers: bodies that keep the place of their connection, and those that are not streams.

use super::{connections::Busy, stream::Events};
use crate::message::{Id, Message, RpcError};
use bytes::Bytes;
use http_body_util::{Either, Full};
use hyper::{
    Response, StatusCode,
    body::{Body, Frame, SizeHint},
    header::{CONTENT_TYPE, HeaderValue},
};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

/// The body of an answer.
pub(super) type Answer = Either<Full<Bytes>, Events>;

/// An answer whose connection runs its request until it is written.
pub(super) struct Written {
    body: Answer,
    _busy: Option<Busy>,
}

impl Written {
    pub(super) fn new(body: Answer, busy: Option<Busy>) -> Self {
        Self { body, _busy: busy }
    }
}

impl Body for Written {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.body {
            Either::Left(body) => Pin::new(body).poll_frame(context),
            Either::Right(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

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
