//! A run with several replicas of the gateway over one Redis, behind a balancer, while replicas are killed, paused and
//! stopped. At least one replica is left alone at any time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossfeed_redis_servers::{Server, free_port};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::client::http::Http;
use crate::client::{Client, Era, Shared};
use crate::faults::pause;
use crate::gateway::Gateway;
use crate::history::{Event, History};
use crate::judge::{DEAD_AFTER, ENDED, KILLED, PAUSED_LONG, REPLICA};
use crate::round_robin::{RoundRobin, Upstream};
use crate::run::{
    PRINCIPALS, Plan, Report, conclude, configuration, join, new_folder, start_servers, token,
};
use crate::seed::Seed;

/// The clients of each principal.
const CLIENTS: [(&str, Era); 3] = [
    ("web1", Era::Session),
    ("web2", Era::Session),
    ("app1", Era::Stateless),
];
/// Times between faults of one replica, of a pause, and until a replica is started again, in milliseconds.
const BETWEEN: std::ops::Range<u64> = 500..6_000;
const PAUSE: std::ops::Range<u64> = 2_000..12_000;
const AWAY: std::ops::Range<u64> = 0..3_000;
/// How long a replica may take until it is ready.
const READY: Duration = Duration::from_secs(60);

/// A replica and its place behind the balancer.
struct Replica {
    program: PathBuf,
    folder: PathBuf,
    configuration: Value,
    upstream: Arc<Upstream>,
    /// How often it was started.
    starts: u32,
    gateway: Gateway,
}

impl Replica {
    async fn start(
        program: &Path,
        folder: &Path,
        configuration: Value,
        upstream: Arc<Upstream>,
    ) -> Result<Self, String> {
        let gateway = start(program, folder, &upstream, 0, &configuration).await?;
        Ok(Self {
            program: program.to_owned(),
            folder: folder.to_owned(),
            configuration,
            upstream,
            starts: 1,
            gateway,
        })
    }

    /// Starts it again, once it has ended.
    async fn restart(&mut self) -> Result<(), String> {
        let number = self.starts;
        self.starts += 1;
        self.gateway = start(
            &self.program,
            &self.folder,
            &self.upstream,
            number,
            &self.configuration,
        )
        .await?;
        Ok(())
    }

    async fn is_ready(&self) -> Result<(), String> {
        let end = Instant::now() + READY;
        while !self.upstream.is_ready() {
            if Instant::now() > end {
                let log = self.gateway.read_log();
                return Err(format!("{} is not ready:\n{log}", self.upstream.name));
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    /// Brings about faults until `end`, each with a permit. Afterwards the replica runs.
    async fn disturb(
        mut self,
        shared: Arc<Shared>,
        permits: Arc<Semaphore>,
        seed: Seed,
        end: Instant,
    ) -> Result<Self, String> {
        let draw = |range: std::ops::Range<u64>| {
            Duration::from_millis(range.start + seed.below(range.end - range.start))
        };
        loop {
            sleep(draw(BETWEEN)).await;
            let permit = permits.acquire().await.map_err(|error| error.to_string())?;
            if Instant::now() >= end {
                return Ok(self);
            }
            let note = |fault: &'static str| {
                shared.count(fault);
                shared.history.add(Event::Injected {
                    fault: fault.to_owned(),
                    target: self.upstream.name.clone(),
                });
            };
            match seed.below(3) {
                0 => {
                    note(KILLED);
                    self.gateway.kill(&shared.history).await;
                    sleep(draw(AWAY)).await;
                    self.restart().await?;
                }
                1 => {
                    note(ENDED);
                    self.gateway.stop(&shared.history).await;
                    sleep(draw(AWAY)).await;
                    self.restart().await?;
                }
                _ => {
                    let time = draw(PAUSE);
                    note(if time > DEAD_AFTER {
                        PAUSED_LONG
                    } else {
                        "fault: replica paused"
                    });
                    pause(self.gateway.id(), time).await;
                }
            }
            self.is_ready().await?;
            drop(permit);
        }
    }
}

/// Each process has a log of its own.
async fn start(
    program: &Path,
    folder: &Path,
    upstream: &Upstream,
    number: u32,
    configuration: &Value,
) -> Result<Gateway, String> {
    let name = format!("{} {number}", upstream.name).replace(' ', "-");
    let gateway = Gateway::start(program, folder, &name, configuration);
    let gateway = gateway.map_err(|error| error.to_string())?;
    gateway.port().await?;
    Ok(gateway)
}

/// Runs and judges.
pub(crate) async fn run(plan: &Plan) -> Result<Report, String> {
    let history = Arc::new(History::default());
    let shared = Arc::new(Shared::new(Arc::clone(&history)));
    let seed = Seed::new(plan.seed);
    let redis = Server::start(&[]).await?;
    let folder = new_folder()?;
    let servers = start_servers(&folder, &history, &seed).await?;
    let mut replicas = Vec::new();
    for number in 1..=plan.replicas {
        let port = free_port()?;
        let mut configuration = configuration(&folder, &servers, true)?;
        let address = format!("127.0.0.1:{port}");
        let advertise = format!("http://{address}");
        configuration["listen"] = json!({"address": address, "advertise": advertise});
        configuration["store"] = json!({"url": redis.url()});
        configuration["limits"] = json!({"sessions": 64, "sessionIdle": "60 s"});
        let upstream = Upstream::new(format!("{REPLICA}{number}"), port);
        replicas.push(Replica::start(&plan.gateway, &folder, configuration, upstream).await?);
    }
    let upstreams = replicas.iter().map(|one| Arc::clone(&one.upstream));
    let port = RoundRobin::start(upstreams.collect(), Arc::clone(&history));
    let port = port.await.map_err(|error| error.to_string())?;
    for replica in &replicas {
        replica.is_ready().await?;
    }

    let end = Instant::now() + Duration::from_secs(plan.seconds);
    let mut clients = JoinSet::new();
    for principal in PRINCIPALS {
        for (name, era) in CLIENTS {
            let name = format!("{principal}.{name}");
            let seed = seed.fork(&name);
            let client = Client::new(Arc::clone(&shared), name, era, seed);
            let client = Http::new(client, port, token(principal), true);
            clients.spawn(Arc::new(client).last(end));
        }
    }
    let permits = Arc::new(Semaphore::new(plan.replicas - 1));
    let mut disturbed = JoinSet::new();
    for replica in replicas {
        let seed = seed.fork(&replica.upstream.name);
        disturbed.spawn(replica.disturb(Arc::clone(&shared), Arc::clone(&permits), seed, end));
    }
    let mut replicas = Vec::new();
    while let Some(replica) = disturbed.join_next().await {
        replicas.push(replica.map_err(|error| error.to_string())??);
    }
    join(clients).await?;
    for mut replica in replicas {
        replica.gateway.stop(&history).await;
    }
    conclude(&folder, servers, history, &shared)
}
