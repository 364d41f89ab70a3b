//! What a server says about what it did.

use crate::{KEY, Mode};
use crossfeed_projection::Diagnostics;
use serde_json::{Value, json};

/// What is said in the `_meta` of a result whose request asked for a projection.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// Whether the result is projected.
    pub applied: bool,
    /// How it was asked for, where that could be told.
    pub mode: Option<Mode>,
    /// The name of the view that was applied.
    pub view: Option<String>,
    /// The paths that were applied, in canonical text, but those of a view that name what is never
    /// shown; `None` for everything.
    pub fields: Option<Vec<String>>,
    /// The schema of the projected `structuredContent`.
    pub projected_schema: Option<Value>,
    /// Why nothing was applied.
    pub reason: Option<String>,
    /// What there is to say about the request and the result.
    pub diagnostics: Diagnostics,
}

impl Reply {
    /// The reply as it is written under [`KEY`].
    #[must_use]
    pub fn to_value(&self) -> Value {
        let diagnostics = (!self.diagnostics.is_empty()).then(|| self.diagnostics.to_value());
        let mut reply = json!({
            "applied": self.applied,
            "mode": self.mode.map(Mode::as_str),
            "view": self.view,
            "fields": self.fields,
            "projectedSchema": self.projected_schema,
            "reason": self.reason,
            "diagnostics": diagnostics,
        });
        if let Value::Object(reply) = &mut reply {
            reply.retain(|key, value| match key.as_str() {
                "fields" => self.applied,
                _ => !value.is_null(),
            });
        }
        reply
    }

    /// Whether a result says that it was projected: what a client looks at before it relies on it.
    #[must_use]
    pub fn is_applied(result: &Value) -> bool {
        let meta = result.get("_meta").and_then(|meta| meta.get(KEY));
        meta.and_then(|reply| reply.get("applied")) == Some(&Value::Bool(true))
    }
}
