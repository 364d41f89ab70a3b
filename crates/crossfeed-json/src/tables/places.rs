//! Every sixteenth item of a long list, so that a middle one is a few steps away.

use super::{ENTRY, Tables, read, write};
use crate::cursor::{Cursor, Items, Kind};
use std::sync::Arc;

/// Items between two places.
const STRIDE: usize = 16;

/// Items of a list from which on a walk takes longer than a look into a table.
const LONG: usize = 256;

impl<'a> Cursor<'a> {
    /// The items of a list from `first` on, found by a table if the list is long. The first call
    /// builds it.
    ///
    /// ```
    /// use crossfeed_json::{Document, Tables};
    ///
    /// let document = Document::new("[1, 2, 3]");
    /// let rest = document.root()?.items_from(1, Tables::WherePaying);
    /// assert_eq!(rest.map(|item| item.raw()).collect::<Vec<_>>(), [b"2", b"3"]);
    /// # Ok::<(), crossfeed_json::JsonError>(())
    /// ```
    #[must_use]
    pub fn items_from(self, first: usize, tables: Tables) -> Items<'a> {
        let len = self.len().unwrap_or_default();
        let least = match tables {
            Tables::WherePaying => LONG,
            Tables::Always => 0,
            Tables::Never => usize::MAX,
        };
        if self.kind() == Kind::Array && least <= first && first < len {
            let begin = first - first % STRIDE;
            if let Some(&slot) = self.places().get(first / STRIDE) {
                let left = u32::try_from(len - begin).unwrap_or(u32::MAX);
                return skip(self.siblings(slot, left), first - begin);
            }
        }
        skip(self.items(), first)
    }

    fn places(self) -> Arc<[u32]> {
        let built = &self.tape.built;
        if let Some(places) = read(&built.places).get(&self.ordinal()) {
            return Arc::clone(places);
        }
        let places: Arc<[u32]> = self.items().step_by(STRIDE).map(Cursor::ordinal).collect();
        let mut all = write(&built.places);
        let kept = all.entry(self.ordinal()).or_insert_with(|| {
            built.add(size_of_val(&*places) + ENTRY);
            places
        });
        Arc::clone(kept)
    }
}

fn skip(mut items: Items<'_>, count: usize) -> Items<'_> {
    if count > 0 {
        items.nth(count - 1);
    }
    items
}
