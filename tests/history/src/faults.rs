//! Faults from outside: servers that are killed, stopped and started again, connections that are refused.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::client::Shared;
use crate::history::{Event, History};
use crate::judge::SCARCE;
use crate::process::{limit_descriptors, restore_descriptors, signal, with_arguments};
use crate::proxy::Proxy;
use crate::seed::Seed;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A server over HTTP, behind its proxy.
pub(crate) struct HttpServer {
    pub(crate) name: &'static str,
    pub(crate) proxy: Arc<Proxy>,
    stateless: bool,
    log: PathBuf,
    child: Child,
}

impl HttpServer {
    pub(crate) async fn start(
        name: &'static str,
        stateless: bool,
        folder: &Path,
        history: Arc<History>,
        seed: Seed,
    ) -> Result<Self, String> {
        let log = folder.join(format!("{name}.ran"));
        let (child, port) = Self::process(name, stateless, &log).await?;
        let proxy = Proxy::start(name, port, history, seed).await;
        Ok(HttpServer {
            name,
            proxy: proxy.map_err(|error| error.to_string())?,
            stateless,
            log,
            child,
        })
    }

    async fn process(name: &str, stateless: bool, log: &Path) -> Result<(Child, u16), String> {
        let failed = |error: std::io::Error| format!("server {name}: {error}");
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--name", name, "--log"])
            .arg(log)
            .args(stateless.then_some("--stateless"))
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        let mut output = BufReader::new(output);
        let read = timeout(START_TIMEOUT, output.read_line(&mut line)).await;
        read.map_err(|_| format!("server {name} does not start"))?
            .map_err(failed)?;
        let port = line.trim_end().rsplit(':').next();
        let port = port.and_then(|port| port.parse().ok());
        Ok((child, port.ok_or("no port")?))
    }

    async fn restart(&mut self, away: Duration) -> Result<(), String> {
        // It is gone already where this fails.
        let _ = self.child.kill().await;
        sleep(away).await;
        let (child, port) = Self::process(self.name, self.stateless, &self.log).await?;
        self.child = child;
        self.proxy.lead_to(port);
        Ok(())
    }
}

/// Brings about faults until `end`. Afterwards every server runs, and no connection is cut.
pub(crate) async fn inject(
    shared: &Shared,
    servers: &mut [HttpServer],
    stdio: &[&str],
    gateway: u32,
    folder: &str,
    seed: &Seed,
    end: Instant,
) -> Result<(), String> {
    for server in servers.iter() {
        server.proxy.cut(true);
    }
    while Instant::now() < end {
        sleep(Duration::from_millis(100 + seed.below(900))).await;
        let note = |fault: &'static str, target: &str| {
            shared.count(fault);
            shared.history.add(Event::Injected {
                fault: fault.to_owned(),
                target: target.to_owned(),
            });
        };
        let index = usize::try_from(seed.below(servers.len() as u64)).unwrap_or(0);
        match seed.below(11) {
            0..4 => {
                let Some(name) = seed.pick(stdio) else {
                    continue;
                };
                let running = with_arguments(&[folder, &format!("--name {name} ")]);
                if let Some(process) = seed.pick(&running) {
                    note("fault: child killed", name);
                    signal(*process, Signal::KILL);
                }
            }
            4..6 => {
                let Some(name) = seed.pick(stdio) else {
                    continue;
                };
                let running = with_arguments(&[folder, &format!("--name {name} ")]);
                if let Some(process) = seed.pick(&running) {
                    note("fault: child stopped", name);
                    pause(*process, Duration::from_millis(seed.below(4_000))).await;
                }
            }
            6 => {
                let server = &servers[index];
                note("fault: server over HTTP stopped", server.name);
                let process = server.child.id().unwrap_or(0);
                pause(process, Duration::from_millis(seed.below(1_500))).await;
            }
            7 | 8 => {
                let server = &mut servers[index];
                note(
                    "fault: server over HTTP killed and started again",
                    server.name,
                );
                server
                    .restart(Duration::from_millis(seed.below(1_000)))
                    .await?;
            }
            9 => {
                note(SCARCE, "");
                let limit = limit_descriptors(gateway, seed.below(8));
                sleep(Duration::from_millis(seed.below(1_500))).await;
                if let Some(limit) = limit {
                    restore_descriptors(gateway, limit);
                }
            }
            _ => {
                let server = &servers[index];
                note("fault: connections refused", server.name);
                server.proxy.refuse(true);
                sleep(Duration::from_millis(seed.below(1_500))).await;
                server.proxy.refuse(false);
            }
        }
    }
    for server in servers.iter() {
        server.proxy.cut(false);
    }
    Ok(())
}

/// Stops a process for so long.
pub(crate) async fn pause(process: u32, time: Duration) {
    signal(process, Signal::STOP);
    sleep(time).await;
    signal(process, Signal::CONT);
}
