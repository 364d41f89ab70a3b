//! Further classes of mistakes: of other languages, and of other corners of the same.

mod dialects;
mod references;
mod selectors;

pub(crate) use references::CLASSES as REFERENCES;
pub(crate) use selectors::CLASSES as SELECTORS;
