//! JMESPath over borrowed JSON.
//!
//! An expression is evaluated on a [`View`] of a value and gives a [`View`] that borrows from both. The
//! grammar is that of the `jmespath` crate, whose parser is used behind a guard; the evaluation is our
//! own. Three functions for texts are ours, too: `lines`, `match` and `split`.
//!
//! # Invariants
//!
//! - No expression overflows the stack: text is refused before it is parsed when it nests deeper
//!   than [`guard::MAX_NESTING`].
//! - Every evaluation is bounded by a [`Budget`]; exceeding it is an error, never a partial answer. Built
//!   values are charged to a [`Memory`] first, if the [`Arena`] has one.
//! - Objects keep the order of their source, numbers keep their digits, and numbers are compared by
//!   value.

mod arena;
mod budget;
mod compile;
mod error;
mod eval;
mod expression;
mod function;
pub mod guard;
mod mask;
mod memory;
mod places;
pub mod repair;
mod token;
mod view;

pub use arena::Arena;
pub use budget::{Budget, Cost, Limits};
pub use compile::{Comparison, Elements, Hash, Node, Path, Projection, SpineStep, Step};
pub use crossfeed_json::Tables;
pub use error::{Dialect, Foreign, ParseError};
pub use eval::{
    Doubt, Emptiness, EvalError, Misread, TypeMismatch, WhyEmpty, doubts, emptiness, equal,
    evaluate, why_empty,
};
pub use expression::Expression;
pub use function::Function;
pub use mask::masked;
pub use memory::{Charge, Memory, Reservation};
pub use places::{Place, PlaceKind, places};
pub use view::{Kind, OutputTooLarge, Unrepresentable, ValueSize, View};
