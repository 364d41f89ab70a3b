//! The flow rules of a configuration.
//!
//! A rule that means nothing would let pass what it should stop: patterns are checked against the
//! servers that there are.

use super::{
    Reader,
    fields::{Fields, nearest, wrong},
};
use crate::config::{
    FlowRule, ServerConfig,
    node::{Node, Value},
};
use crate::pattern::fits;

pub(super) fn flows(
    reader: &mut Reader<'_>,
    node: &Node,
    servers: &[ServerConfig],
) -> Vec<FlowRule> {
    let Value::List(items) = &node.value else {
        wrong(reader, "flows", node, "a list of rules");
        return Vec::new();
    };
    let mut rules: Vec<FlowRule> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(rule) = flow(reader, index, item, servers) else {
            continue;
        };
        if rules.iter().any(|other| other.name == rule.name) {
            let at = format!("flows[{index}].name");
            let what = "another rule has this name, too; a refusal could mean either";
            reader.problem(&at, item.span.start, what);
        }
        rules.push(rule);
    }
    rules
}

fn flow(
    reader: &mut Reader<'_>,
    index: usize,
    node: &Node,
    servers: &[ServerConfig],
) -> Option<FlowRule> {
    let at = format!("flows[{index}]");
    let mut fields = Fields::of(reader, &at, node)?;
    let name = match fields.take("name") {
        Some(node) => super::fields::text(reader, &fields.at("name"), node)?,
        None => format!("flow {}", index + 1),
    };
    let from = pattern(reader, &mut fields, "from", node, servers);
    let to = pattern(reader, &mut fields, "to", node, servers);
    let action = fields.take("action");
    let allow = match action.map(|action| &action.value) {
        Some(Value::Text(word)) if word == "allow" => Some(true),
        Some(Value::Text(word)) if word == "deny" => Some(false),
        Some(_) => {
            let node = action.unwrap_or(node);
            wrong(reader, &fields.at("action"), node, "\"allow\" or \"deny\"");
            None
        }
        None => {
            let what = "`action` is missing: \"allow\" or \"deny\"";
            reader.problem(&at, node.span.start, what);
            None
        }
    };
    fields.finish(reader);
    Some(FlowRule::new(name, from?, to?, allow?))
}

/// A pattern as `server/tool`; a server alone means all of its tools.
fn pattern(
    reader: &mut Reader<'_>,
    fields: &mut Fields<'_>,
    key: &'static str,
    rule: &Node,
    servers: &[ServerConfig],
) -> Option<String> {
    let at = fields.at(key);
    let Some(node) = fields.take(key) else {
        let what = format!("`{key}` is missing: a pattern like `server/tool`, `server/*` or `*`");
        reader.problem(&at, rule.span.start, what);
        return None;
    };
    let text = super::fields::text(reader, &at, node)?;
    let names: Vec<_> = servers.iter().map(|server| server.name.as_str()).collect();
    let what = "no server matches the pattern, so that the rule would never hold";
    server_and_tool(reader, (&at, node), &text, &names, what)
}

/// A pattern in full, `server/tool`; `unknown` is what is wrong where its server is none of these.
pub(super) fn server_and_tool(
    reader: &mut Reader<'_>,
    (at, node): (&str, &Node),
    text: &str,
    servers: &[&str],
    unknown: &str,
) -> Option<String> {
    let (server, tool) = match text.split_once('/') {
        Some((server, tool)) => (server, tool),
        None => (text, "*"),
    };
    if server.is_empty() || tool.is_empty() {
        let what = "it is not a pattern: write one like `server/tool`, `server/*` or `*`";
        reader.problem(at, node.span.start, what);
        return None;
    }
    if !servers.iter().any(|name| fits(server, name)) {
        let near = nearest(server, servers.iter().copied());
        let advice = near.map(|near| format!("the nearest one is `{near}`"));
        reader.advise(at, node.span.start, unknown, advice);
    }
    Some(format!("{server}/{tool}"))
}
