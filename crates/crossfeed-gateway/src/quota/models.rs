//! Models of who waits for processes and descriptors.

use super::*;
use crate::sync::explore;
use shuttle::{future::block_on, thread};
use std::time::Duration;

fn quotas(processes: usize, descriptors: usize) -> Quotas {
    Quotas {
        processes: Quota::new(processes, 0, 1),
        descriptors: Quota::new(descriptors, 0, 1),
    }
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
                    let (mut processes, descriptors) = block_on(taken).unwrap();
                    assert!(quotas.processes.used() <= quotas.processes.total());
                    // In parts, as connections end one by one.
                    drop(processes.split(1));
                    drop((processes, descriptors));
                })
            });
            for thread in waiting {
                thread.join().unwrap();
            }
            assert_eq!((quotas.processes.used(), quotas.descriptors.used()), (0, 0));
        }
    });
}
