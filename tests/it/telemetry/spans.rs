//! Spans on their way to a receiver: every pipeline, several side by side, and what each of them sees.

use super::{
    nesting::held,
    pipeline::{PATIENCE, Transport, pipelines, span_exporter, tracer_provider},
    receiver::{Answer, Receiver},
};
use crossfeed_otel::{Policy, SanitizingSpanExporter, SanitizingSpanProcessor};
use opentelemetry::{
    KeyValue,
    trace::{Span as _, SpanBuilder, Tracer as _, TracerProvider as _},
};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::{
    Resource,
    trace::{InMemorySpanExporter, SdkTracer, SdkTracerProvider, SimpleSpanProcessor, SpanData},
};
use serde_json::{Value, json};

const RESULT: &str = r#"{"_toolCallId":"call_1","_secret":1,"items":[{"_id":7}]}"#;
const NAMED: &str = r#"{"_secret":1,"items":[{"_id":7}]}"#;
const STRIPPED: &str = r#"{"items":[{"_id":7}]}"#;

fn end_span(tracer: &SdkTracer) {
    let attributes = [
        KeyValue::new("gen_ai.tool.call.result", RESULT),
        KeyValue::new("host.note", RESULT),
    ];
    let builder = SpanBuilder::from_name("execute_tool search").with_attributes(attributes);
    tracer.build(builder).end();
}

/// What attribute `name` of a span in memory holds.
fn text_of(span: &SpanData, name: &str) -> String {
    let mut named = span.attributes.iter().filter(|kv| kv.key.as_str() == name);
    named.next().unwrap().value.to_string()
}

fn texts_of(span: &SpanData) -> [String; 2] {
    ["gen_ai.tool.call.result", "host.note"].map(|name| text_of(span, name))
}

#[test]
fn every_pipeline_strips() {
    for (transport, place) in pipelines() {
        let receiver = Receiver::start(Answer::Accept);
        let provider = tracer_provider(transport, place, &receiver);
        end_span(&provider.tracer("host"));
        provider.shutdown().unwrap();
        let received = receiver.take();
        let spans: Vec<&Span> = received.spans().collect();
        let [span] = spans[..] else {
            panic!("{transport:?} {place:?}: {} spans", spans.len());
        };
        let json = |text| serde_json::from_str::<Value>(text).unwrap();
        let result = held(&span.attributes, "gen_ai.tool.call.result");
        assert_eq!(result, json(STRIPPED), "{transport:?} {place:?}");
        assert_eq!(held(&span.attributes, "host.note"), json(NAMED));
        assert_eq!(span.name, "execute_tool search");
        assert_eq!(span.dropped_attributes_count, 0);
    }
}

/// What each of three exporters saw, of which the second and third are wrapped, in this order.
fn side_by_side(order: [usize; 3]) -> [Vec<SpanData>; 3] {
    let exporters = [(); 3].map(|()| InMemorySpanExporter::default());
    let mut builder = SdkTracerProvider::builder();
    for which in order {
        let exporter = exporters[which].clone();
        let policy = Policy::default();
        builder = match which {
            0 => builder.with_simple_exporter(exporter),
            1 => builder.with_simple_exporter(SanitizingSpanExporter::new(exporter, policy)),
            _ => builder.with_span_processor(SanitizingSpanProcessor::new(
                SimpleSpanProcessor::new(exporter),
                policy.with_kept(["_secret"]),
            )),
        };
    }
    let provider = builder.build();
    end_span(&provider.tracer("host"));
    provider.force_flush().unwrap();
    exporters.map(|exporter| exporter.get_finished_spans().unwrap())
}

#[test]
fn a_wrapper_changes_what_is_behind_it_and_nothing_else() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let [bare, wrapped, kept] = side_by_side(order);
        // Who is not wrapped sees all of it, wherever it stands.
        assert_eq!(texts_of(&bare[0]), [RESULT, RESULT], "{order:?}");
        assert_eq!(texts_of(&wrapped[0]), [STRIPPED, NAMED]);
        assert_eq!(texts_of(&kept[0]), [NAMED, NAMED]);
        assert_eq!([bare.len(), wrapped.len(), kept.len()], [1; 3]);
    }
}

#[test]
fn what_has_nothing_to_strip_arrives_as_without_a_wrapper() {
    let [bare, wrapped] = [(); 2].map(|()| InMemorySpanExporter::default());
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(bare.clone())
        .with_simple_exporter(SanitizingSpanExporter::new(
            wrapped.clone(),
            Policy::default(),
        ))
        .build();
    let texts = [
        r#"{ "b": 1.00, "a": [1e3, {"_id" : null}] }"#,
        r#"{"_id": 1"#,
        "no JSON: \"_toolCallId\"",
        "",
    ];
    let attributes = texts.map(|text| KeyValue::new("host.note", text));
    let builder = SpanBuilder::from_name("a span").with_attributes(attributes);
    provider.tracer("host").build(builder).end();
    let spans = [bare, wrapped].map(|exporter| exporter.get_finished_spans().unwrap());
    assert_eq!(spans[0].len(), 1);
    assert_eq!(spans[0], spans[1]);
}

#[test]
fn the_resource_is_stripped_and_the_rest_of_it_stays() {
    let receiver = Receiver::start(Answer::Accept);
    for transport in [Transport::Http, Transport::Grpc] {
        let exporter = span_exporter(transport, &receiver.endpoint(), PATIENCE);
        let resource = Resource::builder_empty()
            .with_service_name("host")
            .with_attribute(KeyValue::new("host.note", RESULT))
            .with_schema_url([], "https://schemas.example/1")
            .build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_batch_exporter(SanitizingSpanExporter::new(exporter, Policy::default()))
            .build();
        end_span(&provider.tracer("host"));
        provider.shutdown().unwrap();
        let received = receiver.take();
        let resource_spans = &received.traces[0].resource_spans[0];
        assert_eq!(resource_spans.schema_url, "https://schemas.example/1");
        let attributes = &resource_spans.resource.as_ref().unwrap().attributes;
        assert_eq!(attributes.len(), 2);
        assert_eq!(held(attributes, "service.name"), json!("host"));
        let note: Value = serde_json::from_str(NAMED).unwrap();
        assert_eq!(held(attributes, "host.note"), note);
    }
}
