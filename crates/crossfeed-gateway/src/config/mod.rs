//! The configuration of a gateway: servers, limits and rules, read from TOML or JSON in the `mcpServers` shape of
//! clients.

mod command_name;
mod error;
pub(crate) mod expand;
mod jsonc;
mod machine;
pub(crate) mod node;
mod read;
mod store;
mod view;

#[cfg(test)]
mod tests;

pub use error::{ConfigError, Problem};
pub use machine::Machine;
pub(crate) use read::nearest;
pub use read::{Format, Sources};
pub use store::{Durability, Secret, StoreConfig, StoreLocation};
pub use view::{ChosenView, ClientConfig, ClientName, ViewChoice, ViewReason};

use crate::pattern::{covers, may_fit, overlaps};
use crossfeed_projection::{Path as FieldPath, RevealRules};
use derive_setters::Setters;
use std::{
    collections::BTreeMap,
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use strum::{EnumString, VariantNames};

/// What flow rules call files that references name: `$file/notes/today.md`.
pub const FILES: &str = "$file";
/// What flow rules call the gateway itself, which takes results to save them: `crossfeed/save_result`.
pub const GATEWAY: &str = "crossfeed";
/// The tool of the gateway that takes them.
pub(crate) const SAVE: &str = "save_result";

/// A gateway's configuration.
#[derive(Clone, Debug, Default, Setters)]
#[setters(prefix = "with_", generate = false)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// The servers, in the order of the file.
    pub servers: Vec<ServerConfig>,
    /// Paths that clients never see of any server; each server's [`withheld`](ServerConfig::withheld) includes them.
    pub never: Vec<FieldPath>,
    /// Where clients reach the gateway over HTTP; standard input and output if absent.
    pub listen: Option<ListenConfig>,
    /// Limits of sizes, numbers and times.
    #[setters(generate)]
    pub limits: Limits,
    /// The gateway's own tools.
    pub extra_tools: ExtraTools,
    /// Which results may go where; the first rule that matches decides.
    pub flows: Vec<FlowRule>,
    /// The profile of servers that name none; by the client's name, else `refs`, if absent.
    #[setters(generate, into, strip_option)]
    pub profile: Option<String>,
    /// How results are handed to clients, unless a client's entry or a server's decides it.
    #[setters(generate)]
    pub view: ViewChoice,
    /// Options of clients by the names that they report, in the order of the file.
    pub clients: Vec<ClientConfig>,
    /// Tokens of the model's context window, which limits the results that may enter it.
    pub context_window: Option<usize>,
    /// The bearer tokens of clients over HTTP.
    pub tokens: Vec<TokenConfig>,
    /// Whether clients over HTTP need no token; never together with `tokens`.
    pub anonymous: bool,
    /// Which tools and prompts of several servers are shown as `server__name`.
    pub prefix: Prefix,
    /// How requests are routed that none of several servers lists.
    pub unlisted: UnlistedPolicy,
    /// Which eras of MCP are offered to clients that ask.
    pub eras: Eras,
    /// Whether results come without notices of what was repaired or ignored in their calls.
    pub mutes_notices: bool,
    /// Where results and the gateway's own records are kept.
    #[setters(generate)]
    pub store: StoreConfig,
    /// The keys that ids of clients without sessions are signed with: an id and a key a line, the one that signs first. A
    /// key of the store, or of the process, if absent.
    pub id_keys: Option<Secret>,
    /// The name under which the local client's session goes on in later processes, where the store outlives them.
    #[setters(generate, into, strip_option)]
    pub session: Option<String>,
    /// Whether tools are listed with texts that hold references (`$template`), which takes tokens of each.
    pub templates: bool,
    /// What references may do besides passing results on.
    #[setters(generate)]
    pub references: ReferencesConfig,
    /// Whether clients may list and read their results as resources (`crossfeed://results/…`).
    pub result_resources: bool,
    /// The directory below which `save_result` writes; that tool is not offered if absent.
    pub save_directory: Option<PathBuf>,
    /// What statements about results may take (`query_results`); that tool is not offered if absent.
    pub queries: Option<QueriesConfig>,
}

/// What statements about results may take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueriesConfig {
    /// The time of one statement: 10 s.
    pub time: Duration,
    /// The address space of the process that runs it: 1 GiB.
    pub memory_bytes: usize,
    /// The bytes of an answer: 1 MiB.
    pub answer_bytes: usize,
    /// The rows of an answer: 100,000.
    pub rows: usize,
    /// How many run at once, of all clients: 2.
    pub running: usize,
}

impl Default for QueriesConfig {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(10),
            memory_bytes: 1 << 30,
            answer_bytes: 1 << 20,
            rows: 100_000,
            running: 2,
        }
    }
}

impl GatewayConfig {
    /// Reads a configuration; the texts of its servers and tokens may contain `${VAR}`.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with every problem.
    pub fn parse(text: &str, format: Format, sources: &Sources) -> Result<Self, ConfigError> {
        read::read(text, format, sources)
    }

    /// A configuration of one server that is a command, named after its program, or after the package or image that
    /// the program fetches.
    pub fn from_command(command: impl Into<String>, args: Vec<String>) -> Self {
        let command = command.into();
        let name = command_name::from_command(&command, &args);
        let transport = TransportConfig::Stdio {
            command,
            args,
            env: BTreeMap::new(),
            cwd: None,
        };
        Self {
            servers: vec![ServerConfig::new(name, transport)],
            ..Self::default()
        }
    }

    /// Sets the address; tokens, hosts and origins stay.
    pub fn with_listen(mut self, address: SocketAddr) -> Self {
        let (tokens, anonymous) = (&self.tokens, self.anonymous);
        let listen = self.listen.get_or_insert_with(|| ListenConfig {
            tokens: tokens.clone(),
            anonymous,
            ..ListenConfig::new(address)
        });
        listen.address = address;
        self
    }

    /// Whether holders of several tokens save results in the same directory.
    pub(crate) fn shares_saves(&self) -> bool {
        let listen = self.listen.as_ref();
        listen.is_some_and(|listen| listen.tokens.len() > 1)
    }

    /// Sets the tokens of clients over HTTP.
    pub fn with_tokens(mut self, tokens: Vec<TokenConfig>) -> Self {
        if let Some(listen) = &mut self.listen {
            listen.tokens.clone_from(&tokens);
        }
        self.tokens = tokens;
        self
    }

    /// Lets clients over HTTP in without a token.
    pub fn with_anonymous(mut self) -> Self {
        self.anonymous = true;
        if let Some(listen) = &mut self.listen {
            listen.anonymous = true;
        }
        self
    }

    /// The token of a holder, with what it may do.
    pub(crate) fn holder(&self, name: &str) -> Option<&TokenConfig> {
        self.tokens.iter().find(|token| token.name == name)
    }
}

/// What references may do besides passing results on: nothing by default.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReferencesConfig {
    /// Whether they may change what they give (`$patch`, `$merge`, `$edit`).
    pub edits: bool,
    /// The files that they may name (`$file`).
    pub files: Option<FilesConfig>,
    /// Whether they may name resources that a server listed or linked to (`$resource`).
    pub resources: bool,
}

impl ReferencesConfig {
    /// Whether a directory is one that files are read from, is within one, or around one, as they are written.
    pub(crate) fn reads_from(&self, directory: &Path) -> bool {
        let mut roots = self.files.iter().flat_map(|files| &files.roots);
        roots.any(|root| overlap(root, directory))
    }
}

/// Whether two directories are the same or one is within the other, as they are written.
fn overlap(one: &Path, other: &Path) -> bool {
    is_within(one, other) || is_within(other, one)
}

/// Whether a directory is another or within it, as they are written.
pub(crate) fn is_within(inner: &Path, outer: &Path) -> bool {
    plain(inner).starts_with(plain(outer))
}

/// A path without `.` and `..`, from the root on. Links are not looked at.
fn plain(path: &Path) -> PathBuf {
    // The directory of a file that is named without one is empty.
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// The files that references may name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilesConfig {
    /// The directories beneath which they are.
    pub roots: Vec<PathBuf>,
    /// The most bytes of one.
    pub max_bytes: u64,
}

impl FilesConfig {
    /// Files of up to 16 MiB, as much as arguments may hold by default.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self {
            roots,
            max_bytes: 16 << 20,
        }
    }
}

/// Which tools and prompts of several servers carry the name of their server. Those of a single server never do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Prefix {
    /// All of them: a name always says which server it belongs to.
    #[default]
    Always,
    /// Those whose name another server also has when they are first listed.
    Collisions,
}

/// How a request is routed that none of several servers lists: for a resource or a prompt that none lists, or with
/// a method that none declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum UnlistedPolicy {
    /// It is refused: an address or parameters may be meant for one server alone.
    #[default]
    Refuse,
    /// Each server is asked in turn, and sees the whole request.
    AskAll,
}

/// Which eras of MCP are offered to a client that asks by `server/discover`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Eras {
    /// The stateless era only if every server speaks it. Otherwise a client that speaks both eras begins a session, as
    /// it would with the server itself, and keeps the features of sessions.
    #[default]
    Servers,
    /// Every era, whatever the servers speak.
    All,
}

/// One server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerConfig {
    /// Its name, unique in a configuration.
    pub name: String,
    /// How it is reached.
    pub transport: TransportConfig,
    /// The profile by which its tools are rewritten.
    pub profile: Option<String>,
    /// Whether `_select` and `_fields` are added to its tools.
    pub projection: bool,
    /// How its results are handed to clients, unless the client's entry decides it.
    pub view: Option<ViewChoice>,
    /// Patterns of its tools that take no references and whose results are not stored.
    pub never_chain: Vec<String>,
    /// Paths that clients never see of it, besides those for all servers.
    pub never: Vec<FieldPath>,
    /// The rules of [`never`](Self::never) and of the same key for all servers.
    pub withheld: Arc<RevealRules>,
    /// Patterns of its tools that are offered; all tools if empty.
    pub allow: Vec<String>,
    /// Patterns of its tools that are not offered.
    pub deny: Vec<String>,
    /// How long a request to it may take; unlimited if absent.
    pub timeout: Option<Duration>,
    /// Whether its process keeps running while its client does not use it.
    pub keep: bool,
    /// Whether it is switched off.
    pub disabled: bool,
}

impl ServerConfig {
    /// A server with every option at its default.
    pub fn new(name: impl Into<String>, transport: TransportConfig) -> Self {
        Self {
            name: name.into(),
            transport,
            profile: None,
            projection: false,
            view: None,
            never_chain: Vec::new(),
            never: Vec::new(),
            withheld: Arc::default(),
            allow: Vec::new(),
            deny: Vec::new(),
            timeout: None,
            keep: false,
            disabled: false,
        }
    }
}

/// How a server is reached.
#[derive(Clone)]
#[non_exhaustive]
pub enum TransportConfig {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Variables besides those that every child gets.
        env: BTreeMap<String, String>,
        /// Its working directory.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Headers of every request; their values may be secrets.
        headers: BTreeMap<String, String>,
        /// OAuth, if it is used.
        oauth: Option<OAuthConfig>,
        /// The places that variables filled: `headers.X-Api-Key`, or `url` for its query.
        from_variables: Vec<String>,
        /// Whether secrets may go over plain HTTP to another computer.
        insecure: bool,
    },
}

impl std::fmt::Debug for TransportConfig {
    /// Without values: they may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdio { args, env, .. } => f
                .debug_struct("Stdio")
                .field("args", &args.len())
                .field("env", &env.len())
                .finish_non_exhaustive(),
            Self::Http { headers, .. } => f
                .debug_struct("Http")
                .field("headers", &headers.len())
                .finish_non_exhaustive(),
        }
    }
}

/// How the gateway gets a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Grant {
    /// A person logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The gateway logs in as itself, with its own id and secret.
    ClientCredentials,
}

/// OAuth 2.1 towards a server.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct OAuthConfig {
    /// How the gateway gets a token.
    pub grant: Grant,
    /// The client's id, if it was registered before.
    pub client_id: Option<String>,
    /// The client's secret, if it has one.
    pub client_secret: Option<String>,
    /// The only authorization server to trust; any if absent.
    pub issuer: Option<String>,
    /// The scopes to request.
    pub scopes: Vec<String>,
    /// The directory of stored tokens.
    pub directory: Option<PathBuf>,
}

impl std::fmt::Debug for OAuthConfig {
    /// Without the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OAuthConfig")
            .field("grant", &self.grant)
            .field("client_id", &self.client_id)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// How clients reach the gateway over HTTP.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ListenConfig {
    /// The address; loopback by default.
    pub address: SocketAddr,
    /// The path of MCP.
    pub path: String,
    /// Tokens of clients, each with the name of its holder.
    pub tokens: Vec<TokenConfig>,
    /// Whether clients need no token if there are no `tokens`.
    pub anonymous: bool,
    /// Hosts that requests may name, besides those of the address itself.
    pub hosts: Vec<String>,
    /// Origins that requests of browsers may come from, besides those of the address itself.
    pub origins: Vec<String>,
    /// Where other replicas over the same store reach this one, as a URL without a path. If absent, they take its sessions
    /// up instead.
    pub advertise: Option<String>,
}

impl ListenConfig {
    /// The default address: loopback, which other machines cannot reach.
    pub const ADDRESS: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8807);

    /// Reads an address: `127.0.0.1:8807`, `localhost:8807`, or a port of loopback alone.
    pub fn parse_address(text: &str) -> Option<SocketAddr> {
        let text = text.trim();
        let local = ["localhost:", ":"]
            .iter()
            .find_map(|local| text.strip_prefix(local));
        match local.unwrap_or(text).parse::<u16>() {
            Ok(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            Err(_) => text.parse().ok(),
        }
    }

    /// An address, with every option at its default.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            path: "/mcp".to_owned(),
            tokens: Vec::new(),
            anonymous: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            advertise: None,
        }
    }
}

/// A bearer token of a client, and the rights of its holder.
#[derive(Clone)]
#[non_exhaustive]
pub struct TokenConfig {
    /// The name of its holder.
    pub name: String,
    /// The token.
    pub token: String,
    /// The servers that the holder may use; all if empty.
    pub servers: Vec<String>,
    /// Patterns `server/tool` of the tools that the holder may use; all if empty.
    pub tools: Vec<String>,
    /// How often the holder may send requests; unlimited if absent.
    pub rate: Option<Rate>,
}

/// A number of requests in a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rate {
    /// How many.
    pub requests: NonZeroU32,
    /// In how long.
    pub per: Duration,
}

impl TokenConfig {
    /// A token and its holder.
    pub fn new(name: impl Into<String>, token: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            token: token.into(),
            servers: Vec::new(),
            tools: Vec::new(),
            rate: None,
        }
    }

    /// Whether the holder may use a server.
    pub(crate) fn admits_server(&self, server: &str) -> bool {
        self.servers.is_empty() || self.servers.iter().any(|name| name == server)
    }
}

impl std::fmt::Debug for TokenConfig {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TokenConfig")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Limits of sizes, numbers and times.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[must_use]
pub struct Limits {
    /// Bytes of one message, in either direction.
    pub message_bytes: usize,
    /// Bytes that the gateway may hold at once, from all clients and servers; at least four messages and twice
    /// the bytes of all results.
    pub memory_bytes: usize,
    /// Bytes that the arguments of one call may take while the gateway reads them, if that is more than six
    /// times their length.
    pub argument_bytes: usize,
    /// Requests of one client that run at once.
    pub requests_per_client: usize,
    /// Sessions over HTTP.
    pub sessions: usize,
    /// How long a session over HTTP lives without use.
    pub session_idle: Duration,
    /// Descriptors for connections of clients and to servers.
    pub descriptors: usize,
    /// How many descriptors a child process may have open unless it asks for more; as many as the gateway if absent.
    pub child_descriptors: Option<usize>,
    /// Child processes that run at once, of all clients.
    pub processes: usize,
    /// How long processes keep running in a session that is idle and whose client does not listen; at most a minute
    /// in a session that never called a tool.
    pub process_idle: Duration,
    /// How long a server may take to start and to answer `initialize`.
    pub start_timeout: Duration,
    /// How long calls may keep running once the gateway shuts down.
    pub shutdown: Duration,
    /// How long the gateway serves on once it is told to end, while it says that it does; if absent, 5 s where other
    /// replicas reach it, else not at all.
    pub drain: Option<Duration>,
    /// Bytes of results in one client's session.
    pub session_bytes: usize,
    /// Bytes of results in all sessions together.
    pub total_bytes: usize,
    /// Results in one client's session.
    pub session_results: usize,
    /// How long a result is stored after its last use.
    pub result_idle: Duration,
    /// How long a result is stored at most.
    pub result_age: Duration,
}

impl Default for Limits {
    /// The limits of an unknown machine: 1 GiB in all.
    fn default() -> Self {
        Self::for_machine(&Machine::default())
    }
}

impl Limits {
    /// The limits that do not depend on memory: 16 MiB of arguments, more than a model writes; 1,024 requests of a
    /// client; 1,024 sessions, each idle for an hour at most; 60 s to start, since `npx` and `uvx` install first;
    /// 10 s to shut down. Results stay for an hour: people think longer than agents.
    fn fixed() -> Self {
        Self {
            message_bytes: 0,
            memory_bytes: 0,
            argument_bytes: 16 << 20,
            requests_per_client: 1024,
            sessions: 1024,
            session_idle: Duration::from_secs(3600),
            descriptors: 1 << 20,
            child_descriptors: None,
            processes: 1024,
            process_idle: Duration::from_secs(600),
            start_timeout: Duration::from_secs(60),
            shutdown: Duration::from_secs(10),
            drain: None,
            session_bytes: 0,
            total_bytes: 0,
            session_results: 1000,
            result_idle: Duration::from_secs(3600),
            result_age: Duration::from_secs(3600),
        }
    }

    /// The bytes that the gateway may hold: enough for a message in transit in both directions, and for all results
    /// besides.
    pub fn held_bytes(&self) -> usize {
        let messages = self.message_bytes.saturating_mul(4);
        let results = self.total_bytes.saturating_mul(2);
        self.memory_bytes.max(messages).max(results)
    }
}

/// Connections of clients for each session: its stream, some requests, and one that is not authorized yet.
const CONNECTIONS_PER_SESSION: usize = 5;
/// Connections besides these, so that few sessions still get some.
const MORE_CONNECTIONS: usize = 16;
/// Descriptors for everything but connections: the configuration, tokens, the log, the start of processes.
const RESERVED_DESCRIPTORS: usize = 64;

impl Limits {
    /// Sets the descriptors to what the process may open, less a reserve.
    pub fn with_descriptors(mut self, limit: usize) -> Self {
        self.descriptors = limit.saturating_sub(RESERVED_DESCRIPTORS).max(limit / 2);
        self
    }

    /// Connections of clients over HTTP: five for each session and some more, up to half of the descriptors.
    pub fn connections(&self) -> usize {
        self.sessions
            .saturating_mul(CONNECTIONS_PER_SESSION)
            .saturating_add(MORE_CONNECTIONS)
            .min(self.descriptors / 2)
    }

    /// The descriptors for connections to servers.
    pub fn server_descriptors(&self) -> usize {
        self.descriptors - self.connections()
    }
}

/// Which of the gateway's own tools are offered.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ExtraTools {
    /// `inspect_tool_output`.
    pub inspect: bool,
    /// `read_result`.
    pub read: bool,
    /// `list_results`.
    pub list: bool,
}

impl Default for ExtraTools {
    /// All of them.
    fn default() -> Self {
        Self {
            inspect: true,
            read: true,
            list: true,
        }
    }
}

/// Whether results of some tools may go to others. Patterns are `server/tool`, with `*` for any run of
/// characters.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowRule {
    /// The rule's name, which refusals quote.
    pub name: String,
    /// The tools that return the results.
    pub from: String,
    /// The tools that receive them.
    pub to: String,
    /// Whether the rule allows the flow.
    pub allow: bool,
}

impl FlowRule {
    /// By what data could bypass the rule: servers, [`FILES`] and [`GATEWAY`].
    ///
    /// - A server may receive data that the rule keeps from `to`, store it, and return it from another call: a reference
    ///   names only the call that it refers to. A server that the rule names for some of its tools can be one of them.
    /// - A server that receives it may write it among the files that references may name.
    /// - It may be saved as a file, which a server reads.
    ///
    /// Empty for a rule that allows.
    pub fn ways_around<'c>(&self, config: &'c GatewayConfig) -> Vec<&'c str> {
        if self.allow {
            return Vec::new();
        }
        let enabled = config.servers.iter().filter(|server| !server.disabled);
        let names: Vec<_> = enabled.map(|server| server.name.as_str()).collect();
        // The part of a pattern that concerns one server.
        let of = |pattern: &str, server: &str| {
            let is_meant = may_fit(pattern, &format!("{server}/"));
            let tool = pattern.split_once('/').map_or("*", |(_, tool)| tool);
            is_meant.then(|| format!("{server}/{tool}"))
        };
        let may_go = |from: &str, to: &str| {
            // The first rule that allows some of it, or denies all of it.
            let decided = config.flows.iter().find_map(|rule| {
                let applies = if rule.allow { overlaps } else { covers };
                (applies(&rule.from, from) && applies(&rule.to, to)).then_some(rule.allow)
            });
            decided.unwrap_or(true)
        };
        let files = config.references.files.as_ref().map(|_| FILES);
        let saves = config.save_directory.as_ref().map(|_| GATEWAY);
        let sources = names.iter().copied().chain(files);
        let sources: Vec<_> = sources.filter_map(|name| of(&self.from, name)).collect();
        let receivers = names.iter().filter_map(|name| of(&self.to, name));
        let receivers: Vec<_> = receivers.collect();
        // The gateway takes what is saved as a file.
        let own = (self.to.split('/').next() == Some(GATEWAY)).then_some(GATEWAY);
        let own = own.and_then(|name| of(&self.to, name));
        let goes_in = |to: &str| {
            let to = format!("{to}/*");
            sources.iter().any(|from| may_go(from, &to))
        };
        let goes_out = |from: &str| {
            let from = format!("{from}/*");
            let mut to = receivers.iter().chain(&own);
            to.any(|to| may_go(&from, to))
        };
        let ways = names.iter().copied();
        let ways = ways.filter(|by| goes_in(by) && goes_out(by));
        let is_written = || names.iter().any(|by| goes_in(by));
        let by_files = files.filter(|by| is_written() && goes_out(by));
        let by_saving = saves.filter(|by| {
            let to = format!("{by}/{SAVE}");
            !receivers.is_empty() && sources.iter().any(|from| may_go(from, &to))
        });
        ways.chain(by_files).chain(by_saving).collect()
    }

    /// An earlier rule that decides every flow that this rule matches.
    pub fn overruled_by<'r>(&self, rules: &'r [Self]) -> Option<&'r Self> {
        let mut before = rules.iter().take_while(|rule| rule.name != self.name);
        before.find(|rule| covers(&rule.from, &self.from) && covers(&rule.to, &self.to))
    }

    /// A rule.
    pub fn new(
        name: impl Into<String>,
        from: impl Into<String>,
        to: impl Into<String>,
        allow: bool,
    ) -> Self {
        Self {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            allow,
        }
    }
}
