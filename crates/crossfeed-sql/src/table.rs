//! The tables of a database.

use crate::column::Column;
use std::sync::Arc;

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Table {
    /// Its name: that of the result, with the path of a list in it.
    pub name: String,
    /// The name that its result was imported under.
    pub result: Arc<str>,
    /// Its columns.
    pub columns: Vec<Column>,
    /// How many rows it has.
    pub rows: usize,
}
