//! Side tables: results that repeated selections would otherwise compute again. They are built beside the
//! index when they pay, and shared by all readers.
//!
//! # Invariants
//!
//! - A table only speeds up an answer that the document gives anyway: no answer depends on whether there is
//!   one. While a table is being built, does not pay or was stopped, a walk answers.
//! - Building a table is counted work; every few thousand looks at keys the caller decides whether it may go
//!   on. A stopped table is not tried again, nor is a column whose look-ups find little.
//! - One thread makes an index of keys or places; several may make columns of one list, of which one
//!   is kept and counted.
//! - Rows and columns together take at most a quarter of the raw bytes. An index of keys takes
//!   about six bytes a member, of which the document has at least seven, and eight more while it
//!   is made; places take a quarter of a byte an item.

mod keys;
mod places;
mod rows;

pub use rows::{ColumnRequest, Rows};

use crate::cursor::Cursor;
use parking_lot::RwLock;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

/// When side tables are built. The outcome and the cost of an evaluation are the same with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tables {
    /// Where they pay.
    #[default]
    WherePaying,
    /// Wherever they could be used, however small the value.
    Always,
    /// Never; existing ones are not used either.
    Never,
}

type BySlot<T> = RwLock<HashMap<u32, Arc<T>>>;

/// The side tables of one document, by the slot of the value they belong to.
#[derive(Debug, Default)]
pub(crate) struct SideTables {
    keys: BySlot<LazyTable<keys::Members>>,
    places: BySlot<LazyTable<Box<[u32]>>>,
    rows: BySlot<rows::Table>,
    bytes: AtomicUsize,
    /// Those of rows and columns, which are bounded.
    row_bytes: AtomicUsize,
}

/// Rows and columns take at most the raw bytes divided by this: enough for one column of numbers and two
/// others over records of a hundred bytes.
const ROWS_PART: usize = 4;

/// The bytes that an entry counts for besides its content.
const ENTRY: usize = 128;

impl SideTables {
    pub(crate) fn resident_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.row_bytes.load(Ordering::Relaxed)
    }

    /// Takes bytes for rows or columns of a list; false if that would be too many. Nested lists leave some
    /// for the list that is most of the document.
    fn reserve_rows(&self, list: Cursor<'_>, tables: Tables, bytes: usize) -> bool {
        let raw = list.tape.raw.len();
        let most = match tables {
            Tables::Always => usize::MAX,
            _ if list.raw().len() >= raw / 2 => raw / ROWS_PART,
            _ => raw / ROWS_PART / 2,
        };
        let reserved = self
            .row_bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| {
                taken.checked_add(bytes).filter(|sum| *sum <= most)
            });
        reserved.is_ok()
    }

    fn release_rows(&self, bytes: usize) {
        self.row_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The entry for the table of a slot, and whether it was requested before.
    fn place<T>(&self, tables: &BySlot<LazyTable<T>>, slot: u32) -> (Arc<LazyTable<T>>, bool) {
        if let Some(table) = tables.read().get(&slot) {
            return (Arc::clone(table), true);
        }
        match tables.write().entry(slot) {
            Entry::Occupied(table) => (Arc::clone(table.get()), true),
            Entry::Vacant(place) => {
                self.add(ENTRY);
                let table = LazyTable {
                    claimed: AtomicBool::new(false),
                    made: OnceLock::new(),
                };
                (Arc::clone(place.insert(Arc::new(table))), false)
            }
        }
    }

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A table that is built once, by the caller that claims it; until then others find none.
#[derive(Debug)]
struct LazyTable<T> {
    claimed: AtomicBool,
    made: OnceLock<T>,
}

impl<T> LazyTable<T> {
    /// The table, built by the first call; `None` until then, or if that call gives none.
    fn get_or_make(&self, make: impl FnOnce() -> Option<T>) -> Option<&T> {
        let made = self.made.get();
        if made.is_some() || self.claimed.swap(true, Ordering::Relaxed) {
            return made;
        }
        let table = make()?;
        Some(self.made.get_or_init(|| table))
    }
}

/// The work between two checks whether building may go on, in looks at keys: some tens of microseconds.
const UNASKED: usize = 4096;

/// The work of building a table, which the caller may stop.
struct Pace<F> {
    unasked: usize,
    go_on: F,
}

impl<F: FnMut() -> bool> Pace<F> {
    fn new(go_on: F) -> Self {
        Self {
            unasked: UNASKED,
            go_on,
        }
    }

    /// Counts some work; false if building must stop.
    #[inline]
    fn go_on(&mut self, work: usize) -> bool {
        if let Some(unasked) = self.unasked.checked_sub(work) {
            self.unasked = unasked;
            return true;
        }
        self.unasked = UNASKED;
        (self.go_on)()
    }
}
