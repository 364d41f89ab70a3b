//! A digest in place of a payload.
//!
//! Equal texts have equal digests.
//!
//! Payloads are often few (a city, a yes or no, a document that many have), so that whoever sees a plain
//! digest can try them all. A key that the trace's readers do not have makes that impossible, and equal
//! payloads can still be told from different ones.

use sha2::{Digest, Sha256};
use std::{fmt, sync::Arc};

/// The key of [`Redaction::KeyedHash`](super::Redaction::KeyedHash). It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct HashKey(Arc<[u8]>);

impl HashKey {
    /// The key of these bytes: 32 random ones.
    #[must_use]
    pub fn new(key: impl AsRef<[u8]>) -> Self {
        Self(key.as_ref().into())
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(..)")
    }
}

/// `sha256:` and 64 digits.
pub(super) fn plain(text: &str) -> String {
    spelled("sha256:", &Sha256::digest(text))
}

/// `hmac-sha256:` and 64 digits, by RFC 2104.
pub(super) fn keyed(key: &HashKey, text: &str) -> String {
    const BLOCK: usize = 64;
    let mut block = [0; BLOCK];
    if key.0.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(&key.0));
    } else {
        block[..key.0.len()].copy_from_slice(&key.0);
    }
    let inner = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x36))
        .chain_update(text)
        .finalize();
    let outer = Sha256::new()
        .chain_update(block.map(|byte| byte ^ 0x5c))
        .chain_update(inner)
        .finalize();
    spelled("hmac-sha256:", &outer)
}

fn spelled(name: &str, digest: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    let digits = digest
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(*byte)]);
    name.chars().chain(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::{HashKey, keyed, plain};

    #[test]
    fn digests_are_those_of_the_standards() {
        // FIPS 180-4.
        assert_eq!(
            plain("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        // RFC 4231, cases 2 and 6.
        assert_eq!(
            keyed(&HashKey::new("Jefe"), "what do ya want for nothing?"),
            "hmac-sha256:5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            keyed(
                &HashKey::new([0xaa; 131]),
                "Test Using Larger Than Block-Size Key - Hash Key First"
            ),
            "hmac-sha256:60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn a_key_is_not_printed() {
        assert_eq!(format!("{:?}", HashKey::new("Jefe")), "HashKey(..)");
    }
}
