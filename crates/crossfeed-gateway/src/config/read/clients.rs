//! Reads the entries of clients, by the names that they report.

use super::fields::Field;
use crate::config::ClientConfig;

pub(super) fn clients(field: &Field<'_>) -> Vec<ClientConfig> {
    let mut clients: Vec<ClientConfig> = Vec::new();
    for (name, field) in field.table().unwrap_or_default() {
        if name.trim().is_empty() {
            field.problem("the name of the client is empty");
        }
        let mut known = clients.iter();
        if let Some(same) = known.find(|other| other.name.eq_ignore_ascii_case(name)) {
            field.problem(format!(
                "the client already has an entry, `{}`: names are compared without regard to case",
                same.name
            ));
        }
        let Some(mut fields) = field.fields() else {
            continue;
        };
        clients.push(ClientConfig {
            name: name.to_owned(),
            version: fields.get("version"),
            view: fields.choice("view"),
            references: fields.get("references").unwrap_or(true),
        });
        fields.finish();
    }
    clients
}
