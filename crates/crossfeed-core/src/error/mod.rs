//! Why a stage fails: one enum for each, with the data that it says.
//!
//! Every stage may import these and they import none. [`crate::failure`] sums them.

mod arguments;
mod artifact;
mod limit;
mod lookup;
mod offer;
mod reference;
mod select;

pub use arguments::{ArgumentError, NotJson};
pub use artifact::{ArtifactError, ComponentMismatch};
pub use limit::{LimitError, RenderError, RevealError, ValidationCost};
pub use lookup::LookupError;
pub use offer::Alternatives;
pub(crate) use offer::{KnownId, comparison_budget};
pub use reference::MalformedReference;
pub use select::SelectError;
pub(crate) use select::{cut, quotable};
