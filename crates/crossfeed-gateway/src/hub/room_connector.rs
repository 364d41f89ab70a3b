//! Room for every connection that a bridge opens to one server.
//!
//! What comes in: the room of the first connection, and requests to connect. What goes out: connections that
//! hold their room until they have ended. Deliberately not here: how many a bridge opens.

use super::{
    connection::ServerConnection,
    room::{Connection, Room},
    supervisor::{self, ended},
};
use crate::{
    Revision,
    message::{Header, Id, Message},
    upstream::{Connector, Event, Upstream, UpstreamError},
};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use tokio::sync::mpsc;

/// The server of a link, each connection to which takes room.
pub(super) struct RoomConnector {
    link: Weak<ServerConnection>,
    server: Arc<dyn Connector>,
    /// What was taken for the first.
    first: Mutex<Option<Arc<Room>>>,
}

impl RoomConnector {
    pub(super) fn new(link: &Arc<ServerConnection>, first: &Arc<Room>) -> Self {
        Self {
            link: Arc::downgrade(link),
            server: Arc::clone(&link.connector),
            first: Mutex::new(Some(Arc::clone(first))),
        }
    }

    async fn room(&self) -> Result<Arc<Room>, UpstreamError> {
        let first = self.first.lock().take();
        let link = self.link.upgrade().ok_or_else(ended)?;
        let room = match first {
            Some(room) => room,
            None => {
                let client = link.client.upgrade().ok_or_else(ended)?;
                supervisor::room(&link, &client).await?
            }
        };
        link.takes(&room);
        Ok(room)
    }
}

#[async_trait]
impl Connector for RoomConnector {
    async fn connect(
        &self,
        events: mpsc::Sender<Event>,
    ) -> Result<Arc<dyn Upstream>, UpstreamError> {
        let room = self.room().await?;
        let upstream = self.server.connect(events).await?;
        Ok(Arc::new(InRoom(Connection::new(upstream, Some(room)))))
    }
}

/// A connection whose room comes back once it was dropped and has ended.
struct InRoom(Connection);

#[async_trait]
impl Upstream for InRoom {
    async fn send(&self, message: Message, headers: &[Header]) -> Result<(), UpstreamError> {
        self.0.upstream.send(message, headers).await
    }

    fn speak(&self, revision: Revision) {
        self.0.upstream.speak(revision);
    }

    async fn abandon(&self, id: &Id) {
        self.0.upstream.abandon(id).await;
    }

    async fn close(&self) {
        self.0.ends();
        self.0.upstream.close().await;
    }
}
