//! A tool as it is called: the way back from what the model was shown, and its own schema.
//!
//! A tool whose own schema is none is kept, too: it can be called, but never with references, since nothing
//! could judge what they bring in.

use crate::{
    engine::Engine,
    error::LimitError,
    failure::{Error, Failure, ResolveError},
    resolve::Plan,
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
pub struct PreparedTool(Arc<Prepared>);

#[derive(Debug)]
struct Prepared {
    listed: ListedTool,
    schema: OnceLock<Result<InputSchema, SchemaError>>,
    engine: Engine,
}

impl Engine {
    /// A tool of a rewritten list, ready for [`Session::resolve_call`](crate::Session::resolve_call). Its own schema is compiled by
    /// its first call.
    #[must_use]
    pub fn prepare(&self, tool: ListedTool) -> PreparedTool {
        let invalid = tool.error().cloned().map(Err);
        PreparedTool(Arc::new(Prepared {
            schema: invalid.map_or_else(OnceLock::new, OnceLock::from),
            listed: tool,
            engine: self.clone(),
        }))
    }
}

impl PreparedTool {
    /// Whether the tool's own schema was compiled, or is known to be none.
    pub(crate) fn is_compiled(&self) -> bool {
        self.0.schema.get().is_some()
    }

    /// The tool as it is listed: its names, its schemas, what was done with it.
    #[must_use]
    pub fn listed(&self) -> &ListedTool {
        &self.0.listed
    }

    /// The tool's own schema, compiled now if it was not before.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] says why it is none.
    pub fn input_schema(&self) -> Result<&InputSchema, &SchemaError> {
        let Prepared {
            listed,
            schema,
            engine,
        } = &*self.0;
        schema
            .get_or_init(|| engine.input_schema(listed.input_schema()))
            .as_ref()
    }

    /// The arguments as they are meant for the tool's own schema, references and all, and that
    /// schema; none for a tool whose schema is none and whose arguments hold no reference.
    pub(crate) fn read(
        &self,
        arguments: Value,
    ) -> Result<(Value, Option<&InputSchema>), ResolveError> {
        let arguments = self
            .listed()
            .read(arguments)
            .map_err(|errors| ResolveError::new(errors.into_iter().map(failure).collect()))?;
        let refers = || {
            let plan = Plan::of(&arguments, None)?;
            Ok(!plan.is_empty())
        };
        match self.schema_for(refers) {
            Ok(schema) => Ok((arguments, schema)),
            Err(error) => {
                // They may nest to any depth.
                crossfeed_json::dismantle(arguments);
                Err(error)
            }
        }
    }

    /// The tool's own schema; none for a tool whose schema is none, if its arguments refer to nothing.
    pub(crate) fn schema_for(
        &self,
        refers: impl FnOnce() -> Result<bool, LimitError>,
    ) -> Result<Option<&InputSchema>, ResolveError> {
        let error = match self.input_schema() {
            Ok(schema) => return Ok(Some(schema)),
            Err(error) => error,
        };
        if refers()? {
            return Err(error.clone().into());
        }
        Ok(None)
    }
}

pub(crate) fn failure(error: ReadError) -> Failure {
    Failure::new(error.at(), Error::Read(error))
}
