//! The stream of a session that belongs to no request: the server's own requests and notifications, until the connection
//! ends. A server need not have such a stream.

use super::{
    connection::{self, HttpConnection},
    exchange::{Resume, read},
    session,
    sse::Decoder,
};
use crate::upstream::{Backoff, UpstreamError};
use reqwest::StatusCode;
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

/// Reads the stream, and asks for it again where it ends.
pub(super) async fn run(link: Arc<HttpConnection>) {
    let mut resume = Resume::default();
    let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
    loop {
        let answer = link.get(resume.behind.as_deref()).await;
        if let Ok(response) = &answer
            && connection::is_over(response.status(), link.has_session())
        {
            // Or it has no such stream, and says so in another way.
            session::ask(&link).await;
            if link.over.borrow().is_some() {
                return;
            }
        }
        let wait = match answer {
            Ok(mut response)
                if response.status().is_success() && connection::is_stream(&response) =>
            {
                let mut decoder = Decoder::new(link.limit).charging(&link.account);
                let (_, blocks) = read(&link, &mut response, &mut decoder, &mut resume, None).await;
                if blocks > 0 {
                    backoff.reset();
                    resume.wait
                } else {
                    backoff.next_wait().max(resume.wait)
                }
            }
            Ok(response) if is_passing(response.status()) => backoff.next_wait(),
            // It does not know the event any more: what comes from here on is still to be had.
            Ok(response) if is_of_event(response.status()) && resume.behind.take().is_some() => {
                backoff.next_wait()
            }
            // 405: it has no such stream. Whatever else it says, it says again.
            Ok(response) => {
                let (server, status) = (&*link.server, response.status().as_u16());
                tracing::debug!(server, status, "no stream beside those of requests");
                return;
            }
            Err(UpstreamError::Unreachable(_)) => backoff.next_wait(),
            Err(error) => {
                tracing::debug!(server = &*link.server, %error, "no stream beside those of requests");
                return;
            }
        };
        sleep(wait).await;
    }
}

/// Whether a refusal may be about the event behind which the stream was to go on.
fn is_of_event(status: StatusCode) -> bool {
    status.is_client_error() && status != StatusCode::METHOD_NOT_ALLOWED
}

fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() && status != StatusCode::NOT_IMPLEMENTED
        || status == StatusCode::TOO_MANY_REQUESTS
}
