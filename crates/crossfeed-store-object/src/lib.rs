//! Keeps large results and artifacts in object storage: S3 and what speaks its protocol, Google Cloud Storage, Azure, a
//! directory, or memory.
//!
//! An object has a short header and then the recorded bytes, as they are or encrypted with a key of their tenant. Its
//! name is `PREFIX/v1/TENANT/SESSION/DIGEST-TOKEN`, where tenant and session are digests, so that all of a tenant lies
//! under one prefix. `docs/operating.md` tells what an operator has to know.
//!
//! # Invariants
//!
//! - A `put` is acknowledged once the object is complete. One that is cut short leaves no object under its name, or
//!   all of it.
//! - Every read is checked: against the length and the digest of what was recorded, and against the key if there is
//!   one. An object that was changed, cut, or moved is an error, never other bytes.
//! - A backend that fails, denies access or has lost its bucket is an error, never "not there".
//! - Every request has a time-out. Nothing is read from the environment.
//! - Neither errors nor `Debug` show a setting's value or a key.

mod blobs;
mod connect;
mod directory;
mod failure;
mod format;
mod keys;
mod name;
mod options;
mod upload;

#[cfg(test)]
mod tests;

pub use blobs::{ObjectBlobs, ProbeReport};
pub use connect::OpenError;
pub use keys::{KeyIdError, KeyRing, TenantKey, TenantKeys};
pub use options::ObjectOptions;
