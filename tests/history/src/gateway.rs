//! The gateway under test, as a process.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::{sleep, timeout};

use crate::history::{Event, History};
use crate::process::{self, Usage};
use crate::wire::{read_body, read_head};

/// How long the gateway may take to begin, and to end.
const START_TIMEOUT: Duration = Duration::from_secs(60);
const STOP_TIMEOUT: Duration = Duration::from_secs(60);

/// A running gateway.
pub(crate) struct Gateway {
    pub(crate) name: String,
    child: Child,
    log: PathBuf,
}

impl Gateway {
    /// Starts the gateway with this configuration. `folder` takes the configuration and the log.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        name: &str,
        configuration: &Value,
    ) -> io::Result<Self> {
        let file = folder.join(format!("{name}.json"));
        fs::write(&file, configuration.to_string())?;
        let log = folder.join(format!("{name}.log"));
        let child = Command::new(program)
            // Else glibc's allocator keeps for each thread what it once needed, and memory rises whenever a thread more works
            // at once: what the gateway holds could not be told from it.
            .env("MALLOC_ARENA_MAX", "1")
            .args(["gateway", "--log", "info", "--config"])
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log)?)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Gateway {
            name: name.to_owned(),
            child,
            log,
        })
    }

    /// Its standard input and output, once.
    pub(crate) fn pipes(&mut self) -> Option<(ChildStdin, BufReader<ChildStdout>)> {
        let input = self.child.stdin.take()?;
        Some((input, BufReader::new(self.child.stdout.take()?)))
    }

    /// The port that it serves HTTP on.
    pub(crate) async fn port(&self) -> Result<u16, String> {
        const LINE: &str = "serving on http://127.0.0.1:";
        let found = timeout(START_TIMEOUT, async {
            loop {
                let log = self.read_log();
                let rest = log.split_once(LINE).map(|(_, rest)| rest);
                if let Some((port, _)) = rest.and_then(|rest| rest.split_once('/')) {
                    return port.parse().ok();
                }
                self.usage()?;
                sleep(Duration::from_millis(20)).await;
            }
        });
        let port = found.await.ok().flatten();
        port.ok_or_else(|| format!("{} does not serve:\n{}", self.name, self.read_log()))
    }

    /// Its process, or 0 where it has ended.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().unwrap_or(0)
    }

    /// What its process holds, or nothing where it has ended.
    pub(crate) fn usage(&self) -> Option<Usage> {
        Usage::of(self.child.id()?).ok()
    }

    pub(crate) fn read_log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reports it if the gateway has ended. Gives whether it still runs.
    pub(crate) fn is_up(&mut self, history: &History) -> bool {
        match self.child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) => {
                self.report_end(history, &status.to_string(), false);
                false
            }
            Err(error) => {
                self.report_end(history, &error.to_string(), false);
                false
            }
        }
    }

    /// Kills it (`SIGKILL`). What it says before is reported, and that it had ended, if so.
    pub(crate) async fn kill(&mut self, history: &History) {
        if self.is_up(history) {
            // It is gone already where this fails.
            let _ = self.child.kill().await;
            self.report_panics(history);
        }
    }

    /// Asks it to end (`SIGTERM`), and reports how it did.
    pub(crate) async fn stop(&mut self, history: &History) {
        if !self.is_up(history) {
            return;
        }
        if let Some(id) = self.child.id() {
            process::signal(id, Signal::TERM);
        }
        self.wait(history).await;
    }

    /// Waits for the end that it was asked for, and reports how it was.
    pub(crate) async fn wait(&mut self, history: &History) {
        let status = match timeout(STOP_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => {
                // The next one needs its port.
                let _ = self.child.kill().await;
                format!("still there after {STOP_TIMEOUT:?}")
            }
        };
        self.report_end(history, &status, true);
    }

    fn report_end(&self, history: &History, status: &str, expected: bool) {
        history.add(Event::GatewayEnded {
            gateway: self.name.clone(),
            status: status.to_owned(),
            expected,
        });
        self.report_panics(history);
    }

    fn report_panics(&self, history: &History) {
        for line in self.read_log().lines().filter(|line| is_panic(line)) {
            history.add(Event::Panicked {
                gateway: self.name.clone(),
                line: line.to_owned(),
            });
        }
    }
}

/// A panic's own line, and not what a server says about a panic.
fn is_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains("panicked")
}

/// The figures at `/metrics`, each with its labels.
pub(crate) async fn metrics(port: u16, token: &str) -> io::Result<Vec<Metric>> {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).await?);
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.get_mut().write_all(request.as_bytes()).await?;
    let head = read_head(&mut stream).await?.unwrap_or_default();
    let body = read_body(&mut stream, head.framing()).await?;
    Ok(parse(&String::from_utf8_lossy(&body)))
}

/// One series.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Metric {
    /// The name with its labels.
    pub(crate) name: String,
    pub(crate) is_gauge: bool,
    pub(crate) value: f64,
}

fn parse(text: &str) -> Vec<Metric> {
    let gauges: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" gauge"))
        .collect();
    let series = text.lines().filter(|line| !line.starts_with('#'));
    series
        .filter_map(|line| {
            let (name, value) = line.rsplit_once(' ')?;
            let family = name.split('{').next()?;
            Some(Metric {
                name: name.to_owned(),
                is_gauge: gauges.contains(&family),
                value: value.parse().ok()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Metric, is_panic, parse};

    #[test]
    fn gauges_are_told_from_counters() {
        let text = "# HELP a A.\n# TYPE a gauge\na{x=\"1 2\"} 3\n# TYPE b counter\nb 4\n";
        let metric = |name: &str, is_gauge, value| Metric {
            name: name.into(),
            is_gauge,
            value,
        };
        assert_eq!(
            parse(text),
            [metric("a{x=\"1 2\"}", true, 3.0), metric("b", false, 4.0)]
        );
    }

    #[test]
    fn a_panic_is_recognised() {
        assert!(is_panic(
            "thread 'tokio-runtime-worker' (7) panicked at src/a.rs:1:1:"
        ));
        assert!(!is_panic("server `a`: thread 'main' panicked at b.rs"));
    }
}
