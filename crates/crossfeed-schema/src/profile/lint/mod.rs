//! What a provider would refuse, one line each.
//!
//! What comes in: tools as they would be sent. What goes out: findings, each with its place, the
//! fact that it breaks, and what to do. Deliberately not here: mending. This is written from the
//! facts alone and never narrows, so that it can judge what narrowing gives.

mod recursion;
mod schema;

use super::{Counts, Facts, Profile};
use crossfeed_wire::Pointer;
use serde_json::Value;
use std::{collections::HashMap, fmt};

/// A tool as it would be sent.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "built by whoever lints")]
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
    /// Some models or clients refuse it, or what it says is lost.
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
    /// How bad.
    pub severity: Severity,
    /// What is there.
    pub what: String,
    /// Which fact it breaks.
    pub why: String,
    /// What to do.
    pub fix: String,
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

/// How a finding names the list as a whole.
const LIST: &str = "(list)";

/// How many findings a tool may have.
const REPORTED: usize = 20;

/// Judges a tool list by a profile.
///
/// A tool that is marked as not strict is judged by the plain counterpart. The findings are in the
/// order of the tools; those of the list come last.
///
/// ```
/// use crossfeed_schema::{Profile, ToLint, lint};
/// use serde_json::json;
///
/// let schema = json!({"type": "object", "properties": {"ids": {"type": "array"}}});
/// let tool = ToLint { name: "get", description: None, input_schema: &schema, strict: None };
/// let findings = lint(&[tool], Profile::OpenAi);
/// assert_eq!(
///     findings[0].to_string(),
///     "get /properties/ids: a list without `items`; every list needs `items` (OpenAI API reference, tools); say what the items are"
/// );
/// assert!(lint(&[tool], Profile::Anthropic).is_empty());
/// ```
#[must_use]
pub fn lint(tools: &[ToLint<'_>], profile: Profile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut names: HashMap<&str, usize> = HashMap::new();
    let mut sums = Counts::default();
    let mut strict_tools = 0;
    for tool in tools {
        let strict = profile.is_strict() && tool.strict != Some(false);
        let judged = if strict { profile } else { profile.plain() };
        let mut found = Findings::new(tool.name, judged.facts());
        let times = names.entry(tool.name).or_default();
        *times += 1;
        if *times == 2 {
            found.refused(
                &Pointer::root(),
                "another tool has the same name".to_owned(),
                "each name stands for one tool",
                "rename one of them".to_owned(),
            );
        }
        judge_name(tool, judged, &mut found);
        schema::judge(tool.input_schema, judged, &mut found);
        if strict {
            let counts = Counts::of(tool.input_schema, judged.facts());
            strict_tools += 1;
            sums.optionals += counts.optionals;
            sums.unions += counts.unions;
        }
        findings.extend(found.told());
    }
    judge_list(tools.len(), strict_tools, sums, profile, &mut findings);
    findings
}

fn judge_name(tool: &ToLint<'_>, profile: Profile, found: &mut Findings<'_>) {
    let facts = profile.facts();
    let root = Pointer::root();
    if let Some(rule) = facts.tool_name.filter(|rule| !rule.admits(tool.name)) {
        let what = "the tool's name".to_owned();
        let why = format!("a tool's name matches `{}`", rule.pattern);
        let fix = "rename the tool".to_owned();
        if facts.tool_name_refused {
            found.refused(&root, what, &why, fix);
        } else {
            found.warned(&root, what, &why, fix);
        }
    }
    let length = tool.description.map_or(0, |text| text.chars().count());
    if let Some(most) = facts.limits.description.filter(|most| length > *most) {
        found.warned(
            &root,
            format!("a description of {length} characters"),
            &format!("some models refuse more than {most}"),
            "shorten it".to_owned(),
        );
    }
}

fn judge_list(
    tools: usize,
    strict_tools: usize,
    sums: Counts,
    profile: Profile,
    findings: &mut Vec<Finding>,
) {
    let limits = profile.facts().limits;
    let mut found = Findings::new(LIST, profile.facts());
    // Which of its tools a host sends in one request is the host's choice.
    if let Some(most) = limits.tools.filter(|most| tools > *most) {
        found.warned(
            &Pointer::root(),
            format!("{tools} tools"),
            &format!("a request may have at most {most}"),
            "send fewer at once".to_owned(),
        );
    }
    let mut compare = |what: &str, found_number: usize, most: Option<usize>, fix: &str| {
        if let Some(most) = most.filter(|most| found_number > *most) {
            found.refused(
                &Pointer::root(),
                format!("{found_number} {what}"),
                &format!("a request may have at most {most}"),
                fix.to_owned(),
            );
        }
    };
    compare(
        "strict tools",
        strict_tools,
        limits.strict_tools,
        "send some without `strict`",
    );
    compare(
        "optional parameters in strict tools",
        sums.optionals,
        limits.optionals,
        "send some without `strict`, or require more parameters",
    );
    compare(
        "union-typed parameters in strict tools",
        sums.unions,
        limits.unions,
        "send some without `strict`",
    );
    findings.extend(found.told());
}

/// What is found of one tool.
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

    fn refused(&mut self, at: &Pointer, what: String, why: &str, fix: String) {
        self.add(Severity::Refused, at, what, why, fix);
    }

    fn warned(&mut self, at: &Pointer, what: String, why: &str, fix: String) {
        self.add(Severity::Warning, at, what, why, fix);
    }

    fn add(&mut self, severity: Severity, at: &Pointer, what: String, why: &str, fix: String) {
        if self.found.len() == REPORTED {
            self.more += 1;
            self.more_refused |= severity == Severity::Refused;
            return;
        }
        self.found.push(Finding {
            tool: self.tool.to_owned(),
            at: at.clone(),
            severity,
            what,
            why: format!("{why} ({})", self.facts.source),
            fix,
        });
    }

    fn told(self) -> Vec<Finding> {
        let mut found = self.found;
        if self.more > 0 {
            found.push(Finding {
                tool: self.tool.to_owned(),
                at: Pointer::root(),
                severity: if self.more_refused {
                    Severity::Refused
                } else {
                    Severity::Warning
                },
                what: format!("and {} more", self.more),
                why: format!("at most {REPORTED} findings a tool are told"),
                fix: "mend those above first".to_owned(),
            });
        }
        found
    }
}

#[cfg(test)]
mod tests;
