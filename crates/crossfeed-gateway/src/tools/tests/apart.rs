//! What is large is worked on off the threads that serve others.

use super::*;
use crate::{
    apart::{many_values, timed},
    config::ViewChoice,
    message::Message,
};
use crossfeed_core::{Attribute, Instrument, Telemetry};
use crossfeed_wire::{TraceContext, View};
use std::time::Duration;
use tracing::{Metadata, Span, Subscriber, span};

/// Less than half of the time that the values take to be indexed once.
#[track_caller]
fn check(served: Duration, indexed: Duration) {
    assert!(served * 2 < indexed, "{served:?} of {indexed:?}");
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Every span stands at the same place.
#[derive(Debug)]
struct Traced;

impl Telemetry for Traced {
    fn context(&self, _: &Span) -> Option<TraceContext> {
        TraceContext::parse(PARENT, None).ok()
    }

    fn adopt(&self, _: &Span, _: &TraceContext) {}

    fn link(&self, _: &Span, _: &TraceContext, _: &[Attribute<'_>]) -> bool {
        true
    }

    fn measure(&self, _: Instrument, _: f64, _: &[Attribute<'_>]) {}
}

/// Takes every span, so that none is disabled.
struct Spans;

impl Subscriber for Spans {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &tracing::Event<'_>) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn long_params_get_their_place_in_the_trace_elsewhere() {
    let (values, indexed) = many_values();
    let _spans = tracing::subscriber::set_default(Spans);
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    let options = EngineOptions::default().with_telemetry(Arc::new(Traced));
    world.tools = Tools::new(Engine::in_memory(options), Arc::clone(&world.tools.config));
    let client = world.client(local()).await;
    let call = format!(r#"{{"name":"fetch","arguments":{{"url":"u"}},"_meta":{{"x":{values}}}}}"#);
    let (forwarded, served) = timed(forward(&client, call.into())).await;
    let end = forwarded.params.slice(forwarded.params.len() - 100..);
    let end = String::from_utf8_lossy(&end);
    assert!(end.contains(PARENT), "{end}");
    check(served, indexed);
}

#[tokio::test]
async fn long_arguments_are_not_read_again_when_the_server_asks() {
    let (values, indexed) = many_values();
    for answer in [
        r#"{"resultType":"input_required","requestState":"s","inputRequests":{}}"#,
        r#"{"resultType":"task","taskId":"t","status":"working"}"#,
    ] {
        let client = one().await;
        let call = format!(r#"{{"name":"search","arguments":{{"x":{values}}}}}"#);
        let forwarded = forward(&client, call.into()).await;
        let (shown, served) = timed(forwarded.pending.finish(answer.into())).await;
        assert_eq!(shown, answer);
        check(served, indexed);
    }
}

/// Also where a reference stands among them, so that they are looked through.
#[tokio::test]
async fn long_arguments_are_looked_through_elsewhere() {
    let (values, indexed) = many_values();
    let client = one().await;
    returned(
        &client,
        "search",
        json!({"content": [{"type": "text", "text": "u"}]}),
    )
    .await;
    for (name, arguments) in [
        (
            "search",
            format!(r#"{{"q":{{"$tool":"nope"}},"x":{values}}}"#),
        ),
        (
            "search",
            format!(r#"{{"q":{{"$tool":"call_1"}},"x":{values}}}"#),
        ),
        (
            "fetch",
            format!(r#"{{"url":{{"$tool":"call_1"}},"any":{values}}}"#),
        ),
        (
            "fetch",
            format!(r#"{{"url":[],"any":{values},"region":"_tool"}}"#),
        ),
        ("search", format!(r#"[{{"$tool":"nope"}},{values}]"#)),
    ] {
        let call = format!(r#"{{"name":"{name}","arguments":{arguments}}}"#);
        let (_, served) = timed(client.call(call.into())).await;
        check(served, indexed);
    }
}

/// Also in the view of programs, where most of a result is not read at all.
#[tokio::test]
async fn long_members_of_a_result_are_read_elsewhere() {
    let (values, indexed) = many_values();
    let mut config = server("a");
    config.view = Some(ViewChoice::Always(View::Program));
    let client = World::new(vec![(config, tools())], Vec::new());
    let client = client.client(local()).await;
    let many = |member: &str| vec![member; 30].join(",");
    let task = format!(r#""task":[{}1]"#, "1,".repeat(32_000));
    for result in [
        format!(r#"{{"resultType":"input_required","requestState":{values}}}"#),
        format!(r#"{{{},"isError":true}}"#, many(&task)),
        format!(r#"{{"content":[],"_meta":{values}}}"#),
        format!(r#"{{"content":[],"structuredContent":{values}}}"#),
    ] {
        let call = params("search", json!({"q": "x"}));
        let pending = forward(&client, call).await.pending;
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
        let message = Message::parse(message).unwrap();
        let (_, served) = timed(pending.answer(message)).await;
        check(served, indexed);
    }
}
