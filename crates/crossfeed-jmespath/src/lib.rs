//! JMESPath over borrowed JSON.
//!
//! What comes in: expression text and a [`View`] of a value. What goes out: a [`View`] that borrows
//! from both. The grammar is that of the `jmespath` crate, whose parser is used behind a guard; the
//! evaluation is our own. Deliberately not here: where values come from, which reading of a
//! selector is tried when, and what a model is told.
//!
//! # Invariants
//!
//! - No expression overflows the stack: text is refused before it is parsed when it nests deeper
//!   than [`guard::MAX_NESTING`].
//! - Every evaluation is bounded by a [`Budget`]; what goes beyond it is an error, never a partial
//!   answer. What it builds is charged to a [`Memory`] before, where its [`Arena`] has one.
//! - Objects keep the order of their source, numbers keep their digits, and numbers are compared by
//!   value.

mod compile;
mod eval;
mod expression;
mod form;
pub mod guard;
mod mask;
mod memory;
pub mod repair;
mod token;
mod view;

pub use crossfeed_json::Tables;
pub use eval::{
    Arena, Budget, Cost, EvalError, Limits, TypeMismatch, WhyEmpty, evaluate, why_empty,
};
pub use expression::{Expression, ParseError, SpineStep};
pub use form::{Form, FormOver};
pub use mask::masked;
pub use memory::{Memory, Reservation, Taken};
pub use view::{Kind, OutputTooLarge, Unrepresentable, ValueSize, View};
