//! Lists of several servers as one.
//!
//! What comes in: a request for a page of a list. What goes out: a page that holds a page of each server,
//! in the order of the configuration; items are the bytes that came, but for names of prompts that two
//! servers have. Deliberately not here: tools, whose lists are more than joined.

use super::{
    calls::{Done, Request, Stop},
    connection::{Answer, Failure, ServerConnection},
    connection_set::ConnectionSet,
    initialize::{START_GRACE, some_settled},
    read,
};
use crate::{
    apart::{apart, indexed},
    members::object,
    message::{Message, RpcError},
    protocol::{code, method},
    tools::Naming,
    upstream::UpstreamError,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use crossfeed_json::Document;
use futures_util::future::join_all;
use serde_json::Value;
use std::{collections::HashSet, sync::Arc};
use tokio::time::Instant;

/// Pages of one server's list that is fetched whole.
const MAX_PAGES: usize = 1000;

/// Prompts of one server.
const MAX_PROMPTS: usize = 10_000;

/// Bytes of a cursor, as JSON. Servers have equal parts of it, so that none that is given out is too long.
const MAX_CURSOR_BYTES: usize = 1 << 20;

/// What one server's part of a cursor takes beside the server's own.
const CURSOR_PART_BYTES: usize = 32;

/// What is listed by a method: the capability that it belongs to, and the member of its result.
pub(super) fn listed(method: &str) -> Option<(&'static str, &'static str)> {
    Some(match method {
        method::LIST_TOOLS => ("tools", "tools"),
        method::LIST_PROMPTS => ("prompts", "prompts"),
        method::LIST_RESOURCES => ("resources", "resources"),
        method::LIST_TEMPLATES => ("resources", "resourceTemplates"),
        method::LIST_TASKS => ("tasks", "tasks"),
        method::LIST_SKILLS => ("skills", "skills"),
        _ => return None,
    })
}

/// Where to go on: with which cursor at which server.
type Rest = Vec<(usize, String)>;

fn cursor_of(rest: &Rest) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::json!(rest).to_string())
}

/// Where to go on, if a cursor can be one of the gateway's: each server once, in order.
fn rest_of(cursor: &str) -> Option<Rest> {
    if cursor.len() > MAX_CURSOR_BYTES.div_ceil(3) * 4 {
        return None;
    }
    let json = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let rest: Rest = serde_json::from_slice(&json).ok()?;
    let servers = rest.iter().map(|(server, _)| server);
    let is_ours = servers.is_sorted_by(|one, next| one < next);
    is_ours.then_some(rest)
}

/// Whether a server's cursor fits into its part, of so many.
fn fits(cursor: &str, servers: usize) -> bool {
    let json = serde_json::json!(cursor).to_string();
    json.len() + CURSOR_PART_BYTES <= MAX_CURSOR_BYTES / servers.max(1)
}

/// A list that cannot be shown.
fn invalid(reason: &str) -> Failure {
    Failure::Unavailable(UpstreamError::Invalid(reason.to_owned()))
}

impl Request {
    /// A page of every server in one.
    pub(super) async fn join(self, message: Message) -> Done {
        let method = message.method().unwrap_or_default();
        let Some((capability, member)) = listed(method) else {
            return self.in_turn(message).await;
        };
        let params = message
            .params()
            .unwrap_or_else(|| Bytes::from_static(b"{}"));
        let cursor = read::raw(&params, &["cursor"]).filter(|raw| &raw[..] != b"null");
        let rest = cursor.map(|_| {
            let rest = read::string(&params, &["cursor"]).and_then(|cursor| rest_of(&cursor));
            rest.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "unknown cursor"))
        });
        let rest = rest.transpose()?;
        if method == method::LIST_PROMPTS && rest.is_none() {
            return self.prompts(Some(&params), true).await.map(Some);
        }
        some_settled(&self.side).await;
        let asked: Vec<(Arc<ServerConnection>, Bytes)> = match rest {
            Some(rest) => rest
                .into_iter()
                .filter_map(|(server, cursor)| {
                    let cursor = Value::from(cursor).to_string().into();
                    let params = read::with_members(&params, &[("cursor", cursor)]);
                    Some((Arc::clone(self.side.link(server)?), params))
                })
                .collect(),
            None => {
                let capable = self.capable(capability).into_iter();
                capable.map(|link| (link, params.clone())).collect()
            }
        };
        let until = Some(Instant::now() + START_GRACE);
        let pages = asked
            .iter()
            .map(|(link, params)| self.page(link, method, Some(params), until));
        let pages = join_all(pages).await;
        let answers: Vec<_> = asked.into_iter().map(|(link, _)| link).zip(pages).collect();
        let bytes = answers.iter().flat_map(|(_, answer)| answer);
        let bytes = bytes.map(Bytes::len).sum();
        let joining = message.clone();
        let joined = apart(bytes, move || {
            let method = joining.method().unwrap_or_default();
            self.one_page((method, member), answers)
        });
        joined.await.map(Some)
    }

    /// The servers that are there and have a capability.
    pub(super) fn capable(&self, capability: &str) -> Vec<Arc<ServerConnection>> {
        let links = self.side.links.iter();
        links
            .filter(|link| link.is_open() && link.is_capable(capability))
            .cloned()
            .collect()
    }

    /// A page of one server; where others are waiting with it, it may not take long.
    async fn page(
        &self,
        link: &Arc<ServerConnection>,
        method: &str,
        params: Option<&Bytes>,
        until: Option<Instant>,
    ) -> Answer {
        let asking = async { link.ask(Some(self.serial), method, params).await.await };
        self.in_time(link, until, asking).await
    }

    /// What a server answers until then; one that does not is told that nobody waits any longer.
    pub(super) async fn in_time(
        &self,
        link: &Arc<ServerConnection>,
        until: Option<Instant>,
        answer: impl Future<Output = Answer>,
    ) -> Answer {
        let Some(until) = until else {
            return answer.await;
        };
        if let Ok(answer) = tokio::time::timeout_at(until, answer).await {
            return answer;
        }
        // Of this request, it runs nothing else there.
        for upstream_id in link.withdraw(self.serial) {
            let link = Arc::clone(link);
            let params = Bytes::from_static(br#"{"requestId":0,"reason":"timeout"}"#);
            tokio::spawn(async move { link.cancel(upstream_id, params).await });
        }
        let error = UpstreamError::TimedOut { after: START_GRACE };
        Err(Failure::Unavailable(error))
    }

    /// The first failure of those that were asked.
    fn first(&self, failed: Vec<(Arc<ServerConnection>, Failure)>) -> Stop {
        let first = failed.into_iter().next();
        first.map_or_else(
            || self.nobody(),
            |(link, failure)| Stop::Failed(link, failure),
        )
    }

    /// All prompts of all servers, since a name may be another's, too; and from here on it is known
    /// which prompt a name stands for.
    pub(super) async fn prompts(
        &self,
        params: Option<&Bytes>,
        is_asked_for: bool,
    ) -> Result<Bytes, Stop> {
        let method = method::LIST_PROMPTS;
        some_settled(&self.side).await;
        let links = self.capable("prompts");
        let until = Some(Instant::now() + START_GRACE);
        let nothing = Bytes::from_static(b"{}");
        let params = Some(params.unwrap_or(&nothing));
        let lists = links
            .iter()
            .map(|link| all_pages(self, link, method, params, MAX_PROMPTS, until));
        let fetched = join_all(lists).await;
        let mut failed = Vec::new();
        let mut pages: Vec<(Arc<ServerConnection>, Bytes)> = Vec::new();
        for (link, fetched) in links.into_iter().zip(fetched) {
            match fetched {
                Ok(results) => {
                    pages.extend(results.into_iter().map(|page| (Arc::clone(&link), page)));
                }
                Err(failure) => failed.push((link, failure)),
            }
        }
        if pages.is_empty() && !failed.is_empty() {
            return Err(self.first(failed));
        }
        left_out(method, &failed);
        let bytes = pages.iter().map(|(_, page)| page.len()).sum();
        let (side, gateway) = (Arc::clone(&self.side), Arc::clone(&self.client.gateway));
        let named = move || all_prompts(&side, gateway.tools.naming(), pages, is_asked_for);
        Ok(apart(bytes, named).await)
    }

    /// One page of what servers answered, or their failures where none has a page.
    fn one_page(
        &self,
        (method, member): (&str, &'static str),
        answers: Vec<(Arc<ServerConnection>, Answer)>,
    ) -> Result<Bytes, Stop> {
        let side = &self.side;
        let mut page = Page::new(member);
        let mut rest = Rest::new();
        let mut failed = Vec::new();
        for (link, answer) in answers {
            let result = match answer {
                Ok(result) => result,
                Err(failure) => {
                    failed.push((link, failure));
                    continue;
                }
            };
            let next = read::string(&result, &["nextCursor"]);
            if next
                .as_ref()
                .is_some_and(|next| !fits(next, side.links.len()))
            {
                failed.push((link, invalid("its cursor is too long")));
                continue;
            }
            let result = match method {
                method::LIST_TASKS => self.client.tasks.list(link.server, result),
                _ => result,
            };
            side.learn_resources(&link, method, &result);
            rest.extend(next.map(|next| (link.server, next)));
            page.add(&result);
        }
        left_out(method, &failed);
        if page.pages == 0 && !failed.is_empty() {
            return Err(self.first(failed));
        }
        let cursor = (!rest.is_empty()).then(|| cursor_of(&rest));
        Ok(page.done(cursor.as_deref(), side.revision.is_stateless()))
    }
}

/// All prompts of these pages in one, each under the name that it is shown by.
fn all_prompts(
    side: &ConnectionSet,
    naming: &Naming,
    pages: Vec<(Arc<ServerConnection>, Bytes)>,
    is_asked_for: bool,
) -> Bytes {
    let pages: Vec<_> = pages
        .into_iter()
        .map(|(link, page)| (link, Document::new(page)))
        .collect();
    let mut items = Vec::new();
    for (link, page) in &pages {
        let list = page.root().ok().and_then(|root| root.get("prompts"));
        for item in list.into_iter().flat_map(|list| list.items()) {
            if let Some(name) = item.get("name") {
                items.push((link, item, name.as_str().unwrap_or_default().into_owned()));
            }
        }
    }
    let named: Vec<(usize, &str)> = items
        .iter()
        .map(|(link, _, name)| (link.server, &**name))
        .collect();
    let shown = side.name_prompts(naming, &named, is_asked_for);
    let mut page = Page::new("prompts");
    let mut unnamed: Option<&ServerConnection> = None;
    for ((link, item, name), shown) in items.iter().zip(shown) {
        let Some(shown) = shown else {
            unnamed = Some(link);
            continue;
        };
        let mut raw = item.shared();
        if shown != *name {
            let quoted = crossfeed_json::quoted(&shown);
            raw = read::replaced(&raw, &["name"], quoted.as_bytes());
        }
        page.items.push(raw);
    }
    if let Some(link) = unnamed {
        tracing::warn!(
            target: "crossfeed::gateway",
            server = %link.name,
            "a server lists more names of prompts than a session has room for: the rest is left out"
        );
    }
    for (_, of) in &pages {
        page.mark(of.raw());
    }
    page.done(None, side.revision.is_stateless())
}

/// All pages of one server's list, which has so many items at most, and is there by then.
pub(super) async fn all_pages(
    request: &Request,
    link: &Arc<ServerConnection>,
    method: &str,
    params: Option<&Bytes>,
    most_items: usize,
    until: Option<Instant>,
) -> Result<Vec<Bytes>, Failure> {
    let member = listed(method).map_or("", |(_, member)| member);
    let most = request.client.gateway.config().limits.message_bytes;
    let mut pages = Vec::new();
    let (mut bytes, mut items) = (0, 0);
    let mut seen = HashSet::new();
    let mut params = params.cloned();
    loop {
        let page = request.page(link, method, params.as_ref(), until).await?;
        bytes += page.len();
        let document = indexed(page.clone()).await;
        let root = document.root().ok();
        let list = root.and_then(|root| root.get(member));
        items += list.and_then(|list| list.len()).unwrap_or(0);
        let next = root.and_then(|root| Some(root.get("nextCursor")?.shared()));
        let next = next.filter(|next| next.starts_with(b"\""));
        pages.push(page);
        if items > most_items || bytes > most {
            return Err(invalid(&format!("its list of {member} is too long")));
        }
        let Some(next) = next else {
            return Ok(pages);
        };
        if pages.len() >= MAX_PAGES || !seen.insert(next.clone()) {
            return Err(invalid(&format!("its list of {member} has no end")));
        }
        let before = params.unwrap_or_else(|| Bytes::from_static(b"{}"));
        params = Some(read::with_members(&before, &[("cursor", next)]));
    }
}

/// Who is not listed while others are.
fn left_out(method: &str, failed: &[(Arc<ServerConnection>, Failure)]) {
    for (link, failure) in failed {
        // Many do not know the method, and say so.
        if let Failure::Unavailable(error) = failure {
            tracing::warn!(
                target: "crossfeed::gateway",
                server = %link.name,
                method,
                %error,
                "cannot list what a server offers"
            );
        }
    }
}

/// A page in the making.
#[derive(Default)]
struct Page {
    member: &'static str,
    items: Vec<Bytes>,
    pages: usize,
    /// The shortest time that a page may be kept, and whether only for its client.
    kept: Option<u64>,
    is_private: bool,
}

impl Page {
    fn new(member: &'static str) -> Self {
        Self {
            member,
            ..Self::default()
        }
    }

    /// Puts in what a server's page lists.
    fn add(&mut self, result: &Bytes) {
        self.mark(result);
        let document = Document::new(result.clone());
        let list = document.root().ok().and_then(|root| root.get(self.member));
        let items = list.into_iter().flat_map(|list| list.items());
        self.items.extend(items.map(|item| item.shared()));
    }

    /// Considers how long a server's page may be kept, and for whom.
    fn mark(&mut self, result: &Bytes) {
        self.pages += 1;
        let ttl = read::raw(result, &["ttlMs"])
            .and_then(|raw| std::str::from_utf8(&raw).ok()?.parse().ok())
            .unwrap_or(0);
        self.kept = Some(self.kept.map_or(ttl, |kept| kept.min(ttl)));
        self.is_private |= read::string(result, &["cacheScope"]).as_deref() != Some("public");
    }

    fn done(self, cursor: Option<&str>, stateless: bool) -> Bytes {
        let items = [b"[", &self.items.join(&b","[..])[..], b"]"].concat();
        let mut members = vec![(self.member, items)];
        let cursor = cursor.map(|cursor| crossfeed_json::quoted(cursor).into_bytes());
        members.extend(cursor.map(|cursor| ("nextCursor", cursor)));
        if stateless {
            let is_private = self.is_private || self.pages == 0;
            let scope = if is_private { "private" } else { "public" };
            let ttl = self.kept.unwrap_or(0).to_string();
            members.push(("resultType", br#""complete""#.to_vec()));
            members.push(("ttlMs", ttl.into_bytes()));
            members.push(("cacheScope", format!("\"{scope}\"").into_bytes()));
        }
        object(&members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_say_where_to_go_on() {
        let rest = vec![(0, "a\"b".to_owned()), (7, String::new())];
        assert_eq!(rest_of(&cursor_of(&rest)), Some(rest));
        let twice = cursor_of(&vec![(1, String::new()), (1, String::new())]);
        let back = cursor_of(&vec![(1, String::new()), (0, String::new())]);
        for foreign in [
            "",
            "x",
            "e30",
            &twice,
            &back,
            &"A".repeat(2 * MAX_CURSOR_BYTES),
        ] {
            assert_eq!(rest_of(foreign), None, "{foreign:.10}");
        }
    }

    #[test]
    fn a_cursor_that_is_given_out_can_be_read() {
        for (servers, character) in [(1, "a"), (3, "\u{1}"), (3000, "\"")] {
            let one = serde_json::json!(character).to_string().len() - 2;
            let longest =
                character.repeat((MAX_CURSOR_BYTES / servers - CURSOR_PART_BYTES - 2) / one);
            assert!(fits(&longest, servers) && !fits(&(longest.clone() + character), servers));
            let rest: Rest = (0..servers).map(|at| (at, longest.clone())).collect();
            assert_eq!(rest_of(&cursor_of(&rest)), Some(rest));
        }
    }
}
