//! The table of `specs/clients.md`, compared with the code.

use crate::own_suite::{Group, Outcome, equal};
use crossfeed_mcp::{Client, Shows};
use crossfeed_wire::View;
use serde::Deserialize;

/// The rows of the table, in their order.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Clients(Vec<Row>);

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Row {
    names: Vec<String>,
    version: Option<String>,
    #[serde(default = "default_view")]
    view: String,
    #[serde(default = "default_shows")]
    shows: String,
    conversation: Option<String>,
    profile: Option<String>,
}

fn default_view() -> String {
    View::default().to_string()
}

fn default_shows() -> String {
    Shows::default().as_str().to_owned()
}

impl Row {
    fn of(client: &Client) -> Self {
        Self {
            names: client.names.iter().map(|&name| name.to_owned()).collect(),
            version: client.version.map(str::to_owned),
            view: client.view.to_string(),
            shows: client.shows.as_str().to_owned(),
            conversation: client.conversation.map(str::to_owned),
            profile: client.profile.map(|profile| profile.to_string()),
        }
    }
}

impl Group for Clients {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        let count = equal("the number of clients", Client::ALL.len(), self.0.len());
        outcome("the table", count);
        for (client, written) in Client::ALL.iter().zip(&self.0) {
            let row = equal("the client", &Row::of(client), written);
            outcome(&written.names.join(", "), row);
        }
    }
}
