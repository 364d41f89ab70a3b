//! What kind of servers a store has, and what an operator should know of them.

use crate::{
    connection::Kind,
    fault::bad_answer,
    options::{RedisDurability, Servers},
    store::RedisStore,
};
use crossfeed_store::StoreError;
use redis::Value;
use std::{collections::HashMap, fmt};

/// How servers work together.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedisMode {
    /// One server.
    Single {
        /// Its replicas that are connected.
        replicas: usize,
    },
    /// A cluster.
    Cluster {
        /// Primaries that serve keys.
        primaries: usize,
    },
    /// A primary that sentinels watch.
    Sentinel {
        /// Its name.
        primary: String,
        /// Its replicas that are connected.
        replicas: usize,
    },
}

/// How a server keeps its data through a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisPersistence {
    /// Whether it appends every write to a file.
    pub append_only_file: bool,
    /// Whether it writes snapshots; unknown where its configuration may not be read.
    pub snapshots: Option<bool>,
}

/// What a store found out about its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisReport {
    /// The version of the server: `7.0.15`.
    pub version: String,
    /// How servers work together.
    pub mode: RedisMode,
    /// How it keeps its data.
    pub persistence: RedisPersistence,
    /// The most memory that it may use; none where it has no limit.
    pub max_memory: Option<u64>,
    /// What it does when that is used up: `noeviction`.
    pub eviction_policy: String,
    /// What does not fit together, each in a sentence with advice.
    pub warnings: Vec<String>,
}

/// One line: `Redis 7.0.15, single, append-only file, noeviction`.
impl fmt::Display for RedisReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redis {}, ", self.version)?;
        match &self.mode {
            RedisMode::Single { replicas: 0 } => f.write_str("single")?,
            RedisMode::Single { replicas } => write!(f, "single with {replicas} replicas")?,
            RedisMode::Cluster { primaries } => write!(f, "cluster of {primaries} primaries")?,
            RedisMode::Sentinel { primary, replicas } => {
                write!(
                    f,
                    "primary `{primary}` with {replicas} replicas behind sentinels"
                )?;
            }
        }
        let RedisPersistence {
            append_only_file,
            snapshots,
        } = &self.persistence;
        f.write_str(match (append_only_file, snapshots) {
            (true, Some(true)) => ", append-only file and snapshots",
            (true, _) => ", append-only file",
            (false, Some(true)) => ", snapshots",
            (false, Some(false)) => ", no persistence",
            (false, None) => ", snapshots unknown",
        })?;
        match self.max_memory {
            None => write!(f, ", no memory limit"),
            Some(bytes) => write!(f, ", {} MiB, {}", bytes >> 20, self.eviction_policy),
        }
    }
}

impl RedisStore {
    /// Asks the servers what they are.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] when they do not answer.
    pub async fn probe(&self) -> Result<RedisReport, StoreError> {
        // Each primary of a cluster answers.
        let answers = self.ask_all(&["INFO"]).await?;
        let infos: Vec<_> = answers.iter().map(fields).collect();
        let replicas = infos.iter().map(|info| {
            let replicas = info.get("connected_slaves")?;
            replicas.parse::<usize>().ok()
        });
        let replicas = replicas.min().flatten().unwrap_or_default();
        let info = infos
            .first()
            .ok_or_else(|| bad_answer("a server answers"))?;
        let field = |name: &str| info.get(name).map(String::as_str).unwrap_or_default();
        let number = |name: &str| field(name).parse::<u64>().unwrap_or_default();
        let mode = match &self.options.servers {
            Servers::Single { .. } => RedisMode::Single { replicas },
            Servers::Sentinel { primary, .. } => RedisMode::Sentinel {
                primary: primary.clone(),
                replicas,
            },
            Servers::Cluster { .. } => {
                let cluster = fields(&self.ask(&["CLUSTER", "INFO"]).await?);
                let size = cluster
                    .get("cluster_size")
                    .and_then(|size| size.parse().ok());
                RedisMode::Cluster {
                    primaries: size.unwrap_or_default(),
                }
            }
        };
        let mut report = RedisReport {
            version: field("redis_version").to_owned(),
            mode,
            persistence: RedisPersistence {
                append_only_file: field("aof_enabled") == "1",
                snapshots: self.has_snapshots().await,
            },
            max_memory: Some(number("maxmemory")).filter(|bytes| *bytes > 0),
            eviction_policy: field("maxmemory_policy").to_owned(),
            warnings: Vec::new(),
        };
        // The server says how many replicas are good only where it needs some.
        let needs_replicas = info.contains_key("min_slaves_good_slaves");
        report.warnings = self.warnings(&report, replicas, needs_replicas);
        Ok(report)
    }

    fn warnings(&self, report: &RedisReport, replicas: usize, needs_replicas: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        let policy = &report.eviction_policy;
        if report.max_memory.is_some() && !policy.is_empty() && policy != "noeviction" {
            let what = if policy.starts_with("allkeys") {
                "artifacts, results, sessions and leases of running calls"
            } else {
                "results, sessions and leases of running calls"
            };
            warnings.push(format!(
                "the server's policy `{policy}` may drop {what} when its memory is full: set `maxmemory-policy` to `noeviction`"
            ));
        }
        let RedisPersistence {
            append_only_file,
            snapshots,
        } = report.persistence;
        if !append_only_file && snapshots == Some(false) {
            warnings.push(
                "the server writes nothing to its disk: a restart loses all results, artifacts and sessions; set `appendonly yes` to keep them"
                    .to_owned(),
            );
        }
        if let RedisDurability::Replicas { number, .. } = self.options.durability
            && replicas <= number
        {
            let what = if replicas == number {
                "when one fails, or takes the place of the primary, no write can be acknowledged until there are as many \
                 again"
            } else {
                "no write can be acknowledged"
            };
            warnings.push(format!(
                "replicas that must confirm a write: {number}, connected: {replicas}; {what}: have one replica more than \
                 must confirm"
            ));
        }
        if matches!(report.mode, RedisMode::Sentinel { .. }) && !needs_replicas {
            warnings.push(
                "the primary accepts writes when no replica follows it, so one that was replaced may take writes that are lost: set `min-replicas-to-write 1`"
                    .to_owned(),
            );
        }
        if matches!(report.mode, RedisMode::Sentinel { replicas: 0, .. }) {
            warnings.push(
                "the primary has no replica, so sentinels have nothing to fail over to: add one"
                    .to_owned(),
            );
        }
        warnings
    }

    /// Whether the server writes snapshots; nothing where it does not say.
    async fn has_snapshots(&self) -> Option<bool> {
        let answer = self.ask(&["CONFIG", "GET", "save"]).await.ok()?;
        let pairs: Vec<String> = redis::from_redis_value(answer).ok()?;
        pairs.get(1).map(|save| !save.is_empty())
    }

    async fn ask(&self, words: &[&str]) -> Result<Value, StoreError> {
        let first = self.ask_all(words).await?.into_iter().next();
        first.ok_or_else(|| bad_answer("a cluster has nodes"))
    }

    /// The answers of all nodes that are asked: of a cluster, those that the command is for.
    async fn ask_all(&self, words: &[&str]) -> Result<Vec<Value>, StoreError> {
        let mut command = redis::Cmd::new();
        for word in words {
            command.arg(*word);
        }
        let answer = self.connection.command(command, Kind::Read).await?;
        Ok(match answer {
            Value::Map(nodes) => nodes.into_iter().map(|(_, answer)| answer).collect(),
            answer => vec![answer],
        })
    }
}

/// The lines `name:value` of an answer.
fn fields(answer: &Value) -> HashMap<String, String> {
    let text: String = redis::from_redis_value_ref(answer).unwrap_or_default();
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect()
}
