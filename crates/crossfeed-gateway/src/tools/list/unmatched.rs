//! Patterns of a server's configuration that match none of its tools: most are misspelled, and do not protect
//! what they should.

use crate::{
    config::{GatewayConfig, ServerConfig, nearest},
    pattern::fits,
};
use bytes::Bytes;
use crossfeed_json::{Document, Kind};
use crossfeed_projection::{Path, Step, fold_case};
use serde_json::Value;
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

/// The key of paths that are withheld of a server.
const NEVER: &str = "never";
/// The same at the top of the configuration, for all servers.
const NEVER_OF_ALL: &str = "never of all";
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
    /// The key under which it stands: `allow`, `deny`, `neverChain`, `tools`, `never` for a path of the
    /// server, `never of all` for one at the top of the configuration, or `from` or `to` of a flow rule.
    pub key: &'static str,
    /// Its place there, or that of its flow rule.
    pub index: usize,
    /// The pattern.
    pub pattern: String,
    /// The tool that may be meant.
    pub nearest: Option<String>,
    /// Whether it names one tool.
    is_exact: bool,
}

impl fmt::Display for UnmatchedPattern {
    /// Without the pattern: the log shows no value of a configuration.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, index, .. } = self;
        match (&self.holder, *key) {
            (Some(holder), _) => write!(f, "`tokens.{holder}.{key}[{index}]`")?,
            (None, FROM | TO) => write!(f, "`flows[{index}].{key}`")?,
            (None, NEVER_OF_ALL) => write!(f, "`never[{index}]`, for all servers,")?,
            (None, _) => write!(f, "`{key}[{index}]`")?,
        }
        f.write_str(match *key {
            NEVER => " names a field that no tool of the server declares",
            NEVER_OF_ALL => " names a field that no tool of any server declares",
            _ => " matches no tool of the server",
        })?;
        match &self.nearest {
            Some(nearest) => write!(f, "; did you mean `{nearest}`?"),
            None => Ok(()),
        }
    }
}

impl UnmatchedPattern {
    /// A pattern for `tool` that none of these tools fits.
    fn new(
        server: usize,
        (key, index): (&'static str, usize),
        pattern: &str,
        tool: &str,
        tools: &[&str],
    ) -> Option<Self> {
        // All of none is meant, too.
        let is_all = !tool.is_empty() && tool.bytes().all(|byte| byte == b'*');
        let is_matched = is_all || tools.iter().any(|name| fits(tool, name));
        (!is_matched).then(|| Self {
            server,
            holder: None,
            key,
            index,
            pattern: pattern.to_owned(),
            nearest: nearest(&tool.replace('*', ""), tools.iter().copied()).map(str::to_owned),
            is_exact: !pattern.contains('*'),
        })
    }

    /// Whether it names one tool that there is not, or a field that is much like one that there is: such a rule
    /// would silently not hold. A pattern may be meant for tools to come.
    pub fn is_error(&self) -> bool {
        self.is_exact || matches!(self.key, NEVER | NEVER_OF_ALL) && self.nearest.is_some()
    }
}

/// Those of patterns for several servers, `server/tool`: of flow rules and of the holders of tokens. `tools`
/// are the names of each server's, by its place. A pattern is judged once all servers are known that it is
/// for, and is reported with the first of them.
pub(super) fn for_several(
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
        let servers = servers.filter(|(_, server)| {
            !server.disabled
                && fits(of, &server.name)
                && holder.is_none_or(|holder| holder.admits_server(&server.name))
        });
        let servers: Vec<usize> = servers.map(|(index, _)| index).collect();
        let known: Option<Vec<_>> = servers.iter().map(|of| tools.get(of)).collect();
        let (Some(first), Some(known)) = (servers.first(), known) else {
            continue;
        };
        let known: Vec<_> = known.into_iter().flatten().map(String::as_str).collect();
        let unmatched = UnmatchedPattern::new(*first, (key, index), pattern, tool, &known);
        found.extend(unmatched.map(|unmatched| UnmatchedPattern {
            holder: holder.map(|holder| holder.name.clone()),
            ..unmatched
        }));
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
    let patterns = keys.into_iter().flat_map(|(key, patterns)| {
        let patterns = patterns.iter().enumerate();
        patterns.map(move |(place, pattern)| ((key, place), pattern))
    });
    let found = patterns.filter_map(|(place, pattern)| {
        UnmatchedPattern::new(index, place, pattern, pattern, tools)
    });
    found.collect()
}

/// What the tools of one or more servers declare of their output, where all of them do.
pub(super) struct DeclaredFields {
    /// The folded names of all fields, wherever they stand.
    names: BTreeSet<String>,
}

impl DeclaredFields {
    /// By the definitions of tools; none where a tool declares nothing, for then there may be anything.
    pub(super) fn by(tools: &[Bytes]) -> Option<Self> {
        let mut declared = Self {
            names: BTreeSet::new(),
        };
        for tool in tools {
            let document = Document::new(tool.clone());
            let schema = document.root().ok()?.get("outputSchema");
            let schema = schema.filter(|own| own.kind() == Kind::Object)?;
            names_of(&schema.to_nearest_value(), &mut declared.names);
        }
        (!tools.is_empty()).then_some(declared)
    }

    /// What all of several servers declare; none where one of them is not known.
    pub(super) fn union(all: impl Iterator<Item = Option<Self>>) -> Option<Self> {
        all.reduce(|one, other| {
            let (mut one, other) = (one?, other?);
            one.names.extend(other.names);
            Some(one)
        })?
    }

    /// Paths of what is withheld of a server that name a field which none of its tools declares: then it is
    /// likely misspelled.
    pub(super) fn unknown(&self, index: usize, server: &ServerConfig) -> Vec<UnmatchedPattern> {
        self.unknown_of(NEVER, index, &server.never)
    }

    /// The same of paths for all servers, reported with the first server.
    pub(super) fn unknown_to_all(&self, config: &GatewayConfig) -> Vec<UnmatchedPattern> {
        let mut servers = config.servers.iter();
        let first = servers.position(|server| !server.disabled);
        self.unknown_of(NEVER_OF_ALL, first.unwrap_or_default(), &config.never)
    }

    fn unknown_of(
        &self,
        key: &'static str,
        server: usize,
        paths: &[Path],
    ) -> Vec<UnmatchedPattern> {
        let mut found = Vec::new();
        for (place, path) in paths.iter().enumerate() {
            let mut names = path.steps().iter().filter_map(Step::name);
            let unknown = names.find(|name| !self.names.contains(&*fold_case(name)));
            found.extend(unknown.map(|name| UnmatchedPattern {
                server,
                holder: None,
                key,
                index: place,
                pattern: path.to_string(),
                nearest: nearest(name, self.names.iter().map(String::as_str)).map(str::to_owned),
                // Failed results, resources, prompts and tools that are not listed may have it.
                is_exact: false,
            }));
        }
        found
    }
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
    use super::{DeclaredFields, UnmatchedPattern, for_several, unmatched};
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
        let mut config = GatewayConfig::from_command("files", Vec::new());
        let other = GatewayConfig::from_command("bank", Vec::new());
        config.servers.extend(other.servers);
        let mut ada = TokenConfig::new("ada", "x");
        let patterns = ["files/read_*", "*/pay", "files/wirte", "bank/x*", "bank/*"];
        ada.tools = patterns.map(str::to_owned).to_vec();
        config.tokens.push(ada);
        let check = |tools: &[(usize, &[&str])], expected: &[(usize, &str, bool)]| {
            let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let tools = tools.iter().map(|(of, tools)| (*of, names(tools)));
            let found = for_several(&config, &tools.collect());
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
        let wirte = "`tokens.ada.tools[2]` matches no tool of the server; did you mean `write`?";
        let x = "`tokens.ada.tools[3]` matches no tool of the server";
        check(
            &[(0, &["read_a", "write"]), (1, &["pay"])],
            &[(0, wirte, true), (1, x, false)],
        );
        // Of `*/pay` nothing is known without the bank.
        check(&[(0, &["read_a", "write"])], &[(0, wirte, true)]);
    }

    #[test]
    fn a_flow_rule_for_a_tool_that_there_is_not_is_found() {
        let mut config = GatewayConfig::from_command("files", Vec::new());
        let other = GatewayConfig::from_command("bank", Vec::new());
        config.servers.extend(other.servers);
        let rule = |from: &str, to: &str| FlowRule::new("r", from, to, false);
        config.flows = vec![rule("files/raed", "bank/*"), rule("files/*", "*/p_*")];
        let tools = [(0, vec!["read".to_owned()]), (1, vec!["pay".to_owned()])];
        let found = for_several(&config, &tools.into());
        let said: Vec<_> = found
            .iter()
            .map(|found| (found.to_string(), found.is_error()))
            .collect();
        let expected = [
            (
                "`flows[0].from` matches no tool of the server; did you mean `read`?",
                true,
            ),
            ("`flows[1].to` matches no tool of the server", false),
        ];
        assert_eq!(
            said,
            expected.map(|(said, is_error)| (said.to_owned(), is_error))
        );
    }

    #[test]
    fn what_fits_no_tool_is_found() {
        let mut server = GatewayConfig::from_command("x", Vec::new())
            .servers
            .remove(0);
        let tools = ["read_file", "write_file"];
        check(&server, &tools, &[]);
        server.allow = vec!["read_*".to_owned(), "write".to_owned()];
        server.deny = vec!["wirte_file".to_owned(), "*".to_owned()];
        server.never_chain = vec!["zzz".to_owned(), String::new()];
        check(
            &server,
            &tools,
            &[
                "`allow[1]` matches no tool of the server; did you mean `write_file`?",
                "`deny[0]` matches no tool of the server; did you mean `write_file`?",
                "`neverChain[0]` matches no tool of the server",
                "`neverChain[1]` matches no tool of the server",
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
    fn a_field_for_all_servers_is_looked_for_in_all_of_them() {
        let mut config = GatewayConfig::from_command("x", Vec::new());
        config.never = crossfeed_projection::Path::parse_list("mail,emial").unwrap();
        let declares = |field: &str| {
            let schema =
                serde_json::json!({"outputSchema": {"type": "object", "properties": {field: {}}}});
            DeclaredFields::by(&[schema.to_string().into()])
        };
        let said = |all: Vec<Option<DeclaredFields>>| -> Vec<String> {
            let declared = DeclaredFields::union(all.into_iter());
            let found = declared.map_or_else(Vec::new, |all| all.unknown_to_all(&config));
            assert!(found.iter().all(UnmatchedPattern::is_error));
            found.iter().map(ToString::to_string).collect()
        };
        let expected = "`never[1]`, for all servers, names a field that no tool of any server declares; did you mean `email`?";
        assert_eq!(said(vec![declares("mail"), declares("email")]), [expected]);
        assert_eq!(said(vec![declares("mail"), None]), [""; 0]);
        assert_eq!(said(Vec::new()), [""; 0]);
    }

    #[test]
    fn a_field_that_no_tool_declares_is_found() {
        let mut server = GatewayConfig::from_command("x", Vec::new())
            .servers
            .remove(0);
        let paths = crossfeed_projection::Path::parse_list("passwort,users[].Mail,users[].phone");
        server.never = paths.unwrap();
        let declares = r#"{"outputSchema":{"type":"object","properties":{"Password":{},"users":{"items":{"properties":{"mail":{}}}}}}}"#;
        let found = |tools: &[&'static str]| {
            let tools: Vec<_> = tools.iter().map(|tool| (*tool).into()).collect();
            let declared = DeclaredFields::by(&tools);
            declared.map_or_else(Vec::new, |declared| declared.unknown(0, &server))
        };
        let said = |tools: &[&'static str]| -> Vec<String> {
            found(tools).iter().map(ToString::to_string).collect()
        };
        let errors = |tools: &[&'static str]| -> Vec<bool> {
            found(tools)
                .iter()
                .map(UnmatchedPattern::is_error)
                .collect()
        };
        assert_eq!(
            said(&[declares]),
            [
                "`never[0]` names a field that no tool of the server declares; did you mean `password`?",
                "`never[2]` names a field that no tool of the server declares",
            ]
        );
        // There may be phones that are not declared, in a resource or a failed result at the latest.
        assert_eq!(errors(&[declares]), [true, false]);
        let closed = r#"{"outputSchema":{"type":"object","additionalProperties":false,"properties":{"users":{"type":"array","items":{"anyOf":[{"type":"object","additionalProperties":false,"properties":{"mail":{"type":"string"}}},{"type":"null"}]}}}}}"#;
        assert_eq!(errors(&[closed]), [false, false]);
        assert_eq!(errors(&[closed, declares]), [true, false]);
        // A tool that declares nothing may return anything.
        assert_eq!(said(&[declares, "{}"]), [""; 0]);
        assert_eq!(said(&[]), [""; 0]);
    }
}
