//! Models of calls in flight: the interleavings of those who begin, return, wait and give up, tried by
//! shuttle on the very code that runs, with a lock of its own and a shelf for a store.
//!
//! Every model ends with everybody told and nothing kept. A wake-up that is lost is a deadlock, which
//! shuttle notices.

use super::{
    Elsewhere, Lock, Shard,
    calls::WaitOutcome,
    look_up,
    registry::{CallHandle, Entry, Registry},
};
use crossfeed_wire::{CallId, Scope};
use futures_util::stream::{self, Stream};
use shuttle::{
    future::{block_on, yield_now},
    sync::Mutex,
    thread,
};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    future::{Future, pending, poll_fn, ready},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

impl Lock for Mutex<Shard> {
    fn with<R>(&self, act: impl FnOnce(&mut Shard) -> R) -> R {
        act(&mut self.lock().unwrap())
    }
}

/// What a reference to a call came to.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    Found(usize),
    /// Nothing is known of it.
    Unknown,
    GivenUp,
    Circle(String),
    Overdue,
    Stopped,
}

/// Something that happens once, at any time.
#[derive(Default)]
struct Bell(Mutex<(bool, Option<Waker>)>);

impl Bell {
    fn ring(&self) {
        let waker = {
            let mut bell = self.0.lock().unwrap();
            bell.0 = true;
            bell.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    async fn heard(&self) {
        poll_fn(|context| {
            let mut bell = self.0.lock().unwrap();
            bell.1 = Some(context.waker().clone());
            if bell.0 {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// There is one process only.
struct Nowhere;

impl Elsewhere<Seen> for Nowhere {
    fn runs(&self, _: &Seen) -> bool {
        false
    }

    fn wait(&self, _: &[(usize, Seen)]) -> impl Stream<Item = (usize, Seen)> + Send {
        stream::empty()
    }

    async fn time_out(&self, _: usize, found: Seen) -> Seen {
        found
    }
}

/// A session of the model: its calls in flight, and what is stored.
#[derive(Clone)]
struct World {
    registry: Arc<Registry<Mutex<Shard>>>,
    scope: Arc<Scope>,
    shelf: Arc<Mutex<BTreeMap<CallId, usize>>>,
}

fn id(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

impl World {
    fn new() -> Self {
        Self {
            registry: Arc::new(Registry::with_shards(1)),
            scope: Arc::new(Scope::parse("t", "p", "s").unwrap()),
            shelf: Arc::default(),
        }
    }

    async fn stored(&self, call: &CallId) -> Option<usize> {
        yield_now().await;
        self.shelf.lock().unwrap().get(call).copied()
    }

    async fn put(&self, call: &str, value: usize) -> Result<(), Infallible> {
        yield_now().await;
        self.shelf.lock().unwrap().insert(id(call), value);
        Ok(())
    }

    fn begin(&self, call: &str) -> Option<Entry<Mutex<Shard>>> {
        let call = id(call);
        let is_recorded = async { Ok(self.stored(&call).await.is_some()) };
        let begun = self
            .registry
            .begin(&self.scope, &call, 8, None, is_recorded);
        block_on(begun).ok()
    }

    fn record(&self, call: &str, value: usize) {
        let (call_id, put) = (id(call), self.put(call, value));
        let landed = self
            .registry
            .complete(&self.scope, &call_id, None, put, |_| false);
        block_on(landed).unwrap();
    }

    /// What references to the calls come to, resolved for `of`; `over` says when the time is.
    async fn refer_until(
        &self,
        of: Option<&CallHandle>,
        calls: &[&str],
        over: impl Future<Output = ()>,
    ) -> Vec<Seen> {
        let calls: Vec<_> = calls.iter().map(|call| id(call)).collect();
        let wanted: Vec<_> = calls.iter().map(Some).collect();
        let find = |place: usize, outcome: Option<WaitOutcome>| {
            let call = &calls[place];
            async move {
                match outcome {
                    None | Some(WaitOutcome::Completed) => {
                        self.stored(call).await.map_or(Seen::Unknown, Seen::Found)
                    }
                    Some(WaitOutcome::GivenUp(_)) => {
                        self.stored(call).await.map_or(Seen::GivenUp, Seen::Found)
                    }
                    Some(WaitOutcome::Cycle(round)) => {
                        Seen::Circle(round.path().iter().map(CallId::as_str).collect())
                    }
                    Some(WaitOutcome::TimedOut) => {
                        self.stored(call).await.map_or(Seen::Overdue, Seen::Found)
                    }
                    Some(WaitOutcome::Aborted) => {
                        self.stored(call).await.map_or(Seen::Stopped, Seen::Found)
                    }
                }
            }
        };
        let dooms = |seen: &Seen| ready(!matches!(seen, Seen::Found(_)));
        let (registry, scope) = (&self.registry, &self.scope);
        let (over, nowhere) = (|| Some(over), &Nowhere);
        look_up(registry, scope, of, &wanted, over, find, dooms, nowhere).await
    }

    fn refer(&self, of: Option<&CallHandle>, calls: &[&str]) -> Vec<Seen> {
        block_on(self.refer_until(of, calls, pending()))
    }

    /// The same, but dropped as soon as the bell rings, if it has not ended.
    fn refer_unless(&self, of: Option<&CallHandle>, call: &str, bell: &Bell) -> Option<Vec<Seen>> {
        block_on(async {
            let calls = [call];
            let mut seen = pin!(self.refer_until(of, &calls, pending()));
            let mut heard = pin!(bell.heard());
            poll_fn(|context| match heard.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(None),
                Poll::Pending => seen.as_mut().poll(context).map(Some),
            })
            .await
        })
    }

    fn is_empty(&self) -> bool {
        self.registry.kept() == (0, 0, 0)
    }
}

/// Does something at once with everything else of a model.
fn at_once<T: Send + 'static>(
    world: &World,
    act: impl FnOnce(World) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let world = world.clone();
    thread::spawn(move || act(world))
}

/// Tries the interleavings of a model: the first ones in order, then some at random and by priority.
fn explore(model: fn(&World)) {
    let model = move || {
        let world = World::new();
        model(&world);
        assert!(world.is_empty(), "something is kept");
    };
    shuttle::check_dfs(model, Some(2000));
    shuttle::check_random(model, 1000);
    shuttle::check_pct(model, 1000, 3);
}

#[test]
fn what_returns_between_two_looks_is_found() {
    explore(|world| {
        let a = world.begin("a").unwrap();
        let seen = [(); 2].map(|()| at_once(world, |world| world.refer(None, &["a"])));
        at_once(world, |world| world.record("a", 7)).join().unwrap();
        for seen in seen {
            assert_eq!(seen.join().unwrap(), [Seen::Found(7)]);
        }
        drop(a);
    });
}

#[test]
fn whoever_waits_for_a_call_that_is_given_up_is_told() {
    explore(|world| {
        let (a, b) = (world.begin("a").unwrap(), world.begin("b").unwrap());
        // Nobody ever waits for `b` in vain, which is still in flight.
        let seen = at_once(world, |world| world.refer(None, &["a", "b"]));
        let dropped = at_once(world, move |_| drop(a));
        let seen = seen.join().unwrap();
        match &seen[0] {
            // It looked when the call had gone.
            Seen::Unknown => {}
            other => assert_eq!(*other, Seen::GivenUp),
        }
        assert_eq!(seen[1], Seen::Stopped);
        dropped.join().unwrap();
        drop(b);
    });
}

#[test]
fn what_was_put_before_its_call_was_given_up_is_found() {
    explore(|world| {
        let a = world.begin("a").unwrap();
        let seen = at_once(world, |world| world.refer(None, &["a"]));
        // As if the future that completes it were dropped between putting and leaving.
        block_on(world.put("a", 7)).unwrap();
        drop(a);
        assert_eq!(seen.join().unwrap(), [Seen::Found(7)]);
    });
}

#[test]
fn a_circle_is_told_to_both_whoever_closes_it() {
    explore(|world| {
        let (a, b) = (world.begin("a").unwrap(), world.begin("b").unwrap());
        let seen = [(a, "b"), (b, "a")].map(|(call, other)| {
            at_once(world, move |world| {
                world.refer(Some(call.actor()), &[other])
            })
        });
        let seen = seen.map(|seen| seen.join().unwrap());
        let circle = |path: &str| vec![Seen::Circle(path.to_owned())];
        assert_eq!(seen, [circle("aba"), circle("bab")]);
    });
}

#[test]
fn a_circle_of_three_is_told_to_all_and_ends_the_wait_of_a_fourth() {
    explore(|world| {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|call| world.begin(call).unwrap());
        let fourth = at_once(world, move |world| world.refer(Some(d.actor()), &["a"]));
        let ring = [(a, "b"), (b, "c"), (c, "a")].map(|(call, other)| {
            at_once(world, move |world| {
                world.refer(Some(call.actor()), &[other])
            })
        });
        let seen = ring.map(|seen| seen.join().unwrap());
        let circle = |path: &str| vec![Seen::Circle(path.to_owned())];
        assert_eq!(seen, [circle("abca"), circle("bcab"), circle("cabc")]);
        // It is told when `a` is given up; or it came when that had gone.
        let seen = fourth.join().unwrap();
        assert!([[Seen::GivenUp], [Seen::Unknown]].contains(&[seen[0].clone()]));
    });
}

#[test]
fn whoever_goes_away_is_not_waited_for() {
    explore(|world| {
        let (a, b) = (world.begin("a").unwrap(), world.begin("b").unwrap());
        let bell = Arc::new(Bell::default());
        let heard = Arc::clone(&bell);
        let first = at_once(world, move |world| {
            let seen = world.refer_unless(Some(b.actor()), "a", &heard);
            world.record("b", 1);
            (b, seen)
        });
        let second = at_once(world, move |world| {
            let seen = world.refer(Some(a.actor()), &["b"]);
            world.record("a", 2);
            (a, seen)
        });
        bell.ring();
        let ((b, first), (a, second)) = (first.join().unwrap(), second.join().unwrap());
        let circle = |path: &str| vec![Seen::Circle(path.to_owned())];
        // The first may have gone after it was told, but only the wait of the second can close it.
        match first {
            None => assert!([circle("aba"), vec![Seen::Found(1)]].contains(&second)),
            Some(first) => assert_eq!((first, second), (circle("bab"), circle("aba"))),
        }
        drop((a, b));
    });
}

#[test]
fn a_wait_that_was_dropped_closes_no_circle() {
    explore(|world| {
        let (a, b) = (world.begin("a").unwrap(), world.begin("b").unwrap());
        let mut once = Box::pin(world.refer_until(Some(b.actor()), &["a"], pending()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(once.as_mut().poll(&mut context).is_pending());
        drop(once);
        let seen = at_once(world, move |world| {
            let seen = world.refer(Some(a.actor()), &["b"]);
            (a, seen)
        });
        world.record("b", 1);
        assert_eq!(seen.join().unwrap().1, [Seen::Found(1)]);
        drop(b);
    });
}

#[test]
fn one_deadline_ends_every_wait() {
    explore(|world| {
        let (a, b) = (world.begin("a").unwrap(), world.begin("b").unwrap());
        let bell = Arc::new(Bell::default());
        let over = Arc::clone(&bell);
        let seen = at_once(world, move |world| {
            block_on(world.refer_until(None, &["a", "b"], over.heard()))
        });
        let record = at_once(world, |world| world.record("a", 7));
        let ring = at_once(world, move |_| bell.ring());
        let seen = seen.join().unwrap();
        assert!([Seen::Found(7), Seen::Overdue].contains(&seen[0]));
        assert_eq!(seen[1], Seen::Overdue);
        record.join().unwrap();
        ring.join().unwrap();
        drop((a, b));
    });
}

#[test]
fn an_id_is_of_one_call() {
    explore(|world| {
        let begun = at_once(world, |world| world.begin("a"));
        let seen = at_once(world, |world| world.refer(None, &["a"]));
        world.record("a", 7);
        let begun = begun.join().unwrap();
        // Recorded before it began, it is taken; recorded after that, it has returned.
        assert!(!world.registry.is_running(&world.scope, &id("a")));
        // What is refused gives nothing up.
        assert!([[Seen::Found(7)], [Seen::Unknown]].contains(&[seen.join().unwrap()[0].clone()]));
        drop(begun);
    });
    explore(|world| {
        let begun = [(); 2].map(|()| at_once(world, |world| world.begin("a")));
        let begun = begun.map(|begun| begun.join().unwrap());
        assert_eq!(begun.iter().flatten().count(), 1);
    });
}

#[test]
fn a_session_that_is_closed_keeps_nobody_waiting() {
    explore(|world| {
        let a = world.begin("a").unwrap();
        let seen = at_once(world, |world| world.refer(None, &["a"]));
        world.registry.close(&world.scope);
        assert_eq!(seen.join().unwrap(), [Seen::Unknown]);
        assert!(world.is_empty());
        drop(a);
    });
}
