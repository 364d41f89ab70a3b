//! Models of connections that wait for places.

use super::*;
use crate::sync::explore;
use shuttle::{future::block_on, thread};

#[test]
fn everyone_gets_a_place_in_the_end_and_gives_it_back() {
    explore(|| {
        // One for a stranger, and one for who was let in.
        let connections = Connections::new(2, 1);
        let clients = [(); 3].map(|()| {
            let connections = Arc::clone(&connections);
            thread::spawn(move || {
                let place = block_on(connections.place());
                assert!(connections.state.lock().open.len() <= 2);
                let busy = place.request(&Principal::Anonymous);
                if busy.is_some() {
                    // Nobody takes the place of a request that runs.
                    let cut = *place.closing.borrow() == Closing::Immediate;
                    assert!(!cut);
                }
                drop(busy);
                drop(place);
            })
        });
        for client in clients {
            client.join().unwrap();
        }
        let counts = connections.counts();
        assert_eq!((counts.strangers, counts.idle, counts.busy), (0, 0, 0));
        let state = connections.state.lock();
        assert!(state.holders.is_empty() && state.leaving.is_empty());
    });
}

#[test]
fn the_end_comes_once_every_connection_has_ended() {
    explore(|| {
        let connections = Connections::new(2, 1);
        let place = block_on(connections.place());
        let busy = place.request(&Principal::Anonymous).unwrap();
        let ends = {
            let connections = Arc::clone(&connections);
            thread::spawn(move || {
                block_on(connections.end());
                assert!(connections.state.lock().open.is_empty());
            })
        };
        assert_eq!(block_on(place.gives_way()), Closing::Graceful);
        drop(busy);
        drop(place);
        ends.join().unwrap();
    });
}
