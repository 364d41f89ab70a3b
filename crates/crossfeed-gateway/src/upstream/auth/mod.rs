//! OAuth 2.1 with PKCE: the tokens with which the gateway identifies itself to a server.
//!
//! # Invariants
//!
//! - A person logs in only when [`login`] is called, never while messages are served: a request that needs a
//!   login fails with an error that says so.
//! - Tokens are kept in files that only their owner can read, one for each server, and in the store of gateways that share
//!   one. They appear in no log and no error.
//! - A token goes only to the server that it was issued for, over `https` or within this computer.
//! - The authorization server is the one of the configuration, else that of the first login.

mod discovery;
mod fetch;
mod listener;
mod login;
mod shared;
mod store;
mod tokens;

#[cfg(test)]
mod replicas;
#[cfg(test)]
mod tests;

pub use discovery::DiscoveryError;
pub use fetch::FetchError;
pub use login::{Browser, LoginError, login};
pub use tokens::TokenError;
pub(super) use {discovery::Challenge, fetch::check, tokens::OAuth};
