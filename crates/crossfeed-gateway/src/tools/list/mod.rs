//! Makes the list of tools that a client sees, and finds the tool of each name in it.
//!
//! # What holds
//!
//! - Of a tool only `name`, `description`, `inputSchema` and `outputSchema` change, each only where it
//!   must; every other byte of it stays, and so do the other members of the result.
//! - The same lists give the same bytes.

mod description;
mod headers;
mod join;
pub(crate) mod names;
mod report;
mod rewriter;
mod root;
mod tool;
mod unmatched;

#[cfg(test)]
mod budget_tests;
#[cfg(test)]
mod tests;

pub(super) use headers::HeaderParameter;
pub use report::ToolReport;
pub(super) use rewriter::unlisted;
pub(super) use tool::Offered;
pub use unmatched::UnmatchedPattern;

use super::{
    ServerList, Tools, builtin,
    profile::{Choice, offers},
    reader::Reader,
};
use crate::{
    Revision,
    apart::{LARGE, apart, cpu_time},
    budget::{Account, Charge, Purpose},
    config::{ClientName, GatewayConfig, ServerConfig},
    pattern::fits_all,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document};
use crossfeed_tools::Offers;
use crossfeed_wire::View;
use futures_util::future::join_all;
use lru::LruCache;
use names::{Bindings, Naming};
use parking_lot::Mutex;
use rewriter::{Job, Rewriter, Rewriting};
use sha2::{Digest as _, Sha256};
use std::{
    collections::{HashMap, HashSet},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};
use tokio::sync::Semaphore;
use unmatched::DeclaredFields;

/// The client that is listed to, as far as the list depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Audience {
    pub(super) client: Option<ClientName>,
    /// The reader of results, unless a request says another.
    pub(super) reader: Arc<Reader>,
    pub(super) revision: Revision,
    /// Whether it may list results.
    pub(super) may_list: bool,
    /// Patterns `server/tool` of the tools that it may use; none means all.
    pub(super) tools: Vec<String>,
}

impl Audience {
    /// How the tools of a server are rewritten.
    fn terms(&self, config: &GatewayConfig, server: usize) -> Terms {
        Terms {
            choice: choice(config, server, self),
            offers: offers(config),
            view: self.reader.view(server),
            takes_references: self.reader.takes_references,
        }
    }
}

/// How the tools of a server are rewritten for a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) choice: Choice,
    pub(super) offers: Offers,
    /// How results are handed out.
    pub(super) view: View,
    /// Whether tools take references from the client.
    pub(super) takes_references: bool,
}

impl Terms {
    /// Adds them to a digest of what a listing depends on.
    fn add_to(self, digest: &mut Sha256) {
        digest.update(self.choice.as_str());
        let Offers {
            templates,
            edits,
            files,
            resources,
            ..
        } = self.offers;
        let flags = [self.takes_references, templates, edits, files, resources].map(u8::from);
        digest.update([0]);
        digest.update(flags);
        digest.update(self.view.as_str());
        digest.update([0]);
    }
}

/// What is listed.
pub(super) struct Listing {
    /// The result of `tools/list`.
    pub(super) bytes: Bytes,
    /// The tools of servers, by the name that is shown.
    pub(super) tools: HashMap<String, Arc<Offered>>,
    /// The tools of the gateway's own.
    pub(super) extra: Vec<&'static str>,
    /// What became of each tool.
    pub(super) reports: Vec<ToolReport>,
    /// Patterns of servers that none of their tools fits.
    pub(super) unmatched: Vec<UnmatchedPattern>,
    /// All names that are given by now, those of earlier lists included.
    pub(super) bindings: Arc<Bindings>,
    /// The servers whose lists it is made of.
    pub(super) servers: Vec<usize>,
}

impl Listing {
    /// The servers of which it shows tools.
    pub(super) fn servers_shown(&self) -> impl Iterator<Item = usize> {
        let shown = self.reports.iter().filter(|tool| tool.shown.is_some());
        shown.map(|tool| tool.server)
    }

    /// The names of all tools, the gateway's own among them.
    pub(super) fn all_names(&self) -> Vec<&str> {
        let mut names = self.names();
        names.extend(&self.extra);
        names
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
    /// Of each server of the configuration.
    rewriters: Vec<Rewriter>,
    /// How many lists are worked on at a time.
    permits: Arc<Semaphore>,
}

/// How many are kept.
const KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);

/// Bytes of a listing that is kept. A larger one is charged to the client that asks, and made again for the next.
const KEPT_BYTES: usize = 512 << 10;

impl Listings {
    /// Listings of so many servers.
    pub(super) fn new(servers: usize) -> Self {
        // The other half answers clients.
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let permits = Arc::new(Semaphore::new((processors / 2).max(1)));
        Self {
            kept: Mutex::new(LruCache::new(KEPT)),
            rewriters: (0..servers)
                .map(|_| Rewriter::new(Arc::clone(&permits)))
                .collect(),
            permits,
        }
    }

    /// Room for what is built of these lists and shown of it, or none where there is not enough. What takes
    /// little is not charged.
    pub(super) fn room(account: &Arc<Account>, lists: &[ServerList]) -> Option<Charge> {
        let bytes = bytes(lists);
        if bytes <= KEPT_BYTES {
            return Some(account.nothing());
        }
        // The pages' index is about as large as what is written.
        account.charge(2 * bytes, Purpose::Shown)
    }

    /// The listing of these lists, made now unless it was made lately; `before` are the names that were given by
    /// then. It keeps of `room` what it takes, for as long as it is there.
    pub(super) async fn get(
        &self,
        tools: &Tools,
        lists: &[ServerList],
        audience: Audience,
        before: Arc<Bindings>,
        mut room: Charge,
    ) -> Arc<Listing> {
        let bytes = bytes(lists);
        let config = &tools.config;
        let audience = Arc::new(audience);
        let lists_digest = {
            let (config, audience) = (Arc::clone(config), Arc::clone(&audience));
            let lists = lists.to_vec();
            apart(bytes, move || digest(&config, &lists, &audience)).await
        };
        let key = |bindings: &Bindings| key(&lists_digest, bindings);
        let kept = || self.kept.lock();
        if let Some(listing) = kept().get(&key(&before)) {
            return Arc::clone(listing);
        }
        let rewriting = join_all(lists.iter().map(|list| async {
            let rewriter = self.rewriters.get(list.server)?;
            let job = Job {
                engine: tools.engine.clone(),
                config: Arc::clone(config),
                server: list.server,
                terms: audience.terms(config, list.server),
                pages: list.pages.clone(),
                audience: Arc::clone(&audience),
            };
            Some((list.clone(), rewriter.rewrite(job).await))
        }));
        let rewritten: Vec<_> = rewriting.await.into_iter().flatten().collect();
        let is_finished = rewritten.iter().all(|(_, list)| !list.is_unfinished);
        let (naming, config) = (
            Arc::clone(tools.naming_for(audience.revision)),
            Arc::clone(config),
        );
        let given = Arc::clone(&before);
        let own = tools.own_tools(audience.may_list);
        let permit = if bytes > LARGE {
            Arc::clone(&self.permits).acquire_owned().await.ok()
        } else {
            None
        };
        let made = move || {
            let _permit = permit;
            let began = cpu_time();
            let listing = listing(&config, rewritten, own, &audience, (&naming, &given));
            (listing, cpu_time().saturating_sub(began))
        };
        let (mut listing, time) = apart(bytes, made).await;
        self.spend(lists, bytes, time);
        let is_kept = listing.bytes.len() <= KEPT_BYTES;
        if !is_kept {
            room.keep(listing.bytes.len());
            listing.bytes = room.hold(listing.bytes);
        }
        let listing = Arc::new(listing);
        // Another time it may be worked on to its end.
        if is_finished && is_kept {
            let mut kept = kept();
            kept.put(key(&before), Arc::clone(&listing));
            // The same lists with the names that are given by now are listed the same.
            kept.put(key(&listing.bindings), Arc::clone(&listing));
        }
        listing
    }

    /// Takes the time that several servers' lists took together off what each has left, by how long its own is.
    fn spend(&self, lists: &[ServerList], bytes: usize, time: Duration) {
        for list in lists {
            let own = list.bytes();
            let Some(rewriter) = self.rewriters.get(list.server).filter(|_| own > 0) else {
                continue;
            };
            #[expect(clippy::cast_precision_loss, reason = "a share need not be exact")]
            rewriter.spend(time.mul_f64(own as f64 / bytes as f64));
        }
    }

    /// How many tools of a server were worked on.
    #[cfg(test)]
    pub(super) async fn worked(&self, server: usize) -> usize {
        self.rewriters[server].worked().await
    }

    /// What putting lists together took off the time of a server since it was worked on last.
    #[cfg(test)]
    pub(super) fn spent(&self, server: usize) -> Duration {
        self.rewriters[server].spent()
    }

    /// Leaves a server without time for its lists until as much went by.
    #[cfg(test)]
    pub(super) async fn exhaust(&self, server: usize, time: Duration) {
        self.rewriters[server].exhaust(time).await;
    }
}

/// The bytes of all pages.
fn bytes(lists: &[ServerList]) -> usize {
    lists.iter().map(ServerList::bytes).sum()
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
    for pattern in &audience.tools {
        digest.update(pattern.len().to_le_bytes());
        digest.update(pattern);
    }
    digest.update([0]);
    for list in lists {
        audience.terms(config, list.server).add_to(&mut digest);
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
    Choice::new(
        [own, config.profile.as_deref()],
        audience.client.as_ref().map(|client| client.name.as_str()),
    )
}

/// Whether some tool of a server may take references.
fn chains(server: &ServerConfig) -> bool {
    let is_every = |pattern: &String| fits_all(pattern, "");
    !server.disabled && !server.never_chain.iter().any(is_every)
}

/// The styles that are used, for guidance before anything is listed; none where no tool takes references.
pub(super) fn choices(config: &GatewayConfig, audience: &Audience) -> impl Iterator<Item = Choice> {
    let servers = config.servers.iter().enumerate();
    let servers = servers.filter(|(_, server)| chains(server));
    servers.map(|(index, _)| choice(config, index, audience))
}

fn listing(
    config: &GatewayConfig,
    lists: Vec<(ServerList, Rewriting)>,
    own_tools: Vec<&'static str>,
    audience: &Audience,
    (naming, before): (&Naming, &Arc<Bindings>),
) -> Listing {
    let pages: Vec<Vec<Document>> = lists
        .iter()
        .map(|(list, _)| list.pages.iter().cloned().map(Document::new).collect())
        .collect();
    let mut tools = Vec::new();
    let mut unmatched = Vec::new();
    let servers = lists.iter().map(|(list, _)| list.server).collect();
    let mut tools_of = HashMap::new();
    let mut declared = HashMap::new();
    for ((list, rewriting), pages) in lists.into_iter().zip(&pages) {
        let Some(server) = config.servers.get(list.server) else {
            continue;
        };
        // One without tools has nothing that patterns could fit.
        if list.pages.is_empty() {
            continue;
        }
        let names: Vec<_> = rewriting.names.iter().map(String::as_str).collect();
        unmatched.extend(unmatched::unmatched(list.server, server, &names));
        let raw = pages
            .iter()
            .filter_map(|page| page.root().ok()?.get("tools"));
        let raw: Vec<_> = raw.flat_map(Cursor::items).map(Cursor::shared).collect();
        let declares = if server.never.is_empty() && config.never.is_empty() {
            None
        } else {
            DeclaredFields::by(&raw)
        };
        if let Some(declares) = &declares {
            unmatched.extend(declares.unknown(list.server, server));
        }
        declared.insert(list.server, declares);
        tools_of.insert(list.server, rewriting.names);
        let outcomes = rewriting.tools.into_iter();
        tools.extend(outcomes.map(|outcome| (list.server, outcome)));
    }
    unmatched.extend(unmatched::for_several(config, &tools_of));
    let servers_on = config.servers.iter().enumerate();
    let servers_on = servers_on.filter(|(_, server)| !server.disabled);
    let of_each = servers_on.map(|(index, _)| declared.remove(&index).flatten());
    if let Some(all) = DeclaredFields::union(of_each) {
        unmatched.extend(all.unknown_to_all(config));
    }
    let own: Vec<_> = tools
        .iter()
        .filter_map(|(server, outcome)| Some((*server, outcome.as_ref().ok()?.shown.as_str())))
        .collect();
    // Where nothing can be called there is nothing to refer to.
    let extra = if own.is_empty() || !audience.reader.takes_references {
        Vec::new()
    } else {
        own_tools
    };
    let (shown, bindings) = naming.give(before, &own, &extra);
    let mut shown = shown.into_iter();
    let mut found = HashMap::new();
    let mut unnamed = HashSet::new();
    let mut reports = Vec::new();
    let mut written: Vec<Bytes> = extra
        .iter()
        .map(|name| builtin::definition(name, config).to_string().into())
        .collect();
    for (index, outcome) in tools {
        let tool = match outcome {
            Ok(tool) => tool.tool,
            Err(name) => {
                reports.push(ToolReport::left_out(index, name, "by the configuration"));
                continue;
            }
        };
        let Some(name) = shown.next().flatten() else {
            unnamed.insert(index);
            let name = tool.listed().name().to_owned();
            let why = "its server lists too many names";
            reports.push(ToolReport::left_out(index, name, why));
            continue;
        };
        reports.push(ToolReport::from_tool(index, &tool, &name));
        let to = tool::Audience {
            terms: audience.terms(config, index),
            revision: audience.revision,
            has_inspector: extra.contains(&builtin::INSPECT),
        };
        written.push(tool.written_as(&name, to));
        let offered = &tool.offered;
        found.entry(name).or_insert_with(|| Arc::clone(offered));
    }
    for server in unnamed {
        let server = config.servers.get(server);
        tracing::warn!(
            target: "crossfeed::gateway",
            server = server.map_or("", |server| &server.name),
            "a server lists more tool names than a session holds: the rest is left out"
        );
    }
    Listing {
        bytes: join::joined(&pages, written, audience.revision),
        tools: found,
        extra,
        reports,
        unmatched,
        bindings,
        servers,
    }
}
