use crate::support::{block_on, call, on_stack, session};
use crossfeed_core::{InputSchema, ToolResult};
use serde_json::{Value, json};
use std::time::Instant;
#[test]
fn heavy() {
    on_stack(2048, move || block_on(async {
        let session = session();
        let items: Vec<Value> = (0..30_000).map(|n| json!({"id": n})).collect();
        session.record(&call("c"), ToolResult::json(json!(items).to_string())).await.unwrap();
        session.record(&call("s"), ToolResult::json("{\"a\": [1,2], \"b\": {\"x\": \"y\"}}")).await.unwrap();
        let s = InputSchema::compile(json!({"properties": {"x": {"uniqueItems": true}}})).unwrap();
        let t = Instant::now();
        assert!(session.resolve(json!({"x": {"$tool": "c"}}), Some(&s)).await.is_ok());
        eprintln!("unique {:?}", t.elapsed());
        let s = InputSchema::compile(json!({"type": "array", "items": {"type": "integer"}})).unwrap();
        let many: Vec<Value> = (0..10_000).map(|_| json!({"$tool": "s"})).collect();
        let t = Instant::now();
        let e = session.resolve(json!(many), Some(&s)).await.unwrap_err();
        eprintln!("mistyped {:?} {}", t.elapsed(), e.failures().len());
        let s2 = InputSchema::compile(json!({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type":"string","maxLength":1}, {"enum": [1,2]}]}})).unwrap();
        let t = Instant::now();
        let e = session.resolve(json!({"$tool": "c"}), Some(&s2)).await.unwrap_err();
        eprintln!("mistyped items {:?} {} {}", t.elapsed(), e.failures().len(), e.failures()[0].error.advice());
        session.record(&call("strs"), ToolResult::json(json!((0..30_000).map(|n| n.to_string()).collect::<Vec<_>>()).to_string())).await.unwrap();
        let t = Instant::now();
        let r = session.resolve(json!({"$tool": "strs"}), Some(&s)).await.unwrap();
        eprintln!("repairs {:?} {}", t.elapsed(), r.repairs.len());
        let deep = format!("{}1{}", "{\"t\":".repeat(125), "}".repeat(125));
        session.record(&call("deep"), ToolResult::json(deep)).await.unwrap();
        let s = InputSchema::compile(json!({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"t": {"anyOf": [{"$ref": "#/$defs/t"}, {"type": "string"}]}}}}})).unwrap();
        eprintln!("{:?}", session.resolve(json!({"t": {"$tool": "deep"}}), Some(&s)).await.map(|_| ()).map_err(|e| e.to_string()));
        let s = InputSchema::compile(json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "properties": {"t": {"anyOf": [{"$ref": "#/$defs/t"}, {"allOf": [{"$ref": "#/$defs/t"}]}]}}}}})).unwrap();
        let t = Instant::now();
        session.record(&call("d2"), ToolResult::json(format!("{}1{}", "{\"t\":".repeat(22), "}".repeat(22)))).await.unwrap();
        eprintln!("{:?}", session.resolve(json!({"t": {"$tool": "d2"}}), Some(&s)).await.map(|_| ()).map_err(|e| e.to_string().len()));
        eprintln!("exp schema {:?}", t.elapsed());
    }));
}
