//! Which server owns a resource: an address may hold a secret, so a request goes to the owner only.

use super::{
    calls::{Done, Request, asking},
    connection::ServerConnection,
    connection_set::{ConnectionSet, MAX_KEY_BYTES},
    initialize::{START_GRACE, some_settled},
    merge_lists::all_pages,
    owners::{Basis, Claim, Fingerprint, Fingerprints, Owners},
};
use crate::{
    apart::read_apart,
    budget::{Account, Charge, Purpose},
    config::UnlistedPolicy,
    members::{self, EMPTY},
    message::{Message, Param, RpcError},
    protocol::{code, method},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document};
use futures_util::future::join_all;
use serde_json::json;
use std::{
    collections::{HashMap, HashSet},
    convert::Infallible,
    sync::Arc,
};
use tokio::time::Instant;

/// Remembered resources of one server.
const MAX_RESOURCES: usize = 16_384;

/// Remembered templates of one server.
const MAX_TEMPLATES: usize = 1024;

/// Bytes of a template beside its text.
const TEMPLATE_BYTES: usize = 160;

/// Resources, or templates, that are read of one server's list.
const MAX_LISTED: usize = 100_000;

/// Links that are read of one result.
const MAX_LINKS: usize = 1024;

/// The owners of resources.
pub(super) struct Resources {
    listed: Owners,
    /// Templates as they are written.
    templates: Owners,
    /// The templates in the order in which they were claimed.
    in_order: Vec<(Template, usize)>,
    /// The server that lists resources of an origin; none if several do.
    origins: HashMap<Fingerprint, Option<usize>>,
    fingerprints: Fingerprints,
    /// The order of the configuration decides, and not that of claims: other processes come to the same.
    is_ordered: bool,
    /// Servers whose lists had resources or templates.
    listers: HashSet<usize>,
    /// The charge of the templates.
    charge: Charge,
    /// Whether all lists were read since they last changed.
    is_learnt: bool,
    /// How often lists have changed.
    changes: u64,
}

/// A scheme and an authority, both in lower case.
type Origin = (String, String);

/// A template of addresses.
struct Template {
    /// The text before its first variable.
    fixed: String,
    scheme: String,
    /// The beginning of the authority, and whether that is all of it.
    authority: String,
    is_whole: bool,
}

impl Template {
    /// None if the scheme is not fixed: such a template says nothing about the owner of an address.
    fn parse(template: &str) -> Option<Self> {
        let fixed = template.get(..template.find('{').unwrap_or(template.len()))?;
        let (scheme, authority) = origin(fixed)?;
        let rest = fixed.get(scheme.len() + 1..)?;
        let has_end = match rest.strip_prefix("//") {
            Some(rest) => rest.len() > authority.len(),
            // An authority may still follow.
            None => !matches!(rest, "" | "/"),
        };
        Some(Self {
            fixed: fixed.to_owned(),
            scheme,
            authority,
            is_whole: has_end || fixed.len() == template.len(),
        })
    }

    /// Whether addresses of an origin can be of this template.
    fn covers(&self, (scheme, authority): &Origin) -> bool {
        self.scheme == *scheme
            && if self.is_whole {
                self.authority == *authority
            } else {
                authority.starts_with(&self.authority)
            }
    }
}

fn origin(uri: &str) -> Option<Origin> {
    let (scheme, rest) = uri.split_once(':')?;
    let authority = rest.strip_prefix("//").map_or("", |rest| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        rest.get(..end).unwrap_or_default()
    });
    Some((scheme.to_ascii_lowercase(), authority.to_ascii_lowercase()))
}

impl Resources {
    /// No owners; those to come are charged to the account.
    pub(super) fn new(account: &Arc<Account>, is_ordered: bool) -> Self {
        Self {
            listed: Owners::new(MAX_RESOURCES, account, is_ordered),
            templates: Owners::new(MAX_TEMPLATES, account, is_ordered),
            is_ordered,
            in_order: Vec::new(),
            origins: HashMap::new(),
            fingerprints: Fingerprints::default(),
            listers: HashSet::new(),
            charge: account.nothing(),
            is_learnt: false,
            changes: 0,
        }
    }

    /// A list has changed.
    pub(super) fn changed(&mut self) {
        self.is_learnt = false;
        self.changes += 1;
    }

    /// Whether a server ever listed something.
    pub(super) fn has_listed(&self, server: usize) -> bool {
        self.listers.contains(&server)
    }

    /// A server lists a resource, or its tools link to it.
    fn claim(&mut self, server: usize, uri: &str, by: Basis) -> Claim {
        let is_listed = matches!(self.listed.find(uri), Some((_, Basis::List)));
        let claim = self.listed.claim(uri, server, by);
        // A link takes no origin from the templates of others.
        let counts = if self.is_ordered {
            claim != Claim::NoRoom
        } else {
            !is_listed && claim == Claim::Own
        };
        if by == Basis::List
            && counts
            && let Some(origin) = origin(uri)
        {
            let origin = self.fingerprints.get(&origin);
            let lister = self.origins.entry(origin).or_insert(Some(server));
            *lister = lister.filter(|lister| *lister == server);
        }
        claim
    }

    fn claim_template(&mut self, server: usize, template: &str) -> Claim {
        let before = self.templates.find(template).map(|(server, _)| server);
        let is_new = before != Some(server);
        let claim = self.templates.claim(template, server, Basis::List);
        if is_new
            && claim == Claim::Own
            && let Some(template) = Template::parse(template)
        {
            let texts = [&template.fixed, &template.scheme, &template.authority];
            let bytes: usize = texts.map(String::len).iter().sum();
            if !(self.charge).more(TEMPLATE_BYTES + bytes, Purpose::Remembered) {
                return Claim::NoRoom;
            }
            let at = if self.is_ordered {
                self.in_order.partition_point(|(_, other)| *other <= server)
            } else {
                self.in_order.len()
            };
            self.in_order.insert(at, (template, server));
        }
        claim
    }

    /// The server of a resource, or of a template as it is written: the first that listed it. Else the
    /// first whose template covers the scheme and the authority, if no other lists resources of these and
    /// one of its templates fits. Else the first whose tools linked to it.
    fn owner(&self, uri: &str) -> Option<(usize, Basis)> {
        let known = self.listed.find(uri);
        if matches!(known, Some((_, Basis::List))) {
            return known;
        }
        let by_template = || Some((self.by_template(uri)?, Basis::List));
        self.templates.find(uri).or_else(by_template).or(known)
    }

    fn by_template(&self, uri: &str) -> Option<usize> {
        let origin = origin(uri)?;
        let mut covering = self.in_order.iter();
        let (_, server) = covering.find(|(template, _)| template.covers(&origin))?;
        let lister = self.origins.get(&self.fingerprints.get(&origin));
        let is_own = lister.is_none_or(|lister| *lister == Some(*server));
        let fits = |(template, of): &(Template, usize)| {
            of == server && uri.starts_with(template.fixed.as_str())
        };
        (is_own && self.in_order.iter().any(fits)).then_some(*server)
    }
}

impl ConnectionSet {
    pub(super) fn owner_of_resource(&self, uri: &str) -> Option<usize> {
        self.resources.lock().owner(uri).map(|(server, _)| server)
    }

    /// The server with a subscription to a resource.
    fn subscribed_at(&self, uri: &str) -> Option<usize> {
        let mut links = self.links.iter();
        let link = links.find(|link| link.state.lock().subscriptions.contains_key(uri))?;
        Some(link.server)
    }

    /// The owner of a resource, unless the lists are still to be read and another may have it by them: where only a link
    /// names it, or the order of servers decides.
    fn settled_owner(&self, uri: &str) -> Option<usize> {
        let resources = self.resources.lock();
        let (server, by) = resources.owner(uri)?;
        let is_settled = by == Basis::List && !resources.is_ordered || resources.is_learnt;
        is_settled.then_some(server)
    }

    /// The server that listed a resource itself, or linked to it, under the same condition.
    pub(super) fn settled_lister(&self, uri: &str) -> Option<usize> {
        let resources = self.resources.lock();
        let (server, by) = resources.listed.find(uri)?;
        let is_settled = by == Basis::List && !resources.is_ordered || resources.is_learnt;
        is_settled.then_some(server)
    }

    /// The same without that condition.
    pub(super) fn lister(&self, uri: &str) -> Option<usize> {
        let found = self.resources.lock().listed.find(uri);
        found.map(|(server, _)| server)
    }

    /// Claims the resources, or templates, of a page for its server.
    pub(super) fn learn_resources(&self, link: &ServerConnection, method: &str, result: &Bytes) {
        let (member, key) = match method {
            method::LIST_RESOURCES => ("resources", "uri"),
            method::LIST_TEMPLATES => ("resourceTemplates", "uriTemplate"),
            _ => return,
        };
        let document = Document::new(result.clone());
        let list = document.root().ok().and_then(|root| root.get(member));
        let mut items = list.into_iter().flat_map(Cursor::items).peekable();
        if items.peek().is_some() {
            self.resources.lock().listers.insert(link.server);
        }
        for item in items.take(MAX_LISTED) {
            let Some(name) = item.get(key).and_then(Cursor::as_str) else {
                continue;
            };
            let claim = match key {
                "uri" => self.resources.lock().claim(link.server, &name, Basis::List),
                _ => self.resources.lock().claim_template(link.server, &name),
            };
            self.report(link, claim);
        }
    }

    /// Claims a resource that a result of a server links to, or is. Servers may link to resources of others.
    fn claim_by_link(&self, link: &ServerConnection, uri: &str) {
        let claim = self.resources.lock().claim(link.server, uri, Basis::Link);
        if claim == Claim::NoRoom {
            self.report(link, claim);
        }
    }

    /// Logs a claim that failed, once for each pair of servers; never an address, which may hold a secret.
    fn report(&self, link: &ServerConnection, claim: Claim) {
        let owner = match claim {
            Claim::Own => return,
            Claim::OfAnother(owner) => Some(owner),
            Claim::NoRoom => None,
        };
        if !self.is_first_report(link.server, owner) {
            return;
        }
        match owner {
            Some(owner) => tracing::warn!(
                target: "crossfeed::gateway",
                server = %link.name,
                owner = self.link(owner).map_or("", |owner| &owner.name),
                "a server lists a resource that another listed first: requests go to that one"
            ),
            None => tracing::warn!(
                target: "crossfeed::gateway",
                server = %link.name,
                most = MAX_RESOURCES,
                "a server lists more resources than are remembered: the rest cannot be read"
            ),
        }
    }

    /// Claims the resources that a result links to, or holds.
    pub(super) async fn learn_links(
        self: &Arc<Self>,
        link: &Arc<ServerConnection>,
        result: &Bytes,
    ) {
        if self.only().is_some() && !self.tools.takes_resources() {
            return;
        }
        for uri in read_apart(result, links_of).await {
            self.claim_by_link(link, &uri);
        }
    }
}

/// The addresses in a result's content.
fn links_of(result: &Bytes) -> Vec<String> {
    if !members::may_hold(result, "uri") {
        return Vec::new();
    }
    let document = Document::new(result.clone());
    let content = document.root().ok().and_then(|root| root.get("content"));
    let parts = content.into_iter().flat_map(Cursor::items);
    let uris = parts.filter_map(|part| {
        let kind = part.get("type")?.as_str()?;
        let holder = match &*kind {
            "resource_link" => part,
            "resource" => part.get("resource")?,
            _ => return None,
        };
        let uri = holder.get("uri")?.as_str()?;
        (uri.len() <= MAX_KEY_BYTES).then(|| uri.into_owned())
    });
    uris.take(MAX_LINKS).collect()
}

impl Request {
    /// Sends a request that names a resource to its owner.
    pub(super) async fn resource(self, message: Message, uri: String) -> Done {
        // A subscription ends at its server, whichever lists the resource meanwhile.
        let ends = message.method() == Some(method::UNSUBSCRIBE);
        let subscribed = ends.then(|| self.side.subscribed_at(&uri)).flatten();
        let mut owner = subscribed.or_else(|| self.side.settled_owner(&uri));
        if owner.is_none() {
            self.learn_all_resources(message.param(Param::Meta).as_ref())
                .await;
            owner = self.side.owner_of_resource(&uri);
        }
        if let Some(link) = owner.and_then(|server| self.side.link(server)) {
            return self.forward(link, message).await;
        }
        if self.client.gateway.config().unlisted == UnlistedPolicy::Refuse {
            let code = if self.side.revision.is_stateless() {
                code::INVALID_PARAMS
            } else {
                code::RESOURCE_NOT_FOUND
            };
            let error = RpcError::new(code, "unknown resource: no server lists it");
            return Err(error.with_data(json!({"uri": uri})).into());
        }
        let (link, answer) = self.first_that_knows(message).await?;
        let result = answer?;
        self.side.claim_by_link(&link, &uri);
        Ok(Some(result))
    }

    /// Reads the lists of all servers, unless they have not changed since the last time.
    pub(super) async fn learn_all_resources(&self, meta: Option<&Bytes>) {
        some_settled(&self.side).await;
        let is_needed = || !self.side.resources.lock().is_learnt;
        let read = self.read_all_resources(meta);
        self.side.learning.take(is_needed, read).await;
    }

    async fn read_all_resources(&self, meta: Option<&Bytes>) -> Result<(), Infallible> {
        let changes = self.side.resources.lock().changes;
        let params = asking(meta).await;
        let params = params.as_ref().unwrap_or(&EMPTY);
        let links = self.capable("resources");
        for method in [method::LIST_RESOURCES, method::LIST_TEMPLATES] {
            let until = Some(Instant::now() + START_GRACE);
            let lists = links
                .iter()
                .map(|link| all_pages(self, link, method, Some(params), MAX_LISTED, until));
            let lists = join_all(lists).await;
            for (link, pages) in links.iter().zip(lists) {
                for page in pages.into_iter().flatten() {
                    let (side, link) = (Arc::clone(&self.side), Arc::clone(link));
                    let learn = move |page: &Bytes| side.learn_resources(&link, method, page);
                    read_apart(&page, learn).await;
                }
            }
        }
        let mut resources = self.side.resources.lock();
        // A list that changed meanwhile is read again.
        resources.is_learnt = resources.changes == changes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(claims: &[(usize, &str)], owners: &[(&str, Option<usize>)]) {
        let mut resources = Resources::new(&Account::unlimited(), false);
        for (server, name) in claims {
            if name.contains('{') {
                resources.claim_template(*server, name)
            } else {
                resources.claim(*server, name, Basis::List)
            };
        }
        for (uri, owner) in owners {
            let known = resources.owner(uri).map(|(server, _)| server);
            assert_eq!(known, *owner, "{uri} after {claims:?}");
        }
    }

    #[test]
    fn who_lists_first_owns() {
        check(
            &[(0, "a://x/1"), (1, "a://x/1"), (1, "a://x/{n}")],
            &[
                ("a://x/1", Some(0)),
                ("a://x/{n}", Some(1)),
                // The other lists resources there.
                ("a://x/2", None),
                ("a://y/2", None),
            ],
        );
    }

    #[test]
    fn a_template_catches_what_is_its_servers_alone() {
        check(
            &[
                (1, "note://{id}"),
                (0, "note://a/{id}"),
                (0, "db://own/{table}/{row}"),
                (0, "DB://Own/x"),
                (1, "{+uri}"),
                (1, "urn:isbn:{number}"),
                (0, "urn:{all}"),
                (2, "file://{+path}"),
                (1, "file:///etc/x"),
            ],
            &[
                ("note://a/1", Some(1)),
                ("note://", Some(1)),
                ("db://own/t/1", Some(0)),
                ("db://owner/t/1", None),
                ("urn:isbn:7", Some(1)),
                ("urn:x", None),
                ("file://host/x", Some(2)),
                ("file:///etc/y", None),
                ("x", None),
                ("", None),
            ],
        );
        // Two list resources there: neither can be meant.
        check(
            &[(0, "a://x/1"), (1, "a://x/2"), (0, "a://x/{n}")],
            &[("a://x/3", None)],
        );
    }

    proptest! {
        /// Where the order of servers decides, it makes no difference who lists first.
        #[test]
        fn processes_come_to_the_same_owners(
            claims in prop::collection::vec((0..3usize, "[ab]://[xy]/([12]|\\{n\\}|[12]/\\{n\\})"), 0..12),
            order in prop::collection::vec(any::<u8>(), 12),
        ) {
            let of = |claims: &[&(usize, String)]| {
                let mut resources = Resources::new(&Account::unlimited(), true);
                for (server, name) in claims {
                    if name.contains('{') {
                        resources.claim_template(*server, name);
                    } else {
                        resources.claim(*server, name, Basis::List);
                    }
                }
                let places = ["x/1", "x/2", "x/1/3", "x/3", "y/1", "y/2/1", "y/{n}"];
                let uris = ["a", "b"].map(|scheme| places.map(|place| format!("{scheme}://{place}")));
                let uris = uris.into_iter().flatten();
                uris.map(|uri| (resources.owner(&uri), uri)).collect::<Vec<_>>()
            };
            let mut other: Vec<_> = claims.iter().zip(&order).collect();
            other.sort_by_key(|(_, at)| **at);
            let other: Vec<_> = other.into_iter().map(|(claim, _)| claim).collect();
            prop_assert_eq!(of(&claims.iter().collect::<Vec<_>>()), of(&other));
        }
    }

    #[test]
    fn a_link_takes_nothing_from_lists_and_templates() {
        let mut resources = Resources::new(&Account::unlimited(), false);
        for uri in ["file:///a", "bank://x/1", "free://x"] {
            resources.claim(1, uri, Basis::Link);
        }
        resources.claim(0, "file:///a", Basis::List);
        resources.claim_template(0, "bank://x/{id}");
        let check = |uri: &str, expected| assert_eq!(resources.owner(uri), expected, "{uri}");
        check("file:///a", Some((0, Basis::List)));
        check("bank://x/1", Some((0, Basis::List)));
        // Nor the addresses beside it.
        check("bank://x/2", Some((0, Basis::List)));
        check("free://x", Some((1, Basis::Link)));
    }

    #[test]
    fn links_are_those_of_content() {
        let check = |result: &str, expected: &[&str]| {
            assert_eq!(links_of(&result.to_owned().into()), expected, "{result}");
        };
        check(
            r#"{"content":[{"type":"resource_link","uri":"a:1"},{"type":"text","text":"","uri":"a:2"},{"type":"resource","resource":{"uri":"a:3"}}],"structuredContent":{"type":"resource_link","uri":"a:4"}}"#,
            &["a:1", "a:3"],
        );
        check(r#"{"content":{"uri":1}}"#, &[]);
        check("[", &[]);
    }
}
