//! Lists of keys: those with which large results and artifacts are encrypted, and those that sign ids.
//!
//! An id and a key a line. The first key is the current one; the others are for what was written before, or will be.

use super::secret;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use crossfeed_gateway::config::Secret;
use std::fmt;

/// How a line is to be.
const FORM: &str = "write an id and a key of 32 bytes in base64, as `2026-01` and what `openssl rand -base64 32` prints";

/// Keys, the current one first; at least one, and no two of one id.
#[derive(Debug)]
pub(super) struct KeyList(Vec<NamedKey>);

/// A key, and the id by which people know it: 1 to 64 letters, digits, `.`, `_` and `-`.
pub(super) struct NamedKey {
    pub(super) id: String,
    pub(super) bytes: [u8; 32],
}

/// The id only.
impl fmt::Debug for NamedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl KeyList {
    /// The keys that the configuration has under `key`, or in the file that it names.
    pub(super) fn read(secret: &Secret, key: &str) -> Result<Self, String> {
        let text = secret::read(secret, key)?;
        Self::parse(&text).map_err(|why| match secret {
            Secret::File(path) => format!("`{key}File`: `{}`: {why}", path.display()),
            Secret::Text(_) => format!("`{key}`: {why}"),
        })
    }

    /// Reads keys; empty lines and those that begin with `#` are left out.
    fn parse(text: &str) -> Result<Self, String> {
        let mut keys: Vec<NamedKey> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = at + 1;
            let key = key(line).ok_or_else(|| format!("line {number} is not a key: {FORM}"))?;
            if keys.iter().any(|other| other.id == key.id) {
                let id = key.id;
                return Err(format!("line {number}: there is a key `{id}` already"));
            }
            keys.push(key);
        }
        if keys.is_empty() {
            return Err(format!("there is no key: {FORM}"));
        }
        Ok(Self(keys))
    }

    /// What is said of them: their ids, behind what the first does and what the others do.
    pub(super) fn shown(&self, current: &str, earlier: &str) -> String {
        let mut ids = self.0.iter().map(|key| format!("`{}`", key.id));
        let first = ids.next().unwrap_or_default();
        let rest: Vec<_> = ids.collect();
        if rest.is_empty() {
            return format!("{current} the key {first}");
        }
        format!("{current} the key {first}, {earlier} {}", rest.join(", "))
    }
}

impl IntoIterator for KeyList {
    type Item = NamedKey;
    type IntoIter = std::vec::IntoIter<NamedKey>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

fn key(line: &str) -> Option<NamedKey> {
    let (id, key) = line.split_once(char::is_whitespace)?;
    let is_admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if !(1..=64).contains(&id.len()) || !id.bytes().all(is_admitted) {
        return None;
    }
    let bytes = BASE64_STANDARD.decode(key.trim_start()).ok()?;
    Some(NamedKey {
        id: id.to_owned(),
        bytes: bytes.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    const TWO: &str = "//////////////////////////////////////////8=";

    #[test]
    fn the_first_key_is_the_current_one() {
        let text = format!("# keys\n\n2026-01 {ONE}\r\n  2025-01\t {TWO}\n");
        let keys = KeyList::parse(&text).unwrap();
        let shown = format!("{} {keys:?}", keys.shown("signed with", "known also by"));
        assert!(
            shown.starts_with("signed with the key `2026-01`, known also by `2025-01` "),
            "{shown}"
        );
        assert!(!shown.contains(ONE) && !shown.contains("255"), "{shown}");
        let [first, second] = &keys.into_iter().collect::<Vec<_>>()[..] else {
            panic!("two keys");
        };
        let expected = std::array::from_fn(|at| u8::try_from(at).unwrap());
        assert_eq!((first.id.as_str(), first.bytes), ("2026-01", expected));
        assert_eq!((second.id.as_str(), second.bytes), ("2025-01", [0xff; 32]));
        let one = KeyList::parse(&format!("a {ONE}")).unwrap();
        assert_eq!(
            one.shown("signed with", "known also by"),
            "signed with the key `a`"
        );
    }

    #[test]
    fn what_is_no_key_is_refused_without_showing_it() {
        let check = |text: &str, expected: &str| {
            let error = KeyList::parse(text).unwrap_err();
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
        check(&format!("{} {ONE}", "a".repeat(65)), "line 1 is not a key");
        check(
            &format!("a {ONE}\na {TWO}"),
            "line 2: there is a key `a` already",
        );
    }
}
