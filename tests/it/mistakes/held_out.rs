//! Classes of mistakes on which nothing is tuned, and whose cases are never printed.

use super::{references, selectors};

pub(crate) const SELECTORS: &[(&str, selectors::Break)] = &[];
pub(crate) const REFERENCES: &[(&str, references::Break)] = &[];
