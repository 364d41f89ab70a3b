//! The text format of Prometheus, version 0.0.4.

use super::{Families, Histogram, Series};
use crossfeed_store::LATENCY_BOUNDS;
use std::{
    fmt::{Display, Write as _},
    sync::atomic::Ordering,
    time::Duration,
};

/// Writes all families, by name.
pub(super) fn write(families: &Families) -> String {
    let mut text = String::new();
    for (family, series) in families {
        let name = family.name;
        let kind: &str = family.kind.into();
        let _ = writeln!(text, "# HELP {name} {}", family.help);
        let _ = writeln!(text, "# TYPE {name} {kind}");
        for (values, value) in series {
            let labels = family.labels.iter().zip(values);
            let labels: Vec<String> = labels
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            match value {
                Series::Number(counter) => line(&mut text, name, &labels, counter.value()),
                Series::Durations(histogram) => durations(&mut text, name, &labels, histogram),
            }
        }
    }
    text
}

fn durations(text: &mut String, name: &str, labels: &[String], histogram: &Histogram) {
    let durations = &*histogram.0;
    let bounds = LATENCY_BOUNDS.map(|bound| bound.as_secs_f64().to_string());
    let bounds = bounds.iter().map(String::as_str).chain(["+Inf"]);
    let mut count = 0;
    for (bound, here) in bounds.zip(&durations.buckets) {
        count += here.load(Ordering::Relaxed);
        let labels = [labels, &[format!("le=\"{bound}\"")]].concat();
        line(text, &format!("{name}_bucket"), &labels, count);
    }
    let time = Duration::from_nanos(durations.nanoseconds.load(Ordering::Relaxed));
    line(text, &format!("{name}_sum"), labels, time.as_secs_f64());
    line(text, &format!("{name}_count"), labels, count);
}

fn line(text: &mut String, name: &str, labels: &[String], value: impl Display) {
    let labels = match labels {
        [] => String::new(),
        labels => format!("{{{}}}", labels.join(",")),
    };
    let _ = writeln!(text, "{name}{labels} {value}");
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}
