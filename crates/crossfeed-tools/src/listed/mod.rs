//! Rewrites a whole list of tools ([`rewrite_tools`]), and reads back the arguments that a model writes for
//! one of them ([`ListedTool::read`]).
//!
//! # Invariants
//!
//! - One bad tool never spoils the list: it is listed as it came, with its error.
//! - The same list and the same options give the same bytes and the same decisions.

mod asked;
mod branch;
mod budget;
mod error;
mod folds;
mod options;
mod outline;
mod read;
mod rung;
#[cfg(test)]
mod tests;

pub use error::ReadError;
pub use options::{ListOptions, Stop};
pub use outline::Outline;

use crate::{
    Change, Converted, Dropped, Names, Notice, Offers, PassedEntry, Shape, Spelling, Style,
    TakenProjection, ToolList, UnsupportedField, guidance_with, reflect, tool_names,
};
use budget::{Budget, Marks, Presentation};
use crossfeed_schema::SchemaError;
use options::Choice;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// A list of tools as it is shown to a model, and how to read arguments back.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RewrittenList {
    /// The list to show, in the document in which it came.
    pub value: Value,
    /// Its tools, in their order.
    pub tools: Vec<ListedTool>,
    /// Entries that are not tools of the host's, and stay as they came.
    pub passed: Vec<PassedEntry>,
    /// Parts that the new shape has no place for.
    pub lost: Vec<UnsupportedField>,
    /// Names of [`ListOptions::never`] that no tool of the list has, sorted.
    pub unknown_never: Vec<String>,
    /// Names that several tools are shown under, in their order: only the first of each is found.
    /// None under a profile, which renames the others.
    pub repeated: Vec<String>,
    offers: Offers,
}

/// How a tool was rewritten, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The tool's own name.
    pub tool: String,
    /// The style; `None` where it admits no references.
    pub style: Option<Style>,
    /// Whether it is strict; `None` where the profile knows no such thing.
    pub strict: Option<bool>,
    /// The reason.
    pub why: String,
}

/// One tool of a list that is shown.
#[derive(Clone, Debug)]
pub struct ListedTool {
    decision: Decision,
    name: String,
    original: Value,
    shown: Presentation,
    repeatable: bool,
}

/// Rewrites a list of tools.
///
/// A style that is asked for by name is applied to every tool that has parameters. A profile has
/// a ladder of styles, the richest first; each tool, in the order of the list, gets the first of
/// them with which the list so far stays inside the profile's limits and within
/// [`ListOptions::max_added_tokens`]. A later tool never takes a style away from an earlier one.
///
/// ```
/// use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
/// use serde_json::json;
///
/// let tools = json!({"tools": [
///     {"name": "fetch", "inputSchema": {"type": "object", "properties": {"url": {"type": "string"}}}},
///     {"name": "bad", "inputSchema": {"type": "objekt"}},
/// ], "nextCursor": "2"});
/// let listed = rewrite_tools(&ToolList::parse(&tools)?, &ListOptions::style(Style::Inline));
/// assert_eq!(listed.value["nextCursor"], "2");
/// assert_eq!(listed.value["tools"][1], tools["tools"][1]);
/// assert!(listed.find("bad").is_some_and(|tool| tool.error().is_some()));
/// # Ok::<(), crossfeed_tools::ToolListError>(())
/// ```
pub fn rewrite_tools(list: &ToolList, options: &ListOptions) -> RewrittenList {
    // Not every shape has a place for marks, nor for output schemas.
    let marks: Vec<_> = list
        .tools()
        .map(|tool| (Marks::new(&tool), injected(&tool, options)))
        .collect();
    let converted = options.shape.map(|shape| list.to_shape(shape));
    let (list, lost) = match &converted {
        Some(Converted { list, lost }) => (list, lost.clone()),
        None => (list, Vec::new()),
    };
    let own: Vec<_> = list.tools().map(|tool| tool.name()).collect();
    let shown_names = match options.choice {
        Choice::Profile(profile) => tool_names(&own, |name| {
            !profile.facts().tool_name_refused || profile.admits_tool_name(name)
        }),
        Choice::Style(..) => own.iter().map(|name| (*name).to_owned()).collect(),
    };
    let mut budget = Budget::new(options);
    let tools: Vec<_> = list
        .tools()
        .zip(shown_names)
        .zip(marks)
        .map(|((tool, shown_name), (marks, injected))| {
            let shown = if options.is_over() {
                Presentation::unjudged()
            } else {
                budget.take(&tool, marks, injected)
            };
            listed(&tool, shown_name, shown)
        })
        .collect();
    let changes = list.tools().zip(&tools).map(|(tool, listed)| {
        let schema = listed.shown_schema();
        let is_put = listed.shown.error.is_none()
            && (*schema != *tool.input_schema() || gains_schema(&tool, options));
        Change {
            name: (listed.name != tool.name()).then(|| listed.name.clone()),
            input_schema: is_put.then(|| schema.clone()),
            strict: strict_field(&tool, listed, options),
        }
    });
    RewrittenList {
        value: list.to_value_with(changes),
        passed: list.passed().to_vec(),
        unknown_never: unknown_never(&own, options),
        repeated: repeated(&tools),
        offers: options.offers,
        tools,
        lost,
    }
}

fn injected(tool: &crate::Tool<'_>, options: &ListOptions) -> reflect::Parameters {
    let reflection = options.reflections.get(tool.name());
    let mut injected = reflection
        .map(|reflection| reflection.injected(tool.output_schema()))
        .unwrap_or_default();
    if options.wholes.contains(tool.name()) {
        reflect::push_whole(&mut injected);
    }
    injected
}

fn unknown_never(own: &[&str], options: &ListOptions) -> Vec<String> {
    let own: HashSet<_> = own.iter().copied().collect();
    let never = options.never.iter();
    let mut unknown: Vec<_> = never
        .filter(|name| !own.contains(name.as_str()))
        .cloned()
        .collect();
    unknown.sort();
    unknown
}

fn repeated(tools: &[ListedTool]) -> Vec<String> {
    let mut times: HashMap<&str, usize> = HashMap::new();
    let mut repeated = Vec::new();
    for tool in tools {
        let seen = times.entry(tool.shown_name()).or_default();
        *seen += 1;
        if *seen == 2 {
            repeated.push(tool.shown_name().to_owned());
        }
    }
    repeated
}

/// Whether a tool has no schema where its provider asks for one.
fn gains_schema(tool: &crate::Tool<'_>, options: &ListOptions) -> bool {
    matches!(options.choice, Choice::Profile(_))
        && tool.lacks_schema()
        && matches!(tool.shape(), Shape::Mcp | Shape::Anthropic)
}

/// The mark of a tool's strictness.
fn strict_field(
    tool: &crate::Tool<'_>,
    listed: &ListedTool,
    options: &ListOptions,
) -> Option<bool> {
    let Choice::Profile(profile) = options.choice else {
        return None;
    };
    match listed.shown.strict {
        // A tool that is not strict is marked only where it would count as strict.
        Some(true) if tool.shape() == Shape::Mcp => tool.strict().map(|_| true),
        Some(strict) => (tool.shape() != Shape::Gemini).then_some(strict),
        None if tool.shape() == Shape::Mcp || listed.shown.error.is_some() => None,
        None => {
            let taken_for_strict = tool.strict() == Some(true)
                || tool.shape() == Shape::OpenAiResponses && tool.strict().is_none();
            (taken_for_strict && !profile.is_strict()).then_some(false)
        }
    }
}

fn listed(tool: &crate::Tool<'_>, name: String, mut shown: Presentation) -> ListedTool {
    let came = tool.input_schema().into_owned();
    // Of a list that was rewritten before, the tool's own schema is the one without ours.
    let ours = reflect::found(&came);
    let original = if ours.is_empty() {
        came.clone()
    } else {
        reflect::without(&came, &ours)
    };
    let decision = Decision {
        tool: tool.name().to_owned(),
        style: shown.style.map(|(style, _)| style),
        strict: shown.strict,
        why: std::mem::take(&mut shown.why),
    };
    shown.schema.get_or_insert(came);
    ListedTool {
        decision,
        name,
        original,
        shown,
        repeatable: tool.is_repeatable(),
    }
}

impl RewrittenList {
    /// The tool that is shown as `name`.
    pub fn find(&self, name: &str) -> Option<&ListedTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// How each tool was rewritten, in their order.
    pub fn decisions(&self) -> impl Iterator<Item = &Decision> {
        self.tools.iter().map(|tool| &tool.decision)
    }

    /// Guidance for the model about this list: how to write references in each of the styles that it uses,
    /// and how to ask for parts of a result. Empty if no tool admits either.
    pub fn guidance(&self) -> String {
        let mut used: Vec<(Style, Spelling, bool)> = Vec::new();
        for tool in &self.tools {
            let Some((style, spelling)) = tool.shown.style else {
                continue;
            };
            let folds = tool.shown.folded > 0;
            match used
                .iter_mut()
                .find(|(s, p, _)| (*s, *p) == (style, spelling))
            {
                Some((_, _, known)) => *known |= folds,
                None => used.push((style, spelling, folds)),
            }
        }
        let texts = used
            .iter()
            .map(|(style, spelling, folds)| guidance_with(*style, *spelling, *folds, self.offers));
        let reflected = |name| {
            self.tools
                .iter()
                .any(|tool| tool.reflected().contains(&name))
        };
        let parts = reflect::guidance(reflected(reflect::SELECT), reflected(reflect::FIELDS));
        let whole = reflected(reflect::WHOLE).then(|| reflect::WHOLE_GUIDANCE.to_owned());
        texts
            .chain(parts)
            .chain(whole)
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

impl ListedTool {
    /// The tool's own name.
    pub fn name(&self) -> &str {
        &self.decision.tool
    }

    /// The name that the model sees.
    pub fn shown_name(&self) -> &str {
        &self.name
    }

    /// The tool's own schema, which judges the resolved arguments.
    pub fn input_schema(&self) -> &Value {
        &self.original
    }

    /// The schema that the model sees.
    pub fn shown_schema(&self) -> &Value {
        self.shown.schema.as_ref().unwrap_or(&self.original)
    }

    /// How it was rewritten, and why.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The style, where it admits references.
    pub fn style(&self) -> Option<Style> {
        self.decision.style
    }

    /// How the keys of references are spelled, where it admits them.
    pub fn spelling(&self) -> Option<Spelling> {
        self.shown.style.map(|(_, spelling)| spelling)
    }

    /// The key of the references map or list, in the styles that have one.
    pub fn references(&self) -> Option<&str> {
        self.shown.references.as_deref()
    }

    /// Whether its calls may be repeated without harm, see [`Tool::is_repeatable`](crate::Tool::is_repeatable).
    pub fn is_repeatable(&self) -> bool {
        self.repeatable
    }

    /// Whether it is strict; `None` where the profile knows no such thing.
    pub fn strict(&self) -> Option<bool> {
        self.shown.strict
    }

    /// The parameters that are shown under other names.
    pub fn names(&self) -> &Names {
        &self.shown.names
    }

    /// How many places take JSON text in place of the value.
    pub fn folded(&self) -> usize {
        self.shown.folded
    }

    /// Parts that were left as they were, or are shown in another way.
    pub fn notices(&self) -> &[Notice] {
        &self.shown.notices
    }

    /// The keywords that the provider does not take.
    pub fn dropped(&self) -> &[Dropped] {
        &self.shown.dropped
    }

    /// The added parameters that ask for parts of a result: `_select`, `_fields`, `_whole`.
    pub fn reflected(&self) -> &[&'static str] {
        &self.shown.reflected
    }

    /// Takes the added parameters out of arguments. Call it before looking for references, which use `_select`,
    /// too. [`Self::read`] also takes them out, but drops their values. A parameter of the tool's own stays,
    /// and so does a `_whole` that is not a boolean, which [`Self::read`] refuses.
    pub fn take_projection(&self, arguments: &mut Value) -> TakenProjection {
        reflect::take(self.reflected(), self.shown_schema(), arguments)
    }

    /// Why its schema cannot be used. Such a tool is listed as it came, and a call of it that holds a
    /// reference must be refused, because the resolved arguments cannot be validated.
    pub fn error(&self) -> Option<&SchemaError> {
        self.shown.error.as_ref()
    }
}
