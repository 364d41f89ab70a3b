//! Whose data something holds: names of tools (`server/tool`), as they stand beside a result.

use crate::{
    config::FILES,
    pattern::{fits, may_fit},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Whose data something holds.
///
/// As text it is JSON. What another version says more of it makes it unreadable to this one, so that nothing is missed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::tools) struct Sources {
    /// Names of tools.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    tools: BTreeSet<String>,
    /// How the names of any of several tools begin: those of a server (`server/`), or of all servers (nothing).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    begins: BTreeSet<String>,
}

/// A tool, or any of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source<'s> {
    Tool(&'s str),
    /// Any whose name begins so.
    Begins(&'s str),
}

impl Source<'_> {
    /// Whether a pattern fits a name of these, or could.
    pub(super) fn may_fit(&self, pattern: &str) -> bool {
        match self {
            Self::Tool(name) => fits(pattern, name),
            Self::Begins(begins) => may_fit(pattern, begins),
        }
    }

    /// What a refusal says.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Tool(name) => (*name).to_owned(),
            Self::Begins(begins) => format!("{begins}…"),
        }
    }
}

/// How the names of the tools of a tool's server begin.
fn server_of(tool: &str) -> &str {
    tool.find('/').map_or("", |slash| &tool[..=slash])
}

impl Sources {
    /// Reads what [`to_text`](Self::to_text) wrote.
    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn to_text(&self) -> String {
        // Texts can always be written; without any it would be known to hold nobody's data.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(in crate::tools) fn insert(&mut self, tool: &str) {
        self.tools.insert(tool.to_owned());
    }

    /// The data of any tool of a server.
    pub(in crate::tools) fn insert_any_of(&mut self, server: &str) {
        self.begins.insert(format!("{server}/"));
    }

    pub(in crate::tools) fn extend(&mut self, other: &Self) {
        self.tools.extend(other.tools.iter().cloned());
        self.begins.extend(other.begins.iter().cloned());
    }

    /// Gives up names until its text has at most so many bytes: first those of the server that takes most has one mark
    /// for all of its tools, and so on; where that is not enough, it holds the data of anyone.
    pub(super) fn shrink(&mut self, most: usize) {
        while self.to_text().len() > most {
            let mut bytes: BTreeMap<&str, usize> = BTreeMap::new();
            for tool in &self.tools {
                *bytes.entry(server_of(tool)).or_default() += tool.len();
            }
            let largest = bytes.into_iter().max_by_key(|(_, bytes)| *bytes);
            let Some((server, _)) = largest else {
                self.begins = BTreeSet::from([String::new()]);
                break;
            };
            let server = server.to_owned();
            self.tools.retain(|tool| server_of(tool) != server);
            self.begins.insert(server);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Source<'_>> {
        let tools = self.tools.iter().map(|tool| Source::Tool(tool));
        tools.chain(self.begins.iter().map(|begins| Source::Begins(begins)))
    }

    /// Whether all are of these servers, or files: what a tool of another name stands for by now is unknown.
    pub(super) fn are_of(&self, servers: &[String]) -> bool {
        self.iter().all(|source| {
            let (Source::Tool(name) | Source::Begins(name)) = source;
            let server = server_of(name).strip_suffix('/');
            match source {
                Source::Begins("") => true,
                _ => server
                    .is_some_and(|own| own == FILES || servers.iter().any(|server| server == own)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sources() -> impl Strategy<Value = Sources> {
        let tools = prop::collection::btree_set("[ab\"]/[xyz\n/]{0,9}", 0..20);
        let begins = prop::collection::btree_set("([abc]/)?", 0..3);
        (tools, begins).prop_map(|(tools, begins)| Sources { tools, begins })
    }

    proptest! {
        /// No pattern fits a name that was reported as not fitted.
        #[test]
        fn what_may_fit_is_not_missed(pattern in "[ab/*]{0,6}", server in "[ab]{1,2}", tool in "[ab/]{0,3}") {
            let begins = format!("{server}/");
            let fits = fits(&pattern, &format!("{server}/{tool}"));
            prop_assert!(Source::Begins(&begins).may_fit(&pattern) || !fits);
        }

        /// What was in it still is, or is one of several that are.
        #[test]
        fn a_bound_loses_nobody(whole in sources(), most in 0usize..400) {
            let mut bound = whole.clone();
            bound.shrink(most);
            let text = bound.to_text();
            prop_assert!(text.len() <= most.max(r#"{"begins":[""]}"#.len()), "{text}");
            for source in whole.iter() {
                let (Source::Tool(name) | Source::Begins(name)) = source;
                let mut begins = bound.begins.iter();
                let is_there = bound.iter().any(|own| own == source)
                    || begins.any(|begins| name.starts_with(&**begins));
                prop_assert!(is_there, "{source:?} {text}");
            }
            prop_assert!(whole.to_text().len() > most || bound == whole);
            prop_assert_eq!(Sources::parse(&text), Some(bound));
        }
    }

    #[test]
    fn what_takes_most_goes_first() {
        let mut own = Sources::default();
        for tool in ["a/x", "b/1234", "b/5678", "c/long_name"] {
            own.insert(tool);
        }
        for (most, expected) in [
            (60, r#"{"tools":["a/x","b/1234","b/5678","c/long_name"]}"#),
            (48, r#"{"tools":["a/x","c/long_name"],"begins":["b/"]}"#),
            (40, r#"{"tools":["a/x"],"begins":["b/","c/"]}"#),
            (30, r#"{"begins":["a/","b/","c/"]}"#),
            (20, r#"{"begins":[""]}"#),
        ] {
            own.shrink(most);
            assert_eq!(own.to_text(), expected);
        }
    }

    #[test]
    fn what_a_later_version_says_is_unknown() {
        let text = r#"{"tools":["a/x"],"users":["b"]}"#;
        assert_eq!(Sources::parse(text), None);
        assert_eq!(Sources::parse(""), None);
    }

    #[test]
    fn a_server_that_is_not_there_is_unknown() {
        let servers = ["a".to_owned(), "b".to_owned()];
        for (text, known) in [
            (r#"{"tools":["a/x","b/y/z"],"begins":["a/"]}"#, true),
            (r#"{"begins":[""]}"#, true),
            (r#"{"tools":["a/x","c/x"]}"#, false),
            (r#"{"begins":["ab/"]}"#, false),
            (r#"{"tools":["a"]}"#, false),
        ] {
            assert_eq!(
                Sources::parse(text).unwrap().are_of(&servers),
                known,
                "{text}"
            );
        }
    }
}
