//! Reserves room for every connection that a bridge opens to one server.

use super::{
    connection::ServerConnection,
    room::{Connection, Room},
    supervisor::{self, ended},
};
use crate::upstream::{Connector, Event, Upstream, UpstreamError};
use async_trait::async_trait;
use parking_lot::Mutex;
use std::sync::{Arc, Weak};
use tokio::sync::mpsc;

/// Connects to the server of a [`ServerConnection`]: each connection takes room until it has ended.
pub(super) struct RoomConnector {
    link: Weak<ServerConnection>,
    server: Arc<dyn Connector>,
    /// The room of the first connection.
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
        Ok(Arc::new(Connection::new(upstream, Some(room))))
    }
}
