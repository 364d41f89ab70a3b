//! Requests that are passed on, and what they are answered.

use super::{Asker, Running, Sent, Sessions, cancelled, input::Ask, session::Held};
use crate::{
    bridge::{
        driver::{Action, Actions, ConnectionId},
        members, tell,
    },
    budget::UNCHARGED,
    message::{Header, Id, Message, Token},
    protocol::{self, code, meta, method},
    upstream::{Event, UpstreamError},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document};
use std::{collections::VecDeque, mem};
use tokio::time::Instant;

/// Methods whose results a client may keep: these say for how long.
const KEPT: [&str; 5] = [
    method::LIST_TOOLS,
    method::LIST_PROMPTS,
    method::LIST_RESOURCES,
    method::LIST_TEMPLATES,
    method::READ_RESOURCE,
];

const CALL: &str = method::CALL_TOOL;

/// The capability of a server that takes calls as tasks.
const TASKS: [&str; 4] = ["tasks", "requests", "tools", "call"];

/// Tools that are remembered as those that are called as tasks only.
const MAX_TASK_TOOLS: usize = 1024;

/// Progress that is kept of a call while its client does not wait.
const MAX_PROGRESS: usize = 16;

/// Methods that may ask for input.
const ASKING: [&str; 3] = [CALL, method::GET_PROMPT, method::READ_RESOURCE];

/// A request of a client.
pub(super) struct Call {
    /// The id under which the client waits; none while it is to come again.
    pub(super) client: Option<Id>,
    pub(super) link: ConnectionId,
    pub(super) method: String,
    /// What it calls: the name or the address.
    pub(super) target: Option<Bytes>,
    request: (Message, Vec<Header>),
    as_task: AsTask,
    /// The id that the server knows.
    pub(super) number: Option<u64>,
    /// The level of log messages that it asked for.
    pub(super) level: Option<usize>,
    /// The token of its progress, as the server knows it, and as the client does now.
    pub(super) token: Option<Token>,
    pub(super) token_now: Option<Bytes>,
    /// What the server asked for and was not told.
    pub(super) asks: Vec<Ask>,
    /// How many were asked for.
    pub(super) asked: u64,
    /// By what the client says which call it comes back to, and since when it may.
    pub(super) parked: Option<(String, Instant)>,
    /// The latest progress that the server told of while the client did not wait.
    pub(super) progress: VecDeque<Bytes>,
    /// What the server answered while the client did not wait.
    pub(super) outcome: Option<Message>,
    /// Whether the server did not take it once, since it did not know the session.
    came_back: bool,
}

/// Whether a call is one that the server only takes as a task, which the client cannot follow: the bridge
/// does. Its listing says so; a call is never sent a second time to find out.
enum AsTask {
    No,
    Asked,
    /// The id of the task, as JSON.
    Made(Bytes),
}

impl Call {
    /// Whether the server may ask for something within it.
    pub(super) fn may_ask(&self) -> bool {
        self.is_asking() && self.number.is_some() && self.outcome.is_none()
    }

    /// Whether it is one within which the server may ask, sent or not.
    pub(super) fn is_asking(&self) -> bool {
        ASKING.contains(&self.method.as_str())
    }

    /// The id of the request whose answer is the end of the call. One that may become a task goes on after its
    /// answer.
    pub(super) fn final_request(&self) -> Option<u64> {
        self.number
            .filter(|_| !matches!(self.as_task, AsTask::Asked))
    }

    /// The request is for a task from here on.
    fn ask_for_task(&mut self) {
        let params = self.request.0.params();
        if let Some(params) = members::with(params.as_ref(), &[("task", b"{}")], &[]) {
            self.as_task = AsTask::Asked;
            self.request.0 = self.request.0.clone().with_body(params);
        }
    }

    /// Tells the client of progress, or keeps it until the client comes again.
    pub(super) fn tell_progress(&mut self, params: Bytes, actions: &mut Actions) {
        let Some(client) = &self.client else {
            if params.len() <= UNCHARGED {
                if self.progress.len() >= MAX_PROGRESS {
                    self.progress.pop_front();
                }
                // In memory of its own: it must not keep a whole message.
                self.progress.push_back(Bytes::copy_from_slice(&params));
            }
            return;
        };
        let token = self.token_now.as_ref();
        let params = token.and_then(|token| {
            let token = [("progressToken", &token[..])];
            members::with(Some(&params), &token, &[])
        });
        if let Some(params) = params {
            let message = Message::notification(method::PROGRESS, Some(&params));
            actions.push(tell(message, Some(client.clone())));
        }
    }

    /// Tells the client of the progress that was kept for it.
    pub(super) fn tell_kept_progress(&mut self, actions: &mut Actions) {
        for params in mem::take(&mut self.progress) {
            self.tell_progress(params, actions);
        }
    }

    /// Takes over what a request says of itself each time that it comes.
    pub(super) fn came(&mut self, client: Id, params: &Bytes) {
        self.client = Some(client);
        let level = members::get_text(params, &["_meta", meta::LOG_LEVEL]);
        self.level = level.as_deref().and_then(protocol::log_level);
        self.token_now = members::get(params, &["_meta", "progressToken"]);
    }
}

/// What a request calls: only one that calls the same may come again for it.
pub(super) fn target(params: &Bytes) -> Option<Bytes> {
    members::get(params, &["name"]).or_else(|| members::get(params, &["uri"]))
}

impl Sessions {
    pub(super) fn call(
        &mut self,
        id: Id,
        asker: Asker,
        message: Message,
        headers: &[Header],
        actions: &mut Actions,
    ) {
        let number = self.number();
        let may_ask = ASKING.contains(&message.method().unwrap_or_default());
        let Some(link) = self.in_session(&id, (asker, may_ask), Held::Call(number), actions) else {
            return;
        };
        let params = message.params().unwrap_or_default();
        let said = [
            meta::PROTOCOL_VERSION,
            meta::CLIENT_CAPABILITIES,
            meta::CLIENT_INFO,
            meta::LOG_LEVEL,
        ];
        let request = message.with_body(members::without(&params, &["inputResponses"], &said));
        let mut call = Call {
            client: None,
            link,
            method: request.method().unwrap_or_default().to_owned(),
            target: target(&params),
            request: (request, headers.to_vec()),
            as_task: AsTask::No,
            number: None,
            level: None,
            token: members::get(&params, &["_meta", "progressToken"]).map(Token::new),
            token_now: None,
            asks: Vec::new(),
            asked: 0,
            parked: None,
            progress: VecDeque::new(),
            outcome: None,
            came_back: false,
        };
        call.came(id.clone(), &params);
        self.by_client.insert(id, Running::Call(number));
        self.calls.insert(number, call);
        self.go_on(link, Held::Call(number), actions);
    }

    pub(super) fn send_call(&mut self, call: u64, actions: &mut Actions) {
        let number = self.number();
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        if let Some(name) = running.target.as_ref().and_then(members::text)
            && running.method == CALL
            && matches!(running.as_task, AsTask::No)
            && self.tasks_only.contains(&name)
            && (self.sessions.get(&running.link)).is_some_and(|session| session.has(&TASKS))
        {
            running.ask_for_task();
        }
        let (request, headers) = running.request.clone();
        running.number = Some(number);
        let (link, level) = (running.link, running.level);
        let may_ask = running.may_ask();
        if let Some(level) = level {
            self.ask_for_logs(link, level, actions);
        }
        self.sent.insert(number, (link, Sent::Call(call)));
        let request = request.with_id(Id::number(number));
        actions.push(Action::Send(link, request, headers));
        if may_ask {
            self.ask_what_was_held(link, call, actions);
        }
    }

    /// Takes a call out: it is over.
    pub(super) fn finish(&mut self, call: u64) -> Option<Call> {
        let call = self.calls.remove(&call)?;
        if let Some(client) = &call.client {
            self.by_client.remove(client);
        }
        if let Some((state, _)) = &call.parked {
            self.by_state.remove(state);
        }
        if let Some(session) = self.sessions.get_mut(&call.link) {
            session.used = Instant::now();
        }
        Some(call)
    }

    /// Nobody waits for a call any longer; `notification` is what the client said.
    pub(super) fn cancel(
        &mut self,
        call: u64,
        notification: Option<&Message>,
        actions: &mut Actions,
    ) {
        let Some(running) = self.finish(call) else {
            return;
        };
        self.forget_held(running.link, Running::Call(call));
        let Some(number) = running.number.filter(|_| running.outcome.is_none()) else {
            return;
        };
        self.sent.remove(&number);
        self.give_up(&running);
        for ask in &running.asks {
            ask.refuse(
                running.link,
                "the client has cancelled the request",
                actions,
            );
        }
        let id = Id::number(number);
        let message = notification
            .and_then(|notification| {
                let params = notification.params();
                let params = members::with(params.as_ref(), &[("requestId", id.raw())], &[])?;
                Some(notification.clone().with_body(params))
            })
            .unwrap_or_else(|| cancelled(&id));
        if let AsTask::Made(task) = &running.as_task {
            let params = members::object(&[("taskId", task)]);
            let (link, name) = (running.link, method::CANCEL_TASK);
            self.ask_server(link, name, &params, Sent::Unasked, actions);
        }
        actions.push(Action::Send(running.link, message, Vec::new()));
        actions.push(Action::Abandon(running.link, id));
    }

    pub(super) fn call_answered(&mut self, call: u64, message: Message, actions: &mut Actions) {
        if self.is_about_task(call, &message, actions) {
            return;
        }
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        if running.client.is_none() {
            // It is told when it comes again.
            running.asks.clear();
            running.outcome = Some(message);
            return;
        }
        if let Some(call) = self.finish(call) {
            if call.method == method::LIST_TOOLS {
                self.read_tasks_only(&message);
            }
            deliver(call, message, actions);
        }
    }

    /// Remembers which tools are called as tasks only.
    fn read_tasks_only(&mut self, message: &Message) {
        let Some(result) = message.result() else {
            return;
        };
        let document = Document::new(result);
        let tools = document.root().ok().and_then(|root| root.get("tools"));
        for tool in tools.into_iter().flat_map(Cursor::items) {
            let support = tool.get("execution").and_then(|it| it.get("taskSupport"));
            let only = support.and_then(Cursor::as_str).as_deref() == Some("required");
            if let Some(name) = tool.get("name").and_then(Cursor::as_str) {
                if !only {
                    self.tasks_only.remove(name.as_ref());
                } else if self.tasks_only.len() < MAX_TASK_TOOLS {
                    self.tasks_only.insert(name.into_owned());
                }
            }
        }
    }

    /// Whether an answer says that a call became a task: the call goes on.
    fn is_about_task(&mut self, number: u64, message: &Message, actions: &mut Actions) -> bool {
        let Some(call) = self.calls.get_mut(&number) else {
            return false;
        };
        match (&call.as_task, message.result()) {
            (AsTask::Asked, Some(result)) => {
                let Some(task) = members::get(&result, &["task", "taskId"]) else {
                    return false;
                };
                let params = members::object(&[("taskId", &task)]);
                call.as_task = AsTask::Made(task);
                let link = call.link;
                let known = self.numbers + 1;
                call.number = Some(known);
                self.ask_server(
                    link,
                    method::TASK_RESULT,
                    &params,
                    Sent::Call(number),
                    actions,
                );
                true
            }
            _ => false,
        }
    }

    /// The server did not take a call, since it does not know the session: the call waits for another, but not
    /// for a third. Its session is about to end.
    fn waits_for_another_session(&mut self, number: u64) -> bool {
        let Some(call) = self.calls.get_mut(&number) else {
            return false;
        };
        // What was made a task has run.
        let may_wait = !call.came_back && !matches!(call.as_task, AsTask::Made(_));
        let session = self.sessions.get_mut(&call.link);
        let Some(session) = session.filter(|session| may_wait && session.is_ready()) else {
            return false;
        };
        call.came_back = true;
        call.number = None;
        // The next session asks anew, under ids that may be the same.
        call.asks.clear();
        session.hold(Held::Call(number));
        true
    }

    pub(super) fn call_failed(&mut self, call: u64, error: &UpstreamError, actions: &mut Actions) {
        if *error == UpstreamError::SessionOver && self.waits_for_another_session(call) {
            return;
        }
        let Some(call) = self.finish(call) else {
            return;
        };
        self.give_up(&call);
        // The server made a task of it, whatever became of what was asked about that.
        let error = match call.as_task {
            AsTask::Made(_) => error.clone().after_taking(),
            // In a session that had just begun, the refusal means something else.
            _ if call.came_back && *error == UpstreamError::SessionOver => {
                error.clone().after_sending()
            }
            AsTask::No | AsTask::Asked => error.clone(),
        };
        if let Some(id) = call.client {
            actions.push(Action::Tell(Event::Failed { id, error }));
        }
    }
}

/// Tells a client the answer to its call.
pub(super) fn deliver(call: Call, message: Message, actions: &mut Actions) {
    let Some(client) = call.client else {
        return;
    };
    let message = message.with_id(client);
    let body = match (message.result(), message.error()) {
        (Some(result), _) => {
            let mut said: Vec<(&str, &[u8])> = vec![("resultType", br#""complete""#)];
            if KEPT.contains(&call.method.as_str()) {
                said.push(("ttlMs", b"0"));
                said.push(("cacheScope", br#""private""#));
            }
            members::with_absent(&result, &said)
        }
        (None, Some(error)) if call.method == method::READ_RESOURCE => invalid_resource(&error),
        _ => None,
    };
    let message = match body {
        Some(body) => message.with_body(body),
        None => message,
    };
    actions.push(tell(message, None));
}

/// That there is no such resource has no code of its own in this era.
fn invalid_resource(error: &Bytes) -> Option<Bytes> {
    let code = members::get(error, &["code"])?;
    let invalid = code::INVALID_PARAMS.to_string();
    (*code == *code::RESOURCE_NOT_FOUND.to_string().as_bytes())
        .then(|| members::with(Some(error), &[("code", invalid.as_bytes())], &[]))?
}
