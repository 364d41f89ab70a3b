//! Accounting: what a session's results cost a model's context, and what they would have cost. Hints,
//! references and errors count on the same side as what is shown.
//!
//! They are honest: what hints, references and errors cost is counted on the same side as what is shown.

use crate::{
    canonical::Stored,
    resolve::LookupKey,
    telemetry::{Telemetry, avoided},
};
use crossfeed_wire::Scope;
// Seeded, and some times as fast as the standard one, on what may be megabytes. Who knew the seed could make
// another content pass for one that was shown.
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

/// Of how many sessions the sums are kept: those that were used last.
const SESSIONS: usize = 10_000;
/// Of how many results and artifacts of a session it is remembered that they were shown: as many as
/// it holds of each by default.
const SHOWN: usize = 2000;
/// The same of all sessions together. Beyond, those that were used longest ago forget what they
/// showed; their sums stay.
const SHOWN_IN_ALL: usize = 100_000;
/// The most bytes of what is told apart by all of them: it is far more than may be shown whole, but
/// in a context of many million tokens.
const MARKED_BYTES: usize = 4 << 20;
/// How many bytes are read at the beginning and at the end of what is larger.
const READ_BYTES: usize = 64 << 10;

/// What a session's results took of a model's context, and what they would have taken without
/// references, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenUsage {
    /// What was shown of results and artifacts: whole ones, previews, hints, summaries, parts that
    /// were brought into the context, and what the host notes itself, each as often as it was.
    pub shown: u64,
    /// What the shown results would have taken as a whole, each once. Of binary data only what
    /// describes it is counted, and nothing of artifacts, which were made of results.
    pub whole: u64,
    /// What the references cost that the model wrote, as it wrote them.
    pub references: u64,
    /// What the values cost that came in their places: the model would have written them.
    pub referred: u64,
    /// What errors cost that the model was told: those that it can mend.
    pub errors: u64,
    /// Bytes of JSON that references moved from results into arguments.
    pub bytes_moved: u64,
}

impl TokenUsage {
    /// How many tokens did not enter the context, all costs taken off. It is negative where
    /// references did not pay: for results that are small and never passed on.
    #[must_use]
    pub fn avoided(&self) -> i64 {
        let sum = |parts: &[u64]| {
            let sum = parts.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
            i64::try_from(sum).unwrap_or(i64::MAX)
        };
        sum(&[self.whole, self.referred]) - sum(&[self.shown, self.references, self.errors])
    }
}

/// What was shown of something.
pub(crate) struct Showing {
    pub(crate) tokens: usize,
    /// What its result would have taken.
    pub(crate) whole: usize,
    /// Whether it was all of it.
    pub(crate) is_whole: bool,
}

/// What tells the content of an id from what it named before: a result that has gone can be recorded
/// again with other bytes, here or by another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    len: usize,
    hash: u64,
}

impl Fingerprint {
    /// Whether all bytes were read, so that no two contents have one mark but by chance.
    fn is_sure(self) -> bool {
        self.len <= MARKED_BYTES
    }
}

/// The books of one session.
#[derive(Debug)]
pub(crate) struct SessionUsage {
    books: Mutex<UsageState>,
    all: Arc<OfAll>,
}

/// What the books of all sessions share.
#[derive(Debug, Default)]
struct OfAll {
    /// Of how many results and artifacts all sessions remember that they were shown.
    remembered: AtomicUsize,
    hasher: RandomState,
    /// Who wants to know what is avoided.
    telemetry: Option<Arc<dyn Telemetry>>,
}

#[derive(Debug)]
struct UsageState {
    sums: TokenUsage,
    shown: LruCache<LookupKey, (Fingerprint, bool)>,
}

impl SessionUsage {
    fn new(all: Arc<OfAll>) -> Self {
        let books = UsageState {
            sums: TokenUsage::default(),
            // Grows as it is filled: most sessions show little.
            shown: LruCache::unbounded(),
        };
        Self {
            books: Mutex::new(books),
            all,
        }
    }

    /// Changes the sums, and tells who wants to know what is avoided thereby.
    fn update(&self, change: impl FnOnce(&mut UsageState)) {
        let mut books = self.books.lock();
        let before = books.sums.avoided();
        change(&mut books);
        let after = books.sums.avoided();
        // A host's code runs under no lock.
        drop(books);
        if let Some(telemetry) = &self.all.telemetry {
            avoided(&**telemetry, before, after);
        }
    }

    /// The mark of what is stored: of its kind and bytes, or of the beginning and the end of many.
    pub(crate) fn mark(&self, stored: &Stored) -> Fingerprint {
        let raw = stored.document().raw();
        let (begin, end) = if raw.len() <= MARKED_BYTES {
            (raw.as_ref(), &b""[..])
        } else {
            let (begin, rest) = raw.split_at(READ_BYTES);
            (begin, rest.split_at(rest.len() - READ_BYTES).1)
        };
        let (kind, media_type) = match stored {
            Stored::Result(result) => (Some(result.kind()), result.media_type()),
            Stored::Artifact(_) => (None, None),
        };
        Fingerprint {
            len: raw.len(),
            hash: self.all.hasher.hash_one((kind, media_type, begin, end)),
        }
    }

    /// The sums.
    pub(crate) fn sums(&self) -> TokenUsage {
        self.books.lock().sums
    }

    /// Notes that something was shown.
    pub(crate) fn show(&self, what: LookupKey, mark: Fingerprint, showing: &Showing) {
        self.update(|books| {
            add(&mut books.sums.shown, showing.tokens);
            let known = books.shown.get(&what).copied();
            let before = known.filter(|(shown, _)| *shown == mark);
            // The result of an artifact was counted when it was shown.
            if before.is_none() && what.artifact_id.is_none() {
                add(&mut books.sums.whole, showing.whole);
            }
            if known.is_none() {
                if books.shown.len() >= SHOWN {
                    books.shown.pop_lru();
                } else {
                    self.all.remembered.fetch_add(1, Ordering::Relaxed);
                }
            }
            if before.is_none_or(|(_, is_whole)| !is_whole) {
                books.shown.put(what, (mark, showing.is_whole));
            }
        });
    }

    /// Whether all of something was shown, and it is the same still.
    pub(crate) fn was_shown_whole(&self, what: &LookupKey, mark: Fingerprint) -> bool {
        mark.is_sure() && self.books.lock().shown.get(what) == Some(&(mark, true))
    }

    /// Notes that something else was shown.
    pub(crate) fn show_more(&self, tokens: usize) {
        self.update(|books| add(&mut books.sums.shown, tokens));
    }

    /// Forgets what was shown, but not what it took.
    fn forget(&self) {
        let mut books = self.books.lock();
        let forgotten = books.shown.len();
        books.shown.clear();
        self.all.remembered.fetch_sub(forgotten, Ordering::Relaxed);
    }

    /// Notes what references cost, what came in their places, and its bytes.
    pub(crate) fn refer(&self, references: usize, referred: usize, bytes: usize) {
        self.update(|books| {
            add(&mut books.sums.references, references);
            add(&mut books.sums.referred, referred);
            add(&mut books.sums.bytes_moved, bytes);
        });
    }

    /// Notes what an error cost.
    pub(crate) fn fail(&self, tokens: usize) {
        self.update(|books| add(&mut books.sums.errors, tokens));
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

/// The books of all sessions that were used lately.
#[derive(Debug)]
pub(crate) struct Accounts {
    kept: Mutex<LruCache<Scope, Arc<SessionUsage>>>,
    all: Arc<OfAll>,
}

impl Accounts {
    pub(crate) fn new(telemetry: Option<Arc<dyn Telemetry>>) -> Self {
        let all = OfAll {
            telemetry,
            ..OfAll::default()
        };
        Self {
            kept: Mutex::new(LruCache::unbounded()),
            all: Arc::new(all),
        }
    }

    /// The books of a session, opened if need be.
    pub(crate) fn of(&self, scope: &Scope) -> Arc<SessionUsage> {
        let mut kept = self.kept.lock();
        if self.all.remembered.load(Ordering::Relaxed) > SHOWN_IN_ALL {
            // Half of it, so that this is rare.
            let too_many = || self.all.remembered.load(Ordering::Relaxed) > SHOWN_IN_ALL / 2;
            let oldest = kept.iter().rev().map(|(_, account)| account);
            oldest.take_while(|_| too_many()).for_each(|a| a.forget());
        }
        if let Some(account) = kept.get(scope) {
            return Arc::clone(account);
        }
        if kept.len() >= SESSIONS {
            kept.pop_lru();
        }
        let account = Arc::new(SessionUsage::new(Arc::clone(&self.all)));
        kept.put(scope.clone(), Arc::clone(&account));
        account
    }

    /// The sums of a session, without opening books for it.
    pub(crate) fn sums(&self, scope: &Scope) -> TokenUsage {
        let account = self.kept.lock().peek(scope).cloned();
        account.map_or_else(TokenUsage::default, |account| account.sums())
    }

    /// Closes the books of a session.
    pub(crate) fn close(&self, scope: &Scope) {
        self.kept.lock().pop(scope);
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Accounts, Fingerprint, LookupKey, MARKED_BYTES, SessionUsage, Showing, TokenUsage,
    };
    use crate::canonical::Stored;
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

    fn part(tokens: usize, whole: usize) -> Showing {
        let is_whole = false;
        Showing {
            tokens,
            whole,
            is_whole,
        }
    }

    fn whole(tokens: usize, whole: usize) -> Showing {
        let is_whole = true;
        Showing {
            is_whole,
            ..part(tokens, whole)
        }
    }

    fn scope(n: usize) -> Scope {
        Scope::parse("t", "p", &format!("s{n}")).unwrap()
    }

    fn stored(kind: ResultKind, bytes: Vec<u8>) -> Stored {
        Stored::Result(Arc::new(StoredResult::new(Document::new(bytes), kind)))
    }

    /// Judges whether two contents of one id are told apart.
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
        // What is too large to be read is never taken for what was shown.
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
        // Its artifacts are a part of it.
        let (id, call) = (ArtifactId::parse("x").unwrap(), CallId::parse("a").unwrap());
        account.show(LookupKey::new(&call, Some(&id)), FINGERPRINT, &part(5, 500));
        assert_eq!(account.sums().whole, 1000);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let accounts = Accounts::new(None);
        for n in 0..2001 {
            let what = result(&format!("c{n}"));
            accounts.of(&scope(0)).show(what, FINGERPRINT, &whole(1, 1));
        }
        let account = accounts.of(&scope(0));
        assert!(!account.was_shown_whole(&result("c0"), FINGERPRINT));
        assert!(account.was_shown_whole(&result("c2000"), FINGERPRINT));
        assert_eq!(accounts.all.remembered.load(Ordering::Relaxed), 2000);
        drop(account);
        accounts.close(&scope(0));
        assert_eq!(accounts.all.remembered.load(Ordering::Relaxed), 0);
        for n in 0..10_001 {
            accounts.of(&scope(n)).fail(1);
        }
        assert_eq!(accounts.of(&scope(0)).sums().errors, 0);
        assert_eq!(accounts.of(&scope(9999)).sums().errors, 1);
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
                let account = accounts.of(&scope(session));
                account.show(what, FINGERPRINT, &whole(1, 1));
            }
            assert!(accounts.all.remembered.load(Ordering::Relaxed) <= 100_001);
        }
        let knows = |session| {
            accounts
                .of(&scope(session))
                .was_shown_whole(&result("c0"), FINGERPRINT)
        };
        assert!(!knows(0) && knows(59));
        assert_eq!(accounts.sums(&scope(0)).shown, 2000);
    }
}
