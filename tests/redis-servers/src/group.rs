//! Several servers: a primary with a replica and a sentinel, and a cluster.

use crate::{
    Problem,
    server::{Server, free_port, new_folder},
};
use std::{
    fs,
    time::{Duration, Instant},
};
use tokio::time::sleep;

/// How long servers may take to agree.
const AGREE: Duration = Duration::from_secs(30);
/// How long a primary is away before the sentinel has another one promoted.
const DOWN_AFTER: &str = "500";
/// Slots of a cluster.
const SLOTS: usize = 16_384;

/// A primary, its replica, and a sentinel that promotes the replica when the primary is away.
#[derive(Debug)]
pub struct Replicated {
    /// The servers; which of them is the primary changes.
    pub servers: [Server; 2],
    sentinel: Server,
}

impl Replicated {
    /// The name of the primary to ask the sentinel for.
    pub const MASTER: &str = "main";

    /// Starts both with these options, and waits until the replica follows.
    ///
    /// # Errors
    ///
    /// When they do not start, or agree, in time.
    pub async fn start(options: &[&str]) -> Result<Self, Problem> {
        let first = configured(&[]).await?;
        let follows = format!("127.0.0.1 {}", first.port());
        let second = configured(&["replicaof", &follows]).await?;
        for server in [&first, &second] {
            for option in options.chunks(2) {
                let [name, value] = option else {
                    return Err("options come in pairs".to_owned());
                };
                server
                    .ask(&["CONFIG", "SET", name.trim_start_matches("--"), value])
                    .await?;
            }
        }
        let folder = new_folder()?;
        let config = folder.join("sentinel.conf");
        let name = Self::MASTER;
        let text = format!(
            "sentinel monitor {name} 127.0.0.1 {} 1\n\
             sentinel down-after-milliseconds {name} {DOWN_AFTER}\n\
             sentinel failover-timeout {name} 2000\n",
            first.port()
        );
        fs::write(&config, text).map_err(|error| error.to_string())?;
        let config = config.display().to_string();
        let sentinel =
            Server::start_at(free_port()?, folder, &[], &[&config, "--sentinel"]).await?;
        let replicated = Self {
            servers: [first, second],
            sentinel,
        };
        replicated.is_whole().await?;
        Ok(replicated)
    }

    /// `redis+sentinel://127.0.0.1:PORT/main`
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "redis+sentinel://127.0.0.1:{}/{}",
            self.sentinel.port(),
            Self::MASTER
        )
    }

    /// Which of the servers is the primary, as the sentinel has it.
    ///
    /// # Errors
    ///
    /// When the sentinel does not answer.
    pub async fn primary(&self) -> Result<usize, Problem> {
        let answer = self
            .sentinel
            .ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self::MASTER])
            .await?;
        let crate::talk::Answer::List(address) = answer else {
            return Err("the sentinel knows no primary".to_owned());
        };
        let port = address.get(1).map_or("", |port| port.text());
        let is_it = |server: &Server| server.port().to_string() == port;
        self.servers
            .iter()
            .position(is_it)
            .ok_or(format!("no server listens at {port}"))
    }

    /// Waits until one is the primary, the other follows it, and the sentinel knows both.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    pub async fn is_whole(&self) -> Result<(), Problem> {
        until("primary, replica and sentinel agree", || async {
            let primary = self.primary().await?;
            let replication = self.servers[primary].ask(&["INFO", "replication"]).await?;
            let known = self
                .sentinel
                .ask(&["SENTINEL", "MASTER", Self::MASTER])
                .await?;
            let known = format!("{known:?}");
            Ok(replication.text().contains("role:master")
                && replication.text().contains("state=online")
                && known.contains(r#"Text("num-slaves"), Text("1")"#))
        })
        .await
    }
}

/// A server with a configuration file, which the sentinel rewrites.
async fn configured(line: &[&str]) -> Result<Server, Problem> {
    let folder = new_folder()?;
    let config = folder.join("redis.conf");
    let text = format!(
        "{}\nsave \"\"\nrepl-diskless-sync yes\nrepl-diskless-sync-delay 0\n",
        line.join(" ")
    );
    fs::write(&config, text).map_err(|error| error.to_string())?;
    let config = config.display().to_string();
    Server::start_at(free_port()?, folder, &[], &[&config]).await
}

/// A cluster of primaries without replicas.
#[derive(Debug)]
pub struct Cluster {
    /// Its nodes.
    pub nodes: Vec<Server>,
}

impl Cluster {
    /// Starts so many nodes with these options, and waits until they agree on who has which slot.
    ///
    /// # Errors
    ///
    /// When they do not start, or agree, in time.
    pub async fn start(nodes: usize, options: &[&str]) -> Result<Self, Problem> {
        let mut own = vec!["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
        own.extend(options);
        let mut started = Vec::new();
        for _ in 0..nodes {
            started.push(Server::start(&own).await?);
        }
        let cluster = Self { nodes: started };
        for (index, node) in cluster.nodes.iter().enumerate() {
            let slots = [index * SLOTS / nodes, (index + 1) * SLOTS / nodes - 1];
            let [from, to] = slots.map(|slot| slot.to_string());
            node.ask(&["CLUSTER", "ADDSLOTSRANGE", &from, &to]).await?;
            let port = cluster.nodes[0].port().to_string();
            if index > 0 {
                node.ask(&["CLUSTER", "MEET", "127.0.0.1", &port]).await?;
            }
        }
        cluster.is_whole().await?;
        Ok(cluster)
    }

    /// `redis+cluster://127.0.0.1:PORT,127.0.0.1:PORT,…`
    #[must_use]
    pub fn url(&self) -> String {
        let nodes = self
            .nodes
            .iter()
            .map(|node| format!("127.0.0.1:{}", node.port()));
        format!("redis+cluster://{}", nodes.collect::<Vec<_>>().join(","))
    }

    /// Waits until every node knows all others and every slot has one.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    pub async fn is_whole(&self) -> Result<(), Problem> {
        let known = format!("cluster_known_nodes:{}", self.nodes.len());
        until("the nodes of the cluster agree", || async {
            for node in &self.nodes {
                let info = node.ask(&["CLUSTER", "INFO"]).await?;
                if !info.text().contains("cluster_state:ok") || !info.text().contains(&known) {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
    }
}

/// Asks again and again until the answer is yes.
async fn until<F>(what: &str, ask: impl Fn() -> F) -> Result<(), Problem>
where
    F: Future<Output = Result<bool, Problem>>,
{
    let end = Instant::now() + AGREE;
    loop {
        match ask().await {
            Ok(true) => return Ok(()),
            answer if Instant::now() > end => {
                return Err(format!("waited too long until {what}: {answer:?}"));
            }
            _ => sleep(Duration::from_millis(50)).await,
        }
    }
}
