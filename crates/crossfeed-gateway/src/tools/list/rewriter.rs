//! Rewrites the tools of one server, each once, within a budget, off the threads that serve clients.
//!
//! # What holds
//!
//! - Of one server one list is worked on at a time, and of all servers as many as there are permits.
//! - A tool that did not change is not worked on again, whatever else in the list did.
//! - A list takes as much processor time as its server has left, and a server gets that back slowly. What
//!   is beyond is listed as it came: it takes no references, and its output schema is left out.

use super::{
    Audience, Terms,
    tool::{Offered, RewrittenTool},
};
use crate::{
    apart::cpu_time,
    config::{GatewayConfig, ServerConfig},
    pattern::fits_any,
    tools::unlisted::offers,
};
use bytes::Bytes;
use crossfeed_core::Engine;
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_tools::{
    CHAIN_MARK, ListOptions, ListedTool, Reflection, Stop, ToolList, rewrite_tools,
};
use crossfeed_wire::View;
use lru::LruCache;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::{Mutex, Semaphore};

/// Processor time that a server has for its lists when it has not used any lately.
const MAX_TIME: Duration = Duration::from_secs(2);
/// How much of the time that goes by a server gets back: one part of so many.
const REFILL: u32 = 20;
/// Bytes of one server's list that are worked on, and of one tool of it.
const MAX_LIST_BYTES: usize = 8 << 20;
const MAX_TOOL_BYTES: usize = 1 << 20;
/// Bytes of tools, as they came, that are kept of one server.
const KEPT_BYTES: usize = 8 << 20;

/// A tool of a server, if it is offered; else its name.
pub(super) type RewriteResult = Result<Tool, String>;

/// A tool that is offered.
pub(super) struct Tool {
    /// The name that its provider takes.
    pub(super) shown: String,
    pub(super) tool: Arc<RewrittenTool>,
}

/// What rewrites the tools of one server. Cloning shares it.
#[derive(Clone)]
pub(super) struct Rewriter {
    state: Arc<Mutex<State>>,
    /// Nanoseconds that others used of the server's time since its list was worked on last.
    spent: Arc<AtomicU64>,
    permits: Arc<Semaphore>,
}

struct State {
    tools: LruCache<[u8; 32], Arc<RewrittenTool>>,
    /// Bytes of these.
    kept: usize,
    allowance: Allowance,
    /// Whether the log says that not all of a list is worked on.
    was_told: bool,
    #[cfg(test)]
    worked: usize,
}

/// A list that is to be rewritten.
pub(super) struct Job {
    pub(super) engine: Engine,
    pub(super) config: Arc<GatewayConfig>,
    /// Which server, by its place in the configuration.
    pub(super) server: usize,
    pub(super) terms: Terms,
    pub(super) pages: Vec<Bytes>,
    pub(super) audience: Arc<Audience>,
}

/// What became of a list.
#[derive(Default)]
pub(super) struct Rewriting {
    pub(super) tools: Vec<RewriteResult>,
    /// The names of all tools.
    pub(super) names: Vec<String>,
    /// Whether the time did not suffice: it would another time.
    pub(super) is_unfinished: bool,
}

impl Rewriter {
    /// One that works only with one of these permits.
    pub(super) fn new(permits: Arc<Semaphore>) -> Self {
        let state = State {
            tools: LruCache::unbounded(),
            kept: 0,
            allowance: Allowance::full(Instant::now()),
            was_told: false,
            #[cfg(test)]
            worked: 0,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            spent: Arc::default(),
            permits,
        }
    }

    /// Takes processor time off what the server has left, when its list is worked on next.
    pub(super) fn spend(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.spent.fetch_add(nanos, Ordering::Relaxed);
    }

    /// Rewrites a list. Dropping the future does not stop work that has begun.
    pub(super) async fn rewrite(&self, job: Job) -> Rewriting {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        // Nothing closes the semaphore.
        let permit = Arc::clone(&self.permits).acquire_owned().await;
        let spent = Duration::from_nanos(self.spent.swap(0, Ordering::Relaxed));
        let work = move || {
            let _permit = permit;
            state.allowance.spend(spent);
            state.rewrite(&job)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(rewriting) => rewriting,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // The runtime ends.
            Err(_) => Rewriting {
                is_unfinished: true,
                ..Rewriting::default()
            },
        }
    }

    /// How many tools were worked on.
    #[cfg(test)]
    pub(super) async fn worked(&self) -> usize {
        self.state.lock().await.worked
    }

    #[cfg(test)]
    pub(super) fn spent(&self) -> Duration {
        Duration::from_nanos(self.spent.load(Ordering::Relaxed))
    }

    #[cfg(test)]
    pub(super) async fn exhaust(&self, time: Duration) {
        let mut state = self.state.lock().await;
        let now = Instant::now();
        state.allowance = Allowance::full(now);
        if !time.is_zero() {
            state.allowance.spend(MAX_TIME);
            state.allowance.at = now + time;
        }
    }
}

impl State {
    fn rewrite(&mut self, job: &Job) -> Rewriting {
        let began = cpu_time();
        let named = named(&job.pages);
        let is_offered: Vec<bool> = named.iter().map(|(name, _)| job.offers(name)).collect();
        let offered = named
            .iter()
            .zip(&is_offered)
            .filter(|(_, offered)| **offered);
        let own: Vec<_> = offered
            .map(|((name, raw), _)| (name.as_str(), raw))
            .collect();
        let own_names = own.iter().map(|(name, _)| *name);
        let shown = job.terms.choice.shown_names(own_names);
        let left = self.allowance.left(Instant::now());
        let until = began.saturating_add(left);
        let is_over = Stop::when(move || cpu_time() >= until);
        let (rewritten, skipped) = self.tools(job, &own, &is_over);
        self.allowance.spend(cpu_time().saturating_sub(began));
        if skipped.any() && !std::mem::replace(&mut self.was_told, true) {
            tracing::warn!(
                target: "crossfeed::gateway",
                server = %job.server().name,
                for_time = skipped.for_time,
                for_size = skipped.for_size,
                "a list of tools exceeds its limit of time or size: some of its tools take no references"
            );
        }
        let mut rewritten = rewritten.into_iter().zip(shown);
        let tools = named.iter().zip(is_offered).map(|((name, _), is_offered)| {
            let next = is_offered.then(|| rewritten.next()).flatten();
            match next {
                Some((Some(tool), shown)) => Ok(Tool { shown, tool }),
                Some((None, _)) | None => Err(name.clone()),
            }
        });
        Rewriting {
            tools: tools.collect(),
            names: named.iter().map(|(name, _)| name.clone()).collect(),
            is_unfinished: skipped.for_time > 0,
        }
    }

    /// The tools that are offered, rewritten; none for what nests too deep to be read.
    fn tools(
        &mut self,
        job: &Job,
        own: &[(&str, &Bytes)],
        is_over: &Stop,
    ) -> (Vec<Option<Arc<RewrittenTool>>>, SkipCounts) {
        let base = job.terms.choice.options();
        let base = base
            .with_offers(job.terms.offers)
            .with_stop(is_over.clone());
        let mut skipped = SkipCounts::default();
        let mut room = MAX_LIST_BYTES;
        let fits = own.iter().map(|(_, raw)| {
            let fits = raw.len() <= MAX_TOOL_BYTES.min(room);
            room -= if fits { raw.len() } else { 0 };
            fits
        });
        let fits: Vec<_> = fits.collect();
        let is_each_alone = job.terms.choice.is_each_alone();
        let fitting = own
            .iter()
            .zip(&fits)
            .filter(|(_, fits)| **fits && !is_each_alone);
        let fitting: Vec<_> = fitting.map(|(own, _)| *own).collect();
        let (options, mut together) = worked(job, &fitting, base.clone());
        let tools = own.iter().zip(&fits).map(|((name, raw), fits)| {
            if !fits {
                skipped.for_size += 1;
                return unjudged(job, name, raw);
            }
            let tool = if is_each_alone {
                self.alone(job, name, raw, &base)
            } else {
                let piece = together.next()?;
                (!options.is_over()).then(|| finished(job, piece, &options))
            };
            let tool = tool.filter(|tool| !tool.is_unjudged());
            tool.or_else(|| {
                skipped.for_time += 1;
                unjudged(job, name, raw)
            })
        });
        let tools = tools.collect();
        (tools, skipped)
    }

    /// A tool whose style depends on no other tool's.
    fn alone(
        &mut self,
        job: &Job,
        name: &str,
        raw: &Bytes,
        base: &ListOptions,
    ) -> Option<Arc<RewrittenTool>> {
        let key = key(job.terms, raw);
        if let Some(kept) = self.tools.get(&key) {
            return Some(Arc::clone(kept));
        }
        if base.is_over() {
            return unjudged(job, name, raw);
        }
        #[cfg(test)]
        {
            self.worked += 1;
        }
        // What is kept must not keep alive the page that it came in.
        let raw = Bytes::copy_from_slice(raw);
        let (options, mut pieces) = worked(job, &[(name, &raw)], base.clone());
        let tool = finished(job, pieces.next()?, &options);
        if !tool.is_unjudged() {
            self.keep(key, &tool);
        }
        Some(tool)
    }

    fn keep(&mut self, key: [u8; 32], tool: &Arc<RewrittenTool>) {
        self.kept += tool.raw.len();
        if let Some((_, before)) = self.tools.push(key, Arc::clone(tool)) {
            self.kept -= before.raw.len();
        }
        while self.kept > KEPT_BYTES
            && let Some((_, oldest)) = self.tools.pop_lru()
        {
            self.kept -= oldest.raw.len();
        }
    }
}

/// Tools that were not worked on.
#[derive(Default)]
struct SkipCounts {
    for_size: usize,
    for_time: usize,
}

impl SkipCounts {
    fn any(&self) -> bool {
        self.for_size + self.for_time > 0
    }
}

/// The processor time that a server has left for its lists.
struct Allowance {
    left: Duration,
    at: Instant,
}

impl Allowance {
    fn full(now: Instant) -> Self {
        Self {
            left: MAX_TIME,
            at: now,
        }
    }

    fn left(&mut self, now: Instant) -> Duration {
        let gone = now.saturating_duration_since(self.at);
        self.at = now;
        self.left = (self.left + gone / REFILL).min(MAX_TIME);
        self.left
    }

    fn spend(&mut self, time: Duration) {
        self.left = self.left.saturating_sub(time);
    }
}

/// What a rewritten tool depends on, but for the configuration, which never changes.
fn key(terms: Terms, raw: &Bytes) -> [u8; 32] {
    let mut digest = Sha256::new();
    terms.add_to(&mut digest);
    digest.update(raw);
    digest.finalize().into()
}

/// The tools of one server as they came, by their names.
fn named(pages: &[Bytes]) -> Vec<(String, Bytes)> {
    let mut named = Vec::new();
    for page in pages {
        let page = Document::new(page.clone());
        let tools = page.root().ok().and_then(|root| root.get("tools"));
        let Some(tools) = tools.filter(|tools| tools.kind() == Kind::Array) else {
            continue;
        };
        named.extend(tools.items().filter_map(|item| {
            let name = item.get("name")?.as_str()?.into_owned();
            Some((name, item.shared()))
        }));
    }
    named
}

impl Job {
    /// Whether a tool is offered, by the configuration of its server and the rights of the client.
    fn offers(&self, name: &str) -> bool {
        offers(self.server(), &self.audience.tools, name)
    }

    /// The server of the list; the configuration has one for each rewriter.
    fn server(&self) -> &ServerConfig {
        &self.config.servers[self.server]
    }

    fn with_tool(&self, mut options: ListOptions, (name, raw): (&str, &Bytes)) -> ListOptions {
        let server = self.server();
        // Of a tool that says of itself that it is never chained, no result is kept or cut.
        let may_be_marked = memchr::memmem::find(raw, CHAIN_MARK.as_bytes()).is_some();
        if !self.terms.takes_references || fits_any(&server.never_chain, name) {
            options = options.with_never(name);
        } else if self.terms.view == View::Ask && !may_be_marked {
            options = options.with_whole(name);
        }
        // A program gets everything: a part of it would not conform to the schema that is listed.
        if server.projection && self.terms.view != View::Program {
            let reflection = Reflection::new().with_rules(Arc::clone(&server.withheld));
            options = options.with_reflection(name, reflection);
        }
        options
    }
}

fn rewritten(tools: Vec<Value>, options: &ListOptions) -> Vec<ListedTool> {
    let list = ToolList::try_from(json!({ "tools": tools }));
    list.map_or_else(|_| Vec::new(), |list| rewrite_tools(&list, options).tools)
}

/// A tool's bytes, its declaration, and its rewritten form.
type Piece = (Bytes, Value, ListedTool);

/// Rewrites tools whose styles may depend on those of the tools before them.
fn worked(
    job: &Job,
    own: &[(&str, &Bytes)],
    base: ListOptions,
) -> (ListOptions, impl Iterator<Item = Piece> + use<>) {
    let options = own
        .iter()
        .fold(base, |options, own| job.with_tool(options, *own));
    let declared: Vec<_> = own.iter().map(|(_, raw)| declaration(raw)).collect();
    let listed = rewritten(declared.clone(), &options);
    let raw: Vec<Bytes> = own.iter().map(|(_, raw)| (*raw).clone()).collect();
    let tools = raw.into_iter().zip(declared).zip(listed);
    let pieces = tools.map(|((raw, own), listed)| (raw, own, listed));
    (options, pieces)
}

fn finished(job: &Job, (raw, own, listed): Piece, options: &ListOptions) -> Arc<RewrittenTool> {
    let is_chained = !options.never.contains(listed.name()) && !is_marked(&own);
    let place = (job.server, job.server());
    let tool = RewrittenTool::new(&job.engine, place, (raw, own, listed), is_chained);
    Arc::new(tool)
}

/// A tool that is listed as it came, and takes no references. What says that it is never chained, that a
/// page of its own reads its results, and what goes along as headers is read all the same.
fn unjudged(job: &Job, name: &str, raw: &Bytes) -> Option<Arc<RewrittenTool>> {
    let document = Document::new(raw.clone());
    let root = document.root().ok()?;
    let mut own = json!({"name": name});
    if let Some(meta) = root.get("_meta") {
        own["_meta"] = meta.to_nearest_value();
    }
    let has_headers = memchr::memmem::find(raw, b"x-mcp-header").is_some();
    let schema = root
        .get("inputSchema")
        .filter(|_| has_headers && raw.len() <= MAX_TOOL_BYTES);
    own["inputSchema"] = schema.map_or_else(|| json!({}), Cursor::to_nearest_value);
    let options = ListOptions::default().with_stop(Stop::when(|| true));
    let options = job.with_tool(options, (name, raw));
    let listed = rewritten(vec![own.clone()], &options).pop()?;
    Some(finished(job, (raw.clone(), own, listed), &options))
}

/// A tool that its server does not list: nothing is known of it, and it is never chained.
pub(in crate::tools) fn unlisted(
    engine: &Engine,
    (index, server): (usize, &ServerConfig),
    name: &str,
) -> Option<Arc<Offered>> {
    let own = json!({"name": name, "inputSchema": {"type": "object"}});
    let raw = Bytes::from(own.to_string());
    let options = ListOptions::default().with_never(name);
    let listed = rewritten(vec![own.clone()], &options).pop()?;
    let tool = RewrittenTool::new(engine, (index, server), (raw, own, listed), false);
    Some(tool.offered)
}

/// Whether a tool says of itself that it is never chained.
fn is_marked(tool: &Value) -> bool {
    tool["_meta"][CHAIN_MARK] == false
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
    /// Of its annotations, those that say whether a call may be repeated.
    const HINTS: [&str; 2] = ["readOnlyHint", "idempotentHint"];
    let document = Document::new(raw.clone());
    let Ok(root) = document.root() else {
        return Value::Null;
    };
    let read = |object: Cursor<'_>, keys: &[&str]| -> Map<String, Value> {
        let members = keys.iter().filter_map(|key| {
            let value = object.get(key).filter(|own| own.kind() != Kind::Null)?;
            Some(((*key).to_owned(), value.to_nearest_value()))
        });
        members.collect()
    };
    let mut declaration = read(root, &READ);
    if let Some(annotations) = root.get("annotations") {
        let hints = read(annotations, &HINTS);
        declaration.insert("annotations".to_owned(), hints.into());
    }
    declaration.into()
}

#[cfg(test)]
mod tests {
    use super::{Allowance, MAX_TIME, REFILL};
    use std::time::{Duration, Instant};

    #[test]
    fn time_comes_back_slowly() {
        let now = Instant::now();
        let mut allowance = Allowance::full(now);
        allowance.spend(MAX_TIME * 2);
        assert_eq!(allowance.left(now), Duration::ZERO);
        let second = Duration::from_secs(1);
        assert_eq!(allowance.left(now + second), second / REFILL);
        assert_eq!(allowance.left(now + second), second / REFILL);
        assert_eq!(allowance.left(now + second * 1000), MAX_TIME);
    }
}
