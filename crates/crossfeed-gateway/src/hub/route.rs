//! Which server a request is for.
//!
//! What comes in: requests of a client. What goes out: the same to the only server as they came; to the
//! one of several that has what they name; to all of them, the answers made one; or to one after the
//! other, until one knows. Deliberately not here: tools ([`super::calls`]).

use super::{
    Client, begin,
    calls::{Task, cancelled},
    fault,
    link::{Answer, Failure, Link, Waiting},
    read,
    side::Side,
};
use crate::message::{Kind, Message, RpcError, code};
use bytes::Bytes;
use std::sync::Arc;

impl Side {
    /// Takes a request of the client.
    pub(super) async fn request(
        self: &Arc<Self>,
        client: &Arc<Client>,
        serial: u64,
        message: Message,
    ) {
        let task = Task {
            client: Arc::clone(client),
            side: Arc::clone(self),
            serial,
        };
        let method = message.method().unwrap_or_default();
        match method {
            "tools/call" => client.work(serial, task.call(message)).await,
            "tools/list" => client.work(serial, task.list(message)).await,
            "tasks/get" | "tasks/result" => client.work(serial, task.task(message)).await,
            "server/discover" => client.work(serial, task.discover(message)).await,
            _ => {
                self.remember(method, &message);
                match self.only() {
                    Some(link) => {
                        link.request(Waiting::Forward { serial }, message, Vec::new())
                            .await;
                    }
                    None => client.work(serial, task.of_several(message)).await,
                }
            }
        }
    }

    /// What a server that comes back is to be told again.
    fn remember(&self, method: &str, message: &Message) {
        if !matches!(
            method,
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
        ) {
            return;
        }
        let params = message.params().unwrap_or_default();
        // Told again, nobody waits for progress.
        let params = read::raw(&params, &["_meta"])
            .map_or(params.clone(), |_| read::without_member(&params, "_meta"));
        for link in self.links() {
            let mut state = link.state();
            if method == "logging/setLevel" {
                state.level = Some(params.clone());
                continue;
            }
            if self.only().is_none() {
                continue;
            }
            if let Some(uri) = read::string(&params, &["uri"]) {
                state.subscribe(
                    uri,
                    (method == "resources/subscribe").then(|| params.clone()),
                );
            }
        }
    }
}

impl Task {
    /// A request that one of several servers is to answer, or all.
    async fn of_several(self, message: Message) {
        self.in_turn(message).await;
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
    pub(super) async fn first_that_knows(&self, message: Message) -> Option<(Arc<Link>, Answer)> {
        let mut first: Option<(Arc<Link>, Answer)> = None;
        for link in self.side.links() {
            if !link.is_open() {
                continue;
            }
            let answer = link.pass(Some(self.serial), message.clone()).await.await;
            let answer = answer.unwrap_or_else(|_| Err(cancelled()));
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
            .find_map(|link| Some((link, link.refused_because()?)));
        let error = match down {
            Some((link, error)) => fault::rpc(&link.name, &error),
            None => RpcError::new(code::INTERNAL, "no server is there yet"),
        };
        self.client.refuse(self.serial, &error).await;
    }

    /// `server/discover`: of one server its own answer, of several what they are together.
    async fn discover(self, message: Message) {
        let guidance = self.side.tools.guidance();
        if let Some(link) = self.side.only().cloned() {
            let answer = link.pass(Some(self.serial), message).await.await;
            match answer.unwrap_or_else(|_| Err(cancelled())) {
                Ok(result) => {
                    let result = begin::of_one(&result, &guidance);
                    self.client.respond(self.serial, &result).await;
                }
                Err(failure) => self.fail(&link, failure).await,
            }
            return;
        }
        begin::some_settled(&self.side).await;
        let abouts = begin::abouts(&self.side);
        let result = begin::of_all(&abouts, &guidance, self.side.revision);
        self.client.respond(self.serial, &result).await;
    }
}

fn is_unknown_method(message: &Message) -> bool {
    message.kind() == Kind::Error
        && message
            .error()
            .and_then(|error| read::raw(&error, &["code"]))
            == Some(Bytes::from(code::METHOD_NOT_FOUND.to_string()))
}
