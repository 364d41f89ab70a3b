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
    merge_lists::all_pages,
    read,
};
use crate::{
    apart::read_apart,
    message::{Message, Param, RpcError},
    protocol::{code, method},
    tools::{Call, Reader, Relisted, ServerList},
    upstream::UpstreamError,
};
use bytes::Bytes;
use futures_util::future::join_all;
use std::{sync::Arc, time::Instant};

/// Lists may change while they are fetched, but not for ever.
const MAX_ATTEMPTS: usize = 3;

/// One request of a client on one side.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) client: Arc<Client>,
    pub(super) side: Arc<ConnectionSet>,
    pub(super) serial: u64,
}

/// Why a request ends without a result.
pub(super) enum Stop {
    Refused(RpcError),
    Failed(Arc<ServerConnection>, Failure),
}

impl From<RpcError> for Stop {
    fn from(error: RpcError) -> Self {
        Self::Refused(error)
    }
}

impl Stop {
    /// A server's failure.
    pub(super) fn of(link: &Arc<ServerConnection>) -> impl FnOnce(Failure) -> Self {
        |failure| Self::Failed(Arc::clone(link), failure)
    }
}

/// The result of a request; nothing where it is answered elsewhere.
pub(super) type Done = Result<Option<Bytes>, Stop>;

impl Request {
    /// `tools/list`: all pages of all servers in one.
    pub(super) async fn list(self, message: Message) -> Done {
        let params = message.params();
        let cursor = params
            .as_ref()
            .and_then(|params| read::raw(params, &["cursor"]));
        if cursor.is_some_and(|cursor| &cursor[..] != b"null") {
            let error = "unknown cursor: there is one page";
            return Err(RpcError::new(code::INVALID_PARAMS, error).into());
        }
        let meta = message.param(Param::Meta);
        let reader = self.side.tools.reader(meta.as_ref())?;
        let fetch = || self.fetch(params.as_ref(), true, &reader);
        let turns = &self.side.listing;
        let fetched = match turns.take(|| true, fetch()).await {
            Some(fetched) => fetched,
            None => match self.side.tools.relisted(&reader) {
                Relisted::Here(list) => Ok(list),
                Relisted::ForAnother => turns.take_own(fetch()).await,
                Relisted::Nothing => {
                    let error = RpcError::new(code::INTERNAL, "the session has ended");
                    return Err(error.into());
                }
            },
        };
        fetched
            .map(Some)
            .map_err(|(link, failure)| Stop::Failed(link, failure))
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
        let links = side.links.iter();
        let fetched = join_all(links.map(|link| self.pages_in_time(link, params))).await;
        let mut lists = Vec::new();
        for (link, pages) in side.links.iter().zip(fetched) {
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
            return Err(Failure::Unavailable(UpstreamError::Unreachable(
                "it is not there yet".to_owned(),
            )));
        }
        if !link.is_capable("tools") {
            return Ok(Vec::new());
        }
        all_pages(self, link, method::LIST_TOOLS, params, usize::MAX, None).await
    }

    /// `tools/call`.
    pub(super) async fn call(self, message: Message) -> Done {
        let since = Instant::now();
        let params = message
            .params()
            .unwrap_or_else(|| Bytes::from_static(b"{}"));
        let own = message.param(Param::Meta);
        let reader = self.side.tools.reader(own.as_ref())?;
        let is_needed = || !self.side.tools.is_listed_for(&reader);
        if is_needed() {
            // Without sessions each request says who asks; nothing else of the call is said.
            let meta = if self.side.revision.is_stateless() {
                asking(&message).await
            } else {
                None
            };
            let fetch = async {
                for _ in 0..MAX_ATTEMPTS {
                    self.fetch(meta.as_ref(), false, &reader).await?;
                    if !is_needed() {
                        break;
                    }
                }
                Ok(())
            };
            let fetched = self.side.listing.take(is_needed, fetch).await;
            // That a server cannot list is not an answer to a call.
            if let Some(Err((link, Failure::Unavailable(error)))) = fetched {
                // So that the model reads it. Only the server's tools were asked for.
                let error = error.before_sending();
                let result = fault::tool(&link.name, &error, false, link.stateless);
                return Ok(Some(result));
            }
        }
        match self.side.tools.call(params).await {
            Call::Answered(result) => Ok(Some(result)),
            Call::Refused(error) => Err(error.into()),
            Call::Forward(forward) => {
                let Some(link) = self.side.link(forward.server) else {
                    forward.pending.fail("no such server").await;
                    return Err(RpcError::new(code::INTERNAL, "no such server").into());
                };
                let waiting = PendingReply::Call {
                    serial: self.serial,
                    pending: forward.pending,
                };
                let message = message.with_body(forward.params);
                let figures = &self.client.gateway.figures;
                figures.before.took(since.elapsed());
                link.request(waiting, message, forward.headers).await;
                Ok(None)
            }
        }
    }
}

/// Parameters that say who asks, by those of another request.
pub(super) async fn asking(message: &Message) -> Option<Bytes> {
    let meta = message.param(Param::Meta)?;
    let without_token = |meta: &Bytes| read::without_member(meta, "progressToken");
    let meta = read_apart(&meta, without_token).await;
    Some(crate::members::object(&[("_meta", meta)]))
}
