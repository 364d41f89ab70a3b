//! Calls that the server makes tasks of, which this client cannot follow: the session does, and answers
//! the call with what comes out.
//!
//! A server that has tasks is told with every call that they can be followed. It is not found out by
//! sending a call twice: a tool may have run before it answered with an error.

use super::{At, Sent, Session, input::Round};
use crate::{
    bridge::{
        driver::{Action, Actions, FIRST},
        members, tell,
    },
    message::{Id, Message, RpcError},
    protocol::{code, meta, method},
};
use bytes::Bytes;
use std::time::Duration;

/// How soon is asked again how a task is, where the server says nothing of it; and what it may say.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// A task that a call became.
pub(super) struct Task {
    /// Its id, as JSON.
    id: Bytes,
    /// The request about it that is not answered.
    pub(super) asked: Option<u64>,
}

impl Session {
    /// Parameters of a request, in which the client can follow tasks.
    pub(super) fn with_tasks(&self, params: &Bytes) -> Option<Bytes> {
        let capabilities = members::get(params, &["_meta", meta::CLIENT_CAPABILITIES])?;
        let extensions = members::get(&capabilities, &["extensions"]);
        let extensions = members::with(extensions.as_ref(), &[(meta::TASKS, b"{}")], &[])?;
        let capabilities = members::with(Some(&capabilities), &[("extensions", &extensions)], &[])?;
        members::with(
            Some(params),
            &[],
            &[(meta::CLIENT_CAPABILITIES, &capabilities)],
        )
    }

    /// A call became a task.
    pub(super) fn task_made(&mut self, call: u64, result: &Bytes, actions: &mut Actions) {
        let Some(id) = members::get(result, &["taskId"]) else {
            let error = RpcError::new(code::INTERNAL, "the server made a task of it without an id");
            return self.fail(call, &error, actions);
        };
        if let Some(running) = self.calls.get_mut(&call) {
            running.at = At::Task(Task { id, asked: None });
            actions.push(Action::Wake(interval(result), call));
        }
    }

    /// Asks how a task is.
    pub(super) fn ask_about_task(&mut self, call: u64, actions: &mut Actions) {
        self.send_about_task(call, method::GET_TASK, None, actions);
    }

    /// Tells a task what it asked for.
    pub(super) fn update_task(
        &mut self,
        call: u64,
        task: Bytes,
        responses: &Bytes,
        actions: &mut Actions,
    ) {
        if let Some(running) = self.calls.get_mut(&call) {
            running.at = At::Task(Task {
                id: task,
                asked: None,
            });
        }
        self.send_about_task(call, method::UPDATE_TASK, Some(responses), actions);
    }

    fn send_about_task(
        &mut self,
        call: u64,
        method: &str,
        responses: Option<&Bytes>,
        actions: &mut Actions,
    ) {
        let number = self.number();
        let Some(At::Task(task)) = self.calls.get_mut(&call).map(|call| &mut call.at) else {
            return;
        };
        if task.asked.is_some() {
            return;
        }
        task.asked = Some(number);
        let id = task.id.clone();
        let Some(request) = self.about_task(number, method, &id, responses) else {
            return;
        };
        self.sent.insert(number, Sent::Task(call));
        actions.push(Action::Send(FIRST, request, Vec::new()));
    }

    fn about_task(
        &self,
        number: u64,
        method: &str,
        task: &Bytes,
        responses: Option<&Bytes>,
    ) -> Option<Message> {
        let mut params: Vec<(&str, &[u8])> = vec![("taskId", task)];
        if let Some(responses) = responses {
            params.push(("inputResponses", responses));
        }
        let params = self.with_meta(Some(&members::object(&params)), false)?;
        let params = self.with_tasks(&params)?;
        Some(Message::request(&Id::number(number), method, Some(&params)))
    }

    /// The server said how a task is, or that it knows what it asked for.
    pub(super) fn task_told(&mut self, call: u64, message: Message, actions: &mut Actions) {
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        let At::Task(task) = &mut running.at else {
            return;
        };
        task.asked = None;
        let task = task.id.clone();
        let Some(result) = message.result() else {
            if let Some(call) = self.finish(call) {
                actions.push(tell(message.with_id(call.client), None));
            }
            return;
        };
        let status = members::get_text(&result, &["status"]);
        match status.as_deref() {
            Some("completed") => {
                let outcome = members::get(&result, &["result"]);
                let outcome = outcome.unwrap_or_else(|| Bytes::from_static(b"{}"));
                let outcome = members::without(&outcome, &["resultType"], &[]);
                if let Some(call) = self.finish(call) {
                    actions.push(tell(Message::response(&call.client, &outcome), None));
                }
            }
            Some("failed") => {
                let error = members::get(&result, &["error"]);
                let failed = RpcError::new(code::INTERNAL, "the task failed");
                if let Some(call) = self.finish(call) {
                    let message = Message::failure(Some(&call.client), &failed);
                    let message = match error {
                        Some(error) => message.with_body(error),
                        None => message,
                    };
                    actions.push(tell(message, None));
                }
            }
            Some("cancelled") => {
                let error = RpcError::new(code::INTERNAL, "the task was cancelled");
                self.fail(call, &error, actions);
            }
            Some("input_required") => self.task_asks(call, task, &result, actions),
            _ => actions.push(Action::Wake(interval(&result), call)),
        }
    }

    /// What a task has asked for before it is not asked for again: it may say so until it has read the
    /// answer.
    fn task_asks(&mut self, call: u64, task: Bytes, result: &Bytes, actions: &mut Actions) {
        let asks = members::get(result, &["inputRequests"]).unwrap_or_default();
        let asked = self.read_asks(asks);
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        let asked = asked.map_err(|reason| RpcError::new(code::INTERNAL, reason));
        let begun = asked.and_then(|mut asked| {
            asked.retain(|(key, _, _)| running.task_asked.insert(key.clone()));
            if !asked.is_empty() {
                running.begin_round()?;
            }
            Ok(asked)
        });
        match begun {
            Ok(asked) if asked.is_empty() => actions.push(Action::Wake(interval(result), call)),
            Ok(asked) => self.ask_client(call, asked, Round::of_task(task), actions),
            Err(error) => {
                self.fail(call, &error, actions);
                self.cancel_task(&task, actions);
            }
        }
    }

    /// Nobody waits for a task.
    pub(super) fn cancel_task(&mut self, task: &Bytes, actions: &mut Actions) {
        let number = self.number();
        if let Some(request) = self.about_task(number, method::CANCEL_TASK, task, None) {
            actions.push(Action::Send(FIRST, request, Vec::new()));
        }
    }
}

impl Task {
    pub(super) fn id(&self) -> &Bytes {
        &self.id
    }
}

/// When to ask again.
fn interval(task: &Bytes) -> Duration {
    let said = members::get(task, &["pollIntervalMs"]);
    let said = said.and_then(|said| std::str::from_utf8(&said).ok()?.parse().ok());
    said.map_or(POLL_INTERVAL, Duration::from_millis)
        .clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
}
