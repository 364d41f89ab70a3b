//! Checks a list: each tool, each entry that is not a tool, and the sums over all tools.

use super::{Finding, Findings, Severity, ToLint, schema};
use crate::{Counts, Facts, PassedEntry, Profile, ToolList, profile::GEMINI_JSON_SCHEMA};
use crossfeed_wire::Pointer;
use std::collections::HashMap;

/// How a finding names the list as a whole.
const LIST: &str = "(list)";

/// Checks a tool list against a profile.
///
/// A tool that is marked as not strict is checked against the plain counterpart. The findings are in the
/// order of the tools; those of the list come last.
///
/// ```
/// use crossfeed_tools::{Profile, ToLint, lint};
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
pub fn lint(tools: &[ToLint<'_>], profile: Profile) -> Vec<Finding> {
    let mut linter = ListLinter::new(profile);
    for tool in tools {
        linter.tool(tool, None, true);
    }
    let mut findings = std::mem::take(&mut linter.found);
    findings.extend(judge_sums(&linter));
    findings
}

/// Checks a tool list against a profile, in the document in which it would be sent.
///
/// Beside the findings of [`lint`], it reports tools without a schema and entries that are not tools.
///
/// ```
/// use crossfeed_tools::{Profile, ToolList, lint_list};
/// use serde_json::json;
///
/// let list = ToolList::parse(&json!([{"name": "get"}, 7]))?;
/// let findings = lint_list(&list, Profile::Mcp);
/// let lines: Vec<_> = findings.iter().map(ToString::to_string).collect();
/// assert_eq!(
///     lines,
///     [
///         "get: there is no schema; a tool has one (MCP specification, server/tools); write {\"type\": \"object\", \"properties\": {}}",
///         "/1: it is not an object; an entry of the list is a tool (MCP specification, server/tools); mend it or leave it out",
///     ]
/// );
/// # Ok::<(), crossfeed_tools::ToolListError>(())
/// ```
pub fn lint_list(list: &ToolList, profile: Profile) -> Vec<Finding> {
    let schemas: Vec<_> = list
        .tools()
        .map(|tool| (tool, tool.sent_schema()))
        .collect();
    let mut linter = ListLinter::new(profile);
    for (tool, schema) in &schemas {
        let by_json_schema = profile == Profile::Gemini && tool.is_gemini_json_schema();
        let facts = by_json_schema.then_some(GEMINI_JSON_SCHEMA);
        let lint = ToLint {
            name: tool.name(),
            description: tool.description(),
            input_schema: schema,
            strict: tool.strict(),
        };
        linter.tool(&lint, facts, !tool.lacks_schema());
    }
    let mut findings = std::mem::take(&mut linter.found);
    for passed in list.passed() {
        findings.extend(judge_passed(list, passed, profile));
    }
    findings.extend(judge_sums(&linter));
    findings
}

/// The findings and sums so far.
struct ListLinter<'t> {
    profile: Profile,
    names: HashMap<&'t str, usize>,
    tools: usize,
    strict_tools: usize,
    sums: Counts,
    found: Vec<Finding>,
}

impl<'t> ListLinter<'t> {
    fn new(profile: Profile) -> Self {
        Self {
            profile,
            names: HashMap::new(),
            tools: 0,
            strict_tools: 0,
            sums: Counts::default(),
            found: Vec::new(),
        }
    }

    /// Checks one tool, against `facts` in place of the profile's if there are any.
    fn tool(&mut self, tool: &ToLint<'t>, facts: Option<&'static Facts>, has_schema: bool) {
        self.tools += 1;
        let strict = self.profile.is_strict() && tool.strict != Some(false);
        let judged = if strict {
            self.profile
        } else {
            self.profile.plain()
        };
        let facts = facts.unwrap_or_else(|| judged.facts());
        let mut found = Findings::new(tool.name, facts);
        let times = self.names.entry(tool.name).or_default();
        *times += 1;
        if *times == 2 {
            found.refused(
                &Pointer::root(),
                "another tool has the same name",
                "each name stands for one tool",
                "rename one of them",
            );
        }
        judge_name(tool, facts, &mut found);
        if has_schema {
            let counts = schema::judge(tool.input_schema, facts, &mut found);
            if strict {
                self.sums.optionals += counts.optionals;
                self.sums.unions += counts.unions;
            }
        } else if facts.schema_required {
            found.refused(
                &Pointer::root(),
                "there is no schema",
                "a tool has one",
                "write {\"type\": \"object\", \"properties\": {}}",
            );
        }
        self.strict_tools += usize::from(strict);
        self.found.extend(found.into_list());
    }
}

/// Checks an entry that is not a tool; there is no finding if the provider runs it or takes it as it is.
fn judge_passed(list: &ToolList, passed: &PassedEntry, profile: Profile) -> Vec<Finding> {
    let (why, fix) = match profile {
        // A client of MCP has no provider that runs tools for it.
        Profile::Mcp if passed.is_hosted => ("a tool has a schema", "leave it out"),
        _ if passed.is_hosted => return Vec::new(),
        _ if profile.plain() == Profile::OpenAi && list.is_custom(passed) => return Vec::new(),
        _ => ("an entry of the list is a tool", "mend it or leave it out"),
    };
    // An entry may have no name, and the name of another.
    let mut found = Findings::new(passed.at.as_str(), profile.facts());
    let root = Pointer::root();
    found.refused(&root, passed.why, why, fix);
    found.into_list()
}

fn judge_name(tool: &ToLint<'_>, facts: &Facts, found: &mut Findings<'_>) {
    let root = Pointer::root();
    if let Some(rule) = facts.tool_name.filter(|rule| !rule.admits(tool.name)) {
        let why = format!("a tool's name matches `{}`", rule.pattern);
        let severity = Severity::new(facts.tool_name_refused);
        found.add(severity, &root, "the tool's name", &why, "rename the tool");
    }
    let length = tool.description.map_or(0, |text| text.chars().count());
    if let Some(most) = facts.limits.description.filter(|most| length > *most) {
        found.warned(
            &root,
            format!("a description of {length} characters"),
            &format!("some models refuse more than {most}"),
            "shorten it",
        );
    }
}

/// The findings about the list as a whole.
fn judge_sums(linter: &ListLinter<'_>) -> Vec<Finding> {
    let facts = linter.profile.facts();
    let limits = facts.limits;
    let (tools, sums) = (linter.tools, linter.sums);
    let mut found = Findings::new(LIST, facts);
    // A host may send only some of its tools in one request.
    if let Some(most) = limits.tools.filter(|most| tools > *most) {
        found.warned(
            &Pointer::root(),
            format!("{tools} tools"),
            &format!("a request may have at most {most}"),
            "send fewer at once",
        );
    }
    let fewer = "send some without `strict`";
    let fewer_or_more = "send some without `strict`, or require more parameters";
    for (what, number, limit, fix) in [
        (
            "strict tools",
            linter.strict_tools,
            limits.strict_tools,
            fewer,
        ),
        (
            "optional parameters in strict tools",
            sums.optionals,
            limits.optionals,
            fewer_or_more,
        ),
        (
            "union-typed parameters in strict tools",
            sums.unions,
            limits.unions,
            fewer,
        ),
    ] {
        found.limited(what, number, limit, "a request", fix);
    }
    found.into_list()
}
