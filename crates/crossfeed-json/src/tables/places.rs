//! Every sixteenth item of a long list, so that a middle one is a few steps away.

use super::{Pace, Tables};
use crate::cursor::{Cursor, Items, Kind};

/// Items between two places.
const STRIDE: usize = 16;

/// Items of a list from which on a walk takes longer than a look into a table.
const LONG: usize = 256;

impl<'a> Cursor<'a> {
    /// The items of a list from `first` on, found by a table if the list is long. The first call builds it,
    /// and calls `go_on` now and then: if that returns false, there is no table from then on.
    ///
    /// ```
    /// use crossfeed_json::{Document, Tables};
    ///
    /// let document = Document::new("[1, 2, 3]");
    /// let rest = document.root()?.items_from(1, Tables::WherePaying, || true);
    /// assert_eq!(rest.map(|item| item.raw()).collect::<Vec<_>>(), [b"2", b"3"]);
    /// # Ok::<(), crossfeed_json::JsonError>(())
    /// ```
    pub fn items_from(
        self,
        first: usize,
        tables: Tables,
        go_on: impl FnMut() -> bool,
    ) -> Items<'a> {
        let len = self.len().unwrap_or_default();
        let least = match tables {
            Tables::WherePaying => LONG,
            Tables::Always => 0,
            Tables::Never => usize::MAX,
        };
        if self.kind() == Kind::Array && least <= first && first < len {
            let begin = first - first % STRIDE;
            let built = &self.tape.built;
            let (places, _) = built.place(&built.places, self.ordinal());
            let places = places.get_or_make(|| self.find_places(len, go_on));
            if let Some(&slot) = places.and_then(|places| places.get(first / STRIDE)) {
                let left = u32::try_from(len - begin).unwrap_or(u32::MAX);
                return skip(self.siblings(slot, left), first - begin);
            }
        }
        skip(self.items(), first)
    }

    /// The slots of every sixteenth item; `None` if building is stopped.
    fn find_places(self, len: usize, go_on: impl FnMut() -> bool) -> Option<Box<[u32]>> {
        let mut pace = Pace::new(go_on);
        let mut places = Vec::with_capacity(len.div_ceil(STRIDE));
        for (at, item) in self.items().enumerate() {
            if at % STRIDE == 0 {
                places.push(item.ordinal());
            }
            if !pace.go_on(1) {
                return None;
            }
        }
        self.tape.built.add(size_of_val(&*places));
        Some(places.into())
    }
}

fn skip(mut items: Items<'_>, count: usize) -> Items<'_> {
    if count > 0 {
        items.nth(count - 1);
    }
    items
}
