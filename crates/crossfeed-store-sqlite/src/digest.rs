//! Digests, by which damaged data is recognised.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digest(pub(crate) [u8; 32]);

impl Digest {
    pub(crate) fn new(data: &[u8]) -> Self {
        Self(Sha256::digest(data).into())
    }

    /// The digest of several parts, each with its length, so that other parts cannot give the same digest.
    pub(crate) fn from_parts(parts: &[Option<&[u8]>]) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            match part {
                None => hasher.update([0]),
                Some(part) => {
                    hasher.update([1]);
                    hasher.update((part.len() as u64).to_le_bytes());
                    hasher.update(part);
                }
            }
        }
        Self(hasher.finalize().into())
    }

    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The digest in a file's name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::from_slice(&HEXLOWER.decode(text.as_bytes()).ok()?)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&HEXLOWER.encode(&self.0))
    }
}
