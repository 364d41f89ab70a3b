//! A client and a server in memory, with a bridge between them.

use crate::{
    Revision,
    message::{Header, Id, Message},
    upstream::{Connector, Event, Upstream, UpstreamError},
};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::{RwLock, mpsc};

/// What a connection to the server was told.
#[derive(Debug)]
pub(super) enum Told {
    Message(Message, Vec<Header>),
    Abandon(Id),
    Speak(Revision),
    Close,
}

/// One connection, as the server sees it.
pub(super) struct Connection {
    pub(super) told: mpsc::UnboundedReceiver<Told>,
    pub(super) events: mpsc::Sender<Event>,
    /// Who holds it keeps the server from reading.
    pub(super) reads: Arc<RwLock<()>>,
}

struct Fake {
    connections: Mutex<mpsc::UnboundedSender<Connection>>,
}

#[async_trait]
impl Connector for Fake {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let (tell, told) = mpsc::unbounded_channel();
        let reads = Arc::new(RwLock::new(()));
        let connection = Connection {
            told,
            events,
            reads: Arc::clone(&reads),
        };
        let unreachable = |_| UpstreamError::Unreachable("no more".to_owned());
        self.connections
            .lock()
            .send(connection)
            .map_err(unreachable)?;
        Ok(Arc::new(FakeUpstream(tell, reads)))
    }
}

struct FakeUpstream(mpsc::UnboundedSender<Told>, Arc<RwLock<()>>);

#[async_trait]
impl Upstream for FakeUpstream {
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError> {
        let _reads = self.1.read().await;
        let told = Told::Message(message, headers.to_vec());
        self.0
            .send(told)
            .map_err(|_| UpstreamError::Ended("gone".to_owned()))
    }

    fn speak(&self, revision: Revision) {
        self.0.send(Told::Speak(revision)).ok();
    }

    async fn abandon(&self, id: &Id) {
        self.0.send(Told::Abandon(id.clone())).ok();
    }

    async fn close(&self) {
        self.0.send(Told::Close).ok();
    }
}

/// A conversation over a bridge.
pub(super) struct Talk {
    pub(super) bridge: Arc<dyn Upstream>,
    pub(super) events: mpsc::Receiver<Event>,
    pub(super) connections: mpsc::UnboundedReceiver<Connection>,
    pub(super) server: Connection,
}

impl Talk {
    pub(super) async fn over(
        bridge: impl FnOnce(Arc<dyn Connector>) -> Arc<dyn Connector>,
    ) -> Self {
        let (connected, mut connections) = mpsc::unbounded_channel();
        let fake = Fake {
            connections: Mutex::new(connected),
        };
        let (happened, events) = mpsc::channel(64);
        let bridge = bridge(Arc::new(fake)).connect(happened).await.unwrap();
        let server = connections.recv().await.unwrap();
        Self {
            bridge,
            events,
            connections,
            server,
        }
    }

    /// The client sends.
    pub(super) async fn client(&self, message: &str) {
        let message = Message::parse(message.to_owned()).unwrap();
        self.bridge.send(message, &[]).await.unwrap();
    }

    /// The server sends.
    pub(super) async fn server(&self, message: &str) {
        self.server_for(message, None).await;
    }

    /// The server sends, on the stream of a request.
    pub(super) async fn server_for(&self, message: &str, related: Option<u64>) {
        let event = Event::Message {
            message: Message::parse(message.to_owned()).unwrap(),
            related: related.map(Id::number),
        };
        self.server.events.send(event).await.unwrap();
    }

    /// What the server is told next.
    pub(super) async fn told(&mut self) -> Told {
        let patience = std::time::Duration::from_secs(3600);
        tokio::time::timeout(patience, self.server.told.recv())
            .await
            .expect("nothing was sent to the server")
            .expect("the connection was dropped")
    }

    /// What the client is told next.
    pub(super) async fn event(&mut self) -> Event {
        let patience = std::time::Duration::from_secs(3600);
        tokio::time::timeout(patience, self.events.recv())
            .await
            .expect("nothing was sent to the client")
            .expect("the bridge was dropped")
    }

    /// The next message to the server is this.
    pub(super) async fn server_gets(&mut self, expected: &str) {
        match self.told().await {
            Told::Message(message, _) => assert_eq!(text(&message), expected),
            told => panic!("{told:?} instead of {expected}"),
        }
    }

    /// The next message to the client is this.
    pub(super) async fn client_gets(&mut self, expected: &str) {
        match self.event().await {
            Event::Message { message, .. } => assert_eq!(text(&message), expected),
            event => panic!("{event:?} instead of {expected}"),
        }
    }

    /// Nothing more was sent to anybody.
    pub(super) async fn silence(&mut self) {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        assert!(self.events.try_recv().is_err());
        assert!(self.server.told.try_recv().is_err());
    }
}

pub(super) fn text(message: &Message) -> String {
    String::from_utf8(message.to_bytes().to_vec()).unwrap()
}
