//! The keys with which large results and artifacts are encrypted.
//!
//! An id and a key a line. The first key is the current one; the others are for what was written before, or will be.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use crossfeed::store::{TenantKey, TenantKeys};
use std::fmt;

/// How a line is to be.
const FORM: &str = "write an id and a key of 32 bytes in base64, as `2026-01` and what `openssl rand -base64 32` prints";

/// The keys of a gateway, whose results all are of one tenant.
#[derive(Debug)]
pub(super) struct Keys(Vec<TenantKey>);

impl Keys {
    /// Reads keys; empty lines and those that begin with `#` are left out.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut keys: Vec<TenantKey> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = at + 1;
            let key = key(line).ok_or_else(|| format!("line {number} is not a key: {FORM}"))?;
            if keys.iter().any(|other| other.id() == key.id()) {
                let id = key.id();
                return Err(format!("line {number}: there is a key `{id}` already"));
            }
            keys.push(key);
        }
        if keys.is_empty() {
            return Err(format!("there is no key: {FORM}"));
        }
        Ok(Self(keys))
    }
}

fn key(line: &str) -> Option<TenantKey> {
    let (id, key) = line.split_once(char::is_whitespace)?;
    let bytes = BASE64_STANDARD.decode(key.trim_start()).ok()?;
    TenantKey::new(id, bytes.try_into().ok()?).ok()
}

impl TenantKeys for Keys {
    fn current(&self, _: &str) -> Option<TenantKey> {
        self.0.first().cloned()
    }

    fn by_id(&self, _: &str, id: &str) -> Option<TenantKey> {
        self.0.iter().find(|key| key.id() == id).cloned()
    }
}

/// Their ids.
impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ids = self.0.iter().map(TenantKey::id);
        write!(
            f,
            "encrypted with the key `{}`",
            ids.next().unwrap_or_default()
        )?;
        let earlier: Vec<_> = ids.map(|id| format!("`{id}`")).collect();
        if earlier.is_empty() {
            return Ok(());
        }
        write!(f, ", read also with {}", earlier.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const TWO: &str = "//////////////////////////////////////////8=";

    #[test]
    fn the_first_key_is_the_current_one() {
        let text = format!("# keys\n\n2026-01 {ONE}\r\n  2025-01\t {TWO}\n");
        let keys = Keys::parse(&text).unwrap();
        let current = keys.current("gateway").unwrap();
        let expected = std::array::from_fn(|at| u8::try_from(at).unwrap());
        assert_eq!(current, TenantKey::new("2026-01", expected).unwrap());
        assert_eq!(keys.by_id("gateway", "2026-01"), Some(current));
        let earlier = TenantKey::new("2025-01", [0xff; 32]).unwrap();
        assert_eq!(keys.by_id("gateway", "2025-01"), Some(earlier));
        assert_eq!(keys.by_id("gateway", "2024-01"), None);
        let shown = format!("{keys} {keys:?}");
        assert!(shown.starts_with("encrypted with the key `2026-01`, read also with `2025-01` "));
        assert!(!shown.contains(ONE) && !shown.contains("255"), "{shown}");
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        let check = |text: &str, expected: &str| {
            let error = Keys::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
            assert!(
                !error.contains("AAEC") && !error.contains("s3cret"),
                "{error}"
            );
        };
        check("", "there is no key: write an id and a key of 32 bytes");
        check("# only\n", "there is no key");
        check("s3cret", "line 1 is not a key: write an id and");
        check(ONE, "line 1 is not a key");
        check(&format!("a {ONE}\nb AAEC"), "line 2 is not a key");
        check(&format!("a {ONE}s3cret"), "line 1 is not a key");
        check(&format!("a/b {ONE}"), "line 1 is not a key");
        check(
            &format!("a {ONE}\na {TWO}"),
            "line 2: there is a key `a` already",
        );
    }
}
