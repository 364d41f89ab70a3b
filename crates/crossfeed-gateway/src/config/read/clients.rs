//! What a configuration says of clients, by the names that they give themselves.

use super::{
    Reader,
    fields::{Fields, key, table},
};
use crate::config::{ClientConfig, node::Node};

pub(super) fn clients(reader: &mut Reader<'_>, node: &Node) -> Vec<ClientConfig> {
    let Some(entries) = table(reader, "clients", node) else {
        return Vec::new();
    };
    let mut clients: Vec<ClientConfig> = Vec::with_capacity(entries.len());
    for entry in entries {
        let at = format!("clients.{}", key(&entry.key));
        if entry.key.trim().is_empty() {
            let what = "the name of the client is empty";
            reader.problem(&at, entry.key_span.start, what);
        }
        let same = |other: &&ClientConfig| other.name.eq_ignore_ascii_case(&entry.key);
        if let Some(same) = clients.iter().find(same) {
            let what = format!(
                "the client has an entry already, `{}`: names are compared without regard to case",
                same.name
            );
            reader.problem(&at, entry.key_span.start, what);
        }
        let Some(mut fields) = Fields::of(reader, &at, &entry.node) else {
            continue;
        };
        let version = fields.text(reader, "version");
        let view = fields.view(reader, "view");
        let references = fields.truth(reader, "references", true);
        fields.finish(reader);
        clients.push(ClientConfig {
            name: entry.key.clone(),
            version,
            view,
            references,
        });
    }
    clients
}
