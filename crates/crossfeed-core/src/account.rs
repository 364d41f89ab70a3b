//! Accounting: what a session's results cost a model's context, and what they would have cost.
//!
//! What comes in: what was shown, written, referred to and refused. What goes out: sums. They are
//! honest: what hints, references and errors cost is counted on the same side as what is shown.

use crossfeed_wire::{ArtifactId, CallId, Scope};
use lru::LruCache;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of how many sessions the sums are kept: those that were used last.
const SESSIONS: usize = 10_000;
/// Of how many results and artifacts of a session it is remembered that they were shown: as many as
/// it holds of each by default.
const SHOWN: usize = 2000;

/// What a session's results took of a model's context, and what they would have taken without
/// references, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenAccount {
    /// What was shown of results and artifacts: whole ones, previews, hints, parts that were brought
    /// into the context, each as often as it was.
    pub shown: u64,
    /// What the shown results would have taken as a whole, each once.
    pub whole: u64,
    /// What the references cost that the model wrote, as it wrote them.
    pub references: u64,
    /// What the values cost that came in their places: the model would have written them.
    pub referred: u64,
    /// What errors cost that the model was told.
    pub errors: u64,
    /// Bytes of JSON that references moved from results into arguments.
    pub bytes_moved: u64,
}

impl TokenAccount {
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

/// What can be shown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Showable {
    Result(CallId),
    Artifact(ArtifactId, CallId),
}

/// How much of something was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    Part,
    Whole,
}

/// The books of one session.
#[derive(Debug)]
pub(crate) struct Account(Mutex<Books>);

#[derive(Debug)]
struct Books {
    sums: TokenAccount,
    shown: LruCache<Showable, Extent>,
}

impl Account {
    fn new() -> Self {
        Self(Mutex::new(Books {
            sums: TokenAccount::default(),
            // Grows as it is filled: most sessions show little.
            shown: LruCache::unbounded(),
        }))
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sums.
    pub(crate) fn sums(&self) -> TokenAccount {
        self.books().sums
    }

    /// Notes that `tokens` of something were shown, which would have taken `whole`.
    pub(crate) fn show(&self, what: Showable, extent: Extent, tokens: usize, whole: usize) {
        let mut books = self.books();
        add(&mut books.sums.shown, tokens);
        let before = books.shown.get(&what).copied();
        if before.is_none() {
            add(&mut books.sums.whole, whole);
            if books.shown.len() >= SHOWN {
                books.shown.pop_lru();
            }
        }
        if before != Some(Extent::Whole) {
            books.shown.put(what, extent);
        }
    }

    /// Whether all of something was shown.
    pub(crate) fn was_shown_whole(&self, what: &Showable) -> bool {
        self.books().shown.get(what) == Some(&Extent::Whole)
    }

    /// Notes what references cost, what came in their places, and its bytes.
    pub(crate) fn refer(&self, references: usize, referred: usize, bytes: usize) {
        let mut books = self.books();
        add(&mut books.sums.references, references);
        add(&mut books.sums.referred, referred);
        add(&mut books.sums.bytes_moved, bytes);
    }

    /// Notes what an error cost.
    pub(crate) fn fail(&self, tokens: usize) {
        add(&mut self.books().sums.errors, tokens);
    }
}

fn add(sum: &mut u64, n: usize) {
    *sum = sum.saturating_add(n as u64);
}

/// The books of all sessions that were used lately.
#[derive(Debug)]
pub(crate) struct Accounts(Mutex<LruCache<Scope, Arc<Account>>>);

impl Accounts {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LruCache::unbounded()))
    }

    /// The books of a session, opened if need be.
    pub(crate) fn of(&self, scope: &Scope) -> Arc<Account> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = kept.get(scope) {
            return Arc::clone(account);
        }
        if kept.len() >= SESSIONS {
            kept.pop_lru();
        }
        let account = Arc::new(Account::new());
        kept.put(scope.clone(), Arc::clone(&account));
        account
    }

    /// The sums of a session, without opening books for it.
    pub(crate) fn sums(&self, scope: &Scope) -> TokenAccount {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let account = kept.peek(scope).cloned();
        drop(kept);
        account.map_or_else(TokenAccount::default, |account| account.sums())
    }

    /// Closes the books of a session.
    pub(crate) fn close(&self, scope: &Scope) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.pop(scope);
    }
}

#[cfg(test)]
mod tests {
    use super::{Account, Accounts, Extent, Showable, TokenAccount};
    use crossfeed_wire::{CallId, Scope};

    fn result(id: &str) -> Showable {
        Showable::Result(CallId::parse(id).unwrap())
    }

    #[test]
    fn what_is_avoided_pays_for_everything() {
        let account = Account::new();
        account.show(result("a"), Extent::Part, 50, 1000);
        account.refer(20, 300, 1200);
        account.fail(30);
        let sums = account.sums();
        assert_eq!(sums.avoided(), 1000 + 300 - 50 - 20 - 30);
        assert_eq!(sums.bytes_moved, 1200);
        account.show(result("b"), Extent::Whole, 15, 10);
        assert_eq!(account.sums().avoided(), sums.avoided() - 5);
        assert_eq!(TokenAccount::default().avoided(), 0);
    }

    #[test]
    fn a_result_would_have_been_shown_once() {
        let account = Account::new();
        for _ in 0..3 {
            account.show(result("a"), Extent::Part, 50, 1000);
        }
        let sums = account.sums();
        assert_eq!((sums.shown, sums.whole), (150, 1000));
        assert!(!account.was_shown_whole(&result("a")));
        account.show(result("a"), Extent::Whole, 1000, 1000);
        account.show(result("a"), Extent::Part, 5, 1000);
        assert!(account.was_shown_whole(&result("a")));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let account = Account::new();
        for n in 0..2001 {
            account.show(result(&format!("c{n}")), Extent::Whole, 1, 1);
        }
        assert!(!account.was_shown_whole(&result("c0")));
        assert!(account.was_shown_whole(&result("c2000")));
        let accounts = Accounts::new();
        let scope = |n: usize| Scope::parse("t", "p", &format!("s{n}")).unwrap();
        for n in 0..10_001 {
            accounts.of(&scope(n)).fail(1);
        }
        assert_eq!(accounts.of(&scope(0)).sums().errors, 0);
        assert_eq!(accounts.of(&scope(9999)).sums().errors, 1);
        assert_eq!(accounts.sums(&scope(9998)).errors, 1);
        accounts.close(&scope(9999));
        assert_eq!(accounts.sums(&scope(9999)).errors, 0);
    }
}
