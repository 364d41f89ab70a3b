//! Several servers: a primary with replicas and a sentinel, and a cluster.

use crate::{Problem, eventually, server::Server};

/// How long a primary is away before the sentinel has another one promoted.
const DOWN_AFTER: &str = "500";
/// Slots of a cluster.
const SLOTS: usize = 16_384;

/// A primary, its replicas, and a sentinel that promotes one of them when the primary is away.
#[derive(Debug)]
pub struct Replicated {
    /// The servers; the first is the primary until another one is promoted.
    pub servers: Vec<Server>,
    sentinel: Server,
}

impl Replicated {
    /// The name of the primary to ask the sentinel for.
    pub const MASTER: &str = "main";

    /// Starts a primary and so many replicas with these options, and waits until the replicas follow.
    ///
    /// # Errors
    ///
    /// When they do not start, or agree, in time.
    pub async fn start(replicas: usize, options: &[&str]) -> Result<Self, Problem> {
        // Whom a server follows is in its file: it is rewritten when another one is promoted.
        let common = "save \"\"\nrepl-diskless-sync yes\nrepl-diskless-sync-delay 0\n";
        let mut servers = vec![Server::start_as(Some(common), options).await?];
        let primary = servers[0].port();
        let follows = format!("{common}replicaof 127.0.0.1 {primary}\n");
        for _ in 0..replicas {
            servers.push(Server::start_as(Some(&follows), options).await?);
        }
        // A sentinel asks a primary for its replicas at once, and then seldom.
        eventually("the replicas follow", || async {
            Ok(followers(&servers[0]).await? == Some(replicas))
        })
        .await?;
        let name = Self::MASTER;
        let watches = format!(
            "sentinel monitor {name} 127.0.0.1 {primary} 1\n\
             sentinel down-after-milliseconds {name} {DOWN_AFTER}\n\
             sentinel failover-timeout {name} 2000\n"
        );
        let sentinel = Server::start_as(Some(&watches), &["--sentinel"]).await?;
        let replicated = Self { servers, sentinel };
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
        let question = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", Self::MASTER];
        let address = self.sentinel.ask(&question).await?.texts();
        let port = address.get(1).ok_or("the sentinel knows no primary")?;
        let is_it = |server: &Server| server.port().to_string() == *port;
        let found = self.servers.iter().position(is_it);
        found.ok_or_else(|| format!("no server listens at {port}"))
    }

    /// Waits until another server than this one is the primary.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    pub async fn is_promoted(&self, before: usize) -> Result<(), Problem> {
        eventually("a replica is promoted", || async {
            Ok(self.primary().await? != before)
        })
        .await
    }

    /// Waits until one is the primary, all others follow it, and the sentinel knows them.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    pub async fn is_whole(&self) -> Result<(), Problem> {
        let replicas = self.servers.len() - 1;
        eventually("primary, replicas and sentinel agree", || async {
            let primary = self.primary().await?;
            let follow = followers(&self.servers[primary]).await?;
            let known = self.sentinel.info("sentinel", "master0").await?;
            Ok(follow == Some(replicas) && known.contains(&format!("slaves={replicas},")))
        })
        .await
    }
}

/// How many replicas follow a primary; nothing for a server that is none.
async fn followers(server: &Server) -> Result<Option<usize>, Problem> {
    let says = server.ask(&["INFO", "replication"]).await?;
    let is_primary = says.field("role") == "master";
    Ok(is_primary.then(|| says.text().matches("state=online").count()))
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
        let own = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
        let mut started = Vec::new();
        for _ in 0..nodes {
            started.push(Server::start(&[&own, options].concat()).await?);
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
        let known = self.nodes.len().to_string();
        eventually("the nodes of the cluster agree", || async {
            for node in &self.nodes {
                let info = node.ask(&["CLUSTER", "INFO"]).await?;
                if info.field("cluster_state") != "ok" || info.field("cluster_known_nodes") != known
                {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
    }
}
