//! Messages of a server that cannot be used: they are invalid or too large, or there is no memory for them.

use super::UpstreamError;
use crate::{
    line::MessageSummary,
    message::{Id, Kind, Message, MessageError, RpcError},
    protocol::code,
};

/// A message that cannot be used, and the errors for both sides.
pub(super) struct Unusable {
    skimmed: MessageSummary,
    /// For the client that waits for it.
    error: UpstreamError,
    /// For the server, where the message is a request.
    refusal: RpcError,
}

/// Who must learn that a message cannot be used.
pub(super) enum Notice {
    /// The server: this refuses its request.
    Server(Message),
    /// The client whose request this is: it will not be answered.
    Client(Id, UpstreamError),
}

impl Unusable {
    pub(super) fn invalid(skimmed: MessageSummary, error: &MessageError) -> Self {
        Self {
            skimmed,
            error: UpstreamError::Invalid(error.to_string()),
            refusal: error.to_rpc(),
        }
    }

    pub(super) fn too_large(skimmed: MessageSummary, limit: usize) -> Self {
        let error = UpstreamError::TooLarge { limit };
        Self {
            skimmed,
            refusal: RpcError::new(code::INVALID_REQUEST, error.to_string()),
            error,
        }
    }

    pub(super) fn no_room(skimmed: MessageSummary) -> Self {
        let why = "the gateway has no memory for this message";
        Self {
            skimmed,
            error: UpstreamError::NoRoom,
            refusal: RpcError::new(code::INTERNAL, why),
        }
    }

    /// Logs the message, without what it says: that may be anyone's data. Returns who must learn of it.
    pub(super) fn report(self, server: &str) -> Option<Notice> {
        let MessageSummary { bytes, id, kind } = self.skimmed;
        tracing::warn!(server, bytes, ?kind, error = %self.error, "ignored a message");
        let id = id?;
        match kind {
            Some(Kind::Request) => Some(Notice::Server(Message::failure(Some(&id), &self.refusal))),
            Some(Kind::Notification) => None,
            Some(Kind::Response | Kind::Error) | None => {
                Some(Notice::Client(id, self.error.after_sending()))
            }
        }
    }
}
