//! Patterns of a server's configuration that none of its tools fits: most often they are misspelled, and
//! then they do not hold what they say.

use crate::{
    config::{GatewayConfig, ServerConfig, nearest},
    pattern::fits,
};
use bytes::Bytes;
use crossfeed_json::{Document, Kind};
use crossfeed_projection::{Step, fold_case};
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

/// The key of paths that are withheld.
const NEVER: &str = "never";
/// The keys of a flow rule's patterns.
const FROM: &str = "from";
const TO: &str = "to";

/// A pattern of a server that none of its tools fits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedPattern {
    /// Which server, by its place in the configuration.
    pub server: usize,
    /// The holder of the token that it is of; none where it is of the server.
    pub holder: Option<String>,
    /// The key under which it stands: `allow`, `deny`, `neverChain`, `tools`, `never` for a path, or `from`
    /// or `to` of a flow rule.
    pub key: &'static str,
    /// Its place there, or that of its flow rule.
    pub index: usize,
    /// The pattern.
    pub pattern: String,
    /// The tool that may be meant.
    pub nearest: Option<String>,
}

impl fmt::Display for UnmatchedPattern {
    /// Without the pattern: the log shows no value of a configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, index, .. } = self;
        match (&self.holder, *key) {
            (Some(holder), _) => write!(f, "`tokens.{holder}.{key}[{index}]`")?,
            (None, FROM | TO) => write!(f, "`flows[{index}].{key}`")?,
            (None, _) => write!(f, "`{key}[{index}]`")?,
        }
        f.write_str(match *key {
            NEVER => " names a field that no tool of the server declares",
            _ => " fits no tool of the server",
        })?;
        match &self.nearest {
            Some(nearest) => write!(f, "; the nearest one is `{nearest}`"),
            None => Ok(()),
        }
    }
}

impl UnmatchedPattern {
    /// Whether it names one tool that there is not, or a field much like one that there is: such a rule
    /// would silently not hold. A pattern may be meant for tools to come.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match self.key {
            NEVER => self.nearest.is_some(),
            _ => !self.pattern.contains('*'),
        }
    }
}

/// Those of patterns for several servers, `server/tool`: of flow rules and of the holders of tokens. `tools`
/// are the names of each server's, by its place. A pattern is judged once all servers are known that it is
/// for, and is reported with the first of them.
pub(super) fn of_several(
    config: &GatewayConfig,
    tools: &HashMap<usize, Vec<String>>,
) -> Vec<UnmatchedPattern> {
    let of_flows = config.flows.iter().enumerate().flat_map(|(place, rule)| {
        [(FROM, &rule.from), (TO, &rule.to)].map(|(key, pattern)| (None, key, place, pattern))
    });
    let of_holders = config.tokens.iter().flat_map(|holder| {
        let patterns = holder.tools.iter().enumerate();
        patterns.map(move |(place, pattern)| (Some(holder), "tools", place, pattern))
    });
    let mut found = Vec::new();
    for (holder, key, index, pattern) in of_flows.chain(of_holders) {
        let Some((of, tool)) = pattern.split_once('/') else {
            continue;
        };
        let servers = config.servers.iter().enumerate();
        let servers: Vec<usize> = servers
            .filter(|(_, server)| !server.disabled && fits(of, &server.name))
            .filter(|(_, server)| holder.is_none_or(|holder| holder.admits_server(&server.name)))
            .map(|(index, _)| index)
            .collect();
        let Some(first) = servers.first() else {
            continue;
        };
        let Some(known) = servers
            .iter()
            .map(|of| tools.get(of))
            .collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let known = || known.iter().copied().flatten().map(String::as_str);
        let is_all = tool.bytes().all(|byte| byte == b'*');
        if is_all || known().any(|name| fits(tool, name)) {
            continue;
        }
        found.push(UnmatchedPattern {
            server: *first,
            holder: holder.map(|holder| holder.name.clone()),
            key,
            index,
            pattern: pattern.clone(),
            nearest: nearest(&tool.replace('*', ""), known()).map(str::to_owned),
        });
    }
    found
}

/// Those of a server that has these tools.
pub(super) fn unmatched(
    index: usize,
    server: &ServerConfig,
    tools: &[&str],
) -> Vec<UnmatchedPattern> {
    let keys = [
        ("allow", &server.allow),
        ("deny", &server.deny),
        ("neverChain", &server.never_chain),
    ];
    let mut found = Vec::new();
    for (key, patterns) in keys {
        for (place, pattern) in patterns.iter().enumerate() {
            // All of none is meant, too.
            let is_all = !pattern.is_empty() && pattern.bytes().all(|byte| byte == b'*');
            if is_all || tools.iter().any(|tool| fits(pattern, tool)) {
                continue;
            }
            let word = pattern.replace('*', "");
            found.push(UnmatchedPattern {
                server: index,
                holder: None,
                key,
                index: place,
                pattern: pattern.clone(),
                nearest: nearest(&word, tools.iter().copied()).map(str::to_owned),
            });
        }
    }
    found
}

/// Paths of what is withheld that name a field which no tool declares, where every tool declares its
/// output: then it is likely misspelled. Output that is not declared may hold anything.
pub(super) fn unknown_fields(
    index: usize,
    server: &ServerConfig,
    tools: &[Bytes],
) -> Vec<UnmatchedPattern> {
    if server.never.is_empty() || tools.is_empty() {
        return Vec::new();
    }
    let mut declared = BTreeSet::new();
    for tool in tools {
        let document = Document::new(tool.clone());
        let schema = document
            .root()
            .ok()
            .and_then(|root| root.get("outputSchema"));
        let Some(schema) = schema.filter(|own| own.kind() == Kind::Object) else {
            return Vec::new();
        };
        names_of(&schema.to_nearest_value(), &mut declared);
    }
    let mut found = Vec::new();
    for (place, path) in server.never.iter().enumerate() {
        let mut names = path.steps().iter().filter_map(|step| match step {
            Step::Key(name) => Some(name),
            _ => None,
        });
        let unknown = names.find(|name| !declared.contains(&*fold_case(name)));
        found.extend(unknown.map(|name| UnmatchedPattern {
            server: index,
            holder: None,
            key: NEVER,
            index: place,
            pattern: path.to_string(),
            nearest: nearest(name, declared.iter().map(String::as_str)).map(str::to_owned),
        }));
    }
    found
}

/// The folded names of all properties of a schema, wherever they stand.
fn names_of(schema: &Value, names: &mut BTreeSet<String>) {
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        match schema {
            Value::Object(members) => {
                if let Some(Value::Object(properties)) = members.get("properties") {
                    names.extend(properties.keys().map(|name| fold_case(name).into_owned()));
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{UnmatchedPattern, of_several, unknown_fields, unmatched};
    use crate::config::{FlowRule, GatewayConfig, ServerConfig, TokenConfig};

    fn check(server: &ServerConfig, tools: &[&str], expected: &[&str]) {
        let said: Vec<_> = unmatched(0, server, tools)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(said, expected);
    }

    #[test]
    fn what_a_holder_may_use_is_looked_for_in_all_its_servers() {
        let mut config = GatewayConfig::of_command("files", Vec::new());
        let other = GatewayConfig::of_command("bank", Vec::new());
        config.servers.extend(other.servers);
        let mut ada = TokenConfig::new("ada", "x");
        let patterns = ["files/read_*", "*/pay", "files/wirte", "bank/x*", "bank/*"];
        ada.tools = patterns.map(str::to_owned).to_vec();
        config.tokens.push(ada);
        let check = |tools: &[(usize, &[&str])], expected: &[(usize, &str, bool)]| {
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let tools = tools.iter().map(|(of, tools)| (*of, names(tools)));
            let found = of_several(&config, &tools.collect());
            let found: Vec<_> = found
                .iter()
                .map(|found| (found.server, found.to_string(), found.is_error()))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|(server, said, is_error)| (*server, (*said).to_owned(), *is_error))
                .collect();
            assert_eq!(found, expected);
        };
        let wirte = "`tokens.ada.tools[2]` fits no tool of the server; the nearest one is `write`";
        let x = "`tokens.ada.tools[3]` fits no tool of the server";
        check(
            &[(0, &["read_a", "write"]), (1, &["pay"])],
            &[(0, wirte, true), (1, x, false)],
        );
        // Of `*/pay` nothing is known without the bank.
        check(&[(0, &["read_a", "write"])], &[(0, wirte, true)]);
    }

    #[test]
    fn a_flow_rule_for_a_tool_that_there_is_not_is_found() {
        let mut config = GatewayConfig::of_command("files", Vec::new());
        let other = GatewayConfig::of_command("bank", Vec::new());
        config.servers.extend(other.servers);
        let rule = |from: &str, to: &str| FlowRule::new("r", from, to, false);
        config.flows = vec![rule("files/raed", "bank/*"), rule("files/*", "*/p_*")];
        let tools = [(0, vec!["read".to_owned()]), (1, vec!["pay".to_owned()])];
        let found = of_several(&config, &tools.into());
        let said: Vec<_> = found
            .iter()
            .map(|found| (found.to_string(), found.is_error()))
            .collect();
        let expected = [
            (
                "`flows[0].from` fits no tool of the server; the nearest one is `read`",
                true,
            ),
            ("`flows[1].to` fits no tool of the server", false),
        ];
        assert_eq!(
            said,
            expected.map(|(said, is_error)| (said.to_owned(), is_error))
        );
    }

    #[test]
    fn what_fits_no_tool_is_found() {
        let mut server = GatewayConfig::of_command("x", Vec::new()).servers.remove(0);
        let tools = ["read_file", "write_file"];
        check(&server, &tools, &[]);
        server.allow = vec!["read_*".to_owned(), "write".to_owned()];
        server.deny = vec!["wirte_file".to_owned(), "*".to_owned()];
        server.never_chain = vec!["zzz".to_owned(), String::new()];
        check(
            &server,
            &tools,
            &[
                "`allow[1]` fits no tool of the server; the nearest one is `write_file`",
                "`deny[0]` fits no tool of the server; the nearest one is `write_file`",
                "`neverChain[0]` fits no tool of the server",
                "`neverChain[1]` fits no tool of the server",
            ],
        );
        let found = unmatched(0, &server, &tools);
        assert!(found.iter().all(UnmatchedPattern::is_error));
        server.never_chain = vec!["z*".to_owned()];
        let found = unmatched(0, &server, &tools);
        assert!(!found.last().is_some_and(UnmatchedPattern::is_error));
        server.never_chain = vec!["*".to_owned()];
        server.allow.clear();
        server.deny.clear();
        check(&server, &[], &[]);
    }

    #[test]
    fn a_field_that_no_tool_declares_is_found() {
        let mut server = GatewayConfig::of_command("x", Vec::new()).servers.remove(0);
        let paths = crossfeed_projection::Path::parse_list("passwort,users[].Mail,users[].phone");
        server.never = paths.unwrap();
        let declares = r#"{"outputSchema":{"type":"object","properties":{"Password":{},"users":{"items":{"properties":{"mail":{}}}}}}}"#;
        let said = |tools: &[&'static str]| -> Vec<String> {
            let tools: Vec<_> = tools.iter().map(|tool| (*tool).into()).collect();
            let found = unknown_fields(0, &server, &tools);
            found.iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            said(&[declares]),
            [
                "`never[0]` names a field that no tool of the server declares; the nearest one is `password`",
                "`never[2]` names a field that no tool of the server declares",
            ]
        );
        // A tool that declares nothing may return anything.
        assert_eq!(said(&[declares, "{}"]), [""; 0]);
        assert_eq!(said(&[]), [""; 0]);
    }
}
