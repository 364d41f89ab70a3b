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
    let mut events = Vec::new();
    for (number, (worker, begin, end, action, outcome)) in spans.iter().enumerate() {
        let event = |at, moment| Event {
            worker: *worker,
            number: number as u64,
            at,
            moment,
        };
        let operation = Operation {
            action: *action,
            session: 1,
            id: 1,
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
    use Action::{Acquire, Get, Put, Release, Renew};
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
}

#[test]
fn each_law_is_judged() {
    use Action::{Acquire, Get, List, Put};
    let cases: [(Law, &[Told]); 11] = [
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
