//! Which server a request is for.
//!
//! What comes in: requests of a client. What goes out: the same to the only server as they came; to the
//! one of several that has what they name; to all of them, the answers made one; or to one after the
//! other, until one knows. Deliberately not here: tools ([`super::calls`]).

use super::{
    Client,
    calls::{Done, Request, Stop, asking},
    connection::{Answer, AnswerToCome, Failure, PendingReply, ServerConnection},
    connection_set::ConnectionSet,
    fault,
    initialize::{self, START_GRACE, some_settled},
    merge_lists, read,
};
use crate::{
    Revision,
    apart::{LARGE, indexed, read_apart},
    config::{Eras, Unlisted},
    lookalike,
    message::{Kind, Message, Param, RpcError},
    protocol::{code, method},
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

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
type Asked = (Arc<ServerConnection>, AnswerToCome);

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
            match request.clone().done(message).await {
                Ok(None) => {}
                Ok(Some(result)) => own.respond(serial, &result).await,
                Err(Stop::Refused(error)) => own.refuse(serial, &error).await,
                Err(Stop::Failed(link, failure)) => own.fail(serial, &link.name, failure).await,
            }
        };
        client.work(serial, done).await;
    }
}

/// A request has more bytes than are read on the threads that serve others.
fn too_large(code: i64, what: &str) -> Stop {
    let error = RpcError::new(code, format!("{what} has at most {LARGE} bytes"));
    let code = ErrorCode::LimitExceeded.as_str();
    Stop::Refused(error.with_data(json!({"code": code, "limit": LARGE})))
}

impl Request {
    /// Takes the request; what it does not wait for is done in its place among the client's others.
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
            _ => self.of_several(message).await,
        }
    }

    /// Hands the request to a server, whose answer is the client's.
    pub(super) async fn forward(&self, link: &Arc<ServerConnection>, message: Message) -> Done {
        let serial = self.serial;
        let reply = PendingReply::Forward { serial };
        link.request(reply, message, Vec::new()).await;
        Ok(None)
    }

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
        is_about_prompts && !self.client.gateway.tools.naming().is_sole()
    }

    /// A request that one of several servers is to answer, or all.
    async fn of_several(self, message: Message) -> Done {
        let method = message.method().unwrap_or_default();
        // Methods of sessions are for the servers to refuse where there are none.
        let has_sessions = !self.side.revision.is_stateless();
        if merge_lists::listed(method).is_some() {
            return self.join(message).await;
        }
        let params = message.params().unwrap_or_default();
        match method {
            method::PING if has_sessions => Ok(Some(Bytes::from_static(b"{}"))),
            method::SET_LEVEL => {
                let asked = self.ask_all("logging", &message).await;
                self.any_of(asked).await
            }
            method::GET_PROMPT => {
                let name = text_of(&message, Param::Name).await.unwrap_or_default();
                self.prompt(message, name, &["name"]).await
            }
            method::COMPLETE => {
                if let Some(name) = read::string(&params, &["ref", "name"]) {
                    return self.prompt(message, name, &["ref", "name"]).await;
                }
                let uri = read::string(&params, &["ref", "uri"]).ok_or_else(|| {
                    let error = "no prompt and no resource is named";
                    RpcError::new(code::INVALID_PARAMS, error)
                });
                self.resource(message, uri?).await
            }
            method::SUBSCRIBE | method::UNSUBSCRIBE if !has_sessions => Err(unknown_method()),
            method::READ_RESOURCE
            | method::SUBSCRIBE
            | method::UNSUBSCRIBE
            | "resources/directory/read" => {
                let uri = text_of(&message, Param::Uri).await.unwrap_or_default();
                self.resource(message, uri).await
            }
            _ => self.other(message).await,
        }
    }

    /// A request that says by nothing which server it is for: its parameters are for none that has nothing
    /// to do with them. The one that alone has a capability of that name is meant.
    async fn other(self, message: Message) -> Done {
        if self.client.gateway.config().unlisted == Unlisted::AskAll {
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

    /// Hands a request to all servers that have a capability, in its place among what they are sent.
    async fn ask_all(&self, capability: &str, message: &Message) -> Vec<Asked> {
        for link in &self.side.links {
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
    async fn any_of(self, asked: Vec<Asked>) -> Done {
        let (mut result, mut failed) = (None, None);
        let until = Instant::now() + START_GRACE;
        for (link, answer) in asked {
            match self.in_time(&link, Some(until), answer).await {
                Ok(answer) => drop(result.get_or_insert(answer)),
                Err(failure) => drop(failed.get_or_insert(Stop::Failed(link, failure))),
            }
        }
        let nobody = || RpcError::new(code::METHOD_NOT_FOUND, "no server has this method").into();
        match result {
            Some(result) => Ok(Some(result)),
            None => Err(failed.unwrap_or_else(nobody)),
        }
    }

    /// A request that names a prompt at a place of its parameters.
    async fn prompt(self, message: Message, name: String, path: &'static [&'static str]) -> Done {
        let mut known = self.side.prompt(&name);
        if known.is_none() && self.side.may_list_prompts() {
            let params = asking(&message).await;
            let is_needed = || self.side.may_list_prompts();
            let fetch = self.prompts(params.as_ref(), false);
            self.side.naming.take(is_needed, fetch).await;
            known = self.side.prompt(&name);
        }
        let owner = known.and_then(|(server, own)| Some((self.side.link(server)?, own)));
        let Some((link, own)) = owner else {
            if self.client.gateway.config().unlisted == Unlisted::AskAll {
                return self.in_turn(message).await;
            }
            let error = "unknown prompt: no server lists it";
            return Err(RpcError::new(code::INVALID_PARAMS, error).into());
        };
        let message = if own == name {
            message
        } else {
            let params = message.params().unwrap_or_default();
            let named = move |params: &Bytes| {
                let quoted = crossfeed_json::quoted(&own);
                read::replaced(params, path, quoted.as_bytes())
            };
            message.with_body(read_apart(&params, named).await)
        };
        self.forward(link, message).await
    }

    /// Asks one server after the other, until one knows the answer.
    pub(super) async fn in_turn(self, message: Message) -> Done {
        let (link, answer) = self.first_that_knows(message).await?;
        answer
            .map(Some)
            .map_err(|failure| Stop::Failed(link, failure))
    }

    /// The first answer that is none of "unknown"; else the first error.
    pub(super) async fn first_that_knows(
        &self,
        message: Message,
    ) -> Result<(Arc<ServerConnection>, Answer), Stop> {
        some_settled(&self.side).await;
        let mut first: Option<(Arc<ServerConnection>, Answer)> = None;
        for link in &self.side.links {
            if !link.is_open() {
                continue;
            }
            let message = message.clone();
            let asking = async { link.pass(Some(self.serial), message).await.await };
            // The next one is asked whether this one answers or not.
            let until = Instant::now() + START_GRACE;
            let answer = self.in_time(link, Some(until), asking).await;
            if answer.is_ok() {
                return Ok((Arc::clone(link), answer));
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
        first.ok_or_else(|| self.nobody())
    }

    /// No server is there to answer.
    pub(super) fn nobody(&self) -> Stop {
        let mut links = self.side.links.iter();
        let down = links.find_map(|link| Some(fault::rpc(&link.name, &link.refusal()?)));
        let error = down.unwrap_or_else(|| RpcError::new(code::INTERNAL, "no server is there yet"));
        Stop::Refused(error)
    }

    /// Whether clients are to use the stateless era.
    async fn offers_stateless(&self) -> bool {
        let gateway = &self.client.gateway;
        if gateway.config().eras == Eras::All || self.side.links.is_empty() {
            return true;
        }
        let eras = &gateway.eras;
        let speaks = self.side.speaks_stateless(eras);
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
    async fn discover(self, message: Message) -> Done {
        if !self.offers_stateless().await {
            self.client.leave_stateless(self.serial, &self.side);
            return Err(not_offered().into());
        }
        let meta = message.param(Param::Meta);
        let reader = self.side.tools.reader(meta.as_ref())?;
        let guidance = self.side.tools.guidance_for(&reader);
        if let Some(link) = self.side.only() {
            let answer = link.pass(Some(self.serial), message).await.await;
            let result = answer.map_err(Stop::of(link))?;
            return Ok(Some(initialize::of_one(&result, &guidance)));
        }
        // Who asks this finds out the era, and does not wait for long.
        let _ = tokio::time::timeout(DISCOVER_TIMEOUT, some_settled(&self.side)).await;
        Ok(Some(initialize::of_several(&self.side, &guidance)))
    }
}

pub(super) fn unknown_method() -> Stop {
    let error = "it is not known which server has this method";
    RpcError::new(code::METHOD_NOT_FOUND, error).into()
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
