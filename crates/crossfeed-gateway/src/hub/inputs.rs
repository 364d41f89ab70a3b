//! What references of a call name besides results: resources of the client's servers, and files within its roots.

use super::{
    calls::{Request, asking},
    initialize::START_GRACE,
};
use crate::{
    apart::read_apart,
    members::{self, EMPTY},
    message::{Message, Param},
    protocol::{meta, method},
    tools::inputs::{ClientRoots, InputReader, ReadResource, ResourceError, RootsError},
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_json::quoted;
use std::sync::Arc;
use tokio::time::Instant;

/// The path of a client's roots among what it can do, in the `_meta` of a request without a session.
const ROOTS: [&str; 2] = [meta::CLIENT_CAPABILITIES, "roots"];

/// The members of a call that comes again: what it was asked for, and by what the question is known.
const ANSWER: [&str; 2] = ["inputResponses", "requestState"];

/// Reads the inputs of one call.
pub(super) struct RequestInputs {
    request: Request,
    /// The `_meta` of the call.
    meta: Option<Bytes>,
    /// What a client without a session answered to the question for its roots.
    roots: Option<Result<ClientRoots, RootsError>>,
}

impl RequestInputs {
    /// What reads the inputs of a call, unless references name none; and the parameters of the call without the client's
    /// answer to the question for its roots.
    pub(super) async fn of_call(
        request: &Request,
        message: &Message,
        meta: Option<Bytes>,
        params: Bytes,
    ) -> (Option<Arc<dyn InputReader>>, Bytes) {
        let tools = &request.side.tools;
        let (params, roots) = match tools.roots_state() {
            Some(state) => without_roots(message, params, state).await,
            None if tools.takes_resources() => (params, None),
            None => return (None, params),
        };
        let inputs = Self {
            request: request.clone(),
            meta,
            roots,
        };
        (Some(Arc::new(inputs)), params)
    }
}

/// Parameters without the answer to the question of this state; and that answer, if it was asked.
async fn without_roots(
    message: &Message,
    params: Bytes,
    state: &str,
) -> (Bytes, Option<Result<ClientRoots, RootsError>>) {
    let own = quoted(state);
    if message.param(Param::State).as_deref() != Some(own.as_bytes()) {
        return (params, None);
    }
    let state = state.to_owned();
    let taken = move |params: &Bytes| {
        let [responses, _] = ANSWER;
        let mut roots = None;
        let rest = members::edited(params, |edits, root| {
            // A call that says one of them twice is refused.
            if ANSWER.iter().any(|key| members::is_twice(root, key)) {
                return;
            }
            let answer = root.get(responses).and_then(|all| all.get(&state));
            let answer = answer.ok_or(RootsError::Invalid);
            roots = Some(answer.and_then(|result| ClientRoots::from_result(&result.shared())));
            edits.remove_members(root, |key| ANSWER.contains(&key));
        });
        (rest.unwrap_or_else(|| params.clone()), roots)
    };
    read_apart(&params, taken).await
}

#[async_trait]
impl InputReader for RequestInputs {
    /// Asks the server that listed the URI, or whose tool linked to it. A template does not make a URI known: one of
    /// `file:///{path}` would make all of them so.
    async fn resource(&self, uri: &str) -> Result<ReadResource, ResourceError> {
        let request = &self.request;
        let mut owner = request.side.settled_lister(uri);
        if owner.is_none() {
            request.learn_all_resources(self.meta.as_ref()).await;
            owner = request.side.lister(uri);
        }
        // A link makes a URI known. Who is asked is as for any other request: a template outweighs a link.
        let asked = owner.map(|known| request.side.owner_of_resource(uri).unwrap_or(known));
        let link = asked.and_then(|server| request.side.link(server));
        let link = link.ok_or(ResourceError::Unlisted)?;
        let params = asking(self.meta.as_ref()).await;
        let params = params.as_ref().unwrap_or(&EMPTY);
        let uri = quoted(uri).into_bytes().into();
        let params = members::with_members(params, &[("uri", uri)]);
        let until = Some(Instant::now() + START_GRACE);
        let page = request.page(link, method::READ_RESOURCE, Some(&params), until);
        match page.await {
            Ok(result) => Ok(ReadResource {
                server: link.server,
                result,
            }),
            Err(failure) => {
                tracing::info!(
                    target: "crossfeed::gateway",
                    server = %link.name,
                    reason = failure.reason(),
                    "cannot read a resource"
                );
                let why = format!("server `{}`: {}", link.name, failure.reason());
                Err(ResourceError::Failed(why))
            }
        }
    }

    /// Asks the client, if it says that it has roots: within its call if it has a session, else by the answer to the
    /// call.
    async fn roots(&self) -> Result<Option<ClientRoots>, RootsError> {
        let request = &self.request;
        if request.side.revision.is_stateless() {
            let declared = match &self.meta {
                Some(meta) => read_apart(meta, |meta| members::get(meta, &ROOTS)).await,
                None => None,
            };
            return match &self.roots {
                _ if !ClientRoots::are_declared(declared.as_ref()) => Ok(None),
                Some(roots) => roots.clone().map(Some),
                None => Err(RootsError::InAnswer),
            };
        }
        if !request.side.has_roots {
            return Ok(None);
        }
        let result = request.client.ask_for_roots(request.serial).await?;
        let roots = read_apart(&result, ClientRoots::from_result).await;
        roots.map(Some)
    }
}
