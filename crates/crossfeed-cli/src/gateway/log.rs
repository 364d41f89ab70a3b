//! Writes events to standard error, one line each, as text or as JSON: those of the gateway, and the lines that servers print
//! on their standard error. Control characters are escaped, long texts cut; no event carries payload.
//!
//! A slow reader of standard error does not hold up the gateway: a thread writes the lines from a bounded queue, and lines
//! that do not fit are counted.

use crate::cli::LogFormat;
use chrono::{DateTime, SecondsFormat};
use crossfeed::error::printable;
use serde_json::{Map, Value};
use std::{
    fmt,
    io::{self, Write},
    sync::{
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tracing::{
    Event, Level as TracingLevel, Subscriber,
    field::{Field, Visit},
    level_filters::LevelFilter,
};
use tracing_subscriber::layer::{Context, Layer};

const MAX_QUEUED_LINES: usize = 4096;
/// Longer texts are cut.
const MAX_TEXT_BYTES: usize = 4096;
/// How long the last lines may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

enum Job {
    Line(String),
    /// Answered when everything before it was written.
    Flush(SyncSender<()>),
}

/// The queue of the thread that writes the log.
#[derive(Clone)]
pub(super) struct Lines(SyncSender<Job>);

impl Lines {
    /// Waits until the queued lines are written, up to a limit.
    pub(super) fn flush(&self) {
        let (done, wait) = mpsc::sync_channel(1);
        if self.0.try_send(Job::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// The layer that writes events.
pub(super) struct Log {
    format: LogFormat,
    level: LevelFilter,
    lines: Lines,
    left_out: AtomicU64,
}

impl Log {
    /// A log on standard error, and its queue.
    pub(super) fn start(format: LogFormat, level: LevelFilter) -> io::Result<(Self, Lines)> {
        let (lines, jobs) = mpsc::sync_channel(MAX_QUEUED_LINES);
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || write(&jobs, &mut io::stderr()))?;
        let lines = Lines(lines);
        let log = Self {
            format,
            level,
            lines: lines.clone(),
            left_out: AtomicU64::new(0),
        };
        Ok((log, lines))
    }
}

fn write(jobs: &Receiver<Job>, out: &mut dyn Write) {
    for job in jobs {
        match job {
            // An error of the log cannot be reported anywhere.
            Job::Line(line) => drop(out.write_all(line.as_bytes())),
            Job::Flush(done) => drop(done.try_send(())),
        }
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        // Other layers may take more events.
        if *metadata.level() > self.level {
            return;
        }
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let left_out = self.left_out.swap(0, Ordering::Relaxed);
        if left_out > 0 {
            fields
                .0
                .insert("lines_left_out".to_owned(), left_out.into());
        }
        let now = SystemTime::now();
        let (level, target) = (metadata.level(), metadata.target());
        let line = line(self.format, now, level, target, fields.0);
        if self.lines.0.try_send(Job::Line(line)).is_err() {
            self.left_out.fetch_add(left_out + 1, Ordering::Relaxed);
        }
    }
}

fn line(
    format: LogFormat,
    now: SystemTime,
    level: &TracingLevel,
    target: &str,
    mut fields: Map<String, Value>,
) -> String {
    let time = rfc3339(now);
    let message = fields.shift_remove("message").unwrap_or_default();
    match format {
        LogFormat::Json => {
            let mut object = Map::with_capacity(fields.len() + 4);
            object.insert("time".to_owned(), time.into());
            object.insert("level".to_owned(), level.as_str().to_lowercase().into());
            object.insert("target".to_owned(), target.into());
            object.insert("message".to_owned(), message);
            for (name, value) in fields {
                object.entry(name).or_insert(value);
            }
            format!("{}\n", Value::Object(object))
        }
        LogFormat::Text => {
            let target = target.strip_prefix("crossfeed_").unwrap_or(target);
            let mut line = format!("{time} {:<5} {target}: ", level.as_str());
            line.push_str(&plain(&message, false));
            for (name, value) in &fields {
                line.push_str(&format!(" {name}={}", plain(value, true)));
            }
            line.push('\n');
            line
        }
    }
}

/// A value in a line of text: control characters are escaped, and `quoted` texts with blanks or signs are in quotes.
fn plain(value: &Value, quoted: bool) -> String {
    let Value::String(text) = value else {
        return value.to_string();
    };
    if quoted && (text.is_empty() || text.contains([' ', '"', '='])) {
        return format!("{text:?}");
    }
    printable(text).into_owned()
}

/// The fields of an event, in order.
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        let name = field.name().strip_prefix("r#").unwrap_or(field.name());
        self.0.insert(name.to_owned(), value.into());
    }

    fn text(&mut self, field: &Field, text: &str) {
        let mut end = MAX_TEXT_BYTES.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (shown, rest) = text.split_at(end);
        let shown = match rest.len() {
            0 => shown.to_owned(),
            more => format!("{shown}… ({more} bytes more)"),
        };
        self.put(field, shown);
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }
}

/// A time in RFC 3339, in UTC, to the millisecond.
fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let time = DateTime::from_timestamp_millis(millis).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::{Job, Lines, Log, line, rfc3339};
    use crate::cli::LogFormat;
    use serde_json::{Map, Value, json};
    use std::{
        sync::{atomic::AtomicU64, mpsc},
        time::{Duration, UNIX_EPOCH},
    };
    use tracing::{Level, level_filters::LevelFilter};
    use tracing_subscriber::layer::SubscriberExt;

    fn check(seconds: u64, expected: &str) {
        let time = UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(rfc3339(time), format!("{expected}.000Z"));
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        check(0, "1970-01-01T00:00:00");
        check(68_169_599, "1972-02-28T23:59:59");
        check(68_169_600, "1972-02-29T00:00:00");
        check(951_868_800, "2000-03-01T00:00:00");
        check(1_767_225_599, "2025-12-31T23:59:59");
        check(4_107_542_400, "2100-03-01T00:00:00");
    }

    fn fields() -> Map<String, Value> {
        let fields =
            json!({"server": "a b", "message": "it\u{1b}[31m\nended", "count": 3, "x": "y"});
        fields.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_line_is_one_line() {
        let text = line(
            LogFormat::Text,
            UNIX_EPOCH,
            &Level::WARN,
            "crossfeed_gateway::hub",
            fields(),
        );
        assert_eq!(
            text,
            "1970-01-01T00:00:00.000Z WARN  gateway::hub: it\\u{1b}[31m\\nended server=\"a b\" count=3 x=y\n"
        );
        let json = line(LogFormat::Json, UNIX_EPOCH, &Level::WARN, "t", fields());
        assert_eq!(json.lines().count(), 1);
        let value: Value = serde_json::from_str(&json).expect("it is JSON");
        assert_eq!(value["level"], "warn");
        assert_eq!(value["message"], "it\u{1b}[31m\nended");
        assert_eq!(value["count"], 3);
    }

    /// The pipe is not read: lines that do not fit are counted, and the next line that fits gives their number.
    #[test]
    fn a_log_that_nobody_reads_holds_nobody_up() {
        let (lines, jobs) = mpsc::sync_channel(2);
        let log = Log {
            format: LogFormat::Json,
            level: LevelFilter::INFO,
            lines: Lines(lines),
            left_out: AtomicU64::new(0),
        };
        let subscriber = tracing_subscriber::registry().with(log);
        let long = "é".repeat(5000);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(%long, "one");
            for _ in 0..5 {
                tracing::info!("more");
            }
            let Ok(Job::Line(first)) = jobs.recv() else {
                panic!("a line");
            };
            assert!(first.contains("… (5904 bytes more)"), "{first}");
            tracing::info!("last");
            let _second = jobs.recv();
            let Ok(Job::Line(last)) = jobs.recv() else {
                panic!("a line");
            };
            assert!(last.contains("\"lines_left_out\":4"), "{last}");
        });
    }
}
