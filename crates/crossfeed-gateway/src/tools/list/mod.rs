//! The list of tools that a client sees.
//!
//! What comes in: the pages of each server's `tools/list`. What goes out: one list of all that is
//! offered, and for each name in it the way back. Deliberately not here: calls.
//!
//! # What holds
//!
//! - Of a tool only `name`, `description`, `inputSchema` and `outputSchema` change, each only where it
//!   must; every other byte of it stays, and so do the other members of the result.
//! - The same lists give the same bytes.

mod headers;
mod join;
pub(crate) mod names;
mod output;
mod report;
mod root;
mod said;
mod tool;
mod unmatched;

#[cfg(test)]
mod tests;

pub(super) use headers::HeaderParameter;
pub use report::ToolReport;
pub(super) use tool::Offered;
pub use unmatched::UnmatchedPattern;

use super::{ServerList, extra, profile::Choice};
use crate::{
    Revision,
    config::{GatewayConfig, ServerConfig},
};
use bytes::Bytes;
use crossfeed_core::Engine;
use crossfeed_json::{Document, Kind};
use crossfeed_schema::{ListOptions, Listed, Reflection, ToolList, rewrite_tools};
use lru::LruCache;
use names::{Bindings, Naming};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{HashMap, HashSet},
    num::NonZeroUsize,
    sync::{Arc, Mutex, PoisonError},
};

/// Who is listed to, as far as the list depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Audience {
    pub(super) client_name: Option<String>,
    pub(super) revision: Revision,
    /// Whether it may list results.
    pub(super) may_list: bool,
}

/// What is listed.
pub(super) struct Listing {
    /// The result of `tools/list`.
    pub(super) bytes: Bytes,
    /// The tools of servers, by the name that is shown.
    tools: HashMap<String, Arc<Offered>>,
    /// The tools of the gateway's own.
    extra: Vec<&'static str>,
    /// What became of each tool.
    pub(super) reports: Vec<ToolReport>,
    /// Patterns of servers that none of their tools fits.
    pub(super) unmatched: Vec<UnmatchedPattern>,
    /// All names that are given by now, those of earlier lists included.
    pub(super) bindings: Arc<Bindings>,
    /// The servers whose lists it is made of.
    servers: Vec<usize>,
}

/// By what names are given: the configuration, and the names that were given before.
#[derive(Clone, Copy)]
pub(super) struct Names<'n> {
    pub(super) naming: &'n Naming,
    pub(super) before: &'n Arc<Bindings>,
}

impl Listing {
    /// The servers whose lists it is made of.
    pub(super) fn servers(&self) -> impl Iterator<Item = usize> {
        self.servers.iter().copied()
    }

    /// Whether the server's list is part of it.
    pub(super) fn has_server(&self, server: usize) -> bool {
        self.servers.contains(&server)
    }

    /// The tool that is shown so.
    pub(super) fn find(&self, name: &str) -> Option<&Arc<Offered>> {
        self.tools.get(name)
    }

    /// Whether a tool of the gateway's own is offered.
    pub(super) fn has_extra(&self, name: &str) -> bool {
        self.extra.contains(&name)
    }

    /// The names that are shown, sorted.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.tools.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }
}

/// Listings that were asked for lately: clients alike share one.
pub(super) struct Listings {
    kept: Mutex<LruCache<[u8; 32], Arc<Listing>>>,
}

/// How many are kept: some hundreds of kilobytes each for long lists.
const KEPT: NonZeroUsize = match NonZeroUsize::new(32) {
    Some(kept) => kept,
    None => NonZeroUsize::MIN,
};

impl Listings {
    pub(super) fn new() -> Self {
        Self {
            kept: Mutex::new(LruCache::new(KEPT)),
        }
    }

    /// The listing of these lists, made now unless it was made lately.
    pub(super) fn get(
        &self,
        engine: &Engine,
        config: &GatewayConfig,
        lists: &[ServerList],
        audience: &Audience,
        names: Names<'_>,
    ) -> Arc<Listing> {
        let lists_digest = digest(config, lists, audience);
        let key = |bindings: &Bindings| key(&lists_digest, bindings);
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listing) = kept().get(&key(names.before)) {
            return Arc::clone(listing);
        }
        let listing = Arc::new(listing(engine, config, lists, audience, names));
        let mut kept = kept();
        kept.put(key(names.before), Arc::clone(&listing));
        // The same lists with the names that are given by now are listed the same.
        kept.put(key(&listing.bindings), Arc::clone(&listing));
        listing
    }
}

/// What a listing depends on, but for the configuration, which never changes.
fn key(lists: &[u8; 32], bindings: &Bindings) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(lists);
    digest.update(bindings.digest());
    digest.finalize().into()
}

/// Of what a listing depends on, all but the names that were given before.
fn digest(config: &GatewayConfig, lists: &[ServerList], audience: &Audience) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(audience.revision.as_str());
    digest.update([u8::from(audience.may_list)]);
    for list in lists {
        digest.update(choice(config, list.server, audience).as_str());
        digest.update(list.server.to_le_bytes());
        for page in &list.pages {
            digest.update(page.len().to_le_bytes());
            digest.update(page);
        }
        digest.update([0]);
    }
    digest.finalize().into()
}

fn choice(config: &GatewayConfig, server: usize, audience: &Audience) -> Choice {
    let own = config.servers.get(server);
    let own = own.and_then(|server| server.profile.as_deref());
    Choice::of(
        [own, config.profile.as_deref()],
        audience.client_name.as_deref(),
    )
}

/// The styles that are used, for who wants to tell of them before anything is listed.
pub(super) fn choices(config: &GatewayConfig, audience: &Audience) -> Vec<Choice> {
    let mut found = Vec::new();
    let servers = config.servers.iter().enumerate();
    for (index, _) in servers.filter(|(_, server)| !server.disabled) {
        let choice = choice(config, index, audience);
        if !found.contains(&choice) {
            found.push(choice);
        }
    }
    found
}

fn listing(
    engine: &Engine,
    config: &GatewayConfig,
    lists: &[ServerList],
    audience: &Audience,
    names: Names<'_>,
) -> Listing {
    let pages: Vec<Vec<Document>> = lists
        .iter()
        .map(|list| list.pages.iter().cloned().map(Document::new).collect())
        .collect();
    let mut tools = Vec::new();
    // Of a tool that is offered, its report comes with its name.
    let mut reports = Vec::new();
    let mut unmatched = Vec::new();
    for (list, pages) in lists.iter().zip(&pages) {
        let Some(server) = config.servers.get(list.server) else {
            continue;
        };
        let choice = choice(config, list.server, audience);
        let named = named(pages);
        let names: Vec<_> = named.iter().map(|(name, _)| name.as_str()).collect();
        unmatched.extend(unmatched::unmatched(list.server, server, &names));
        for tool in of_server(server, &named, choice) {
            match tool {
                Ok(tool) => {
                    reports.push(None);
                    tools.push((list.server, choice, tool));
                }
                Err(name) => reports.push(Some(ToolReport::left_out(list.server, name))),
            }
        }
    }
    let own: Vec<_> = tools
        .iter()
        .map(|(server, _, tool)| (*server, tool.listed.shown_name()))
        .collect();
    // Where nothing can be called there is nothing to refer to.
    let extra = match own.is_empty() {
        true => Vec::new(),
        false => extra::offered(config.extra_tools, audience.may_list),
    };
    let (shown, bindings) = names.naming.give(names.before, &own, &extra);
    let mut found = HashMap::new();
    let mut unnamed = HashSet::new();
    let mut pending = reports.iter_mut().filter(|report| report.is_none());
    let mut written: Vec<Bytes> = extra
        .iter()
        .map(|name| extra::definition(name).to_string().into())
        .collect();
    for ((index, choice, tool), name) in tools.into_iter().zip(shown) {
        let Some(server) = config.servers.get(index) else {
            continue;
        };
        let report = pending.next();
        let Some(name) = name else {
            unnamed.insert(index);
            if let Some(report) = report {
                let name = tool.listed.name().to_owned();
                *report = Some(ToolReport::without_room(index, name));
            }
            continue;
        };
        if let Some(report) = report {
            *report = Some(ToolReport::of(index, &tool, &name));
        }
        let (offered, bytes) = tool.offered(
            engine,
            (index, server),
            choice,
            &name,
            (&extra, audience.revision),
        );
        written.push(bytes);
        found.entry(name).or_insert_with(|| Arc::new(offered));
    }
    for server in unnamed {
        let server = config.servers.get(server);
        tracing::warn!(
            target: "crossfeed::gateway",
            server = server.map_or("", |server| &server.name),
            "a server lists more names of tools than a session has room for: the rest is left out"
        );
    }
    Listing {
        bytes: join::joined(&pages, &written, audience.revision),
        tools: found,
        extra,
        reports: reports.into_iter().flatten().collect(),
        unmatched,
        bindings,
        servers: lists.iter().map(|list| list.server).collect(),
    }
}

/// The tools of one server as they came, by their names.
fn named(pages: &[Document]) -> Vec<(String, Bytes)> {
    let roots = pages.iter().filter_map(|page| page.root().ok());
    let lists = roots.filter_map(|root| root.get("tools"));
    let items = lists.flat_map(|list| match list.kind() {
        Kind::Array => Some(list.items()),
        _ => None,
    });
    let named = items.flatten().filter_map(|item| {
        let name = item.get("name")?.as_str()?.into_owned();
        Some((name, item.shared()))
    });
    named.collect()
}

/// The tools of one server, rewritten; of one that is not offered, its name.
fn of_server(
    server: &ServerConfig,
    named: &[(String, Bytes)],
    choice: Choice,
) -> Vec<Result<tool::Rewritten, String>> {
    let is_offered = |name: &str| {
        (server.allow.is_empty() || crate::pattern::fits_any(&server.allow, name))
            && !crate::pattern::fits_any(&server.deny, name)
    };
    let offered = || named.iter().filter(|(name, _)| is_offered(name));
    let mut options = choice.options();
    for (name, _) in offered() {
        if crate::pattern::fits_any(&server.never_chain, name) {
            options = options.with_never(name.clone());
        }
        if server.projection {
            options = options.with_reflection(name.clone(), Reflection::new());
        }
    }
    let own: Vec<_> = offered().map(|(_, raw)| declaration(raw)).collect();
    let listed = rewritten(&own, &options);
    // A list that nests too deep to be read offers nothing.
    let mut rewritten = own
        .into_iter()
        .zip(listed.into_iter().flat_map(|listed| listed.tools));
    let tools = named.iter().map(|(name, raw)| {
        let (own, listed) = match is_offered(name) {
            true => rewritten.next().ok_or_else(|| name.clone())?,
            false => return Err(name.clone()),
        };
        Ok(tool::Rewritten {
            is_chained: !options.never.contains(name) && !is_marked(&own),
            raw: raw.clone(),
            own,
            listed,
        })
    });
    tools.collect()
}

fn rewritten(tools: &[Value], options: &ListOptions) -> Option<Listed> {
    let list = ToolList::try_from(json!({ "tools": tools })).ok()?;
    Some(rewrite_tools(&list, options))
}

/// Whether a tool says of itself that it is never chained.
fn is_marked(tool: &Value) -> bool {
    let meta = tool.get("_meta");
    meta.and_then(|meta| meta.get(crossfeed_schema::CHAIN_MARK)) == Some(&Value::Bool(false))
}

/// What is rewritten of a tool: nothing else that it holds may make it look like another provider's.
fn declaration(raw: &Bytes) -> Value {
    const READ: [&str; 5] = [
        "name",
        "description",
        "inputSchema",
        "outputSchema",
        "_meta",
    ];
    let document = Document::new(raw.clone());
    let Ok(root) = document.root() else {
        return Value::Null;
    };
    let members = READ.iter().filter_map(|key| {
        let value = root.get(key).filter(|own| own.kind() != Kind::Null)?;
        Some(((*key).to_owned(), value.to_nearest_value()))
    });
    Value::Object(members.collect::<Map<_, _>>())
}
