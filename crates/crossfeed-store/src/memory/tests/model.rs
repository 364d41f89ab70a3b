//! Random work, compared step by step with a model that is too simple to be wrong: one list of
//! results in the order of their last use, looked through from the start each time.

use super::{Bench, call, indexed, list, scope};
use crate::{Lookup, MemoryLimits, Missing, Recorded, ResultStore, StoreError, StoredResult};
use proptest::{collection::vec, prelude::*};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// The first two are one owner's.
const SESSIONS: [&str; 4] = ["a", "b", "q/a", "r/a"];
const CALLS: usize = 8;
const SESSION_RESULTS: usize = 4;

#[derive(Clone, Debug)]
enum Op {
    Put {
        session: usize,
        call: usize,
    },
    Get {
        session: usize,
        call: usize,
        hold: bool,
    },
    /// Builds the index, and measures.
    Select {
        session: usize,
        call: usize,
        hold: bool,
    },
    Release,
    Advance(u64),
    Sweep,
    Remove(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let id = (0..SESSIONS.len(), 0..CALLS);
    let op = prop_oneof![
        8 => id.clone().prop_map(|(session, call)| Op::Put { session, call }),
        4 => (id.clone(), prop::bool::weighted(0.3))
            .prop_map(|((session, call), hold)| Op::Get { session, call, hold }),
        3 => (id, prop::bool::weighted(0.3))
            .prop_map(|((session, call), hold)| Op::Select { session, call, hold }),
        2 => Just(Op::Release),
        3 => (1..80_u64).prop_map(Op::Advance),
        1 => Just(Op::Sweep),
        1 => (0..SESSIONS.len()).prop_map(Op::Remove),
    ];
    vec(op, 1..80)
}

/// How many items the result of a call has; the same for each session, so that ids collide.
fn items(call: usize) -> usize {
    [1, 10, 20, 40, 60, 80, 120, 400][call]
}

fn raw_bytes(call: usize) -> usize {
    1 + 2 * items(call)
}

fn owner(session: usize) -> usize {
    session.saturating_sub(1)
}

/// Whether the call may be made again.
fn repeatable(call: usize) -> bool {
    [true, false, false, false, true, false, true, false][call]
}

fn server(call: usize) -> Option<&'static str> {
    [
        Some("s"),
        Some("s"),
        Some("t"),
        Some("t"),
        None,
        None,
        Some("t"),
        Some("s"),
    ][call]
}

fn result(call: usize) -> StoredResult {
    let result = list(items(call)).with_repeatable(repeatable(call));
    match server(call) {
        Some(server) => result.with_server(server),
        None => result,
    }
}

/// Whose results are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Session(usize),
    Owner(usize),
    All,
}

impl Whose {
    fn has(self, session: usize) -> bool {
        match self {
            Self::Session(own) => session == own,
            Self::Owner(own) => owner(session) == own,
            Self::All => true,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gone {
    Expired,
    Evicted,
}

#[derive(Debug)]
struct Entry {
    id: (usize, usize),
    bytes: usize,
    born: u64,
    last_used: u64,
}

struct Model {
    limits: MemoryLimits,
    now: u64,
    /// The least recently used first.
    entries: Vec<Entry>,
    gone: HashMap<(usize, usize), Gone>,
    last_loss: [u64; SESSIONS.len()],
    held: Vec<((usize, usize), Arc<StoredResult>)>,
}

impl Model {
    fn is_held(&self, id: (usize, usize)) -> bool {
        self.held.iter().any(|(held, _)| *held == id)
    }

    fn expire(&mut self) {
        let (ttl, max_age) = (
            self.limits.time_to_live.as_secs(),
            self.limits.max_age.as_secs(),
        );
        let is_expired =
            |entry: &Entry| self.now - entry.last_used >= ttl || self.now - entry.born >= max_age;
        let ids: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| is_expired(entry) && !self.is_held(entry.id))
            .map(|entry| entry.id)
            .collect();
        for id in ids {
            self.take(id, Gone::Expired);
        }
    }

    fn take(&mut self, id: (usize, usize), why: Gone) {
        self.entries.retain(|entry| entry.id != id);
        self.gone.insert(id, why);
        self.last_loss[id.0] = self.now;
    }

    /// Forgets an empty session whose last result went long ago.
    fn forget(&mut self, session: usize) {
        let age = self.now - self.last_loss[session];
        if self.len(session) == 0 && age >= self.limits.max_age.as_secs() {
            self.gone.retain(|id, _| id.0 != session);
        }
    }

    fn of(&self, whose: Whose) -> impl Iterator<Item = &Entry> {
        let entries = self.entries.iter();
        entries.filter(move |entry| whose.has(entry.id.0))
    }

    fn bytes(&self, whose: Whose) -> usize {
        self.of(whose).map(|entry| entry.bytes).sum()
    }

    fn len(&self, session: usize) -> usize {
        self.of(Whose::Session(session)).count()
    }

    fn is_over(&self, session: usize, bytes: usize, more: usize) -> bool {
        self.bytes(Whose::Session(session)) + bytes > self.limits.session_bytes
            || self.len(session) + more > self.limits.session_results
    }

    fn is_full(&self, bytes: usize) -> bool {
        self.bytes(Whose::All) + bytes > self.limits.total_bytes
    }

    /// Whether a result goes before others: its call may be made again, or those of its server that may not
    /// be are more than half.
    fn goes_first(&self, entry: &Entry, whose: Whose) -> bool {
        let server = server(entry.id.1);
        let is_same = |other: &&Entry| self::server(other.id.1) == server;
        let lasting = self.of(whose).filter(is_same);
        let lasting: usize = lasting
            .filter(|other| !repeatable(other.id.1))
            .map(|other| other.bytes)
            .sum();
        repeatable(entry.id.1) || 2 * lasting > self.bytes(whose)
    }

    /// Which result goes next.
    fn next(&self, whose: Whose) -> Option<(usize, usize)> {
        let free = || self.of(whose).filter(|entry| !self.is_held(entry.id));
        let first = free().find(|entry| self.goes_first(entry, whose));
        first.or_else(|| free().next()).map(|entry| entry.id)
    }

    /// Evicts of the session until it fits or nothing is left that may go.
    fn make_room_in(&mut self, session: usize, bytes: usize, more: usize) -> bool {
        while self.is_over(session, bytes, more) {
            let Some(id) = self.next(Whose::Session(session)) else {
                return false;
            };
            self.take(id, Gone::Evicted);
        }
        true
    }

    /// Evicts of who holds the most until it fits or nothing is left that may go; `bytes` are for a session.
    fn make_room_in_all(&mut self, session: Option<usize>, bytes: usize) -> bool {
        while self.is_full(bytes) {
            let own = session.map(owner);
            let owners = (0..SESSIONS.len() - 1).filter(|n| self.next(Whose::Owner(*n)).is_some());
            let heaviest = owners.max_by_key(|n| {
                let incoming = if own == Some(*n) { bytes } else { 0 };
                let held = self.bytes(Whose::Owner(*n)) + incoming;
                (held, own == Some(*n), *n)
            });
            let Some(id) = heaviest.and_then(|n| self.next(Whose::Owner(n))) else {
                return false;
            };
            self.take(id, Gone::Evicted);
        }
        true
    }

    /// Whether it could be made to fit, found by trying on a copy.
    fn could_make_room(&self, session: usize, bytes: usize) -> bool {
        let mut copy = Model {
            limits: self.limits.clone(),
            now: self.now,
            entries: Vec::new(),
            gone: HashMap::new(),
            last_loss: [0; SESSIONS.len()],
            held: self.held.clone(),
        };
        copy.entries
            .extend(self.entries.iter().map(|entry| Entry { ..*entry }));
        copy.make_room_in(session, bytes, 1) && copy.make_room_in_all(Some(session), bytes)
    }

    fn position(&self, id: (usize, usize)) -> Option<usize> {
        self.entries.iter().position(|entry| entry.id == id)
    }

    fn touch(&mut self, position: usize) {
        let mut entry = self.entries.remove(position);
        entry.last_used = self.now;
        self.entries.push(entry);
    }

    /// What an operation does when it leaves a session, or the store, beyond a limit.
    fn relieve(&mut self, session: usize) {
        if self.is_over(session, 0, 0) || self.is_full(0) {
            self.make_room_in(session, 0, 0);
            self.make_room_in_all(None, 0);
        }
    }

    fn listed(&self, session: usize) -> Vec<String> {
        let of = self.entries.iter().filter(|entry| entry.id.0 == session);
        of.map(|entry| format!("c{}", entry.id.1)).collect()
    }
}

/// Does the same to both and compares; `eager` sweeps after time has passed.
fn compare(limits: MemoryLimits, ops: &[Op], eager: bool) {
    let bench = Bench::new(limits.clone());
    let mut model = Model {
        limits,
        now: 0,
        entries: Vec::new(),
        gone: HashMap::new(),
        last_loss: [0; SESSIONS.len()],
        held: Vec::new(),
    };
    for op in ops {
        model.expire();
        match *op {
            Op::Put { session, call } => put(&bench, &mut model, (session, call)),
            Op::Get {
                session,
                call,
                hold,
            } => {
                get(&bench, &mut model, (session, call), hold, false);
            }
            Op::Select {
                session,
                call,
                hold,
            } => {
                get(&bench, &mut model, (session, call), hold, true);
            }
            Op::Release => {
                model.held.clear();
                if eager {
                    sweep(&bench, &mut model);
                }
            }
            Op::Advance(seconds) => {
                model.now += seconds;
                bench.clock.advance(Duration::from_secs(seconds));
                if eager {
                    sweep(&bench, &mut model);
                }
            }
            Op::Sweep => sweep(&bench, &mut model),
            Op::Remove(session) => {
                super::run(bench.store.remove_session(&scope(SESSIONS[session]))).unwrap();
                model.entries.retain(|entry| entry.id.0 != session);
                model.gone.retain(|id, _| id.0 != session);
                // What is held of a removed session is nobody's any more.
                model.held.retain(|(id, _)| id.0 != session);
            }
        }
        bench.check();
        let total = bench.store.usage().result_bytes;
        model.expire();
        assert!(total >= model.bytes(Whose::All), "{op:?}");
        if eager {
            assert_eq!(total, model.bytes(Whose::All), "{op:?}");
            for (n, session) in SESSIONS.into_iter().enumerate() {
                assert_eq!(bench.listed(session), model.listed(n), "{op:?}");
            }
        }
    }
    model.expire();
    for (n, session) in SESSIONS.into_iter().enumerate() {
        assert_eq!(bench.listed(session), model.listed(n));
    }
    assert_eq!(bench.store.usage().result_bytes, model.bytes(Whose::All));
    for session in 0..SESSIONS.len() {
        for call in 0..CALLS {
            if model.position((session, call)).is_none() {
                get(&bench, &mut model, (session, call), false, false);
            }
        }
    }
}

fn sweep(bench: &Bench, model: &mut Model) {
    bench.sweep();
    model.expire();
    for session in 0..SESSIONS.len() {
        model.make_room_in(session, 0, 0);
    }
    for session in 0..SESSIONS.len() {
        model.forget(session);
    }
    model.make_room_in_all(None, 0);
}

fn put(bench: &Bench, model: &mut Model, id: (usize, usize)) {
    let outcome = bench.put(SESSIONS[id.0], &format!("c{}", id.1), result(id.1));
    let bytes = raw_bytes(id.1);
    if let Some(position) = model.position(id) {
        model.touch(position);
        assert_eq!(outcome.unwrap(), Recorded::Unchanged);
        // In use while it is looked at.
        with_held(model, id, |model| model.relieve(id.0));
    } else if bytes > model.limits.session_bytes.min(model.limits.total_bytes) {
        assert!(matches!(outcome, Err(StoreError::TooLarge { .. })));
    } else if !model.could_make_room(id.0, bytes) {
        assert!(
            matches!(outcome, Err(StoreError::Full { .. })),
            "{outcome:?}"
        );
    } else {
        assert_eq!(outcome.unwrap(), Recorded::New);
        assert!(bench.store.usage().result_bytes <= model.limits.total_bytes);
        model.make_room_in(id.0, bytes, 1);
        model.make_room_in_all(Some(id.0), bytes);
        model.gone.remove(&id);
        model.entries.push(Entry {
            id,
            bytes,
            born: model.now,
            last_used: model.now,
        });
    }
}

fn get(bench: &Bench, model: &mut Model, id: (usize, usize), hold: bool, select: bool) {
    let (session, name) = (SESSIONS[id.0], format!("c{}", id.1));
    let lookup = bench.get(session, &name);
    let Some(position) = model.position(id) else {
        let found = match lookup {
            Lookup::Found(_) | Lookup::Missing(Missing::InFlight(_)) => {
                panic!("{id:?} should have gone")
            }
            Lookup::Missing(Missing::Unknown) => None,
            Lookup::Missing(Missing::Expired(_)) => Some(Gone::Expired),
            Lookup::Missing(Missing::Evicted(_)) => Some(Gone::Evicted),
        };
        assert_eq!(found, model.gone.get(&id).copied(), "{id:?}");
        if bench.store.sessions.contains_key(&scope(session)) {
            model.relieve(id.0);
        }
        return;
    };
    let result = lookup.found().unwrap();
    assert_eq!(result.document().raw().len(), raw_bytes(id.1));
    model.touch(position);
    model.held.push((id, result.clone()));
    model.relieve(id.0);
    if select {
        result.document().root().unwrap();
        super::run(bench.store.measure(&scope(session), &call(&name))).unwrap();
        let position = model.position(id).unwrap();
        model.entries[position].bytes = indexed(items(id.1));
        model.relieve(id.0);
    }
    if !hold {
        model.held.pop();
    }
}

fn with_held(model: &mut Model, id: (usize, usize), run: impl FnOnce(&mut Model)) {
    let result = Arc::new(list(1));
    model.held.push((id, result));
    run(model);
    model.held.pop();
}

fn limits() -> MemoryLimits {
    MemoryLimits::default()
        .with_session_bytes(1500)
        .with_total_bytes(2500)
        .with_session_results(SESSION_RESULTS)
        .with_time_to_live(Duration::from_secs(100))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nobody sweeps unless told to, and what has expired is never seen all the same.
    #[test]
    fn the_lazy_store_does_as_the_model(ops in ops()) {
        let forever = Duration::from_secs(1_000_000);
        compare(limits().with_max_age(forever), &ops, false);
    }

    /// With a maximum age, swept whenever something may have expired.
    #[test]
    fn the_swept_store_does_as_the_model(ops in ops()) {
        compare(limits().with_max_age(Duration::from_secs(300)), &ops, true);
    }
}
