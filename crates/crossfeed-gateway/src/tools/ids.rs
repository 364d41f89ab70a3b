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
    fmt,
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

const KEY_BYTES: usize = 32;

/// The keys that ids of clients without sessions are signed with: the first signs, and what any of them signed is
/// known.
///
/// Where none are given, a gateway has a key of its own, which stands nowhere but in its store.
///
/// ```
/// use crossfeed_gateway::tools::IdKeys;
///
/// let keys = IdKeys::try_new(vec![[2; 32], [1; 32]])?;
/// # Ok::<(), crossfeed_gateway::tools::IdKeysError>(())
/// ```
#[derive(Clone)]
pub struct IdKeys {
    /// None where the system gives no random bytes.
    keys: Arc<[[u8; KEY_BYTES]]>,
    /// Whether they were given, so that the store's key does not count.
    are_given: bool,
}

/// Why keys cannot be those of ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdKeysError {
    /// There is none: `[]`.
    #[error("there is no key")]
    Empty,
    /// There are more than [`IdKeys::MAX`], each of which is tried for each id.
    #[error("there are {count} keys, of which {} can be used", IdKeys::MAX)]
    TooMany {
        /// How many there are.
        count: usize,
    },
}

#[derive(PartialEq, Serialize, Deserialize)]
struct KeyRecord {
    #[serde(serialize_with = "as_hex", deserialize_with = "from_hex")]
    key: [u8; KEY_BYTES],
}

fn as_hex<S: Serializer>(key: &[u8; KEY_BYTES], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&HEXLOWER.encode(key))
}

fn from_hex<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; KEY_BYTES], D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = HEXLOWER.decode(text.as_bytes()).ok();
    // Without the text, which may be the better part of a key.
    let key = bytes.and_then(|bytes| bytes.try_into().ok());
    key.ok_or_else(|| D::Error::custom("a key is 64 hexadecimal digits"))
}

/// The number of keys only.
impl fmt::Debug for IdKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdKeys")
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

impl IdKeys {
    /// The most keys: one signs, and what the others signed is over within the time that results are kept.
    pub const MAX: usize = 8;

    /// These keys, the one that signs first.
    ///
    /// # Errors
    ///
    /// [`IdKeysError`] where there is none, or more than [`MAX`](Self::MAX).
    pub fn try_new(keys: Vec<[u8; KEY_BYTES]>) -> Result<Self, IdKeysError> {
        match keys.len() {
            0 => Err(IdKeysError::Empty),
            1..=Self::MAX => Ok(Self {
                keys: keys.into(),
                are_given: true,
            }),
            count => Err(IdKeysError::TooMany { count }),
        }
    }

    /// A key that no other process has.
    pub(super) fn random() -> Self {
        let mut key = [0; KEY_BYTES];
        let filled = getrandom::fill(&mut key);
        Self {
            keys: filled.ok().map(|()| key).into_iter().collect(),
            are_given: false,
        }
    }

    fn at() -> records::Key {
        records::Key::new("key", &[])
    }

    /// Reads the key of the records, if there is one.
    pub(super) async fn check(records: &Records) -> Result<(), StoreError> {
        records.read::<KeyRecord>(&Self::at()).await.map(drop)
    }

    /// Unless keys were given, the key of the records, so that ids which it signed before are known; this one where there
    /// is none yet.
    pub(super) async fn kept(self, records: &Records) -> Result<Self, StoreError> {
        let own = match *self.keys {
            [own] if !self.are_given => own,
            _ => return Ok(self),
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
                return Ok(Self {
                    keys: Arc::new([key]),
                    are_given: false,
                });
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
    Signed(IdSigner),
}

/// Signs the ids of one holder, and knows them again.
#[derive(Clone)]
pub(super) struct IdSigner {
    keys: IdKeys,
    /// Whose they are.
    holder: Arc<str>,
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
            Self::Reserved { .. } | Self::Signed(_) => 0,
        }
    }

    pub(super) fn signed(keys: IdKeys, principal: &Principal) -> Self {
        Self::Signed(IdSigner {
            keys,
            holder: tag(principal).into(),
        })
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
            Self::Signed(signer) => signer.next(),
        };
        Ok(text.and_then(|text| CallId::parse(&text).ok()))
    }

    /// Forgets the numbers of a scope in which no id will be given any more.
    pub(super) async fn forget(&self) -> Result<(), StoreError> {
        match self {
            Self::Reserved { numbers, .. } => numbers.forget().await,
            Self::Counted(_) | Self::Signed(_) => Ok(()),
        }
    }

    /// Whether an id may be one of these. One that may not is not even looked up.
    pub(super) fn may_be(&self, id: &str) -> bool {
        match self {
            Self::Signed(signer) => signer.may_be(id),
            Self::Counted(_) | Self::Reserved { .. } => true,
        }
    }

    /// Whether a text is written as these ids are; [`may_be`](Self::may_be) says the same and less of short ones.
    #[cfg(feature = "sql")]
    pub(super) fn is_written_like(&self, text: &str) -> bool {
        match self {
            Self::Signed(signer) => signer.may_be(text),
            Self::Counted(_) | Self::Reserved { .. } => text
                .strip_prefix(COUNTED)
                .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())),
        }
    }

    /// What knows ids of the keys that were given: no other id is known then, whatever the store has.
    pub(super) fn given_signer(&self) -> Option<&IdSigner> {
        match self {
            Self::Signed(signer) => Some(signer).filter(|signer| signer.keys.are_given),
            Self::Counted(_) | Self::Reserved { .. } => None,
        }
    }
}

impl IdSigner {
    fn next(&self) -> Option<String> {
        let key = self.keys.keys.first()?;
        let mut bytes = [0; NONCE + SIGNATURE];
        let (nonce, signature) = bytes.split_at_mut(NONCE);
        getrandom::fill(nonce).ok()?;
        let mac = self.mac(key, nonce)?.finalize().into_bytes();
        signature.copy_from_slice(&mac[..SIGNATURE]);
        Some(base32(&bytes))
    }

    pub(super) fn may_be(&self, id: &str) -> bool {
        let Some(bytes) = from_base32(id) else {
            return false;
        };
        let (nonce, signature) = bytes.split_at(NONCE);
        // Each byte is compared, and each key is tried, so that the time says nothing.
        self.keys.keys.iter().fold(false, |is_signed, key| {
            let own = self.mac(key, nonce);
            is_signed | own.is_some_and(|own| own.verify_truncated_left(signature).is_ok())
        })
    }

    fn mac(&self, key: &[u8; KEY_BYTES], nonce: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
        for part in [self.holder.as_bytes(), &[0], nonce] {
            mac.update(part);
        }
        Some(mac)
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
    use super::{CallIds, IdKeys, IdKeysError, base32, from_base32, scope};
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
        let keys = IdKeys::random();
        let named = |name: &str| CallIds::signed(keys.clone(), &Principal::Named(name.to_owned()));
        let (a, b) = (named("a"), named("b"));
        let id = next(&a);
        assert_eq!(id.len(), 26);
        assert_ne!(id, next(&a));
        assert!(a.may_be(&id));
        assert!(!b.may_be(&id));
        assert!(!a.may_be("call_1"));
        let other_gateway = CallIds::signed(IdKeys::random(), &Principal::Named("a".to_owned()));
        assert!(!other_gateway.may_be(&id));
        for at in 0..26 {
            let mut changed = id.clone().into_bytes();
            changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
            assert!(!a.may_be(std::str::from_utf8(&changed).unwrap()), "{at}");
        }
    }

    #[test]
    fn keys_are_one_to_eight() {
        let keys = |count| IdKeys::try_new(vec![[7; 32]; count]);
        assert_eq!(keys(0).unwrap_err(), IdKeysError::Empty);
        assert!(keys(1).is_ok() && keys(8).is_ok());
        let error = keys(9).unwrap_err();
        assert_eq!(error, IdKeysError::TooMany { count: 9 });
        assert_eq!(
            error.to_string(),
            "there are 9 keys, of which 8 can be used"
        );
        assert_eq!(format!("{:?}", keys(2).unwrap()), "IdKeys { keys: 2, .. }");
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
        fn an_id_is_known_where_the_key_that_signed_it_is_listed(
            one in prop::collection::vec(0_u8..12, 1..=8),
            other in prop::collection::vec(0_u8..12, 1..=8),
        ) {
            let ids = |keys: &[u8]| {
                let keys = keys.iter().map(|byte| [*byte; 32]).collect();
                CallIds::signed(IdKeys::try_new(keys).unwrap(), &Principal::Anonymous)
            };
            let id = next(&ids(&one));
            prop_assert!(ids(&one).may_be(&id));
            prop_assert_eq!(ids(&other).may_be(&id), other.contains(&one[0]));
        }

        #[test]
        fn what_is_written_reads_back(bytes: [u8; 16]) {
            let text = base32(&bytes);
            prop_assert_eq!(text.len(), 26);
            prop_assert_eq!(from_base32(&text), Some(bytes.to_vec()));
        }
    }
}
