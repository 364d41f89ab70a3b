//! Connections to servers: one that many requests share, made anew when it fails.
//!
//! Every request has a time limit, the making of a connection included. A request whose connection was cut is made
//! again: scripts know a request that they have answered already.

use crate::{
    fault::{TimedOut, Unconfirmed, bad_answer, ends_connection, translate, unavailable, was_cut},
    options::{Address, RedisDurability, RedisOptions, Servers},
    script::Operation,
};
use crossfeed_store::StoreError;
use redis::{
    AsyncConnectionConfig, Client, ClientTlsConfig, Cmd, ConnectionAddr, ConnectionInfo, ErrorKind,
    IntoConnectionInfo as _, Pipeline, RedisConnectionInfo, RedisError, RedisResult,
    ServerErrorKind, TlsCertificates, TlsMode, Value,
    aio::{ConnectionLike, MultiplexedConnection, PubSub},
    cluster::ClusterClientBuilder,
    cluster_async::ClusterConnection,
    io::tcp::TcpSettings,
    sentinel::{SentinelClient, SentinelClientBuilder, SentinelServerType},
};
use std::time::Duration;
use tokio::{sync::Mutex, time::timeout};

/// How often a request is made whose connection is cut. More than twice, since a connection may have been cut before.
const ATTEMPTS: usize = 3;

/// Whether a request writes what is to be acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// The way to the servers.
pub(crate) struct Connection {
    /// Of all requests but writes that wait for replicas.
    shared: Link,
    /// Of writes that wait for replicas: such a wait keeps all that follow on its connection.
    confirmed: Option<(Link, usize, Duration)>,
    timeout: Duration,
}

enum Link {
    Node(Box<Node>),
    Cluster(ClusterConnection),
}

/// A connection to one server at a time.
struct Node {
    target: Target,
    current: Mutex<Option<(u64, MultiplexedConnection)>>,
    timeout: Duration,
}

enum Target {
    Server(Box<Client>),
    Primary(Box<Mutex<SentinelClient>>),
}

impl Connection {
    pub(crate) async fn open(options: &RedisOptions) -> Result<Self, StoreError> {
        if options.tls {
            // Fails where the host has chosen one already.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let within = options.timeout * 2;
        let open = async || match timeout(within, Link::open(options)).await {
            Ok(link) => link.map_err(translate),
            Err(_) => Err(unavailable(TimedOut { within })),
        };
        let confirmed = match options.durability {
            RedisDurability::Primary => None,
            RedisDurability::Replicas { number, within } => Some((open().await?, number, within)),
        };
        let this = Self {
            shared: open().await?,
            confirmed,
            timeout: options.timeout,
        };
        this.command(redis::cmd("PING"), Kind::Read).await?;
        Ok(this)
    }

    /// Runs a script on the server of a key, and one command before or after it on the same server, in one request. The
    /// answers are in that order.
    pub(crate) async fn run(
        &self,
        operation: Operation,
        kind: Kind,
        key: &str,
        arguments: &[&[u8]],
        beside: Option<Beside>,
    ) -> Result<Vec<Value>, StoreError> {
        let source = operation.source();
        let size = arguments
            .iter()
            .map(|argument| argument.len())
            .sum::<usize>();
        let mut script = Cmd::with_capacity(arguments.len() + 5, size + 2 * key.len() + 64);
        script.arg("EVALSHA").arg(&source.digest);
        if operation.is_on_one_key() {
            script.arg(1).arg(key);
        } else {
            // See `lua/session.lua`.
            script.arg(2).arg(key).arg(format!("{key}h"));
        }
        for argument in arguments {
            script.arg(*argument);
        }
        let commands = match beside {
            None => vec![script],
            Some(Beside::Before(first)) => vec![first, script],
            Some(Beside::After(last)) => vec![script, last],
        };
        let request = self.request(commands, kind);
        match self.send(&request, kind).await {
            Err(Failed::Server(error))
                if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) =>
            {
                let mut load = redis::cmd("SCRIPT");
                load.arg("LOAD").arg(&source.text);
                self.command(load, Kind::Read).await?;
                self.send(&request, kind).await.map_err(Failed::into_error)
            }
            answer => answer.map_err(Failed::into_error),
        }
    }

    /// Runs a command.
    pub(crate) async fn command(&self, command: Cmd, kind: Kind) -> Result<Value, StoreError> {
        let request = self.request(vec![command], kind);
        let answers = self.send(&request, kind).await;
        let mut answers = answers.map_err(Failed::into_error)?.into_iter();
        answers
            .next()
            .ok_or_else(|| bad_answer("a command has one"))
    }

    /// Commands as one request, with a wait for replicas where it is to be acknowledged by them.
    fn request(&self, mut commands: Vec<Cmd>, kind: Kind) -> Request {
        let confirmed = self.confirmed.as_ref().filter(|_| kind == Kind::Write);
        if confirmed.is_none()
            && commands.len() == 1
            && let Some(command) = commands.pop()
        {
            return Request::One(command);
        }
        let mut all = Pipeline::with_capacity(commands.len() + 1);
        for command in commands {
            all.add_command(command);
        }
        if let Some((_, number, within)) = confirmed {
            let milliseconds = u64::try_from(within.as_millis()).unwrap_or(u64::MAX).max(1);
            all.cmd("WAIT").arg(*number).arg(milliseconds);
        }
        Request::Several(all)
    }

    async fn send(&self, request: &Request, kind: Kind) -> Result<Vec<Value>, Failed> {
        let confirmed = self.confirmed.as_ref().filter(|_| kind == Kind::Write);
        let Some((link, number, within)) = confirmed else {
            let answer = self.shared.limited(self.timeout, request).await?;
            return match (request, answer) {
                (Request::One(_), answer) => Ok(vec![answer]),
                (Request::Several(_), Value::Array(answers)) => Ok(answers),
                (Request::Several(_), _) => Err(Failed::Store(several())),
            };
        };
        let Value::Array(mut answers) = link.limited(self.timeout + *within, request).await? else {
            return Err(Failed::Store(several()));
        };
        let Some(Value::Int(confirmed)) = answers.pop() else {
            return Err(Failed::Store(bad_answer("`WAIT` gives a number")));
        };
        if usize::try_from(confirmed).is_ok_and(|confirmed| confirmed >= *number) {
            return Ok(answers);
        }
        Err(Failed::Store(unavailable(Unconfirmed {
            confirmed,
            wanted: *number,
            within: *within,
        })))
    }
}

fn several() -> StoreError {
    bad_answer("several commands have a list of them")
}

/// A command that goes with a script.
pub(crate) enum Beside {
    Before(Cmd),
    After(Cmd),
}

/// Why a request failed.
enum Failed {
    Server(RedisError),
    Store(StoreError),
}

impl Failed {
    fn into_error(self) -> StoreError {
        match self {
            Self::Server(error) => translate(error),
            Self::Store(error) => error,
        }
    }
}

enum Request {
    One(Cmd),
    Several(Pipeline),
}

impl Request {
    async fn send(&self, connection: &mut impl ConnectionLike) -> RedisResult<Value> {
        match self {
            Self::One(command) => connection
                .req_packed_command(command)
                .await?
                .extract_error(),
            Self::Several(commands) => {
                let answers = connection.req_packed_commands(commands, 0, commands.len());
                Value::Array(answers.await?).extract_error()
            }
        }
    }
}

impl Link {
    async fn open(options: &RedisOptions) -> RedisResult<Self> {
        let timeout = options.timeout;
        let target = match &options.servers {
            Servers::Single { address, db } => {
                Target::Server(Box::new(Client::open(info(options, address, *db)?)?))
            }
            Servers::Sentinel {
                sentinels,
                primary,
                db,
            } => {
                let client = sentinel_client(options, sentinels, primary, *db)?;
                Target::Primary(Box::new(Mutex::new(client)))
            }
            Servers::Cluster { nodes } => {
                let nodes = nodes.iter().map(|node| info(options, node, 0));
                let nodes = nodes.collect::<RedisResult<Vec<_>>>()?;
                let mut builder = ClusterClientBuilder::new(nodes)
                    .tcp_settings(tcp())
                    .connection_timeout(timeout)
                    .response_timeout(timeout)
                    .retries(4)
                    .min_retry_wait(50)
                    .max_retry_wait(400);
                if let Some(certificates) = certificates(options) {
                    builder = builder.certs(certificates);
                }
                let client = builder.build()?;
                return Ok(Self::Cluster(client.get_async_connection().await?));
            }
        };
        Ok(Self::Node(Box::new(Node {
            target,
            current: Mutex::default(),
            timeout,
        })))
    }

    async fn limited(&self, within: Duration, request: &Request) -> Result<Value, Failed> {
        if let Ok(answer) = timeout(within, self.query(request)).await {
            return answer.map_err(Failed::Server);
        }
        if let Self::Node(node) = self {
            // The server may be gone without having said so.
            node.current.lock().await.take();
        }
        Err(Failed::Store(unavailable(TimedOut { within })))
    }

    async fn query(&self, request: &Request) -> RedisResult<Value> {
        match self {
            Self::Node(node) => node.query(request).await,
            Self::Cluster(connection) => request.send(&mut connection.clone()).await,
        }
    }
}

impl Node {
    async fn query(&self, request: &Request) -> RedisResult<Value> {
        let mut attempt = 1;
        loop {
            match self.attempt(request).await {
                Err(error) if attempt < ATTEMPTS && was_cut(&error) => attempt += 1,
                answer => return answer,
            }
        }
    }

    async fn attempt(&self, request: &Request) -> RedisResult<Value> {
        let (number, mut connection) = self.connection().await?;
        let answer = request.send(&mut connection).await;
        if answer.as_ref().is_err_and(ends_connection) {
            self.forget(number).await;
        }
        answer
    }

    async fn connection(&self) -> RedisResult<(u64, MultiplexedConnection)> {
        let mut current = self.current.lock().await;
        if let Some(current) = &*current {
            return Ok(current.clone());
        }
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.timeout))
            .set_response_timeout(None);
        let connection = match &self.target {
            Target::Server(client) => {
                client
                    .get_multiplexed_async_connection_with_config(&config)
                    .await?
            }
            Target::Primary(client) => {
                client
                    .lock()
                    .await
                    .get_async_connection_with_config(&config)
                    .await?
            }
        };
        let fresh = (random(), connection);
        *current = Some(fresh.clone());
        Ok(fresh)
    }

    async fn forget(&self, number: u64) {
        let mut current = self.current.lock().await;
        current.take_if(|(known, _)| *known == number);
    }
}

/// A number that no other has.
pub(crate) fn random() -> u64 {
    // The system's source of random numbers does not fail once it has worked.
    getrandom::u64().unwrap_or_default()
}

fn tcp() -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

fn addr(options: &RedisOptions, Address { host, port }: &Address) -> RedisResult<ConnectionAddr> {
    if !options.tls {
        return Ok(ConnectionAddr::Tcp(host.clone(), *port));
    }
    let addr = ConnectionAddr::TcpTls {
        host: host.clone(),
        port: *port,
        insecure: false,
        tls_params: None,
    };
    Ok(match certificates(options) {
        None => addr,
        Some(certificates) => {
            let client = Client::build_with_tls(addr, certificates)?;
            client.get_connection_info().addr().clone()
        }
    })
}

fn certificates(options: &RedisOptions) -> Option<TlsCertificates> {
    let (roots, identity) = (&options.tls_roots, &options.tls_identity);
    let is_own = options.tls && (roots.is_some() || identity.is_some());
    is_own.then(|| TlsCertificates {
        client_tls: identity.clone().map(|identity| ClientTlsConfig {
            client_cert: identity.certificates,
            client_key: identity.key,
        }),
        root_cert: roots.clone(),
    })
}

fn info(options: &RedisOptions, address: &Address, db: i64) -> RedisResult<ConnectionInfo> {
    let mut settings = RedisConnectionInfo::default().set_db(db);
    if let Some(username) = &options.username {
        settings = settings.set_username(username);
    }
    if let Some(password) = &options.password {
        settings = settings.set_password(password.reveal());
    }
    Ok(addr(options, address)?
        .into_connection_info()?
        .set_tcp_settings(tcp())
        .set_redis_settings(settings))
}

fn sentinel_client(
    options: &RedisOptions,
    sentinels: &[Address],
    primary: &str,
    db: i64,
) -> RedisResult<SentinelClient> {
    let sentinels = sentinels.iter().map(|address| addr(options, address));
    let sentinels = sentinels.collect::<RedisResult<Vec<_>>>()?;
    let mut builder = SentinelClientBuilder::new(sentinels, primary, SentinelServerType::Master)?
        .set_client_to_redis_tcp_settings(tcp())
        .set_client_to_sentinel_tcp_settings(tcp())
        .set_client_to_redis_db(db);
    if options.tls {
        builder = builder.set_client_to_redis_tls_mode(TlsMode::Secure);
    }
    if let Some(certificates) = certificates(options) {
        builder = builder.set_client_to_redis_certificates(certificates);
    }
    if let Some(username) = &options.username {
        builder = builder.set_client_to_redis_username(username);
    }
    if let Some(password) = &options.password {
        builder = builder.set_client_to_redis_password(password.reveal());
    }
    if let Some(password) = &options.sentinel_password {
        builder = builder.set_client_to_sentinel_password(password.reveal());
    }
    builder.build()
}

/// A connection that listens to messages.
pub(crate) async fn subscriber(options: &RedisOptions) -> RedisResult<PubSub> {
    match &options.servers {
        Servers::Single { address, db } => {
            Client::open(info(options, address, *db)?)?
                .get_async_pubsub()
                .await
        }
        Servers::Sentinel {
            sentinels,
            primary,
            db,
        } => {
            let mut client = sentinel_client(options, sentinels, primary, *db)?;
            client.async_get_client().await?.get_async_pubsub().await
        }
        // Every node of a cluster passes all messages on.
        Servers::Cluster { nodes } => {
            let mut failed = RedisError::from((ErrorKind::EmptySentinelList, "no node is named"));
            for node in nodes {
                match Client::open(info(options, node, 0)?)?
                    .get_async_pubsub()
                    .await
                {
                    Ok(connection) => return Ok(connection),
                    Err(error) => failed = error,
                }
            }
            Err(failed)
        }
    }
}
