//! What a client over standard input and output does from its coming to its going.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::stdio::Lines;
use super::{Client, Era};
use crate::gateway::Gateway;
use crate::seed::Seed;

/// The most rounds of calls of one connection.
const ROUNDS: u64 = 12;

/// What a client needs to start a gateway.
pub(crate) struct Local {
    pub(crate) client: Arc<Client>,
    pub(crate) program: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) configuration: Value,
}

impl Local {
    /// Lives until `end`, gateway after gateway.
    pub(crate) async fn live(self, end: Instant) {
        let mut number = 0;
        while Instant::now() < end {
            number += 1;
            let name = format!("{}-{number}", self.client.name);
            let begun = Gateway::start(&self.program, &self.folder, &name, &self.configuration);
            let Ok(mut gateway) = begun else {
                sleep(Duration::from_secs(1)).await;
                continue;
            };
            let Some((input, output)) = gateway.pipes() else {
                continue;
            };
            self.client.begin_session();
            let lines = Arc::new(Lines::new(Arc::clone(&self.client), input));
            let reader = tokio::spawn(Arc::clone(&lines).read(output));
            self.client.shared.count("gateways over stdio");
            self.one_connection(&lines, end).await;
            lines.close().await;
            gateway.wait(self.client.history()).await;
            let _ = reader.await;
        }
    }

    async fn one_connection(&self, lines: &Lines, end: Instant) {
        let client = &self.client;
        if client.era == Era::Session {
            if lines
                .ask(&client.initialize(client.next_id()))
                .await
                .is_none()
            {
                return;
            }
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            lines.send(&ready).await;
        }
        for _ in 0..1 + client.seed.below(ROUNDS) {
            if Instant::now() >= end {
                return;
            }
            let list = client.request(client.next_id(), "tools/list", json!({}));
            if let Some(answer) = lines.ask(&list).await {
                client.learn_tools(&answer);
            }
            if !client.has_tools() {
                sleep(Duration::from_millis(300)).await;
                continue;
            }
            self.round(lines, &client.seed).await;
        }
        if client.seed.chance(30) {
            self.leave_with_calls(lines).await;
        }
    }

    /// Several calls at once, each of another kind, and notifications between them.
    async fn round(&self, lines: &Lines, seed: &Seed) {
        let client = &self.client;
        let mut calls = Vec::new();
        for _ in 0..1 + seed.below(8) {
            let Some(question) = client.question() else {
                continue;
            };
            let question = question.with_size(seed);
            let mut cancel = None;
            let question = match seed.below(10) {
                0 => question.with_progress(1 + seed.below(10)),
                1 | 2 => question.with_fault(seed),
                3 => {
                    cancel = Some(seed.below(300));
                    question.with_delay(seed.below(500))
                }
                4 => match client.own_result() {
                    Some((call_id, key)) => question.with_reference(&call_id, key),
                    None => question,
                },
                5 => match client.foreign_id() {
                    Some(call_id) => question.with_foreign(call_id),
                    None => question,
                },
                _ => question,
            };
            client.shared.count("calls over stdio");
            calls.push(lines.call(question, cancel));
        }
        let pause = seed
            .chance(15)
            .then(|| Duration::from_millis(seed.below(1500)));
        let paused = async {
            if let Some(time) = pause {
                client.shared.count("pauses of a client over stdio");
                lines.pause(time).await;
            }
        };
        let told = async {
            if client.era == Era::Session && seed.chance(60) {
                for _ in 0..1 + seed.below(5) {
                    client.shared.count("notifications");
                    lines.send(&client.notification()).await;
                }
            }
        };
        tokio::join!(join_all(calls), paused, told);
    }

    /// Makes calls and closes the connection while they run.
    async fn leave_with_calls(&self, lines: &Lines) {
        let client = &self.client;
        client
            .shared
            .count("connections over stdio closed with calls running");
        let questions = (0..3).filter_map(|_| client.question());
        let calls = questions.map(|question| lines.call(question.with_delay(300), None));
        let closes = async {
            sleep(Duration::from_millis(client.seed.below(300))).await;
            lines.close().await;
        };
        tokio::join!(join_all(calls), closes);
    }
}
