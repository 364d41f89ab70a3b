//! A server on standard input and output.

use std::io::{self, BufRead as _, Write as _};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::Server;
use super::tools::Wish;

/// Serves one client until its end.
pub(super) async fn serve(server: Arc<Server>) -> io::Result<()> {
    let (sender, mut lines) = mpsc::unbounded_channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.map(|line| sender.send(line)).is_err() {
                break;
            }
        }
    });
    while let Some(line) = lines.recv().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            continue;
        };
        let Some(method) = message["method"].as_str() else {
            continue;
        };
        let id = &message["id"];
        if id.is_null() {
            server.note(&message, "")?;
        } else if method == "tools/call" {
            tokio::spawn(call(Arc::clone(&server), message));
        } else {
            let answer = server.answer(id, method, &message["params"]);
            write(answer.to_string().as_bytes(), true)?;
        }
    }
    Ok(())
}

async fn call(server: Arc<Server>, message: Value) -> io::Result<()> {
    let params = &message["params"];
    let wish = Wish::of(params);
    if wish.fault == "die-before" {
        std::process::exit(3);
    }
    server.ran(&wish)?;
    for progress in wish.progress_messages(params) {
        write(progress.to_string().as_bytes(), true)?;
    }
    sleep(Duration::from_millis(wish.delay)).await;
    let answer = server.called(&message["id"], &wish, params).to_string();
    match wish.fault.as_str() {
        "die-after" => std::process::exit(3),
        "cut-after" => {
            let half = &answer.as_bytes()[..answer.len() / 2];
            write(half, false)?;
            std::process::exit(3);
        }
        "silent-after" => Ok(()),
        "invalid-after" => {
            let broken = answer.trim_end_matches('}');
            write(broken.as_bytes(), true)
        }
        _ => write(answer.as_bytes(), true),
    }
}

/// Writes at once, and waits where the gateway does not read.
fn write(bytes: &[u8], whole: bool) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    if whole {
        output.write_all(b"\n")?;
    }
    output.flush()
}
