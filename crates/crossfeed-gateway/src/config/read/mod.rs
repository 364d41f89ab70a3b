//! Reads a document into a configuration, or reports every problem with its place.

mod clients;
mod fields;
mod flows;
mod limits;
mod queries;
mod references;
mod server;
mod store;
mod tokens;

use super::{
    ConfigError, ExtraTools, GatewayConfig, Limits, ListenConfig, Machine, Problem, StoreLocation,
    is_within,
    node::{self, Node, Value},
};
use derive_setters::Setters;
pub(crate) use fields::nearest;
use fields::{Field, FromField as _};
use reqwest::Url;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
};

/// How a configuration is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON; comments and a comma after the last item are allowed.
    Json,
}

impl Format {
    /// The format by the extension of the file, else by the beginning of the text.
    pub fn detect(path: Option<&Path>, text: &str) -> Self {
        let extension = path.and_then(Path::extension);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        match extension.and_then(|extension| extension.to_str()) {
            Some("toml") => Self::Toml,
            Some("json" | "jsonc" | "json5") => Self::Json,
            _ if text.starts_with(['{', '/']) => Self::Json,
            _ => Self::Toml,
        }
    }
}

/// What a configuration depends on besides its text.
#[derive(Clone, Default, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Sources {
    /// The variables that `${VAR}` names.
    pub environment: BTreeMap<String, String>,
    /// The directory at which relative paths begin; that of the process if absent.
    #[setters(into, strip_option)]
    pub directory: Option<PathBuf>,
    /// The machine by which limits default.
    pub machine: Machine,
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

/// The document, and the problems found so far.
struct Reader<'a> {
    text: &'a str,
    sources: &'a Sources,
    problems: RefCell<Vec<Problem>>,
}

impl Reader<'_> {
    fn problem(&self, at: &str, offset: usize, what: impl Into<String>, advice: Option<String>) {
        self.problems.borrow_mut().push(Problem {
            at: at.to_owned(),
            line: node::line(self.text, offset),
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
    let read = match node::parse(text, format) {
        Ok(document) => config(&reader, &document),
        Err(errors) => {
            for error in errors {
                reader.problem("", error.at, error.why, None);
            }
            None
        }
    };
    let problems = reader.problems.into_inner();
    read.filter(|_| problems.is_empty())
        .ok_or_else(|| ConfigError::new(problems))
}

fn config(reader: &Reader<'_>, document: &Node) -> Option<GatewayConfig> {
    let mut fields = Field::root(reader, document).fields()?;
    let never: Vec<_> = fields.get("never").unwrap_or_default();
    let servers = fields.require("mcpServers", ": the servers, each by its name");
    let servers = servers.map_or_else(Vec::new, |field| server::servers(&field, &never));
    let tokens = fields.take("tokens");
    let tokens = tokens.map_or_else(Vec::new, |field| tokens::tokens(&field, &servers));
    let anonymous = fields.take("anonymous").is_some_and(|field| {
        let anonymous = bool::from_field(&field) == Some(true);
        if anonymous && !tokens.is_empty() {
            field.problem("`anonymous` lets clients in without a token, but there are `tokens`: remove one of them");
        }
        anonymous
    });
    let store = fields.take("store").and_then(store::store);
    let store = store.unwrap_or_default();
    let listen = fields.take("listen");
    let listen = listen.and_then(|field| listen_at(field, &store.location));
    let id_keys = [fields.take("idKeys"), fields.take("idKeysFile")];
    let id_keys = store::secret(id_keys, "idKeys");
    let limits = fields.take("limits");
    let limits = limits.and_then(|field| limits::limits(field, &store.location));
    let extra_tools = fields.take("extraTools").and_then(extra_tools);
    let own = reader.sources.directory.as_deref();
    let holds_config = |directory: &Path| own.is_some_and(|own| is_within(own, directory));
    let refuses = |root: &Path| {
        if holds_config(root) {
            return Some(
                "this file is in it, and what it says of servers and tokens could be passed on; set a directory of its own, such as `notes`",
            );
        }
        store.overlaps(root).then_some(
            "the store is in it, around it or the same: what it holds of any client could be passed on; set a directory of its own, such as `notes`",
        )
    };
    let references = fields.take("references");
    let references = references.and_then(|field| references::references(field, &refuses));
    let save_directory = fields.take("saveDirectory");
    let save_directory = save_directory.and_then(|field| {
        let path = store::path(&field, &field.text()?)?;
        Some((field, path))
    });
    if let Some((field, saves)) = &save_directory {
        if references.as_ref().is_some_and(|own| own.reads_from(saves)) {
            field.problem(
                "within a directory of `references.files`, or around one: what is saved could be passed on as a file, whatever the flow rules say of it",
            );
        }
        if holds_config(saves) {
            field.problem(
                "this file is in it: `save_result` could replace what configures the gateway; set a directory of its own, such as `saved`",
            );
        } else if store.overlaps(saves) {
            field.problem(
                "the store is in it, around it or the same: `save_result` could write among its files; set a directory of its own, such as `saved`",
            );
        }
    }
    let save_directory = save_directory.map(|(_, saves)| saves);
    let flows = fields.take("flows");
    let has_files = references.as_ref().is_some_and(|own| own.files.is_some());
    let queries = fields.take("queries").and_then(queries::queries);
    // Both are receivers that rules can name.
    let ends = (has_files, save_directory.is_some() || queries.is_some());
    let flows = flows.map_or_else(Vec::new, |field| flows::flows(&field, &servers, ends));
    fields.refuse_previews();
    let clients = fields.take("clients");
    let config = GatewayConfig {
        never,
        listen: listen.map(|listen| ListenConfig {
            tokens: tokens.clone(),
            anonymous,
            ..listen
        }),
        limits: limits.unwrap_or_else(|| Limits::for_machine(&reader.sources.machine)),
        extra_tools: extra_tools.unwrap_or_default(),
        flows,
        profile: fields.take("profile").and_then(|field| field.profile()),
        view: fields.choice("view").unwrap_or_default(),
        clients: clients.map_or_else(Vec::new, |field| clients::clients(&field)),
        context_window: fields.get("contextWindow"),
        tokens,
        anonymous,
        prefix: fields.choice("prefix").unwrap_or_default(),
        unlisted: fields.choice("unlisted").unwrap_or_default(),
        eras: fields.choice("eras").unwrap_or_default(),
        mutes_notices: fields.get("notices") == Some(false),
        templates: fields.get("templates").unwrap_or_default(),
        references: references.unwrap_or_default(),
        result_resources: fields.get("resultResources").unwrap_or_default(),
        save_directory,
        queries,
        store,
        id_keys,
        session: None,
        servers,
    };
    // Editors find the schema of a file by this key.
    let _ = fields.take("$schema");
    fields.finish();
    Some(config)
}

fn listen_at(field: Field<'_>, store: &StoreLocation) -> Option<ListenConfig> {
    let mut listen = ListenConfig::new(ListenConfig::ADDRESS);
    if field.node.text().is_some() {
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
    listen.hosts = fields.get("hosts").unwrap_or_default();
    if let Some(field) = fields.take("origins") {
        listen.origins = Vec::from_field(&field).unwrap_or_default();
        if !listen.origins.iter().all(|origin| is_origin(origin)) {
            let what = "not a valid origin: write each as browsers do, like `https://app.example` or \
                        `http://localhost:3000`";
            field.problem(what);
        }
    }
    if let Some(field) = fields.take("advertise") {
        listen.advertise = advertised(&field, store);
    }
    fields.finish();
    Some(listen)
}

/// Where other replicas reach this one: a scheme, a host, and perhaps a port.
fn advertised(field: &Field<'_>, store: &StoreLocation) -> Option<String> {
    let text = field.text()?;
    let text = text.strip_suffix('/').unwrap_or(&text);
    let is_whole = |url: &Url| {
        let is_http = matches!(url.scheme(), "http" | "https");
        is_http && url.has_host() && url.origin().ascii_serialization() == text
    };
    match Url::parse(text).ok().filter(is_whole) {
        None => field.problem(
            "not the URL of a replica: write a scheme and a host, like `http://10.0.0.5:8807`",
        ),
        Some(url) if is_nowhere(&url) => field.problem(
            "every machine's own address, at which others do not reach this one: write a host that they reach",
        ),
        Some(_) if !store.lasts() => field.problem(
            "replicas find each other in a store that they share: add `store`, such as `redis://…`",
        ),
        Some(_) => {}
    }
    Some(text.to_owned())
}

/// Whether a URL has the address for listening at all addresses: `0.0.0.0`, `[::]`.
fn is_nowhere(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    address.is_ok_and(|address| address.is_unspecified())
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
        inspect: fields.get("inspectToolOutput").unwrap_or(true),
        read: fields.get("readResult").unwrap_or(true),
        list: fields.get("listResults").unwrap_or(true),
    };
    fields.finish();
    Some(tools)
}
