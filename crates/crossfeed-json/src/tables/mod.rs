//! Side tables: what repeated selections would otherwise find out again. They are built when they
//! pay, beside the index, and shared by all readers.
//!
//! What comes in: a cursor, and how readily tables are built. What goes out: the same places that
//! a walk finds. Deliberately not here: what an evaluation costs, which is the same with and
//! without tables.
//!
//! - [`keys`]: hash to member, for an object of very many members.
//! - [`places`]: every sixteenth item of a long list.
//! - [`rows`]: the items of a list, and for a path of fields the place it leads to
//!   in each of them, with its numbers read once.
//!
//! # Invariants
//!
//! - A table only says sooner what the document says anyway; no answer depends on whether there is
//!   one.
//! - Rows and columns together take at most a quarter of the raw bytes. An index of keys takes
//!   about six bytes a member, of which the document has at least seven; places take a quarter of
//!   a byte an item.

mod keys;
mod places;
mod rows;

pub use rows::{Cell, Rows, Wanted};

use crate::cursor::Cursor;
use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

/// When side tables are built. What an evaluation gives, and what it costs, is the same with each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tables {
    /// Where they pay.
    #[default]
    WherePaying,
    /// Wherever they could be used, however small the value.
    Always,
    /// Never; those that are there are not used either.
    Never,
}

/// The side tables of one document, by the slot of the value they belong to.
#[derive(Debug, Default)]
pub(crate) struct Built {
    /// `None` after the first look-up.
    keys: RwLock<HashMap<u32, Option<Arc<keys::Members>>>>,
    places: RwLock<HashMap<u32, Arc<[u32]>>>,
    rows: RwLock<HashMap<u32, Arc<rows::Table>>>,
    bytes: AtomicUsize,
    /// Those of rows and columns, which are bounded.
    row_bytes: AtomicUsize,
}

/// Rows and columns take at most one part in so many of the raw bytes: enough for one column of
/// numbers and two others over records of a hundred bytes.
const ROWS_PART: usize = 4;

/// What an entry counts for beside its content.
const ENTRY: usize = 128;

impl Built {
    pub(crate) fn resident_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed) + self.row_bytes.load(Ordering::Relaxed)
    }

    /// Takes bytes for rows or columns of a list; false where that would be too many. Lists within
    /// others leave some for the list that is most of the document.
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

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// What the lock guards is whole between any two statements, so that a panic elsewhere does it no
/// harm.
fn read<T>(lock: &RwLock<T>) -> impl std::ops::Deref<Target = T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> impl std::ops::DerefMut<Target = T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
