//! Connections of clients: how many there may be, whose they are, and which give way to others.
//!
//! # Invariants
//!
//! - There are never more connections than places.
//! - Connections whose client is not identified yet (strangers) have a part of the places for themselves. The oldest
//!   gives way to a newer one, so that a client that sends nothing keeps no other out.
//! - The other places belong to identified principals, at most half of them to one where there are several. A principal
//!   that has its share, or finds no place, takes the place of a connection without a request; else it is refused.
//! - A connection with a request gives way to no other.
//! - Where few places are left, connections end with their answers, which say so: a connection that gives way just as
//!   its client uses it would cost that client a request.

use crate::{
    principal::{Principal, share_of},
    sync::Mutex,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

/// Strangers among the connections: a part of them, and not so few that several cannot come at once.
const UNIDENTIFIED_PART: usize = 5;
const MIN_UNIDENTIFIED: usize = 16;
/// How long a stranger is left alone when others come: what it says is on its way by then.
const IDENTIFY_GRACE: Duration = Duration::from_millis(20);

/// All connections.
pub(super) struct Connections {
    places: usize,
    /// Of these, how many are for strangers.
    strangers: usize,
    /// How many of the others one principal may have.
    share: usize,
    state: Mutex<State>,
    /// There may be a place.
    changed: Notify,
}

#[derive(Default)]
struct State {
    open: BTreeMap<u64, OpenConnection>,
    next: u64,
    /// Those whose client is not identified, in the order in which they came, and since when.
    strangers: BTreeMap<u64, Instant>,
    /// Those who were let in, without connections that are to end.
    holders: HashMap<Principal, Holder>,
    /// Those that were told to give way, and are still there.
    leaving: BTreeSet<u64>,
}

/// One connection.
struct OpenConnection {
    holder: Option<Principal>,
    /// Requests that run, until their answers are written.
    running: usize,
    /// Since when it runs none, once it was let in.
    idle: Option<Instant>,
    closing: watch::Sender<Closing>,
}

/// The connections of one principal.
#[derive(Default)]
struct Holder {
    count: usize,
    /// Those that run no request, the one that does so for longest first.
    idle: BTreeSet<(Instant, u64)>,
}

/// Whether a connection is to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closing {
    No,
    /// It closes once its request is answered.
    Graceful,
    /// It closes at once.
    Immediate,
}

/// How many connections there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Those that there may be.
    pub(super) places: usize,
    pub(super) strangers: usize,
    pub(super) idle: usize,
    pub(super) busy: usize,
}

/// The place of one connection.
pub(super) struct Slot {
    connections: Arc<Connections>,
    number: u64,
    closing: watch::Receiver<Closing>,
}

/// A request that runs on a connection, until its answer is written.
pub(super) struct BusyConnection {
    connections: Arc<Connections>,
    number: u64,
}

impl Connections {
    /// So many in all, shared by so many principals.
    pub(super) fn new(places: usize, principals: usize) -> Arc<Self> {
        let places = places.max(2);
        let strangers = places
            .div_ceil(UNIDENTIFIED_PART)
            .max(MIN_UNIDENTIFIED)
            .min(places.div_ceil(2));
        let others = places - strangers;
        Arc::new(Self {
            places,
            strangers,
            share: share_of(others, principals),
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// How many there are now.
    pub(super) fn counts(&self) -> Counts {
        let state = self.state.lock();
        let idle = state.holders.values().map(|holder| holder.idle.len()).sum();
        Counts {
            places: self.places,
            strangers: state.strangers.len(),
            idle,
            busy: state.open.len() - state.strangers.len() - idle,
        }
    }

    /// A place for a stranger who came. Waits until there is one.
    pub(super) async fn place(self: &Arc<Self>) -> Slot {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registered before it is looked: a place that comes free in between is not missed.
            changed.as_mut().enable();
            let first = {
                let mut state = self.state.lock();
                if state.open.len() < self.places && state.strangers.len() < self.strangers {
                    return self.taken(&mut state);
                }
                // One that leaves makes room already.
                let waits = state.open.len() >= self.places && !state.leaving.is_empty();
                let first = state.strangers.first_key_value().filter(|_| !waits);
                first.map(|(number, came)| (*number, *came))
            };
            let Some((number, came)) = first else {
                changed.await;
                continue;
            };
            tokio::select! {
                () = changed => {}
                () = tokio::time::sleep_until(came + IDENTIFY_GRACE) => self.send_away(number),
            }
        }
    }

    /// No descriptor is left: strangers give way at once.
    pub(super) fn send_strangers_away(&self) {
        let strangers: Vec<u64> = self.state.lock().strangers.keys().copied().collect();
        for number in strangers {
            self.send_away(number);
        }
    }

    fn send_away(&self, number: u64) {
        let mut state = self.state.lock();
        // It may have been let in meanwhile.
        if state.strangers.remove(&number).is_some() {
            tracing::debug!("a connection that said nothing gives way");
            state.end(number, Closing::Immediate);
        }
    }

    fn taken(self: &Arc<Self>, state: &mut State) -> Slot {
        state.next += 1;
        let number = state.next;
        let (closing, of_place) = watch::channel(Closing::No);
        let open = OpenConnection {
            holder: None,
            running: 0,
            idle: None,
            closing,
        };
        state.open.insert(number, open);
        state.strangers.insert(number, Instant::now());
        Slot {
            connections: Arc::clone(self),
            number,
            closing: of_place,
        }
    }

    /// Ends all connections once nothing is on its way over them.
    pub(super) fn close(&self) {
        let state = self.state.lock();
        for open in state.open.values() {
            // One that was to end at once still is.
            if *open.closing.borrow() == Closing::No {
                open.closing.send_replace(Closing::Graceful);
            }
        }
    }

    /// The same, and waits until they have ended.
    pub(super) async fn end(&self) {
        self.close();
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.state.lock().open.is_empty() {
                return;
            }
            changed.await;
        }
    }
}

impl State {
    /// Tells a connection to end.
    fn end(&mut self, number: u64, how: Closing) {
        if let Some(open) = self.open.get(&number) {
            open.closing.send_replace(how);
            self.leaving.insert(number);
        }
    }

    fn count(&self, principal: &Principal) -> usize {
        self.holders.get(principal).map_or(0, |holder| holder.count)
    }

    /// The connection that gives way to one of `comes`: its own that ran no request for longest; unless it
    /// `has_share`, also of those who have more connections than it.
    fn idlest(&self, comes: &Principal, has_share: bool) -> Option<u64> {
        let own = self.count(comes);
        let gives = |(whose, holder): &(&Principal, &Holder)| {
            *whose == comes || (!has_share && holder.count > own)
        };
        let holders = self.holders.iter().filter(gives);
        let idle = holders.filter_map(|(_, holder)| holder.idle.first().copied());
        idle.min().map(|(_, number)| number)
    }

    /// Takes a connection off what its principal has.
    fn release(&mut self, number: u64) {
        let Some(open) = self.open.get_mut(&number) else {
            return;
        };
        let (holder, idle) = (open.holder.take(), open.idle.take());
        let Some(principal) = holder else { return };
        if let Some(holder) = self.holders.get_mut(&principal) {
            holder.count -= 1;
            if let Some(since) = idle {
                holder.idle.remove(&(since, number));
            }
            if holder.count == 0 {
                self.holders.remove(&principal);
            }
        }
    }
}

impl Slot {
    /// A request of `principal` comes over the connection, which is the principal's from here on. Nothing
    /// where there is no place for it: then the connection is to end.
    pub(super) fn request(&self, principal: &Principal) -> Option<BusyConnection> {
        let connections = &self.connections;
        let mut guard = connections.state.lock();
        let state = &mut *guard;
        if state.leaving.contains(&self.number) {
            // It ends whatever is done, and takes no place.
            let open = state.open.get_mut(&self.number)?;
            if *open.closing.borrow() == Closing::Immediate {
                // No one would read the answer: the request must not run.
                return None;
            }
            open.running += 1;
            return Some(self.busy());
        }
        let is_new = state.open.get(&self.number)?.holder.as_ref() != Some(principal);
        if is_new {
            state.release(self.number);
            let has_share = state.count(principal) >= connections.share;
            let all: usize = state.holders.values().map(|holder| holder.count).sum();
            if has_share || all >= connections.places - connections.strangers {
                let idlest = state.idlest(principal, has_share);
                let Some(idlest) = idlest else {
                    state.strangers.remove(&self.number);
                    state.leaving.insert(self.number);
                    return None;
                };
                tracing::debug!("a connection that runs no request gives way");
                state.release(idlest);
                state.end(idlest, Closing::Graceful);
            }
            state.holders.entry(principal.clone()).or_default().count += 1;
        }
        let was_stranger = state.strangers.remove(&self.number).is_some();
        let open = state.open.get_mut(&self.number)?;
        open.running += 1;
        if is_new {
            open.holder = Some(principal.clone());
        } else if let Some(since) = open.idle.take()
            && let Some(holder) = state.holders.get_mut(principal)
        {
            holder.idle.remove(&(since, self.number));
        }
        drop(guard);
        if was_stranger {
            connections.changed.notify_waiters();
        }
        Some(self.busy())
    }

    fn busy(&self) -> BusyConnection {
        BusyConnection {
            connections: Arc::clone(&self.connections),
            number: self.number,
        }
    }

    /// Waits until the connection is to end, and says how.
    pub(super) async fn gives_way(&self) -> Closing {
        let mut closing = self.closing.clone();
        let closing = closing.wait_for(|closing| *closing != Closing::No).await;
        closing.map_or(Closing::Immediate, |closing| *closing)
    }
}

impl BusyConnection {
    /// True where the connection is to end with the answer, since its principal has most of its share, or
    /// principals have most of their places.
    pub(super) fn is_last(&self) -> bool {
        let connections = &self.connections;
        let state = connections.state.lock();
        let Some(open) = state.open.get(&self.number) else {
            return true;
        };
        let own = open.holder.as_ref().map_or(0, |whose| state.count(whose));
        let let_in = state.open.len() - state.strangers.len();
        own > most_of(connections.share)
            || let_in > most_of(connections.places - connections.strangers)
    }
}

/// So many of places that the rest is kept for those who come.
fn most_of(places: usize) -> usize {
    places - places / 4
}

impl Drop for BusyConnection {
    fn drop(&mut self) {
        let mut guard = self.connections.state.lock();
        let state = &mut *guard;
        let Some(open) = state.open.get_mut(&self.number) else {
            return;
        };
        open.running -= 1;
        let holder = open.holder.as_ref().filter(|_| open.running == 0);
        if let Some(holder) = holder.and_then(|holder| state.holders.get_mut(holder)) {
            let since = Instant::now();
            open.idle = Some(since);
            holder.idle.insert((since, self.number));
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        {
            let mut state = self.connections.state.lock();
            state.release(self.number);
            state.open.remove(&self.number);
            state.strangers.remove(&self.number);
            state.leaving.remove(&self.number);
        }
        self.connections.changed.notify_waiters();
    }
}

#[cfg(test)]
mod models;
#[cfg(test)]
mod tests;
