//! Who the gateway is to a server: OAuth 2.1 with PKCE.
//!
//! What comes in: that a server refused a request, and a person who logs in. What goes out: the
//! `Authorization` header of the next request. Deliberately not here: headers that a configuration names
//! itself, and how an address is brought before a person's eyes.
//!
//! # What holds
//!
//! - Nobody is asked while messages are served: a login happens only when [`login`] is called. What takes
//!   one is refused with an error that says so.
//! - Tokens are kept in files that nobody else can read, one for each server, and stand in no log and no
//!   error.
//! - A token goes to the server that it was made for and nowhere else, over `https` or within this computer.
//! - The authorization server is the one of the configuration, else that of the first login.

mod discovery;
mod fetch;
mod listener;
mod login;
mod store;
mod tokens;

#[cfg(test)]
mod tests;

pub use discovery::DiscoveryError;
pub use fetch::FetchError;
pub use login::{Browser, LoginError, login};
pub use tokens::TokenError;
pub(super) use {fetch::check, tokens::OAuth};

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
    /// [`UpstreamError::Refused`] when what is kept cannot be used.
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
        Err(UpstreamError::Refused(format!(
            "HTTP {}: its `headers` do not say who asks, or not rightly",
            status.as_u16()
        )))
    }
}
