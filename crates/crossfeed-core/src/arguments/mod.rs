//! Arguments in both their forms: a `Value`, or a tree of views of stored bytes.
//!
//! Walks over arguments, changes and writes them. Counts the memory of a value before it builds it.

mod node;
mod splice;
mod tree;
mod value;

pub(crate) use node::{Child, Node};
pub use splice::SplicedJson;
pub(crate) use splice::spliced;
pub(crate) use tree::{Documents, Inside, Tree, index_of, unheld, unheld_number};
pub(crate) use value::{
    Argument, ArgumentValue, RemovedMembers, Room, VALUE_BYTES, count_of, small,
};
