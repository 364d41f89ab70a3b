//! Why a stage fails: one enum for each, with the data that it says.
//!
//! Every stage may import these and they import none. [`crate::failure`] sums them.

mod arguments;
mod artifact;
mod json;
mod limit;
mod lookup;
mod offer;
mod reference;
mod render;
mod reveal;
mod select;

pub use arguments::{ArgumentError, ValidationCost};
pub use artifact::{ArtifactError, ComponentMismatch};
pub use json::NotJson;
pub use limit::LimitError;
pub use lookup::LookupError;
pub use offer::Alternatives;
pub(crate) use offer::{KnownId, comparison_budget};
pub use reference::MalformedReference;
pub use render::RenderError;
pub use reveal::RevealError;
pub use select::SelectError;
pub(crate) use select::quotable;
