//! Logs what a child writes to its standard error, line by line, at a level that is shown.

use crate::upstream::printable::printable;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt};

/// How much of a line is logged; the rest is passed over.
const MAX_LINE_BYTES: usize = 4 << 10;

/// Logs until the end.
pub(super) async fn run(server: Arc<str>, mut stderr: impl AsyncRead + Unpin) {
    let mut chunk = [0; 4 << 10];
    let mut line = Vec::new();
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let mut lines = chunk[..read].split(|byte| *byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            // One byte more than is shown, so that it shows that there is more.
            let room = (MAX_LINE_BYTES + 1).saturating_sub(line.len());
            line.extend_from_slice(&part[..part.len().min(room)]);
            if lines.peek().is_some() {
                write(&server, &mut line);
            }
        }
    }
    write(&server, &mut line);
}

fn write(server: &str, line: &mut Vec<u8>) {
    let text = printable(line.trim_ascii_end(), MAX_LINE_BYTES);
    if !text.is_empty() {
        tracing::info!(target: "crossfeed::gateway::server", server, "{text}");
    }
    line.clear();
}
