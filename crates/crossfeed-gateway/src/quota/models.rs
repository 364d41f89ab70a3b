//! Models of who waits for processes and descriptors.

use super::*;
use crate::sync::explore;
use shuttle::{future::block_on, thread};
use std::time::Duration;

fn quotas(processes: usize, descriptors: usize) -> Arc<Quotas> {
    Quotas::new(Needs::new(processes, descriptors), Needs::NOTHING, 1)
}

#[test]
fn what_comes_back_reaches_everyone_who_waits() {
    explore(|| {
        // Of each kind there is too little for two at once.
        for quotas in [quotas(1, 100), quotas(100, 5)] {
            let waiting = [(); 3].map(|()| {
                let quotas = quotas.clone();
                thread::spawn(move || {
                    let until = Instant::now() + Duration::from_secs(1);
                    let principal = Principal::Local;
                    let needs = Needs::PROCESS;
                    let taken = quotas.take_when_there(&principal, needs, until, |_| true);
                    let mut taken = block_on(taken).unwrap();
                    assert!(quotas.used().processes <= quotas.total().processes);
                    // In parts, as connections end one by one.
                    drop(taken.split(Needs::new(1, 0)));
                    drop(taken);
                })
            });
            for thread in waiting {
                thread.join().unwrap();
            }
            assert_eq!(quotas.used(), Needs::NOTHING);
        }
    });
}
