//! Each reference has its link.

use super::pipeline::{exported, id, text};
use crossfeed_core::{EngineOptions, ToolResult};
use crossfeed_wire::Scope;
use opentelemetry::trace::SpanId;
use parking_lot::Mutex;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{collections::HashMap, sync::Arc};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In the order of the lineage: from the call that takes to the one that gave, up to the number of
    /// links that are made.
    #[test]
    fn each_reference_has_its_link(
        calls in 1..5_usize,
        references in prop::collection::vec((0..5_usize, any::<bool>()), 0..150),
    ) {
        let lineage = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&lineage);
        let wanted = references.iter().map(|(call, selects)| {
            let mut reference = json!({"$tool": format!("call_{}", call % calls)});
            if *selects {
                reference["$select"] = json!("a[0]");
            }
            reference
        });
        let arguments = Value::from_iter(wanted);
        let exported = exported(EngineOptions::default(), |engine| async move {
            let session = engine.session(Scope::parse("t", "p", "s").unwrap());
            for number in 0..calls {
                let call = session.begin(&id(&format!("call_{number}"))).await.unwrap();
                let call = call.with_tool(format!("tool_{number}"));
                call.complete(ToolResult::json(r#"{"a": [1]}"#)).await.unwrap();
            }
            let taker = session.begin(&id("taker")).await.unwrap().with_tool("taker");
            let resolved = taker.session().resolve(arguments, None).await.unwrap();
            let links = resolved.lineage.iter();
            let links = links.map(|link| (link.source.call_id.clone(), link.at.to_string()));
            noted.lock().extend(links);
        });
        let tools = exported.spans.iter().filter_map(|span| {
            let call = text(&span.attributes, "gen_ai.tool.call.id")?;
            let is_call = span.name.starts_with("execute_tool");
            is_call.then(|| (call, span.span_context.span_id()))
        });
        let tools: HashMap<String, SpanId> = tools.collect();
        let taker = exported.spans.iter().find(|span| span.name == "execute_tool taker");
        let taker = taker.unwrap();
        let linked: Vec<_> = taker.links.iter().map(|link| {
            let call = text(&link.attributes, "gen_ai.tool.call.id").unwrap();
            assert_eq!(tools[&call], link.span_context.span_id());
            (call, text(&link.attributes, "crossfeed.argument").unwrap())
        }).collect();
        let lineage = lineage.lock();
        prop_assert_eq!(lineage.len(), references.len());
        let expected: Vec<_> = lineage.iter().take(128).map(|(call, at)| (call.to_string(), at.clone())).collect();
        prop_assert_eq!(linked, expected);
        let resolve = exported.spans.iter().find(|span| span.name == "crossfeed.resolve");
        let unlinked = text(&resolve.unwrap().attributes, "crossfeed.references.unlinked");
        let beyond = lineage.len().saturating_sub(128);
        prop_assert_eq!(unlinked, (beyond > 0).then(|| beyond.to_string()));
    }
}
