//! Arguments in both their forms: a `Value`, or a tree that is never more than views of stored bytes.
//!
//! How they are walked, changed and written. What bytes take when they are built is counted before.

mod node;
mod splice;
mod tree;
mod value;

pub(crate) use node::{Child, Node};
pub use splice::SplicedJson;
pub(crate) use splice::spliced;
pub(crate) use tree::{Documents, Inside, Tree, index_of, unheld, unheld_number};
pub(crate) use value::{Argument, ArgumentValue, RemovedMembers, Room, VALUE_BYTES, count_of};
