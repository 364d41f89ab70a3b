//! Classes of mistakes on which nothing is tuned, and whose cases are never printed.

mod references;
mod selectors;

pub(crate) use references::CLASSES as REFERENCES;
pub(crate) use selectors::CLASSES as SELECTORS;
