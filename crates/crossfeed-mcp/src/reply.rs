//! The reply of a server to a projection request.

use crate::{KEY, Mode};
use crossfeed_projection::Diagnostics;
use serde_json::{Value, json};

/// The reply to a projection request, in the `_meta` of the result.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// Whether the result is projected.
    pub applied: bool,
    /// The mode of the request, if the request is valid.
    pub mode: Option<Mode>,
    /// The name of the view that was applied.
    pub view: Option<String>,
    /// The paths that were applied, in canonical text, without paths of a view that name withheld fields; `None` for
    /// everything.
    pub fields: Option<Vec<String>>,
    /// The schema of the projected `structuredContent`.
    pub projected_schema: Option<Value>,
    /// Why nothing was applied.
    pub reason: Option<String>,
    /// Diagnostics about the request and the result.
    pub diagnostics: Diagnostics,
}

impl Reply {
    /// The reply in its JSON form, under [`KEY`].
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

    /// Whether a result claims to be projected. A client checks it before it relies on a projection.
    pub fn is_applied(result: &Value) -> bool {
        let meta = result.get("_meta").and_then(|meta| meta.get(KEY));
        meta.and_then(|reply| reply.get("applied")) == Some(&Value::Bool(true))
    }
}
