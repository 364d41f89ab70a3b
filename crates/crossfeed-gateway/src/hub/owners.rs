//! Which server things are of, by their names.
//!
//! What comes in: names that servers chose. What goes out: the server of a name, which is the first that
//! claimed it. Each server has room of its own: what one claims takes nothing from another.

use super::side::LONGEST;
use lru::LruCache;
use std::{collections::HashMap, num::NonZeroUsize, sync::Arc};

/// Bytes of all names of one server.
const BYTES: usize = 4 << 20;

/// What becomes of a name for which its server has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beyond {
    /// The name of the same server that was not asked for longest is forgotten.
    Forget,
    /// It is not taken.
    Refuse,
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The name is the server's.
    Own,
    /// It is another's, who claimed it first.
    OfAnother(usize),
    /// There is no room for it.
    NoRoom,
}

/// Names, and the servers that they are of.
pub(super) struct Owners {
    owners: HashMap<Arc<str>, usize>,
    rooms: HashMap<usize, Room>,
    most: NonZeroUsize,
    beyond: Beyond,
}

/// The names of one server.
struct Room {
    names: LruCache<Arc<str>, ()>,
    bytes: usize,
}

impl Owners {
    /// So many names of each server at most.
    pub(super) fn new(most: NonZeroUsize, beyond: Beyond) -> Self {
        Self {
            owners: HashMap::new(),
            rooms: HashMap::new(),
            most,
            beyond,
        }
    }

    /// A server says that a name is its own.
    pub(super) fn claim(&mut self, name: &str, server: usize) -> Claim {
        match self.owners.get(name) {
            Some(owner) if *owner != server => return Claim::OfAnother(*owner),
            Some(_) => {
                if let Some(room) = self.rooms.get_mut(&server) {
                    room.names.promote(name);
                }
                return Claim::Own;
            }
            None => {}
        }
        if name.len() > LONGEST {
            return Claim::NoRoom;
        }
        let room = self.rooms.entry(server).or_insert_with(|| Room {
            names: LruCache::unbounded(),
            bytes: 0,
        });
        while room.names.len() >= self.most.get() || room.bytes + name.len() > BYTES {
            let oldest = match self.beyond {
                Beyond::Forget => room.names.pop_lru(),
                Beyond::Refuse => None,
            };
            let Some((oldest, ())) = oldest else {
                return Claim::NoRoom;
            };
            room.bytes -= oldest.len();
            self.owners.remove(&oldest);
        }
        let name: Arc<str> = name.into();
        room.bytes += name.len();
        room.names.put(Arc::clone(&name), ());
        self.owners.insert(name, server);
        Claim::Own
    }

    /// The server of a name.
    pub(super) fn of(&mut self, name: &str) -> Option<usize> {
        let server = *self.owners.get(name)?;
        if let Some(room) = self.rooms.get_mut(&server) {
            room.names.promote(name);
        }
        Some(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(most: usize, beyond: Beyond) -> Owners {
        Owners::new(NonZeroUsize::new(most).unwrap(), beyond)
    }

    #[test]
    fn names_are_bounded_by_their_bytes() {
        let mut owners = owners(16_384, Beyond::Forget);
        let long = |number: usize| format!("{number:0>4096}");
        for number in 0..5000 {
            owners.claim(&long(number), 7);
            // Said again it takes no more.
            owners.claim(&long(number), 7);
        }
        assert_eq!(owners.rooms[&7].bytes, BYTES);
        assert_eq!(owners.owners.len(), 1024);
        assert_eq!(owners.of(&long(4999)), Some(7));
        assert_eq!(owners.of(&long(3975)), None);
        assert_eq!(owners.claim(&format!("{}x", long(1)), 7), Claim::NoRoom);
        // Of another server there is room.
        assert_eq!(owners.claim("x", 8), Claim::Own);
        assert_eq!(owners.of(&long(4999)), Some(7));
    }

    #[test]
    fn a_name_is_of_the_first_that_claims_it() {
        let mut owners = owners(2, Beyond::Forget);
        assert_eq!(owners.claim("a", 1), Claim::Own);
        assert_eq!(owners.claim("a", 2), Claim::OfAnother(1));
        owners.claim("b", 1);
        owners.of("a");
        owners.claim("c", 1);
        let known = ["a", "b", "c"].map(|name| owners.of(name));
        assert_eq!(known, [Some(1), None, Some(1)]);
    }

    #[test]
    fn a_name_that_must_not_move_is_never_forgotten() {
        let mut owners = owners(2, Beyond::Refuse);
        for (name, claim) in [
            ("a", Claim::Own),
            ("b", Claim::Own),
            ("c", Claim::NoRoom),
            ("a", Claim::Own),
        ] {
            assert_eq!(owners.claim(name, 1), claim, "{name}");
        }
        assert_eq!(owners.of("a"), Some(1));
        assert_eq!(owners.of("c"), None);
    }
}
