//! Patterns of a server's configuration that none of its tools fits: most often they are misspelled, and
//! then they do not hold what they say.

use crate::{
    config::{ServerConfig, nearest},
    pattern::fits,
};
use std::fmt;

/// A pattern of a server that none of its tools fits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnmatchedPattern {
    /// Which server, by its place in the configuration.
    pub server: usize,
    /// The key under which it stands: `allow`, `deny`, `neverChain`.
    pub key: &'static str,
    /// Its place there.
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
        write!(f, "`{key}[{index}]` fits no tool of the server")?;
        match &self.nearest {
            Some(nearest) => write!(f, "; the nearest one is `{nearest}`"),
            None => Ok(()),
        }
    }
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
                key,
                index: place,
                pattern: pattern.clone(),
                nearest: nearest(&word, tools.iter().copied()).map(str::to_owned),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::unmatched;
    use crate::config::{GatewayConfig, ServerConfig};

    fn check(server: &ServerConfig, tools: &[&str], expected: &[&str]) {
        let said: Vec<_> = unmatched(0, server, tools)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(said, expected);
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
        server.never_chain = vec!["*".to_owned()];
        server.allow.clear();
        server.deny.clear();
        check(&server, &[], &[]);
    }
}
