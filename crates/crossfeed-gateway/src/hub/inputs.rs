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
use tokio::time::Instant;

/// The path of a client's roots among what it can do, in the `_meta` of a request without a session.
const ROOTS: [&str; 2] = [meta::CLIENT_CAPABILITIES, "roots"];

/// Reads the inputs of one call.
pub(super) struct RequestInputs {
    pub(super) request: Request,
    /// The `_meta` of the call.
    pub(super) meta: Option<Bytes>,
    /// What the client without a session answered to the question for its roots.
    pub(super) roots: Option<ClientRoots>,
}

/// The parameters of a call without the answer to the question for the client's roots; and that answer, if it is valid.
pub(super) async fn without_roots(
    message: &Message,
    params: Bytes,
) -> (Bytes, Option<ClientRoots>) {
    let own = quoted(ClientRoots::STATE);
    if message.param(Param::State).as_deref() != Some(own.as_bytes()) {
        return (params, None);
    }
    let taken = |params: &Bytes| {
        let roots = members::get(params, &["inputResponses", ClientRoots::STATE]);
        let roots = roots.and_then(|result| ClientRoots::from_result(&result));
        let rest = members::without_member(params, "inputResponses");
        (members::without_member(&rest, "requestState"), roots)
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
            let has_roots = match &self.meta {
                Some(meta) => {
                    let declared = |meta: &Bytes| members::get(meta, &ROOTS);
                    let declared = read_apart(meta, declared).await;
                    declared.is_some_and(|roots| roots.starts_with(b"{"))
                }
                None => false,
            };
            return match &self.roots {
                _ if !has_roots => Ok(None),
                Some(roots) => Ok(Some(roots.clone())),
                None => Err(RootsError::InAnswer),
            };
        }
        if !request.side.has_roots {
            return Ok(None);
        }
        let asked = request.client.ask(request.serial, method::LIST_ROOTS);
        let result = asked
            .await
            .map_err(|error| RootsError::Failed(error.to_string()))?;
        let roots = read_apart(&result, ClientRoots::from_result).await;
        let invalid = || RootsError::Failed("its answer is not valid".to_owned());
        roots.map(Some).ok_or_else(invalid)
    }
}
