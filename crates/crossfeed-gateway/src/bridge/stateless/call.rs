//! Requests that are passed on to the server, and their answers.

use super::{Asker, Intent, Sessions, input::Ask, session::ClientRequest};
use crate::{
    bridge::{
        desk::Desk,
        driver::{Action, ConnectionId, Outgoing},
        members,
    },
    budget::UNCHARGED,
    message::{Header, Id, Message, Token},
    protocol::{self, code, meta, method},
    upstream::UpstreamError,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document};
use std::collections::VecDeque;
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
    as_task: TaskState,
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
enum TaskState {
    None,
    Requested,
    /// The id of the task, as JSON.
    Created(Bytes),
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
            .filter(|_| !matches!(self.as_task, TaskState::Requested))
    }

    /// The request is for a task from here on.
    fn ask_for_task(&mut self) {
        let params = self.request.0.params();
        if let Some(params) = members::with(params.as_ref(), &[("task", b"{}")], &[]) {
            self.as_task = TaskState::Requested;
            self.request.0 = self.request.0.clone().with_body(params);
        }
    }

    /// Tells the client of progress, or keeps it until the client comes again.
    pub(super) fn tell_progress(&mut self, params: Bytes, desk: &mut Desk<Intent>) {
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
            desk.tell(message, Some(client.clone()));
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
    pub(super) fn call(&mut self, id: Id, asker: Asker, message: Message, headers: &[Header]) {
        let number = self.desk.number();
        let may_ask = ASKING.contains(&message.method().unwrap_or_default());
        let Some(link) = self.in_session(&id, (asker, may_ask), ClientRequest::Call(number)) else {
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
            as_task: TaskState::None,
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
        self.by_client.insert(id, ClientRequest::Call(number));
        self.calls.insert(number, call);
        self.go_on(link, ClientRequest::Call(number));
    }

    pub(super) fn send_call(&mut self, call: u64) {
        let number = self.desk.number();
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        if let Some(name) = running
            .target
            .as_ref()
            .and_then(|target| members::get_text(target, &[]))
            && running.method == CALL
            && matches!(running.as_task, TaskState::None)
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
            self.ask_for_logs(link, level);
        }
        self.desk.sent.insert(number, (link, Intent::Call(call)));
        let request = request.with_id(Id::number(number));
        self.desk
            .act(Action::Put(link, Outgoing::Message(request, headers)));
        if may_ask {
            self.ask_what_was_held(link, call);
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

    /// Abandons a call; `notification` is the client's own.
    pub(super) fn cancel_call(&mut self, call: u64, notification: Option<&Message>) {
        let Some(running) = self.finish(call) else {
            return;
        };
        self.forget_held(running.link, &ClientRequest::Call(call));
        let Some(number) = running.number.filter(|_| running.outcome.is_none()) else {
            return;
        };
        self.give_up(&running);
        for ask in running.asks {
            self.refuse_ask(running.link, ask, "the client has cancelled the request");
        }
        if let TaskState::Created(task) = &running.as_task {
            let params = members::object(&[("taskId", task)]);
            let name = method::CANCEL_TASK;
            self.desk
                .ask(running.link, name, &params, Intent::AnswerIgnored);
        }
        self.desk.cancel(running.link, number, notification);
    }

    pub(super) fn call_answered(&mut self, call: u64, message: Message) {
        if self.is_about_task(call, &message) {
            return;
        }
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        if running.client.is_none() {
            // The client gets it when it comes again.
            running.asks.clear();
            running.outcome = Some(message);
            return;
        }
        if let Some(call) = self.finish(call) {
            if call.method == method::LIST_TOOLS {
                self.read_tasks_only(&message);
            }
            self.deliver(call, message);
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
    fn is_about_task(&mut self, number: u64, message: &Message) -> bool {
        let call = self.calls.get_mut(&number);
        let Some(call) = call.filter(|call| matches!(call.as_task, TaskState::Requested)) else {
            return false;
        };
        let result = message.result();
        let Some(task) = result.and_then(|result| members::get(&result, &["task", "taskId"]))
        else {
            return false;
        };
        let params = members::object(&[("taskId", &task)]);
        call.as_task = TaskState::Created(task);
        let (name, sent) = (method::TASK_RESULT, Intent::Call(number));
        call.number = Some(self.desk.ask(call.link, name, &params, sent));
        true
    }

    /// The server did not take a call, since it does not know the session: the call waits for another, but not
    /// for a third. Its session is about to end.
    fn waits_for_another_session(&mut self, number: u64) -> bool {
        let Some(call) = self.calls.get_mut(&number) else {
            return false;
        };
        // What was made a task has run.
        let may_wait = !call.came_back && !matches!(call.as_task, TaskState::Created(_));
        let session = self.sessions.get_mut(&call.link);
        let Some(session) = session.filter(|session| may_wait && session.is_ready()) else {
            return false;
        };
        call.came_back = true;
        call.number = None;
        // The next session asks anew, under ids that may be the same.
        call.asks.clear();
        session.held.push(ClientRequest::Call(number));
        true
    }

    pub(super) fn call_failed(&mut self, call: u64, error: UpstreamError) {
        let is_over = error == UpstreamError::SessionOver;
        if is_over && self.waits_for_another_session(call) {
            return;
        }
        let Some(call) = self.finish(call) else {
            return;
        };
        self.give_up(&call);
        // The server made a task of it, whatever became of what was asked about that.
        let error = match call.as_task {
            TaskState::Created(_) => error.after_taking(),
            // In a session that had just begun, the refusal means something else.
            _ if call.came_back && is_over => error.after_sending(),
            TaskState::None | TaskState::Requested => error,
        };
        if let Some(id) = call.client {
            self.desk.failed(id, error);
        }
    }

    /// Tells a client the answer to its call.
    pub(super) fn deliver(&mut self, call: Call, message: Message) {
        let Some(client) = call.client else {
            return;
        };
        let body = match (message.result(), message.error()) {
            (Some(result), _) => {
                let mut said: Vec<(&str, &[u8])> = vec![("resultType", br#""complete""#)];
                if KEPT.contains(&call.method.as_str()) {
                    said.push(("ttlMs", b"0"));
                    said.push(("cacheScope", br#""private""#));
                }
                members::with_absent(&result, &said)
            }
            // That there is no such resource has no code of its own in this era.
            (None, Some(error)) if call.method == method::READ_RESOURCE => {
                members::recoded(&error, code::RESOURCE_NOT_FOUND, code::INVALID_PARAMS)
            }
            _ => None,
        };
        let mut message = message.with_id(client);
        if let Some(body) = body {
            message = message.with_body(body);
        }
        self.desk.tell(message, None);
    }
}
