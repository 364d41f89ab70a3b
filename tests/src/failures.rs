//! The list of cases that a suite is expected to fail, strict both ways.
//!
//! Comes in: the text of an `expected-failures.toml`, then one outcome per case. Goes out: nothing, or every way in which list and
//! outcomes disagree. Not here: how a suite names or runs its cases.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Deserialize;

/// The file name of the list, beside the suite's own files.
const FILE_NAME: &str = "expected-failures.toml";

/// Cases that are expected to fail, each with the reason why that is right.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpectedFailures {
    reasons: BTreeMap<String, String>,
}

/// Why a list could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The file is missing or unreadable.
    #[error("cannot read `{}`", path.display())]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Not TOML, or a key other than `case` and `reason`.
    #[error("not a list of `[[failure]]` with `case` and `reason`")]
    Malformed(#[from] toml::de::Error),
    /// A case without a name, such as `case = ""`.
    #[error("entry {position} has an empty `case`")]
    Nameless {
        /// Which entry, counted from 1.
        position: usize,
    },
    /// A case without a reason, such as `reason = " "`.
    #[error("case `{case}` has no reason")]
    NoReason {
        /// The case as written.
        case: String,
    },
    /// The same case in two entries.
    #[error("case `{case}` is listed twice")]
    Twice {
        /// The case as written.
        case: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    failure: Vec<Failure>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    case: String,
    reason: String,
}

impl ExpectedFailures {
    /// Reads the list that lies in the folder of a suite.
    ///
    /// # Errors
    ///
    /// [`ListError::Unreadable`] where there is no such file, else as [`ExpectedFailures::parse`].
    pub fn read(suite: &Path) -> Result<Self, ListError> {
        let path = suite.join(FILE_NAME);
        match fs::read_to_string(&path) {
            Ok(text) => Self::parse(&text),
            Err(source) => Err(ListError::Unreadable { path, source }),
        }
    }

    /// Reads a list from its text.
    ///
    /// # Errors
    ///
    /// Every other variant of [`ListError`]: a list is refused as a whole.
    pub fn parse(text: &str) -> Result<Self, ListError> {
        let file: File = toml::from_str(text)?;
        let mut reasons = BTreeMap::new();
        for (index, Failure { case, reason }) in file.failure.into_iter().enumerate() {
            if case.trim().is_empty() {
                return Err(ListError::Nameless {
                    position: index + 1,
                });
            }
            if reason.trim().is_empty() {
                return Err(ListError::NoReason { case });
            }
            if reasons.contains_key(&case) {
                return Err(ListError::Twice { case });
            }
            reasons.insert(case, reason);
        }
        Ok(Self { reasons })
    }

    /// The number of cases listed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reasons.len()
    }

    /// True if every case has to pass.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// Begins a run of the suite against this list.
    #[must_use]
    pub fn run(&self) -> Run<'_> {
        Run {
            expected: self,
            seen: BTreeSet::new(),
            passed: 0,
            problems: Vec::new(),
        }
    }
}

/// One run of a suite, case by case.
#[derive(Debug)]
pub struct Run<'a> {
    expected: &'a ExpectedFailures,
    seen: BTreeSet<String>,
    passed: usize,
    problems: Vec<String>,
}

impl Run<'_> {
    /// Notes the outcome of one case: `Ok` if it passed, else what went wrong.
    pub fn record(&mut self, case: &str, outcome: Result<(), String>) {
        if !self.seen.insert(case.to_owned()) {
            self.problems.push(format!(
                "`{case}` ran twice: give every case a name of its own"
            ));
        }
        match (outcome, self.expected.reasons.get(case)) {
            (Ok(()), None) => self.passed += 1,
            (Ok(()), Some(reason)) => {
                self.problems.push(format!(
                    "`{case}` passes: take it off the list (it says: {reason})"
                ));
            }
            (Err(why), None) => self.problems.push(format!("`{case}` fails: {why}")),
            (Err(_), Some(_)) => {}
        }
    }

    /// The number of cases that passed.
    ///
    /// # Errors
    ///
    /// A text that names every unlisted failure, every listed pass and every listed case that did not run; also if no case ran at all.
    pub fn finish(mut self) -> Result<usize, String> {
        for case in self
            .expected
            .reasons
            .keys()
            .filter(|case| !self.seen.contains(*case))
        {
            self.problems
                .push(format!("`{case}` is listed, but no such case ran"));
        }
        if self.seen.is_empty() {
            self.problems.push("no case ran".to_owned());
        }
        if self.problems.is_empty() {
            return Ok(self.passed);
        }
        let mut message = format!(
            "{} of {} cases passed; {FILE_NAME} and the outcomes disagree:",
            self.passed,
            self.seen.len()
        );
        for problem in &self.problems {
            let _ = write!(message, "\n- {problem}");
        }
        Err(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[[failure]]\ncase = \"a#1\"\nreason = \"wrong upstream\"\n";

    fn check(text: &str, message: &str) {
        let error = ExpectedFailures::parse(text).expect_err("the list is refused");
        assert_eq!(error.to_string(), message);
    }

    fn run(outcomes: &[(&str, bool)]) -> Result<usize, String> {
        let expected = ExpectedFailures::parse(ONE).unwrap();
        let mut run = expected.run();
        for (case, passes) in outcomes {
            run.record(
                case,
                if *passes {
                    Ok(())
                } else {
                    Err("got 2".to_owned())
                },
            );
        }
        run.finish()
    }

    #[test]
    fn lists_are_read() {
        assert!(ExpectedFailures::parse("# nothing\n").unwrap().is_empty());
        assert_eq!(ExpectedFailures::parse(ONE).unwrap().len(), 1);
    }

    #[test]
    fn sloppy_lists_are_refused() {
        let malformed = "not a list of `[[failure]]` with `case` and `reason`";
        check("[[failure]]\ncase = \"a\"\n", malformed);
        check("[[failures]]\ncase = \"a\"\nreason = \"b\"\n", malformed);
        check(
            "[[failure]]\ncase = \"a\"\nreason = \"b\"\nskip = true\n",
            malformed,
        );
        check(
            "[[failure]]\ncase = \"a\"\nreason = \" \"\n",
            "case `a` has no reason",
        );
        check(
            "[[failure]]\ncase = \"\"\nreason = \"b\"\n",
            "entry 1 has an empty `case`",
        );
        check(&ONE.repeat(2), "case `a#1` is listed twice");
    }

    #[test]
    fn missing_lists_are_an_error() {
        assert!(matches!(
            ExpectedFailures::read(Path::new("no/such/suite")),
            Err(ListError::Unreadable { .. })
        ));
    }

    #[test]
    fn a_run_that_agrees_counts_its_passes() {
        assert_eq!(run(&[("a#0", true), ("a#1", false)]), Ok(1));
    }

    #[test]
    fn a_run_is_strict_both_ways() {
        let message = |outcomes| run(outcomes).unwrap_err();
        assert!(message(&[("a#0", false), ("a#1", false)]).contains("`a#0` fails: got 2"));
        assert!(
            message(&[("a#0", true), ("a#1", true)]).contains("`a#1` passes: take it off the list")
        );
        assert!(message(&[("a#0", true)]).contains("`a#1` is listed, but no such case ran"));
        assert!(message(&[("a#1", false), ("a#1", false)]).contains("`a#1` ran twice"));
        assert!(message(&[]).contains("no case ran"));
    }
}
