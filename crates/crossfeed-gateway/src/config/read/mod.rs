//! Reads a document into a configuration, or reports every problem with its place.

mod clients;
mod fields;
mod flows;
mod limits;
mod server;
mod tokens;

use super::{
    ConfigError, Eras, ExtraTools, GatewayConfig, Limits, ListenConfig, Machine, Prefix, Problem,
    Unlisted,
    node::{self, Malformed, Node, Value},
};
use fields::Field;
pub(crate) use fields::nearest;
use std::{
    cell::RefCell,
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

/// What a configuration depends on beside its text.
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
    /// Sets the variables.
    #[must_use]
    pub fn with_environment(mut self, environment: BTreeMap<String, String>) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the machine.
    #[must_use]
    pub fn with_machine(mut self, machine: Machine) -> Self {
        self.machine = machine;
        self
    }

    /// Sets the directory.
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

/// The document that is read, and the problems found so far.
struct Reader<'a> {
    text: &'a str,
    sources: &'a Sources,
    problems: RefCell<Vec<Problem>>,
}

impl Reader<'_> {
    fn problem(&self, at: &str, offset: usize, what: impl Into<String>, advice: Option<String>) {
        let before = self.text.as_bytes().get(..offset).unwrap_or_default();
        self.problems.borrow_mut().push(Problem {
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
    let reader = Reader {
        text,
        sources,
        problems: RefCell::default(),
    };
    let (document, language) = match format {
        Format::Toml => (node::toml(text), "TOML"),
        Format::Json => (node::json(text), "JSON"),
    };
    let read = match document {
        Ok(document) => config(&reader, &document),
        Err(errors) => {
            for Malformed { at, why } in errors {
                reader.problem("", at, format!("not valid {language}: {why}"), None);
            }
            None
        }
    };
    let problems = reader.problems.into_inner();
    match read {
        Some(config) if problems.is_empty() => Ok(config),
        _ => Err(ConfigError::new(problems)),
    }
}

fn config(reader: &Reader<'_>, document: &Node) -> Option<GatewayConfig> {
    let mut fields = Field::root(reader, document).fields()?;
    let never = fields.paths("never");
    let servers = fields.require("mcpServers", ": the servers, each by its name");
    let servers = servers.map(|field| server::servers(&field, &never));
    let servers = servers.unwrap_or_default();
    let tokens = fields.take("tokens");
    let tokens = tokens.map(|field| tokens::tokens(&field, &servers));
    let tokens = tokens.unwrap_or_default();
    let anonymous = fields.take("anonymous").is_some_and(|field| {
        let anonymous = field.flag() == Some(true);
        if anonymous && !tokens.is_empty() {
            field.problem("`anonymous` lets clients in without a token, but there are `tokens`: remove one of them");
        }
        anonymous
    });
    let listen = fields.take("listen").and_then(listen);
    let limits = fields.take("limits").and_then(limits::limits);
    let extra_tools = fields.take("extraTools").and_then(extra_tools);
    let flows = fields.take("flows");
    let flows = flows.map(|field| flows::flows(&field, &servers));
    let profile = fields.profile("profile");
    let view = fields.view("view").unwrap_or_default();
    fields.refuse_previews();
    let clients = fields.take("clients");
    let clients = clients.map(|field| clients::clients(&field));
    let prefix = [
        ("always", Prefix::Always),
        ("collisions", Prefix::Collisions),
    ];
    let unlisted = [("refuse", Unlisted::Refuse), ("ask-all", Unlisted::AskAll)];
    let eras = [("servers", Eras::Servers), ("all", Eras::All)];
    let config = GatewayConfig {
        never,
        listen: listen.map(|listen| ListenConfig {
            tokens: tokens.clone(),
            anonymous,
            ..listen
        }),
        limits: limits.unwrap_or_else(|| Limits::of_machine(&reader.sources.machine)),
        extra_tools: extra_tools.unwrap_or_default(),
        flows: flows.unwrap_or_default(),
        profile,
        view,
        clients: clients.unwrap_or_default(),
        context_window: fields.count("contextWindow"),
        tokens,
        anonymous,
        prefix: fields.word("prefix", &prefix),
        unlisted: fields.word("unlisted", &unlisted),
        eras: fields.word("eras", &eras),
        servers,
    };
    // Editors find the schema of a file by this.
    let _ = fields.take("$schema");
    fields.finish();
    Some(config)
}

fn listen(field: Field<'_>) -> Option<ListenConfig> {
    let mut listen = ListenConfig::new(ListenConfig::ADDRESS);
    if matches!(field.node.value, Value::Text(_)) {
        listen.address = address(&field)?;
        return Some(listen);
    }
    let mut fields = field.fields()?;
    if let Some(field) = fields.take("address") {
        listen.address = address(&field)?;
    }
    if let Some(field) = fields.take("path")
        && let Some(path) = field.text()
    {
        if !path.starts_with('/') || path.contains(['?', '#', '{', '*']) {
            field.problem("not a valid path: write one like `/mcp`");
        }
        listen.path = path;
    }
    listen.hosts = fields.texts("hosts");
    if let Some(field) = fields.take("origins") {
        listen.origins = field.texts();
        if !listen.origins.iter().all(|origin| is_origin(origin)) {
            let what = "not a valid origin: write each as browsers do, like `https://app.example` or \
                        `http://localhost:3000`";
            field.problem(what);
        }
    }
    fields.finish();
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
fn address(field: &Field<'_>) -> Option<SocketAddr> {
    let address = ListenConfig::parse_address(&field.text()?);
    if address.is_none() {
        field.problem("not a valid address with a port: write one like `127.0.0.1:8807`");
    }
    address
}

fn extra_tools(field: Field<'_>) -> Option<ExtraTools> {
    if let Value::Bool(offered) = field.node.value {
        return Some(ExtraTools {
            inspect: offered,
            read: offered,
            list: offered,
        });
    }
    let mut fields = field.fields()?;
    let tools = ExtraTools {
        inspect: fields.flag("inspectToolOutput", true),
        read: fields.flag("readResult", true),
        list: fields.flag("listResults", true),
    };
    fields.finish();
    Some(tools)
}
