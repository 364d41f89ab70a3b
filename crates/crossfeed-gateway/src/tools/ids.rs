//! The ids that calls get: short where a session or a conversation keeps them apart, else signed and
//! unguessable, since an id is all that it takes to read a result.

use crate::principal::Principal;
use crossfeed_wire::{CallId, Scope};
use data_encoding::{BASE32_NOPAD, HEXLOWER};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Random bytes of a signed id, and bytes of its signature: 128 bits, of which either half is more than
/// anyone tries.
const NONCE: usize = 8;
const SIGNATURE: usize = 8;

/// What signed ids are signed with: of one gateway's own, and never written anywhere.
#[derive(Clone)]
pub(super) struct Key(Arc<Option<[u8; 32]>>);

impl Key {
    pub(super) fn new() -> Self {
        let mut key = [0; 32];
        let filled = getrandom::fill(&mut key);
        Self(Arc::new(filled.is_ok().then_some(key)))
    }
}

/// Mints ids for one client.
pub(super) enum CallIds {
    /// `call_1`, `call_2`, …
    Counted(AtomicU64),
    /// 26 signs of which nothing can be told.
    Signed {
        key: Key,
        /// Whose they are.
        holder: String,
    },
}

impl CallIds {
    /// Short ids, the first behind `call_LAST`.
    pub(super) fn counted_from(last: u64) -> Self {
        Self::Counted(AtomicU64::new(last))
    }

    /// The number of the last id; 0 where ids have no numbers.
    pub(super) fn last(&self) -> u64 {
        match self {
            Self::Counted(last) => last.load(Ordering::Relaxed),
            Self::Signed { .. } => 0,
        }
    }

    pub(super) fn signed(key: Key, principal: &Principal) -> Self {
        Self::Signed {
            key,
            holder: tag(principal),
        }
    }

    /// The next id; `None` where the system gives no random bytes.
    pub(super) fn next(&self) -> Option<CallId> {
        let text = match self {
            Self::Counted(last) => {
                let number = last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                format!("call_{number}")
            }
            Self::Signed { key, holder } => {
                let mut bytes = [0; NONCE + SIGNATURE];
                let (nonce, signature) = bytes.split_at_mut(NONCE);
                getrandom::fill(nonce).ok()?;
                let mac = mac(key, holder, nonce)?.finalize().into_bytes();
                signature.copy_from_slice(&mac[..SIGNATURE]);
                base32(&bytes)
            }
        };
        CallId::parse(&text).ok()
    }

    /// Whether an id may be one of these. One that may not is not even looked up.
    pub(super) fn may_be(&self, id: &str) -> bool {
        let Self::Signed { key, holder } = self else {
            return true;
        };
        let Some(bytes) = from_base32(id) else {
            return false;
        };
        let (nonce, signature) = bytes.split_at(NONCE);
        // Each byte is compared, so that the time says nothing.
        mac(key, holder, nonce).is_some_and(|own| own.verify_truncated_left(signature).is_ok())
    }
}

fn mac(key: &Key, holder: &str, nonce: &[u8]) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&(*key.0)?).ok()?;
    for part in [holder.as_bytes(), &[0], nonce] {
        mac.update(part);
    }
    Some(mac)
}

/// In lower case: no sign that a model confuses with another.
fn base32(bytes: &[u8]) -> String {
    BASE32_NOPAD.encode(bytes).to_ascii_lowercase()
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let is_ours = text.len() == 26 && !text.contains(|sign: char| sign.is_ascii_uppercase());
    let text = is_ours.then(|| text.to_ascii_uppercase())?;
    BASE32_NOPAD.decode(text.as_bytes()).ok()
}

/// A principal in a word that no other one has.
fn tag(principal: &Principal) -> String {
    match principal {
        Principal::Local => "local".to_owned(),
        Principal::Anonymous => "anonymous".to_owned(),
        Principal::Named(name) => format!("named-{}", digest(name)),
    }
}

fn digest(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// Where a client's ids mean something. What tools were seen to return is shared by the sessions of
/// one principal, if it has a name.
pub(super) fn scope(principal: &Principal, session: Option<&str>) -> Scope {
    let session = match session {
        Some(own) => format!("s-{}", digest(own)),
        None => "stateless".to_owned(),
    };
    let project = match principal {
        Principal::Named(_) => tag(principal),
        Principal::Local | Principal::Anonymous => format!("{}-{session}", tag(principal)),
    };
    parsed(&project, &session)
}

/// The same of a conversation, by the digest of its id; all of one principal share what is learned. It differs
/// from that of a conversation of the same id that was forgotten before.
pub(super) fn conversation_scope(
    principal: &Principal,
    conversation: &[u8; 32],
    forgotten: u64,
) -> Scope {
    let session = format!("c-{}-{forgotten}", HEXLOWER.encode(conversation));
    parsed(&tag(principal), &session)
}

fn parsed(project: &str, session: &str) -> Scope {
    #[expect(
        clippy::expect_used,
        reason = "words of ours, hexadecimal digits and numbers are what a scope takes"
    )]
    Scope::parse("gateway", project, session).expect("a scope")
}

#[cfg(test)]
mod tests {
    use super::{CallIds, Key, base32, from_base32, scope};
    use crate::principal::Principal;
    use proptest::prelude::*;

    #[test]
    fn counted_ids_are_short() {
        let ids = CallIds::counted_from(0);
        assert_eq!(ids.next().unwrap().as_str(), "call_1");
        assert_eq!(ids.next().unwrap().as_str(), "call_2");
        assert!(ids.may_be("anything"));
    }

    #[test]
    fn signed_ids_are_known_to_their_holder_only() {
        let key = Key::new();
        let named = |name: &str| CallIds::signed(key.clone(), &Principal::Named(name.to_owned()));
        let (a, b) = (named("a"), named("b"));
        let id = a.next().unwrap();
        assert_eq!(id.as_str().len(), 26);
        assert_ne!(id, a.next().unwrap());
        assert!(a.may_be(id.as_str()));
        assert!(!b.may_be(id.as_str()));
        assert!(!a.may_be("call_1"));
        let other_gateway = CallIds::signed(Key::new(), &Principal::Named("a".to_owned()));
        assert!(!other_gateway.may_be(id.as_str()));
        for at in 0..26 {
            let mut changed = id.as_str().to_owned().into_bytes();
            changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
            assert!(!a.may_be(std::str::from_utf8(&changed).unwrap()), "{at}");
        }
    }

    #[test]
    fn scopes_are_apart() {
        let named = Principal::Named("anonymous".to_owned());
        let all = [
            scope(&Principal::Local, Some("a")),
            scope(&Principal::Anonymous, Some("a")),
            scope(&Principal::Anonymous, Some("b")),
            scope(&Principal::Anonymous, None),
            scope(&named, None),
            scope(&named, Some("a")),
            scope(&named, Some("stateless")),
        ];
        for (index, one) in all.iter().enumerate() {
            assert_eq!(one.tenant(), "gateway");
            assert!(!all.iter().skip(index + 1).any(|other| one == other));
        }
        // What was learned of results is a project's: of one session, but for who has a name.
        let project = |principal: &Principal, session| {
            let scope = scope(principal, Some(session));
            scope.project().to_owned()
        };
        for (principal, is_shared) in [
            (Principal::Local, false),
            (Principal::Anonymous, false),
            (named, true),
        ] {
            let (one, other) = (project(&principal, "a"), project(&principal, "b"));
            assert_eq!(one == other, is_shared, "{principal:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(bytes: [u8; 16]) {
            let text = base32(&bytes);
            prop_assert_eq!(text.len(), 26);
            prop_assert_eq!(from_base32(&text), Some(bytes.to_vec()));
        }
    }
}
