//! Tasks: a client begins them, and asks about its own and those of others.

use std::time::Instant;

use serde_json::json;

use super::http::{Http, Manner};
use super::question::Question;
use super::{MAX_KNOWN, error_code};
use crate::history::{Event, Outcome};
use crate::judge::UNKNOWN_TASK;
use crate::key::{keys, keys_of_tasks, principal, task_id};

const METHODS: [&str; 3] = ["tasks/get", "tasks/result", "tasks/cancel"];

impl Http {
    /// Makes the call as a task, and asks for what became of it.
    pub(super) async fn call_as_task(&self, question: Question) {
        let question = question.with_task();
        let outcome = self.call(&question, Manner::Waits).await;
        if !matches!(outcome, Outcome::Answered { .. }) {
            return;
        }
        self.client.shared.count("tasks begun");
        {
            let mut known = self.client.shared.known_tasks.lock();
            if known.len() >= MAX_KNOWN {
                known.swap_remove(0);
            }
            known.push(question.key.clone());
        }
        for method in METHODS {
            let begun = Instant::now();
            let code = self.ask_about_task(&question.key, method).await;
            // That server is not killed where replicas are, so that it knows the task.
            if question.server == "gamma" && code.as_deref() == Some(UNKNOWN_TASK) {
                self.tried_own_task(method, begun);
            }
        }
    }

    /// Asks for the task of another principal in every way, and for the list of all.
    pub(super) async fn ask_about_others_tasks(&self) {
        let client = &self.client;
        let foreign = {
            let known = client.shared.known_tasks.lock();
            client.seed.pick(&known).cloned()
        };
        let foreign = foreign.filter(|key| principal(key) != client.principal());
        if let Some(key) = foreign {
            for method in METHODS {
                client.shared.count("requests about another's task");
                self.ask_about_task(&key, method).await;
            }
        }
        let list = client.request(client.next_id(), "tasks/list", json!({}));
        let Ok(reply) = self.post(&list).await else {
            return;
        };
        client.shared.count("lists of tasks");
        let listed = keys_of_tasks(&reply.message.unwrap_or_default().to_string());
        for key in listed {
            if principal(&key) != client.principal() {
                client.history().add(Event::AskedAboutTask {
                    client: client.name.clone(),
                    key,
                    method: "tasks/list".to_owned(),
                    answer: Ok(Vec::new()),
                });
            }
        }
    }

    /// Asks, and gives the code of the error that answers.
    async fn ask_about_task(&self, key: &str, method: &str) -> Option<String> {
        let client = &self.client;
        let params = json!({"taskId": task_id(key)});
        let request = client.request(client.next_id(), method, params);
        let reply = self.post(&request).await.ok()?;
        let message = reply.message.filter(|_| reply.status == 200)?;
        let answer = match error_code(&message) {
            // It did not come as far as the tasks.
            Some(code) if code.starts_with("limit.") => return None,
            // Nor did this, which names no server: the replica that had the session is gone (specs/gateway-transports.md).
            Some(code)
                if self.lasting
                    && code == "upstream.outcome_unknown"
                    && message["error"]["data"]["server"].is_null() =>
            {
                return None;
            }
            Some(code) => Err(code),
            None => Ok(keys(&message.to_string()).into_iter().collect()),
        };
        client.history().add(Event::AskedAboutTask {
            client: client.name.clone(),
            key: key.to_owned(),
            method: method.to_owned(),
            answer: answer.clone(),
        });
        answer.err()
    }
}
