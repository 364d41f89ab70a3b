//! Each law is broken by a history that breaks it, and by none that does not.

use super::{Law, Terms, judge};
use crate::event::{Action, Event, Moment, Operation, Outcome};

fn terms() -> Terms {
    Terms {
        keeps: true,
        evicts: false,
        tombstones: 100,
        session_results: 10,
        tenant: None,
        lease: 100,
        slack: 10,
        longest: 50,
        pauses: Vec::new(),
    }
}

/// An operation: worker, begin, end, action, outcome.
type Told = (u32, u64, Option<u64>, Action, Outcome);

/// A history of operations on one id.
fn history(spans: &[Told]) -> Vec<Event> {
    let spans: Vec<_> = spans.iter().map(|told| (1, 1, told.clone())).collect();
    history_of(&spans)
}

/// A history of operations, each of a session and an id.
fn history_of(spans: &[(u64, u64, Told)]) -> Vec<Event> {
    let mut events = Vec::new();
    for (number, (session, id, told)) in spans.iter().enumerate() {
        let (worker, begin, end, action, outcome) = told;
        let event = |at, moment| Event {
            worker: *worker,
            number: number as u64,
            at,
            moment,
        };
        let operation = Operation {
            action: *action,
            session: *session,
            id: *id,
        };
        events.push(event(*begin, Moment::Begin(operation)));
        if let Some(end) = end {
            events.push(event(*end, Moment::End(outcome.clone())));
        }
    }
    events
}

fn broken(terms: &Terms, spans: &[Told]) -> Vec<Law> {
    let verdict = judge(&history(spans), terms);
    verdict.violations.iter().map(|it| it.law).collect()
}

#[test]
fn sound_histories_pass() {
    use Action::{Acquire, Get, Put, Read, Release, Remove, Renew, Write};
    let sound = [
        (1, 0, Some(5), Put(7), Outcome::New),
        (2, 1, Some(6), Put(8), Outcome::Duplicate),
        (2, 7, Some(8), Get, Outcome::Found(7)),
        (1, 9, Some(10), Put(7), Outcome::Unchanged),
    ];
    assert_eq!(broken(&terms(), &sound), []);
    // A put whose process ended may have been done or not.
    for found in [Outcome::Found(7), Outcome::Unknown] {
        let torn = [
            (1, 0, None, Put(7), Outcome::Done),
            (2, 7, Some(8), Get, found),
        ];
        assert_eq!(broken(&terms(), &torn), []);
    }
    let leases = [
        (1, 0, Some(1), Acquire, Outcome::New),
        (2, 5, Some(6), Acquire, Outcome::InFlight),
        (1, 90, Some(91), Renew, Outcome::Kept(true)),
        (2, 150, Some(151), Get, Outcome::InFlight),
        (2, 200, Some(201), Acquire, Outcome::New),
        (2, 210, Some(211), Release, Outcome::Done),
        (1, 212, Some(213), Acquire, Outcome::New),
    ];
    assert_eq!(broken(&terms(), &leases), []);
    // A session that is removed begins anew.
    let removed = [
        (1, 0, Some(5), Put(7), Outcome::New),
        (1, 6, Some(7), Acquire, Outcome::Recorded),
        (2, 6, Some(10), Remove, Outcome::Done),
        (1, 11, Some(12), Get, Outcome::Unknown),
        (1, 13, Some(14), Acquire, Outcome::New),
        (1, 15, Some(16), Put(8), Outcome::New),
        (2, 17, Some(18), Get, Outcome::Found(8)),
    ];
    assert_eq!(broken(&terms(), &removed), []);
    // A removal whose process ended may be done at any time, and so may a put that failed.
    let torn = [
        (2, 0, None, Remove, Outcome::Done),
        (1, 6, Some(7), Put(7), Outcome::New),
        (1, 8, Some(9), Get, Outcome::Unknown),
        (1, 10, Some(11), Put(8), failed()),
        (3, 12, Some(13), Remove, Outcome::Done),
        (1, 14, Some(15), Get, Outcome::Found(8)),
    ];
    assert_eq!(broken(&terms(), &torn), []);
    let records = [
        (1, 0, Some(1), Read, Outcome::Record(None)),
        (1, 2, Some(9), Write(70, None), Outcome::Written(Some(1))),
        (2, 3, Some(8), Write(80, None), Outcome::Written(None)),
        // What is written meanwhile may be seen or not.
        (2, 10, Some(11), Read, Outcome::Record(Some((70, 1)))),
        (2, 12, None, Write(81, Some(1)), Outcome::Done),
        (1, 13, Some(20), Read, Outcome::Record(Some((70, 1)))),
        (3, 14, Some(19), Read, Outcome::Record(Some((81, 2)))),
        (1, 21, Some(22), Write(71, Some(1)), Outcome::Written(None)),
        (
            1,
            23,
            Some(24),
            Write(72, Some(2)),
            Outcome::Written(Some(3)),
        ),
    ];
    assert_eq!(broken(&terms(), &records), []);
}

fn failed() -> Outcome {
    Outcome::Failed("store.unavailable".into(), true, String::new())
}

#[test]
fn what_is_there_at_once_is_within_limits() {
    let two = |first, second| {
        let told = |action, begin, outcome| (1, begin, Some(begin + 1), action, outcome);
        history_of(&[
            (first, 1, told(Action::Put(1), 0, Outcome::New)),
            (second, 2, told(Action::Put(2), 2, Outcome::New)),
            (first, 1, told(Action::Get, 4, Outcome::Found(1))),
            (second, 2, told(Action::Get, 6, Outcome::Found(2))),
        ])
    };
    let laws = |history: &[Event], terms: &Terms| {
        let verdict = judge(history, terms);
        verdict
            .violations
            .iter()
            .map(|it| it.law)
            .collect::<Vec<_>>()
    };
    let narrow = Terms {
        session_results: 1,
        ..terms()
    };
    assert_eq!(laws(&two(1, 1), &terms()), []);
    assert_eq!(laws(&two(1, 1), &narrow), [Law::Limits]);
    assert_eq!(laws(&two(1, 2), &narrow), []);
    let limited = |results, bytes| Terms {
        evicts: true,
        tenant: Some((results, bytes)),
        ..terms()
    };
    assert_eq!(laws(&two(1, 2), &limited(2, 1000)), []);
    assert_eq!(laws(&two(1, 2), &limited(1, 1000)), [Law::Limits]);
    assert_eq!(laws(&two(1, 2), &limited(2, 40)), [Law::Limits]);
}

#[test]
fn each_law_is_judged() {
    use Action::{Acquire, Get, List, Put, Read, Remove, Write};
    let cases: [(Law, &[Told]); 20] = [
        (Law::Whole, &[(1, 0, Some(1), Get, Outcome::Garbled)]),
        (
            Law::Whole,
            &[
                (1, 0, Some(1), Get, Outcome::Found(7)),
                (1, 2, Some(3), Put(7), Outcome::Unchanged),
            ],
        ),
        (
            Law::One,
            &[
                (1, 0, Some(5), Put(7), Outcome::New),
                (2, 1, Some(6), Put(8), Outcome::New),
            ],
        ),
        (
            Law::Kept,
            &[
                (1, 0, Some(5), Put(7), Outcome::New),
                (2, 6, Some(7), Get, Outcome::Unknown),
            ],
        ),
        (
            Law::Kept,
            &[
                (2, 0, None, Put(7), Outcome::New),
                (1, 0, Some(5), Get, Outcome::Found(7)),
                (2, 6, Some(7), Get, Outcome::Evicted),
            ],
        ),
        (
            Law::Truthful,
            &[
                (1, 0, Some(5), Put(7), Outcome::New),
                (2, 6, Some(7), Put(7), Outcome::Duplicate),
            ],
        ),
        (
            Law::Limits,
            &[(1, 0, Some(5), List, Outcome::Listed(11, 0))],
        ),
        (
            Law::Owners,
            &[
                (1, 0, Some(5), Acquire, Outcome::New),
                (2, 6, Some(7), Acquire, Outcome::New),
            ],
        ),
        (
            Law::Lapse,
            &[
                (1, 0, Some(5), Acquire, Outcome::New),
                (2, 120, Some(121), Get, Outcome::InFlight),
            ],
        ),
        (
            Law::Lapse,
            &[
                (1, 0, Some(5), Acquire, Outcome::New),
                (2, 60, Some(61), Acquire, Outcome::InFlight),
                (2, 120, Some(121), Acquire, Outcome::InFlight),
            ],
        ),
        (
            Law::Removed,
            &[
                (1, 0, Some(5), Put(7), Outcome::New),
                (2, 6, Some(7), Remove, Outcome::Done),
                (1, 8, Some(9), Get, Outcome::Found(7)),
            ],
        ),
        (
            Law::Kept,
            &[
                (2, 0, Some(1), Remove, Outcome::Done),
                (1, 2, Some(5), Put(7), Outcome::New),
                (1, 8, Some(9), Get, Outcome::Unknown),
            ],
        ),
        (
            Law::Refusals,
            &[(
                1,
                0,
                Some(5),
                Put(7),
                Outcome::Failed("full".into(), false, String::new()),
            )],
        ),
        (
            Law::Whole,
            &[(1, 0, Some(1), Read, Outcome::Record(Some((70, 1))))],
        ),
        (
            Law::Updates,
            &[
                (1, 0, Some(1), Write(70, None), Outcome::Written(Some(1))),
                (1, 2, Some(9), Write(71, Some(1)), Outcome::Written(Some(2))),
                (2, 3, Some(8), Write(81, Some(1)), Outcome::Written(Some(3))),
            ],
        ),
        (
            Law::Latest,
            &[
                (1, 0, Some(1), Write(70, None), Outcome::Written(Some(1))),
                (1, 2, Some(3), Write(71, Some(1)), Outcome::Written(Some(2))),
                (2, 4, Some(5), Read, Outcome::Record(Some((70, 1)))),
            ],
        ),
        (
            Law::Latest,
            &[
                (1, 0, Some(1), Write(70, None), Outcome::Written(Some(1))),
                (2, 2, Some(3), Read, Outcome::Record(None)),
            ],
        ),
        (
            Law::Truthful,
            &[
                (1, 0, Some(1), Write(70, None), Outcome::Written(None)),
                (2, 2, Some(3), Read, Outcome::Record(Some((70, 1)))),
            ],
        ),
        (Law::Ends, &[(1, 0, Some(51), Get, Outcome::Unknown)]),
        (
            Law::Errors,
            &[(
                1,
                0,
                Some(5),
                Get,
                Outcome::Failed("limit.exceeded".into(), false, String::new()),
            )],
        ),
    ];
    for (law, spans) in cases {
        assert_eq!(broken(&terms(), spans), [law], "{law}");
    }
    let evicting = Terms {
        evicts: true,
        ..terms()
    };
    let back = [
        (1, 0, Some(5), Put(7), Outcome::New),
        (1, 6, Some(7), Get, Outcome::Evicted),
        (1, 8, Some(9), Get, Outcome::Found(7)),
    ];
    assert_eq!(broken(&evicting, &back), [Law::Gone]);
    let again = [
        back[0].clone(),
        back[1].clone(),
        (2, 7, Some(8), Put(7), Outcome::New),
        (1, 9, Some(10), Get, Outcome::Found(7)),
    ];
    assert_eq!(broken(&evicting, &again), []);
    // Nine others were to be used before what was used last may go.
    let two = [back[0].clone(), (2, 6, Some(7), Put(8), Outcome::New)];
    assert_eq!(broken(&evicting, &two), [Law::One]);
    // A record that takes long may be there only at its end.
    let mut slow = vec![
        back[0].clone(),
        (2, 6, Some(40), Put(8), Outcome::New),
        (1, 8, Some(9), Get, Outcome::Found(7)),
    ];
    slow.extend((10..20).map(|at| (1, at, Some(at), Get, Outcome::Evicted)));
    assert_eq!(broken(&evicting, &slow), []);
    let forgotten = [back[0].clone(), (2, 6, Some(7), Get, Outcome::Unknown)];
    assert_eq!(broken(&evicting, &forgotten), [Law::Kept]);
}

#[test]
fn what_may_be_lost_is_counted() {
    let terms = Terms {
        keeps: false,
        ..terms()
    };
    let lost = history(&[
        (1, 0, Some(5), Action::Put(7), Outcome::New),
        (2, 6, Some(7), Action::Get, Outcome::Unknown),
    ]);
    let verdict = judge(&lost, &terms);
    assert_eq!((verdict.violations.len(), verdict.lost), (0, 1));
}

#[test]
fn a_paused_process_is_not_late() {
    let mut terms = terms();
    let late = [(1, 0, Some(80), Action::Get, Outcome::Unknown)];
    assert_eq!(broken(&terms, &late), [Law::Ends]);
    terms.pauses = vec![(1, 10, 60)];
    assert_eq!(broken(&terms, &late), []);
}
