//! Posts one message, and reads what follows: of a request its answer, after everything else on its stream.
//!
//! A stream that breaks is resumed where the server gave it ids.

use super::{
    body,
    connection::{self, HttpConnection},
    session::{self, Refusal},
    sse::{Block, Data, Decoder},
    wire::rejected,
};
use crate::{
    message::{Header, Id, Kind, Message},
    upstream::UpstreamError,
};
use reqwest::{Response, StatusCode};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};

/// How long to wait before a stream is resumed whose server does not say.
const RESUME_AFTER: Duration = Duration::from_secs(1);
/// The shortest such wait: a server that asks for none is not asked without a pause.
const MIN_RESUME_AFTER: Duration = Duration::from_millis(10);
/// The longest: a server that says more does not mean it.
const MAX_RESUME_AFTER: Duration = Duration::from_secs(3600);
/// How often a stream is resumed without anything coming.
const MAX_ATTEMPTS: usize = 5;
/// How long the end of a stream may follow its answer: read to its end, its connection can be used again.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);

/// Posts a request and waits for its answer.
pub(super) async fn run(
    link: Arc<HttpConnection>,
    message: Message,
    headers: Vec<Header>,
    sent: Arc<Notify>,
) {
    let Some(id) = message.id().cloned() else {
        return;
    };
    let since = Instant::now();
    let posted = link.post(&message, &headers, &sent).await;
    // It may have failed before there was anything to write.
    sent.notify_one();
    let answered = match posted {
        Ok(response) if response.status().is_success() => {
            // What the server has taken is not sent again.
            drop((message, headers));
            let answered = answer(&link, &id, response).await;
            answered.map_err(UpstreamError::after_sending)
        }
        Ok(response) => refused(&link, &id, response, (message, headers), since).await,
        Err(error) => Err(error),
    };
    if let Err(error) = answered {
        link.fail(&id, error).await;
    }
}

/// Posts a message that has no answer.
pub(super) async fn tell(
    link: Arc<HttpConnection>,
    message: Message,
    headers: Vec<Header>,
    sent: Arc<Notify>,
) {
    let had_session = link.has_session();
    match link.post(&message, &headers, &sent).await {
        Ok(response) if response.status().is_success() => {}
        // It may be the message that is not known, and not the session.
        Ok(response) if connection::is_over(response.status(), had_session) => {
            session::ask(&link).await
        }
        Ok(response) => {
            let (server, status) = (&*link.server, response.status().as_u16());
            tracing::warn!(
                server,
                status,
                method = message.method(),
                "refused a message"
            );
        }
        Err(error) => {
            let server = &*link.server;
            tracing::warn!(server, %error, method = message.method(), "could not send a message");
        }
    }
}

async fn answer(
    link: &Arc<HttpConnection>,
    id: &Id,
    response: Response,
) -> Result<(), UpstreamError> {
    let status = response.status();
    if connection::is_stream(&response) {
        return stream(link, id, response).await;
    }
    if !connection::is_json(&response) {
        let reason = format!("HTTP {} without a message", status.as_u16());
        return Err(UpstreamError::Invalid(reason));
    }
    let text = body::whole(response, link.limit, &link.account).await?;
    let message = Message::read(text).await;
    let message = message.map_err(|error| UpstreamError::Invalid(error.to_string()))?;
    if !link.deliver(message, Some(id)).await {
        let reason = "what it answered is not the answer".to_owned();
        return Err(UpstreamError::Invalid(reason));
    }
    Ok(())
}

/// A status that says no, which may have an error of JSON-RPC with it.
async fn refused(
    link: &Arc<HttpConnection>,
    id: &Id,
    response: Response,
    (message, headers): (Message, Vec<Header>),
    since: Instant,
) -> Result<(), UpstreamError> {
    let status = response.status();
    match Refusal::read(link, id, response).await {
        Refusal::Error { error, is_doubt } => {
            drop((message, headers));
            link.deliver(with_id(*error, id), Some(id)).await;
            if is_doubt {
                session::ask(link).await;
            }
        }
        Refusal::Status => return Err(plain(status).after_sending()),
        // Of others that run nothing is known.
        Refusal::Session => {
            link.give_back(message, headers).await;
            session::end(link, since);
        }
        Refusal::Cut => {
            let error = UpstreamError::SessionOver.after_sending();
            link.fail(id, error).await;
            session::end(link, since);
        }
    }
    Ok(())
}

/// What a status says without an error of JSON-RPC. Only who asks, or asks too often, is refused for
/// certain before anything is done.
fn plain(status: StatusCode) -> UpstreamError {
    let error = if status.is_client_error() {
        rejected(status, "no reason is given")
    } else {
        UpstreamError::Unreachable(format!("HTTP {}", status.as_u16()))
    };
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => error,
        _ => error.after_taking(),
    }
}

/// The error with the id of the request that it is about, which it may not name.
fn with_id(error: Message, id: &Id) -> Message {
    if error.id().is_some() {
        return error;
    }
    Message::made(Kind::Error, Some(id), None, error.error().as_ref())
}

/// Where a stream is to be resumed, and when.
pub(super) struct Resume {
    pub(super) behind: Option<String>,
    pub(super) wait: Duration,
}

impl Default for Resume {
    fn default() -> Self {
        Self {
            behind: None,
            wait: RESUME_AFTER,
        }
    }
}

impl Resume {
    /// What a block says of it, and its data if it is a message's.
    fn take(&mut self, block: Block) -> Option<Data> {
        if let Some(id) = block.id {
            self.behind = Some(id).filter(|id| !id.is_empty());
        }
        if let Some(wait) = block.retry {
            self.wait = wait.clamp(MIN_RESUME_AFTER, MAX_RESUME_AFTER);
        }
        let is_message = block
            .event
            .is_none_or(|event| matches!(&*event, "" | "message"));
        // A block without text gives an id and nothing else.
        block.data.filter(|data| {
            is_message && !matches!(data, Data::Whole(text) if text.trim_ascii().is_empty())
        })
    }
}

/// Reads a stream to its end or, if it is that of a request, to its answer. Whether that came.
pub(super) async fn read(
    link: &Arc<HttpConnection>,
    response: &mut Response,
    decoder: &mut Decoder,
    resume: &mut Resume,
    related: Option<&Id>,
) -> (bool, usize) {
    let mut blocks = 0;
    loop {
        while let Some(block) = decoder.next_block() {
            blocks += 1;
            let Some(data) = resume.take(block) else {
                continue;
            };
            if link.data(data, related).await {
                return (true, blocks);
            }
        }
        match response.chunk().await {
            Ok(Some(chunk)) => {
                decoder.make_room(chunk.len()).await;
                decoder.feed(chunk);
            }
            Ok(None) => return (false, blocks),
            Err(error) => {
                let server = &*link.server;
                let cause = super::wire::cause(&error);
                tracing::debug!(server, cause, "a stream was cut off");
                return (false, blocks);
            }
        }
    }
}

/// The stream of a request, resumed where it breaks before the answer.
async fn stream(
    link: &Arc<HttpConnection>,
    id: &Id,
    mut response: Response,
) -> Result<(), UpstreamError> {
    let mut resume = Resume::default();
    let mut attempts = 0;
    loop {
        let mut decoder = Decoder::new(link.limit).charging(&link.account);
        let (is_answered, blocks) =
            read(link, &mut response, &mut decoder, &mut resume, Some(id)).await;
        if is_answered {
            let rest = read(link, &mut response, &mut decoder, &mut resume, Some(id));
            drop(timeout(LINGER_TIMEOUT, rest).await);
            return Ok(());
        }
        if blocks > 0 {
            attempts = 0;
        }
        response = loop {
            let ended = |reason: &str| Err(UpstreamError::Ended(reason.to_owned()));
            let Some(behind) = resume.behind.as_deref() else {
                return ended("its stream ended before the answer");
            };
            if attempts == MAX_ATTEMPTS {
                return ended("its stream cannot be resumed");
            }
            attempts += 1;
            sleep(resume.wait).await;
            match link.get(Some(behind)).await {
                Ok(response)
                    if connection::is_stream(&response) && response.status().is_success() =>
                {
                    break response;
                }
                Ok(response) if !response.status().is_server_error() => {
                    let status = response.status();
                    let reason = format!(
                        "its stream ended before the answer and cannot be resumed: HTTP {}",
                        status.as_u16()
                    );
                    let error = UpstreamError::Ended(reason);
                    if connection::is_over(status, link.has_session()) {
                        link.fail(id, error.after_sending()).await;
                        session::ask(link).await;
                        return Ok(());
                    }
                    return Err(error);
                }
                Ok(_)
                | Err(UpstreamError::Unreachable(_) | UpstreamError::OutcomeUnknown { .. }) => {}
                Err(error) => return Err(error.after_taking()),
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_person_helps_where_a_status_says_no() {
        for status in [StatusCode::BAD_REQUEST, StatusCode::NOT_FOUND] {
            let error = plain(status).before_sending();
            assert!(matches!(error, UpstreamError::Rejected(_)), "{error}");
        }
    }

    #[test]
    fn what_has_no_type_of_its_own_is_a_message() {
        #[track_caller]
        fn check(event: Option<&str>, is_message: bool) {
            let block = Block {
                event: event.map(str::to_owned),
                data: Some(Data::Whole("{}".into())),
                ..Block::default()
            };
            assert_eq!(Resume::default().take(block).is_some(), is_message);
        }
        check(None, true);
        check(Some(""), true);
        check(Some("message"), true);
        check(Some("endpoint"), false);
    }

    #[test]
    fn a_server_says_when_within_reason() {
        #[track_caller]
        fn check(said: Duration, expected: Duration) {
            let mut resume = Resume::default();
            resume.take(Block {
                id: None,
                retry: Some(said),
                event: None,
                data: None,
            });
            assert_eq!(resume.wait, expected);
        }
        check(Duration::ZERO, MIN_RESUME_AFTER);
        check(Duration::from_millis(20), Duration::from_millis(20));
        check(Duration::MAX, MAX_RESUME_AFTER);
    }
}
