//! Reads the flow rules. A rule that matches nothing would stop nothing, so patterns are checked against the servers
//! of the configuration.

use super::fields::{Field, Fields, did_you_mean};
use crate::{
    config::{FILES, FlowRule, GATEWAY, ServerConfig},
    pattern::fits,
};

/// `has_files`: references may name files, whose data goes to tools, too; `is_saving`: results may go to the gateway
/// itself, which saves them.
pub(super) fn flows(
    field: &Field<'_>,
    servers: &[ServerConfig],
    (has_files, is_saving): (bool, bool),
) -> Vec<FlowRule> {
    let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
    let (mut from, mut to) = (names.clone(), names);
    from.extend(has_files.then_some(FILES));
    to.extend(is_saving.then_some(GATEWAY));
    let mut rules: Vec<FlowRule> = Vec::new();
    let items = field.list("a list of rules").unwrap_or_default();
    for (index, item) in items.into_iter().enumerate() {
        let Some(mut fields) = item.fields() else {
            continue;
        };
        let name = match fields.take("name") {
            Some(name) => name.text(),
            None => Some(format!("flow {}", index + 1)),
        };
        if name.is_some() && rules.iter().any(|other| Some(&other.name) == name.as_ref()) {
            let what = "another rule has the same `name`: a refusal could mean either";
            fields.field.problem(what);
        }
        let from = pattern(&mut fields, "from", &from);
        let to = pattern(&mut fields, "to", &to);
        let action = fields.require("action", ": \"allow\" or \"deny\"");
        let allow = action.and_then(|own| own.word(&[("allow", true), ("deny", false)]));
        fields.finish();
        if let (Some(name), Some(from), Some(to), Some(allow)) = (name, from, to, allow) {
            rules.push(FlowRule::new(name, from, to, allow));
        }
    }
    rules
}

/// A pattern `server/tool`; a server alone stands for all of its tools.
fn pattern(fields: &mut Fields<'_>, key: &'static str, servers: &[&str]) -> Option<String> {
    let how = ": a pattern like `server/tool`, `server/*` or `*`";
    let field = fields.require(key, how)?;
    let what = "no server matches the pattern: the rule would never apply";
    server_and_tool(&field, &field.text()?, servers, what)
}

/// Completes a pattern to `server/tool`; reports `unknown` if it matches none of these servers.
pub(super) fn server_and_tool(
    field: &Field<'_>,
    text: &str,
    servers: &[&str],
    unknown: &str,
) -> Option<String> {
    let (server, tool) = text.split_once('/').unwrap_or((text, "*"));
    if server.is_empty() || tool.is_empty() {
        field.problem("not a valid pattern: write one like `server/tool`, `server/*` or `*`");
        return None;
    }
    if !servers.iter().any(|name| fits(server, name)) {
        field.advise(unknown, did_you_mean(server, servers.iter().copied()));
    }
    Some(format!("{server}/{tool}"))
}
