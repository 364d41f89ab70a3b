//! A tool as it is called: the way back from what the model was shown, and its own schema.
//!
//! What comes in: a tool of a rewritten list. What goes out: the same, ready to judge calls. A tool
//! whose own schema is none is kept, too: it can be called, but never with references, since nothing
//! could judge what they bring in.

use crate::{
    error::{Error, Failure, ResolveError},
    resolve::Plan,
    validate::InputSchema,
};
use crossfeed_schema::{ListedTool, ReadError, SchemaError};
use crossfeed_wire::Pointer;
use serde_json::Value;

/// A tool of a rewritten list, ready to be called.
#[derive(Clone, Debug)]
pub struct PreparedTool {
    listed: ListedTool,
    schema: Result<InputSchema, SchemaError>,
}

impl PreparedTool {
    pub(crate) fn new(listed: ListedTool, schema: Result<InputSchema, SchemaError>) -> Self {
        let schema = match listed.error() {
            Some(error) => Err(error.clone()),
            None => schema,
        };
        Self { listed, schema }
    }

    /// The tool as it is listed: its names, its schemas, what was done with it.
    #[must_use]
    pub fn listed(&self) -> &ListedTool {
        &self.listed
    }

    /// The tool's own schema.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] says why it is none.
    pub fn input_schema(&self) -> Result<&InputSchema, &SchemaError> {
        self.schema.as_ref()
    }

    /// The arguments as they are meant for the tool's own schema, references and all, and that
    /// schema; none for a tool whose schema is none and whose arguments hold no reference.
    pub(crate) fn read(
        &self,
        arguments: Value,
    ) -> Result<(Value, Option<&InputSchema>), ResolveError> {
        let arguments = self
            .listed
            .read(arguments)
            .map_err(|errors| ResolveError::new(errors.into_iter().map(failure).collect()))?;
        let error = match &self.schema {
            Ok(schema) => return Ok((arguments, Some(schema))),
            Err(error) => error,
        };
        let refused = |error: Error| {
            let failure = Failure::new(Pointer::root(), error);
            Err(ResolveError::new(vec![failure]))
        };
        match Plan::of(&arguments, None) {
            Ok(plan) if plan.references.is_empty() && plan.malformed.is_empty() => {
                Ok((arguments, None))
            }
            Ok(_) => refused(error.clone().into()),
            Err(limit) => {
                crossfeed_json::dismantle(arguments);
                refused(limit.into())
            }
        }
    }
}

fn failure(error: ReadError) -> Failure {
    Failure::new(error.at(), Error::Read(error))
}
