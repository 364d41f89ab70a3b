//! A list of small values as rows, and paths of fields as columns over them.

use super::{Built, ENTRY, Tables, read, write};
use crate::{
    cursor::{Cursor, Kind, Prediction},
    number,
};
use std::sync::{Arc, OnceLock, RwLock};

/// Rows below which a walk is as quick.
const LEAST_ROWS: usize = 16;

/// Columns of one list.
const MOST_COLUMNS: usize = 64;

/// Rows between two ticks of whoever waits for a table.
const TICK: usize = 1024;

/// Where a path leads nowhere.
const ABSENT: u32 = u32::MAX;

/// Where a path comes to a string, which may hold JSON: that is not for tables to say.
const ODD: u32 = u32::MAX - 1;

/// The rows of one list.
#[derive(Debug)]
pub(super) struct Table {
    items: Box<[u32]>,
    columns: RwLock<Vec<Arc<Column>>>,
}

/// The items of a list, none of them large, by number.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    list: Cursor<'a>,
    table: Arc<Table>,
    tables: Tables,
}

/// For each row, where a path of fields leads in it.
#[derive(Debug)]
pub struct Column {
    path: Box<[Box<str>]>,
    cells: OnceLock<Box<[u32]>>,
    numbers: OnceLock<Box<[f64]>>,
}

/// What a path of fields comes to in one row.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_enums, reason = "there is nothing else to come to")]
pub enum Cell<'a> {
    /// A value.
    Place(Cursor<'a>),
    /// Nothing.
    Absent,
    /// A string in which fields were looked for: it may hold JSON.
    Odd,
}

/// Which columns are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "now or later")]
pub enum Columns {
    /// One that every row of is read now.
    Now,
    /// One that few rows of may be read: built if it is asked for again.
    Later,
}

impl<'a> Cursor<'a> {
    /// The items of a list by number; `None` where it is short, or an item is an object of more
    /// than `largest` bytes, or tables of the document take enough memory already.
    ///
    /// # Errors
    ///
    /// What `tick` gives, which is called now and then.
    pub fn rows<E>(
        self,
        largest: usize,
        tables: Tables,
        mut tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Option<Rows<'a>>, E> {
        let len = self.len().unwrap_or_default();
        let enough = len >= LEAST_ROWS || (tables == Tables::Always && len > 0);
        if tables == Tables::Never || self.kind() != Kind::Array || !enough {
            return Ok(None);
        }
        let built = &self.tape.built;
        let known = read(&built.rows).get(&self.ordinal()).cloned();
        let table = match known {
            Some(known) => known,
            None => {
                let bytes = len * size_of::<u32>() + ENTRY;
                if !built.reserve_rows(self.tape, tables, bytes) {
                    return Ok(None);
                }
                let made = small_items(self, largest, &mut tick);
                let mut rows = write(&built.rows);
                let free = !rows.contains_key(&self.ordinal());
                if !(free && matches!(made, Ok(Some(_)))) {
                    built.release_rows(bytes);
                }
                let made = made?.map(|items| {
                    Arc::new(Table {
                        items,
                        columns: RwLock::default(),
                    })
                });
                if free && made.is_none() {
                    built.add(ENTRY);
                }
                rows.entry(self.ordinal()).or_insert(made).clone()
            }
        };
        Ok(table.map(|table| Rows {
            list: self,
            table,
            tables,
        }))
    }
}

/// The slots of all items, if no object among them is larger than `largest` bytes.
fn small_items<E>(
    list: Cursor<'_>,
    largest: usize,
    tick: &mut impl FnMut() -> Result<(), E>,
) -> Result<Option<Box<[u32]>>, E> {
    let mut slots = Vec::with_capacity(list.len().unwrap_or_default());
    for (row, item) in list.items().enumerate() {
        if row % TICK == TICK - 1 {
            tick()?;
        }
        if item.kind() == Kind::Object && item.raw().len() > largest {
            return Ok(None);
        }
        slots.push(item.ordinal());
    }
    Ok(Some(slots.into()))
}

impl Column {
    /// The numbers of the column, if they have been read, see [`Rows::numbers`].
    #[inline]
    #[must_use]
    pub fn known_numbers(&self) -> Option<&[f64]> {
        self.numbers.get().map(|numbers| &**numbers)
    }

    /// Whether the column is known to have a number in each row.
    #[must_use]
    pub fn has_number_in_each_row(&self) -> bool {
        let known = self.known_numbers();
        known.is_some_and(|numbers| !numbers.iter().any(|number| number.is_nan()))
    }
}

impl<'a> Rows<'a> {
    /// How many rows there are; at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is")]
    pub fn len(&self) -> usize {
        self.table.items.len()
    }

    /// The item that is a row.
    #[inline]
    #[must_use]
    pub fn item(&self, row: usize) -> Cursor<'a> {
        self.list.with(self.table.items[row])
    }

    /// The column of a path of fields, if there is memory for it and it is not for later.
    ///
    /// # Errors
    ///
    /// What `tick` gives, which is called now and then.
    pub fn column<E>(
        &self,
        path: &[&str],
        when: Columns,
        tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Option<Arc<Column>>, E> {
        let is_it = |column: &&Arc<Column>| {
            let names = column.path.iter().map(|name| &**name);
            column.path.len() == path.len() && names.eq(path.iter().copied())
        };
        let known = read(&self.table.columns).iter().find(is_it).cloned();
        let later = when == Columns::Later && self.tables != Tables::Always;
        let column = match known {
            Some(column) if column.cells.get().is_some() => return Ok(Some(column)),
            Some(column) => column,
            None => {
                let mut columns = write(&self.table.columns);
                let raced = columns.iter().find(is_it).cloned();
                match raced {
                    Some(column) => column,
                    None if columns.len() >= MOST_COLUMNS => return Ok(None),
                    None => {
                        let column = Arc::new(Column {
                            path: path.iter().map(|&name| name.into()).collect(),
                            cells: OnceLock::new(),
                            numbers: OnceLock::new(),
                        });
                        columns.push(Arc::clone(&column));
                        self.built()
                            .add(ENTRY + path.iter().map(|n| n.len()).sum::<usize>());
                        if later {
                            return Ok(None);
                        }
                        column
                    }
                }
            }
        };
        let bytes = self.len() * size_of::<u32>();
        if !self
            .built()
            .reserve_rows(self.list.tape, self.tables, bytes)
        {
            return Ok(None);
        }
        let mut is_ours = false;
        let cells = self.cells(path, tick).map(|cells| {
            column.cells.get_or_init(|| {
                is_ours = true;
                cells
            });
        });
        if !is_ours {
            self.built().release_rows(bytes);
        }
        cells?;
        Ok(Some(column))
    }

    fn built(&self) -> &'a Built {
        &self.list.tape.built
    }

    fn cells<E>(
        &self,
        path: &[&str],
        mut tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Box<[u32]>, E> {
        let mut predictions = vec![Prediction::default(); path.len()];
        let mut cells = Vec::with_capacity(self.len());
        for (row, &slot) in self.table.items.iter().enumerate() {
            if row % TICK == TICK - 1 {
                tick()?;
            }
            let mut here = self.list.with(slot);
            let mut cell = None;
            for (name, prediction) in path.iter().zip(&mut predictions) {
                let next = here.get_predicted(name, prediction);
                match next {
                    Some(next) => here = next,
                    None => {
                        cell = Some(if here.kind() == Kind::String {
                            ODD
                        } else {
                            ABSENT
                        });
                        break;
                    }
                }
            }
            cells.push(cell.unwrap_or_else(|| here.ordinal()));
        }
        Ok(cells.into())
    }

    /// What a column's path comes to in a row.
    #[inline]
    #[must_use]
    pub fn cell(&self, column: &Column, row: usize) -> Cell<'a> {
        match column.cells.get().map(|cells| cells[row]) {
            None | Some(ODD) => Cell::Odd,
            Some(ABSENT) => Cell::Absent,
            Some(slot) => Cell::Place(self.list.with(slot)),
        }
    }

    /// For each row the number that a column's path leads to, if floats tell it apart, see
    /// [`crate::short_number`]; NaN where there is no number, or another. `None` where there is
    /// no memory for it.
    ///
    /// # Errors
    ///
    /// What `tick` gives, which is called now and then.
    pub fn numbers<'c, E>(
        &self,
        column: &'c Column,
        tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Option<&'c [f64]>, E> {
        if let Some(numbers) = column.numbers.get() {
            return Ok(Some(numbers));
        }
        let bytes = self.len() * size_of::<f64>();
        if !self
            .built()
            .reserve_rows(self.list.tape, self.tables, bytes)
        {
            return Ok(None);
        }
        let mut is_ours = false;
        let numbers = self.read_numbers(column, tick).map(|numbers| {
            column.numbers.get_or_init(|| {
                is_ours = true;
                numbers
            })
        });
        if !is_ours {
            self.built().release_rows(bytes);
        }
        numbers.map(|numbers| Some(&**numbers))
    }

    fn read_numbers<E>(
        &self,
        column: &Column,
        mut tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Box<[f64]>, E> {
        let mut numbers = Vec::with_capacity(self.len());
        for row in 0..self.len() {
            if row % TICK == TICK - 1 {
                tick()?;
            }
            numbers.push(match self.cell(column, row) {
                Cell::Place(place) if place.kind() == Kind::Number => {
                    number::short(place.raw()).unwrap_or(f64::NAN)
                }
                _ => f64::NAN,
            });
        }
        Ok(numbers.into())
    }
}
