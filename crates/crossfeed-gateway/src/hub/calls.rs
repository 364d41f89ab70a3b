//! Requests about tools: lists fetched whole, and calls whose references are resolved before they are sent.

use super::{
    Client,
    connection::{Failure, PendingReply, ServerConnection},
    connection_set::{ConnectionSet, LateList},
    fault,
    initialize::{START_GRACE, some_settled},
    inputs::RequestInputs,
    merge_lists::all_pages,
};
use crate::{
    apart::read_apart,
    members::{self, EMPTY},
    message::{Message, Param, RpcError},
    protocol::{code, method},
    tools::{Call, FetchedList, Reader, ServerList},
    upstream::UpstreamError,
};
use bytes::Bytes;
use futures_util::future::join_all;
use std::{sync::Arc, time::Instant};

/// Attempts to fetch lists that change meanwhile.
const MAX_ATTEMPTS: usize = 3;

/// One request of a client, to the servers of one connection set.
#[derive(Clone)]
pub(super) struct Request {
    pub(super) client: Arc<Client>,
    pub(super) side: Arc<ConnectionSet>,
    pub(super) serial: u64,
}

/// The result of a request; none if it is answered elsewhere.
pub(super) type Done = Result<Option<Bytes>, Failure>;

impl Request {
    /// `tools/list`: all pages of all servers in one.
    pub(super) async fn list(self, message: Message) -> Done {
        let params = message.params();
        let cursor = params
            .as_ref()
            .and_then(|params| members::get(params, &["cursor"]));
        if cursor.is_some_and(|cursor| &cursor[..] != b"null") {
            let error = "unknown cursor: there is one page";
            return Err(RpcError::new(code::INVALID_PARAMS, error).into());
        }
        let meta = message.param(Param::Meta);
        let reader = self.side.tools.reader(meta.as_ref())?;
        let fetch = || self.fetch(params.as_ref(), true, &reader);
        let turns = &self.side.listing;
        let list = match turns.take(|| true, fetch()).await {
            Some(fetched) => fetched?,
            None => match self.side.tools.relisted(&reader) {
                FetchedList::Here(list) => list,
                FetchedList::ForAnother => turns.take_own(fetch()).await?,
                FetchedList::Nothing => {
                    let error = "the session has ended";
                    return Err(RpcError::new(code::INTERNAL, error).into());
                }
            },
        };
        Ok(Some(list))
    }

    /// Fetches the lists of all servers and merges them; fails if the only server does. The client learns of new
    /// tools only from a list that it asked for.
    async fn fetch(
        &self,
        params: Option<&Bytes>,
        is_asked_for: bool,
        reader: &Arc<Reader>,
    ) -> Result<Bytes, Failure> {
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
                // A server without tools counts, too.
                Ok(pages) => lists.push(ServerList::new(link.server, pages)),
                Err(failure) if side.only().is_some() => return Err(failure),
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
            (None, Some(link)) => return Err(link.unavailable(UpstreamError::NoRoom)),
            // Without servers there is nothing that needs room.
            (None, None) => Bytes::new(),
        };
        side.tools.tell_unmatched();
        if side.tool_changes() != before {
            side.tools.forget_list();
        }
        Ok(list)
    }

    /// All pages of one server's list. One of several that is slow delays no other: its list is announced once it is
    /// there.
    async fn pages_in_time(
        &self,
        link: &Arc<ServerConnection>,
        params: Option<&Bytes>,
    ) -> Result<Vec<Bytes>, Failure> {
        if self.side.only().is_some() {
            return self.pages(link, params).await;
        }
        let too_slow = || link.unavailable(UpstreamError::TimedOut { after: START_GRACE });
        let server = link.server;
        {
            let mut late = self.side.late.lock();
            match late.remove(&server) {
                Some(LateList::Arrived(pages)) => return Ok(pages),
                Some(LateList::Pending) => {
                    late.insert(server, LateList::Pending);
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
        self.side.late.lock().insert(server, LateList::Pending);
        let request = self.clone();
        tokio::spawn(async move {
            let fetched = fetching.await;
            request.side.late.lock().remove(&server);
            let Ok(pages) = fetched else { return };
            let is_current = request.side.tool_changes() == before;
            request.side.tools_changed(server);
            // A list that changed meanwhile is fetched again.
            if is_current {
                request
                    .side
                    .late
                    .lock()
                    .insert(server, LateList::Arrived(pages));
            }
            let changed = method::TOOLS_CHANGED;
            request.client.tell_changed(&request.side, changed).await;
        });
        Err(too_slow())
    }

    /// All pages of one server's list; none if it has no tools.
    async fn pages(
        &self,
        link: &Arc<ServerConnection>,
        params: Option<&Bytes>,
    ) -> Result<Vec<Bytes>, Failure> {
        if self.side.only().is_none() && !link.is_open() {
            let reason = "it is not there yet".to_owned();
            return Err(link.unavailable(UpstreamError::Unreachable(reason)));
        }
        let settled = link.settled().await;
        settled.map_err(|error| link.unavailable(error))?;
        if !link.is_capable("tools") {
            return Ok(Vec::new());
        }
        all_pages(self, link, method::LIST_TOOLS, params, usize::MAX, None).await
    }

    /// Fetches the lists by which calls of a reader are understood, unless they are here; `meta` is that of the request.
    pub(super) async fn list_for_calls(
        &self,
        meta: Option<&Bytes>,
        reader: &Arc<Reader>,
    ) -> Result<(), Failure> {
        let is_needed = || !self.side.tools.is_listed_for(reader);
        if !is_needed() {
            return Ok(());
        }
        // Without a session, each request says who asks; the list needs nothing else of the call.
        let meta = meta.filter(|_| self.side.revision.is_stateless());
        let params = asking(meta).await;
        let fetch = async {
            for _ in 0..MAX_ATTEMPTS {
                self.fetch(params.as_ref(), false, reader).await?;
                if !is_needed() {
                    break;
                }
            }
            Ok(())
        };
        let fetched = self.side.listing.take(is_needed, fetch).await;
        fetched.unwrap_or(Ok(()))
    }

    /// `tools/call`.
    pub(super) async fn call(self, message: Message) -> Done {
        let since = Instant::now();
        let params = message.params().unwrap_or_else(|| EMPTY.clone());
        let meta = message.param(Param::Meta);
        let reader = self.side.tools.reader(meta.as_ref())?;
        // The failure becomes a result, so that the model reads it. Only a list was asked for, not the call.
        if let Err(Failure::Unavailable(server, error)) =
            self.list_for_calls(meta.as_ref(), &reader).await
        {
            let error = error.before_sending();
            let is_stateless = self.side.revision.is_stateless();
            let result = fault::tool(&server, &error, false, is_stateless);
            return Ok(Some(result));
        }
        let (inputs, params) = RequestInputs::of_call(&self, &message, meta, params).await;
        match self.side.tools.call_with(params, inputs).await {
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
                let metrics = &self.client.gateway.metrics;
                metrics.before.took(since.elapsed());
                link.request(waiting, message, forward.headers).await;
                Ok(None)
            }
        }
    }
}

/// Parameters that say who asks, by the `_meta` of another request.
pub(super) async fn asking(meta: Option<&Bytes>) -> Option<Bytes> {
    let without_token = |meta: &Bytes| members::without_member(meta, "progressToken");
    let meta = read_apart(meta?, without_token).await;
    Some(members::object(&[("_meta", meta)]))
}
