//! Takes the added parameters out of a model's arguments.

use super::{SELECT, WHOLE};
use crate::{decode, is_fold};
use crossfeed_json::{MAX_DEPTH, dismantle, is_deeper};
use crossfeed_projection::{Diagnostics, ProjectionRequest};
use crossfeed_schema::Position;
use crossfeed_wire::reference::{self, Reading};
use serde_json::{Map, Value, json};

/// The added parameters of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakenProjection {
    /// The model's request; empty if it wrote none that can be read.
    pub request: ProjectionRequest,
    /// Whether it asked for the whole result.
    pub whole: bool,
    /// Diagnostics about ignored values.
    pub diagnostics: Diagnostics,
}

/// Whether the arguments as a whole are a reference, in any spelling: its selector may be `_select`, too.
fn is_reference(members: &Map<String, Value>, shown: &Value) -> bool {
    let place = Position::root(shown);
    // Its parts are strings, but for what stands in for nothing found, which may be large.
    let parts = members
        .iter()
        .filter(|(key, value)| reference::is_sentinel(key) && value.is_string());
    let parts: Map<_, _> = parts
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let reading = reference::read_object(&parts, &|key| place.declares(key));
    matches!(reading, Ok(Reading::Reference(_)))
}

/// Takes the parameters `names` out of arguments; `shown` is the schema that the model saw. A `_whole` that is
/// no boolean stays, and is refused when the arguments are read back.
pub(crate) fn take(
    names: &[&'static str],
    shown: &Value,
    arguments: &mut Value,
) -> TakenProjection {
    let Value::Object(members) = arguments else {
        return TakenProjection::default();
    };
    let mut written = Map::new();
    let mut whole = false;
    let is_reference = is_reference(members, shown);
    for name in names {
        // Arguments that are one reference have a selector, not a list of keys.
        if is_reference && *name == SELECT && members.get(SELECT).is_some_and(Value::is_string) {
            continue;
        }
        if *name == WHOLE {
            if let Some(Value::Bool(_) | Value::Null) = members.get(WHOLE) {
                whole = members.shift_remove(WHOLE) == Some(Value::Bool(true));
            }
            continue;
        }
        let Some(value) = members.shift_remove(*name) else {
            continue;
        };
        let property = shown.get("properties").and_then(|own| own.get(*name));
        let value = match (property.is_some_and(is_fold), &value) {
            (true, Value::String(text)) => match decode(text) {
                Some(list @ Value::Array(_)) => list,
                _ => value,
            },
            _ if is_deeper(&value, MAX_DEPTH) => {
                dismantle(value);
                json!({})
            }
            _ => value,
        };
        written.insert((*name).to_owned(), value);
    }
    let (request, diagnostics) = ProjectionRequest::from_value(&Value::Object(written));
    TakenProjection {
        request,
        whole,
        diagnostics,
    }
}
