//! Compiled schemas, and the cache of them.

use super::{
    cost::{Graph, Steps},
    footprint::Footprint,
    skeleton::SkeletonError,
    {Finding, describe},
};
use crate::{
    arguments::{Node, Room},
    error::{LimitError, ValidationCost},
};

use crossfeed_jmespath::{Cost, Reservation};
use crossfeed_json::{Cursor, MAX_DEPTH, dismantle, is_deeper};
use crossfeed_schema::SchemaError;
use crossfeed_wire::Pointer;
use jsonschema::{ValidationError, Validator};
use lru::LruCache;
use parking_lot::Mutex;
use serde_json::Value;
use std::{
    fmt,
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
};

/// A tool's own input schema, compiled. Cloning shares it.
///
/// The dialect is the one that [`crossfeed_schema::check`] finds. `format` is an annotation. References to other
/// documents are refused: nothing is fetched.
#[derive(Clone)]
pub struct InputSchema(Arc<CompiledSchema>);

struct CompiledSchema {
    schema: Value,
    validator: Validator,
    /// The cost of a validation, if it is not linear in the arguments.
    graph: Option<Graph>,
    /// Whether validating even small arguments may take long.
    is_slow: bool,
    /// The parts of arguments that it examines, computed on first use.
    footprint: OnceLock<Footprint>,
}

impl fmt::Debug for InputSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InputSchema").field(&self.0.schema).finish()
    }
}

impl InputSchema {
    /// Compiles a schema.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] when it is not a schema of its dialect, or has a dangling reference.
    ///
    /// ```
    /// use crossfeed_core::InputSchema;
    /// use serde_json::json;
    ///
    /// assert!(InputSchema::compile(json!({"type": "object"})).is_ok());
    /// assert!(InputSchema::compile(json!({"type": "objekt"})).is_err());
    /// ```
    pub fn compile(schema: Value) -> Result<Self, SchemaError> {
        let (validator, dialect, index) = match crossfeed_schema::compiled(&schema) {
            Ok(compiled) => compiled,
            Err(error) => {
                dismantle(schema); // it may nest to any depth
                return Err(error);
            }
        };
        let graph = Graph::new(&schema, dialect, &index);
        Ok(Self(Arc::new(CompiledSchema {
            is_slow: crossfeed_schema::has_patterns(&schema)
                || graph.as_ref().is_some_and(Graph::is_slow),
            schema,
            validator,
            graph,
            footprint: OnceLock::new(),
        })))
    }

    /// The schema itself.
    pub fn as_value(&self) -> &Value {
        &self.0.schema
    }

    /// Whether validating even small arguments may take long: a pattern may backtrack over a text again and
    /// again, and references may lead to very many schemas.
    pub(crate) fn is_slow(&self) -> bool {
        self.0.is_slow
    }

    /// The steps that all validations of these arguments may take together.
    pub(crate) fn steps(&self, arguments: &Value) -> Steps {
        let graph = self.0.graph.as_ref();
        graph.map_or_else(Steps::default, |_| Steps::new(arguments))
    }

    pub(crate) fn accepts(
        &self,
        arguments: &Value,
        steps: &mut Steps,
    ) -> Result<bool, ValidationCost> {
        steps.pay(self.0.graph.as_ref(), arguments, false)?;
        Ok(self.0.validator.is_valid(arguments))
    }

    /// Whether arguments certainly fit, judged by their skeleton; if not, they must be validated as a whole.
    /// The skeleton of values that references brought in is charged to `memory`.
    pub(crate) fn accepts_unread(
        &self,
        arguments: &Node<'_>,
        memory: Option<&Reservation>,
    ) -> Result<bool, Cost> {
        match self.footprint().skeleton(arguments, memory) {
            Ok(skeleton) => {
                let mut steps = self.steps(&skeleton);
                Ok(self.accepts(&skeleton, &mut steps).unwrap_or(false))
            }
            Err(SkeletonError::Unrepresentable(_)) => Ok(false),
            Err(SkeletonError::Cost(cost)) => Err(cost),
        }
    }

    /// Takes the room for the parts of written arguments that the schema examines.
    pub(crate) fn take(&self, arguments: Cursor<'_>, room: &mut Room) -> Result<(), LimitError> {
        self.footprint().take(arguments, room)
    }

    fn footprint(&self) -> &Footprint {
        let footprint = || Footprint::new(&self.0.schema);
        self.0.footprint.get_or_init(footprint)
    }

    /// The first mismatch; the others are not built.
    pub(crate) fn first_finding(
        &self,
        value: &Value,
        steps: &mut Steps,
    ) -> Result<Option<Finding>, ValidationCost> {
        steps.pay(self.0.graph.as_ref(), value, true)?;
        let error = self.0.validator.validate(value).err();
        Ok(error.map(|error| Finding::new(&error)))
    }

    /// All mismatches, in the validator's order.
    pub(crate) fn findings<'f>(
        &'f self,
        arguments: &'f Value,
        steps: &mut Steps,
    ) -> Result<impl Iterator<Item = Finding> + use<'f>, ValidationCost> {
        steps.pay(self.0.graph.as_ref(), arguments, true)?;
        let errors = self.0.validator.iter_errors(arguments);
        Ok(errors.map(|error| Finding::new(&error)))
    }
}

impl Finding {
    fn new(error: &ValidationError<'_>) -> Self {
        Self {
            at: Pointer::parse(error.instance_path().as_str()).unwrap_or_default(),
            expected: describe::expected(error),
            is_type: describe::is_type(error),
        }
    }
}

/// The most recently used schemas, by their text, so that a tool's schema is compiled once.
#[derive(Debug)]
pub(crate) struct Schemas(Mutex<LruCache<String, InputSchema>>);

impl Schemas {
    pub(crate) fn new(capacity: NonZeroUsize) -> Self {
        Self(Mutex::new(LruCache::new(capacity)))
    }

    pub(crate) fn get(&self, schema: &Value) -> Result<InputSchema, SchemaError> {
        if is_deeper(schema, MAX_DEPTH) {
            return Err(SchemaError::TooDeep);
        }
        let text = schema.to_string();
        if let Some(schema) = self.0.lock().get(&text) {
            return Ok(schema.clone());
        }
        let compiled = InputSchema::compile(schema.clone())?;
        self.0.lock().put(text, compiled.clone());
        Ok(compiled)
    }
}
