//! What is wrong with a configuration.

use crossfeed_wire::{ErrorBody, ErrorCode, Fault};
use std::fmt;

/// How many problems are reported.
const MAX_PROBLEMS: usize = 50;

/// Everything that is wrong with a configuration, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    problems: Vec<Problem>,
    /// How many there are beside them.
    left_out: usize,
}

/// One thing that is wrong with a configuration. It quotes keys, never values: they may be secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// Where: `mcpServers.files.command`; empty for the document as a whole.
    pub at: String,
    /// The line in the file, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub advice: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if !self.at.is_empty() {
            write!(f, ", `{}`", self.at)?;
        }
        write!(f, ": {}", self.what)
    }
}

impl ConfigError {
    pub(super) fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.line);
        let left_out = problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        Self { problems, left_out }
    }

    /// The stable word.
    pub fn code(&self) -> ErrorCode {
        ErrorCode::ConfigInvalid
    }

    /// Who can act on it.
    pub fn fault(&self) -> Fault {
        Fault::Host
    }

    /// What is wrong, in the order of the file; the first 50.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The same as they are reported.
    pub fn bodies(&self) -> Vec<ErrorBody> {
        let body = |problem: &Problem| {
            let mut body = ErrorBody::new(self.code(), problem.to_string());
            body.advice.clone_from(&problem.advice);
            body
        };
        let mut bodies: Vec<_> = self.problems.iter().map(body).collect();
        if self.left_out > 0 {
            let more = format!("{} more problems", self.left_out);
            bodies.push(ErrorBody::new(self.code(), more));
        }
        bodies
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.problems.len() + self.left_out;
        match self.problems.first() {
            Some(first) if all == 1 => write!(f, "{first}"),
            Some(first) => write!(f, "{first} (and {} more)", all - 1),
            None => f.write_str("the configuration is invalid"),
        }
    }
}

impl std::error::Error for ConfigError {}
