//! The options of a projection, and its outcome.

use crate::{
    notices::{Notices, Reader},
    select::SelectReport,
};
use crossfeed_projection::{Diagnostics, Operation, ProjectionRequest, ResourceType, Views};
use derive_setters::Setters;
use serde_json::Value;
use std::{fmt, sync::Arc};

/// How a result is projected. The default keeps all that may be revealed.
///
/// ```
/// use crossfeed_core::ProjectOptions;
/// use crossfeed_projection::ProjectionRequest;
/// use serde_json::json;
///
/// let options = ProjectOptions::default()
///     .with_request(ProjectionRequest::new().with_include(["items.id"]))
///     .with_output_schema(json!({"type": "object"}));
/// assert!(options.select.is_none());
/// ```
#[derive(Clone, Debug, Default, Setters)]
#[setters(prefix = "with_", into, strip_option)]
#[non_exhaustive]
pub struct ProjectOptions {
    /// The request.
    pub request: ProjectionRequest,
    /// The meaning of names of views, and of presets that no resource type has.
    pub views: Arc<Views>,
    /// The kind of resource that the result is, or is a collection of.
    pub resource: Option<Arc<ResourceType>>,
    /// The kind of the operation that the tool is.
    pub operation: Option<Operation>,
    /// The declared schema of the tool's output. Without it, the schema learned of the tool is used, if there
    /// is one.
    pub output_schema: Option<Arc<Value>>,
    /// A selector that is evaluated first: its value is projected.
    pub select: Option<String>,
    /// Whether the error of a failed call is projected like a result, for a caller that reads it.
    #[setters(bool)]
    pub failures: bool,
}

/// A projected result. Its `Debug` omits the data.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Projected {
    /// The value as JSON; strings and numbers as they came.
    pub json: Vec<u8>,
    /// The schema that the value was validated against, if the output's schema is known.
    pub schema: Option<Value>,
    /// Remarks on the request. Except for names in the request itself, they name nothing that is never
    /// revealed.
    pub diagnostics: Diagnostics,
    /// How the selector was understood; `None` without one.
    pub report: Option<SelectReport>,
    /// The tokens that the value takes of a model's context.
    pub tokens: usize,
    /// Whether it is the error of a failed call, which is not projected.
    pub failed: bool,
}

impl Projected {
    /// What the model should hear of its request: of the selector, if it wrote one, and of fields that are not there.
    pub fn notices(&self, select: Option<&str>) -> Notices {
        let selection = select.zip(self.report.as_ref());
        let selection = selection.map(|(written, report)| Notices::of_selection(written, report));
        let selection = selection.unwrap_or_default();
        selection.with_diagnostics(&self.diagnostics, Reader::Model)
    }
}

impl fmt::Debug for Projected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Projected")
            .field("bytes", &self.json.len())
            .field("has_schema", &self.schema.is_some())
            .field("diagnostics", &self.diagnostics.iter().count())
            .field("tokens", &self.tokens)
            .field("failed", &self.failed)
            .finish()
    }
}
