//! A run: servers, a gateway, clients and faults for some time, then what is left, then the judgement.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::client::http::Http;
use crate::client::http_life::Conduct;
use crate::client::stdio_life::Local;
use crate::client::{Client, Era, Shared};
use crate::cuts::cut_responses;
use crate::faults::{HttpServer, inject};
use crate::gateway::{Gateway, metrics};
use crate::history::{Event, History, Moment};
use crate::judge::{Violation, figures, judge};
use crate::process::with_arguments;
use crate::seed::Seed;

/// Who uses the gateway over HTTP.
pub(crate) const PRINCIPALS: [&str; 3] = ["ada", "bob", "cyd"];
/// The servers that are child processes, and whether they are of the stateless era.
const CHILDREN: [(&str, bool); 2] = [("alpha", false), ("beta", true)];
/// The servers over HTTP.
const REMOTE: [(&str, bool); 2] = [("gamma", false), ("delta", true)];
/// How long what clients left behind may take to go: longer than a session may be idle.
const SETTLE: Duration = Duration::from_secs(60);
const SESSION_IDLE: u64 = 5;
/// How long the gateway keeps results that nobody uses.
const RESULT_IDLE: Duration = Duration::from_secs(4);
/// How often it is looked whether the gateway is within its limits.
const LOOK: Duration = Duration::from_millis(250);
/// From how many seconds on a run cuts responses at every byte.
const EVERY_BYTE: u64 = 300;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) gateway: PathBuf,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// Whether it is a soak.
    pub(crate) soak: bool,
    /// How many gateways there are, behind a balancer where there are several.
    pub(crate) replicas: usize,
}

/// What came of a run.
pub(crate) struct Report {
    pub(crate) counts: BTreeMap<&'static str, u64>,
    /// How often each fault was asked for or brought about.
    pub(crate) faults: BTreeMap<String, u64>,
    /// The median time of a plain call, in microseconds.
    pub(crate) median: u64,
    pub(crate) moments: usize,
    /// Further figures.
    pub(crate) lines: Vec<String>,
    pub(crate) violations: Vec<Violation>,
    /// Where the configuration, the logs and the history are, if they were kept.
    pub(crate) folder: Option<PathBuf>,
}

/// The servers and the gateway of a run, in a folder of their own.
pub(crate) struct World {
    pub(crate) folder: PathBuf,
    pub(crate) servers: Vec<HttpServer>,
    pub(crate) gateway: Gateway,
    pub(crate) port: u16,
    seed: Seed,
    plan: Plan,
}

pub(crate) fn token(principal: &str) -> String {
    format!("token-of-{principal}-0123456789abcdef")
}

/// The folder of a run.
pub(crate) fn new_folder() -> Result<PathBuf, String> {
    let folder = std::env::temp_dir().join(format!("crossfeed-history-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

/// The servers over HTTP.
pub(crate) async fn start_servers(
    folder: &Path,
    history: &Arc<History>,
    seed: &Seed,
) -> Result<Vec<HttpServer>, String> {
    let mut servers = Vec::new();
    for (name, stateless) in REMOTE {
        let seed = seed.fork(name);
        let history = Arc::clone(history);
        servers.push(HttpServer::start(name, stateless, folder, history, seed).await?);
    }
    Ok(servers)
}

impl World {
    pub(crate) async fn start(plan: &Plan, history: &Arc<History>) -> Result<Self, String> {
        let folder = new_folder()?;
        let seed = Seed::new(plan.seed);
        let servers = start_servers(&folder, history, &seed).await?;
        let configuration = configuration(&folder, &servers, true)?;
        let gateway = Gateway::start(&plan.gateway, &folder, "http", &configuration)
            .map_err(|error| error.to_string())?;
        let port = gateway.port().await?;
        Ok(World {
            folder,
            servers,
            gateway,
            port,
            seed,
            plan: plan.clone(),
        })
    }

    /// A client over HTTP.
    fn http(&self, shared: &Arc<Shared>, principal: &str, name: &str, era: Era) -> Arc<Http> {
        let name = format!("{principal}.{name}");
        let seed = self.seed.fork(&name);
        let client = Client::new(Arc::clone(shared), name, era, seed);
        Arc::new(Http::new(client, self.port, token(principal), false))
    }

    /// All clients over HTTP. Those without sessions have listed the tools: the connections that they share are kept for
    /// them (specs/gateway.md).
    pub(crate) async fn clients(&self, shared: &Arc<Shared>) -> Vec<Arc<Http>> {
        let mut clients = Vec::new();
        for principal in PRINCIPALS {
            for (name, era) in [
                ("web1", Era::Session),
                ("web2", Era::Session),
                ("web3", Era::Session),
                ("app1", Era::Stateless),
                ("app2", Era::Stateless),
            ] {
                let client = self.http(shared, principal, name, era);
                if era == Era::Stateless {
                    client.list().await;
                }
                clients.push(client);
            }
        }
        clients
    }

    /// Cuts responses at each byte; in a short run, at some bytes.
    async fn cut_responses(&self, clients: &[Arc<Http>]) {
        let eras = [Era::Session, Era::Stateless];
        let chosen = eras.map(|era| clients.iter().find(|client| client.client.era == era));
        let chosen: Vec<Arc<Http>> = chosen.into_iter().flatten().cloned().collect();
        for client in &chosen {
            client.begin().await;
            client.list().await;
        }
        let step = if self.plan.seconds < EVERY_BYTE {
            11
        } else {
            1
        };
        let first = self.seed.fork("cuts").below(step);
        cut_responses(&chosen, &REMOTE.map(|(name, _)| name), first, step).await;
        for client in &chosen {
            client.go(Conduct::Steady).await;
        }
    }

    /// A client that starts gateways of its own.
    fn local(&self, shared: &Arc<Shared>, name: &str, era: Era) -> Result<Local, String> {
        let seed = self.seed.fork(name);
        let client = Client::new(Arc::clone(shared), name.to_owned(), era, seed);
        Ok(Local {
            client: Arc::new(client),
            program: self.plan.gateway.clone(),
            folder: self.folder.clone(),
            configuration: configuration(&self.folder, &self.servers, false)?,
        })
    }

    /// What the gateway over HTTP holds: figures that must return to where they were.
    pub(crate) async fn figures(&self) -> Result<BTreeMap<String, i64>, String> {
        let usage = self.gateway.usage().ok_or("the gateway has ended")?;
        let mut figures = BTreeMap::from([
            ("descriptors".to_owned(), usage.descriptors),
            ("threads".to_owned(), usage.threads),
            ("processes".to_owned(), usage.children),
        ]);
        let series = metrics(self.port, &token(PRINCIPALS[0])).await;
        for metric in series.map_err(|error| format!("metrics: {error}"))? {
            if !metric.is_gauge {
                continue;
            }
            // A connection counts whether it is open or about to be opened again.
            let name = match metric.name.split_once(",state=") {
                Some((name, _)) => format!("{name}}}"),
                None => metric.name,
            };
            #[expect(clippy::cast_possible_truncation, reason = "gauges are whole numbers")]
            let value = metric.value as i64;
            *figures.entry(name).or_default() += value;
        }
        Ok(figures)
    }

    /// How often the gateway refused something, by what it had too little of.
    async fn refusals(&self) -> Vec<String> {
        let series = metrics(self.port, &token(PRINCIPALS[0])).await;
        let is_refusal = |name: &str| name.starts_with("crossfeed_") && name.contains("refus");
        let refusals = series.unwrap_or_default().into_iter();
        refusals
            .filter(|metric| is_refusal(&metric.name) && metric.value > 0.0)
            .map(|metric| format!("{:8} {}", metric.value, metric.name))
            .collect()
    }

    /// Waits until the gateway holds no more than before, and reports each figure as it is then.
    pub(crate) async fn settle(
        &mut self,
        clients: &[Arc<Http>],
        before: &BTreeMap<String, i64>,
        history: &History,
    ) {
        for client in clients {
            client.set_session(None);
        }
        let end = Instant::now() + SETTLE;
        let mut after = BTreeMap::new();
        while self.gateway.is_up(history) {
            after = self.figures().await.unwrap_or_default();
            let settled = after
                .iter()
                .all(|(name, value)| before.get(name).is_some_and(|was| value <= was));
            if settled && !after.is_empty() || Instant::now() > end {
                break;
            }
            sleep(Duration::from_millis(250)).await;
        }
        for (what, after) in after {
            history.add(Event::Measured {
                gateway: self.gateway.name.clone(),
                before: before.get(&what).copied().unwrap_or(0),
                what,
                after,
            });
        }
    }
}

/// The gateway's configuration. Its limits are small, so that they are reached.
pub(crate) fn configuration(
    folder: &Path,
    servers: &[HttpServer],
    listens: bool,
) -> Result<Value, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut configured = serde_json::Map::new();
    for (name, stateless) in CHILDREN {
        let log = folder.join(format!("{name}.ran"));
        let mut arguments = vec![
            json!("serve"),
            json!("--name"),
            json!(name),
            json!("--log"),
            json!(log),
        ];
        arguments.extend(stateless.then(|| json!("--stateless")));
        let server = json!({"command": program, "args": arguments, "timeout": "5 s"});
        configured.insert(name.to_owned(), server);
    }
    for server in servers {
        let entry = json!({"url": server.proxy.url(), "timeout": "5 s"});
        configured.insert(server.name.to_owned(), entry);
    }
    let mut whole = json!({"mcpServers": configured});
    if listens {
        let tokens = PRINCIPALS.map(|name| (name.to_owned(), Value::from(token(name))));
        whole["listen"] = "127.0.0.1:0".into();
        whole["tokens"] = Value::Object(tokens.into_iter().collect());
        whole["limits"] = json!({
            "sessions": 12,
            "sessionIdle": format!("{SESSION_IDLE} s"),
            "requestsPerClient": 16,
            "memoryBytes": "3 MiB",
            "messageBytes": "512 KiB",
            "totalBytes": "1 MiB",
            "sessionBytes": "256 KiB",
            "resultIdle": format!("{} s", RESULT_IDLE.as_secs()),
            "processes": 14,
        });
    }
    Ok(whole)
}

/// Lets clients live until `end`.
pub(crate) async fn drive(clients: &[Arc<Http>], end: Instant) -> Result<(), String> {
    let mut living = JoinSet::new();
    for client in clients {
        living.spawn(Arc::clone(client).live(end, Conduct::Steady));
    }
    join(living).await
}

pub(crate) async fn join(mut clients: JoinSet<()>) -> Result<(), String> {
    while let Some(lived) = clients.join_next().await {
        lived.map_err(|error| format!("a client of the run failed: {error}"))?;
    }
    Ok(())
}

/// Runs and judges.
pub(crate) async fn run(plan: &Plan) -> Result<Report, String> {
    let history = Arc::new(History::default());
    let shared = Arc::new(Shared::new(Arc::clone(&history)));
    let mut world = World::start(plan, &history).await?;
    let remote = world.clients(&shared).await;
    let before = world.figures().await?;
    world.cut_responses(&remote).await;
    let end = Instant::now() + Duration::from_secs(plan.seconds);
    let mut clients = JoinSet::new();
    for client in &remote {
        clients.spawn(Arc::clone(client).live(end, Conduct::Faulty));
    }
    let looks = tokio::spawn(look(world.port, end));
    for (name, era) in [("eve.line", Era::Session), ("fay.line", Era::Stateless)] {
        clients.spawn(world.local(&shared, name, era)?.live(end));
    }
    let folder = world.folder.to_string_lossy().into_owned();
    let seed = world.seed.fork("faults");
    let children = CHILDREN.map(|(name, _)| name);
    let gateway = world.gateway.id();
    inject(
        &shared,
        &mut world.servers,
        &children,
        gateway,
        &folder,
        &seed,
        end,
    )
    .await?;
    join(clients).await?;
    for (what, (value, limit)) in looks.await.unwrap_or_default() {
        let what = format!("the most of {what}");
        history.add(Event::Bounded { what, value, limit });
    }
    world.settle(&remote, &before, &history).await;
    let refusals = world.refusals().await;
    let mut report = finish(world, history, &shared).await?;
    report.lines.extend(refusals);
    Ok(report)
}

/// What the gateway had most of until `end`, and how much it may have.
async fn look(port: u16, end: Instant) -> BTreeMap<&'static str, (i64, i64)> {
    const LIMITED: [(&str, &str); 2] = [
        (
            "crossfeed_memory_held_bytes",
            "crossfeed_memory_limit_bytes",
        ),
        ("crossfeed_processes", "crossfeed_processes_limit"),
    ];
    let mut most = BTreeMap::new();
    while Instant::now() < end {
        sleep(LOOK).await;
        // Without a descriptor for a while, nobody looks.
        let Ok(series) = metrics(port, &token(PRINCIPALS[0])).await else {
            continue;
        };
        for (name, limit) in LIMITED {
            let value = |name| series.iter().find(|metric| metric.name == name);
            if let (Some(value), Some(limit)) = (value(name), value(limit)) {
                #[expect(clippy::cast_possible_truncation, reason = "gauges are whole numbers")]
                let (value, limit) = (value.value as i64, limit.value as i64);
                let most = most.entry(name).or_insert((0, limit));
                most.0 = most.0.max(value);
            }
        }
    }
    most
}

/// Ends the gateway and the servers, and judges.
pub(crate) async fn finish(
    world: World,
    history: Arc<History>,
    shared: &Shared,
) -> Result<Report, String> {
    let World {
        folder,
        servers,
        mut gateway,
        ..
    } = world;
    gateway.stop(&history).await;
    conclude(&folder, servers, history, shared)
}

/// Ends the servers, reads their logs, and judges.
pub(crate) fn conclude(
    folder: &Path,
    servers: Vec<HttpServer>,
    history: Arc<History>,
    shared: &Shared,
) -> Result<Report, String> {
    drop(servers);
    let name = folder.to_string_lossy().into_owned();
    let left = CHILDREN.map(|(child, _)| {
        let running = with_arguments(&[&name, &format!("--name {child} ")]);
        i64::try_from(running.len()).unwrap_or(i64::MAX)
    });
    history.add(Event::Measured {
        gateway: "all".to_owned(),
        what: "servers without a gateway".to_owned(),
        before: 0,
        after: left.iter().sum(),
    });
    for (server, _) in CHILDREN.iter().chain(&REMOTE) {
        read_log(&folder.join(format!("{server}.ran")), &history)
            .map_err(|error| format!("log of {server}: {error}"))?;
    }
    let counts = shared.counts();
    let moments = history.take().into_moments();
    let violations = judge(&moments);
    let mut faults = BTreeMap::new();
    let mut lines = figures(&moments);
    for moment in &moments {
        if let Event::Measured {
            gateway,
            what,
            before,
            after,
        } = &moment.event
        {
            lines.push(format!("{gateway}: {what}: {before} before, {after} after"));
        }
        if let Event::Asked {
            fault: Some(fault), ..
        } = &moment.event
        {
            *faults.entry(format!("asked for: {fault}")).or_default() += 1;
        }
        if let Event::Injected { fault, .. } = &moment.event {
            *faults.entry(format!("brought about: {fault}")).or_default() += 1;
        }
    }
    let kept = keep_or_remove(folder, &moments, violations.is_empty());
    Ok(Report {
        counts,
        median: median(shared.take_times().into_iter().map(|(_, took)| took)),
        faults,
        moments: moments.len(),
        lines,
        violations,
        folder: kept.map_err(|error| error.to_string())?,
    })
}

/// The median, or 0 of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.into_iter().collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Removes the folder of a sound run; of another, writes the history into it.
fn keep_or_remove(folder: &Path, moments: &[Moment], sound: bool) -> io::Result<Option<PathBuf>> {
    if sound {
        fs::remove_dir_all(folder)?;
        return Ok(None);
    }
    let lines: Vec<String> = moments.iter().map(Moment::to_string).collect();
    fs::write(folder.join("history.txt"), lines.join("\n"))?;
    Ok(Some(folder.to_owned()))
}

/// Adds what a server wrote down.
fn read_log(log: &Path, history: &History) -> io::Result<()> {
    let text = match fs::read_to_string(log) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line)?;
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let number = |name: &str| entry[name].as_u64().unwrap_or(0);
        let process = u32::try_from(number("process")).unwrap_or(0);
        let event = if entry.get("ran").is_some() {
            Event::Ran {
                key: text("ran"),
                server: text("server"),
                process,
            }
        } else if entry.get("noted").is_some() {
            Event::Noted {
                client: text("noted"),
                session: number("session"),
                number: number("number"),
                server: text("server"),
                process,
                connection: text("connection"),
            }
        } else {
            continue;
        };
        history.add_at(number("at"), event);
    }
    Ok(())
}
