//! Models of sessions that are found, ended and replaced at once.

use super::*;
use crate::{downstream::fake::FakeHub, sync::explore};
use shuttle::thread;

fn begin(sessions: &Sessions) -> Option<BusySession> {
    sessions.begin(Arc::new(FakeHub::default()), &Principal::Anonymous)
}

#[test]
fn a_session_with_a_request_makes_room_for_nobody() {
    explore(|| {
        let sessions = Arc::new(Sessions::new(1, 1));
        let id = begin(&sessions).unwrap().id.clone();
        let asks = {
            let (sessions, id) = (Arc::clone(&sessions), id.clone());
            thread::spawn(move || {
                let Some(running) = sessions.find(&id, &Principal::Anonymous) else {
                    return;
                };
                assert!(
                    sessions.sessions.lock().contains_key(&id),
                    "it ended while it was used"
                );
                drop(running);
            })
        };
        let another = begin(&sessions);
        // Either it made room, or it was used.
        assert!(sessions.sessions.lock().contains_key(&id) != another.is_some());
        assert_eq!(sessions.count(), 1);
        asks.join().unwrap();
    });
}

#[test]
fn a_session_that_begins_makes_room_for_nobody_until_it_is_answered() {
    explore(|| {
        let sessions = Arc::new(Sessions::new(1, 1));
        let begun = [(); 2].map(|()| {
            let sessions = Arc::clone(&sessions);
            thread::spawn(move || {
                let begun = begin(&sessions)?;
                assert!(sessions.sessions.lock().contains_key(&begun.id));
                Some(())
            })
        });
        let begun = begun.map(|begun| begun.join().unwrap());
        assert!(begun.iter().flatten().count() > 0);
        assert_eq!(sessions.count(), 1);
    });
}
