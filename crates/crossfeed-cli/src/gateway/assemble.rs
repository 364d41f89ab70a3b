//! Reads arguments, files and the environment into a configuration, and builds the gateway.

use super::{
    id_keys,
    store::{self, UnusableStore},
};
use crate::{
    cli, input,
    report::{CommandError, Result, bail},
};
use crossfeed::{
    Engine, EngineOptions, ErrorCode, edit::EditLimits, render::ContextOptions, store::ResultStore,
    telemetry::Telemetry,
};
use crossfeed_gateway::{
    claim::{ClaimError, SessionClaim},
    config::{
        Format, GatewayConfig, Limits, Machine, OAuthConfig, ServerConfig, Sources, StoreConfig,
        StoreLocation, TransportConfig,
    },
    hub::Gateway,
    import,
    metrics::Metrics,
    tools::Tools,
    upstream::{self, Connector, UpstreamError},
};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Component, Path, PathBuf},
    sync::Arc,
};

/// The variables of the process that are valid UTF-8.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

/// The configuration of the arguments, with the file that they name.
pub(super) fn config(
    args: &cli::Gateway,
    environment: &BTreeMap<String, String>,
    machine: Machine,
) -> Result<GatewayConfig> {
    let sources = Sources::default()
        .with_environment(environment.clone())
        .with_machine(machine);
    let mut config = match (&args.config, args.command.split_first(), &args.url) {
        (Some(path), _, _) => of_file(path, args.config_digest.as_deref(), sources)?,
        (None, Some((command, rest)), _) => of_command(command, rest, &args.env, environment)?
            .with_limits(Limits::for_machine(&machine)),
        (None, None, Some(url)) => of_url(url, &sources)?,
        (None, None, None) => {
            bail!(
                "no server is given: write `crossfeed gateway COMMAND ARGS…` for a command, `--url URL` \
                 for a server over HTTP, `--config FILE` for several; `--help` has examples"
            );
        }
    };
    if let Some(address) = args.listen {
        config = config.with_listen(address);
    }
    if args.anonymous {
        config = without_tokens(config)?;
    }
    let from_stdin = args
        .config
        .as_ref()
        .is_some_and(|path| input::is_stdin(path.as_os_str()));
    let serves = !args.check && args.login.is_none() && !args.print_client_config;
    if from_stdin && config.listen.is_none() && serves {
        bail!(
            "the configuration came from standard input, where the client would be: `--listen ADDR` serves over HTTP"
        );
    }
    config = with_state(config, args)?;
    if let Some(view) = args.view {
        config = config.with_view(view);
    }
    if let (Some(profile), None) = (&args.profile, &config.profile) {
        config = config.with_profile(profile);
    }
    // Disabled servers are removed: indexes in the list are those of servers that run.
    config.servers.retain(|server| !server.disabled);
    if config.servers.is_empty() {
        bail!("every server is switched off");
    }
    let tokens = tokens_directory(environment);
    for server in &mut config.servers {
        keep_tokens(server, tokens.as_deref());
    }
    Ok(config)
}

/// Applies `--state` and `--session`.
fn with_state(mut config: GatewayConfig, args: &cli::Gateway) -> Result<GatewayConfig> {
    if let Some(directory) = &args.state {
        if config.store.location.lasts() {
            bail!("the configuration has a store: leave `--state` out, or the `store` there");
        }
        config.store = StoreConfig::new(StoreLocation::Sqlite(directory.clone()));
        let files = config
            .references
            .files
            .iter()
            .flat_map(|files| &files.roots);
        let files = files.map(|root| ("references.files", root));
        let saves = config
            .save_directory
            .iter()
            .map(|saves| ("saveDirectory", saves));
        let mut others = saves.chain(files);
        if let Some((key, _)) = others.find(|(_, other)| config.store.overlaps(other)) {
            bail!(
                "`{key}`: the store is in it, around it or the same; set a directory of its own, or another `--state`"
            );
        }
    }
    let Some(session) = &args.session else {
        return Ok(config);
    };
    if config.listen.is_some() {
        bail!(
            "--session names the session of the client on standard input: clients over HTTP have sessions of their own"
        );
    }
    if !config.store.location.lasts() {
        bail!("--session needs a store that outlives the process: add `--state DIR`");
    }
    Ok(config.with_session(session))
}

/// Applies `--anonymous`.
fn without_tokens(config: GatewayConfig) -> Result<GatewayConfig> {
    let why = if config.listen.is_none() {
        "--anonymous is for a gateway that listens: `--listen ADDR` serves over HTTP"
    } else if !config.tokens.is_empty() {
        "--anonymous lets clients in without a token, but the configuration has `tokens`"
    } else {
        return Ok(config.with_anonymous());
    };
    Err(CommandError::usage(why.to_owned()))
}

/// The limit of a configuration: thousands of servers.
const MAX_CONFIG_BYTES: u64 = 16 << 20;

fn of_file(path: &Path, approved: Option<&str>, mut sources: Sources) -> Result<GatewayConfig> {
    let bytes = input::read_at_most(path, MAX_CONFIG_BYTES).map_err(CommandError::usage)?;
    if let Some(approved) = approved {
        unchanged(path, &bytes, approved)?;
    }
    let Ok(text) = std::str::from_utf8(&bytes) else {
        bail!("{} is not text in UTF-8", input::name(path));
    };
    let is_stdin = input::is_stdin(path.as_os_str());
    if let (false, Some(directory)) = (is_stdin, path.parent()) {
        sources = sources.with_directory(directory);
    }
    let format = Format::detect((!is_stdin).then_some(path), text);
    GatewayConfig::parse(text, format, &sources)
        .map_err(|error| CommandError::Answer(error.bodies()))
}

/// Refuses a configuration other than the one that the client approved.
fn unchanged(path: &Path, bytes: &[u8], approved: &str) -> Result {
    let found = import::digest(bytes);
    if found == approved {
        return Ok(());
    }
    let name = input::name(path);
    let message = format!(
        "{name} is not the configuration that was approved: its digest is {found}, not {approved}"
    );
    let advice = format!(
        "look at what changed in {name}: it says which commands are run; if the change is intended, write \
         `--config-digest {found}` in the client's entry, and approve it there"
    );
    Err(CommandError::answer(ErrorCode::ConfigChanged, message).with_advice(advice))
}

fn of_command(
    command: &OsStr,
    args: &[std::ffi::OsString],
    variables: &[std::ffi::OsString],
    environment: &BTreeMap<String, String>,
) -> Result<GatewayConfig> {
    let text = |text: &OsStr| match text.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(CommandError::usage(
            "the command or one of its variables is not valid UTF-8",
        )),
    };
    // A variable of the shell that is not set.
    if command.is_empty() {
        bail!("the command is empty: write the program that is the server");
    }
    if let Some(option) = option_meant(Path::new(command)).filter(|_| args.is_empty()) {
        let command = command.to_string_lossy();
        bail!("`{command}` is not a program: write `crossfeed gateway {option} {command}`");
    }
    let given = variables.iter().rev().find_map(|variable| {
        let value = variable.to_str()?.strip_prefix("PATH=")?;
        Some(value.to_owned())
    });
    let directories = given.or_else(|| environment.get("PATH").cloned());
    if directories.is_some_and(|directories| !is_on_path(command, &directories)) {
        bail!(
            "there is no program `{}` on PATH: a server is started by its command, such as `npx -y PACKAGE`",
            command.to_string_lossy()
        );
    }
    let args = args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?;
    let mut config = GatewayConfig::from_command(text(command)?, args);
    for variable in variables {
        let variable = text(variable)?;
        let (name, value) = match variable.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => match environment.get(&variable) {
                Some(value) => (variable.clone(), value.clone()),
                // An empty name is refused below.
                None if variable.is_empty() => (String::new(), String::new()),
                None => {
                    let message = format!("the variable `{variable}` of --env is not set");
                    return Err(CommandError::usage(message));
                }
            },
        };
        if name.is_empty() || name.contains('\0') || value.contains('\0') {
            bail!("`--env` needs the name of a variable");
        }
        for server in &mut config.servers {
            if let TransportConfig::Stdio { env, .. } = &mut server.transport {
                env.insert(name.clone(), value.clone());
            }
        }
    }
    Ok(config)
}

/// Whether a command without a directory is a file in one of these directories; true for others.
fn is_on_path(command: &OsStr, directories: &str) -> bool {
    let mut parts = Path::new(command).components();
    let is_name = matches!(parts.next(), Some(Component::Normal(_))) && parts.next().is_none();
    let endings: &[&str] = if cfg!(windows) {
        &["", ".exe", ".cmd", ".bat", ".com"]
    } else {
        &[""]
    };
    let is_there = |directory: PathBuf| {
        endings.iter().any(|ending| {
            let mut name = command.to_owned();
            name.push(ending);
            directory.join(name).is_file()
        })
    };
    !is_name || std::env::split_paths(directories).any(is_there)
}

/// The option that was left out before an address or a configuration.
fn option_meant(word: &Path) -> Option<&'static str> {
    let text = word.to_string_lossy();
    if text.starts_with("https://") || text.starts_with("http://") {
        return Some("--url");
    }
    let extension = word.extension().and_then(OsStr::to_str);
    matches!(extension, Some("toml" | "json" | "jsonc")).then_some("--config")
}

/// A configuration of one URL, which is validated as in a file.
fn of_url(url: &str, sources: &Sources) -> Result<GatewayConfig> {
    let text = serde_json::json!({"mcpServers": {"server": {"url": url}}}).to_string();
    GatewayConfig::parse(&text, Format::Json, sources).map_err(|error| match error.problems() {
        [problem, ..] => CommandError::usage(format!("--url: {}", problem.what)),
        [] => CommandError::Answer(error.bodies()),
    })
}

/// Where tokens are kept unless the configuration says it.
fn tokens_directory(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    Some(data_directory(environment)?.join("tokens"))
}

/// Where the command keeps what it must not lose.
fn data_directory(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    Some(base_directory(environment, "XDG_DATA_HOME", ".local/share")?.join("crossfeed"))
}

/// A directory of the user's, by its variable or else within the home. The XDG Base Directory Specification
/// has relative ones ignored: they would be another wherever the command is run.
pub(crate) fn base_directory(
    environment: &BTreeMap<String, String>,
    variable: &str,
    in_home: &str,
) -> Option<PathBuf> {
    let set = |name: &str| environment.get(name).filter(|value| !value.is_empty());
    let named = set(variable).map(PathBuf::from);
    let home = || Some(Path::new(set("HOME")?).join(in_home));
    named.filter(|path| path.is_absolute()).or_else(home)
}

/// Servers that have no header which says who asks may be logged in to.
fn keep_tokens(server: &mut ServerConfig, directory: Option<&Path>) {
    let TransportConfig::Http { headers, oauth, .. } = &mut server.transport else {
        return;
    };
    let mut names = headers.keys();
    if oauth.is_none() && names.any(|name| name.eq_ignore_ascii_case("authorization")) {
        return;
    }
    let oauth = oauth.get_or_insert_with(OAuthConfig::default);
    if oauth.directory.is_none() {
        oauth.directory = directory.map(Path::to_owned);
    }
}

/// The engine of a gateway.
pub(super) fn engine(
    config: &GatewayConfig,
    telemetry: Option<Arc<dyn Telemetry>>,
    store: Arc<dyn ResultStore>,
) -> Engine {
    let limits = &config.limits;
    // The transport refuses requests beyond the limit, not the engine.
    let mut options = EngineOptions::default()
        .with_max_in_flight(limits.requests_per_client)
        .with_max_argument_bytes(limits.argument_bytes);
    // A value that does not fit into a message is not built.
    for most in [
        &mut options.max_resolved_bytes,
        &mut options.select.limits.output_bytes,
    ] {
        *most = limits.message_bytes.min(*most);
    }
    if config.references.edits {
        options = options.with_edits(EditLimits::default().with_bytes(limits.message_bytes));
    }
    if let Some(window) = config.context_window {
        options = options.with_context(ContextOptions::default().with_window(window));
    }
    if let Some(telemetry) = telemetry {
        options = options.with_telemetry(telemetry);
    }
    Engine::new(options, store)
}

/// The connectors of the servers, in the order of the configuration.
pub(super) fn connectors(
    config: &GatewayConfig,
    environment: &BTreeMap<String, String>,
    metrics: &Metrics,
    store: Option<&Arc<dyn ResultStore>>,
) -> Result<Vec<Arc<dyn Connector>>> {
    let connector = |server: &ServerConfig| {
        upstream::connector(server, &config.limits, environment, metrics, store)
            .map_err(|error| unreachable(&server.name, &error))
    };
    config.servers.iter().map(connector).collect()
}

fn unreachable(server: &str, error: &UpstreamError) -> CommandError {
    CommandError::answer(error.code(), format!("server `{server}`: {error}"))
}

/// Builds the gateway, within a runtime, and claims the local client's session if it has a name.
pub(super) async fn gateway(
    config: GatewayConfig,
    environment: &BTreeMap<String, String>,
    telemetry: Option<Arc<dyn Telemetry>>,
    metrics: &Metrics,
) -> Result<(Arc<Gateway>, Option<SessionClaim>)> {
    let id_keys = id_keys::read(&config).map_err(CommandError::usage)?;
    let store = store::open(&config).await?;
    let connectors = connectors(&config, environment, metrics, Some(&store))?;
    let engine = engine(&config, telemetry, Arc::clone(&store));
    let mut tools = Tools::new(engine, Arc::new(config.clone()));
    if let Some((keys, _)) = id_keys {
        tools = tools.with_id_keys(keys);
    }
    let tools = tools.with_records(store).await;
    let tools = tools.map_err(|error| UnusableStore::new(&config, &error))?;
    let tools = querying(saving(tools, &config)?, &config)?;
    if config.queries.is_some() {
        // Nothing waits for it.
        let warmed = tools.clone();
        tokio::spawn(async move { warm_up(&warmed).await });
    }
    let claim = match &config.session {
        Some(session) => SessionClaim::take(&tools, session)
            .await
            .map_err(unclaimed)?,
        None => None,
    };
    let gateway = Gateway::new(config, connectors, tools, metrics);
    let joined = gateway.join().await;
    joined.map_err(|error| UnusableStore::new(gateway.config(), &error))?;
    Ok((gateway, claim))
}

/// The tools with the directory in which results are saved, if there is to be one.
pub(super) fn saving(tools: Tools, config: &GatewayConfig) -> Result<Tools> {
    tools.with_save_directory().map_err(|error| {
        let place = config.save_directory.as_deref().unwrap_or(Path::new(""));
        let name = input::name(place);
        CommandError::usage(format!("`saveDirectory`: cannot open {name}: {error}"))
    })
}

/// The tools with what answers statements about results, if that is to be.
#[cfg(feature = "sql")]
pub(super) fn querying(tools: Tools, _: &GatewayConfig) -> Result<Tools> {
    let command = crossfeed_worker::WorkerCommand::own(crate::sql::WORKER);
    let command = command.map_err(|error| CommandError::answer(error.code(), error.to_string()))?;
    Ok(tools.with_queries(command))
}

/// The tools, unless statements are to be answered, for which this program has nothing.
#[cfg(not(feature = "sql"))]
pub(super) fn querying(tools: Tools, config: &GatewayConfig) -> Result<Tools> {
    match config.queries {
        None => Ok(tools),
        Some(_) => Err(CommandError::usage(
            "`queries`: this program was built without SQL: build it with `--features sql`",
        )),
    }
}

/// Starts the first process for statements, and says what is missing of how it is shut off, or why there is none.
#[cfg(feature = "sql")]
pub(super) async fn probe_queries(tools: &Tools) -> Result<Option<String>, String> {
    let started = tools.warm_up_queries().await;
    let started = started.map_err(|error| crossfeed::store::with_causes(&error));
    Ok(started?.and_then(missing))
}

#[cfg(not(feature = "sql"))]
pub(super) async fn probe_queries(_: &Tools) -> Result<Option<String>, String> {
    Ok(None)
}

async fn warm_up(tools: &Tools) {
    match probe_queries(tools).await {
        Ok(None) => {}
        Ok(Some(missing)) => tracing::warn!(target: "crossfeed::gateway", "{missing}"),
        Err(error) => {
            tracing::warn!(target: "crossfeed::gateway", error, "cannot start a process for statements");
        }
    }
}

/// What is missing of how processes for statements are shut off.
#[cfg(feature = "sql")]
fn missing(sandbox: crossfeed_worker::Sandbox) -> Option<String> {
    let missing = [
        (!sandbox.limits).then_some("bounded memory"),
        (!sandbox.files).then_some("closed files (landlock)"),
        (!sandbox.calls).then_some("closed system calls (seccomp)"),
    ];
    let missing: Vec<&str> = missing.into_iter().flatten().collect();
    (!missing.is_empty()).then(|| {
        format!(
            "the processes of `query_results` run without {}: this system does not give that",
            missing.join(", ")
        )
    })
}

/// The session is not this process's.
pub(super) fn unclaimed(error: ClaimError) -> CommandError {
    CommandError::usage(match &error {
        ClaimError::Store { source, .. } => format!("{error}: {source}"),
        _ => format!("{error}: end that one first, or give this one another `--session NAME`"),
    })
}
