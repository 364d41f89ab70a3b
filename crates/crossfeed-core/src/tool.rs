//! A tool ready to be called: restores the arguments that the tool's own schema expects, and validates them.
//!
//! A tool with an invalid schema can be called as well, but not with references, since nothing could validate
//! the values that they bring in.

use crate::{
    engine::Engine,
    error::LimitError,
    failure::{Failure, ResolveError},
    lineage::LineageEntry,
    resolve::{Notation, Plan},
    validate::InputSchema,
};
use crossfeed_schema::SchemaError;
use crossfeed_tools::{ListedTool, ReadError};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// A tool of a rewritten list, ready to be called. Cloning shares it.
///
/// Its own schema is compiled when it is first needed: of a long list few tools are ever called.
#[derive(Clone, Debug)]
pub struct PreparedTool {
    state: Arc<ToolState>,
    is_judged: bool,
}

#[derive(Debug)]
struct ToolState {
    listed: ListedTool,
    schema: OnceLock<Result<InputSchema, SchemaError>>,
    engine: Engine,
}

impl Engine {
    /// A tool of a rewritten list, ready for [`Session::resolve_call`](crate::Session::resolve_call), whose first
    /// call compiles its own schema.
    pub fn prepare(&self, tool: ListedTool) -> PreparedTool {
        let invalid = tool.error().cloned().map(Err);
        let state = ToolState {
            schema: invalid.map_or_else(OnceLock::new, OnceLock::from),
            listed: tool,
            engine: self.clone(),
        };
        PreparedTool {
            state: Arc::new(state),
            is_judged: true,
        }
    }
}

impl PreparedTool {
    /// The same tool without validation: resolving its calls fails only for a reference, or for arguments that
    /// cannot be read back.
    pub fn without_validation(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            is_judged: false,
        }
    }

    /// Whether resolving a call compiles nothing: the tool's own schema was compiled, is known to be invalid, or
    /// does not judge.
    pub(crate) fn is_compiled(&self) -> bool {
        !self.is_judged || self.state.schema.get().is_some()
    }

    /// The tool as it is listed: its names, its schemas, and how it was rewritten.
    pub fn listed(&self) -> &ListedTool {
        &self.state.listed
    }

    /// The tool's own schema, compiled now if it was not before.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] says why the schema is invalid.
    pub fn input_schema(&self) -> Result<&InputSchema, &SchemaError> {
        let schema = self.listed().input_schema();
        let compile = || self.state.engine.input_schema(schema);
        self.state.schema.get_or_init(compile).as_ref()
    }

    /// The arguments for the tool's own schema, with references, and that schema; without it if it is invalid and
    /// the arguments hold no reference.
    pub(crate) fn read(
        &self,
        arguments: Value,
    ) -> Result<(Value, Option<&InputSchema>), ResolveError> {
        let arguments = self.listed().read(arguments).map_err(not_readable)?;
        match self.schema_for(|| Ok(!Plan::new(&arguments, None, Notation::Exact)?.is_empty())) {
            Ok(schema) => Ok((arguments, schema)),
            Err(error) => {
                // They may nest to any depth.
                crossfeed_json::dismantle(arguments);
                Err(error)
            }
        }
    }

    /// Refuses values that references brought in if the tool's own schema, which is invalid, could not judge them.
    pub(crate) fn admit(&self, lineage: &[LineageEntry]) -> Result<(), ResolveError> {
        if lineage.is_empty() || !self.is_judged {
            return Ok(());
        }
        self.input_schema().map_err(SchemaError::clone)?;
        Ok(())
    }

    /// The tool's own schema; `None` if it is invalid and its arguments hold no reference.
    pub(crate) fn schema_for(
        &self,
        refers: impl FnOnce() -> Result<bool, LimitError>,
    ) -> Result<Option<&InputSchema>, ResolveError> {
        if !self.is_judged {
            return Ok(None);
        }
        match self.input_schema() {
            Ok(schema) => Ok(Some(schema)),
            Err(error) if refers()? => Err(error.clone().into()),
            Err(_) => Ok(None),
        }
    }
}

/// Why arguments cannot be read back from the schema that the model was shown.
pub(crate) fn not_readable(errors: impl IntoIterator<Item = ReadError>) -> ResolveError {
    let failure = |error: ReadError| Failure::new(error.at(), error);
    ResolveError::new(errors.into_iter().map(failure).collect())
}
