//! Responses that end after each of their bytes: every call must still end, and say that it may have run.

use std::sync::Arc;

use futures_util::future::join_all;

use crate::client::http::{Http, Manner};
use crate::history::Outcome;

/// How many calls are made at once, each cut at another byte.
const AT_ONCE: u64 = 8;
/// Where the response was whole for this many bytes in a row, it does not get any longer.
const WHOLE: u64 = 24;
/// No response of these calls is longer.
const MAX_LENGTH: u64 = 4_096;

/// Cuts the responses of each server, plain and streamed, at every `step`th byte from `first` on.
pub(crate) async fn cut_responses(clients: &[Arc<Http>], servers: &[&str], first: u64, step: u64) {
    for client in clients {
        for server in servers {
            for progress in [0, 2] {
                cut_one(client, server, progress, first, step).await;
            }
        }
    }
}

async fn cut_one(client: &Http, server: &str, progress: u64, first: u64, step: u64) {
    let mut whole = 0;
    let mut next = first;
    while next < MAX_LENGTH && whole < WHOLE {
        let offsets: Vec<u64> = (0..AT_ONCE).map(|index| next + index * step).collect();
        let questions = offsets.iter().filter_map(|bytes| {
            let question = client.client.question_to(server)?;
            Some(question.with_progress(progress).with_cut(*bytes))
        });
        let questions: Vec<_> = questions.collect();
        if questions.is_empty() {
            return;
        }
        let calls = questions.iter().map(|one| client.call(one, Manner::Waits));
        for outcome in join_all(calls).await {
            client.client.shared.count("responses cut at a byte");
            if matches!(outcome, Outcome::Answered { .. }) {
                whole += step;
            } else {
                whole = 0;
            }
        }
        next += AT_ONCE * step;
    }
}
