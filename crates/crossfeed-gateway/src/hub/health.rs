//! How the servers are, for whoever watches the gateway.
//!
//! What comes in: a gateway's clients and their connections. What goes out: one line for each server.
//! Deliberately not here: how it is shown.

use super::{Client, Gateway, connection::Phase};
use crate::port::ServerHealth;
use std::sync::{Arc, Weak};

impl Gateway {
    /// How the servers are, in the order of the configuration.
    pub fn health(&self) -> Vec<ServerHealth> {
        let mut health: Vec<ServerHealth> = self
            .config
            .servers
            .iter()
            .map(|server| ServerHealth {
                name: server.name.clone(),
                ..ServerHealth::default()
            })
            .collect();
        for client in self.every_client() {
            for link in client.links() {
                let Some(of) = health.get_mut(link.server) else {
                    continue;
                };
                match &*link.phase.borrow() {
                    Phase::Opening => of.opening += 1,
                    // The first of a bridge is open before it holds its room.
                    Phase::Open => of.open += link.rooms().max(1),
                    Phase::Down(error) => {
                        of.down += 1;
                        of.error = Some(error.to_string());
                    }
                    Phase::Idle(_) => of.idle += 1,
                    Phase::Closed => {}
                }
            }
        }
        health
    }

    /// How many requests of clients run.
    pub fn running_requests(&self) -> usize {
        let all = self.every_client();
        all.iter().map(|client| client.running()).sum()
    }

    /// How many clients there are; those without sessions count as one for each principal.
    pub fn client_count(&self) -> usize {
        self.every_client().len()
    }

    pub(super) fn every_client(&self) -> Vec<Arc<Client>> {
        let clients = self.clients.lock();
        let stay = clients.all.values().filter_map(Weak::upgrade);
        stay.chain(clients.shared.values().cloned()).collect()
    }
}
