//! From a document to a configuration.
//!
//! What comes in: a document as text. What goes out: the configuration, or every problem with its place.
//! Deliberately not here: how values are spelled ([`fields`]), and what a server may say ([`server`]).

mod clients;
mod fields;
mod flows;
mod limits;
mod server;
mod tokens;

use super::{
    ConfigError, Eras, ExtraTools, GatewayConfig, ListenConfig, Machine, Prefix, Problem, Unlisted,
    node::{self, Malformed, Node, Value},
};
use fields::Fields;
pub(crate) use fields::nearest;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// How a configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON; comments and a comma behind the last item are admitted.
    Json,
}

impl Format {
    /// By the extension of its file, else by what it begins with.
    #[must_use]
    pub fn of(path: Option<&Path>, text: &str) -> Self {
        let extension = path.and_then(Path::extension);
        match extension.and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("json" | "jsonc" | "json5") => Self::Json,
            _ => {
                let text = text.trim_start_matches('\u{feff}').trim_start();
                // A list of TOML's tables begins with two brackets and a name, which JSON does not.
                if text.starts_with(['{', '/']) {
                    Self::Json
                } else {
                    Self::Toml
                }
            }
        }
    }
}

/// What a configuration is read by, beside itself.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Sources {
    /// The variables that `${VAR}` means.
    pub environment: BTreeMap<String, String>,
    /// The directory that relative working directories begin at; that of the process if absent.
    pub directory: Option<PathBuf>,
    /// What the defaults of limits follow from.
    pub machine: Machine,
}

impl Sources {
    /// The same with variables.
    #[must_use]
    pub fn with_environment(mut self, environment: BTreeMap<String, String>) -> Self {
        self.environment = environment;
        self
    }

    /// The same on another machine.
    #[must_use]
    pub fn with_machine(mut self, machine: Machine) -> Self {
        self.machine = machine;
        self
    }

    /// The same with a directory.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }
}

impl std::fmt::Debug for Sources {
    /// Without the variables: they may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("variables", &self.environment.len())
            .field("directory", &self.directory)
            .field("machine", &self.machine)
            .finish()
    }
}

/// Collects problems while a document is read.
struct Reader<'a> {
    text: &'a str,
    sources: &'a Sources,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, at: &str, offset: usize, what: impl Into<String>) {
        self.advise(at, offset, what, None);
    }

    fn advise(&mut self, at: &str, offset: usize, what: impl Into<String>, advice: Option<String>) {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        self.problems.push(Problem {
            at: at.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            what: what.into(),
            advice,
        });
    }
}

pub(super) fn read(
    text: &str,
    format: Format,
    sources: &Sources,
) -> Result<GatewayConfig, ConfigError> {
    let mut reader = Reader {
        text,
        sources,
        problems: Vec::new(),
    };
    let document = match format {
        Format::Toml => node::toml(text),
        Format::Json => node::json(text),
    };
    let config = match document {
        Ok(document) => config(&mut reader, &document),
        Err(errors) => {
            let language = match format {
                Format::Toml => "TOML",
                Format::Json => "JSON",
            };
            for Malformed { at, why } in errors {
                reader.problem("", at, format!("this is not valid {language}: {why}"));
            }
            GatewayConfig::default()
        }
    };
    if reader.problems.is_empty() {
        Ok(config)
    } else {
        Err(ConfigError::new(reader.problems))
    }
}

fn config(reader: &mut Reader<'_>, document: &Node) -> GatewayConfig {
    let mut config = GatewayConfig::default().with_machine(&reader.sources.machine);
    let Some(mut fields) = Fields::of(reader, "", document) else {
        return config;
    };
    let never = fields.paths(reader, "never");
    match fields.take("mcpServers") {
        Some(node) => config.servers = server::servers(reader, "mcpServers", node, &never),
        None => reader.problem(
            "",
            0,
            "`mcpServers` is missing: the servers, each by its name",
        ),
    }
    config.never = never;
    if let Some(node) = fields.take("tokens") {
        config.tokens = tokens::tokens(reader, node, &config.servers);
    }
    if let Some(node) = fields.take("anonymous") {
        config.anonymous = anonymous(reader, node, !config.tokens.is_empty());
    }
    if let Some(node) = fields.take("listen") {
        config.listen = listen(reader, node).map(|listen| ListenConfig {
            tokens: config.tokens.clone(),
            anonymous: config.anonymous,
            ..listen
        });
    }
    if let Some(node) = fields.take("limits") {
        config.limits = limits::limits(reader, node);
    }
    if let Some(node) = fields.take("extraTools") {
        config.extra_tools = extra_tools(reader, node);
    }
    if let Some(node) = fields.take("flows") {
        config.flows = flows::flows(reader, node, &config.servers);
    }
    config.profile = fields.profile(reader, "profile");
    config.view = fields.view(reader, "view").unwrap_or_default();
    fields.refuse_previews(reader);
    if let Some(node) = fields.take("clients") {
        config.clients = clients::clients(reader, node);
    }
    let prefixes = [
        ("always", Prefix::Always),
        ("collisions", Prefix::Collisions),
    ];
    config.prefix = fields.word(reader, "prefix", &prefixes).unwrap_or_default();
    let unlisted = [("refuse", Unlisted::Refuse), ("ask-all", Unlisted::AskAll)];
    config.unlisted = fields
        .word(reader, "unlisted", &unlisted)
        .unwrap_or_default();
    let eras = [("servers", Eras::Servers), ("all", Eras::All)];
    config.eras = fields.word(reader, "eras", &eras).unwrap_or_default();
    config.context_window = fields.count(reader, "contextWindow");
    // Editors find the schema of a file by this.
    let _ = fields.take("$schema");
    fields.finish(reader);
    config
}

fn listen(reader: &mut Reader<'_>, node: &Node) -> Option<ListenConfig> {
    let mut listen = ListenConfig::new(ListenConfig::ADDRESS);
    if matches!(node.value, Value::Text(_)) {
        listen.address = address(reader, "listen", node)?;
        return Some(listen);
    }
    let mut fields = Fields::of(reader, "listen", node)?;
    if let Some(node) = fields.take("address") {
        listen.address = address(reader, "listen.address", node)?;
    }
    if let Some(node) = fields.take("path") {
        match fields::text(reader, "listen.path", node) {
            Some(path) if path.starts_with('/') && !path.contains(['?', '#', '{', '*']) => {
                listen.path = path;
            }
            Some(_) => reader.problem(
                "listen.path",
                node.span.start,
                "it is not a path: write one like `/mcp`",
            ),
            None => {}
        }
    }
    listen.hosts = fields.texts(reader, "hosts");
    if let Some(node) = fields.take("origins") {
        let at = fields.at("origins");
        listen.origins = fields::texts(reader, &at, node);
        if !listen.origins.iter().all(|origin| is_origin(origin)) {
            let what = "one of them is not an origin: write it as browsers do, like `https://app.example` \
                        or `http://localhost:3000`";
            reader.problem(&at, node.span.start, what);
        }
    }
    fields.finish(reader);
    Some(listen)
}

/// A scheme, a host, and perhaps a port; nothing else is compared with what browsers send.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else {
        return false;
    };
    let word = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let refused = |c: char| c.is_whitespace() || "/?#*@\\".contains(c);
    !scheme.is_empty() && scheme.bytes().all(word) && !host.is_empty() && !host.contains(refused)
}

/// An address: `127.0.0.1:8807`, `localhost:8807`, or a port alone.
fn address(reader: &mut Reader<'_>, at: &str, node: &Node) -> Option<SocketAddr> {
    let text = fields::text(reader, at, node)?;
    let address = ListenConfig::parse_address(&text);
    if address.is_none() {
        let what = "it is not an address with a port: write one like `127.0.0.1:8807`";
        reader.problem(at, node.span.start, what);
    }
    address
}

/// Whether clients need no token; tokens would then mean nothing.
fn anonymous(reader: &mut Reader<'_>, node: &Node, has_tokens: bool) -> bool {
    let Value::Bool(anonymous) = node.value else {
        fields::wrong(reader, "anonymous", node, "true or false");
        return false;
    };
    if anonymous && has_tokens {
        let what = "`anonymous` lets clients in without a token, but there are `tokens`: leave one of them out";
        reader.problem("anonymous", node.span.start, what);
    }
    anonymous
}

fn extra_tools(reader: &mut Reader<'_>, node: &Node) -> ExtraTools {
    let mut tools = ExtraTools::default();
    if let Value::Bool(offered) = node.value {
        tools.inspect = offered;
        tools.read = offered;
        tools.list = offered;
        return tools;
    }
    let Some(mut fields) = Fields::of(reader, "extraTools", node) else {
        return tools;
    };
    tools.inspect = fields.truth(reader, "inspectToolOutput", true);
    tools.read = fields.truth(reader, "readResult", true);
    tools.list = fields.truth(reader, "listResults", true);
    fields.finish(reader);
    tools
}
