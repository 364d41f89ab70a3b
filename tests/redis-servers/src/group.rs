//! Several servers: a primary with replicas and a sentinel, and a cluster.

use crate::{
    Problem, eventually,
    proxy::{PEER, Proxy},
    server::Server,
};

/// How long a primary is away before the sentinel has another one promoted.
const DOWN_AFTER: u64 = 500;
/// Slots of a cluster.
const SLOTS: usize = 16_384;

/// How a primary and its replicas are set up.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    options: &'a [&'a str],
    /// How far the clock of each server is ahead, in seconds.
    clocks: Vec<i64>,
    down_after: u64,
    has_proxies: bool,
}

impl<'a> Group<'a> {
    /// A primary and so many replicas with these options.
    #[must_use]
    pub fn new(replicas: usize, options: &'a [&'a str]) -> Self {
        Self {
            options,
            clocks: vec![0; replicas + 1],
            down_after: DOWN_AFTER,
            has_proxies: false,
        }
    }

    /// How far the clock of a server is ahead, in seconds; this needs [`faketime`](crate::faketime).
    #[must_use]
    pub fn with_clock(mut self, server: usize, ahead: i64) -> Self {
        self.clocks[server] = ahead;
        self
    }

    /// How long a primary is away before the sentinel has another one promoted, in milliseconds.
    #[must_use]
    pub fn with_down_after(mut self, milliseconds: u64) -> Self {
        self.down_after = milliseconds;
        self
    }

    /// Puts a proxy in front of each server, for clients and for the other servers.
    #[must_use]
    pub fn with_proxies(mut self) -> Self {
        self.has_proxies = true;
        self
    }

    /// Starts the servers, and waits until the replicas follow.
    ///
    /// # Errors
    ///
    /// When they do not start, or agree, in time.
    pub async fn start(self) -> Result<Replicated, Problem> {
        // Whom a server follows is in its file: it is rewritten when another one is promoted.
        let mut common =
            "save \"\"\nrepl-diskless-sync yes\nrepl-diskless-sync-delay 0\n".to_owned();
        if self.has_proxies {
            common.push_str(&format!("bind-source-addr {PEER}\nrepl-timeout 3\n"));
        }
        let mut servers: Vec<Server> = Vec::new();
        let mut proxies = Vec::new();
        let mut primary: Option<String> = None;
        for ahead in &self.clocks {
            let server = Server::start_as(Some(&common), self.options, *ahead).await?;
            let mut port = server.port().to_string();
            if self.has_proxies {
                let proxy = Proxy::start(server.port()).await?;
                port = proxy.port().to_string();
                let announces = ["CONFIG", "SET", "replica-announce-port", &port];
                server.ask(&announces).await?;
                proxies.push(proxy);
            }
            match &primary {
                Some(primary) => {
                    server.ask(&["REPLICAOF", "127.0.0.1", primary]).await?;
                }
                None => primary = Some(port),
            }
            server.ask(&["CONFIG", "REWRITE"]).await?;
            servers.push(server);
        }
        let (primary, replicas) = (primary.unwrap_or_default(), servers.len() - 1);
        // A sentinel asks a primary for its replicas at once, and then seldom.
        eventually("the replicas follow", || async {
            Ok(followers(&servers[0]).await? == Some(replicas))
        })
        .await?;
        let (name, down_after) = (Replicated::MASTER, self.down_after);
        let mut watches = format!(
            "sentinel monitor {name} 127.0.0.1 {primary} 1\n\
             sentinel down-after-milliseconds {name} {down_after}\n\
             sentinel failover-timeout {name} 2000\n"
        );
        if self.has_proxies {
            watches.push_str(&format!("bind-source-addr {PEER}\n"));
        }
        let sentinel = Server::start_as(Some(&watches), &["--sentinel"], 0).await?;
        let replicated = Replicated {
            servers,
            proxies,
            sentinel,
        };
        replicated.is_whole().await?;
        replicated.passes_writes_on().await?;
        Ok(replicated)
    }
}

/// A primary, its replicas, and a sentinel that promotes one of them when the primary is away.
#[derive(Debug)]
pub struct Replicated {
    /// The servers; the first is the primary until another one is promoted.
    pub servers: Vec<Server>,
    /// A proxy in front of each server, where the [group](Group::with_proxies) has them.
    pub proxies: Vec<Proxy>,
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
        Group::new(replicas, options).start().await
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
        let servers = self.servers.iter().map(Server::port);
        let proxies = self.proxies.iter().map(Proxy::port);
        let is_it = |(_, known): &(usize, u16)| known.to_string() == *port;
        let found = servers.enumerate().chain(proxies.enumerate()).find(is_it);
        let (place, _) = found.ok_or_else(|| format!("no server listens at {port}"))?;
        Ok(place)
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

impl Replicated {
    /// Waits until what is written to the first server reaches the others: a replica that follows may not do so yet.
    async fn passes_writes_on(&self) -> Result<(), Problem> {
        let (primary, key) = (&self.servers[0], "crossfeed-redis-servers");
        primary.ask(&["SET", key, "1"]).await?;
        eventually("replicas have what is written", || async {
            for server in &self.servers {
                if server.ask(&["GET", key]).await?.text() != "1" {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await?;
        primary.ask(&["DEL", key]).await.map(drop)
    }
}

/// How many replicas follow a primary; nothing for a server that is none.
async fn followers(server: &Server) -> Result<Option<usize>, Problem> {
    let says = server.ask(&["INFO", "replication"]).await?;
    let is_primary = says.field("role") == "master";
    Ok(is_primary.then(|| says.text().matches("state=online").count()))
}

/// A cluster.
#[derive(Debug)]
pub struct Cluster {
    /// Its nodes: primaries first, then as many replicas of each, until others are promoted.
    pub nodes: Vec<Server>,
}

/// What a node of a cluster is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Role {
    id: String,
    is_primary: bool,
}

impl Cluster {
    /// Starts so many primaries with these options, and waits until they agree on who has which slot.
    ///
    /// # Errors
    ///
    /// When they do not start, or agree, in time.
    pub async fn start(primaries: usize, options: &[&str]) -> Result<Self, Problem> {
        Self::start_with_replicas(primaries, 0, options).await
    }

    /// The same, with so many replicas of each primary.
    ///
    /// # Errors
    ///
    /// When they do not start, or agree, in time.
    pub async fn start_with_replicas(
        primaries: usize,
        replicas: usize,
        options: &[&str],
    ) -> Result<Self, Problem> {
        let own = [
            "--cluster-enabled",
            "yes",
            "--cluster-node-timeout",
            "2000",
            "--repl-diskless-sync-delay",
            "0",
        ];
        let mut nodes = Vec::new();
        for _ in 0..primaries * (replicas + 1) {
            nodes.push(Server::start(&[&own, options].concat()).await?);
        }
        let cluster = Self { nodes };
        for (index, node) in cluster.nodes.iter().enumerate() {
            if index < primaries {
                let slots = [
                    index * SLOTS / primaries,
                    (index + 1) * SLOTS / primaries - 1,
                ];
                let [from, to] = slots.map(|slot| slot.to_string());
                node.ask(&["CLUSTER", "ADDSLOTSRANGE", &from, &to]).await?;
            }
            let port = cluster.nodes[0].port().to_string();
            if index > 0 {
                node.ask(&["CLUSTER", "MEET", "127.0.0.1", &port]).await?;
            }
        }
        cluster.know_each_other().await?;
        for (index, node) in cluster.nodes.iter().enumerate().skip(primaries) {
            let id = cluster.role(index % primaries).await?.id;
            // The node may not have heard of the other's slots yet.
            eventually("a node follows another", || async {
                node.ask(&["CLUSTER", "REPLICATE", &id]).await.map(|_| true)
            })
            .await?;
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

    async fn know_each_other(&self) -> Result<(), Problem> {
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

    /// Waits until every node knows all others, every slot has one, and replicas follow.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    pub async fn is_whole(&self) -> Result<(), Problem> {
        self.know_each_other().await?;
        eventually("the replicas of the cluster follow", || async {
            for node in &self.nodes {
                let says = node.ask(&["INFO", "replication"]).await?;
                if says.field("role") == "slave" && says.field("master_link_status") != "up" {
                    return Ok(false);
                }
            }
            Ok(true)
        })
        .await
    }

    /// What a node is, as it has it itself.
    async fn role(&self, node: usize) -> Result<Role, Problem> {
        let nodes = self.nodes[node].ask(&["CLUSTER", "NODES"]).await?;
        let mut lines = nodes.text().lines();
        let own = lines.find(|line| line.contains("myself"));
        let own = own.ok_or("a node does not know itself")?;
        Ok(Role {
            id: own.split(' ').next().unwrap_or_default().to_owned(),
            is_primary: own.contains("myself,master"),
        })
    }

    /// The nodes that are primaries now.
    ///
    /// # Errors
    ///
    /// When one does not answer.
    pub async fn primaries(&self) -> Result<Vec<usize>, Problem> {
        let mut primaries = Vec::new();
        for node in 0..self.nodes.len() {
            if self.role(node).await?.is_primary {
                primaries.push(node);
            }
        }
        Ok(primaries)
    }

    /// Waits until another node has the slots of this one, which may be away.
    ///
    /// # Errors
    ///
    /// When that takes too long.
    pub async fn is_replaced(&self, node: usize) -> Result<(), Problem> {
        let port = format!("127.0.0.1:{}@", self.nodes[node].port());
        let other = &self.nodes[(node + 1) % self.nodes.len()];
        eventually("a replica is promoted", || async {
            let nodes = other.ask(&["CLUSTER", "NODES"]).await?;
            let mut lines = nodes.text().lines();
            let line = lines.find(|line| line.contains(&port)).unwrap_or_default();
            let info = other.ask(&["CLUSTER", "INFO"]).await?;
            // The last word of a primary with slots is a range of them.
            let has_slots = line.split(' ').count() > 8;
            Ok(!has_slots && info.field("cluster_state") == "ok")
        })
        .await
    }

    /// Moves the slot of a key from one primary to another, its keys in small pieces.
    ///
    /// # Errors
    ///
    /// When a node refuses a step.
    pub async fn move_slot(&self, key: &str, from: usize, to: usize) -> Result<(), Problem> {
        let ids = [self.role(from).await?.id, self.role(to).await?.id];
        let (from, to) = (&self.nodes[from], &self.nodes[to]);
        let slot = from.ask(&["CLUSTER", "KEYSLOT", key]).await?;
        let slot = slot.text();
        to.ask(&["CLUSTER", "SETSLOT", slot, "IMPORTING", &ids[0]])
            .await?;
        from.ask(&["CLUSTER", "SETSLOT", slot, "MIGRATING", &ids[1]])
            .await?;
        let port = to.port().to_string();
        loop {
            let keys = ["CLUSTER", "GETKEYSINSLOT", slot, "20"];
            let keys = from.ask(&keys).await?.texts();
            if keys.is_empty() {
                break;
            }
            let mut moves = vec!["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
            moves.extend(keys.iter().map(String::as_str));
            from.ask(&moves).await?;
        }
        for node in [to, from] {
            node.ask(&["CLUSTER", "SETSLOT", slot, "NODE", &ids[1]])
                .await?;
        }
        Ok(())
    }
}
