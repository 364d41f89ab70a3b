//! Lists the view of each known client, and why it has that view.

use crossfeed::mcp::Client;
use crossfeed_gateway::config::{ChosenView, ClientName, GatewayConfig};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{self, Write},
};

/// A client, and its view of each server, in the order of the configuration.
pub(super) struct ClientViews<'c> {
    /// `None` for every unknown client.
    client: Option<ClientName>,
    of: Vec<(&'c str, ChosenView)>,
}

/// The views of the clients in the configuration, of those in the table of known clients, and of any other.
pub(super) fn views(config: &GatewayConfig) -> Vec<ClientViews<'_>> {
    let configured = config
        .clients
        .iter()
        .map(|entry| ClientName::new(&entry.name, entry.version.clone()));
    let known = Client::ALL.iter().flat_map(|client| {
        let names = client.names.iter();
        names.map(|name| ClientName::new(*name, client.version.map(str::to_owned)))
    });
    let mut seen = BTreeSet::new();
    let mut clients: Vec<_> = configured
        .chain(known)
        .filter(|client| seen.insert((client.name.to_lowercase(), client.version.clone())))
        .map(Some)
        .collect();
    clients.push(None);
    let of = |client: &Option<ClientName>| {
        let servers = config.servers.iter();
        servers
            .map(|server| {
                let view = config.view_of(server, client.as_ref());
                (server.name.as_str(), view)
            })
            .collect()
    };
    clients
        .into_iter()
        .map(|client| ClientViews {
            of: of(&client),
            client,
        })
        .collect()
}

/// Writes a line for the clients that have the same views, or one for each server if the servers' views differ.
pub(super) fn write(views: &[ClientViews<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut groups: Vec<(Vec<String>, &ClientViews<'_>)> = Vec::new();
    for views in views {
        let name = match &views.client {
            None => "any other client".to_owned(),
            Some(client) => match &client.version {
                Some(version) => format!("{} {version}", client.name),
                None => client.name.clone(),
            },
        };
        let name = name.escape_debug().to_string();
        match groups.iter_mut().find(|(_, first)| first.of == views.of) {
            Some((names, _)) => names.push(name),
            None => groups.push((vec![name], views)),
        }
    }
    for (names, ClientViews { of, .. }) in groups {
        write!(out, "view of {}:", names.join(", "))?;
        let mut distinct = of.iter().map(|(_, chosen)| chosen);
        let first = distinct.next();
        match first.filter(|first| distinct.all(|other| other == *first)) {
            Some(ChosenView { view, reason, .. }) => writeln!(out, " {view}, by {reason}")?,
            None => {
                writeln!(out)?;
                for (server, ChosenView { view, reason, .. }) in of {
                    let server = server.escape_debug();
                    writeln!(out, "  {server}: {view}, by {reason}")?;
                }
            }
        }
    }
    Ok(())
}

/// The views as JSON; `client` is null for any other client.
pub(super) fn as_json(views: &[ClientViews<'_>]) -> Value {
    let rows = views.iter().flat_map(|ClientViews { client, of }| {
        of.iter().map(move |(server, chosen)| {
            json!({
                "client": client.as_ref().map(|client| &client.name),
                "version": client.as_ref().and_then(|client| client.version.as_ref()),
                "server": server,
                "view": chosen.view.as_str(),
                "reason": chosen.reason.to_string(),
            })
        })
    });
    rows.collect()
}
