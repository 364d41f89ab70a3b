mod declared;
mod laws;
mod results;
mod rules;
mod trace;

use crate::{Capability, KEY, Projected, Projector, Tool};
use crossfeed_json::{Document, quoted};
use serde_json::{Value, json};

/// A tool with two views and an output schema.
fn tool() -> Tool {
    Tool::read(&json!({
        "name": "list",
        "outputSchema": {
            "type": "object",
            "properties": {"id": {"type": "integer"}, "body": {"type": "string"}, "pw": {"type": "string"}},
            "required": ["id", "body"]
        },
        "_meta": {KEY: {"supported": true, "recommendedViews": {"brief": ["id"], "all": null}}}
    }))
}

fn asked(request: Value) -> Value {
    json!({"name": "list", "_meta": {KEY: request}})
}

fn include(fields: &[&str]) -> Value {
    asked(json!({"mode": "include", "fields": fields}))
}

/// The bytes of a projected result without what `_meta` says of it, and that.
fn run(projector: &Projector, tool: &Tool, params: &Value, result: &str) -> (String, Value) {
    let document = Document::new(result.to_owned());
    let Projected { json, reply, .. } = projector.project(tool, params, &document).unwrap();
    let json = String::from_utf8(json.into_owned()).unwrap();
    let Some(reply) = reply.map(|reply| reply.to_value()) else {
        return (json, Value::Null);
    };
    let said = format!("{}:{reply}", quoted(KEY));
    assert!(json.contains(&said), "{json}");
    let document = Document::new(json.clone());
    let written = document
        .root()
        .unwrap()
        .get("_meta")
        .and_then(|meta| meta.get(KEY))
        .unwrap();
    assert_eq!(written.to_value().unwrap(), reply);
    let forms = [
        format!(",\"_meta\":{{{said}}}"),
        format!(",{said}"),
        format!("{said},"),
        said,
    ];
    let form = forms.iter().find(|form| json.contains(*form)).unwrap();
    (json.replacen(form, "", 1), reply)
}

fn plain() -> Projector {
    Projector::new(Capability::default())
}
