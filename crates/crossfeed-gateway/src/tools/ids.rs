//! The ids that calls get: short where a session or a conversation keeps them apart, else signed and
//! unguessable, since an id is all that it takes to read a result.

mod reserved;

use crate::{
    principal::Principal,
    records::{self, Records},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use crossfeed_store::{Expected, StoreError};
use crossfeed_wire::{CallId, Scope};
use data_encoding::{BASE32_NOPAD, HEXLOWER};
use hmac::{Hmac, KeyInit as _, Mac as _};
pub(super) use reserved::ReservedIds;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::OnceCell;

/// Random bytes of a signed id, and bytes of its signature: 128 bits, of which either half is more than
/// anyone tries.
const NONCE: usize = 8;
const SIGNATURE: usize = 8;

/// How long the key is kept after a gateway last started: longer than anything that it signed.
const KEY_TIME: Duration = Duration::from_secs(400 * 24 * 3600);

/// What signed ids are signed with: of one gateway's own, and written nowhere but into its own store.
#[derive(Clone)]
pub(super) struct Key(Arc<Option<[u8; 32]>>);

#[derive(PartialEq, Serialize, Deserialize)]
struct KeyRecord {
    #[serde(serialize_with = "as_hex", deserialize_with = "from_hex")]
    key: [u8; 32],
}

fn as_hex<S: Serializer>(key: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&HEXLOWER.encode(key))
}

fn from_hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = HEXLOWER.decode(text.as_bytes()).ok();
    // Without the text, which may be the better part of a key.
    let key = bytes.and_then(|bytes| bytes.try_into().ok());
    key.ok_or_else(|| D::Error::custom("a key is 64 hexadecimal digits"))
}

impl Key {
    pub(super) fn new() -> Self {
        let mut key = [0; 32];
        let filled = getrandom::fill(&mut key);
        Self(Arc::new(filled.is_ok().then_some(key)))
    }

    fn at() -> records::Key {
        records::Key::new("key", &[])
    }

    /// Reads the key of the records, if there is one.
    pub(super) async fn check(records: &Records) -> Result<(), StoreError> {
        records.read::<KeyRecord>(&Self::at()).await.map(drop)
    }

    /// The key of the records, so that ids which it signed before are known; this one where there is none yet.
    pub(super) async fn kept(self, records: &Records) -> Result<Self, StoreError> {
        let Some(own) = *self.0 else {
            return Ok(self);
        };
        let at = Self::at();
        loop {
            let (key, expected) = match records.read::<KeyRecord>(&at).await? {
                Some(found) => (found.value.key, Expected::Version(found.version)),
                None => (own, Expected::Absent),
            };
            let record = KeyRecord { key };
            // Else another gateway wrote one meanwhile.
            let kept = records.keep(&at, &record, expected, KEY_TIME);
            if kept.await?.is_some() {
                return Ok(Self(Arc::new(Some(key))));
            }
        }
    }
}

/// Mints ids for one client.
pub(super) enum CallIds {
    /// `call_1`, `call_2`, …
    Counted(AtomicU64),
    /// The same, and no number is given again after a restart.
    Reserved {
        numbers: Arc<ReservedIds>,
        scope: Scope,
        /// The last number of what was recorded in the scope before this process used it.
        recorded: OnceCell<u64>,
    },
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

    /// Short ids of a scope, of these numbers.
    pub(super) fn reserved(numbers: Arc<ReservedIds>, scope: Scope) -> Self {
        Self::Reserved {
            numbers,
            scope,
            recorded: OnceCell::new(),
        }
    }

    /// The number of the last id; 0 where that is not to be remembered here.
    pub(super) fn last(&self) -> u64 {
        match self {
            Self::Counted(last) => last.load(Ordering::Relaxed),
            Self::Reserved { .. } | Self::Signed { .. } => 0,
        }
    }

    pub(super) fn signed(key: Key, principal: &Principal) -> Self {
        Self::Signed {
            key,
            holder: tag(principal),
        }
    }

    /// The next id; `None` where the system gives no random bytes.
    ///
    /// # Errors
    ///
    /// No number can be reserved: the store does not answer.
    pub(super) async fn next(&self) -> Result<Option<CallId>, StoreError> {
        let text = match self {
            Self::Counted(last) => {
                let number = last.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                Some(counted(number))
            }
            Self::Reserved {
                numbers,
                scope,
                recorded,
            } => {
                let last = recorded.get_or_try_init(|| numbers.last_recorded(scope));
                Some(counted(numbers.next_after(*last.await?).await?))
            }
            Self::Signed { key, holder } => signed(key, holder),
        };
        Ok(text.and_then(|text| CallId::parse(&text).ok()))
    }

    /// Forgets the numbers of a scope in which no id will be given any more.
    pub(super) async fn forget(&self) -> Result<(), StoreError> {
        match self {
            Self::Reserved { numbers, .. } => numbers.forget().await,
            Self::Counted(_) | Self::Signed { .. } => Ok(()),
        }
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

const COUNTED: &str = "call_";

fn counted(number: u64) -> String {
    format!("{COUNTED}{number}")
}

/// The number of a counted id.
fn number_of(id: &CallId) -> Option<u64> {
    id.as_str().strip_prefix(COUNTED)?.parse().ok()
}

fn signed(key: &Key, holder: &str) -> Option<String> {
    let mut bytes = [0; NONCE + SIGNATURE];
    let (nonce, signature) = bytes.split_at_mut(NONCE);
    getrandom::fill(nonce).ok()?;
    let mac = mac(key, holder, nonce)?.finalize().into_bytes();
    signature.copy_from_slice(&mac[..SIGNATURE]);
    Some(base32(&bytes))
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
pub(crate) fn tag(principal: &Principal) -> String {
    match principal {
        Principal::Local => "local".to_owned(),
        Principal::Anonymous => "anonymous".to_owned(),
        Principal::Named(name) => format!("named-{}", digest(name)),
    }
}

fn digest(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// 128 random bits in a word: what has it is never mistaken for something else.
pub(crate) fn unguessable() -> String {
    let mut bytes = [0; 16];
    #[expect(
        clippy::expect_used,
        reason = "the system has no entropy: nothing is safe"
    )]
    getrandom::fill(&mut bytes).expect("entropy");
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
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
/// from that of a conversation of the same id that was forgotten before. `run` tells the local client of this process
/// from those of others that use the same store.
pub(super) fn conversation_scope(
    principal: &Principal,
    run: Option<&str>,
    conversation: &[u8; 32],
    forgotten: u64,
) -> Scope {
    let session = format!("c-{}-{forgotten}", HEXLOWER.encode(conversation));
    parsed(&conversations_project(principal, run), &session)
}

/// Of all conversations of a principal: it has no results, only the numbers that they share.
pub(super) fn conversations_scope(principal: &Principal, run: &str) -> Scope {
    parsed(
        &conversations_project(principal, Some(run)),
        "conversations",
    )
}

fn conversations_project(principal: &Principal, run: Option<&str>) -> String {
    match (principal, run) {
        (Principal::Local, Some(run)) => format!("{}-r-{}", tag(principal), digest(run)),
        _ => tag(principal),
    }
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
    use futures_util::FutureExt as _;
    use proptest::prelude::*;

    fn next(ids: &CallIds) -> String {
        let next = ids.next().now_or_never().unwrap();
        next.unwrap().unwrap().as_str().to_owned()
    }

    #[test]
    fn counted_ids_are_short() {
        let ids = CallIds::counted_from(0);
        assert_eq!(next(&ids), "call_1");
        assert_eq!(next(&ids), "call_2");
        assert!(ids.may_be("anything"));
    }

    #[test]
    fn signed_ids_are_known_to_their_holder_only() {
        let key = Key::new();
        let named = |name: &str| CallIds::signed(key.clone(), &Principal::Named(name.to_owned()));
        let (a, b) = (named("a"), named("b"));
        let id = next(&a);
        assert_eq!(id.len(), 26);
        assert_ne!(id, next(&a));
        assert!(a.may_be(&id));
        assert!(!b.may_be(&id));
        assert!(!a.may_be("call_1"));
        let other_gateway = CallIds::signed(Key::new(), &Principal::Named("a".to_owned()));
        assert!(!other_gateway.may_be(&id));
        for at in 0..26 {
            let mut changed = id.clone().into_bytes();
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
