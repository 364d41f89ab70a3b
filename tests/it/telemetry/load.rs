//! Many threads at once, and a pipeline that is flushed and shut down under them.

use super::{
    nesting::value_of,
    pipeline::{Place, Transport, logger_provider, tracer_provider},
    receiver::{Answer, Received, Receiver},
};
use opentelemetry::{
    KeyValue,
    logs::{LogRecord as _, Logger as _, LoggerProvider as _},
    trace::{Span as _, SpanBuilder, Tracer as _, TracerProvider as _},
};
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::{
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

const THREADS: usize = 8;
const SPANS: usize = 250;

/// Ends spans on many threads, each with a number of its own, while `meanwhile` is done.
fn under_load(provider: &SdkTracerProvider, meanwhile: impl Fn() + Send) {
    let busy = AtomicBool::new(true);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let tracer = provider.tracer("host");
                scope.spawn(move || {
                    for span in 0..SPANS {
                        let number = thread * SPANS + span;
                        let result = format!(
                            r#"{{"_toolCallId":"call_{number}","_secret":0,"n":{number}}}"#
                        );
                        let result = KeyValue::new("gen_ai.tool.call.result", result);
                        let builder = SpanBuilder::from_name(number.to_string());
                        tracer.build(builder.with_attributes([result])).end();
                    }
                })
            })
            .collect();
        let busy = &busy;
        scope.spawn(move || {
            while busy.load(Ordering::Relaxed) {
                meanwhile();
            }
        });
        for thread in threads {
            thread.join().unwrap();
        }
        busy.store(false, Ordering::Relaxed);
    });
}

fn end_span(tracer: &SdkTracer, number: usize) {
    let result = format!(r#"{{"_toolCallId":"call_{number}","_secret":0,"n":{number}}}"#);
    let result = KeyValue::new("gen_ai.tool.call.result", result);
    let builder = SpanBuilder::from_name(number.to_string());
    tracer.build(builder.with_attributes([result])).end();
}

/// The numbers of the spans that arrived, each of them without what is internal.
fn numbers(received: &Received) -> impl Iterator<Item = usize> {
    received.spans().map(|span| {
        let [result] = &span.attributes[..] else {
            panic!("{} attributes", span.attributes.len());
        };
        let text = value_of(result.value.as_ref().unwrap());
        assert_eq!(text, format!("{{\"n\":{}}}", span.name));
        span.name.parse().unwrap()
    })
}

/// Every span arrived, and once.
fn check(received: &Received) {
    let mut numbers: Vec<usize> = numbers(received).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..THREADS * SPANS).collect::<Vec<_>>());
}

#[test]
fn what_has_ended_before_shutdown_returns_has_arrived() {
    for transport in [Transport::Http, Transport::Grpc] {
        for place in [Place::BatchExporter, Place::BatchProcessor] {
            let receiver = Receiver::start(Answer::Accept);
            let provider = tracer_provider(transport, place, &receiver);
            under_load(&provider, thread::yield_now);
            provider.shutdown().unwrap();
            check(&receiver.take());
        }
    }
}

#[test]
fn what_has_ended_before_shutdown_begins_arrives_while_others_still_end() {
    for place in [Place::BatchExporter, Place::BatchProcessor] {
        let receiver = Receiver::start(Answer::Accept);
        let provider = tracer_provider(Transport::Http, place, &receiver);
        let [ended, ended_before] = [(); 2].map(|()| AtomicUsize::new(0));
        let is_down = AtomicBool::new(false);
        thread::scope(|scope| {
            let tracer = provider.tracer("host");
            let (ended, is_down) = (&ended, &is_down);
            scope.spawn(move || {
                while !is_down.load(Ordering::Relaxed) {
                    end_span(&tracer, ended.load(Ordering::Relaxed));
                    ended.fetch_add(1, Ordering::Release);
                    // Slower than a receiver can be, so that no queue is ever full.
                    thread::sleep(Duration::from_micros(200));
                }
            });
            while ended.load(Ordering::Acquire) < 100 {
                thread::yield_now();
            }
            ended_before.store(ended.load(Ordering::Acquire), Ordering::Relaxed);
            provider.shutdown().unwrap();
            is_down.store(true, Ordering::Relaxed);
        });
        let received = receiver.take();
        let mut numbers: Vec<usize> = numbers(&received).collect();
        numbers.sort_unstable();
        let whole: Vec<usize> = (0..numbers.len()).collect();
        assert_eq!(numbers, whole, "nothing is missing in between");
        assert!(numbers.len() >= ended_before.into_inner(), "{place:?}");
    }
}

#[test]
fn flushing_under_load_loses_nothing() {
    for place in [Place::BatchExporter, Place::BatchProcessor] {
        let receiver = Receiver::start(Answer::Accept);
        let provider = tracer_provider(Transport::Http, place, &receiver);
        under_load(&provider, || provider.force_flush().unwrap());
        provider.force_flush().unwrap();
        check(&receiver.take());
        provider.shutdown().unwrap();
    }
}

#[test]
fn many_threads_share_a_simple_processor() {
    let receiver = Receiver::start(Answer::Accept);
    let provider = tracer_provider(Transport::Grpc, Place::SimpleProcessor, &receiver);
    under_load(&provider, thread::yield_now);
    check(&receiver.take());
    provider.shutdown().unwrap();
}

#[test]
fn what_ends_after_shutdown_does_not_leave() {
    let receiver = Receiver::start(Answer::Accept);
    let provider = tracer_provider(Transport::Http, Place::BatchExporter, &receiver);
    let span = provider.tracer("host").start("late");
    provider.shutdown().unwrap();
    drop(span);
    assert_eq!(receiver.take().spans().count(), 0);
    // A second shutdown is the SDK's error, and no panic.
    assert!(provider.shutdown().is_err());
}

#[test]
fn records_of_many_threads_arrive_before_shutdown_returns() {
    let receiver = Receiver::start(Answer::Accept);
    let provider = logger_provider(Transport::Http, Place::BatchExporter, &receiver);
    let each = 100;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let logger = provider.logger("host");
            scope.spawn(move || {
                for number in 0..each {
                    let mut record = logger.create_log_record();
                    record.set_body(format!(r#"{{"_toolCallId":"c","n":{number}}}"#).into());
                    logger.emit(record);
                }
            });
        }
    });
    provider.shutdown().unwrap();
    let received = receiver.take();
    let mut bodies: Vec<_> = received
        .records()
        .map(|record| value_of(record.body.as_ref().unwrap()).to_string())
        .collect();
    bodies.sort_unstable();
    let mut expected: Vec<_> = (0..each)
        .flat_map(|number| vec![format!("\"{{\\\"n\\\":{number}}}\""); THREADS])
        .collect();
    expected.sort_unstable();
    assert_eq!(bodies, expected);
}
