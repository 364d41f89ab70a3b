//! Histories with a planted fault must be judged wrong, and sound ones right.

use super::{CALL, ENDED, KILLED, Law, PAUSED_LONG, SCARCE, judge};
use crate::history::{Attempt, Event, Moment, Outcome};

const KEY: &str = "key:ada.web1.1.0000000a;";
const OTHER: &str = "key:bob.web1.1.0000000b;";

fn asked(key: &str) -> Event {
    Event::Asked {
        key: key.into(),
        client: "ada.web1".into(),
        server: "alpha".into(),
        fault: None,
        refers_to: Vec::new(),
    }
}

fn ran(key: &str) -> Event {
    Event::Ran {
        key: key.into(),
        server: "alpha".into(),
        process: 1,
    }
}

fn ended(outcome: Outcome) -> Event {
    Event::Ended {
        key: KEY.into(),
        client: "ada.web1".into(),
        outcome,
    }
}

fn answered(keys: &[&str]) -> Event {
    ended(Outcome::Answered {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    })
}

fn failed(code: &str) -> Event {
    ended(Outcome::Failed { code: code.into() })
}

fn noted(number: u64) -> Event {
    Event::Noted {
        client: "ada.web1".into(),
        session: 0,
        number,
        server: "alpha".into(),
        process: 1,
        connection: String::new(),
    }
}

fn told(number: u64) -> Event {
    Event::Told {
        client: "ada.web1".into(),
        session: 0,
        number,
    }
}

fn progress(number: u64) -> Event {
    Event::Progress {
        client: "ada.web1".into(),
        key: KEY.into(),
        number,
    }
}

fn named(client: &str, call_id: &str) -> Event {
    named_for(KEY, client, 0, call_id)
}

fn named_for(key: &str, client: &str, session: u64, call_id: &str) -> Event {
    Event::Named {
        client: client.into(),
        session,
        key: key.into(),
        call_id: call_id.into(),
    }
}

fn refused(retry: bool) -> Outcome {
    Outcome::Refused { status: 503, retry }
}

fn lost() -> Event {
    ended(Outcome::Lost {
        why: "reset".into(),
    })
}

fn injected(fault: &str) -> Event {
    Event::Injected {
        fault: fault.into(),
        target: "replica 1".into(),
    }
}

/// Requests of one client: when each ended and how long it took, in seconds, and how it ended.
fn check_tried(tried: &[(u64, &str, u64, Attempt)], expected: usize) {
    let moments: Vec<Moment> = tried
        .iter()
        .map(|(at, request, took, attempt)| Moment {
            at: at * 1_000_000,
            event: Event::Tried {
                client: "ada.web1".into(),
                request: (*request).into(),
                took: took * 1_000_000,
                attempt: attempt.clone(),
            },
        })
        .collect();
    let found = judge(&moments);
    let laws: Vec<Law> = found.iter().map(|violation| violation.law).collect();
    assert_eq!(laws, vec![Law::Service; expected], "{found:#?}");
}

/// A millisecond apart.
fn moments(events: &[Event]) -> Vec<Moment> {
    (0..)
        .zip(events)
        .map(|(at, event)| Moment {
            at: at * 1000,
            event: event.clone(),
        })
        .collect()
}

fn check(events: &[Event], expected: &[Law]) {
    let found = judge(&moments(events));
    let laws: Vec<Law> = found.iter().map(|violation| violation.law).collect();
    assert_eq!(laws, expected, "{found:#?}");
    for violation in &found {
        assert!(!violation.moments.is_empty(), "{violation} shows nothing");
    }
}

#[test]
fn sound_histories_are_right() {
    check(&[asked(KEY), ran(KEY), answered(&[KEY])], &[]);
    check(&[asked(KEY), failed("upstream.unavailable")], &[]);
    check(
        &[asked(KEY), ran(KEY), failed("upstream.outcome_unknown")],
        &[],
    );
    check(&[asked(KEY), ran(KEY), ended(Outcome::Cancelled)], &[]);
    check(&[asked(KEY), ran(KEY), ended(Outcome::Left)], &[]);
    check(&[asked(KEY), ended(Outcome::Unsent)], &[]);
    check(&[asked(KEY), ended(Outcome::GaveWay)], &[]);
    check(&[asked(KEY), ran(KEY), failed("limit.exceeded")], &[]);
    check(&[told(1), told(2), told(3), noted(1), noted(3)], &[]);
    check(
        &[
            asked(KEY),
            ran(KEY),
            progress(1),
            progress(2),
            answered(&[KEY]),
        ],
        &[],
    );
}

#[test]
fn a_call_that_ran_twice_or_unasked_is_found() {
    check(
        &[asked(KEY), ran(KEY), ran(KEY), answered(&[KEY])],
        &[Law::AtMostOnce],
    );
    // A server that does not know the session has not run the call, and one that says so after it ran it lies: once.
    let lied_to = Event::Asked {
        key: KEY.into(),
        client: "ada.web1".into(),
        server: "alpha".into(),
        fault: Some("404-after".into()),
        refers_to: Vec::new(),
    };
    let twice = [lied_to, ran(KEY), ran(KEY), answered(&[KEY])];
    check(&twice, &[]);
    let [asked, once, again, answered] = twice;
    check(
        &[asked, once.clone(), once, again, answered],
        &[Law::AtMostOnce],
    );
    check(&[ran(KEY)], &[Law::AtMostOnce]);
    check(&[told(1), noted(1), noted(1)], &[Law::AtMostOnce]);
}

#[test]
fn a_call_that_ran_although_it_was_not_sent_is_found() {
    for outcome in [
        Outcome::Failed {
            code: "upstream.unavailable".into(),
        },
        Outcome::Failed {
            code: "upstream.invalid".into(),
        },
        Outcome::Refused {
            status: 401,
            retry: false,
        },
        Outcome::Unsent,
        Outcome::GaveWay,
    ] {
        check(&[asked(KEY), ran(KEY), ended(outcome)], &[Law::NotSent]);
    }
}

#[test]
fn a_server_that_lies_is_believed_and_one_that_fails_is_not() {
    let history = |fault: &str| {
        let mut first = asked(KEY);
        if let Event::Asked { fault: place, .. } = &mut first {
            *place = Some(fault.into());
        }
        [first, ran(KEY), failed("upstream.unavailable")]
    };
    check(&history("429-after"), &[]);
    check(&history("502-after"), &[Law::NotSent]);
}

#[test]
fn a_wrong_a_second_and_a_missing_answer_are_found() {
    check(
        &[asked(KEY), ran(KEY), answered(&[KEY, OTHER])],
        &[Law::Answered],
    );
    check(&[asked(KEY), ran(KEY), answered(&[])], &[Law::Answered]);
    check(&[asked(KEY), answered(&[KEY])], &[Law::Answered]);
    check(
        &[asked(KEY), ran(KEY), answered(&[KEY]), answered(&[KEY])],
        &[Law::Answered],
    );
    check(&[asked(KEY), ran(KEY)], &[Law::Answered]);
    check(
        &[asked(KEY), ended(Outcome::Silent { seconds: 60 })],
        &[Law::Answered],
    );
    let lost = Outcome::Lost {
        why: "reset".into(),
    };
    check(&[asked(KEY), ended(lost)], &[Law::Answered]);
    let stray = Event::Stray {
        client: "ada.web1".into(),
        message: "{}".into(),
    };
    check(&[stray], &[Law::Answered]);
}

#[test]
fn a_connection_may_be_cut_off_while_descriptors_are_scarce_unless_the_call_ran() {
    let scarce = Event::Injected {
        fault: SCARCE.into(),
        target: String::new(),
    };
    let lost = ended(Outcome::Lost {
        why: "reset".into(),
    });
    check(&[scarce.clone(), asked(KEY), lost.clone()], &[]);
    check(
        &[scarce.clone(), asked(KEY), ran(KEY), lost.clone()],
        &[Law::Answered],
    );
    check(&[asked(KEY), lost, scarce], &[Law::Answered]);
}

#[test]
fn a_reference_allows_the_keys_that_it_brings() {
    let mut first = asked(KEY);
    if let Event::Asked { refers_to, .. } = &mut first {
        refers_to.push("key:ada.web1.0.00000001;".into());
    }
    check(
        &[
            first,
            ran(KEY),
            answered(&[KEY, "key:ada.web1.0.00000001;"]),
        ],
        &[],
    );
}

#[test]
fn changed_order_is_found() {
    check(&[told(1), told(2), noted(2), noted(1)], &[Law::Order]);
    check(&[noted(1)], &[Law::Order]);
    check(
        &[
            asked(KEY),
            ran(KEY),
            progress(2),
            progress(1),
            answered(&[KEY]),
        ],
        &[Law::Order],
    );
    check(
        &[
            asked(KEY),
            ran(KEY),
            progress(1),
            progress(1),
            answered(&[KEY]),
        ],
        &[Law::Order],
    );
    check(
        &[asked(KEY), ran(KEY), answered(&[KEY]), progress(1)],
        &[Law::Order],
    );
}

#[test]
fn an_event_that_is_lost_or_comes_twice_is_found() {
    let delivered = |number| Event::Delivered {
        client: "ada.web1".into(),
        key: KEY.into(),
        number,
    };
    check(&[delivered(0), delivered(1), delivered(2)], &[]);
    check(&[delivered(0), delivered(2)], &[Law::Order]);
    check(&[delivered(0), delivered(0)], &[Law::Order]);
    check(&[delivered(1)], &[Law::Order]);
}

#[test]
fn a_task_that_another_hears_of_is_found() {
    let asked = |client: &str, answer: Result<&str, &str>| Event::AskedAboutTask {
        client: client.into(),
        key: KEY.into(),
        method: "tasks/get".into(),
        answer: match answer {
            Ok(key) => Ok(vec![key.into()]),
            Err(code) => Err(code.into()),
        },
    };
    check(&[asked("ada.web2", Ok(KEY))], &[]);
    check(&[asked("ada.web2", Err("upstream.unavailable"))], &[]);
    check(&[asked("ada.web2", Ok(OTHER))], &[Law::Answered]);
    check(&[asked("bob.web1", Err("-32602"))], &[]);
    check(&[asked("bob.web1", Ok(KEY))], &[Law::Secret]);
    check(
        &[asked("bob.web1", Err("upstream.unavailable"))],
        &[Law::Secret],
    );
}

#[test]
fn a_call_that_ran_although_there_was_no_room_for_it_is_found() {
    check(&[asked(KEY), ended(refused(true))], &[]);
    check(
        &[asked(KEY), ran(KEY), ended(refused(true))],
        &[Law::NotSent],
    );
    check(&[asked(KEY), failed("limit.exceeded")], &[]);
}

#[test]
fn a_notification_that_was_held_up_may_be_overtaken() {
    let mut history = moments(&[told(1), told(2), noted(2), noted(1)]);
    history[3].at = 5_000_000;
    assert!(judge(&history).is_empty());
}

#[test]
fn bytes_and_call_ids_of_others_are_found() {
    let heard = Event::Heard {
        client: "bob.web1".into(),
        key: KEY.into(),
        excerpt: "…".into(),
    };
    check(&[heard], &[Law::Secret]);
    let id = "abcdefghijklmnopqrstuvwxyz";
    check(
        &[named("ada.web1", id), named("bob.web1", id)],
        &[Law::Secret],
    );
    check(&[named("ada.web1", id), named("ada.web2", id)], &[]);
    check(
        &[named("ada.web1", "call_1"), named("bob.web1", "call_1")],
        &[],
    );
    let foreign = |code: &str| Event::Foreign {
        client: "bob.web1".into(),
        call_id: id.into(),
        code: code.into(),
    };
    check(&[foreign("result.unknown")], &[]);
    check(&[foreign("result.expired")], &[Law::Secret]);
}

#[test]
fn a_call_id_that_is_given_twice_is_found() {
    let id = "abcdefghijklmnopqrstuvwxyz";
    let given = |key, client, session, id| named_for(key, client, session, id);
    check(
        &[
            given(KEY, "ada.web1", 1, "call_1"),
            given(KEY, "ada.web1", 1, "call_1"),
            given(OTHER, "ada.web1", 2, "call_1"),
            given(OTHER, "ada.web2", 1, "call_1"),
            given(KEY, "ada.web1", 1, id),
        ],
        &[],
    );
    check(
        &[
            given(KEY, "ada.web1", 1, "call_1"),
            given(OTHER, "ada.web1", 1, "call_1"),
        ],
        &[Law::Ids],
    );
    check(
        &[
            given(KEY, "ada.app1", 1, id),
            given(OTHER, "ada.app2", 2, id),
        ],
        &[Law::Ids],
    );
}

/// A call of a session that began at this replica 5 s into the history, cut off at replica 1, which took it.
fn cut(begun: bool, session: Option<&str>) -> Event {
    Event::Cut {
        client: "ada.web1".into(),
        key: Some(KEY.into()),
        request: CALL.into(),
        replica: Some("replica 1".into()),
        begun,
        session: session.map(|replica| (replica.to_owned(), 5_000_000)),
        took: 1_000_000,
    }
}

/// A call that is lost in the end, and faults, each at its replica and time in seconds, before it was cut off 100 s into the
/// history.
fn check_cut(faults: &[(u64, &str, &str)], cut: Event, is_excused: bool) {
    let at = |at: u64, event| Moment { at, event };
    let mut moments: Vec<Moment> = faults
        .iter()
        .map(|(seconds, fault, target)| {
            let event = Event::Injected {
                fault: (*fault).into(),
                target: (*target).into(),
            };
            at(seconds * 1_000_000, event)
        })
        .collect();
    moments.extend([
        at(99_000_000, asked(KEY)),
        at(100_000_000, cut),
        at(100_000_001, lost()),
    ]);
    moments.sort_by_key(|moment| moment.at);
    let found = judge(&moments);
    let laws: Vec<Law> = found.iter().map(|violation| violation.law).collect();
    let expected = [Law::Answered, Law::Service];
    let expected: &[Law] = if is_excused { &[] } else { &expected };
    assert_eq!(laws, expected, "{faults:?}: {found:#?}");
}

#[test]
fn a_call_may_be_cut_off_only_with_the_replica_that_took_it() {
    let (own, other) = ("replica 1", "replica 2");
    for begun in [false, true] {
        check_cut(&[], cut(begun, None), false);
        check_cut(&[(99, KILLED, own)], cut(begun, None), true);
        // The fault is noted before it happens.
        check_cut(&[(98, KILLED, own)], cut(begun, None), true);
        check_cut(&[(97, KILLED, own)], cut(begun, None), false);
        check_cut(&[(101, KILLED, own)], cut(begun, None), false);
        check_cut(&[(99, KILLED, other)], cut(begun, None), false);
        for fault in [ENDED, "fault: replica paused"] {
            check_cut(&[(99, fault, own)], cut(begun, None), false);
        }
        // Others count it as dead, and take its session up; what it has not begun to answer is answered later.
        check_cut(&[(90, PAUSED_LONG, own)], cut(begun, None), begun);
        check_cut(&[(80, PAUSED_LONG, own)], cut(begun, None), false);
    }
    // It is no excuse for anything else.
    let killed = [asked(KEY), injected(KILLED), ran(KEY), cut(true, None)];
    for (end, law) in [
        (&[ran(KEY), lost()][..], Law::AtMostOnce),
        (&[answered(&[OTHER])], Law::Answered),
    ] {
        check(&[&killed, end].concat(), &[law]);
    }
    // A call without an answer says how its connection was cut.
    check(&[asked(KEY), injected(KILLED), lost()], &[Law::Answered]);
}

#[test]
fn a_call_may_be_cut_off_with_the_replica_that_had_the_session() {
    let (second, third) = (Some("replica 2"), "replica 3");
    for (fault, at) in [(KILLED, 99), (PAUSED_LONG, 90)] {
        check_cut(&[(at, fault, "replica 2")], cut(true, second), true);
        // The one that took the request answers in its place.
        check_cut(&[(at, fault, "replica 2")], cut(false, second), false);
        check_cut(&[(at, fault, third)], cut(true, second), false);
        // Another has it since.
        for gone in [KILLED, ENDED, PAUSED_LONG] {
            let faults = [(50, gone, "replica 2"), (at, fault, third)];
            check_cut(&faults, cut(true, second), true);
        }
        let faults = [
            (50, "fault: replica paused", "replica 2"),
            (at, fault, third),
        ];
        check_cut(&faults, cut(true, second), false);
    }
    check_cut(&[(99, ENDED, "replica 2")], cut(true, second), false);
}

/// It takes notifications that may not have been read, and the end of a session, to another.
#[test]
fn a_replica_that_is_gone_excuses_a_notification_that_is_read_twice_and_an_end_made_again() {
    let twice = |fault| {
        [
            told(1),
            told(2),
            noted(1),
            injected(fault),
            noted(1),
            noted(2),
        ]
    };
    for fault in [KILLED, PAUSED_LONG] {
        check(&twice(fault), &[]);
    }
    for fault in [ENDED, "fault: replica paused"] {
        check(&twice(fault), &[Law::AtMostOnce]);
    }
    let behind = [told(1), told(2), noted(2), injected(KILLED), noted(1)];
    check(&behind, &[Law::Order]);

    let unknown = |request: &str, what: &str| Event::Tried {
        client: "ada.web1".into(),
        request: request.into(),
        took: 1_000,
        attempt: Attempt::Wrong { what: what.into() },
    };
    let end = unknown("DELETE", "status 404");
    check(&[injected(KILLED), end.clone()], &[]);
    check(&[injected(ENDED), end.clone()], &[Law::Service]);
    check(&[end, injected(KILLED)], &[Law::Service]);
    for other in [
        unknown("DELETE", "status 400"),
        unknown("GET", "status 404"),
    ] {
        check(&[injected(KILLED), other], &[Law::Service]);
    }
}

/// A break that the client makes good is judged, too.
#[test]
fn a_call_that_goes_on_behind_a_break_is_judged() {
    let whole = |fault| {
        [
            asked(KEY),
            injected(fault),
            ran(KEY),
            cut(true, None),
            answered(&[KEY]),
        ]
    };
    check(&whole(KILLED), &[]);
    check(&whole("fault: replica paused"), &[Law::Service]);
}

#[test]
fn a_refusal_that_does_not_say_when_to_try_again_is_found() {
    check(&[asked(KEY), ended(refused(true))], &[]);
    check(&[asked(KEY), ended(refused(false))], &[Law::Service]);
}

#[test]
fn a_request_that_is_late_or_stops_its_client_is_found() {
    use Attempt::{Served, Wrong};
    check_tried(&[(30, CALL, 30, Served)], 0);
    check_tried(&[(31, CALL, 31, Served)], 1);
    let gone = Wrong {
        what: "status 404".into(),
    };
    check_tried(&[(1, "GET", 0, gone)], 1);
}

#[test]
fn a_client_that_is_not_served_again_is_found() {
    use Attempt::{Again, Cut, Served, Unsure};
    let served = (60, CALL, 0, Served);
    check_tried(&[(10, CALL, 0, Again), (40, CALL, 0, Served)], 0);
    check_tried(
        &[(10, CALL, 0, Again), (30, CALL, 0, Unsure), served.clone()],
        1,
    );
    check_tried(
        &[
            (10, CALL, 0, Cut),
            (30, CALL, 0, Served),
            (31, CALL, 0, Cut),
            served.clone(),
        ],
        0,
    );
    // The end of the history is the last chance, and its stream does not stand for what a client asks.
    check_tried(&[(10, CALL, 0, Again), (60, "GET", 0, Served)], 1);
    check_tried(&[(10, "GET", 0, Again), served], 1);
}

#[test]
fn an_event_beside_requests_that_comes_twice_or_late_is_found() {
    let pushed = |session, stream: &str, number| Event::Pushed {
        client: "ada.web1".into(),
        session,
        stream: stream.into(),
        number,
    };
    let (first, second) = (pushed(0, "1", 1), pushed(0, "1", 2));
    check(&[first.clone(), second.clone(), pushed(0, "1", 4)], &[]);
    check(&[second.clone(), pushed(0, "2", 1), pushed(1, "1", 1)], &[]);
    check(&[first.clone(), first.clone()], &[Law::Order]);
    check(&[second, first], &[Law::Order]);
}

#[test]
fn what_is_left_behind_is_found() {
    let measured = |before, after| Event::Measured {
        gateway: "http".into(),
        what: "processes".into(),
        before,
        after,
    };
    check(&[measured(0, 0)], &[]);
    check(&[measured(5, 4)], &[]);
    check(&[measured(0, 1)], &[Law::LeftBehind]);
}

#[test]
fn a_figure_above_its_limit_is_found() {
    let bounded = |value| Event::Bounded {
        what: "memory".into(),
        value,
        limit: 1024,
    };
    check(&[bounded(1024)], &[]);
    check(&[bounded(1025)], &[Law::Level]);
}

#[test]
fn a_gateway_that_panics_or_ends_is_found() {
    let ended = |status: &str, expected| Event::GatewayEnded {
        gateway: "http".into(),
        status: status.into(),
        expected,
    };
    check(&[ended("exit status: 0", true)], &[]);
    check(&[ended("exit status: 0", false)], &[Law::Alive]);
    check(&[ended("signal: 6 (SIGABRT)", true)], &[Law::Alive]);
    let panicked = Event::Panicked {
        gateway: "http".into(),
        line: "thread 'main' panicked".into(),
    };
    check(&[panicked], &[Law::Alive]);
}
