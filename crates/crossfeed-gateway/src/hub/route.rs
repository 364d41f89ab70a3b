//! Which server a request is for.
//!
//! What comes in: requests of a client. What goes out: the same to the only server as they came; to the
//! one of several that has what they name; to all of them, the answers made one; or to one after the
//! other, until one knows. Deliberately not here: tools ([`super::calls`]).

use super::{
    Client,
    calls::{Request, asking, cancelled},
    connection::{Answer, Failure, ServerConnection},
    connection_set::ConnectionSet,
    fault,
    initialize::{self, START_GRACE, some_settled},
    merge_lists, read,
};
use crate::{
    Revision,
    apart::{LARGE, apart, indexed},
    config::{Eras, Unlisted},
    lookalike,
    message::{Kind, Message, Param, RpcError},
    protocol::{code, method},
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{sync::oneshot, time::Instant};

/// How long `server/discover` waits for servers: clients ask it to find out the era, and some take
/// silence of ten seconds for an answer.
const DISCOVER_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether requests of a method carry no data: one beyond [`LARGE`] is a mistake, or meant to keep others waiting
/// while it is read.
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

/// Who was asked, and where the answer comes.
type Asked = (Arc<ServerConnection>, oneshot::Receiver<Answer>);

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
        let method = message.method().unwrap_or_default();
        if message.len() > LARGE && is_short(method) {
            let error = format!("a `{method}` request has at most {LARGE} bytes");
            let data = json!({"code": ErrorCode::LimitExceeded.as_str(), "limit": LARGE});
            let error = RpcError::new(code::INVALID_REQUEST, error).with_data(data);
            return client.refuse(serial, &error).await;
        }
        let names = [Param::Name, Param::Uri].map(|param| message.param(param));
        if message.len() > LARGE && names.iter().flatten().any(|name| name.len() > LARGE) {
            let error = format!("a name or an address has at most {LARGE} bytes");
            let data = json!({"code": ErrorCode::LimitExceeded.as_str(), "limit": LARGE});
            let error = RpcError::new(code::INVALID_PARAMS, error).with_data(data);
            return client.refuse(serial, &error).await;
        }
        match method {
            method::CALL_TOOL => client.work(serial, request.call(message)).await,
            method::LIST_TOOLS => client.work(serial, request.list(message)).await,
            _ if method.starts_with(lookalike::TASKS) => {
                client.work(serial, request.task(message)).await;
            }
            method::LISTEN => client.work(serial, request.listen(message)).await,
            method::DISCOVER => client.work(serial, request.discover(message)).await,
            _ if self.only().is_none() || request.names_prompt(&message) => {
                request.of_several(message).await;
            }
            _ => {
                if let Some(link) = self.only() {
                    if method == method::SET_LEVEL {
                        link.remember_level(&message);
                    }
                    link.forward(serial, message).await;
                }
            }
        }
    }
}

impl Request {
    /// Whether a request is about prompts by name, and their names are not their server's own: the
    /// configuration has other servers, which this client may not use.
    fn names_prompt(&self, message: &Message) -> bool {
        let is_about_prompts = match message.method().unwrap_or_default() {
            method::LIST_PROMPTS | method::GET_PROMPT => true,
            method::COMPLETE => message
                .params()
                .is_some_and(|params| read::raw(&params, &["ref", "name"]).is_some()),
            _ => false,
        };
        is_about_prompts && !self.client.gateway().tools().naming().is_sole()
    }

    /// A request that one of several servers is to answer, or all.
    async fn of_several(self, message: Message) {
        let client = Arc::clone(&self.client);
        let serial = self.serial;
        let method = message.method().unwrap_or_default();
        // Methods of sessions are for the servers to refuse where there are none.
        let has_sessions = !self.side.revision.is_stateless();
        if merge_lists::listed(method).is_some() {
            return client.work(serial, self.join(message)).await;
        }
        let params = message.params().unwrap_or_default();
        match method {
            method::PING if has_sessions => {
                client.respond(serial, &Bytes::from_static(b"{}")).await;
            }
            method::SET_LEVEL => {
                let asked = self.ask_all("logging", &message).await;
                client.work(serial, self.any_of(asked)).await;
            }
            method::GET_PROMPT => {
                let name = text_of(&message, Param::Name).await.unwrap_or_default();
                client
                    .work(serial, self.prompt(message, name, &["name"]))
                    .await;
            }
            method::COMPLETE => match read::string(&params, &["ref", "name"]) {
                Some(name) => {
                    let path = &["ref", "name"];
                    client.work(serial, self.prompt(message, name, path)).await;
                }
                None => match read::string(&params, &["ref", "uri"]) {
                    Some(uri) => self.resource(message, uri).await,
                    None => {
                        let error = RpcError::new(
                            code::INVALID_PARAMS,
                            "no prompt and no resource is named",
                        );
                        client.refuse(serial, &error).await;
                    }
                },
            },
            method::SUBSCRIBE | method::UNSUBSCRIBE if !has_sessions => {
                self.unknown_method().await;
            }
            method::READ_RESOURCE
            | method::SUBSCRIBE
            | method::UNSUBSCRIBE
            | "resources/directory/read" => {
                let uri = text_of(&message, Param::Uri).await.unwrap_or_default();
                self.resource(message, uri).await;
            }
            _ => client.work(serial, self.other(message)).await,
        }
    }

    /// A request that says by nothing which server it is for: its parameters are for none that has nothing
    /// to do with them. The one that alone has a capability of that name is meant.
    async fn other(self, message: Message) {
        if self.client.gateway().config().unlisted == Unlisted::AskAll {
            return self.in_turn(message).await;
        }
        some_settled(&self.side).await;
        let method = message.method().unwrap_or_default();
        let capability = method.split('/').next().unwrap_or_default();
        let links = self.side.links().iter();
        let mut capable = links.filter(|link| link.is_capable(capability));
        match (capable.next(), capable.next()) {
            (Some(link), None) => link.forward(self.serial, message).await,
            _ => self.unknown_method().await,
        }
    }

    pub(super) async fn unknown_method(&self) {
        let error = RpcError::new(
            code::METHOD_NOT_FOUND,
            "it is not known which server has this method",
        );
        self.client.refuse(self.serial, &error).await;
    }

    /// Hands a request to all servers that have a capability, in its place among what they are sent.
    async fn ask_all(&self, capability: &str, message: &Message) -> Vec<Asked> {
        for link in self.side.links() {
            link.remember_level(message);
        }
        let mut asked = Vec::new();
        for link in self.capable(capability) {
            let answer = link.pass(Some(self.serial), message.clone()).await;
            asked.push((link, answer));
        }
        asked
    }

    /// The first result of several, else the first error.
    async fn any_of(self, asked: Vec<Asked>) {
        let mut first = None;
        let mut result = None;
        let until = Instant::now() + START_GRACE;
        for (link, answer) in asked {
            let answer = async { answer.await.unwrap_or_else(|_| Err(cancelled())) };
            match self.in_time(&link, until, answer).await {
                Ok(answer) => {
                    result.get_or_insert(answer);
                }
                Err(failure) => {
                    first.get_or_insert((link, failure));
                }
            }
        }
        match (result, first) {
            (Some(result), _) => self.client.respond(self.serial, &result).await,
            (None, Some((link, failure))) => self.fail(&link, failure).await,
            (None, None) => {
                let error = RpcError::new(code::METHOD_NOT_FOUND, "no server has this method");
                self.client.refuse(self.serial, &error).await;
            }
        }
    }

    /// A request that names a prompt at a place of its parameters.
    async fn prompt(self, message: Message, name: String, path: &'static [&'static str]) {
        let mut known = self.side.prompt(&name);
        if known.is_none() && self.side.may_list_prompts() {
            let params = asking(&message).await;
            let params = params.unwrap_or_else(|| Bytes::from_static(b"{}"));
            let is_needed = || self.side.may_list_prompts();
            let fetch = self.prompts(&params, false);
            self.side.naming.take(is_needed, fetch).await;
            known = self.side.prompt(&name);
        }
        let owner = known.and_then(|(server, own)| Some((self.side.link(server)?, own)));
        let Some((link, own)) = owner else {
            if self.client.gateway().config().unlisted == Unlisted::AskAll {
                return self.in_turn(message).await;
            }
            let error = RpcError::new(code::INVALID_PARAMS, "unknown prompt: no server lists it");
            return self.client.refuse(self.serial, &error).await;
        };
        let message = if own == name {
            message
        } else {
            let params = message.params().unwrap_or_default();
            let named = move || {
                let quoted = crossfeed_json::quoted(&own);
                read::replaced(&params, path, quoted.as_bytes())
            };
            let params = apart(message.len(), named).await;
            message.with_body(params)
        };
        link.forward(self.serial, message).await;
    }

    /// Asks one server after the other, until one knows the answer.
    pub(super) async fn in_turn(self, message: Message) {
        match self.first_that_knows(message).await {
            Some((_, Ok(result))) => self.client.respond(self.serial, &result).await,
            Some((link, Err(failure))) => self.fail(&link, failure).await,
            None => self.nobody().await,
        }
    }

    /// The first answer that is none of "unknown"; else the first error.
    pub(super) async fn first_that_knows(
        &self,
        message: Message,
    ) -> Option<(Arc<ServerConnection>, Answer)> {
        some_settled(&self.side).await;
        let mut first: Option<(Arc<ServerConnection>, Answer)> = None;
        for link in self.side.links() {
            if !link.is_open() {
                continue;
            }
            let message = message.clone();
            let asking = async {
                let answer = link.pass(Some(self.serial), message).await.await;
                answer.unwrap_or_else(|_| Err(cancelled()))
            };
            // The next one is asked whether this one answers or not.
            let answer = self
                .in_time(link, Instant::now() + START_GRACE, asking)
                .await;
            if answer.is_ok() {
                return Some((Arc::clone(link), answer));
            }
            let knows_less = |one: &Answer| match one {
                Err(Failure::Error(message)) => is_unknown_method(message),
                _ => true,
            };
            // An error about what is asked says more than one about the method.
            if first.as_ref().is_none_or(|(_, before)| knows_less(before)) {
                first = Some((Arc::clone(link), answer));
            }
        }
        first
    }

    /// No server is there to answer.
    pub(super) async fn nobody(&self) {
        let down = self
            .side
            .links()
            .iter()
            .find_map(|link| Some((link, link.refusal()?)));
        let error = match down {
            Some((link, error)) => fault::rpc(&link.name, &error),
            None => RpcError::new(code::INTERNAL, "no server is there yet"),
        };
        self.client.refuse(self.serial, &error).await;
    }

    /// Whether clients are to use the stateless era.
    async fn offers_stateless(&self) -> bool {
        let gateway = self.client.gateway();
        if gateway.config().eras == Eras::All || self.side.links().is_empty() {
            return true;
        }
        let eras = gateway.eras();
        let speaks = self.side.speaks_stateless(&eras);
        match self.side.only() {
            // Its own failure is the answer where it is not there.
            Some(link) => speaks.await || eras.of(link.server, true).is_none(),
            // Who asks this finds out the era, and does not wait for long.
            None => tokio::time::timeout(DISCOVER_TIMEOUT, speaks)
                .await
                .unwrap_or(false),
        }
    }

    /// `server/discover`: of one server its own answer, of several what they are together; an error where the
    /// stateless era is not offered.
    async fn discover(self, message: Message) {
        if !self.offers_stateless().await {
            self.client.leave_stateless(self.serial, &self.side);
            return self.client.refuse(self.serial, &not_offered()).await;
        }
        let meta = message.param(Param::Meta);
        let guidance = match self.side.tools.reader(meta.as_ref()) {
            Ok(reader) => self.side.tools.guidance_for(&reader),
            Err(error) => return self.client.refuse(self.serial, &error).await,
        };
        if let Some(link) = self.side.only().cloned() {
            let answer = link.pass(Some(self.serial), message).await.await;
            match answer.unwrap_or_else(|_| Err(cancelled())) {
                Ok(result) => {
                    let result = initialize::of_one(&result, &guidance);
                    self.client.respond(self.serial, &result).await;
                }
                Err(failure) => self.fail(&link, failure).await,
            }
            return;
        }
        // Who asks this finds out the era, and does not wait for long.
        let _ = tokio::time::timeout(DISCOVER_TIMEOUT, some_settled(&self.side)).await;
        let result = initialize::of_several(&self.side, &guidance);
        self.client.respond(self.serial, &result).await;
    }
}

/// The stateless era is not offered: the client is to begin a session.
fn not_offered() -> RpcError {
    RpcError::unsupported_revision(
        "a server behind the gateway has sessions only: begin with `initialize`",
        Revision::of_era(false),
        Revision::V2026_07_28.as_str(),
    )
}

/// The text of a member of a request's parameters.
async fn text_of(message: &Message, param: Param) -> Option<String> {
    let value = indexed(message.param(param)?).await;
    let text = value.root().ok()?.as_str()?;
    Some(text.into_owned())
}

fn is_unknown_method(message: &Message) -> bool {
    message.kind() == Kind::Error
        && message
            .error()
            .and_then(|error| read::raw(&error, &["code"]))
            == Some(Bytes::from(code::METHOD_NOT_FOUND.to_string()))
}
