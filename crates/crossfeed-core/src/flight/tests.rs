//! The laws of calls in flight, against a model that knows nothing of how they are kept.

use super::calls::{Calls, WaitOutcome};
use crossfeed_store::Tombstone;
use crossfeed_wire::{CallId, ErrorCode};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Poll, Wake, Waker},
};

/// Few calls, so that circles are common.
const CALLS: usize = 6;
/// How many may be in flight.
const LIMIT: usize = 5;

#[derive(Clone, Debug)]
enum Act {
    Begin(usize),
    Leave {
        call: usize,
        is_given_up: bool,
    },
    Wait {
        of: Option<usize>,
        on: BTreeSet<usize>,
    },
    /// One of the waits is asked, or dropped.
    Ask(usize),
    Forget(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let call = 0..CALLS;
    prop_oneof![
        4 => call.clone().prop_map(Act::Begin),
        2 => (call.clone(), any::<bool>()).prop_map(|(call, is_given_up)| Act::Leave { call, is_given_up }),
        6 => (proptest::option::weighted(0.8, call.clone()), proptest::collection::btree_set(call, 1..4))
            .prop_map(|(of, on)| Act::Wait { of, on }),
        2 => (0..20_usize).prop_map(Act::Ask),
        2 => (0..20_usize).prop_map(Act::Forget),
    ]
}

fn id(call: usize) -> CallId {
    CallId::parse(&format!("c{call}")).unwrap()
}

fn begin(calls: &mut Calls, id: &CallId, serial: u64, limit: usize) -> Result<(), ErrorCode> {
    let begun = calls.reserve(id, serial, limit);
    let begun = begun.and_then(|()| calls.activate(serial, limit));
    begun.map_err(|error| error.code())
}

fn number(id: &CallId) -> usize {
    id.as_str()[1..].parse().unwrap()
}

/// What a wait must be told.
#[derive(Clone, Debug, PartialEq)]
enum Told {
    Landed,
    GivenUp,
    Circle,
}

/// The same, kept in the plainest way.
#[derive(Default)]
struct Model {
    serials: BTreeMap<usize, u64>,
    /// Of each wait: for whom, for what, and what it was told.
    waits: BTreeMap<u64, (Option<usize>, usize, Option<Told>)>,
}

impl Model {
    /// Whether a call waits for another, by however many.
    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut reached = BTreeSet::from([from]);
        loop {
            let edges = self.waits.values().filter(|(_, _, told)| told.is_none());
            let next =
                edges.filter_map(|(of, on, _)| of.filter(|of| reached.contains(of)).and(Some(*on)));
            let grown: BTreeSet<_> = reached.iter().copied().chain(next).collect();
            if grown.len() == reached.len() {
                return reached.contains(&to);
            }
            reached = grown;
        }
    }

    fn waits_for(&self, of: usize, on: usize) -> bool {
        let mut edges = self.waits.values();
        edges.any(|wait| wait == &(Some(of), on, None))
    }

    /// The waits that are on a circle.
    fn on_circles(&self) -> Vec<u64> {
        let open = self.waits.iter().filter(|(_, (_, _, told))| told.is_none());
        let on_circle = open.filter(|(_, (of, on, _))| of.is_some_and(|of| self.reaches(*on, of)));
        on_circle.map(|(number, _)| *number).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn everybody_is_told_what_is_so(acts in proptest::collection::vec(act(), 1..60)) {
        let mut calls = Calls::default();
        let mut model = Model::default();
        let mut next = 0;
        for act in acts {
            match act {
                Act::Begin(call) => {
                    let begun = begin(&mut calls, &id(call), next, LIMIT);
                    let expected = if model.serials.contains_key(&call) {
                        Err(ErrorCode::RecordDuplicate)
                    } else if model.serials.len() == LIMIT {
                        Err(ErrorCode::LimitExceeded)
                    } else {
                        model.serials.insert(call, next);
                        Ok(())
                    };
                    prop_assert_eq!(begun, expected);
                    let tombstone = Tombstone::new(Some(format!("tool {call}").into()), None);
                    if let Some(call) = calls.call_mut(next) {
                        call.tombstone = tombstone;
                    }
                    next += 1;
                }
                Act::Leave { call, is_given_up } => {
                    let serial = model.serials.remove(&call);
                    calls.leave(serial.unwrap_or(u64::MAX), is_given_up);
                    if serial.is_some() {
                        let told = if is_given_up { Told::GivenUp } else { Told::Landed };
                        for (of, on, outcome) in model.waits.values_mut() {
                            if *on == call && outcome.is_none() {
                                *outcome = Some(told.clone());
                            }
                            if *of == Some(call) {
                                *of = None;
                            }
                        }
                    }
                }
                Act::Wait { of, on } => {
                    let ids: Vec<_> = on.iter().map(|on| id(*on)).collect();
                    let serial = of.and_then(|of| model.serials.get(&of).copied());
                    let actor = of.map(|_| serial.unwrap_or(u64::MAX));
                    let (numbers, _) = calls.wait(actor, ids.iter().map(Some), &mut next);
                    for (on, number) in on.iter().zip(&numbers) {
                        prop_assert_eq!(number.is_some(), model.serials.contains_key(on));
                        let of = of.filter(|_| serial.is_some());
                        model.waits.extend(number.map(|number| (number, (of, *on, None))));
                    }
                    // Everybody on a circle is told at once, each his own way round.
                    for wait in model.on_circles() {
                        let Poll::Ready(WaitOutcome::Cycle(round)) = calls.poll_wait(wait, Waker::noop()) else {
                            return Err(TestCaseError::fail("a circle is not told"));
                        };
                        let path: Vec<_> = round.path().iter().map(number).collect();
                        let (of, on, _) = model.waits[&wait].clone();
                        prop_assert_eq!((Some(path[0]), path[1], path.last()), (of, on, path.first()));
                        let steps = path.windows(2);
                        prop_assert!(steps.into_iter().all(|step| model.waits_for(step[0], step[1])));
                        let distinct: BTreeSet<_> = path.iter().collect();
                        prop_assert_eq!(distinct.len(), path.len() - 1);
                    }
                    for wait in model.on_circles() {
                        model.waits.remove(&wait);
                    }
                }
                Act::Ask(at) => {
                    let Some(wait) = model.waits.keys().nth(at).copied() else {
                        continue;
                    };
                    let (_, on, told) = model.waits[&wait].clone();
                    let tool = format!("tool {on}");
                    let asked = match calls.poll_wait(wait, Waker::noop()) {
                        Poll::Pending => None,
                        Poll::Ready(WaitOutcome::Completed) => Some(Told::Landed),
                        Poll::Ready(WaitOutcome::GivenUp(known)) => {
                            prop_assert_eq!(known.tool(), Some(tool.as_str()));
                            Some(Told::GivenUp)
                        }
                        Poll::Ready(_) => Some(Told::Circle),
                    };
                    prop_assert_eq!(&asked, &told);
                    if asked.is_some() {
                        model.waits.remove(&wait);
                    }
                }
                Act::Forget(at) => {
                    if let Some(wait) = model.waits.keys().nth(at).copied() {
                        calls.forget(wait);
                        model.waits.remove(&wait);
                    }
                }
            }
            prop_assert_eq!(calls.kept(), (model.serials.len(), model.waits.len()));
        }
        // Nothing is left when everybody has gone.
        for (call, serial) in model.serials {
            prop_assert_eq!(calls.running(&id(call)), Some(serial));
            calls.leave(serial, true);
        }
        for wait in model.waits.into_keys() {
            calls.forget(wait);
        }
        prop_assert!(calls.is_empty());
    }
}

/// What each wait is told of: who waits for whom, in this order, each as one letter.
fn check(waits: &[(&str, &str)], told: &[Option<&str>]) {
    let mut calls = Calls::default();
    let mut next = 0;
    let call = |letter: char| CallId::parse(&letter.to_string()).unwrap();
    for (serial, letter) in (1000..).zip('a'..='z') {
        begin(&mut calls, &call(letter), serial, 26).unwrap();
    }
    let mut numbers = Vec::new();
    for (of, on) in waits {
        let letter = of.chars().next().unwrap();
        let serial = 1000 + u64::from(letter) - u64::from('a');
        let on: Vec<_> = on.chars().map(call).collect();
        numbers.extend(calls.wait(Some(serial), on.iter().map(Some), &mut next).0);
    }
    let asked =
        numbers
            .into_iter()
            .flatten()
            .map(|number| match calls.poll_wait(number, Waker::noop()) {
                Poll::Ready(WaitOutcome::Cycle(round)) => {
                    Some(round.path().iter().map(CallId::as_str).collect::<String>())
                }
                _ => None,
            });
    let asked: Vec<_> = asked.collect();
    let asked: Vec<_> = asked.iter().map(Option::as_deref).collect();
    assert_eq!(asked, told, "{waits:?}");
}

#[test]
fn circles_are_told_by_the_way_round() {
    check(&[("a", "b"), ("b", "c")], &[None, None]);
    check(&[("a", "a")], &[Some("aa")]);
    check(&[("a", "ab")], &[Some("aa"), None]);
    check(&[("a", "b"), ("b", "a")], &[Some("aba"), Some("bab")]);
    // Whoever closes it.
    check(&[("b", "a"), ("a", "b")], &[Some("bab"), Some("aba")]);
    let ring = [Some("bcab"), Some("cabc"), Some("abca")];
    check(&[("b", "c"), ("c", "a"), ("a", "b")], &ring);
    // Those beside it are not told: who waits for it, and for whom it waits.
    let beside = [None, Some("aba"), None, Some("bab")];
    check(&[("d", "a"), ("a", "be"), ("b", "a")], &beside);
    // Two circles that are closed at once, each told by its own way round.
    let both = [Some("bab"), Some("cac"), Some("aba"), Some("aca")];
    check(&[("b", "a"), ("c", "a"), ("a", "bc")], &both);
    // Of two ways, the shorter one.
    let ways = [Some("bcab"), Some("cac"), Some("abca"), Some("aca")];
    check(&[("b", "c"), ("c", "a"), ("a", "bc")], &ways);
    // The nearest first, also where a longer way to the same call is seen before.
    let ring = [
        Some("bdab"),
        Some("cedac"),
        Some("edace"),
        Some("dabd"),
        Some("abda"),
        Some("aceda"),
    ];
    let waits = [("b", "d"), ("c", "e"), ("e", "d"), ("d", "a"), ("a", "bc")];
    check(&waits, &ring);
    // Whoever was told does not wait, so that nobody waits for him on its account.
    let after = [Some("aba"), Some("bab"), None, None];
    check(&[("a", "b"), ("b", "a"), ("c", "a"), ("b", "c")], &after);
}

#[test]
fn a_call_waits_as_long_as_one_of_its_waits() {
    let mut calls = Calls::default();
    let mut next = 10;
    for (call, serial) in [(0, 1), (1, 2)] {
        begin(&mut calls, &id(call), serial, LIMIT).unwrap();
    }
    let mut wait = |calls: &mut Calls, of, on: usize| {
        let (numbers, _) = calls.wait(Some(of), [Some(&id(on))].into_iter(), &mut next);
        numbers[0].unwrap()
    };
    let is_told = |calls: &mut Calls, wait| {
        matches!(
            calls.poll_wait(wait, Waker::noop()),
            Poll::Ready(WaitOutcome::Cycle(_))
        )
    };
    // Neither of two waits of one call for another is forgotten with the other.
    let (one, other) = (wait(&mut calls, 1, 1), wait(&mut calls, 1, 1));
    calls.forget(one);
    let back = wait(&mut calls, 2, 0);
    assert!(is_told(&mut calls, back) && is_told(&mut calls, other));
    // With the last of them it does not wait any longer.
    let last = wait(&mut calls, 1, 1);
    calls.forget(last);
    let back = wait(&mut calls, 2, 0);
    assert!(!is_told(&mut calls, back));
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn who_asked_last_is_woken() {
    let mut calls = Calls::default();
    begin(&mut calls, &id(0), 1, LIMIT).unwrap();
    let mut next = 2;
    let (numbers, _) = calls.wait(None, [Some(&id(0))].into_iter(), &mut next);
    let number = numbers[0].unwrap();
    let [first, last] = [(); 2].map(|()| Arc::new(Woken::default()));
    for asks in [&first, &last] {
        let waker = Waker::from(Arc::clone(asks));
        assert!(calls.poll_wait(number, &waker).is_pending());
    }
    calls.leave_id(&id(0)).into_iter().for_each(Waker::wake);
    let woken = [first, last].map(|asked| asked.0.load(Ordering::Relaxed));
    assert_eq!(woken, [0, 1]);
}
