//! Calls that a server makes tasks of: the session follows the task, and answers the call with its result.
//!
//! Every call tells a server with tasks that they can be followed. A call is never sent twice to find out: a tool may have
//! run before it answered with an error.

use super::{CallState, Intent, Session, input::Round};
use crate::{
    bridge::{
        driver::{Action, FIRST},
        members::{self, EMPTY},
    },
    message::{Id, Message, RpcError},
    protocol::{code, meta, method},
};
use bytes::Bytes;
use std::time::Duration;

/// The interval of asking about a task, if the server names none; and the limits of what it may name.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// A task that a call became.
pub(super) struct Task {
    /// Its id, as JSON.
    pub(super) id: Bytes,
    /// The request about it without an answer.
    pub(super) asked: Option<u64>,
}

impl Session {
    /// Parameters that say that the client can follow tasks.
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
    pub(super) fn task_made(&mut self, call: u64, result: &Bytes) {
        let Some(id) = members::get(result, &["taskId"]) else {
            return self.fail(call, "the server made a task of it without an id");
        };
        if let Some(running) = self.calls.get_mut(&call) {
            running.state = CallState::Task(Task { id, asked: None });
            self.desk.act(Action::Wake(interval(result), call));
        }
    }

    /// Asks how a task is.
    pub(super) fn ask_about_task(&mut self, call: u64) {
        self.send_about_task(call, method::GET_TASK, None);
    }

    /// Sends a task the input that it wanted.
    pub(super) fn update_task(&mut self, call: u64, task: Bytes, responses: &Bytes) {
        if let Some(running) = self.calls.get_mut(&call) {
            running.state = CallState::Task(Task {
                id: task,
                asked: None,
            });
        }
        self.send_about_task(call, method::UPDATE_TASK, Some(responses));
    }

    fn send_about_task(&mut self, call: u64, method: &str, responses: Option<&Bytes>) {
        let state = self.calls.get(&call).map(|call| &call.state);
        let Some(CallState::Task(Task { id, asked: None })) = state else {
            return;
        };
        let mut params: Vec<(&str, &[u8])> = vec![("taskId", id)];
        params.extend(responses.map(|responses| ("inputResponses", &responses[..])));
        let params = self.task_params(&params);
        let sent = Intent::Task(call);
        let asked = params.map(|params| self.desk.ask(FIRST, method, &params, sent));
        if let Some(CallState::Task(task)) = self.calls.get_mut(&call).map(|call| &mut call.state) {
            task.asked = asked;
        }
    }

    fn task_params(&self, params: &[(&str, &[u8])]) -> Option<Bytes> {
        let params = self.with_meta(Some(&members::object(params)), false)?;
        self.with_tasks(&params)
    }

    /// The server answered a request about a task.
    pub(super) fn task_told(&mut self, call: u64, message: Message) {
        let Some(CallState::Task(task)) = self.calls.get_mut(&call).map(|call| &mut call.state)
        else {
            return;
        };
        task.asked = None;
        let task = task.id.clone();
        let Some(result) = message.result() else {
            return self.end(call, |client| message.with_id(client));
        };
        let status = members::get_text(&result, &["status"]);
        match status.as_deref() {
            Some("completed") => {
                let outcome = members::get(&result, &["result"]).unwrap_or(EMPTY.clone());
                let outcome = members::without(&outcome, &["resultType"], &[]);
                self.end(call, |client| Message::response(&client, &outcome));
            }
            Some("failed") => self.end(call, |client| {
                let failed = RpcError::new(code::INTERNAL, "the task failed");
                let error = members::get(&result, &["error"]).unwrap_or_else(|| failed.to_bytes());
                Message::failure(Some(&client), &failed).with_body(error)
            }),
            Some("cancelled") => self.fail(call, "the task was cancelled"),
            Some("input_required") => self.task_asks(call, task, &result),
            _ => self.desk.act(Action::Wake(interval(&result), call)),
        }
    }

    /// A task wants input. Its earlier requests are not sent again: it may repeat them until it has read the answer.
    fn task_asks(&mut self, call: u64, task: Bytes, result: &Bytes) {
        let asks = members::get(result, &["inputRequests"]).unwrap_or_default();
        let asked = self.read_asks(asks);
        let Some(running) = self.calls.get_mut(&call) else {
            return;
        };
        let begun = asked.and_then(|mut asked| {
            asked.retain(|(key, _, _)| running.task_asked.insert(key.clone()));
            if !asked.is_empty() {
                running.begin_round()?;
            }
            Ok(asked)
        });
        match begun {
            Ok(asked) if asked.is_empty() => self.desk.act(Action::Wake(interval(result), call)),
            Ok(asked) => self.ask_client(
                call,
                asked,
                Round {
                    task: Some(task),
                    ..Round::default()
                },
            ),
            Err(reason) => {
                self.fail(call, &reason);
                self.cancel_task(&task);
            }
        }
    }

    /// Cancels a task that is no longer needed.
    pub(super) fn cancel_task(&mut self, task: &Bytes) {
        // The answer is not needed, and may never come.
        if let Some(params) = self.task_params(&[("taskId", task)]) {
            let id = Id::number(self.desk.number());
            let request = Message::request(&id, method::CANCEL_TASK, Some(&params));
            self.desk.send(FIRST, request);
        }
    }
}

/// When to ask again.
fn interval(task: &Bytes) -> Duration {
    let interval = members::get_number(task, &["pollIntervalMs"]);
    interval
        .map_or(POLL_INTERVAL, Duration::from_millis)
        .clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
}
