//! Why a stage fails: one enum for each stage, with the data of its messages.
//!
//! Every stage may import these; they import no stage. [`crate::failure`] sums them.

mod arguments;
mod artifact;
mod edit;
mod input;
mod limit;
mod lookup;
mod meant;
mod offer;
mod reference;
mod select;
mod shown_edit;

pub use arguments::{ArgumentError, NotJson};
pub use artifact::{ArtifactError, ComponentMismatch};
pub use edit::ReferenceEditError;
pub use input::InputError;
pub use limit::{LimitError, RenderError, RevealError, ValidationCost};
pub use lookup::LookupError;
pub(crate) use meant::{MAX_MEANT_BYTES, MeantPiece};
pub use offer::Alternatives;
pub(crate) use offer::{KnownId, comparison_budget};
pub use reference::MalformedReference;
pub(crate) use reference::{Draft, Misplaced, ReferenceStyle, misses};
pub use select::SelectError;
pub(crate) use select::{cut, quotable};
pub(crate) use shown_edit::ShownEdit;
