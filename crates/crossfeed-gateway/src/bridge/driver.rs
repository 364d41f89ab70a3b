//! The part that both bridges share: moves bytes, while an [`Era`] decides.
//!
//! # Invariants
//!
//! - The era decides under a lock, and its actions are queued under the same lock: the order of decisions is the order on
//!   every connection.
//! - Every message that moves holds a permit: an end that does not read makes the other wait, and never a queue grow.
//! - Requests that never left the queue fail before their connection is reported as closed.
//! - Each connection is read and written by tasks of its own: a flooding server is still written to.

use super::{
    desk::Desk,
    members::{self, EMPTY},
};
use crate::{
    Revision,
    message::{Header, Id, Kind, Message},
    protocol::method,
    upstream::{Connector, Event, Upstream, UpstreamError},
};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    pin::pin,
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// One connection to the server.
pub(super) type ConnectionId = u64;

/// The first connection of every bridge.
pub(super) const FIRST: ConnectionId = 0;

/// Messages of the client, and events of the server, on their way at once. Few: each may be as large as the limits allow.
const MAX_IN_FLIGHT: usize = 32;

/// Messages that wait for a server that does not read. Those of the client hold permits, so that only a server that keeps
/// asking without reading the answers comes near.
const MAX_UNREAD: usize = 1024;

/// How long sending the queue may take before a connection is closed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// An action of an era.
pub(super) enum Action {
    /// Queue for a connection to the server.
    Put(ConnectionId, Outgoing),
    /// Tell the client.
    Tell(Event),
    /// Open another connection; one that takes the place of another, once that is closed.
    Open(ConnectionId, Option<ConnectionId>),
    /// Close a connection.
    Close(ConnectionId),
    /// Call [`Era::on_timer`] later.
    Wake(Duration, u64),
}

/// An entry in the queue of a connection.
pub(super) enum Outgoing {
    Message(Message, Vec<Header>),
    /// The answer to this request is no longer needed.
    Abandon(Id),
    /// The revision of the connection is known.
    Speak(Revision),
}

/// The actions that a message or an event caused.
pub(super) type Actions = Vec<Action>;

/// Decides about messages between a client of one era and a server of the other.
pub(super) trait Era: Send + 'static {
    /// The intent of a request to the server.
    type Intent;

    fn desk(&mut self) -> &mut Desk<Self::Intent>;

    /// The client sent a request.
    fn requested(&mut self, id: Id, message: Message, headers: &[Header]);

    /// The client sent a notification.
    fn notified(&mut self, message: Message);

    /// The client answered a request.
    fn replied(&mut self, _message: &Message) {}

    /// The client no longer waits for an answer; `notification` is its message.
    fn cancel(&mut self, id: &Id, notification: Option<&Message>);

    /// The server answered the request of this number; without `sent`, one that is no longer needed.
    fn answered(
        &mut self,
        link: ConnectionId,
        number: u64,
        sent: Option<Self::Intent>,
        message: Message,
    );

    /// The server sent a request.
    fn asked(&mut self, link: ConnectionId, id: &Id, message: &Message, related: Option<&Id>);

    /// The server sent a notification.
    fn noticed(&mut self, link: ConnectionId, message: Message, related: Option<&Id>);

    /// The request of this number failed.
    fn failed(&mut self, link: ConnectionId, number: u64, sent: Self::Intent, error: UpstreamError);

    /// A connection was closed, or could not be opened.
    fn closed(&mut self, link: ConnectionId, error: UpstreamError);

    /// The time of [`Action::Wake`] has passed.
    fn on_timer(&mut self, timer: u64);

    /// The client is about to close: ends requests that have no end of their own.
    fn on_close(&mut self) {}

    /// The client sent a message.
    fn receive(&mut self, message: Message, headers: &[Header]) {
        match (message.kind(), message.id().cloned()) {
            (Kind::Request, Some(id)) => self.requested(id, message, headers),
            (Kind::Notification, _) if message.method() == Some(method::CANCELLED) => {
                if let Some(id) = members::cancelled_id(&message) {
                    self.cancel(&id, Some(&message));
                }
            }
            (Kind::Notification, _) => self.notified(message),
            _ => self.replied(&message),
        }
    }

    /// Something happened on a connection.
    fn on_event(&mut self, link: ConnectionId, event: Event) {
        match event {
            Event::Message { message, related } => match (message.kind(), message.id().cloned()) {
                (Kind::Request, Some(id)) if message.method() == Some(method::PING) => {
                    self.desk().send(link, Message::response(&id, &EMPTY));
                }
                (Kind::Request, Some(id)) => self.asked(link, &id, &message, related.as_ref()),
                (Kind::Notification, _) => self.noticed(link, message, related.as_ref()),
                (_, id) => {
                    if let Some(number) = id.and_then(|id| id.as_number()) {
                        let sent = self.desk().take_sent(link, number);
                        self.answered(link, number, sent, message);
                    }
                }
            },
            Event::Failed { id, error } => {
                if let Some(number) = id.as_number()
                    && let Some(sent) = self.desk().take_sent(link, number)
                {
                    self.failed(link, number, sent, error);
                }
            }
            // The driver reports it as failed.
            Event::Returned { .. } => {}
            Event::Closed(error) => self.closed(link, error),
        }
    }
}

/// The handle of the task that writes to a connection.
struct Writer {
    queue: mpsc::Sender<(Outgoing, Option<Permit>)>,
    /// Beside the queue, whose entries may never be sent.
    closing: oneshot::Sender<Closing>,
}

/// A connection is to be closed; sends a signal once it is.
type Closing = Option<oneshot::Sender<()>>;

/// The ends of a [`Writer`] for its task.
type WriterEnds = (
    mpsc::Receiver<(Outgoing, Option<Permit>)>,
    oneshot::Receiver<Closing>,
);

impl Writer {
    fn new() -> (Self, WriterEnds) {
        let (queue, queued) = mpsc::channel(MAX_UNREAD);
        let (closing, closes) = oneshot::channel();
        (Self { queue, closing }, (queued, closes))
    }

    /// Has the queue sent, if the server reads, and the connection closed.
    fn close(self, done: Closing) {
        // A task that is gone has closed it.
        let _ = self.closing.send(done);
    }
}

type Permit = Arc<OwnedSemaphorePermit>;

/// Permits that make an end wait that sends too much. Messages to the server that the server caused hold none: it would
/// wait for itself.
#[derive(Default)]
struct Permits {
    send: Option<Permit>,
    tell: Option<Permit>,
}

struct State<E> {
    era: E,
    links: HashMap<ConnectionId, Writer>,
    /// Requests that are in the queue of each connection, in their order.
    unsent: HashMap<ConnectionId, VecDeque<Id>>,
    over: Option<UpstreamError>,
}

/// An open bridge.
pub(super) struct Driver<E> {
    state: Mutex<State<E>>,
    server: Arc<dyn Connector>,
    from_client: Arc<Semaphore>,
    from_server: Arc<Semaphore>,
    /// Unbounded, since its entries hold permits.
    tell: mpsc::UnboundedSender<(Event, Option<Permit>)>,
}

impl<E: Era> Driver<E> {
    /// Opens a bridge, and the first connection with it.
    pub(super) async fn connect(
        server: &Arc<dyn Connector>,
        era: E,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let (happened, happenings) = mpsc::channel(1);
        let first = server.connect(happened).await?;
        let (tell, told) = mpsc::unbounded_channel();
        let driver = Arc::new(Self {
            state: Mutex::new(State {
                era,
                links: HashMap::new(),
                unsent: HashMap::new(),
                over: None,
            }),
            server: Arc::clone(server),
            from_client: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            from_server: Arc::new(Semaphore::new(MAX_IN_FLIGHT)),
            tell,
        });
        tokio::spawn(deliver(told, events));
        let (writer, written) = Writer::new();
        driver.state.lock().links.insert(FIRST, writer);
        let weak = Arc::downgrade(&driver);
        tokio::spawn(watch(Weak::clone(&weak), FIRST, happenings));
        tokio::spawn(write(weak, FIRST, first, written));
        Ok(Arc::new(Bridge(driver)))
    }

    /// Has the era decide, and does its actions.
    fn act(self: &Arc<Self>, permits: &Permits, ask: impl FnOnce(&mut E)) {
        let mut state = self.state.lock();
        ask(&mut state.era);
        let mut actions = VecDeque::from(state.era.desk().take_actions());
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Put(link, outgoing) => {
                    let is_overrun = state.put(link, outgoing, permits.send.clone());
                    if is_overrun {
                        // Its queue may still be sent before it is closed.
                        state.close(link, None);
                        let reason = "it sends requests, and does not read the answers".to_owned();
                        let closed = Event::Closed(UpstreamError::Invalid(reason));
                        state.era.on_event(link, closed);
                        actions.extend(state.era.desk().take_actions());
                    }
                }
                Action::Tell(event) => {
                    if let Event::Closed(error) = &event {
                        state.over = Some(error.clone());
                    }
                    // Without a receiver, the bridge is about to be dropped.
                    let _ = self.tell.send((event, permits.tell.clone()));
                }
                Action::Open(link, before) => {
                    let before = before.map(|before| {
                        let (done, is_done) = oneshot::channel();
                        state.close(before, Some(done));
                        is_done
                    });
                    self.open(&mut state, link, before);
                }
                Action::Close(link) => state.close(link, None),
                Action::Wake(delay, timer) => self.wake_later(delay, timer),
            }
        }
    }

    /// Opens a connection, once the one `before` is closed.
    fn open(
        self: &Arc<Self>,
        state: &mut State<E>,
        link: ConnectionId,
        before: Option<oneshot::Receiver<()>>,
    ) {
        let (writer, (queued, mut closing)) = Writer::new();
        state.links.insert(link, writer);
        let weak = Arc::downgrade(self);
        let server = Arc::clone(&self.server);
        tokio::spawn(async move {
            let (happened, happenings) = mpsc::channel(1);
            let connect = async {
                if let Some(before) = before {
                    // A connection whose task is gone is closed.
                    let _ = before.await;
                }
                server.connect(happened).await
            };
            let connected = tokio::select! {
                biased;
                _ = &mut closing => return,
                connected = connect => connected,
            };
            match connected {
                Ok(connection) => {
                    tokio::spawn(watch(Weak::clone(&weak), link, happenings));
                    write(weak, link, connection, (queued, closing)).await;
                }
                Err(error) => closed(&weak, link, error),
            }
        });
    }

    fn wake_later(self: &Arc<Self>, delay: Duration, timer: u64) {
        let weak = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(delay).await;
            if let Some(driver) = weak.upgrade() {
                driver.act(&Permits::default(), |era| era.on_timer(timer));
            }
        });
    }
}

impl<E> State<E> {
    /// Forgets a connection, and has it closed.
    fn close(&mut self, link: ConnectionId, done: Closing) {
        self.unsent.remove(&link);
        if let Some(writer) = self.links.remove(&link) {
            writer.close(done);
        }
    }

    /// Queues for a connection, or drops what is for a closed one. Whether the queue is full.
    fn put(&mut self, link: ConnectionId, outgoing: Outgoing, permit: Option<Permit>) -> bool {
        let Some(writer) = self.links.get(&link) else {
            return false;
        };
        let request = match &outgoing {
            Outgoing::Message(message, _) => request_id(message),
            _ => None,
        };
        let queued = writer.queue.try_send((outgoing, permit));
        if queued.is_ok() {
            let unsent = self.unsent.entry(link).or_default();
            unsent.extend(request);
        }
        matches!(queued, Err(mpsc::error::TrySendError::Full(_)))
    }

    /// The end of a connection: the failures of the requests in its queue, then its closure.
    fn end_of(&mut self, link: ConnectionId, error: UpstreamError) -> Vec<Event> {
        let unsent = self.unsent.remove(&link).into_iter().flatten();
        let mut events: Vec<_> = unsent
            .map(|id| {
                let error = error.clone();
                Event::Failed { id, error }
            })
            .collect();
        events.push(Event::Closed(error));
        events
    }
}

/// The id of a request.
fn request_id(message: &Message) -> Option<Id> {
    message.method().and(message.id()).cloned()
}

/// Passes events on, as long as they are received.
async fn deliver(
    mut told: mpsc::UnboundedReceiver<(Event, Option<Permit>)>,
    events: mpsc::Sender<Event>,
) {
    while let Some((event, permit)) = told.recv().await {
        if events.send(event).await.is_err() {
            return;
        }
        drop(permit);
    }
}

fn closed<E: Era>(driver: &Weak<Driver<E>>, link: ConnectionId, error: UpstreamError) {
    if let Some(driver) = driver.upgrade() {
        let events = {
            let mut state = driver.state.lock();
            state.links.remove(&link);
            state.end_of(link, error)
        };
        driver.act(&Permits::default(), |era| {
            for event in events {
                era.on_event(link, event);
            }
        });
    }
}

/// Reads a connection.
async fn watch<E: Era>(
    driver: Weak<Driver<E>>,
    link: ConnectionId,
    mut happenings: mpsc::Receiver<Event>,
) {
    let Some(permits) = driver
        .upgrade()
        .map(|driver| Arc::clone(&driver.from_server))
    else {
        return;
    };
    loop {
        let event = happenings.recv().await.unwrap_or_else(|| {
            Event::Closed(UpstreamError::Ended("its connection is gone".to_owned()))
        });
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        let event = match event {
            Event::Closed(error) => return closed(&driver, link, error),
            // The era knows its purpose, and whether to send it again.
            Event::Returned { message, .. } => match message.id().cloned() {
                Some(id) => Event::Failed {
                    id,
                    error: UpstreamError::SessionOver,
                },
                None => continue,
            },
            event => event,
        };
        let Some(driver) = driver.upgrade() else {
            return;
        };
        let permits = Permits {
            send: None,
            tell: Some(Arc::new(permit)),
        };
        driver.act(&permits, |era| era.on_event(link, event));
    }
}

/// Writes to a connection until it is to be closed, and closes it.
async fn write<E: Era>(
    driver: Weak<Driver<E>>,
    link: ConnectionId,
    connection: Arc<dyn Upstream>,
    (queued, mut closing): WriterEnds,
) {
    let mut sending = pin!(send_queued(&driver, link, &*connection, queued));
    let closing = tokio::select! {
        biased;
        closing = &mut closing => {
            // No longer for a server that does not read.
            let _ = tokio::time::timeout(DRAIN_TIMEOUT, sending).await;
            closing
        }
        () = &mut sending => closing.await,
    };
    // Otherwise it has ended by itself.
    if let Ok(done) = closing {
        connection.close().await;
        if let Some(done) = done {
            // Without a receiver, the closer no longer waits.
            let _ = done.send(());
        }
    }
}

/// Sends what is queued for a connection.
async fn send_queued<E: Era>(
    driver: &Weak<Driver<E>>,
    link: ConnectionId,
    connection: &dyn Upstream,
    mut queued: mpsc::Receiver<(Outgoing, Option<Permit>)>,
) {
    while let Some((outgoing, permit)) = queued.recv().await {
        match outgoing {
            Outgoing::Message(message, headers) => {
                let id = request_id(&message);
                // From here on it may be sent.
                if let (Some(_), Some(driver)) = (&id, driver.upgrade())
                    && let Some(unsent) = driver.state.lock().unsent.get_mut(&link)
                {
                    unsent.pop_front();
                }
                let sent = connection.send(message, &headers).await;
                drop(permit);
                if let (Err(error), Some(id), Some(driver)) = (sent, id, driver.upgrade()) {
                    driver.act(&Permits::default(), |era| {
                        era.on_event(link, Event::Failed { id, error });
                    });
                }
            }
            Outgoing::Abandon(id) => connection.abandon(&id).await,
            Outgoing::Speak(revision) => connection.speak(revision),
        }
    }
}

/// A bridge as a connection.
struct Bridge<E>(Arc<Driver<E>>);

#[async_trait]
impl<E: Era> Upstream for Bridge<E> {
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError> {
        let permit = Arc::clone(&self.0.from_client).acquire_owned().await;
        if let Some(error) = self.0.state.lock().over.clone() {
            return Err(error);
        }
        let permit = permit.ok().map(Arc::new);
        let permits = Permits {
            send: permit.clone(),
            tell: permit,
        };
        self.0.act(&permits, |era| era.receive(message, headers));
        Ok(())
    }

    /// The bridge knows what its server speaks.
    fn speak(&self, _: Revision) {}

    async fn abandon(&self, id: &Id) {
        self.0.act(&Permits::default(), |era| era.cancel(id, None));
    }

    async fn close(&self) {
        self.0.act(&Permits::default(), |era| era.on_close());
        let links: Vec<_> = self.0.state.lock().links.drain().collect();
        let mut closing = Vec::new();
        for (_, writer) in links {
            let (done, is_done) = oneshot::channel();
            writer.close(Some(done));
            closing.push(is_done);
        }
        for is_done in closing {
            // A connection whose task is gone is closed.
            let _ = is_done.await;
        }
    }
}
