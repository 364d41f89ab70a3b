//! A server asked for what it is and which tools it has, once.
//!
//! Connects to a server, lists its tools, and says why that is not possible.

use bytes::Bytes;
use crossfeed::ErrorCode;
use crossfeed_gateway::{
    Revision,
    bridge::StatefulBridge,
    config::{Limits, ServerConfig},
    message::{Id, Kind, Message, RpcError},
    protocol::code,
    upstream::{Connector, Event, Upstream, UpstreamError},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc,
    time::{Instant, timeout, timeout_at},
};

/// How many pages a list may have.
const PAGES: usize = 1000;
/// How long a connection may take to close.
const CLOSING: Duration = Duration::from_secs(5);

/// What a server says of itself.
pub(super) struct Probed {
    /// Its name and version, as it gives them.
    pub(super) says: String,
    /// The revision that is spoken with it.
    pub(super) revision: String,
    /// Its `tools/list` results.
    pub(super) pages: Vec<Bytes>,
}

/// Why a server does not say what it is.
pub(super) struct Unanswered {
    pub(super) code: ErrorCode,
    pub(super) why: String,
}

impl From<UpstreamError> for Unanswered {
    fn from(error: UpstreamError) -> Self {
        Self {
            code: error.code(),
            why: error.to_string(),
        }
    }
}

enum Refusal {
    /// It answered, with an error.
    Answered(String),
    Unanswered(Unanswered),
}

impl From<UpstreamError> for Refusal {
    fn from(error: UpstreamError) -> Self {
        Self::Unanswered(error.into())
    }
}

impl From<Refusal> for Unanswered {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unanswered(unanswered) => unanswered,
            Refusal::Answered(why) => Self {
                code: ErrorCode::UpstreamInvalid,
                why,
            },
        }
    }
}

/// How long all of it may take.
#[derive(Clone, Copy)]
struct Deadline {
    at: Instant,
    time: Duration,
}

impl Deadline {
    fn after(time: Duration) -> Self {
        Self {
            at: Instant::now() + time,
            time,
        }
    }

    /// What comes in time, or that it did not.
    async fn keep<T>(self, work: impl Future<Output = T>) -> Result<T, UpstreamError> {
        let late = |_| UpstreamError::TimedOut { after: self.time };
        timeout_at(self.at, work).await.map_err(late)
    }
}

/// Asks a server; one without sessions is asked as such when it refuses one.
pub(super) async fn probe(
    connector: Arc<dyn Connector>,
    server: &ServerConfig,
    limits: &Limits,
) -> Result<Probed, Unanswered> {
    let deadline = Deadline::after(server.timeout.unwrap_or(limits.start_timeout));
    let bytes = limits.message_bytes;
    match begin(Arc::clone(&connector), deadline).await {
        Ok((talk, begun)) => finish(talk, begun, bytes, "").await,
        Err(Refusal::Unanswered(unanswered)) => Err(unanswered),
        Err(refused) => {
            let bridged = Arc::new(StatefulBridge { server: connector });
            // Where both are refused, what it said to `initialize` is what is wrong with it.
            let (talk, begun) = begin(bridged, deadline).await.map_err(|_| refused)?;
            finish(talk, begun, bytes, ", without sessions").await
        }
    }
}

async fn begin(
    connector: Arc<dyn Connector>,
    deadline: Deadline,
) -> Result<(Talk, Value), Refusal> {
    let (sender, events) = mpsc::channel(64);
    let connected = deadline.keep(connector.connect(sender)).await?;
    let mut talk = Talk {
        upstream: connected?,
        events,
        asked: 0,
        deadline,
    };
    let hello = json!({
        "protocolVersion": Revision::V2025_11_25.as_str(),
        "capabilities": {},
        "clientInfo": {"name": "crossfeed-check", "version": env!("CARGO_PKG_VERSION")},
    });
    match talk.ask("initialize", &hello).await {
        Ok(begun) => Ok((talk, parsed(&begun))),
        Err(refusal) => {
            talk.close().await;
            Err(refusal)
        }
    }
}

async fn finish(
    mut talk: Talk,
    begun: Value,
    bytes: usize,
    how: &str,
) -> Result<Probed, Unanswered> {
    let pages = talk.pages(&begun, bytes).await;
    talk.close().await;
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let info = &begun["serverInfo"];
    Ok(Probed {
        says: format!("{} {}", text(&info["name"]), text(&info["version"])),
        revision: format!("{}{how}", text(&begun["protocolVersion"])),
        pages: pages?,
    })
}

/// A conversation with a server.
struct Talk {
    upstream: Arc<dyn Upstream>,
    events: mpsc::Receiver<Event>,
    asked: u64,
    deadline: Deadline,
}

impl Talk {
    /// The pages of its list, which may have so many bytes together.
    async fn pages(&mut self, begun: &Value, bytes: usize) -> Result<Vec<Bytes>, Unanswered> {
        let agreed = begun["protocolVersion"].as_str();
        if let Some(revision) = agreed.and_then(Revision::parse) {
            self.upstream.speak(revision);
        }
        let initialized = Message::notification("notifications/initialized", None);
        let sent = self.upstream.send(initialized, &[]);
        self.deadline.keep(sent).await??;
        let mut pages = Vec::new();
        let mut params = json!({});
        let mut left = bytes;
        loop {
            let page = match self.ask("tools/list", &params).await {
                // It says that it has none.
                Err(Refusal::Answered(_)) if begun["capabilities"]["tools"].is_null() => break,
                page => page?,
            };
            let mut list = parsed(&page);
            if !list["tools"].is_array() {
                return Err(Unanswered {
                    code: ErrorCode::UpstreamInvalid,
                    why: "its answer to `tools/list` has no list `tools`".to_owned(),
                });
            }
            let next = list["nextCursor"].take();
            let fits = left.checked_sub(page.len());
            pages.push(page);
            if !next.is_string() {
                break;
            }
            left = match fits {
                Some(left) if pages.len() < PAGES => left,
                _ => {
                    return Err(Unanswered {
                        code: ErrorCode::UpstreamInvalid,
                        why: "its list of tools has no end".to_owned(),
                    });
                }
            };
            params = json!({ "cursor": next });
        }
        Ok(pages)
    }

    /// The result of a request.
    async fn ask(&mut self, method: &str, params: &Value) -> Result<Bytes, Refusal> {
        self.asked += 1;
        let id = Id::number(self.asked);
        let params = Bytes::from(params.to_string());
        let request = Message::request(&id, method, Some(&params));
        let deadline = self.deadline;
        let answered = async {
            self.upstream.send(request, &[]).await?;
            loop {
                let Some(event) = self.events.recv().await else {
                    let reason = "the connection is over".to_owned();
                    return Err(UpstreamError::Ended(reason).into());
                };
                match event {
                    Event::Message { message, .. } => match self.read(&id, &message).await? {
                        Some(result) => return Ok(result),
                        None => continue,
                    },
                    Event::Failed { id: failed, error } if failed == id => {
                        return Err(error.into());
                    }
                    Event::Closed(error) => return Err(error.into()),
                    _ => {}
                }
            }
        };
        deadline.keep(answered).await?
    }

    /// The result, if the message is the answer. What the server asks is answered: it may wait for that.
    async fn read(&self, id: &Id, message: &Message) -> Result<Option<Bytes>, Refusal> {
        match (message.kind(), message.id()) {
            (Kind::Request, Some(asked)) => {
                let answer = match message.method() {
                    Some("ping") => Message::response(asked, &Bytes::from_static(b"{}")),
                    _ => {
                        let error = RpcError::new(code::METHOD_NOT_FOUND, "this is a check");
                        Message::failure(Some(asked), &error)
                    }
                };
                self.upstream.send(answer, &[]).await?;
                Ok(None)
            }
            (_, Some(answered)) if answered == id => match (message.result(), message.error()) {
                (Some(result), _) => Ok(Some(result)),
                (None, error) => {
                    let error = error.map(|error| parsed(&error)).unwrap_or_default();
                    let says = error["message"].as_str().unwrap_or("an error");
                    let says: String = says.chars().take(500).collect();
                    Err(Refusal::Answered(format!("the server answered: {says:?}")))
                }
            },
            _ => Ok(None),
        }
    }

    async fn close(self) {
        // A connection might wait for its events to be read.
        drop(self.events);
        if timeout(CLOSING, self.upstream.close()).await.is_err() {
            tracing::warn!("a server did not stop in time");
        }
    }
}

fn parsed(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}
