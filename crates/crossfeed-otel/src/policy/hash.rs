//! A digest in place of a payload; equal texts have equal digests.
//!
//! Payloads often have few possible values (a city, a yes or no, a document that many have), so anyone who
//! sees a plain digest can try them all. A key that readers of the trace do not have makes that impossible,
//! and equal payloads still have equal digests.

use super::FAILED;
use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use std::{fmt, sync::Arc};

/// The key of [`Redaction::KeyedHash`](super::Redaction::KeyedHash). It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct HashKey(Arc<[u8]>);

impl HashKey {
    /// The key of these bytes: 32 random ones.
    pub fn new(key: impl AsRef<[u8]>) -> Self {
        Self(key.as_ref().into())
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey(..)")
    }
}

/// `sha256:` and 64 hexadecimal digits.
pub(super) fn plain(text: &str) -> String {
    format!("sha256:{}", HEXLOWER.encode(&Sha256::digest(text)))
}

/// `hmac-sha256:` and 64 hexadecimal digits, by RFC 2104.
pub(super) fn keyed(key: &HashKey, text: &str) -> String {
    match Hmac::<Sha256>::new_from_slice(&key.0) {
        Ok(hmac) => {
            let digest = hmac.chain_update(text).finalize();
            format!("hmac-sha256:{}", HEXLOWER.encode(&digest.into_bytes()))
        }
        // Not reached: HMAC takes keys of any length.
        Err(_) => FAILED.to_owned(),
    }
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
