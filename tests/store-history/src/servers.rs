//! The backends of a run, and their faults.

use crate::{open::Place, run::Kind, s3::S3};
use crossfeed_history::Seed;
use crossfeed_redis_servers::{Cluster, Group, Proxy, Replicated, Server, Weather};
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

/// How long a primary is away before another one is promoted, where it is cut off: longer than it goes on answering
/// without its replica.
const DOWN_AFTER: u64 = 5000;
/// How far the clocks of two servers differ, in seconds: less than a lease may be late.
const SKEW: i64 = 1;

/// The servers behind a store, where it has any.
pub(crate) enum Servers {
    None,
    Single(Box<Server>, Proxy, Option<S3>),
    Replicated(Replicated),
    Split(Replicated),
    Cluster(Cluster),
}

impl Servers {
    pub(crate) async fn start(kind: Kind) -> Result<Self, String> {
        let careful = [&LOGGED[..], &CAREFUL].concat();
        Ok(match kind {
            Kind::Memory | Kind::Sqlite => Self::None,
            Kind::Redis | Kind::RedisBlobs => {
                let server = Server::start(&LOGGED).await?;
                let proxy = Proxy::start(server.port()).await?;
                let blobs = match kind {
                    Kind::RedisBlobs => Some(S3::start().await?),
                    _ => None,
                };
                Self::Single(Box::new(server), proxy, blobs)
            }
            Kind::RedisReplicated | Kind::RedisLoose => {
                Self::Replicated(Replicated::start(1, &careful).await?)
            }
            Kind::RedisSkewed => {
                let group = Group::new(1, &careful).with_clock(1, SKEW);
                Self::Replicated(group.start().await?)
            }
            Kind::RedisSplit => {
                let group = Group::new(1, &careful).with_proxies();
                Self::Split(group.with_down_after(DOWN_AFTER).start().await?)
            }
            Kind::RedisCluster => Self::Cluster(Cluster::start(3, &LOGGED).await?),
            Kind::RedisClusterReplicated => {
                Self::Cluster(Cluster::start_with_replicas(3, 1, &careful).await?)
            }
        })
    }

    /// Where the processes of the run find the store.
    pub(crate) fn place(&self, kind: Kind, folder: &Path) -> Place {
        let (url, blobs) = match self {
            Self::None if kind == Kind::Memory => return Place::Memory,
            Self::None => return Place::Sqlite(folder.join("store")),
            Self::Single(_, proxy, blobs) => (proxy.url(), blobs.as_ref().map(S3::blobs)),
            Self::Replicated(replicated) | Self::Split(replicated) => (replicated.url(), None),
            Self::Cluster(cluster) => (cluster.url(), None),
        };
        let replicas = match kind {
            Kind::RedisReplicated
            | Kind::RedisSplit
            | Kind::RedisSkewed
            | Kind::RedisClusterReplicated => 1,
            _ => 0,
        };
        Place::Redis {
            url,
            replicas,
            blobs,
        }
    }

    /// Brings a fault about, if this backend has any; it is over when this returns, or soon after.
    pub(crate) async fn fail(&mut self, seed: &Seed) -> Result<Option<&'static str>, String> {
        let away = Duration::from_millis(seed.below(AWAY));
        Ok(Some(match self {
            Self::None => return Ok(None),
            Self::Single(_, _, Some(blobs)) if seed.chance(50) => {
                let (weather, fault) = match seed.below(4) {
                    0 => (Weather::Cut, "object storage: connections cut"),
                    1 => (Weather::Silent, "object storage: connections silent"),
                    2 => (Weather::Unanswered, "object storage: answers kept back"),
                    _ => (Weather::Slow, "object storage: connections slow"),
                };
                changed(&blobs.proxy, weather, away).await;
                fault
            }
            Self::Single(server, proxy, _) => match seed.below(9) {
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
                4 => {
                    server.fill_disk(true)?;
                    sleep(away).await;
                    // With `appendfsync always` it ends by itself at the first write.
                    server.kill();
                    server.restart().await?;
                    "server's disk full"
                }
                more => {
                    let (weather, fault) = match more {
                        5 => (Weather::Cut, "connections cut"),
                        6 => (Weather::Silent, "connections silent"),
                        7 => (Weather::Unanswered, "answers kept back"),
                        _ => (Weather::Slow, "connections slow"),
                    };
                    changed(proxy, weather, away).await;
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
                        // What is asked meanwhile is answered when it goes on.
                        sleep(away).await;
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
            Self::Split(replicated) => {
                let primary = replicated.primary().await?;
                let proxy = &replicated.proxies[primary];
                proxy.set_for_servers(Weather::Silent);
                let fault = if seed.chance(50) {
                    replicated.is_promoted(primary).await?;
                    "primary cut off from servers, replica promoted"
                } else {
                    "primary cut off from servers for a while"
                };
                sleep(away * 2).await;
                proxy.set_for_servers(Weather::Cut);
                sleep(Duration::from_millis(20)).await;
                proxy.set_for_servers(Weather::Fair);
                replicated.is_whole().await?;
                fault
            }
            Self::Cluster(cluster) => {
                let primaries = cluster.primaries().await?;
                let among = |number: usize| usize::try_from(seed.below(number as u64)).unwrap_or(0);
                let node = primaries[among(primaries.len())];
                let has_replicas = primaries.len() < cluster.nodes.len();
                let fault = match seed.below(4) {
                    0 if has_replicas => {
                        cluster.nodes[node].kill();
                        cluster.is_replaced(node).await?;
                        cluster.nodes[node].restart().await?;
                        "primary killed, replica promoted"
                    }
                    1 if has_replicas => {
                        cluster.nodes[node].pause();
                        cluster.is_replaced(node).await?;
                        sleep(away).await;
                        cluster.nodes[node].resume();
                        "primary paused, replica promoted"
                    }
                    2 | 3 => {
                        let to = primaries[among(primaries.len())];
                        let key = cluster.nodes[node].ask(&["RANDOMKEY"]).await?;
                        if to == node || key.text().is_empty() {
                            return Ok(None);
                        }
                        cluster.move_slot(key.text(), node, to).await?;
                        "slot moved"
                    }
                    0 => killed(&mut cluster.nodes[node], away).await?,
                    _ => paused(&cluster.nodes[node], away).await,
                };
                cluster.is_whole().await?;
                fault
            }
        }))
    }
}

/// Changes how connections are for a while.
async fn changed(proxy: &Proxy, weather: Weather, away: Duration) {
    proxy.set(weather);
    sleep(away).await;
    proxy.set(Weather::Fair);
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
