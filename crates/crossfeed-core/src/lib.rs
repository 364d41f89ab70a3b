//! The crossfeed engine: record, show, select, resolve, validate.
//!
//! [`Session`] composes the stages and is where to begin:
//!
//! | stage | in -> out |
//! |---|---|
//! | [`ToolResult`] | a tool's result -> a stored result, bytes untouched |
//! | flight | calls in flight -> their results, once they return |
//! | resolve | arguments and looked-up results -> arguments without references |
//! | select | a result's views and an expression -> a value, or the nearest selectors |
//! | validate | resolved arguments and the tool's schema -> the same, or why not |
//! | suggest | a result and a parameter -> selectors whose values fit it |
//! | hint | a result -> selectors that work on it |
//! | render | a result -> the output for the model, within a budget of tokens |
//! | reveal | a result -> the same without its never-revealed parts |
//! | project | a result and a request -> the requested part as bytes, and its schema |
//! | trace | the work of a stage -> spans, links and figures, without payload |
//! | artifact | a result and selectors -> full data and a summary that outlive it |

mod account;
mod arguments;
mod artifact;
mod canonical;
mod context;
mod engine;
mod error;
mod failure;
mod flight;
mod hint;
mod input;
mod latest;
mod lineage;
mod notices;
mod paths;
mod project;
mod record;
mod render;
mod resolve;
mod reveal;
mod select;
mod session;
mod shape;
mod similarity;
mod strip;
mod suggest;
mod telemetry;
mod tool;
mod trace;
mod validate;

pub use account::TokenUsage;
pub use arguments::SplicedJson;
pub use artifact::{Component, ComponentError, CreatedArtifact, NewArtifact};
pub use canonical::shown_digest;
pub use context::{ContextOptions, Outline, Oversized};
pub use crossfeed_jmespath::Memory;
pub use crossfeed_schema::SchemaError;
pub use crossfeed_wire::View;
pub use engine::{Engine, EngineOptions};
pub use error::{
    Alternatives, ArgumentError, ArtifactError, ComponentMismatch, InputError, LimitError,
    LookupError, MalformedReference, NotJson, ReferenceEditError, RenderError, RevealError,
    SelectError, ValidationCost,
};
pub use failure::{Error, Failure, ResolveError};
pub use flight::BeginError;
pub use hint::{HintDetail, StructureHints};
pub use input::Inputs;
pub use lineage::{LineageEntry, ReferenceEdit, ReferenceRepair, ReferenceSource};
pub use notices::Notices;
pub use project::{ProjectOptions, Projected, infer_schema};
pub use record::ToolResult;
pub use render::{RenderOptions, Rendered, ShownHints, may_hold_notices, without_notices};
pub use reveal::RevealPolicy;
pub use select::{AnsweringView, Notice, Oddity, SelectOptions, SelectReport};
pub use session::{
    InFlight, Resolved, ResolvedJson, Response, Retrieval, Retrieved, Selected, Session,
    arguments_cost,
};
pub use shape::Shape;
pub use strip::{StripPolicy, strip};
pub use suggest::{ParameterError, ParameterSchema, Suggestion};
pub use telemetry::{Attribute, AttributeValue, Instrument, StoreWatch, Telemetry};
pub use tool::PreparedTool;
pub use validate::{InputSchema, RepairScope, TypeRepair};
