//! Who the gateway is to a server.
//!
//! What comes in: that a server refused a request. What goes out: the `Authorization` header of the next.
//! Deliberately not here: headers that a configuration names itself.

use super::UpstreamError;
use async_trait::async_trait;
use reqwest::{StatusCode, header::HeaderValue};

/// Where tokens come from.
#[async_trait]
pub(super) trait Credentials: Send + Sync {
    /// The `Authorization` header, where there is one to send.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Refused`] when it is known that there is none and that it takes one.
    async fn authorization(&self) -> Result<Option<HeaderValue>, UpstreamError>;

    /// The server answered 401 or 403, with these challenges, to what was `used`. If this succeeds,
    /// another attempt is worth it.
    ///
    /// # Errors
    ///
    /// [`UpstreamError::Refused`] when nothing but a person can help.
    async fn refused(
        &self,
        status: StatusCode,
        challenges: &[String],
        used: Option<&HeaderValue>,
    ) -> Result<(), UpstreamError>;
}

/// Nothing beside what the configuration's headers say.
pub(super) struct None;

#[async_trait]
impl Credentials for None {
    async fn authorization(&self) -> Result<Option<HeaderValue>, UpstreamError> {
        Ok(Option::None)
    }

    async fn refused(
        &self,
        status: StatusCode,
        _: &[String],
        _: Option<&HeaderValue>,
    ) -> Result<(), UpstreamError> {
        Err(UpstreamError::Refused {
            reason: format!(
                "HTTP {}: its `headers` do not say who asks, or not rightly",
                status.as_u16()
            ),
        })
    }
}
