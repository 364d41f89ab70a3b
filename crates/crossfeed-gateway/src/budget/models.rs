//! Models of who waits for room in the budget.

use super::*;
use crate::sync::explore;
use futures_util::FutureExt as _;
use shuttle::{future::block_on, thread};

const FOR: Purpose = Purpose::Request;

fn account(budget: &Arc<Budget>, name: &str) -> Arc<Account> {
    budget.account(&Principal::Named(name.to_owned()))
}

fn wait(account: &Arc<Account>, bytes: usize) -> thread::JoinHandle<bool> {
    let account = Arc::clone(account);
    thread::spawn(move || block_on(account.nothing().more_in_time(bytes, FOR)))
}

#[test]
fn what_is_given_back_reaches_everyone_who_waits() {
    explore(|| {
        let budget = Budget::new(10, 0, 0, &Metrics::new());
        let account = account(&budget, "a");
        let held = account.charge(8, FOR).unwrap();
        let waiting = [4, 10].map(|bytes| wait(&account, bytes));
        drop(held);
        for has_room in waiting {
            assert!(has_room.join().unwrap());
        }
        assert_eq!(budget.held(), 0);
        assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
    });
}

#[test]
fn who_is_refused_leaves_the_room_to_others() {
    explore(|| {
        let budget = Budget::new(10, 0, 0, &Metrics::new());
        let held = account(&budget, "b").charge(5, FOR).unwrap();
        let account = account(&budget, "a");
        let large = wait(&account, 6);
        // This fits in all the time.
        assert!(wait(&account, 5).join().unwrap());
        drop(held);
        assert!(large.join().unwrap());
        assert_eq!(budget.held(), 0);
    });
}

#[test]
fn who_gives_up_waiting_holds_nothing() {
    explore(|| {
        let budget = Budget::new(10, 0, 0, &Metrics::new());
        let account = account(&budget, "a");
        let held = account.charge(8, FOR).unwrap();
        let given_up = {
            let account = Arc::clone(&account);
            thread::spawn(move || {
                let mut charge = account.nothing();
                let room = charge.more_in_time(5, FOR).now_or_never();
                assert_eq!(charge.bytes(), if room == Some(true) { 5 } else { 0 });
            })
        };
        let waits = wait(&account, 10);
        drop(held);
        given_up.join().unwrap();
        assert!(waits.join().unwrap());
        assert_eq!(budget.held(), 0);
        assert_eq!(budget.waiting.load(Ordering::SeqCst), 0);
    });
}
