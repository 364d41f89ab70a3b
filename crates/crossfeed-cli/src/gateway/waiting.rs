//! Runs several tasks at once and reports those that are not done while the user waits.

use futures_util::future::join_all;
use std::{cell::RefCell, time::Duration};
use tokio::time::{Instant, sleep};

/// When the wait is first reported, and how often after that.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub(super) first: Duration,
    pub(super) then: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(5),
            then: Duration::from_secs(10),
        }
    }
}

/// Runs all tasks at once, and reports from time to time which it waits for, and how long.
pub(super) async fn all<T>(
    work: Vec<(&str, impl Future<Output = T>)>,
    pace: Pace,
    mut say: impl FnMut(&str),
) -> Vec<T> {
    let begun = Instant::now();
    let left: RefCell<Vec<&str>> = RefCell::new(work.iter().map(|(name, _)| *name).collect());
    let (waiting, left) = (&left, &left);
    let each = work.into_iter().map(|(name, work)| async move {
        let done = work.await;
        let mut left = left.borrow_mut();
        if let Some(at) = left.iter().position(|other| *other == name) {
            left.remove(at);
        }
        done
    });
    let mut done = std::pin::pin!(join_all(each));
    let mut pause = pace.first;
    loop {
        tokio::select! {
            done = &mut done => return done,
            () = sleep(pause) => {
                let names = waiting.borrow().join(", ");
                say(&format!("waiting for {names} ({} s so far)", begun.elapsed().as_secs()));
                pause = pace.then;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pace, all};
    use futures_util::FutureExt as _;
    use std::{cell::RefCell, time::Duration};
    use tokio::sync::Notify;

    /// The work ends by a message, not by a clock.
    #[test]
    fn who_is_waited_for_is_said() {
        let (told, said) = (Notify::new(), RefCell::new(Vec::new()));
        let quick = async { 1 };
        let slow = async {
            told.notified().await;
            2
        };
        let work = vec![("quick", quick.boxed_local()), ("slow", slow.boxed_local())];
        let pace = Pace {
            first: Duration::from_millis(1),
            then: Duration::from_millis(1),
        };
        let say = |line: &str| {
            said.borrow_mut().push(line.to_owned());
            if said.borrow().len() == 2 {
                told.notify_one();
            }
        };
        let runtime = crate::gateway::serve::alone().expect("it can be started");
        let done = runtime.block_on(all(work, pace, say));
        assert_eq!(done, [1, 2]);
        let said = said.into_inner();
        assert!(said.len() >= 2, "{said:?}");
        assert!(
            said.iter()
                .all(|line| line.starts_with("waiting for slow (")),
            "{said:?}"
        );
    }

    #[test]
    fn nothing_is_said_of_what_is_quick() {
        let runtime = crate::gateway::serve::alone().expect("it can be started");
        let work = vec![("quick", async { 1 })];
        let done = runtime.block_on(all(work, Pace::default(), |line| panic!("{line}")));
        assert_eq!(done, [1]);
    }
}
