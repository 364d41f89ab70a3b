//! Routes a request of a client: to the only server as it came, to the one of several that owns what it names, to all of
//! them, or to one after the other until one knows the answer.

use super::{
    Client,
    calls::{Done, Request, asking},
    connection::{Answer, Failure, PendingReply, ServerConnection},
    connection_set::ConnectionSet,
    fault,
    handshake::error_code,
    initialize::{self, START_GRACE, some_settled},
    merge_lists,
};
use crate::{
    Revision,
    apart::{LARGE, indexed, read_apart},
    config::{Eras, UnlistedPolicy},
    lookalike,
    members::{self, EMPTY},
    message::{Message, Param, RpcError},
    protocol::{code, method},
    tools::resources::is_own,
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use futures_util::FutureExt as _;
use serde_json::json;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::time::Instant;

/// How long `server/discover` waits for servers: clients use it to find out the era, and some take ten seconds without
/// an answer for one.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(5);

/// A method of no revision, which some servers have.
const READ_DIRECTORY: &str = "resources/directory/read";

/// Whether requests of a method carry no data: one beyond [`LARGE`] is a mistake, or an attempt to delay others.
fn is_short(method: &str) -> bool {
    const OTHERS: [&str; 7] = [
        method::COMPLETE,
        method::SET_LEVEL,
        method::PING,
        method::SUBSCRIBE,
        method::UNSUBSCRIBE,
        method::DISCOVER,
        method::LIST_TOOLS,
    ];
    merge_lists::listed(method).is_some() || OTHERS.contains(&method)
}

impl ConnectionSet {
    /// Takes a request of the client.
    pub(super) async fn request(
        self: &Arc<Self>,
        client: &Arc<Client>,
        serial: u64,
        message: Message,
    ) {
        let request = Request {
            client: Arc::clone(client),
            side: Arc::clone(self),
            serial,
        };
        let done = async move {
            let own = &request.client;
            // Whoever waits for the answer gets one.
            let done = AssertUnwindSafe(request.clone().done(message)).catch_unwind();
            let done = done.await.unwrap_or_else(|_| {
                let what = "a fault of the gateway ended the request, which may have run";
                Err(RpcError::new(code::INTERNAL, what).into())
            });
            match done {
                Ok(None) => {}
                Ok(Some(result)) => own.respond(serial, &result).await,
                Err(failure) => own.fail(serial, failure).await,
            }
        };
        client.work(serial, done).await;
    }
}

/// A request has more bytes than are read on the threads that serve others.
fn too_large(code: i64, what: &str) -> Failure {
    let error = RpcError::new(code, format!("{what} has at most {LARGE} bytes"));
    let code = ErrorCode::LimitExceeded.as_str();
    error
        .with_data(json!({"code": code, "limit": LARGE}))
        .into()
}

impl Request {
    /// Runs the request; up to where it must wait, in its place among the client's others.
    async fn done(self, message: Message) -> Done {
        let method = message.method().unwrap_or_default();
        if message.len() > LARGE && is_short(method) {
            let what = format!("a `{method}` request");
            return Err(too_large(code::INVALID_REQUEST, &what));
        }
        let names = [Param::Name, Param::Uri].map(|param| message.param(param));
        if message.len() > LARGE && names.iter().flatten().any(|name| name.len() > LARGE) {
            return Err(too_large(code::INVALID_PARAMS, "a name or an address"));
        }
        if self.side.tools.offers_resources() {
            if matches!(method, method::LIST_RESOURCES | method::LIST_TEMPLATES) {
                return self.join(message).await;
            }
            if let Some(uri) = resource_of(&message).await.filter(|uri| is_own(uri)) {
                return self.own_resource(&message, &uri).await;
            }
        }
        match (method, self.side.only()) {
            (method::CALL_TOOL, _) => self.call(message).await,
            (method::LIST_TOOLS, _) => self.list(message).await,
            _ if method.starts_with(lookalike::TASKS) => self.task(message).await,
            (method::LISTEN, _) => {
                self.listen(message).await;
                Ok(None)
            }
            (method::DISCOVER, _) => self.discover(message).await,
            (_, Some(link)) if !self.names_prompt(&message) => {
                if method == method::SET_LEVEL {
                    link.remember_level(&message);
                }
                self.forward(link, message).await
            }
            _ => self.forward_to_several(message).await,
        }
    }

    /// Hands the request to a server, whose answer goes to the client.
    pub(super) async fn forward(&self, link: &Arc<ServerConnection>, message: Message) -> Done {
        let serial = self.serial;
        let reply = PendingReply::Forward { serial };
        link.request(reply, message, Vec::new()).await;
        Ok(None)
    }

    /// Whether a request names a prompt that may have another name at its server, since the configuration has other
    /// servers, which this client may not use.
    fn names_prompt(&self, message: &Message) -> bool {
        let is_about_prompts = match message.method().unwrap_or_default() {
            method::LIST_PROMPTS | method::GET_PROMPT => true,
            method::COMPLETE => message
                .params()
                .is_some_and(|params| members::get(&params, &["ref", "name"]).is_some()),
            _ => false,
        };
        is_about_prompts && !self.client.gateway.tools.naming().is_sole()
    }

    /// A request for one of several servers, or for all.
    async fn forward_to_several(self, message: Message) -> Done {
        let method = message.method().unwrap_or_default();
        // Without a session, the servers refuse the methods of sessions.
        let has_sessions = !self.side.revision.is_stateless();
        if merge_lists::listed(method).is_some() {
            return self.join(message).await;
        }
        let params = message.params().unwrap_or_default();
        match method {
            method::PING if has_sessions => Ok(Some(EMPTY.clone())),
            method::SET_LEVEL => self.set_level(message).await,
            method::GET_PROMPT => {
                let name = text_of(&message, Param::Name).await.unwrap_or_default();
                self.prompt(message, name, &["name"]).await
            }
            method::COMPLETE => {
                if let Some(name) = members::get_text(&params, &["ref", "name"]) {
                    return self.prompt(message, name, &["ref", "name"]).await;
                }
                let error = "no prompt and no resource is named";
                let uri = members::get_text(&params, &["ref", "uri"])
                    .ok_or_else(|| RpcError::new(code::INVALID_PARAMS, error))?;
                self.resource(message, uri).await
            }
            method::SUBSCRIBE | method::UNSUBSCRIBE if !has_sessions => Err(unknown_method()),
            method::READ_RESOURCE | method::SUBSCRIBE | method::UNSUBSCRIBE | READ_DIRECTORY => {
                let uri = text_of(&message, Param::Uri).await.unwrap_or_default();
                self.resource(message, uri).await
            }
            _ => self.other(message).await,
        }
    }

    /// A request about a resource of the gateway's own, which can be read, and nothing else.
    async fn own_resource(self, message: &Message, uri: &str) -> Done {
        let tools = &self.side.tools;
        if message.method() != Some(method::READ_RESOURCE) {
            return Err(tools.unknown_resource(uri).into());
        }
        let params = message.params().unwrap_or_default();
        Ok(Some(tools.read_resource(uri, &params).await?))
    }

    /// A request of an unknown method, whose parameters must not reach a wrong server: it goes to the one that alone has
    /// a capability of that name.
    async fn other(self, message: Message) -> Done {
        if self.client.gateway.config().unlisted == UnlistedPolicy::AskAll {
            return self.in_turn(message).await;
        }
        some_settled(&self.side).await;
        let method = message.method().unwrap_or_default();
        let capability = method.split('/').next().unwrap_or_default();
        let links = self.side.links.iter();
        let mut capable = links.filter(|link| link.is_capable(capability));
        match (capable.next(), capable.next()) {
            (Some(link), None) => self.forward(link, message).await,
            _ => Err(unknown_method()),
        }
    }

    /// Sets the log level of all servers: sent at once, in its place among the messages for each. Answers with the first
    /// result, else with the first error.
    async fn set_level(self, message: Message) -> Done {
        for link in &self.side.links {
            link.remember_level(&message);
        }
        let mut asked = Vec::new();
        for link in self.capable("logging") {
            let answer = link.pass(Some(self.serial), message.clone()).await;
            asked.push((link, answer));
        }
        let until = Some(Instant::now() + START_GRACE);
        let mut answers = Vec::new();
        for (link, answer) in asked {
            answers.push(self.in_time(&link, until, answer).await);
        }
        let error = "no server has this method";
        let none = || Err(RpcError::new(code::METHOD_NOT_FOUND, error).into());
        let at = answers.iter().position(Result::is_ok).unwrap_or(0);
        let answer = answers.into_iter().nth(at);
        answer.unwrap_or_else(none).map(Some)
    }

    /// Sends a request that names a prompt at this path of its parameters to the prompt's server.
    async fn prompt(self, message: Message, name: String, path: &'static [&'static str]) -> Done {
        let mut known = self.side.prompt(&name);
        if known.is_none() && self.side.may_list_prompts() {
            let params = asking(message.param(Param::Meta).as_ref()).await;
            let params = params.as_ref().unwrap_or(&EMPTY);
            let is_needed = || self.side.may_list_prompts();
            let fetch = self.prompts(params, false);
            self.side.naming.take(is_needed, fetch).await;
            known = self.side.prompt(&name);
        }
        let owner = known.and_then(|(server, own)| Some((self.side.link(server)?, own)));
        let Some((link, own)) = owner else {
            if self.client.gateway.config().unlisted == UnlistedPolicy::AskAll {
                return self.in_turn(message).await;
            }
            let error = "unknown prompt: no server lists it";
            return Err(RpcError::new(code::INVALID_PARAMS, error).into());
        };
        let mut message = message;
        if own != name {
            let params = message.params().unwrap_or_default();
            let named = move |params: &Bytes| {
                let quoted = crossfeed_json::quoted(&own);
                members::replaced(params, path, quoted.as_bytes())
            };
            message = message.with_body(read_apart(&params, named).await);
        }
        self.forward(link, message).await
    }

    /// Asks one server after the other, until one knows the answer.
    pub(super) async fn in_turn(self, message: Message) -> Done {
        let (_, answer) = self.first_that_knows(message).await?;
        answer.map(Some)
    }

    /// The first result of the servers, asked in turn; else the first error, one about the method last.
    pub(super) async fn first_that_knows(
        &self,
        message: Message,
    ) -> Result<(Arc<ServerConnection>, Answer), Failure> {
        some_settled(&self.side).await;
        let mut first: Option<(Arc<ServerConnection>, Answer)> = None;
        for link in self.side.links.iter().filter(|link| link.is_open()) {
            let message = message.clone();
            let asking = async { link.pass(Some(self.serial), message).await.await };
            // A server that does not answer must not keep the next one from being asked.
            let until = Instant::now() + START_GRACE;
            let answer = self.in_time(link, Some(until), asking).await;
            if answer.is_ok() {
                return Ok((Arc::clone(link), answer));
            }
            let knows_less = |one: &Answer| match one {
                Err(Failure::Error(error)) => error_code(error) == Some(code::METHOD_NOT_FOUND),
                _ => true,
            };
            // An error about the parameters says more than one about the method.
            if first.as_ref().is_none_or(|(_, before)| knows_less(before)) {
                first = Some((Arc::clone(link), answer));
            }
        }
        first.ok_or_else(|| {
            let mut links = self.side.links.iter();
            let down = links.find_map(|link| Some(fault::rpc(&link.name, &link.refusal()?)));
            let none = || RpcError::new(code::INTERNAL, "no server is there yet");
            down.unwrap_or_else(none).into()
        })
    }

    /// Whether clients may use the stateless era.
    async fn offers_stateless(&self) -> bool {
        let gateway = &self.client.gateway;
        if gateway.config().eras == Eras::All || self.side.links.is_empty() {
            return true;
        }
        let eras = &gateway.eras;
        let speaks = self.side.speaks_stateless(eras);
        match self.side.only() {
            // If it is not there, its own failure is the answer.
            Some(link) => speaks.await || eras.get(link.server, true).is_none(),
            None => tokio::time::timeout(DISCOVER_TIMEOUT, speaks)
                .await
                .unwrap_or(false),
        }
    }

    /// `server/discover`: the answer of the only server, or what several are together; an error if the stateless era is
    /// not offered.
    async fn discover(self, message: Message) -> Done {
        if !self.offers_stateless().await {
            self.client.leave_stateless(self.serial, &self.side);
            return Err(not_offered().into());
        }
        let meta = message.param(Param::Meta);
        let reader = self.side.tools.reader(meta.as_ref())?;
        let guidance = self.side.tools.guidance_for(&reader);
        if let Some(link) = self.side.only() {
            let result = link.pass(Some(self.serial), message).await.await?;
            let about = initialize::single(&result, &guidance);
            return Ok(Some(initialize::with_resources(&self.side, about)));
        }
        let _ = tokio::time::timeout(DISCOVER_TIMEOUT, some_settled(&self.side)).await;
        Ok(Some(initialize::merged(&self.side, &guidance)))
    }
}

/// The address in a request about a resource.
async fn resource_of(message: &Message) -> Option<String> {
    match message.method()? {
        method::READ_RESOURCE | method::SUBSCRIBE | method::UNSUBSCRIBE | READ_DIRECTORY => {
            text_of(message, Param::Uri).await
        }
        method::COMPLETE => members::get_text(&message.params()?, &["ref", "uri"]),
        _ => None,
    }
}

pub(super) fn unknown_method() -> Failure {
    let error = "it is not known which server has this method";
    RpcError::new(code::METHOD_NOT_FOUND, error).into()
}

/// The stateless era is not offered: the client must begin a session.
fn not_offered() -> RpcError {
    RpcError::unsupported_revision(
        "a server behind the gateway has sessions only: begin with `initialize`",
        Revision::in_era(false),
        Revision::V2026_07_28.as_str(),
    )
}

/// The text of a member of a request's parameters.
async fn text_of(message: &Message, param: Param) -> Option<String> {
    let value = indexed(message.param(param)?).await;
    let text = value.root().ok()?.as_str()?;
    Some(text.into_owned())
}
