//! The text format of Prometheus, version 0.0.4.

use super::{Families, Kind, SECONDS, Value};
use std::{fmt::Write as _, sync::atomic::Ordering, time::Duration};

/// Writes all families, by name.
pub(super) fn write(families: &Families) -> String {
    let mut text = String::new();
    for (family, series) in families {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Seconds => "histogram",
        };
        let name = family.name;
        let _ = writeln!(text, "# HELP {name} {}", family.help);
        let _ = writeln!(text, "# TYPE {name} {kind}");
        for (values, value) in series {
            let labels = family.labels.iter().zip(values);
            let labels: Vec<String> = labels
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            match value {
                Value::Counter(counter) => line(&mut text, name, "", &labels, &counter.value()),
                Value::Gauge(there) => {
                    let there = there.load(Ordering::Relaxed);
                    line(&mut text, name, "", &labels, &there);
                }
                Value::Seconds(histogram) => {
                    let durations = &*histogram.0;
                    let mut below = 0;
                    for (bound, here) in SECONDS.iter().zip(&durations.buckets) {
                        below += here.load(Ordering::Relaxed);
                        let labels = with(&labels, format!("le=\"{bound}\""));
                        line(&mut text, name, "_bucket", &labels, &below);
                    }
                    let count = below + durations.beyond.load(Ordering::Relaxed);
                    let all = with(&labels, "le=\"+Inf\"".to_owned());
                    line(&mut text, name, "_bucket", &all, &count);
                    let time = Duration::from_nanos(durations.nanoseconds.load(Ordering::Relaxed));
                    line(&mut text, name, "_sum", &labels, &time.as_secs_f64());
                    line(&mut text, name, "_count", &labels, &count);
                }
            }
        }
    }
    text
}

fn with(labels: &[String], more: String) -> Vec<String> {
    labels.iter().cloned().chain([more]).collect()
}

fn line(
    text: &mut String,
    name: &str,
    part: &str,
    labels: &[String],
    value: &dyn std::fmt::Display,
) {
    let labels = match labels {
        [] => String::new(),
        labels => format!("{{{}}}", labels.join(",")),
    };
    let _ = writeln!(text, "{name}{part}{labels} {value}");
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}
