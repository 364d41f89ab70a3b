//! A run: processes that work on one store while faults happen, and the judgement of what they saw.

use crate::{
    event::{Event, nanoseconds, now},
    judge::{Terms, Verdict, judge},
    open::{Backend, LEASE},
    servers::Servers,
    worker::Orders,
};
use crossfeed_history::Seed;
use crossfeed_redis_servers::{fill_disk, patient};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeMap,
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    task::JoinHandle,
    time::sleep,
};

/// Processes at work at once, where several may use the store, and operations of each at once.
const WORKERS: usize = 3;
const TASKS: usize = 4;
/// Results and bytes of a tenant that has limits.
const TENANT: (usize, usize) = (100, 20_000_000);
/// The longest that the disk of a process is full, in milliseconds.
const FULL_DISK: u64 = 1500;
/// How many results that have gone a session of a store remembers.
const TOMBSTONES: usize = 1000;
/// The longest that an operation may take: the time-out of a store, the way to a new primary, and a busy machine.
const LONGEST: Duration = Duration::from_secs(8);
/// How much later than it ends a lease may still be seen.
const SLACK: Duration = Duration::from_secs(2);

/// What is run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) seconds: u64,
    pub(crate) seed: u64,
    /// Whether so few results fit that some are always evicted.
    pub(crate) evicts: bool,
    /// Whether the tenant has limits.
    pub(crate) is_limited: bool,
}

/// The stores that can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The memory of one process.
    Memory,
    Sqlite,
    /// One server, behind a proxy.
    Redis,
    /// One server, and large data in S3.
    RedisBlobs,
    /// A primary whose replica has every write that is acknowledged.
    RedisReplicated,
    /// The same, where a write is acknowledged before the replica has it.
    RedisLoose,
    /// A primary that is cut off from its replica and the sentinel, and not from clients.
    RedisSplit,
    /// A primary and a replica whose clocks differ.
    RedisSkewed,
    /// Three primaries.
    RedisCluster,
    /// Three primaries, each with a replica that has every write that is acknowledged.
    RedisClusterReplicated,
}

impl Kind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Memory,
        Self::Sqlite,
        Self::Redis,
        Self::RedisBlobs,
        Self::RedisReplicated,
        Self::RedisLoose,
        Self::RedisSplit,
        Self::RedisSkewed,
        Self::RedisCluster,
        Self::RedisClusterReplicated,
    ];

    /// Whether it needs a server of Redis.
    pub(crate) fn is_redis(self) -> bool {
        !matches!(self, Self::Memory | Self::Sqlite)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Redis => "redis",
            Self::RedisBlobs => "redis-blobs",
            Self::RedisReplicated => "redis-replicated",
            Self::RedisLoose => "redis-loose",
            Self::RedisSplit => "redis-split",
            Self::RedisSkewed => "redis-skewed",
            Self::RedisCluster => "redis-cluster",
            Self::RedisClusterReplicated => "redis-cluster-replicated",
        }
    }
}

pub(crate) struct Report {
    pub(crate) verdict: Verdict,
    pub(crate) faults: BTreeMap<&'static str, usize>,
}

/// A process at work, and the task that collects what it writes.
struct Running {
    number: u32,
    child: Child,
    reader: JoinHandle<()>,
}

impl Running {
    fn pid(&self) -> Option<Pid> {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        pid.and_then(Pid::from_raw)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            // A process that is gone is not an error.
            let _ = kill_process(pid, signal);
        }
    }

    /// Ends the process at once; what it has written is collected.
    async fn kill(mut self) {
        let _ = self.child.kill().await;
        let _ = self.reader.await;
    }
}

struct Workers {
    backend: Backend,
    start: u64,
    seed: Seed,
    tasks: usize,
    next: u32,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Workers {
    fn start(&mut self) -> Result<Running, String> {
        let number = self.next;
        self.next += 1;
        let orders = Orders {
            worker: number,
            seed: self.seed.next(),
            start: self.start,
            tasks: self.tasks,
            backend: self.backend.clone(),
        };
        let failed = |error: std::io::Error| format!("process {number}: {error}");
        let orders = serde_json::to_string(&orders).map_err(|error| error.to_string())?;
        let program = std::env::current_exe().map_err(failed)?;
        let mut child = Command::from(patient(&program.display().to_string()))
            .args(["work", &orders])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let output = child.stdout.take().ok_or("no standard output")?;
        let events = Arc::clone(&self.events);
        let reader = tokio::spawn(async move {
            let mut lines = BufReader::new(output).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                // The last line of a process that was killed may be cut.
                if let Ok(event) = serde_json::from_str(&line) {
                    events
                        .lock()
                        .unwrap_or_else(|poisoned| poisoned.into_inner())
                        .push(event);
                }
            }
        });
        Ok(Running {
            number,
            child,
            reader,
        })
    }
}

/// Runs processes and faults in a folder of their own, and judges what was seen.
pub(crate) async fn run(plan: &Plan, folder: &Path) -> Result<Report, String> {
    let seed = Seed::new(plan.seed);
    let faults_seed = seed.fork("faults");
    let mut servers = Servers::start(plan.kind).await?;
    let backend = Backend {
        place: servers.place(plan.kind, folder),
        session_results: if plan.evicts { 20 } else { 1_000_000 },
        tenant: plan.is_limited.then_some(TENANT),
    };
    let is_alone = plan.kind == Kind::Memory;
    let number = if is_alone { 1 } else { WORKERS };
    let mut workers = Workers {
        backend: backend.clone(),
        start: now(),
        seed: seed.fork("workers"),
        tasks: if is_alone { WORKERS * TASKS } else { TASKS },
        next: 1,
        events: Arc::default(),
    };
    let mut running = Vec::new();
    for _ in 0..number {
        running.push(workers.start()?);
    }
    let end = now() + nanoseconds(Duration::from_secs(plan.seconds));
    let mut faults: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut pauses = Vec::new();
    while now() < end {
        sleep(Duration::from_millis(200 + faults_seed.below(1200))).await;
        let index = usize::try_from(faults_seed.below(number as u64)).unwrap_or(0);
        let fault = match faults_seed.below(10) {
            // What it has would be gone.
            0..4 if is_alone => continue,
            0..4 => {
                running.swap_remove(index).kill().await;
                running.push(workers.start()?);
                "process killed"
            }
            4..6 => {
                let from = now();
                running[index].signal(Signal::STOP);
                sleep(Duration::from_millis(faults_seed.below(4000))).await;
                running[index].signal(Signal::CONT);
                pauses.push((running[index].number, from, now()));
                "process paused"
            }
            6..8 if plan.kind == Kind::Sqlite => {
                let pid = running[index].pid().ok_or("a process has ended")?;
                fill_disk(pid, true)?;
                sleep(Duration::from_millis(faults_seed.below(FULL_DISK))).await;
                fill_disk(pid, false)?;
                "disk full"
            }
            _ => match servers.fail(&faults_seed).await? {
                Some(fault) => fault,
                None => continue,
            },
        };
        *faults.entry(fault).or_default() += 1;
    }
    // What was begun ends.
    sleep(Duration::from_secs(1)).await;
    for worker in running {
        worker.kill().await;
    }
    drop(servers);
    let events = std::mem::take(
        &mut *workers
            .events
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner()),
    );
    let terms = Terms {
        keeps: plan.kind != Kind::RedisLoose,
        evicts: plan.evicts || plan.is_limited,
        tenant: backend.tenant,
        tombstones: TOMBSTONES,
        session_results: backend.session_results,
        lease: nanoseconds(LEASE),
        slack: nanoseconds(SLACK),
        longest: nanoseconds(LONGEST),
        pauses,
    };
    Ok(Report {
        verdict: judge(&events, &terms),
        faults,
    })
}
