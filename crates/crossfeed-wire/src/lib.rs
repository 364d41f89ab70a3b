//! The JSON spellings of crossfeed, and nothing else.
//!
//! Reads JSON that a model, a host or a file wrote into typed ids, references, pointers and error bodies.
//!
//! The grammar of references is normative in `specs/references.md`; the codes in
//! `specs/errors.md`.

mod error;
pub mod fragment;
mod id;
pub mod internal;
mod pointer;
mod printable;
pub mod reference;
mod trace_context;
mod view;

pub use error::{ErrorBody, ErrorCode, ErrorReport, Fault};
pub use id::{ArtifactId, CallId, IdError, Scope, ScopeError};
pub use pointer::Pointer;
pub use printable::{printable, printable_lines};
pub use trace_context::{TraceContext, TraceContextError};
pub use view::{UnknownView, View};
