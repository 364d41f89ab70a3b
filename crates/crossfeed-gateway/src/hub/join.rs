//! Lists of several servers as one.
//!
//! What comes in: a request for a page of a list. What goes out: a page that holds a page of each server,
//! in the order of the configuration; items are the bytes that came, but for names of prompts that two
//! servers have. Deliberately not here: tools, whose lists are more than joined.

use super::{
    begin::some_settled,
    calls::{Request, cancelled},
    link::{Answer, Failure, Link},
    read,
    side::Prompts,
};
use crate::{
    message::{Message, RpcError, code},
    tools::list::names,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use crossfeed_json::Document;
use futures_util::future::join_all;
use serde_json::Value;
use std::{collections::HashSet, sync::Arc};

/// Pages of prompts of one server.
const PAGES: usize = 1000;

/// Bytes of a cursor.
const CURSOR: usize = 64 << 10;

/// What is listed by a method: the capability that it belongs to, and the member of its result.
pub(super) fn listed(method: &str) -> Option<(&'static str, &'static str)> {
    Some(match method {
        "prompts/list" => ("prompts", "prompts"),
        "resources/list" => ("resources", "resources"),
        "resources/templates/list" => ("resources", "resourceTemplates"),
        "tasks/list" => ("tasks", "tasks"),
        "skills/list" => ("skills", "skills"),
        _ => return None,
    })
}

/// Where to go on: with which cursor at which server.
type Rest = Vec<(usize, String)>;

fn cursor_of(rest: &Rest) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::json!(rest).to_string())
}

fn rest_of(cursor: &str) -> Option<Rest> {
    if cursor.len() > CURSOR {
        return None;
    }
    let json = BASE64_URL_SAFE_NO_PAD.decode(cursor).ok()?;
    serde_json::from_slice(&json).ok()
}

impl Request {
    /// A page of every server in one.
    pub(super) async fn join(self, message: Message) {
        let method = message.method().unwrap_or_default();
        let Some((capability, member)) = listed(method) else {
            return self.in_turn(message).await;
        };
        let params = message
            .params()
            .unwrap_or_else(|| Bytes::from_static(b"{}"));
        let rest = match read::raw(&params, &["cursor"]) {
            Some(raw) if &raw[..] != b"null" => {
                match read::string(&params, &["cursor"]).and_then(|cursor| rest_of(&cursor)) {
                    Some(rest) => Some(rest),
                    None => {
                        let error = RpcError::new(code::INVALID_PARAMS, "unknown cursor");
                        return self.client.refuse(self.serial, &error).await;
                    }
                }
            }
            _ => None,
        };
        if method == "prompts/list" && rest.is_none() {
            return match self.prompts(&params).await {
                Ok(page) => self.client.respond(self.serial, &page).await,
                Err(failed) => self.fail_first(failed).await,
            };
        }
        some_settled(&self.side).await;
        let asked: Vec<(Arc<Link>, Bytes)> = match rest {
            Some(rest) => rest
                .into_iter()
                .filter_map(|(server, cursor)| {
                    let cursor = Value::from(cursor).to_string().into();
                    let params = read::with_members(&params, &[("cursor", cursor)]);
                    Some((Arc::clone(self.side.link(server)?), params))
                })
                .collect(),
            None => self
                .capable(capability)
                .into_iter()
                .map(|link| (link, params.clone()))
                .collect(),
        };
        let pages = join_all(
            asked
                .iter()
                .map(|(link, params)| self.page(link, method, params)),
        )
        .await;
        let mut page = Page::new(member);
        let mut rest = Rest::new();
        let mut failed = Vec::new();
        for ((link, _), answer) in asked.into_iter().zip(pages) {
            match answer {
                Ok(result) => {
                    self.learn(&link, method, &result);
                    if let Some(next) = read::string(&result, &["nextCursor"]) {
                        rest.push((link.server, next));
                    }
                    page.add(&result);
                }
                Err(failure) => failed.push((link, failure)),
            }
        }
        if page.is_empty() && !failed.is_empty() {
            return self.fail_first(failed).await;
        }
        let cursor = (!rest.is_empty()).then(|| cursor_of(&rest));
        let page = page.done(cursor.as_deref(), self.side.revision.is_stateless());
        self.client.respond(self.serial, &page).await;
    }

    /// The servers that are there and have a capability.
    pub(super) fn capable(&self, capability: &str) -> Vec<Arc<Link>> {
        let links = self.side.links().iter();
        links
            .filter(|link| link.is_open() && link.is_capable(capability))
            .cloned()
            .collect()
    }

    async fn page(&self, link: &Arc<Link>, method: &str, params: &Bytes) -> Answer {
        let answer = link.ask(Some(self.serial), method, Some(params)).await;
        answer.await.unwrap_or_else(|_| Err(cancelled()))
    }

    async fn fail_first(&self, failed: Vec<(Arc<Link>, Failure)>) {
        match failed.into_iter().next() {
            Some((link, failure)) => self.fail(&link, failure).await,
            None => self.nobody().await,
        }
    }

    /// Remembers whose things are listed.
    fn learn(&self, link: &Link, method: &str, result: &Bytes) {
        let (member, key) = match method {
            "resources/list" => ("resources", "uri"),
            "resources/templates/list" => ("resourceTemplates", "uriTemplate"),
            "tasks/list" => ("tasks", "taskId"),
            _ => return,
        };
        let document = Document::new(result.clone());
        let list = document.root().ok().and_then(|root| root.get(member));
        let items = list.map(|list| list.items());
        for item in items.into_iter().flatten() {
            let Some(name) = item.get(key).and_then(|name| name.as_str()) else {
                continue;
            };
            match key {
                "uri" => self.side.owns_resource(link.server, &name),
                "uriTemplate" => self.side.owns_template(link.server, &name),
                _ => self.side.owns_task(link.server, &name),
            }
        }
    }

    /// All prompts of all servers, since a name may be another's, too; and from here on it is known
    /// which prompt a name stands for.
    pub(super) async fn prompts(&self, params: &Bytes) -> Result<Bytes, Vec<(Arc<Link>, Failure)>> {
        some_settled(&self.side).await;
        let links = self.capable("prompts");
        let fetched = join_all(links.iter().map(|link| self.all_prompts(link, params))).await;
        let mut failed = Vec::new();
        let mut pages: Vec<(Arc<Link>, Document)> = Vec::new();
        for (link, fetched) in links.iter().zip(fetched) {
            match fetched {
                Ok(results) => pages.extend(
                    results
                        .into_iter()
                        .map(|result| (Arc::clone(link), Document::new(result))),
                ),
                Err(failure) => failed.push((Arc::clone(link), failure)),
            }
        }
        if pages.is_empty() && !failed.is_empty() {
            return Err(failed);
        }
        let mut items = Vec::new();
        for (link, page) in &pages {
            let list = page.root().ok().and_then(|root| root.get("prompts"));
            for item in list.into_iter().flat_map(|list| list.items()) {
                if let Some(name) = item.get("name") {
                    let text = name.as_str().unwrap_or_default().into_owned();
                    items.push((link, item, name, text));
                }
            }
        }
        let named: Vec<(&str, &str)> = items
            .iter()
            .map(|(link, _, _, name)| (&*link.name, &**name))
            .collect();
        let servers: Vec<&str> = pages.iter().map(|(link, _)| &*link.name).collect();
        let shown = names::shown(&named, &servers, &[]);
        let mut prompts = Prompts::new();
        let mut page = Page::new("prompts");
        for ((link, item, at, name), shown) in items.iter().zip(shown) {
            if shown == *name {
                page.push(item.raw());
            } else {
                // Within the item, the name is where it is within the page, less where the item is.
                let from = at.offset() - item.offset();
                let raw = item.raw();
                let mut renamed = raw.get(..from).unwrap_or_default().to_vec();
                renamed.extend_from_slice(crossfeed_json::quoted(&shown).as_bytes());
                renamed.extend_from_slice(raw.get(from + at.raw().len()..).unwrap_or_default());
                page.push(&renamed);
            }
            prompts
                .entry(shown)
                .or_insert_with(|| (link.server, name.clone()));
        }
        for (_, of) in &pages {
            page.mark(of.raw());
        }
        self.side.learn_prompts(prompts);
        Ok(page.done(None, self.side.revision.is_stateless()))
    }

    async fn all_prompts(&self, link: &Arc<Link>, params: &Bytes) -> Result<Vec<Bytes>, Failure> {
        let mut pages = Vec::new();
        let mut seen = HashSet::new();
        let mut params = params.clone();
        while pages.len() < PAGES {
            let page = self.page(link, "prompts/list", &params).await?;
            let next = read::raw(&page, &["nextCursor"]).filter(|next| next.starts_with(b"\""));
            pages.push(page);
            match next {
                Some(next) if seen.insert(next.clone()) => {
                    params = read::with_members(&params, &[("cursor", next)]);
                }
                _ => break,
            }
        }
        Ok(pages)
    }
}

/// A page in the making.
struct Page {
    member: &'static str,
    json: Vec<u8>,
    items: usize,
    pages: usize,
    /// The shortest time that a page may be kept, and whether only for its client.
    kept: Option<u64>,
    is_public: bool,
}

impl Page {
    fn new(member: &'static str) -> Self {
        Self {
            member,
            json: format!("{{\"{member}\":[").into_bytes(),
            items: 0,
            pages: 0,
            kept: None,
            is_public: true,
        }
    }

    fn push(&mut self, item: &[u8]) {
        if self.items > 0 {
            self.json.push(b',');
        }
        self.json.extend_from_slice(item);
        self.items += 1;
    }

    /// Puts in what a server's page lists.
    fn add(&mut self, result: &Bytes) {
        self.mark(result);
        let document = Document::new(result.clone());
        let Ok(root) = document.root() else { return };
        let list = root.get(self.member);
        for item in list.into_iter().flat_map(|list| list.items()) {
            self.push(item.raw());
        }
    }

    /// Considers how long a server's page may be kept, and for whom.
    fn mark(&mut self, result: &Bytes) {
        self.pages += 1;
        let ttl = read::raw(result, &["ttlMs"])
            .and_then(|raw| std::str::from_utf8(&raw).ok()?.parse().ok())
            .unwrap_or(0);
        self.kept = Some(self.kept.map_or(ttl, |kept| kept.min(ttl)));
        self.is_public &= read::string(result, &["cacheScope"]).as_deref() == Some("public");
    }

    fn is_empty(&self) -> bool {
        self.pages == 0
    }

    fn done(mut self, cursor: Option<&str>, stateless: bool) -> Bytes {
        self.json.push(b']');
        if let Some(cursor) = cursor {
            let member = format!(",\"nextCursor\":{}", crossfeed_json::quoted(cursor));
            self.json.extend_from_slice(member.as_bytes());
        }
        if stateless {
            let scope = match self.is_public && self.pages > 0 {
                true => "public",
                false => "private",
            };
            let ttl = self.kept.unwrap_or(0);
            let members =
                format!(",\"resultType\":\"complete\",\"ttlMs\":{ttl},\"cacheScope\":\"{scope}\"");
            self.json.extend_from_slice(members.as_bytes());
        }
        self.json.push(b'}');
        self.json.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_say_where_to_go_on() {
        let rest = vec![(0, "a\"b".to_owned()), (7, String::new())];
        assert_eq!(rest_of(&cursor_of(&rest)), Some(rest));
        for foreign in ["", "x", "e30", &"A".repeat(CURSOR + 4)] {
            assert_eq!(rest_of(foreign), None, "{foreign:.10}");
        }
    }
}
