//! Keeps the last lines that each server prints on standard error for `--check`: they usually say why a server cannot be
//! reached. The lines come from the events by which the gateway logs them.

use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::Arc,
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::layer::{Context, Layer};

/// The target of events with lines of servers.
const TARGET: &str = "crossfeed::gateway::server";
/// Lines of a server.
const MAX_LINES: usize = 10;
/// Characters of a line.
const MAX_LINE_CHARS: usize = 300;

/// The last lines of servers.
#[derive(Clone, Default)]
pub(super) struct ServerStderr(Arc<Mutex<BTreeMap<String, VecDeque<String>>>>);

impl ServerStderr {
    /// Whether events of this target are lines of servers.
    pub(super) fn is_of_a_server(target: &str) -> bool {
        target == TARGET
    }

    /// The last lines of a server.
    pub(super) fn of(&self, server: &str) -> Vec<String> {
        let stderr = self.0.lock();
        let lines = stderr.get(server);
        lines.map_or_else(Vec::new, |lines| lines.iter().cloned().collect())
    }
}

impl<S: Subscriber> Layer<S> for ServerStderr {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !Self::is_of_a_server(event.metadata().target()) {
            return;
        }
        let mut line = Line::default();
        event.record(&mut line);
        let mut stderr = self.0.lock();
        let lines = stderr.entry(line.server).or_default();
        if lines.len() == MAX_LINES {
            lines.pop_front();
        }
        lines.push_back(line.text);
    }
}

/// A line of a server.
#[derive(Default)]
struct Line {
    server: String,
    text: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "server" {
            value.clone_into(&mut self.server);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            let text = format!("{value:?}");
            self.text = match text.char_indices().nth(MAX_LINE_CHARS) {
                Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
                None => text,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LINES, ServerStderr};
    use tracing_subscriber::layer::SubscriberExt;

    #[test]
    fn the_last_lines_of_each_server_are_kept() {
        let stderr = ServerStderr::default();
        let subscriber = tracing_subscriber::registry().with(stderr.clone());
        tracing::subscriber::with_default(subscriber, || {
            for line in 0..MAX_LINES + 5 {
                tracing::info!(target: "crossfeed::gateway::server", server = "a", "line {line}");
            }
            tracing::info!(target: "crossfeed::gateway::server", server = "b", "{}", "é".repeat(500));
            tracing::info!(target: "crossfeed::gateway", server = "b", "not its own");
        });
        let lines = stderr.of("a");
        assert_eq!((lines.len(), lines[0].as_str()), (MAX_LINES, "line 5"));
        let lines = stderr.of("b");
        assert_eq!((lines.len(), lines[0].chars().count()), (1, 301));
        assert!(stderr.of("c").is_empty());
    }
}
