//! Digests: what recorded bytes are known by, wherever they are kept.

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::{fmt, str::FromStr};

/// The SHA-256 digest of recorded bytes (FIPS 180-4), written `sha256:` and 64 hexadecimal digits.
///
/// ```
/// use crossfeed_store::Digest;
///
/// let digest = Digest::of(b"[1, 2]");
/// assert!(digest.to_string().starts_with("sha256:"));
/// assert_eq!(digest.to_string().parse::<Digest>()?, digest);
/// # Ok::<(), crossfeed_store::DigestError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; Self::BYTES]);

/// Why a text or bytes are not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 hexadecimal digits in lower case")]
pub struct DigestError;

impl Digest {
    /// Length of a digest.
    pub const BYTES: usize = 32;
    const PREFIX: &str = "sha256:";

    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest of several parts, each with its length, so that other parts cannot give the same digest.
    pub fn of_parts<'p>(parts: impl IntoIterator<Item = Option<&'p [u8]>>) -> Self {
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

    /// The digest itself.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// The digest in hexadecimal digits, without a prefix: for the name of a file.
    pub fn to_hex(&self) -> String {
        HEXLOWER.encode(&self.0)
    }

    /// Reads what [`Self::to_hex`] wrote.
    ///
    /// # Errors
    ///
    /// [`DigestError`] for anything but 64 hexadecimal digits in lower case.
    pub fn from_hex(text: &str) -> Result<Self, DigestError> {
        let bytes = HEXLOWER.decode(text.as_bytes());
        Self::try_from(&bytes.map_err(|_| DigestError)?[..])
    }
}

impl TryFrom<&[u8]> for Digest {
    type Error = DigestError;

    fn try_from(bytes: &[u8]) -> Result<Self, DigestError> {
        bytes.try_into().map(Self).map_err(|_| DigestError)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::from_hex(text.strip_prefix(Self::PREFIX).ok_or(DigestError)?)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, self.to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, DigestError};

    #[test]
    fn is_the_standard_one() {
        // FIPS 180-4, the example of one block.
        let expected = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Digest::of(b"abc").to_string(), expected);
        assert_eq!(expected.parse(), Ok(Digest::of(b"abc")));
    }

    #[test]
    fn other_texts_are_refused() {
        let hex = Digest::of(b"").to_hex();
        for text in [
            "",
            "sha256:",
            &hex,
            &format!("sha256:{}", hex.to_uppercase()),
            &format!("sha256:{hex}0"),
        ] {
            assert_eq!(text.parse::<Digest>(), Err(DigestError), "{text}");
        }
    }

    #[test]
    fn parts_are_kept_apart() {
        let of = |parts: &[Option<&[u8]>]| Digest::of_parts(parts.iter().copied());
        assert_ne!(
            of(&[Some(b"ab"), Some(b"c")]),
            of(&[Some(b"a"), Some(b"bc")])
        );
        assert_ne!(of(&[Some(b"")]), of(&[None]));
    }
}
