//! `--otlp`: what a receiver on loopback gets of a run of the demo, and of a gateway.

use super::{Run, check_usage, run};
use opentelemetry_proto::tonic::{
    collector::{metrics::v1::ExportMetricsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{Receiver, channel},
    thread,
};

/// What was posted: where to, and the body.
type Posted = (String, Vec<u8>);

/// A receiver that answers everything with this status; its address, and what it gets.
fn receiver(status: &'static str) -> (String, Receiver<Posted>) {
    receiver_of(status, status)
}

/// One that answers traces and metrics with a status each.
fn receiver_of(traces: &'static str, metrics: &'static str) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (send, posted) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let send = send.clone();
            thread::spawn(move || {
                let mut stream = BufReader::new(stream.unwrap());
                while let Some(request) = read(&mut stream) {
                    let status = match request.0.as_str() {
                        "/v1/metrics" => metrics,
                        _ => traces,
                    };
                    // A test that has ended takes no more.
                    let _ = send.send(request);
                    let reply = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
                    stream.get_mut().write_all(reply.as_bytes()).unwrap();
                }
            });
        }
    });
    (address, posted)
}

fn read(stream: &mut BufReader<TcpStream>) -> Option<Posted> {
    let mut line = || {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        (!line.is_empty()).then(|| line.trim().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let header = line()?.to_ascii_lowercase();
        match header.split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap(),
            Some(("content-type", value)) => assert_eq!(value.trim(), "application/x-protobuf"),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((path, body))
}

/// The spans of a run, and the names of its metrics.
fn exported() -> (Run, Vec<Span>, BTreeSet<String>) {
    let (address, posted) = receiver("200 OK");
    let run = run(&["demo", "--full", "--otlp", &address], "");
    let (mut spans, mut metrics) = (Vec::new(), BTreeSet::new());
    for (path, body) in posted.try_iter() {
        match path.as_str() {
            "/v1/traces" => {
                let request = ExportTraceServiceRequest::decode(&body[..]).unwrap();
                let scopes = request
                    .resource_spans
                    .into_iter()
                    .flat_map(|of| of.scope_spans);
                spans.extend(scopes.flat_map(|scope| scope.spans));
            }
            "/v1/metrics" => {
                let request = ExportMetricsServiceRequest::decode(&body[..]).unwrap();
                let scopes = request
                    .resource_metrics
                    .into_iter()
                    .flat_map(|of| of.scope_metrics);
                metrics.extend(
                    scopes
                        .flat_map(|scope| scope.metrics)
                        .map(|metric| metric.name),
                );
            }
            other => assert_eq!(other, "/v1/traces"),
        }
    }
    let told = format!(
        "sent {} spans to {address}/v1/traces, and metrics to {address}/v1/metrics\n",
        spans.len()
    );
    assert_eq!((run.status, run.err.as_str()), (0, told.as_str()));
    (run, spans, metrics)
}

fn said<'a>(attributes: &'a [KeyValue], name: &str) -> Option<&'a Value> {
    let found = attributes.iter().find(|found| found.key == name)?;
    found.value.as_ref()?.value.as_ref()
}

fn text(attributes: &[KeyValue], name: &str) -> String {
    match said(attributes, name) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// A flow of data: the call that takes, the place in its arguments, the call that gave, and bytes.
type Flow = (String, String, String, String);

/// The flows of the lineage, as the demo tells them.
fn told(out: &str) -> BTreeSet<Flow> {
    let mut flows = BTreeSet::new();
    let mut open: Vec<(String, String, String)> = Vec::new();
    for entry in out.replace("\n          ", " ").lines() {
        if let Some(rest) = entry.strip_prefix("engine    /") {
            let Some((at, source)) = rest.split_once(" <- call ") else {
                continue;
            };
            let bytes = source.rsplit_once("bytes ").map_or("", |(_, bytes)| bytes);
            let producer = source.split([' ', ':']).next().unwrap_or_default();
            open.push((format!("/{at}"), producer.to_owned(), bytes.to_owned()));
        } else if let Some((_, call)) = entry.split_once("recorded as ") {
            for (at, producer, bytes) in open.drain(..) {
                flows.insert((call.to_owned(), at, producer, bytes));
            }
        }
    }
    flows
}

#[test]
fn every_reference_of_the_run_is_a_link() {
    let (run, spans, metrics) = exported();
    let mut flows = BTreeSet::new();
    for span in &spans {
        let consumer = text(&span.attributes, "gen_ai.tool.call.id");
        let mut add = |attributes: &[KeyValue]| {
            let of = |name| text(attributes, name);
            let bytes = format!(
                "{} -> {}",
                of("crossfeed.bytes.in"),
                of("crossfeed.bytes.out")
            );
            let (at, producer) = (of("crossfeed.argument"), of("gen_ai.tool.call.id"));
            flows.insert((consumer.clone(), at, producer, bytes));
        };
        for link in &span.links {
            add(&link.attributes);
            let to = spans
                .iter()
                .find(|other| other.span_id == link.span_id)
                .unwrap();
            assert_eq!(
                text(&to.attributes, "gen_ai.tool.call.id"),
                text(&link.attributes, "gen_ai.tool.call.id"),
                "a link leads to the span of the call that gave"
            );
            assert!(to.name.starts_with("execute_tool "), "{}", to.name);
        }
        // Only what could not be resolved has no link.
        for event in span
            .events
            .iter()
            .filter(|event| event.name == "crossfeed.reference")
        {
            assert!(said(&event.attributes, "error.type").is_some(), "{event:?}");
        }
    }
    let told = told(&run.out);
    assert_eq!(told.len(), 8, "{told:?}");
    assert_eq!(flows, told);
    let roots: Vec<_> = spans
        .iter()
        .filter(|span| span.parent_span_id.is_empty())
        .collect();
    assert_eq!(roots.len(), 1);
    assert_eq!(roots[0].name, "invoke_agent demo");
    assert!(metrics.contains("crossfeed.resolutions"), "{metrics:?}");
}

#[test]
fn no_payload_and_nothing_internal_is_exported() {
    let (run, spans, _) = exported();
    assert!(!spans.is_empty());
    let told = format!("{spans:?}");
    for word in [
        // Internal.
        "_toolCallId",
        "_structureHints",
        "_crossfeedPreview",
        // Of results, of arguments, of literals in selectors, of errors.
        "mozilla",
        "mdn",
        "-moz-",
        "css.properties",
        "firefox-gap",
        "follow-up",
        "Support ",
        "Standard CSS",
        "status == 'current'",
        "too large",
    ] {
        assert!(!told.contains(word), "{word}");
    }
    // They are in the run.
    for word in [
        "_toolCallId",
        "css.properties",
        "firefox-gap",
        "Standard CSS",
    ] {
        assert!(run.out.contains(word), "{word}");
    }
}

#[test]
fn the_demo_is_the_same_whether_it_is_exported() {
    let (with, ..) = exported();
    assert_eq!(with.out, run(&["demo", "--full"], "").out);
}

#[test]
fn what_cannot_be_sent_is_said_behind_the_demo() {
    let gone = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let (refuses, _posted) = receiver("400 Bad Request");
    let demo = run(&["demo"], "").out;
    for address in [gone, refuses] {
        let Run { status, out, err } = run(&["demo", "--otlp", &address], "");
        assert_eq!((status, out), (1, demo.clone()), "{err}");
        let lines: Vec<_> = err.lines().collect();
        let says = format!("spans were not sent to {address}/v1/traces: ");
        assert!(
            lines[0].starts_with("error[telemetry.unavailable]: "),
            "{err}"
        );
        assert!(lines[0].contains(&says), "{err}");
        assert_eq!(
            lines[1..],
            ["give the address of a receiver of OTLP over HTTP"]
        );
    }
    check_usage(
        &["demo", "--otlp", "https://a.example"],
        "",
        "https is not built in",
    );
    check_usage(&["demo", "--otlp", "ftp://a.example"], "", "use `http`");
    check_usage(
        &["demo", "--otlp", "a.example:4318"],
        "",
        "write `http://a.example:4318`",
    );
    check_usage(
        &["demo", "--otlp", "http://ann:secret@a.example"],
        "",
        "a name or a password",
    );
    check_usage(&["demo", "--otlp", ""], "", "not a valid URL");
}

#[cfg(unix)]
#[test]
fn a_gateway_exports_what_its_engine_does() {
    use super::gateway::{Client, server};
    use serde_json::json;
    let (address, posted) = receiver("200 OK");
    let server = server();
    let mut client = Client::of(&[
        "--otlp",
        &address,
        "--env",
        "KEY=s3cret",
        "--",
        "sh",
        &server,
    ]);
    client.initialize();
    client.ask(1, "tools/list", &json!({}));
    client.ask(
        2,
        "tools/call",
        &json!({"name": "say", "arguments": {"text": "s3cret"}}),
    );
    let (status, err) = client.leave();
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains(": spans were sent sent="), "{err}");
    assert!(!err.contains("sent=0"), "{err}");
    assert!(err.contains(": metrics were sent to="), "{err}");
    let posted: Vec<Posted> = posted.try_iter().collect();
    let traced = posted
        .iter()
        .filter(|(path, _)| path == "/v1/traces")
        .count();
    assert!(traced > 0, "{err}");
    for (path, body) in &posted {
        let said = String::from_utf8_lossy(body);
        assert!(!said.contains("s3cret"), "{path}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn a_gateway_says_what_it_could_not_export() {
    use super::gateway::{Client, server};
    use serde_json::json;
    let ended = |traces, metrics| {
        let (address, _posted) = receiver_of(traces, metrics);
        let mut client = Client::of(&["--otlp", &address, "--", "sh", &server()]);
        client.initialize();
        client.ask(1, "tools/list", &json!({}));
        client.ask(2, "tools/call", &json!({"name": "say", "arguments": {}}));
        let (status, err) = client.leave();
        assert_eq!(status, Some(0), "{err}");
        err
    };
    let (good, bad) = ("200 OK", "500 Internal Server Error");
    let err = ended(bad, good);
    assert!(err.contains(": spans were not sent: "), "{err}");
    assert!(
        err.contains(" sent=0 to=") && !err.contains("not_sent=0"),
        "{err}"
    );
    assert!(err.contains(": metrics were sent to="), "{err}");
    let err = ended(good, bad);
    assert!(err.contains(": spans were sent sent="), "{err}");
    assert!(err.contains(": metrics were not sent: "), "{err}");
}
