//! What is about tools: lists fetched whole, calls resolved before they go, results of tasks.
//!
//! What comes in: `tools/list` and `tools/call` of a client. What goes out: the requests that servers get for them, and the answers as [`crate::tools`] shows them.
//! Deliberately not here: what becomes of schemas, arguments and results.

use super::{
    Client,
    connection::{Failure, PendingReply, ServerConnection},
    connection_set::{ConnectionSet, Late},
    fault,
    initialize::{START_GRACE, some_settled},
    read,
};
use crate::{
    apart::apart,
    message::{Message, Param, RpcError},
    protocol::{code, method},
    tools::{Call, Reader, Relisted, ServerList},
    upstream::UpstreamError,
};
use bytes::Bytes;
use futures_util::future::join_all;
use std::{collections::HashSet, sync::Arc, time::Instant};

/// Pages of one server's list.
const MAX_PAGES: usize = 1000;

/// Lists may change while they are fetched, but not for ever.
const MAX_ATTEMPTS: usize = 3;

/// One request of a client on one side.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) client: Arc<Client>,
    pub(super) side: Arc<ConnectionSet>,
    pub(super) serial: u64,
}

impl Request {
    /// Answers by what a server answered, or did not.
    pub(super) async fn fail(&self, link: &ServerConnection, failure: Failure) {
        match failure {
            Failure::Error(message) => self.client.answer(self.serial, *message).await,
            Failure::Unavailable(error) => {
                let error = fault::rpc(&link.name, &error);
                self.client.refuse(self.serial, &error).await;
            }
        }
    }

    /// `tools/list`: all pages of all servers in one.
    pub(super) async fn list(self, message: Message) {
        let params = message.params();
        let cursor = params
            .as_ref()
            .and_then(|params| read::raw(params, &["cursor"]));
        if cursor.is_some_and(|cursor| &cursor[..] != b"null") {
            let error = RpcError::new(code::INVALID_PARAMS, "unknown cursor: there is one page");
            return self.client.refuse(self.serial, &error).await;
        }
        let meta = message.param(Param::Meta);
        let reader = match self.side.tools.reader(meta.as_ref()) {
            Ok(reader) => reader,
            Err(error) => return self.client.refuse(self.serial, &error).await,
        };
        let fetch = || self.fetch(params.as_ref(), true, &reader);
        let turns = &self.side.listing;
        let fetched = match turns.take(|| true, fetch()).await {
            Some(fetched) => fetched,
            None => match self.side.tools.relisted(&reader) {
                Relisted::Here(list) => Ok(list),
                Relisted::ForAnother => turns.take_own(fetch()).await,
                Relisted::Nothing => {
                    let error = RpcError::new(code::INTERNAL, "the session has ended");
                    return self.client.refuse(self.serial, &error).await;
                }
            },
        };
        match fetched {
            Ok(list) => self.client.respond(self.serial, &list).await,
            Err((link, failure)) => self.fail(&link, failure).await,
        }
    }

    /// Fetches every server's list and has it shown; fails if the only server does. The client learns of
    /// new tools only by what it asked for.
    async fn fetch(
        &self,
        params: Option<&Bytes>,
        is_asked_for: bool,
        reader: &Arc<Reader>,
    ) -> Result<Bytes, (Arc<ServerConnection>, Failure)> {
        let side = &self.side;
        if side.only().is_none() {
            some_settled(side).await;
        }
        let before = side.tool_changes();
        let links = side.links().iter();
        let fetched = join_all(links.map(|link| self.pages_in_time(link, params))).await;
        let mut lists = Vec::new();
        for (link, pages) in side.links().iter().zip(fetched) {
            match pages {
                // One without tools is there all the same.
                Ok(pages) => lists.push(ServerList::new(link.server, pages)),
                Err(failure) if side.only().is_some() => return Err((Arc::clone(link), failure)),
                Err(failure) => tracing::warn!(
                    target: "crossfeed::gateway",
                    server = %link.name,
                    reason = failure.reason(),
                    "cannot list the tools of a server"
                ),
            }
        }
        let list = side.tools.list_within(&lists, is_asked_for, reader).await;
        let longest = lists.iter().max_by_key(|list| list.bytes());
        let longest = longest.and_then(|list| side.link(list.server));
        let list = match (list, longest) {
            (Some(list), _) => list,
            (None, Some(link)) => {
                return Err((
                    Arc::clone(link),
                    Failure::Unavailable(UpstreamError::NoRoom),
                ));
            }
            // Without servers there is nothing that needs room.
            (None, None) => Bytes::new(),
        };
        side.tools.tell_unmatched();
        if side.tool_changes() != before {
            side.tools.forget_list();
        }
        Ok(list)
    }

    /// All pages of one server's list, where several are listed: who is slow holds up no other, and is
    /// announced once its list is there.
    async fn pages_in_time(
        &self,
        link: &Arc<ServerConnection>,
        params: Option<&Bytes>,
    ) -> Result<Vec<Bytes>, Failure> {
        if self.side.only().is_some() {
            return self.pages(link, params).await;
        }
        let too_slow = || Failure::Unavailable(UpstreamError::TimedOut { after: START_GRACE });
        let server = link.server;
        {
            let mut late = self.side.late.lock();
            match late.remove(&server) {
                Some(Late::Here(pages)) => return Ok(pages),
                Some(Late::Asked) => {
                    late.insert(server, Late::Asked);
                    return Err(too_slow());
                }
                None => {}
            }
        }
        let before = self.side.tool_changes();
        let (request, to, params) = (self.clone(), Arc::clone(link), params.cloned());
        let mut fetching = Box::pin(async move { request.pages(&to, params.as_ref()).await });
        if let Ok(fetched) = tokio::time::timeout(START_GRACE, &mut fetching).await {
            return fetched;
        }
        self.side.late.lock().insert(server, Late::Asked);
        let (request, link) = (self.clone(), Arc::clone(link));
        tokio::spawn(async move {
            let fetched = fetching.await;
            request.side.late.lock().remove(&server);
            let Ok(pages) = fetched else { return };
            let is_current = request.side.tool_changes() == before;
            request.side.tools_changed(server);
            // What changed meanwhile is asked for again.
            if is_current {
                request.side.late.lock().insert(server, Late::Here(pages));
            }
            request.announce(&link).await;
        });
        Err(too_slow())
    }

    /// Tells the client that there are other tools.
    async fn announce(&self, link: &ServerConnection) {
        let method = method::TOOLS_CHANGED;
        if link.stateless {
            return self.side.tell_listeners(&self.client, method).await;
        }
        let changed = Message::notification(method, None);
        // Who is gone need not know.
        let _ = self.client.outlet.send(changed).await;
    }

    /// All pages of one server's list; none if it has no tools.
    async fn pages(
        &self,
        link: &Arc<ServerConnection>,
        params: Option<&Bytes>,
    ) -> Result<Vec<Bytes>, Failure> {
        if self.side.only().is_some() || link.is_open() {
            link.settled().await.map_err(Failure::Unavailable)?;
        } else {
            return Err(Failure::Unavailable(UpstreamError::Unreachable {
                reason: "it is not there yet".to_owned(),
            }));
        }
        if !link.is_capable("tools") {
            return Ok(Vec::new());
        }
        let most = self.client.gateway().config().limits.message_bytes;
        let mut pages = Vec::new();
        let mut bytes = 0;
        let mut seen = HashSet::new();
        let mut params = params.cloned();
        loop {
            let page = link
                .ask(Some(self.serial), method::LIST_TOOLS, params.as_ref())
                .await
                .await
                .map_err(|_| cancelled())??;
            bytes += page.len();
            let of_page = page.clone();
            let next = apart(page.len(), move || read::raw(&of_page, &["nextCursor"]));
            let next = next.await.filter(|next| next.starts_with(b"\""));
            pages.push(page);
            let Some(next) = next else { return Ok(pages) };
            if pages.len() >= MAX_PAGES || bytes > most || !seen.insert(next.clone()) {
                return Err(Failure::Unavailable(UpstreamError::Invalid {
                    reason: "its list of tools has no end".to_owned(),
                }));
            }
            let before = params.unwrap_or_else(|| Bytes::from_static(b"{}"));
            params = Some(read::with_members(&before, &[("cursor", next)]));
        }
    }

    /// `tools/call`.
    pub(super) async fn call(self, message: Message) {
        let since = Instant::now();
        let params = message
            .params()
            .unwrap_or_else(|| Bytes::from_static(b"{}"));
        let own = message.param(Param::Meta);
        let reader = match self.side.tools.reader(own.as_ref()) {
            Ok(reader) => reader,
            Err(error) => return self.client.refuse(self.serial, &error).await,
        };
        if !self.side.tools.is_listed_for(&reader) {
            // Without sessions each request says who asks; nothing else of the call is said.
            let meta = if self.side.revision.is_stateless() {
                asking(&message).await
            } else {
                None
            };
            let fetch = async {
                for _ in 0..MAX_ATTEMPTS {
                    self.fetch(meta.as_ref(), false, &reader).await?;
                    if self.side.tools.is_listed_for(&reader) {
                        break;
                    }
                }
                Ok(())
            };
            let is_needed = || !self.side.tools.is_listed_for(&reader);
            let fetched = self.side.listing.take(is_needed, fetch).await;
            // That a server cannot list is not an answer to a call.
            if let Some(Err((link, Failure::Unavailable(error)))) = fetched {
                return self.fail_call(&link, error).await;
            }
        }
        match self.side.tools.call(params).await {
            Call::Answered(result) => self.client.respond(self.serial, &result).await,
            Call::Refused(error) => self.client.refuse(self.serial, &error).await,
            Call::Forward(forward) => {
                let Some(link) = self.side.link(forward.server) else {
                    let error = RpcError::new(code::INTERNAL, "no such server");
                    forward.pending.fail("no such server").await;
                    return self.client.refuse(self.serial, &error).await;
                };
                let waiting = PendingReply::Call {
                    serial: self.serial,
                    pending: forward.pending,
                };
                let message = message.with_body(forward.params);
                let figures = Arc::clone(self.client.gateway().figures());
                figures.before.took(since.elapsed());
                link.request(waiting, message, forward.headers).await;
            }
        }
    }

    /// As [`fail`](Self::fail), but so that the model reads it.
    async fn fail_call(&self, link: &ServerConnection, error: UpstreamError) {
        // Only its tools were asked for.
        let error = error.before_sending();
        let result = fault::tool(&link.name, &error, false, link.stateless);
        self.client.respond(self.serial, &result).await;
    }
}

/// What waited for an answer is gone, and with it whoever would read this.
pub(super) fn cancelled() -> Failure {
    Failure::Unavailable(UpstreamError::Ended {
        reason: "the request was cancelled".to_owned(),
    })
}

/// Parameters that say who asks, by those of another request.
pub(super) async fn asking(message: &Message) -> Option<Bytes> {
    let meta = message.param(Param::Meta)?;
    let without_token = move || read::without_member(&meta, "progressToken");
    let meta = apart(message.len(), without_token).await;
    Some(crate::members::object(&[("_meta", meta)]))
}
