use super::*;
use crossfeed_store::{StoreError, StoreMeter, StoreOperation};
use proptest::prelude::*;

const fn family(
    kind: Kind,
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
) -> Family {
    Family {
        name,
        help,
        labels,
        kind,
    }
}

const CALLS: Family = family(
    Kind::Counter,
    "calls_total",
    "Calls.",
    &["server", "outcome"],
);
const TIMES: Family = family(
    Kind::Histogram,
    "call_seconds",
    "How long calls took.",
    &["server"],
);
const OPEN: Family = family(Kind::Gauge, "open", "What is open.", &[]);

/// One line: name, labels, value.
type Sample = (String, Vec<(String, String)>, f64);

/// Reads the text as Prometheus does.
fn parse(text: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name_end = line.find(['{', ' ']).unwrap();
        let (name, mut rest) = line.split_at(name_end);
        let mut labels = Vec::new();
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            while !rest.starts_with('}') {
                let (label, behind) = rest.split_once("=\"").unwrap();
                let mut value = String::new();
                let mut chars = behind.char_indices();
                let end = loop {
                    match chars.next().unwrap() {
                        (at, '"') => break at,
                        (_, '\\') => value.push(match chars.next().unwrap().1 {
                            'n' => '\n',
                            other => other,
                        }),
                        (_, other) => value.push(other),
                    }
                };
                labels.push((label.trim_start_matches(',').to_owned(), value));
                rest = &behind[end + 1..];
            }
            rest = &rest[1..];
        }
        samples.push((name.to_owned(), labels, rest.trim().parse().unwrap()));
    }
    samples
}

#[test]
fn what_was_measured_is_written() {
    let metrics = Metrics::new();
    metrics.count(CALLS, &["git", "ok"]);
    metrics.count(CALLS, &["git", "ok"]);
    metrics.count(CALLS, &["a\"b\\c\nd", "error"]);
    metrics.set(OPEN, &[], 3);
    metrics.set(OPEN, &[], 2);
    let times = metrics.histogram(TIMES, &["git"]);
    times.took(Duration::from_millis(1));
    times.took(Duration::from_millis(20));
    times.took(Duration::from_secs(1000));
    let text = metrics.text();
    assert!(text.starts_with(
        "# HELP call_seconds How long calls took.\n# TYPE call_seconds histogram\ncall_seconds_bucket{server=\"git\",le=\"0.000025\"} 0\n"
    ));
    let samples = parse(&text);
    let check = |name: &str, labels: &[(&str, &str)], expected: f64| {
        let found = samples.iter().find(|(found, with, _)| {
            found == name
                && with
                    .iter()
                    .map(|(label, value)| (label.as_str(), value.as_str()))
                    .eq(labels.iter().copied())
        });
        assert_eq!(
            found.map(|sample| sample.2),
            Some(expected),
            "{name} {labels:?}"
        );
    };
    check("calls_total", &[("server", "git"), ("outcome", "ok")], 2.0);
    check(
        "calls_total",
        &[("server", "a\"b\\c\nd"), ("outcome", "error")],
        1.0,
    );
    check("open", &[], 2.0);
    let bucket = "call_seconds_bucket";
    check(bucket, &[("server", "git"), ("le", "0.0005")], 0.0);
    check(bucket, &[("server", "git"), ("le", "0.001")], 1.0);
    check(bucket, &[("server", "git"), ("le", "0.05")], 2.0);
    check(bucket, &[("server", "git"), ("le", "120")], 2.0);
    check(bucket, &[("server", "git"), ("le", "+Inf")], 3.0);
    check("call_seconds_count", &[("server", "git")], 3.0);
    check("call_seconds_sum", &[("server", "git")], 1000.021);
}

proptest! {
    /// Whatever labels come, memory is bounded, every count is there, and the text is read back.
    #[test]
    fn labels_are_bounded(text in "\\PC{0,80}", servers in prop::collection::vec(0usize..600, 0..600)) {
        let metrics = Metrics::new();
        for server in &servers {
            metrics.count(CALLS, &[&format!("{server}{text}"), "ok"]);
        }
        let samples = parse(&metrics.text());
        prop_assert!(samples.len() <= MAX_SERIES + 1);
        let sum: f64 = samples.iter().map(|sample| sample.2).sum();
        prop_assert_eq!(sum, servers.len() as f64);
    }
}

#[tokio::test]
async fn what_a_store_counted_is_shown() {
    let meter = StoreMeter::default();
    for _ in 0..2 {
        let get = meter.time(StoreOperation::Get, async { Ok(()) });
        get.await.unwrap();
    }
    let full = StoreError::NoSpace {
        source: "full".into(),
    };
    let put = meter.time(StoreOperation::PutBlob, async { Err::<(), _>(full) });
    put.await.unwrap_err();
    meter.cached(true);
    meter.cached(false);
    meter.evicted(3);
    meter.lost_leases(4);
    let metrics = Metrics::new();
    // What is shown again is not added.
    for _ in 0..2 {
        metrics.show_store(&meter.snapshot());
    }
    let text = metrics.text();
    for line in [
        "crossfeed_store_operation_duration_seconds_bucket{operation=\"get\",le=\"+Inf\"} 2",
        "crossfeed_store_operation_duration_seconds_count{operation=\"get\"} 2",
        "crossfeed_store_operation_duration_seconds_count{operation=\"put_blob\"} 1",
        "crossfeed_store_operation_duration_seconds_count{operation=\"put\"} 0",
        "crossfeed_store_failures_total{operation=\"put_blob\"} 1",
        "crossfeed_store_failures_total{operation=\"get\"} 0",
        "crossfeed_store_cache_lookups_total{outcome=\"hit\"} 1",
        "crossfeed_store_cache_lookups_total{outcome=\"miss\"} 1",
        "crossfeed_store_results_gone_total{reason=\"evicted\"} 3",
        "crossfeed_store_results_gone_total{reason=\"expired\"} 0",
        "crossfeed_store_lost_leases_total 4",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    let sum = parse(&text).into_iter().find(|(name, labels, _)| {
        name == "crossfeed_store_operation_duration_seconds_sum" && labels[0].1 == "get"
    });
    let total = meter
        .snapshot()
        .operation(StoreOperation::Get)
        .unwrap()
        .total;
    assert_eq!(sum.unwrap().2, total.as_secs_f64());
}

#[test]
fn panics_are_counted() {
    let metrics = Metrics::new();
    let before = std::panic::take_hook();
    metrics.count_panics();
    let fault = std::thread::spawn(|| std::panic::panic_any("a value")).join();
    std::panic::set_hook(before);
    assert!(fault.is_err());
    let samples = parse(&metrics.text());
    let panics = samples
        .iter()
        .find(|(name, ..)| name == "crossfeed_panics_total");
    // Tests that run beside may panic on purpose.
    assert!(
        panics.is_some_and(|(_, _, count)| *count >= 1.0),
        "{samples:?}"
    );
}
