//! Accounts for the tokens that a session's results took in a model's context, and would have taken. Hints,
//! references and errors count as costs.

use crate::{
    canonical::StoredItem,
    resolve::LookupKey,
    telemetry::{Telemetry, avoided},
};
use crossfeed_wire::Scope;
// Seeded, and several times as fast as the standard hasher on megabytes. The seed stays secret: with it, other
// content could be made to pass for content that was shown.
use foldhash::quality::RandomState;
use lru::LruCache;
use parking_lot::Mutex;
use std::{
    hash::BuildHasher,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The most sessions with sums: those that were used last.
const MAX_SESSIONS: usize = 10_000;
/// The most results and artifacts of a session that are remembered as shown: as many as it holds of each by
/// default.
const MAX_SHOWN: usize = 2000;
/// The same for all sessions together. Beyond it, the least recently used sessions forget which results they
/// showed, but keep their sums.
const MAX_SHOWN_IN_ALL: usize = 100_000;
/// The most bytes whose fingerprint covers all of them: far more than can be shown whole, unless the context has
/// many million tokens.
const MARKED_BYTES: usize = 4 << 20;
/// How many bytes a fingerprint covers at each end of larger content.
const READ_BYTES: usize = 64 << 10;

/// The tokens that a session's results took in a model's context, and would have taken without references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenUsage {
    /// Shown of results and artifacts: whole ones, previews, hints, summaries, parts brought into the context, and
    /// text that the host adds itself, each time it was shown.
    pub shown: u64,
    /// The tokens that the shown results would have taken as a whole, each once. Binary data counts only as its
    /// description; artifacts, which are made from results, do not count.
    pub whole: u64,
    /// The references, as the model wrote them.
    pub references: u64,
    /// The values that replaced them, which the model would have written.
    pub referred: u64,
    /// The errors shown to the model: those that it can fix.
    pub errors: u64,
    /// Bytes of JSON that references moved from results into arguments.
    pub bytes_moved: u64,
}

impl TokenUsage {
    /// How many tokens did not enter the context, less all costs. Negative if references did not pay off: for
    /// small results that are never passed on.
    pub fn avoided(&self) -> i64 {
        let sum = |parts: &[u64]| {
            let sum = parts.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
            i64::try_from(sum).unwrap_or(i64::MAX)
        };
        sum(&[self.whole, self.referred]) - sum(&[self.shown, self.references, self.errors])
    }
}

/// How much of a result or an artifact was shown.
pub(crate) struct ShownItem {
    pub(crate) tokens: usize,
    /// The tokens of the whole result.
    pub(crate) whole: usize,
    /// Whether all of it was shown.
    pub(crate) is_whole: bool,
}

/// Distinguishes the contents that one id named at different times: a result that is gone can be recorded again
/// with other bytes, here or by another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    len: usize,
    hash: u64,
}

impl Fingerprint {
    /// Whether it covers all bytes, so that two contents share it only by chance.
    fn is_sure(self) -> bool {
        self.len <= MARKED_BYTES
    }
}

/// The usage of one session.
#[derive(Debug)]
pub(crate) struct SessionUsage {
    state: Mutex<UsageState>,
    shared: Arc<SharedUsage>,
}

/// State that the accounts of all sessions share.
#[derive(Debug, Default)]
struct SharedUsage {
    /// How many results and artifacts all sessions remember as shown.
    remembered: AtomicUsize,
    hasher: RandomState,
    telemetry: Option<Arc<dyn Telemetry>>,
}

#[derive(Debug)]
struct UsageState {
    sums: TokenUsage,
    shown: LruCache<LookupKey, (Fingerprint, bool)>,
}

impl SessionUsage {
    fn new(shared: Arc<SharedUsage>) -> Self {
        let state = Mutex::new(UsageState {
            sums: TokenUsage::default(),
            // Grows as it is filled: most sessions show little.
            shown: LruCache::unbounded(),
        });
        Self { state, shared }
    }

    /// Changes the sums, and reports the tokens that the change avoids.
    fn update(&self, change: impl FnOnce(&mut UsageState)) {
        let mut state = self.state.lock();
        let before = state.sums.avoided();
        change(&mut state);
        let after = state.sums.avoided();
        // The host's code runs outside the lock.
        drop(state);
        if let Some(telemetry) = &self.shared.telemetry {
            avoided(&**telemetry, before, after);
        }
    }

    /// The fingerprint of a stored item: of its kind and its bytes, or of their beginning and end if there
    /// are many.
    pub(crate) fn mark(&self, stored: &StoredItem) -> Fingerprint {
        let raw = stored.document().raw();
        let (begin, end) = if raw.len() <= MARKED_BYTES {
            (raw.as_ref(), &b""[..])
        } else {
            let (begin, rest) = raw.split_at(READ_BYTES);
            (begin, rest.split_at(rest.len() - READ_BYTES).1)
        };
        let (kind, media_type) = match stored {
            StoredItem::Result(result) => (Some(result.kind()), result.media_type()),
            StoredItem::Artifact(_) => (None, None),
        };
        Fingerprint {
            len: raw.len(),
            hash: self.shared.hasher.hash_one((kind, media_type, begin, end)),
        }
    }

    pub(crate) fn sums(&self) -> TokenUsage {
        self.state.lock().sums
    }

    /// Counts a result or an artifact as shown.
    pub(crate) fn show(&self, key: LookupKey, mark: Fingerprint, showing: &ShownItem) {
        self.update(|state| {
            add(&mut state.sums.shown, showing.tokens);
            let known = state.shown.get(&key).copied();
            let before = known.filter(|(shown, _)| *shown == mark);
            // The result of an artifact was counted when it was shown.
            if before.is_none() && key.artifact_id.is_none() {
                add(&mut state.sums.whole, showing.whole);
            }
            if known.is_none() {
                if state.shown.len() >= MAX_SHOWN {
                    state.shown.pop_lru();
                } else {
                    self.shared.remembered.fetch_add(1, Ordering::Relaxed);
                }
            }
            if before.is_none_or(|(_, is_whole)| !is_whole) {
                state.shown.put(key, (mark, showing.is_whole));
            }
        });
    }

    /// Whether all of this content was shown.
    pub(crate) fn was_shown_whole(&self, key: &LookupKey, mark: Fingerprint) -> bool {
        mark.is_sure() && self.state.lock().shown.get(key) == Some(&(mark, true))
    }

    /// Counts anything else that was shown.
    pub(crate) fn show_more(&self, tokens: usize) {
        self.update(|state| add(&mut state.sums.shown, tokens));
    }

    /// Forgets which results were shown, but keeps the sums.
    fn forget(&self) {
        let mut state = self.state.lock();
        let forgotten = state.shown.len();
        state.shown.clear();
        self.shared
            .remembered
            .fetch_sub(forgotten, Ordering::Relaxed);
    }

    /// Counts references, the values that replaced them, and the bytes of these.
    pub(crate) fn refer(&self, references: usize, referred: usize, bytes: usize) {
        self.update(|UsageState { sums, .. }| {
            add(&mut sums.references, references);
            add(&mut sums.referred, referred);
            add(&mut sums.bytes_moved, bytes);
        });
    }

    /// Counts an error.
    pub(crate) fn fail(&self, tokens: usize) {
        self.update(|state| add(&mut state.sums.errors, tokens));
    }
}

impl Drop for SessionUsage {
    fn drop(&mut self) {
        self.forget();
    }
}

fn add(sum: &mut u64, n: usize) {
    *sum = sum.saturating_add(n as u64);
}

/// The accounts of the sessions that were used last.
#[derive(Debug)]
pub(crate) struct Accounts {
    sessions: Mutex<LruCache<Scope, Arc<SessionUsage>>>,
    shared: Arc<SharedUsage>,
}

impl Accounts {
    pub(crate) fn new(telemetry: Option<Arc<dyn Telemetry>>) -> Self {
        Self {
            sessions: Mutex::new(LruCache::unbounded()),
            shared: Arc::new(SharedUsage {
                telemetry,
                ..SharedUsage::default()
            }),
        }
    }

    /// The account of a session, opened if there is none.
    pub(crate) fn open(&self, scope: &Scope) -> Arc<SessionUsage> {
        let mut sessions = self.sessions.lock();
        let exceeds = |limit| self.shared.remembered.load(Ordering::Relaxed) > limit;
        if exceeds(MAX_SHOWN_IN_ALL) {
            // Half of them, so that this is rare.
            let oldest = sessions.iter().rev().map(|(_, account)| account);
            let oldest = oldest.take_while(|_| exceeds(MAX_SHOWN_IN_ALL / 2));
            oldest.for_each(|account| account.forget());
        }
        if let Some(account) = sessions.get(scope) {
            return Arc::clone(account);
        }
        if sessions.len() >= MAX_SESSIONS {
            sessions.pop_lru();
        }
        let account = Arc::new(SessionUsage::new(Arc::clone(&self.shared)));
        sessions.put(scope.clone(), Arc::clone(&account));
        account
    }

    /// The sums of a session, without opening an account for it.
    pub(crate) fn sums(&self, scope: &Scope) -> TokenUsage {
        let account = self.sessions.lock().peek(scope).cloned();
        account.map(|account| account.sums()).unwrap_or_default()
    }

    pub(crate) fn close(&self, scope: &Scope) {
        self.sessions.lock().pop(scope);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Accounts, Fingerprint, LookupKey, MARKED_BYTES, SessionUsage, ShownItem, TokenUsage,
    };
    use crate::canonical::StoredItem;
    use crossfeed_json::Document;
    use crossfeed_store::{ResultKind, StoredResult};
    use crossfeed_wire::{ArtifactId, CallId, Scope};
    use std::sync::{Arc, atomic::Ordering};

    const FINGERPRINT: Fingerprint = Fingerprint { len: 1, hash: 7 };

    fn account() -> SessionUsage {
        SessionUsage::new(Arc::default())
    }

    fn result(id: &str) -> LookupKey {
        LookupKey::new(&CallId::parse(id).unwrap(), None)
    }

    fn part(tokens: usize, whole: usize) -> ShownItem {
        let is_whole = false;
        ShownItem {
            tokens,
            whole,
            is_whole,
        }
    }

    fn whole(tokens: usize, whole: usize) -> ShownItem {
        let is_whole = true;
        ShownItem {
            is_whole,
            ..part(tokens, whole)
        }
    }

    fn scope(n: usize) -> Scope {
        Scope::parse("t", "p", &format!("s{n}")).unwrap()
    }

    fn stored(kind: ResultKind, bytes: Vec<u8>) -> StoredItem {
        StoredItem::Result(Arc::new(StoredResult::new(Document::new(bytes), kind)))
    }

    /// Checks whether the fingerprints of two contents differ.
    fn check(one: (ResultKind, Vec<u8>), other: (ResultKind, Vec<u8>), are_same: bool) {
        let account = account();
        let [one, other] = [one, other].map(|(kind, bytes)| account.mark(&stored(kind, bytes)));
        assert_eq!(one == other, are_same);
        account.show(result("a"), one, &whole(1, 1));
        let is_known = are_same && one.is_sure();
        assert_eq!(account.was_shown_whole(&result("a"), other), is_known);
        account.show(result("a"), other, &part(1, 1));
        assert_eq!(account.sums().whole, if are_same { 1 } else { 2 });
        assert_eq!(account.was_shown_whole(&result("a"), other), is_known);
    }

    #[test]
    fn an_id_may_name_something_else_later() {
        let json = |text: &str| (ResultKind::Json, text.as_bytes().to_vec());
        check(json("[1]"), json("[1]"), true);
        check(json("[1]"), json("[2]"), false);
        check(json("[1]"), json("[1] "), false);
        check(json("[1]"), (ResultKind::Text, b"[1]".to_vec()), false);
        // Content too large to be read is never taken for content that was shown.
        let large = vec![b'1'; MARKED_BYTES + 1];
        let large = |kind| (kind, large.clone());
        check(large(ResultKind::Text), large(ResultKind::Text), true);
        let mut other = large(ResultKind::Text);
        *other.1.last_mut().unwrap() = b'2';
        check(large(ResultKind::Text), other, false);
    }

    #[test]
    fn what_is_avoided_pays_for_everything() {
        let account = account();
        account.show(result("a"), FINGERPRINT, &part(50, 1000));
        account.refer(20, 300, 1200);
        account.fail(30);
        account.show_more(5);
        let sums = account.sums();
        assert_eq!(sums.avoided(), 1000 + 300 - 50 - 20 - 30 - 5);
        assert_eq!(sums.bytes_moved, 1200);
        account.show(result("b"), FINGERPRINT, &whole(15, 10));
        assert_eq!(account.sums().avoided(), sums.avoided() - 5);
        assert_eq!(TokenUsage::default().avoided(), 0);
        account.show(result("c"), FINGERPRINT, &part(usize::MAX, usize::MAX));
        account.show_more(usize::MAX);
        assert_eq!(account.sums().shown, u64::MAX);
        assert_eq!(account.sums().avoided(), 0);
    }

    #[test]
    fn a_result_would_have_been_shown_once() {
        let account = account();
        for _ in 0..3 {
            account.show(result("a"), FINGERPRINT, &part(50, 1000));
        }
        let sums = account.sums();
        assert_eq!((sums.shown, sums.whole), (150, 1000));
        assert!(!account.was_shown_whole(&result("a"), FINGERPRINT));
        account.show(result("a"), FINGERPRINT, &whole(1000, 1000));
        account.show(result("a"), FINGERPRINT, &part(5, 1000));
        assert!(account.was_shown_whole(&result("a"), FINGERPRINT));
        // An artifact is part of its result.
        let (id, call) = (ArtifactId::parse("x").unwrap(), CallId::parse("a").unwrap());
        account.show(LookupKey::new(&call, Some(&id)), FINGERPRINT, &part(5, 500));
        assert_eq!(account.sums().whole, 1000);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let accounts = Accounts::new(None);
        for n in 0..2001 {
            let what = result(&format!("c{n}"));
            accounts
                .open(&scope(0))
                .show(what, FINGERPRINT, &whole(1, 1));
        }
        let account = accounts.open(&scope(0));
        assert!(!account.was_shown_whole(&result("c0"), FINGERPRINT));
        assert!(account.was_shown_whole(&result("c2000"), FINGERPRINT));
        assert_eq!(accounts.shared.remembered.load(Ordering::Relaxed), 2000);
        drop(account);
        accounts.close(&scope(0));
        assert_eq!(accounts.shared.remembered.load(Ordering::Relaxed), 0);
        for n in 0..10_001 {
            accounts.open(&scope(n)).fail(1);
        }
        assert_eq!(accounts.open(&scope(0)).sums().errors, 0);
        assert_eq!(accounts.open(&scope(9999)).sums().errors, 1);
        assert_eq!(accounts.sums(&scope(9998)).errors, 1);
        accounts.close(&scope(9999));
        assert_eq!(accounts.sums(&scope(9999)).errors, 0);
    }

    #[test]
    fn what_all_sessions_remember_is_bounded() {
        let accounts = Accounts::new(None);
        for session in 0..60 {
            for n in 0..2000 {
                let what = result(&format!("c{n}"));
                let account = accounts.open(&scope(session));
                account.show(what, FINGERPRINT, &whole(1, 1));
            }
            assert!(accounts.shared.remembered.load(Ordering::Relaxed) <= 100_001);
        }
        let knows = |session| {
            accounts
                .open(&scope(session))
                .was_shown_whole(&result("c0"), FINGERPRINT)
        };
        assert!(!knows(0) && knows(59));
        assert_eq!(accounts.sums(&scope(0)).shown, 2000);
    }
}
