//! The backends of a run, and their faults.

use crate::{open::Place, run::Kind};
use crossfeed_history::Seed;
use crossfeed_redis_servers::{Cluster, Proxy, Replicated, Server, Weather};
use std::{path::Path, time::Duration};
use tokio::time::sleep;

/// Keeps every write in its log before it is acknowledged: what a killed server has acknowledged is there again. With
/// `everysec` it is not, while the last second is still on its way to the disk.
const LOGGED: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];
/// A primary without a replica takes no writes, so that one that was replaced answers nobody.
const CAREFUL: [&str; 4] = [
    "--min-replicas-to-write",
    "1",
    "--min-replicas-max-lag",
    "2",
];
/// What a server that is full may hold: less than it does.
const FULL: &str = "1mb";
/// The longest that a server is away on purpose: less than a store waits for it.
const AWAY: u64 = 1500;

/// The servers behind a store, where it has any.
pub(crate) enum Servers {
    None,
    Single(Server, Proxy),
    Replicated(Replicated),
    Cluster(Cluster),
}

impl Servers {
    pub(crate) async fn start(kind: Kind) -> Result<Self, String> {
        Ok(match kind {
            Kind::Sqlite => Self::None,
            Kind::Redis => {
                let server = Server::start(&LOGGED).await?;
                let proxy = Proxy::start(server.port()).await?;
                Self::Single(server, proxy)
            }
            Kind::RedisReplicated | Kind::RedisLoose => {
                let options = [&LOGGED[..], &CAREFUL].concat();
                Self::Replicated(Replicated::start(1, &options).await?)
            }
            Kind::RedisCluster => Self::Cluster(Cluster::start(3, &LOGGED).await?),
        })
    }

    /// Where the processes of the run find the store.
    pub(crate) fn place(&self, kind: Kind, folder: &Path) -> Place {
        let (url, replicas) = match self {
            Self::None => return Place::Sqlite(folder.join("store")),
            Self::Single(_, proxy) => (proxy.url(), 0),
            Self::Replicated(replicated) => {
                (replicated.url(), usize::from(kind == Kind::RedisReplicated))
            }
            Self::Cluster(cluster) => (cluster.url(), 0),
        };
        Place::Redis { url, replicas }
    }

    /// Brings a fault about, if this backend has any; it is over when this returns, or soon after.
    pub(crate) async fn fail(&mut self, seed: &Seed) -> Result<Option<&'static str>, String> {
        let away = Duration::from_millis(seed.below(AWAY));
        Ok(Some(match self {
            Self::None => return Ok(None),
            Self::Single(server, proxy) => match seed.below(8) {
                0 => killed(server, away).await?,
                1 => paused(server, away).await,
                2 => {
                    server.ask(&["CONFIG", "SET", "maxmemory", FULL]).await?;
                    sleep(away).await;
                    server.ask(&["CONFIG", "SET", "maxmemory", "0"]).await?;
                    "server full"
                }
                3 => {
                    server.ask(&["SCRIPT", "FLUSH"]).await?;
                    "scripts forgotten"
                }
                more => {
                    let (weather, fault) = match more {
                        4 => (Weather::Cut, "connections cut"),
                        5 => (Weather::Silent, "connections silent"),
                        6 => (Weather::Unanswered, "answers kept back"),
                        _ => (Weather::Slow, "connections slow"),
                    };
                    proxy.set(weather);
                    sleep(away).await;
                    proxy.set(Weather::Fair);
                    fault
                }
            },
            Self::Replicated(replicated) => {
                let primary = replicated.primary().await?;
                let replica = 1 - primary;
                match seed.below(4) {
                    0 | 1 => {
                        replicated.servers[primary].kill();
                        replicated.is_promoted(primary).await?;
                        replicated.servers[primary].restart().await?;
                        replicated.is_whole().await?;
                        "primary killed, replica promoted"
                    }
                    2 => {
                        replicated.servers[primary].pause();
                        replicated.is_promoted(primary).await?;
                        replicated.servers[primary].resume();
                        replicated.is_whole().await?;
                        "primary paused, replica promoted"
                    }
                    _ => {
                        killed(&mut replicated.servers[replica], away).await?;
                        replicated.is_whole().await?;
                        "replica killed"
                    }
                }
            }
            Self::Cluster(cluster) => {
                let node = usize::try_from(seed.below(cluster.nodes.len() as u64)).unwrap_or(0);
                let fault = if seed.chance(50) {
                    killed(&mut cluster.nodes[node], away).await?
                } else {
                    paused(&cluster.nodes[node], away).await
                };
                cluster.is_whole().await?;
                fault
            }
        }))
    }
}

async fn killed(server: &mut Server, away: Duration) -> Result<&'static str, String> {
    server.kill();
    sleep(away).await;
    server.restart().await?;
    Ok("server killed")
}

async fn paused(server: &Server, away: Duration) -> &'static str {
    server.pause();
    sleep(away).await;
    server.resume();
    "server paused"
}
