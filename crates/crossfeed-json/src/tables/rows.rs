//! The items of a list as rows, and paths of fields as columns over them.

use super::{ENTRY, Pace, SideTables, Tables};
use crate::{
    cursor::{Cursor, Kind, Prediction},
    number,
};
use parking_lot::RwLock;
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

/// Rows below which a walk is as quick.
const LEAST_ROWS: usize = 16;

/// Columns of one list.
const MOST_COLUMNS: usize = 64;

/// The looks at keys that a name of a path may cost per row. Beyond that, and an initial allowance, its
/// column is given up, because a walk is certainly no slower.
const MOST_WORK: usize = 32;
const GRANTED_WORK: isize = 4096;

/// Where a path leads nowhere.
const ABSENT: u32 = u32::MAX;

/// A path that comes to a string, which may hold JSON, or to a wide object, in which look-ups cost more:
/// columns do not cover these.
const ODD: u32 = u32::MAX - 1;

/// The rows of one list, and the columns that were requested.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// The slots of the items.
    items: OnceLock<Box<[u32]>>,
    /// Building took too long: missing columns stay missing.
    stopped: AtomicBool,
    columns: RwLock<Vec<Arc<Column>>>,
}

/// The target of a path of fields in each row.
#[derive(Debug, Default)]
struct Column {
    path: Box<[Box<str>]>,
    /// Finding the cells is too much work.
    too_costly: AtomicBool,
    cells: OnceLock<Box<[u32]>>,
    numbers: OnceLock<Box<[f64]>>,
}

/// A path of fields that is followed from every item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use]
pub struct ColumnRequest {
    /// The names of the fields; at least one.
    pub path: Box<[Box<str>]>,
    /// Whether it is certainly followed from every item. If not, it becomes a column at the second request.
    pub at_once: bool,
    /// Whether the numbers that it leads to are compared.
    pub numbers: bool,
}

impl ColumnRequest {
    /// A path of fields, wanted at once or not.
    pub fn new(path: impl IntoIterator<Item = Box<str>>, at_once: bool) -> Self {
        Self {
            path: path.into_iter().collect(),
            at_once,
            numbers: false,
        }
    }

    /// The same with its numbers.
    pub fn with_numbers(mut self) -> Self {
        self.numbers = true;
        self
    }
}

/// The items of a list by number, and columns over them.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    list: Cursor<'a>,
    table: Arc<Table>,
    columns: Vec<Option<Arc<Column>>>,
}

impl<'a> Cursor<'a> {
    /// The items of a list by number, with the requested columns. `None` if the list is short, or no column
    /// is wanted at once or for the second time.
    ///
    /// A column may be missing if tables of the document take enough memory already, or if following its path
    /// takes more than a few looks at members per row. Missing columns are built, with calls of `go_on` now
    /// and then: if that returns false, nothing more is built for this list.
    pub fn rows(
        self,
        wanted: &[ColumnRequest],
        tables: Tables,
        go_on: impl FnMut() -> bool,
    ) -> Option<Rows<'a>> {
        let least = match tables {
            Tables::WherePaying => LEAST_ROWS,
            Tables::Always => 1,
            Tables::Never => return None,
        };
        let len = self.len().unwrap_or_default();
        if self.kind() != Kind::Array || len < least {
            return None;
        }
        let table = self.row_table(tables)?;
        let columns: Vec<_> = wanted
            .iter()
            .map(|wanted| table.column(wanted, self, tables))
            .collect();
        if columns.iter().all(Option::is_none) {
            return None;
        }
        build(self, &table, wanted, &columns, tables, go_on);
        let is_built = |column: &Arc<Column>| column.cells.get().is_some();
        let pays = table.items.get().is_some() && columns.iter().flatten().any(is_built);
        pays.then_some(Rows {
            list: self,
            table,
            columns,
        })
    }

    fn row_table(self, tables: Tables) -> Option<Arc<Table>> {
        let built = &self.tape.built;
        if let Some(table) = built.rows.read().get(&self.ordinal()) {
            return Some(Arc::clone(table));
        }
        if !built.reserve_rows(self, tables, ENTRY) {
            return None;
        }
        let mut rows = built.rows.write();
        if rows.contains_key(&self.ordinal()) {
            built.release_rows(ENTRY);
        }
        Some(Arc::clone(rows.entry(self.ordinal()).or_default()))
    }
}

impl Table {
    /// The column of a path, built or to be built; `None` if it is postponed, given up, or one too many.
    fn column(
        &self,
        wanted: &ColumnRequest,
        list: Cursor<'_>,
        tables: Tables,
    ) -> Option<Arc<Column>> {
        let is_it = |column: &&Arc<Column>| column.path == wanted.path;
        if let Some(known) = self.columns.read().iter().find(is_it) {
            return self.may_be(known);
        }
        let names = wanted.path.iter().map(|name| name.len());
        let path = names.sum::<usize>() + size_of_val(&*wanted.path);
        let mut columns = self.columns.write();
        if let Some(known) = columns.iter().find(is_it) {
            return self.may_be(known);
        }
        let full = columns.len() >= MOST_COLUMNS;
        if full || !list.tape.built.reserve_rows(list, tables, ENTRY + path) {
            return None;
        }
        let column = Arc::new(Column {
            path: wanted.path.clone(),
            ..Column::default()
        });
        columns.push(Arc::clone(&column));
        if wanted.at_once || tables == Tables::Always {
            return self.may_be(&column);
        }
        None
    }

    /// A column that is built, or that may still be.
    fn may_be(&self, column: &Arc<Column>) -> Option<Arc<Column>> {
        let given_up =
            || column.too_costly.load(Ordering::Relaxed) || self.stopped.load(Ordering::Relaxed);
        (column.cells.get().is_some() || !given_up()).then(|| Arc::clone(column))
    }
}

/// A column in the making.
struct ColumnBuilder<'c> {
    column: &'c Column,
    /// `None` if they exist already.
    cells: Option<Vec<u32>>,
    numbers: Option<Vec<f64>>,
    predictions: Vec<Prediction>,
    bytes: usize,
    /// The looks at keys that may still be taken; below 0 it is given up.
    work_left: isize,
    /// The looks that each row adds.
    work_each: isize,
}

/// Builds the missing columns of a table in one walk over the list, unless it is stopped. Columns that need
/// too much memory or work stay missing.
fn build(
    list: Cursor<'_>,
    table: &Table,
    wanted: &[ColumnRequest],
    columns: &[Option<Arc<Column>>],
    tables: Tables,
    go_on: impl FnMut() -> bool,
) {
    let built = &list.tape.built;
    let len = list.len().unwrap_or_default();
    let known = table.items.get();
    let items_bytes = match known {
        Some(_) => 0,
        None => len * size_of::<u32>(),
    };
    if !built.reserve_rows(list, tables, items_bytes) {
        return;
    }
    let mut making = Vec::new();
    for (column, wanted) in columns.iter().zip(wanted) {
        let Some(column) = column else { continue };
        let cells = column.cells.get().is_none();
        let stopped = table.stopped.load(Ordering::Relaxed);
        let mut numbers = wanted.numbers && column.numbers.get().is_none() && !stopped;
        let bytes = |numbers: bool| {
            len * (usize::from(cells) * size_of::<u32>() + usize::from(numbers) * size_of::<f64>())
        };
        let reserve = |numbers| built.reserve_rows(list, tables, bytes(numbers));
        // A column is useful even without its numbers.
        if !reserve(numbers) {
            if !numbers || !reserve(false) {
                continue;
            }
            numbers = false;
        }
        if bytes(numbers) > 0 {
            making.push(ColumnBuilder {
                column,
                cells: cells.then(|| Vec::with_capacity(len)),
                numbers: numbers.then(|| Vec::with_capacity(len)),
                predictions: vec![Prediction::default(); column.path.len()],
                bytes: bytes(numbers),
                work_left: GRANTED_WORK,
                work_each: (column.path.len() * MOST_WORK).cast_signed(),
            });
        }
    }
    if making.is_empty() {
        built.release_rows(items_bytes);
        return;
    }
    let mut pace = Pace::new(go_on);
    // False if it is stopped, or no column is left.
    let mut add = |row: usize, slot: u32| {
        let mut is_worth_it = false;
        for column in &mut making {
            let work = column.add(list, row, slot);
            is_worth_it |= work > 0;
            if !pace.go_on(work) {
                return false;
            }
        }
        is_worth_it
    };
    let mut slots = Vec::new();
    let done = match known {
        Some(items) => items.iter().enumerate().all(|(row, &slot)| add(row, slot)),
        None => {
            slots.reserve_exact(len);
            list.items().enumerate().all(|(row, item)| {
                slots.push(item.ordinal());
                add(row, item.ordinal())
            })
        }
    };
    if !done && making.iter().any(|column| column.work_left >= 0) {
        table.stopped.store(true, Ordering::Relaxed);
    }
    let is_made = |column: &ColumnBuilder<'_>| done && column.work_left >= 0;
    if known.is_none() {
        if making.iter().any(is_made) {
            keep(&table.items, slots.into(), built, items_bytes);
        } else {
            built.release_rows(items_bytes);
        }
    }
    for made in making {
        if is_made(&made) {
            made.keep(built, len);
        } else {
            made.column.too_costly.store(true, Ordering::Relaxed);
            built.release_rows(made.bytes);
        }
    }
}

/// Keeps the built columns, unless another thread was quicker.
fn keep<T>(place: &OnceLock<T>, value: T, built: &SideTables, bytes: usize) {
    if place.set(value).is_err() {
        built.release_rows(bytes);
    }
}

impl ColumnBuilder<'_> {
    /// Adds the cell of a row; returns the work it took, `None` once the column is given up.
    #[inline]
    fn add(&mut self, list: Cursor<'_>, row: usize, slot: u32) -> usize {
        if self.work_left < 0 {
            return 0;
        }
        let known = match self.cells {
            // Another thread may have built them in the meantime: columns are only added complete.
            Some(_) => None,
            None => self.column.cells.get(),
        };
        let mut work = 1;
        let cell = match known {
            Some(cells) => cells[row],
            None => self.find(list.with(slot), &mut work),
        };
        self.work_left += self.work_each - work.cast_signed();
        if let Some(cells) = &mut self.cells {
            cells.push(cell);
        }
        if let Some(numbers) = &mut self.numbers {
            let number = match cell {
                ABSENT | ODD => None,
                slot => Some(list.with(slot)).filter(|place| place.kind() == Kind::Number),
            };
            let number = number.and_then(|number| number::short(number.raw()));
            numbers.push(number.unwrap_or(f64::NAN));
        }
        work
    }

    /// The target of the path from an item.
    #[inline]
    fn find(&mut self, item: Cursor<'_>, work: &mut usize) -> u32 {
        let mut here = item;
        for (name, prediction) in self.column.path.iter().zip(&mut self.predictions) {
            if here.is_wide() {
                return ODD;
            }
            // Most targets are at the same place as in the row before.
            if let Some(next) = here.get_at(name, *prediction) {
                *work += 1;
                here = next;
                continue;
            }
            match here.get_counted(name, prediction, work) {
                Some(next) => here = next,
                None if here.kind() == Kind::String => return ODD,
                None => return ABSENT,
            }
        }
        here.ordinal()
    }

    fn keep(self, built: &SideTables, len: usize) {
        if let Some(cells) = self.cells {
            let bytes = len * size_of::<u32>();
            keep(&self.column.cells, cells.into(), built, bytes);
        }
        if let Some(numbers) = self.numbers {
            let bytes = len * size_of::<f64>();
            keep(&self.column.numbers, numbers.into(), built, bytes);
        }
    }
}

impl<'a> Rows<'a> {
    /// How many rows there are; at least one.
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.items().len()
    }

    fn items(&self) -> &[u32] {
        self.table.items.get().map_or(&[], |items| items)
    }

    /// The item that is a row.
    #[inline]
    pub fn item(&self, row: usize) -> Cursor<'a> {
        self.list.with(self.items()[row])
    }

    /// The target of a requested path in a row; `Some(None)` if it leads nowhere. `None` if it has no column,
    /// or goes through a string, which may hold JSON, or through a wide object, see [`Cursor::is_wide`].
    #[inline]
    pub fn cell(&self, wanted: usize, row: usize) -> Option<Option<Cursor<'a>>> {
        let cells = self.columns.get(wanted)?.as_ref()?.cells.get()?;
        match cells[row] {
            ODD => None,
            ABSENT => Some(None),
            slot => Some(Some(self.list.with(slot))),
        }
    }

    /// The number at the target of a path in each row, if it is distinct as a float, see
    /// [`crate::short_number`]; NaN for any other value. `None` if they have not been read.
    #[inline]
    pub fn numbers(&self, wanted: usize) -> Option<&[f64]> {
        let column = self.columns.get(wanted)?.as_ref()?;
        column.numbers.get().map(|numbers| &**numbers)
    }
}
