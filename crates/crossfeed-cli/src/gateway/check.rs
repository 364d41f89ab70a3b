//! `crossfeed gateway --check`: lists each server's tools with how clients see them, why, and what they cost; or says why a
//! server cannot be reached, and what it printed last.

mod wanted;

use super::{
    access, assemble, id_keys,
    probe::{ProbeError, ProbedServer, probe},
    protocol_paths::of_protocol,
    server_stderr::ServerStderr,
    store, views,
    waiting::{self, Pace},
};
use crate::report::{self, CommandError, Result, count};
use bytes::Bytes;
use crossfeed::{TokenCounter, error::printable, json::Document};
use crossfeed_gateway::{
    Revision,
    config::{
        FILES, FlowRule, GATEWAY, GatewayConfig, ServerConfig, StoreLocation, TransportConfig,
    },
    metrics::Metrics,
    principal::Principal,
    root_directory::RootDirectory,
    tools::{Caller, ServerList, ToolReport, Tools, UnmatchedPattern},
    upstream::Connector,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    io::{self, Write},
    path::Path,
    sync::Arc,
};

/// The report on a server.
struct Checked<'c> {
    server: &'c ServerConfig,
    probed: Result<ProbedServer, ProbeError>,
    /// What it printed last, if it does not answer.
    last_lines: Vec<String>,
    /// Patterns of its configuration that match none of its tools.
    unmatched: Vec<UnmatchedPattern>,
    /// Withheld paths that begin with a word of the protocol.
    of_protocol: Vec<(String, &'c str)>,
    /// Flow rules that data could bypass through this server.
    leads_around: Vec<&'c str>,
    tools: Vec<ToolCost>,
}

/// The report on a tool, and its tokens.
struct ToolCost {
    report: ToolReport,
    before: usize,
    /// The tool as a client gets it.
    shown: Option<Bytes>,
}

impl ToolCost {
    fn after(&self) -> usize {
        self.shown.as_ref().map_or(0, tokens)
    }

    /// Whether one of these names is its name; every tool matches an empty list.
    fn is_wanted(&self, server: &str, names: &[String]) -> bool {
        let is = |name: &String| {
            let of_server = name
                .strip_prefix(server)
                .and_then(|rest| rest.strip_prefix('/'));
            *name == self.report.name
                || Some(name) == self.report.shown.as_ref()
                || of_server == Some(&self.report.name)
        };
        names.is_empty() || names.iter().any(is)
    }
}

impl Checked<'_> {
    fn is_sound(&self) -> bool {
        let refused = |tool: &ToolCost| tool.report.refused.is_some();
        let is_error = UnmatchedPattern::is_error;
        self.probed.is_ok()
            && !self.tools.iter().any(refused)
            && !self.unmatched.iter().any(is_error)
    }
}

pub(super) async fn run(
    config: GatewayConfig,
    environment: &BTreeMap<String, String>,
    stderr: &ServerStderr,
    wanted: &[String],
    json: bool,
    out: &mut dyn Write,
) -> Result {
    let connectors = connectors(&config, environment).await?;
    let probes = connectors.into_iter().zip(&config.servers);
    let probes = probes.map(|(connector, server)| {
        let name = server.name.as_str();
        (name, probe(connector, server, &config.limits))
    });
    let say = |line: &str| tracing::warn!(target: "crossfeed::gateway", "{line}");
    let probed = waiting::all(probes.collect(), Pace::default(), say).await;
    let lists: Vec<_> = probed
        .iter()
        .enumerate()
        .filter_map(|(server, probed)| {
            let pages = probed.as_ref().ok()?.pages.clone();
            Some(ServerList::new(server, pages))
        })
        .collect();

    let engine = assemble::engine(&config, None, store::in_memory(&config));
    let tools = Tools::new(engine, Arc::new(config.clone()));
    let tools = assemble::querying(assemble::saving(tools, &config)?, &config)?;
    let queries = assemble::probe_queries(&tools).await;
    let session = Some("check".to_owned());
    let tools = tools.for_caller(Caller::new(
        Principal::Local,
        session,
        Revision::V2025_11_25,
    ));
    let listed = tools.list(&lists).await;
    let after = definitions(&[listed]);
    let mut reports: HashMap<usize, Vec<ToolReport>> = HashMap::new();
    for report in tools.report() {
        reports.entry(report.server).or_default().push(report);
    }
    let unmatched = tools.unmatched();
    let mut own = after.clone();
    let checked: Vec<_> = probed
        .into_iter()
        .zip(&config.servers)
        .enumerate()
        .map(|(index, (probed, server))| {
            let pages = probed.as_ref().map_or(&[][..], |probed| &probed.pages);
            let before = definitions(pages);
            let reports = reports.remove(&index).unwrap_or_default();
            let tools = reports.into_iter().map(|report| {
                let shown = report.shown.as_ref();
                if let Some(shown) = shown {
                    own.remove(shown);
                }
                ToolCost {
                    before: before.get(&report.name).map_or(0, tokens),
                    shown: shown.and_then(|name| after.get(name)).cloned(),
                    report,
                }
            });
            let unmatched = unmatched.iter().filter(|pattern| pattern.server == index);
            let last_lines = match &probed {
                Ok(_) => Vec::new(),
                Err(_) => stderr.of(&server.name),
            };
            let around = config.flows.iter().filter(|rule| {
                let ways = rule.ways_around(&config);
                ways.contains(&server.name.as_str())
            });
            Checked {
                of_protocol: of_protocol(server, pages),
                server,
                leads_around: around.map(|rule| rule.name.as_str()).collect(),
                tools: tools.collect(),
                probed,
                last_lines,
                unmatched: unmatched.cloned().collect(),
            }
        })
        .collect();
    if !json && !wanted.is_empty() {
        return wanted::write(&checked, &own, wanted, out);
    }
    let token_error = access::token_error(&config, environment);
    let found = store::probe(&config).await;
    let ids = id_keys::read(&config).map(|keys| keys.map(|(_, shown)| shown));
    if json {
        if let Some(missing) = wanted::missing(&checked, &own, wanted) {
            return Err(missing);
        }
        let mut report = as_json(&checked, &own, wanted, &config);
        if let Some(error) = &token_error {
            report["token_error"] = json!(error);
        }
        match &found {
            Ok(found) if found.is_empty() => {}
            Ok(found) => report["store"] = json!(found),
            Err(error) => report["store_error"] = json!(error.as_str()),
        }
        match &queries {
            Ok(None) => {}
            Ok(Some(missing)) => report["queries_notice"] = json!(missing),
            Err(error) => report["queries_error"] = json!(error),
        }
        match &ids {
            Ok(None) => {}
            Ok(Some(shown)) => report["ids"] = json!(shown),
            Err(error) => report["ids_error"] = json!(error),
        }
        writeln!(out, "{report}")?;
    } else {
        write(&checked, &own, out)?;
        for line in switched_on(&config) {
            writeln!(out, "on: {}", printable(&line))?;
        }
        match &queries {
            Ok(Some(missing)) => writeln!(out, "notice: {missing}")?,
            Ok(None) => {}
            Err(error) => writeln!(out, "error: `queries`: {}", printable(error))?,
        }
        views::write(&views::views(&config), out)?;
        for (rule, by) in overruled(&config.flows) {
            let (rule, by) = (rule.escape_debug(), by.escape_debug());
            writeln!(
                out,
                "notice: the flow rule `{rule}` never applies: `{by}` comes first and decides every flow that it matches"
            )?;
        }
        for (rule, by) in ways_without_server(&config) {
            let (rule, how) = (
                rule.escape_debug(),
                if by == FILES {
                    "the files that references may name, if a server writes there what it receives: rules apply to references only"
                } else {
                    "`save_result`, if a server reads `saveDirectory`: a rule to `crossfeed` decides what is saved"
                },
            );
            writeln!(
                out,
                "notice: data could bypass the flow rule `{rule}` through {how}"
            )?;
        }
        for (root, error) in closed_roots(&config) {
            let root = root.display().to_string();
            let (root, error) = (printable(&root), error.to_string());
            writeln!(
                out,
                "notice: no file of `references.files` can be read from {root}: {}",
                printable(&error)
            )?;
        }
        if config.listen.is_none() && (config.anonymous || !config.tokens.is_empty()) {
            writeln!(
                out,
                "notice: `tokens` and `anonymous` are for clients over HTTP, and this configuration does not `listen`"
            )?;
        }
        if let Some(error) = &token_error {
            writeln!(out, "error: {}", error.escape_debug())?;
        }
        match &found {
            Ok(found) => {
                for line in found {
                    writeln!(out, "store: {}", printable(line))?;
                }
            }
            Err(error) => {
                writeln!(out, "error: store: {}", printable(error.as_str()))?;
            }
        }
        match &ids {
            Ok(None) => {}
            Ok(Some(shown)) => writeln!(out, "ids: {shown}")?,
            Err(error) => writeln!(out, "error: ids: {}", printable(error))?,
        }
        writeln!(out, "limits: {}", limits_as_text(&config))?;
    }
    out.flush()?;
    let is_usable = token_error.is_none() && found.is_ok() && ids.is_ok() && queries.is_ok();
    if is_usable && checked.iter().all(Checked::is_sound) {
        Ok(())
    } else {
        Err(CommandError::Written(report::ERROR))
    }
}

/// The connectors of the servers. Tokens of logins are renewed as gateways do that, which the store has in common: where
/// it cannot be reached, none is used.
async fn connectors(
    config: &GatewayConfig,
    environment: &BTreeMap<String, String>,
) -> Result<Vec<Arc<dyn Connector>>> {
    let metrics = Metrics::new();
    let Ok(store) = store::find(config).await else {
        tracing::warn!(
            target: "crossfeed::gateway",
            "the store cannot be reached: asking the servers without the tokens of logins"
        );
        let mut config = config.clone();
        for server in &mut config.servers {
            if let TransportConfig::Http { oauth, .. } = &mut server.transport {
                *oauth = None;
            }
        }
        return assemble::connectors(&config, environment, &metrics, None);
    };
    assemble::connectors(config, environment, &metrics, store.as_ref())
}

/// What is off by default and is on, as it is set.
fn switched_on(config: &GatewayConfig) -> Vec<String> {
    let references = &config.references;
    let mut on = Vec::new();
    if references.edits {
        on.push("references.edits".to_owned());
    }
    if let Some(files) = &references.files {
        let roots: Vec<_> = files
            .roots
            .iter()
            .map(|root| root.display().to_string())
            .collect();
        let (roots, most) = (roots.join(", "), files.max_bytes);
        on.push(format!(
            "references.files: at most {most} bytes each of {roots}"
        ));
    }
    if references.resources {
        on.push("references.resources".to_owned());
    }
    if config.result_resources {
        on.push("resultResources".to_owned());
    }
    if let Some(queries) = &config.queries {
        let (running, memory) = (queries.running, queries.memory_bytes);
        on.push(format!(
            "queries: {running} at once, each of at most {memory} bytes of memory"
        ));
    }
    if let Some(saves) = &config.save_directory {
        on.push(format!("saveDirectory: {}", saves.display()));
    }
    on
}

/// The directories of files that references may name that cannot be opened now.
fn closed_roots(config: &GatewayConfig) -> impl Iterator<Item = (&Path, io::Error)> {
    let roots = config
        .references
        .files
        .iter()
        .flat_map(|files| &files.roots);
    roots.filter_map(|root| Some((root.as_path(), RootDirectory::open(root).err()?)))
}

/// The paths that clients never see of a server.
fn withheld(server: &ServerConfig) -> Vec<String> {
    let never = server.withheld.never();
    never.iter().map(ToString::to_string).collect()
}

/// The tools of `tools/list` results, by name.
fn definitions(pages: &[Bytes]) -> BTreeMap<String, Bytes> {
    let mut definitions = BTreeMap::new();
    for page in pages {
        let document = Document::new(page.clone());
        let Ok(root) = document.root() else { continue };
        let tools = root.get("tools").map(|tools| tools.items());
        for tool in tools.into_iter().flatten() {
            let Some(name) = tool
                .get("name")
                .and_then(|name| Some(name.as_str()?.into_owned()))
            else {
                continue;
            };
            definitions.entry(name).or_insert_with(|| tool.shared());
        }
    }
    definitions
}

fn tokens(tool: &Bytes) -> usize {
    TokenCounter::estimate().count(&String::from_utf8_lossy(tool))
}

fn sums(checked: &[Checked<'_>]) -> (usize, usize, usize) {
    let tools = || checked.iter().flat_map(|server| &server.tools);
    let shown = tools().filter(|tool| tool.report.shown.is_some()).count();
    let before = tools().map(|tool| tool.before).sum();
    let after = tools().map(ToolCost::after).sum();
    (shown, before, after)
}

fn write(
    checked: &[Checked<'_>],
    own: &BTreeMap<String, Bytes>,
    out: &mut dyn Write,
) -> io::Result<()> {
    for Checked {
        server,
        probed,
        last_lines,
        unmatched,
        of_protocol,
        leads_around,
        tools,
    } in checked
    {
        match probed {
            Err(error) => write_unanswered(&server.name, error, last_lines, out)?,
            Ok(probed) => writeln!(
                out,
                "{}: {}, {} ({})",
                server.name,
                count(tools.len(), "tool"),
                probed.says.escape_debug(),
                probed.revision.escape_debug()
            )?,
        }
        let never = withheld(server);
        if !never.is_empty() {
            let never = never.join(", ");
            writeln!(out, "  withheld: {}", never.escape_debug())?;
        }
        for (path, word) in of_protocol {
            let (path, word) = (path.escape_debug(), word.escape_debug());
            writeln!(
                out,
                "  notice: the path `{path}` begins with `{word}`, a word of the protocol: paths name fields of the data in results, not of the messages around it"
            )?;
        }
        for pattern in unmatched {
            let said = pattern.to_string();
            let kind = if pattern.is_error() {
                "error"
            } else {
                "notice"
            };
            writeln!(
                out,
                "  {kind}: {} ({:?})",
                said.escape_debug(),
                pattern.pattern
            )?;
        }
        for rule in leads_around {
            writeln!(
                out,
                "  notice: data could bypass the flow rule `{}` through this server, if it stores what it receives: rules apply to references only",
                rule.escape_debug()
            )?;
        }
        for tool in tools {
            write!(out, "  ")?;
            write_cost(tool, out)?;
            let report = &tool.report;
            if let Some(refused) = &report.refused {
                writeln!(out, "    error: {}", refused.escape_debug())?;
            }
            for notice in &report.notices {
                writeln!(out, "    notice: {}", notice.escape_debug())?;
            }
        }
    }
    let (shown, before, after) = sums(checked);
    let extra: usize = own.values().map(tokens).sum();
    writeln!(
        out,
        "{} of {}: {before} -> {after} tokens; and {} of the gateway's own: {extra} tokens",
        count(shown, "tool"),
        count(checked.len(), "server"),
        count(own.len(), "tool"),
    )
}

/// Why a server does not answer, and what it printed last.
fn write_unanswered(
    server: &str,
    error: &ProbeError,
    last_lines: &[String],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "{server}: error[{}]: {}", error.code, error.why)?;
    // The log made it printable.
    for line in last_lines {
        writeln!(out, "  it printed: {line}")?;
    }
    Ok(())
}

/// A tool's name, and what it costs.
fn write_cost(tool: &ToolCost, out: &mut dyn Write) -> io::Result<()> {
    let report = &tool.report;
    let name = report.name.escape_debug();
    match &report.shown {
        Some(shown) if *shown != report.name => write!(out, "{name} as {}", shown.escape_debug())?,
        _ => write!(out, "{name}")?,
    }
    let (before, after) = (tool.before, tool.after());
    match report.shown {
        Some(_) => writeln!(out, ": {before} -> {after} tokens, {}", report.decision),
        None => writeln!(out, ": {}", report.decision),
    }
}

fn parsed(tool: &Bytes) -> Value {
    serde_json::from_slice(tool).unwrap_or_default()
}

/// The limits that depend on the machine, by their keys; whether each is a number of bytes.
fn machine_limits(config: &GatewayConfig) -> Vec<(&'static str, usize, bool)> {
    let limits = &config.limits;
    // Each command may run once, whatever the limit.
    let commands = config.servers.iter().filter(|server| {
        !server.disabled && matches!(server.transport, TransportConfig::Stdio { .. })
    });
    let processes = limits.processes.max(commands.count());
    let mut shown = vec![
        ("memoryBytes", limits.held_bytes(), true),
        ("messageBytes", limits.message_bytes, true),
        ("argumentBytes", limits.argument_bytes, true),
        ("totalBytes", limits.total_bytes, true),
        ("sessionBytes", limits.session_bytes, true),
        ("sessions", limits.sessions, false),
        ("processes", processes, false),
    ];
    if matches!(config.store.location, StoreLocation::Redis(_)) {
        shown.retain(|(key, ..)| *key != "totalBytes");
    }
    shown
}

fn limits_as_text(config: &GatewayConfig) -> String {
    let text = machine_limits(config)
        .into_iter()
        .map(|(key, amount, is_bytes)| {
            if is_bytes && amount % (1 << 20) == 0 {
                format!("{key} {} MiB", amount >> 20)
            } else {
                format!("{key} {amount}")
            }
        });
    text.collect::<Vec<_>>().join(", ")
}

/// Flow rules that never apply, each with the rule that decides instead.
fn overruled(rules: &[FlowRule]) -> impl Iterator<Item = (&str, &str)> {
    rules.iter().filter_map(|rule| {
        let by = rule.overruled_by(rules)?;
        Some((rule.name.as_str(), by.name.as_str()))
    })
}

/// The flow rules that data could bypass by files or by what is saved, and by which: [`FILES`] or [`GATEWAY`].
fn ways_without_server(config: &GatewayConfig) -> impl Iterator<Item = (&str, &str)> {
    config.flows.iter().flat_map(move |rule| {
        let ways = rule.ways_around(config).into_iter();
        let ways = ways.filter(|by| matches!(*by, FILES | GATEWAY));
        ways.map(|by| (rule.name.as_str(), by))
    })
}

fn as_json(
    checked: &[Checked<'_>],
    own: &BTreeMap<String, Bytes>,
    wanted: &[String],
    config: &GatewayConfig,
) -> Value {
    let tool = |tool: &ToolCost| {
        json!({
            "name": tool.report.name,
            "shown": tool.report.shown,
            "decision": tool.report.decision,
            "notices": tool.report.notices,
            "refused": tool.report.refused,
            "definition": tool.shown.as_ref().map(parsed),
            "tokens_before": tool.before,
            "tokens_after": tool.after(),
        })
    };
    let server = |checked: &Checked<'_>| {
        let tools = checked.tools.iter();
        let tools = tools.filter(|tool| tool.is_wanted(&checked.server.name, wanted));
        let tools: Vec<_> = tools.map(tool).collect();
        let unmatched = checked.unmatched.iter().map(|pattern| {
            let mut report = json!({
                "key": pattern.key,
                "index": pattern.index,
                "pattern": pattern.pattern,
                "nearest": pattern.nearest,
                "error": pattern.is_error(),
            });
            if let Some(holder) = &pattern.holder {
                report["holder"] = json!(holder);
            }
            report
        });
        let unmatched: Vec<_> = unmatched.collect();
        let of_protocol = checked.of_protocol.iter().map(|(path, _)| path);
        let of_protocol: Vec<_> = of_protocol.collect();
        let name = &checked.server.name;
        match &checked.probed {
            Ok(probed) => json!({
                "name": name,
                "server": probed.says,
                "revision": probed.revision,
                "never": withheld(checked.server),
                "never_of_protocol": of_protocol,
                "unmatched": unmatched,
                "leads_around": checked.leads_around,
                "tools": tools,
            }),
            Err(error) => json!({
                "name": name,
                "error": {"code": error.code.as_str(), "message": error.why, "last_lines": checked.last_lines},
                "tools": tools,
            }),
        }
    };
    let (tools, before, after) = sums(checked);
    let overruled: Vec<_> = overruled(&config.flows)
        .map(|(rule, by)| json!({"rule": rule, "by": by}))
        .collect();
    let ways_around: Vec<_> = ways_without_server(config)
        .map(|(rule, by)| json!({"rule": rule, "by": by}))
        .collect();
    let limits = machine_limits(config).into_iter();
    let limits: serde_json::Map<String, Value> = limits
        .map(|(key, amount, _)| (key.to_owned(), amount.into()))
        .collect();
    json!({
        "servers": checked.iter().map(server).collect::<Vec<_>>(),
        "own": own.iter().map(|(name, tool)| (name, tokens(tool))).collect::<BTreeMap<_, _>>(),
        "overruled": overruled,
        "ways_around": ways_around,
        "on": switched_on(config),
        "closed_roots": closed_roots(config).map(|(root, error)| json!({"root": root.display().to_string(), "error": error.to_string()})).collect::<Vec<_>>(),
        "limits": limits,
        "views": views::as_json(&views::views(config)),
        "total": {"tools": tools, "tokens_before": before, "tokens_after": after},
    })
}
