//! Every shape, in and out.

mod calls;
mod conversions;
mod lists;

use serde_json::{Value, json};

fn schema() -> Value {
    json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]})
}
