//! Connects to a server once, and lists its tools or says why that is not possible.

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

/// Pages of a list.
const MAX_PAGES: usize = 1000;
/// How long a connection may take to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that answered.
pub(super) struct ProbedServer {
    /// The name and version that it reports.
    pub(super) says: String,
    /// The revision of the protocol.
    pub(super) revision: String,
    /// Its `tools/list` results.
    pub(super) pages: Vec<Bytes>,
}

/// Why a probe failed.
pub(super) struct ProbeError {
    pub(super) code: ErrorCode,
    pub(super) why: String,
    /// Whether the server answered a request with an error.
    is_refusal: bool,
}

impl ProbeError {
    fn invalid(why: impl Into<String>) -> Self {
        Self {
            code: ErrorCode::UpstreamInvalid,
            why: why.into(),
            is_refusal: false,
        }
    }
}

impl From<UpstreamError> for ProbeError {
    fn from(error: UpstreamError) -> Self {
        Self {
            code: error.code(),
            why: error.to_string(),
            is_refusal: false,
        }
    }
}

/// The limit of the whole probe.
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

    /// The result of the work, or an error if it is late.
    async fn keep<T>(self, work: impl Future<Output = T>) -> Result<T, UpstreamError> {
        let late = |_| UpstreamError::TimedOut { after: self.time };
        timeout_at(self.at, work).await.map_err(late)
    }
}

/// Probes a server. One that refuses a session is probed again without sessions.
pub(super) async fn probe(
    connector: Arc<dyn Connector>,
    server: &ServerConfig,
    limits: &Limits,
) -> Result<ProbedServer, ProbeError> {
    let deadline = Deadline::after(server.timeout.unwrap_or(limits.start_timeout));
    let bytes = limits.message_bytes;
    match begin(Arc::clone(&connector), deadline).await {
        Ok((talk, begun)) => finish(talk, begun, bytes, "").await,
        Err(error) if !error.is_refusal => Err(error),
        Err(refused) => {
            let bridged = Arc::new(StatefulBridge { server: connector });
            // If it refuses both, the answer to `initialize` is the error.
            let (talk, begun) = begin(bridged, deadline).await.map_err(|_| refused)?;
            finish(talk, begun, bytes, ", without sessions").await
        }
    }
}

async fn begin(
    connector: Arc<dyn Connector>,
    deadline: Deadline,
) -> Result<(Connection, Value), ProbeError> {
    let (sender, events) = mpsc::channel(64);
    let connected = deadline.keep(connector.connect(sender)).await?;
    let mut talk = Connection {
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
    mut talk: Connection,
    begun: Value,
    bytes: usize,
    how: &str,
) -> Result<ProbedServer, ProbeError> {
    let pages = talk.pages(&begun, bytes).await;
    talk.close().await;
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let info = &begun["serverInfo"];
    Ok(ProbedServer {
        says: format!("{} {}", text(&info["name"]), text(&info["version"])),
        revision: format!("{}{how}", text(&begun["protocolVersion"])),
        pages: pages?,
    })
}

/// A connection to a server.
struct Connection {
    upstream: Arc<dyn Upstream>,
    events: mpsc::Receiver<Event>,
    asked: u64,
    deadline: Deadline,
}

impl Connection {
    /// The pages of its list, up to so many bytes together.
    async fn pages(&mut self, begun: &Value, bytes: usize) -> Result<Vec<Bytes>, ProbeError> {
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
                // It declares no tools.
                Err(error) if error.is_refusal && begun["capabilities"]["tools"].is_null() => break,
                page => page?,
            };
            let mut list = parsed(&page);
            if !list["tools"].is_array() {
                let why = "its answer to `tools/list` has no list `tools`";
                return Err(ProbeError::invalid(why));
            }
            let next = list["nextCursor"].take();
            let fits = left.checked_sub(page.len());
            pages.push(page);
            if !next.is_string() {
                break;
            }
            left = match fits {
                Some(left) if pages.len() < MAX_PAGES => left,
                _ => return Err(ProbeError::invalid("its list of tools has no end")),
            };
            params = json!({ "cursor": next });
        }
        Ok(pages)
    }

    /// The result of a request.
    async fn ask(&mut self, method: &str, params: &Value) -> Result<Bytes, ProbeError> {
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

    /// The result, if the message is the answer. Requests of the server are answered, since it may wait for that.
    async fn read(&self, id: &Id, message: &Message) -> Result<Option<Bytes>, ProbeError> {
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
                    Err(ProbeError {
                        is_refusal: true,
                        ..ProbeError::invalid(format!("the server answered: {says:?}"))
                    })
                }
            },
            _ => Ok(None),
        }
    }

    async fn close(self) {
        // A connection might wait for its events to be read.
        drop(self.events);
        if timeout(CLOSE_TIMEOUT, self.upstream.close()).await.is_err() {
            tracing::warn!("a server did not stop in time");
        }
    }
}

fn parsed(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}
