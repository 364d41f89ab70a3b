//! Finds what a provider would refuse, one line each.
//!
//! It uses the facts alone and no code of narrowing, so that it can check narrowed schemas.

mod container;
mod list;
mod recursion;
mod schema;
mod value;

pub use list::{lint, lint_list};

use crate::Facts;
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::fmt;

/// A tool as it would be sent.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "built by hosts")]
pub struct ToLint<'t> {
    /// Its name.
    pub name: &'t str,
    /// Its description.
    pub description: Option<&'t str>,
    /// The schema of its arguments.
    pub input_schema: &'t Value,
    /// Whether it is sent as strict; `None` where the profile says.
    pub strict: Option<bool>,
}

/// Whether a request would fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Severity {
    /// Some models or clients refuse it, or ignore a part of it.
    Warning,
    /// The provider refuses the request.
    Refused,
}

/// One thing that a provider would refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The tool's name, or `(list)` for the list.
    pub tool: String,
    /// Where in its schema.
    pub at: Pointer,
    /// Its severity.
    pub severity: Severity,
    /// The fault found.
    pub what: String,
    /// The fact that it breaks.
    pub why: String,
    /// What to do.
    pub fix: String,
}

impl Severity {
    fn new(is_refused: bool) -> Self {
        if is_refused {
            Self::Refused
        } else {
            Self::Warning
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        if !self.at.as_str().is_empty() {
            write!(f, " {}", self.at)?;
        }
        if self.severity == Severity::Warning {
            f.write_str(": warning")?;
        }
        write!(f, ": {}; {}; {}", self.what, self.why, self.fix)
    }
}

/// How many findings a tool may have.
const MAX_FINDINGS: usize = 20;

/// The findings about one tool.
struct Findings<'t> {
    tool: &'t str,
    facts: &'static Facts,
    found: Vec<Finding>,
    more: usize,
    more_refused: bool,
}

impl<'t> Findings<'t> {
    fn new(tool: &'t str, facts: &'static Facts) -> Self {
        Self {
            tool,
            facts,
            found: Vec::new(),
            more: 0,
            more_refused: false,
        }
    }

    fn refused(&mut self, at: &Pointer, what: impl Into<String>, why: &str, fix: &str) {
        self.add(Severity::Refused, at, what, why, fix);
    }

    fn warned(&mut self, at: &Pointer, what: impl Into<String>, why: &str, fix: &str) {
        self.add(Severity::Warning, at, what, why, fix);
    }

    /// Adds a finding if a number is beyond the limit of `whose`.
    fn limited(&mut self, what: &str, number: usize, limit: Option<usize>, whose: &str, fix: &str) {
        if let Some(limit) = limit.filter(|limit| number > *limit) {
            let why = format!("{whose} may have at most {limit}");
            self.refused(&Pointer::root(), format!("{number} {what}"), &why, fix);
        }
    }

    fn add(
        &mut self,
        severity: Severity,
        at: &Pointer,
        what: impl Into<String>,
        why: &str,
        fix: &str,
    ) {
        if self.found.len() == MAX_FINDINGS {
            self.more += 1;
            self.more_refused |= severity == Severity::Refused;
            return;
        }
        self.found.push(Finding {
            tool: self.tool.to_owned(),
            at: at.clone(),
            severity,
            what: what.into(),
            why: format!("{why} ({})", self.facts.source),
            fix: fix.to_owned(),
        });
    }

    fn into_list(self) -> Vec<Finding> {
        let mut found = self.found;
        if self.more > 0 {
            found.push(Finding {
                tool: self.tool.to_owned(),
                at: Pointer::root(),
                severity: Severity::new(self.more_refused),
                what: format!("and {} more", self.more),
                why: format!("at most {MAX_FINDINGS} findings are listed for each tool"),
                fix: "mend those above first".to_owned(),
            });
        }
        found
    }
}

#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod tests;
