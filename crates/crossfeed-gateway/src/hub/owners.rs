//! Which server things are of, by their names.
//!
//! What comes in: names that servers chose. What goes out: the server of a name. Names that were not asked
//! for longest are forgotten where there are too many, or too many bytes of them.

use super::side::LONGEST;
use lru::LruCache;
use std::num::NonZeroUsize;

/// Bytes of all names.
const BYTES: usize = 4 << 20;

/// Names, and the servers that they are of.
pub(super) struct Owners {
    names: LruCache<String, usize>,
    bytes: usize,
}

impl Owners {
    /// So many names at most.
    pub(super) fn new(most: NonZeroUsize) -> Self {
        Self {
            names: LruCache::new(most),
            bytes: 0,
        }
    }

    /// A name is a server's; a longer one is remembered by nobody.
    pub(super) fn put(&mut self, name: &str, server: usize) {
        if name.len() > LONGEST {
            return;
        }
        match self.names.push(name.to_owned(), server) {
            // The same name, or the one that made room.
            Some((gone, _)) => self.bytes = self.bytes + name.len() - gone.len(),
            None => self.bytes += name.len(),
        }
        while self.bytes > BYTES
            && let Some((gone, _)) = self.names.pop_lru()
        {
            self.bytes -= gone.len();
        }
    }

    /// The same unless it is another's.
    pub(super) fn put_first(&mut self, name: &str, server: usize) {
        if self.names.get(name).is_none() {
            self.put(name, server);
        }
    }

    /// The server of a name.
    pub(super) fn of(&mut self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// All of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        let names = self.names.iter();
        names.map(|(name, server)| (name.as_str(), *server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_by_their_bytes() {
        let mut owners = Owners::new(NonZeroUsize::new(16_384).unwrap());
        let long = |number: usize| format!("{number:0>4096}");
        for number in 0..5000 {
            owners.put(&long(number), number);
            // Said again it takes no more.
            owners.put(&long(number), number);
        }
        assert_eq!(owners.bytes, BYTES);
        assert_eq!(owners.iter().count(), 1024);
        assert_eq!(owners.of(&long(4999)), Some(4999));
        assert_eq!(owners.of(&long(3975)), None);
        owners.put(&format!("{}x", long(1)), 1);
        assert_eq!(owners.iter().count(), 1024);
    }

    #[test]
    fn names_are_bounded_by_their_number() {
        let mut owners = Owners::new(NonZeroUsize::new(2).unwrap());
        for (name, server) in [("a", 1), ("bb", 2), ("a", 3), ("ccc", 4)] {
            owners.put(name, server);
        }
        assert_eq!(
            [owners.of("a"), owners.of("bb"), owners.of("ccc")],
            [Some(3), None, Some(4)]
        );
        assert_eq!(owners.bytes, 4);
        owners.put_first("a", 9);
        assert_eq!(owners.of("a"), Some(3));
    }
}
