//! Merges the lists of several servers into one: a page holds a page of each server, in the order of the configuration.
//!
//! Items keep their bytes, except for the names of prompts that two servers have. The gateway's own resources come in
//! pages like those of a server behind all others.

use super::{
    calls::{Done, Request},
    connection::{Answer, Failure, ServerConnection},
    connection_set::ConnectionSet,
    initialize::{START_GRACE, some_settled},
};
use crate::{
    apart::{apart, indexed, read_apart},
    members::{self, EMPTY},
    message::{Message, RpcError},
    protocol::{code, method},
    tools::{Naming, resources::is_own},
    upstream::UpstreamError,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document};
use futures_util::future::join_all;
use serde_json::Value;
use std::{collections::HashSet, sync::Arc};
use tokio::time::Instant;

/// Pages of one server's list, when it is fetched whole.
const MAX_PAGES: usize = 1000;

/// Prompts of one server.
const MAX_PROMPTS: usize = 10_000;

/// Bytes of a cursor, as JSON. Servers have equal parts of it, so that no cursor that is given out is too long.
const MAX_CURSOR_BYTES: usize = 1 << 20;

/// The gateway in a cursor: behind all servers.
const OWN: usize = usize::MAX;

/// Bytes of one server's part of a cursor beside the server's own cursor.
const CURSOR_PART_BYTES: usize = 32;

/// The capability that a listing method belongs to, and the member of its result.
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

/// The servers with further pages, and their cursors.
type NextPages = Vec<(usize, String)>;

fn cursor_of(rest: &NextPages) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::json!(rest).to_string())
}

/// The content of a cursor, if it can be one of the gateway's: each server once, in order.
fn rest_of(cursor: &str) -> Option<NextPages> {
    if cursor.len() > MAX_CURSOR_BYTES.div_ceil(3) * 4 {
        return None;
    }
    let json = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let rest: NextPages = serde_json::from_slice(&json).ok()?;
    let servers = rest.iter().map(|(server, _)| server);
    let is_ours = servers.is_sorted_by(|one, next| one < next);
    is_ours.then_some(rest)
}

/// Whether a server's cursor fits into its part.
fn fits(cursor: &str, servers: usize) -> bool {
    let json = serde_json::json!(cursor).to_string();
    json.len() + CURSOR_PART_BYTES <= MAX_CURSOR_BYTES / servers.max(1)
}

/// The failure of a server whose list is invalid.
fn invalid(link: &ServerConnection, reason: String) -> Failure {
    link.unavailable(UpstreamError::Invalid(reason))
}

impl Request {
    /// A page of every server in one.
    pub(super) async fn join(self, message: Message) -> Done {
        let method = message.method().unwrap_or_default();
        let Some((capability, member)) = listed(method) else {
            return self.in_turn(message).await;
        };
        let params = message.params().unwrap_or_else(|| EMPTY.clone());
        let cursor = members::get(&params, &["cursor"]).filter(|raw| &raw[..] != b"null");
        let rest = cursor.map(|_| {
            let rest = members::get_text(&params, &["cursor"]).and_then(|cursor| rest_of(&cursor));
            rest.ok_or_else(|| RpcError::new(code::INVALID_PARAMS, "unknown cursor"))
        });
        let rest = rest.transpose()?;
        if method == method::LIST_PROMPTS && rest.is_none() {
            return self.prompts(&params, true).await.map(Some);
        }
        some_settled(&self.side).await;
        let own = self.own_page(method, &params, rest.as_ref()).await?;
        let asked: Vec<(Arc<ServerConnection>, Bytes)> = match rest {
            Some(rest) => {
                let asked = rest.into_iter().filter_map(|(server, cursor)| {
                    let cursor = Value::from(cursor).to_string().into();
                    let params = members::with_members(&params, &[("cursor", cursor)]);
                    Some((Arc::clone(self.side.link(server)?), params))
                });
                asked.collect()
            }
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
        if method == method::LIST_TASKS {
            for ((link, _), page) in asked.iter().zip(&pages) {
                if let Ok(page) = page {
                    self.client.tasks.learn_page(link.server, page).await;
                }
            }
        }
        let bytes = pages.iter().flatten().map(Bytes::len).sum();
        let links = asked.into_iter().map(|(link, _)| link);
        let answers = links.zip(pages).collect();
        let message = message.clone();
        let page = move || self.one_page(&message, member, answers, own);
        apart(bytes, page).await.map(Some)
    }

    /// A page of the gateway's own resources or templates, where it offers them; none where `rest` has all of them behind
    /// it.
    async fn own_page(
        &self,
        method: &str,
        params: &Bytes,
        rest: Option<&NextPages>,
    ) -> Result<Option<Bytes>, RpcError> {
        let is_about = matches!(method, method::LIST_RESOURCES | method::LIST_TEMPLATES);
        let tools = &self.side.tools;
        if !is_about || !tools.offers_resources() {
            return Ok(None);
        }
        let cursor = match rest {
            None => None,
            Some(rest) => match rest.iter().find(|(server, _)| *server == OWN) {
                None => return Ok(None),
                Some((_, cursor)) => Some(cursor.as_str()),
            },
        };
        tools.resource_page(method, params, cursor).await.map(Some)
    }

    /// The servers that are there and have a capability.
    pub(super) fn capable(&self, capability: &str) -> Vec<Arc<ServerConnection>> {
        let links = self.side.links.iter();
        links
            .filter(|link| link.is_open() && link.is_capable(capability))
            .cloned()
            .collect()
    }

    /// A page of one server; with others waiting for it, it may not take long.
    pub(super) async fn page(
        &self,
        link: &Arc<ServerConnection>,
        method: &str,
        params: Option<&Bytes>,
        until: Option<Instant>,
    ) -> Answer {
        let asking = async { link.ask(Some(self.serial), method, params).await.await };
        self.in_time(link, until, asking).await
    }

    /// A server's answer until then; the request is cancelled at a server that takes longer.
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
        // Nothing else of this request runs there.
        for upstream_id in link.withdraw(self.serial) {
            let link = Arc::clone(link);
            let params = Bytes::from_static(br#"{"requestId":0,"reason":"timeout"}"#);
            tokio::spawn(async move { link.cancel(upstream_id, params).await });
        }
        Err(link.unavailable(UpstreamError::TimedOut { after: START_GRACE }))
    }

    /// All prompts of all servers in one page, since servers may share names; from here on it is known which prompt a
    /// name stands for.
    pub(super) async fn prompts(
        &self,
        params: &Bytes,
        is_asked_for: bool,
    ) -> Result<Bytes, Failure> {
        let method = method::LIST_PROMPTS;
        some_settled(&self.side).await;
        let links = self.capable("prompts");
        let until = Some(Instant::now() + START_GRACE);
        let lists = links
            .iter()
            .map(|link| all_pages(self, link, method, Some(params), MAX_PROMPTS, until));
        let lists = join_all(lists).await;
        let mut pages: Vec<(Arc<ServerConnection>, Bytes)> = Vec::new();
        let mut failed = Vec::new();
        for (link, list) in links.into_iter().zip(lists) {
            match list {
                Ok(list) => pages.extend(list.into_iter().map(|page| (Arc::clone(&link), page))),
                Err(failure) => failed.push(failure),
            }
        }
        fail_without_pages(method, pages.is_empty(), failed)?;
        let bytes = pages.iter().map(|(_, page)| page.len()).sum();
        let (side, gateway) = (Arc::clone(&self.side), Arc::clone(&self.client.gateway));
        let named = move || {
            let naming = gateway.tools.naming_for(side.revision);
            all_prompts(&side, naming, pages, is_asked_for)
        };
        Ok(apart(bytes, named).await)
    }

    /// One page of the answers of servers, or the first failure if none has a page.
    fn one_page(
        &self,
        message: &Message,
        member: &'static str,
        answers: Vec<(Arc<ServerConnection>, Answer)>,
        own: Option<Bytes>,
    ) -> Result<Bytes, Failure> {
        let method = message.method().unwrap_or_default();
        let side = &self.side;
        let mut page = Page::new(member);
        page.hides_own = side.tools.offers_resources();
        let mut rest = NextPages::new();
        let mut failed = Vec::new();
        for (link, answer) in answers {
            let result = answer.and_then(|result| {
                let next = members::get_text(&result, &["nextCursor"]);
                if next.iter().all(|next| fits(next, side.links.len())) {
                    rest.extend(next.map(|next| (link.server, next)));
                    Ok(result)
                } else {
                    Err(invalid(&link, "its cursor is too long".to_owned()))
                }
            });
            match result {
                Ok(mut result) => {
                    if method == method::LIST_TASKS {
                        result = self.client.tasks.list(link.server, result);
                    }
                    side.learn_resources(&link, method, &result);
                    page.add(&result);
                }
                Err(failure) => failed.push(failure),
            }
        }
        if let Some(own) = own {
            let next = members::get_text(&own, &["nextCursor"]);
            rest.extend(next.map(|next| (OWN, next)));
            page.hides_own = false;
            page.add(&own);
        }
        fail_without_pages(method, page.pages == 0, failed)?;
        let cursor = (!rest.is_empty()).then(|| cursor_of(&rest));
        Ok(page.done(cursor.as_deref(), side.revision.is_stateless()))
    }
}

/// Logs the servers that are left out, and fails with the first failure if no server has a page.
fn fail_without_pages(method: &str, is_empty: bool, failed: Vec<Failure>) -> Result<(), Failure> {
    for failure in &failed {
        // Many servers do not know the method, and say so.
        if let Failure::Unavailable(server, error) = failure {
            tracing::warn!(
                target: "crossfeed::gateway",
                %server,
                method,
                %error,
                "cannot list what a server offers"
            );
        }
    }
    let first = failed.into_iter().next().filter(|_| is_empty);
    first.map_or(Ok(()), Err)
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
    let names = items.iter().map(|(link, _, name)| (link.server, &**name));
    let shown = side.name_prompts(naming, &names.collect::<Vec<_>>(), is_asked_for);
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
            raw = members::replaced(&raw, &["name"], quoted.as_bytes());
        }
        page.push(&raw);
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

/// All pages of one server's list, up to a number of items and until a time.
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
        // Most lists of tools have one page, which is not indexed to find that out.
        let (count, next) = if most_items == usize::MAX {
            let next = read_apart(&page, |page| members::get(page, &["nextCursor"]));
            (0, next.await)
        } else {
            let document = indexed(page.clone()).await;
            let root = document.root().ok();
            let list = root.and_then(|root| root.get(member)?.len());
            let next = root.and_then(|root| Some(root.get("nextCursor")?.shared()));
            (list.unwrap_or(0), next)
        };
        items += count;
        let next = next.filter(|next| next.starts_with(b"\""));
        pages.push(page);
        // The last page of a list of tools was read already, and is listed.
        let is_judged = most_items < usize::MAX || next.is_some();
        if items > most_items || bytes > most && is_judged {
            let reason = format!("its list of {member} is too long");
            return Err(invalid(link, reason));
        }
        let Some(next) = next else {
            return Ok(pages);
        };
        if pages.len() >= MAX_PAGES || !seen.insert(next.clone()) {
            let reason = format!("its list of {member} has no end");
            return Err(invalid(link, reason));
        }
        let before = params.unwrap_or_else(|| EMPTY.clone());
        params = Some(members::with_members(&before, &[("cursor", next)]));
    }
}

/// A page that is being built.
#[derive(Default)]
struct Page {
    member: &'static str,
    /// The items, with commas between them.
    items: Vec<u8>,
    pages: usize,
    /// Whether items of the gateway's scheme are left out: they cannot be read at the server that lists them.
    hides_own: bool,
    /// The shortest time that a page may be kept, and whether only for its client.
    ttl: Option<u64>,
    is_private: bool,
}

impl Page {
    fn new(member: &'static str) -> Self {
        Self {
            member,
            ..Self::default()
        }
    }

    /// Adds the items of a server's page.
    fn add(&mut self, result: &Bytes) {
        self.mark(result);
        let document = Document::new(result.clone());
        let list = document.root().ok().and_then(|root| root.get(self.member));
        let items = list.into_iter().flat_map(|list| list.items());
        let is_hidden = |item: &Cursor<'_>| {
            let mut addresses = ["uri", "uriTemplate"]
                .into_iter()
                .filter_map(|key| item.get(key));
            self.hides_own && addresses.any(|uri| uri.as_str().is_some_and(|uri| is_own(&uri)))
        };
        let shown: Vec<_> = items.filter(|item| !is_hidden(item)).collect();
        shown.iter().for_each(|item| self.push(item.raw()));
    }

    fn push(&mut self, item: &[u8]) {
        if !self.items.is_empty() {
            self.items.push(b',');
        }
        self.items.extend_from_slice(item);
    }

    /// Applies how long a server's page may be kept, and for whom.
    fn mark(&mut self, result: &Bytes) {
        self.pages += 1;
        let ttl = members::get_number(result, &["ttlMs"]).unwrap_or(0);
        self.ttl = Some(self.ttl.map_or(ttl, |shortest| shortest.min(ttl)));
        self.is_private |= members::get_text(result, &["cacheScope"]).as_deref() != Some("public");
    }

    fn done(self, cursor: Option<&str>, stateless: bool) -> Bytes {
        let mut json = self.items;
        let head = format!("{{\"{}\":[", self.member);
        json.splice(0..0, head.into_bytes());
        json.push(b']');
        if let Some(cursor) = cursor {
            let member = format!(",\"nextCursor\":{}", crossfeed_json::quoted(cursor));
            json.extend_from_slice(member.as_bytes());
        }
        if stateless {
            let is_private = self.is_private || self.pages == 0;
            let scope = if is_private { "private" } else { "public" };
            let ttl = self.ttl.unwrap_or(0);
            let members =
                format!(",\"resultType\":\"complete\",\"ttlMs\":{ttl},\"cacheScope\":\"{scope}\"");
            json.extend_from_slice(members.as_bytes());
        }
        json.push(b'}');
        json.into()
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
            let rest: NextPages = (0..servers).map(|at| (at, longest.clone())).collect();
            assert_eq!(rest_of(&cursor_of(&rest)), Some(rest));
        }
    }
}
