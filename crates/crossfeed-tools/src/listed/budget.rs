//! Chooses the style of each tool of a list: the richest rung of the profile's ladder that keeps the list
//! inside the limits, and why those above it do not.

use super::{
    options::{Choice, ListOptions},
    rung::{Form, Rung, forms, ladder, name, shown},
};
use crate::{
    Counts, Dropped, Facts, Names, Notice, Offers, Profile, STRICT_MARK, Shape, Spelling, Style,
    Tool,
    reflect::{self, Parameters},
    rewrite, rewrite_with,
};
use crossfeed_schema::{SchemaError, check};
use serde_json::Value;
use std::borrow::Cow;

/// Why a tool that has our other parameters already gets no references.
const SHOWN_BEFORE: &str = "it was shown before without references";

/// How one tool is shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Presentation {
    /// The schema; `None` where it stays as it came.
    pub(super) schema: Option<Value>,
    pub(super) style: Option<(Style, Spelling)>,
    pub(super) strict: Option<bool>,
    pub(super) references: Option<String>,
    pub(super) folded: usize,
    pub(super) names: Names,
    pub(super) notices: Vec<Notice>,
    pub(super) dropped: Vec<Dropped>,
    pub(super) reflected: Vec<&'static str>,
    /// Whether the host lets it take references, whatever its parameters are.
    pub(super) chained: bool,
    pub(super) error: Option<SchemaError>,
    pub(super) why: String,
}

impl Presentation {
    /// As it came, unread.
    pub(super) fn unjudged() -> Self {
        as_it_came(SchemaError::Unjudged)
    }
}

/// A tool's marks in the list as it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks {
    chained: bool,
    not_strict: bool,
}

impl Marks {
    pub(super) fn new(tool: &Tool<'_>) -> Self {
        let is_marked = |key: &str| tool.meta(key) == Some(&Value::Bool(false));
        Self {
            chained: tool.is_chained(),
            not_strict: tool.shape() == Shape::Mcp && is_marked(STRICT_MARK),
        }
    }
}

/// How much of a list's limits the tools so far use.
pub(super) struct Budget<'o> {
    options: &'o ListOptions,
    strict_tools: usize,
    optionals: usize,
    unions: usize,
    added: usize,
    forms: &'static [Form],
}

/// How much of the limits one tool would use.
struct ToolCost {
    counts: Counts,
    added: usize,
}

impl<'o> Budget<'o> {
    pub(super) fn new(options: &'o ListOptions) -> Self {
        Self {
            options,
            strict_tools: 0,
            optionals: 0,
            unions: 0,
            added: 0,
            forms: match options.choice {
                Choice::Profile(profile) => forms(profile),
                Choice::Style(..) => &[],
            },
        }
    }

    /// Decides how the next tool of the list is shown.
    pub(super) fn take(
        &mut self,
        tool: &Tool<'_>,
        marks: Marks,
        injected: Parameters,
    ) -> Presentation {
        let own = tool.input_schema();
        let ours = reflect::found(&own);
        let alone = if ours.is_empty() {
            self.left_alone(tool, marks, &own)
        } else {
            self.left_alone(tool, marks, &reflect::without(&own, &ours))
                .or_else(|| (!is_rewritten(&own)).then_some(SHOWN_BEFORE))
        };
        let mut shown = self.shown(tool, &own, (marks, alone), injected);
        shown.chained = marks.chained && !self.options.never.contains(tool.name());
        if shown.error.is_none() && !ours.is_empty() {
            let added = std::mem::take(&mut shown.reflected);
            let all = reflect::ALL.into_iter();
            shown.reflected = all
                .filter(|name| added.contains(name) || ours.contains(name))
                .collect();
        }
        shown
    }

    fn shown(
        &mut self,
        tool: &Tool<'_>,
        own: &Value,
        (marks, alone): (Marks, Option<&'static str>),
        injected: Parameters,
    ) -> Presentation {
        match self.options.choice {
            Choice::Style(style, spelling) => {
                let style = (style, spelling, self.options.offers);
                by_name(own, style, alone, injected)
            }
            Choice::Profile(profile) => {
                let again = self.again(tool, profile);
                let names = Names::new(own, |name, at_root| profile.admits_property(name, at_root));
                // Rewriting also checks the schema, which takes most of its time.
                let is_judged = again.is_none() && alone.is_none() && names.is_empty();
                if !is_judged && let Err(error) = check(own) {
                    return as_it_came(error);
                }
                if let Some(shown) = again {
                    return shown;
                }
                let renamed = if names.is_empty() {
                    Cow::Borrowed(own)
                } else {
                    Cow::Owned(names.apply(own))
                };
                let injected = if injected.is_empty() || check(own).is_ok() {
                    injected.free_in(&renamed)
                } else {
                    Parameters::default()
                };
                let shown = self.climb((marks, alone), profile, (own, &renamed), &injected);
                Presentation { names, ..shown }
            }
        }
    }

    /// A tool that was rewritten for this profile before.
    fn again(&mut self, tool: &Tool<'_>, profile: Profile) -> Option<Presentation> {
        let sent = tool.sent_schema();
        let form = self.forms.iter().find(|form| {
            let property = sent.get("properties").and_then(|own| own.get(&form.key));
            property == Some(&form.schema)
        })?;
        let (rung, key) = (form.rung, form.key.clone());
        let counts = Counts::new(&sent);
        self.spend(&ToolCost { counts, added: 0 }, rung);
        Some(Presentation {
            style: rung.style,
            strict: profile.is_strict().then_some(rung.strict),
            references: Some(key),
            why: "it admits references already".to_owned(),
            ..Presentation::default()
        })
    }

    /// Why a tool admits no references whatever the style.
    fn left_alone(&self, tool: &Tool<'_>, marks: Marks, schema: &Value) -> Option<&'static str> {
        if !marks.chained {
            return Some("it is marked as never chained");
        }
        if self.options.never.contains(tool.name()) {
            return Some("it is never chained by option");
        }
        takes_nothing(schema).then_some("it has no parameters")
    }

    fn climb(
        &mut self,
        (marks, alone): (Marks, Option<&'static str>),
        profile: Profile,
        (own, renamed): (&Value, &Value),
        injected: &Parameters,
    ) -> Presentation {
        let marked = marks.not_strict;
        let mut refused: Vec<String> = Vec::new();
        if marked && profile.is_strict() {
            refused.push("it is marked as not strict".to_owned());
        }
        let rungs: Vec<_> = ladder(profile)
            .into_iter()
            .filter(|rung| (alone.is_none() || rung.style.is_none()) && !(marked && rung.strict))
            // References are worth more than the choice of fields.
            .flat_map(|rung| {
                let reflects = (!injected.is_empty()).then_some(true);
                let each = reflects.into_iter().chain([false]);
                each.map(move |reflects| Rung { reflects, ..rung })
            })
            .collect();
        for (index, rung) in rungs.iter().enumerate() {
            let is_last = index + 1 == rungs.len();
            let facts_of = if rung.strict {
                profile
            } else {
                profile.plain()
            };
            let facts = facts_of.facts();
            let mut shown = match shown(renamed, *rung, facts_of, (injected, self.options.offers)) {
                Ok(shown) => shown,
                Err(error) => {
                    if let Err(error) = check(own) {
                        return as_it_came(error);
                    }
                    refused.push(format!("{}: {error}", name(*rung, profile)));
                    continue;
                }
            };
            let schema = shown.schema.as_ref().unwrap_or(renamed);
            let used = ToolCost {
                counts: Counts::new(schema),
                added: self.added_tokens(own, schema, &shown),
            };
            if let Some(over) = self.over(&used, *rung, facts).filter(|_| !is_last) {
                refused.push(format!("{} {over}", name(*rung, profile)));
                continue;
            }
            self.spend(&used, *rung);
            shown.strict = profile.is_strict().then_some(rung.strict);
            shown.why = why(profile, alone, &refused);
            return shown;
        }
        Presentation {
            why: why_not(alone, &refused),
            strict: profile.is_strict().then_some(false),
            ..Presentation::default()
        }
    }

    /// Which limit a tool would break; the first of them in a fixed order.
    fn over(&self, used: &ToolCost, rung: Rung, facts: &Facts) -> Option<String> {
        let ToolCost { counts, added } = used;
        let limits = &facts.limits;
        let sum = |so_far: usize, more: usize| if rung.strict { so_far + more } else { 0 };
        let optionals = sum(self.optionals, counts.optionals);
        let unions = sum(self.unions, counts.unions);
        let strict_tools = sum(self.strict_tools, 1);
        let added = self.added + added;
        let uses = [
            ("levels", counts.depth, limits.depth),
            ("properties", counts.properties, limits.properties),
            ("enum values", counts.enum_values, limits.enum_values),
            ("characters of names", counts.characters, limits.characters),
            ("strict tools", strict_tools, limits.strict_tools),
            ("optional parameters", optionals, limits.optionals),
            ("union-typed parameters", unions, limits.unions),
            ("added tokens", added, self.options.max_added_tokens),
        ];
        uses.into_iter().find_map(|(what, value, limit)| {
            let limit = limit.filter(|limit| value > *limit)?;
            Some(format!(
                "would make {value} {what} where {limit} are allowed"
            ))
        })
    }

    fn spend(&mut self, used: &ToolCost, rung: Rung) {
        self.added += used.added;
        if rung.strict {
            self.strict_tools += 1;
            self.optionals += used.counts.optionals;
            self.unions += used.counts.unions;
        }
    }

    /// By how many tokens a schema grows; a tool without references costs nothing.
    fn added_tokens(&self, own: &Value, schema: &Value, shown: &Presentation) -> usize {
        let adds = shown.style.is_some() || !shown.reflected.is_empty();
        if self.options.max_added_tokens.is_none() || !adds {
            return 0;
        }
        let count = |schema: &Value| self.options.tokens.count(&schema.to_string());
        count(schema).saturating_sub(count(own))
    }
}

/// Whether a schema admits references already, so that rewriting leaves it as it is.
fn is_rewritten(schema: &Value) -> bool {
    let again = rewrite(schema, Style::Inline, Style::Inline.spelling());
    again.is_ok_and(|again| again.schema == *schema)
}

/// Whether a schema declares nothing that a reference could be put into.
fn takes_nothing(schema: &Value) -> bool {
    let Value::Object(schema) = schema else {
        return schema == &Value::Bool(false);
    };
    let is_empty = |key: &str| {
        let inner = schema.get(key);
        inner.is_none_or(|inner| inner.as_object().is_some_and(serde_json::Map::is_empty))
    };
    // A schema that takes any parameter takes a reference.
    let rest = schema.get("additionalProperties");
    let closed = rest.is_none_or(Value::is_boolean);
    let composed = [
        "$ref",
        "$dynamicRef",
        "allOf",
        "anyOf",
        "oneOf",
        "if",
        "dependentSchemas",
        "dependencies",
    ];
    is_empty("properties")
        && is_empty("patternProperties")
        && closed
        && !composed.iter().any(|key| schema.contains_key(*key))
}

/// A style that the host chose: it is applied whatever it costs.
fn by_name(
    own: &Value,
    (style, spelling, offers): (Style, Spelling, Offers),
    alone: Option<&str>,
    injected: Parameters,
) -> Presentation {
    if let Some(alone) = alone {
        if let Err(error) = check(own) {
            return as_it_came(error);
        }
        let mut schema = own.clone();
        let reflected = injected.free_in(own).put(&mut schema);
        return Presentation {
            schema: (!reflected.is_empty()).then_some(schema),
            reflected,
            why: alone.to_owned(),
            ..Presentation::default()
        };
    }
    match rewrite_with(own, style, spelling, offers) {
        Ok(mut rewritten) => Presentation {
            reflected: injected.free_in(own).put(&mut rewritten.schema),
            schema: Some(rewritten.schema),
            style: Some((style, spelling)),
            references: rewritten.references,
            notices: rewritten.notices,
            why: "the style was asked for".to_owned(),
            ..Presentation::default()
        },
        Err(error) => as_it_came(error),
    }
}

fn as_it_came(error: SchemaError) -> Presentation {
    Presentation {
        why: format!("its schema cannot be used: {error}"),
        error: Some(error),
        ..Presentation::default()
    }
}

fn why(profile: Profile, alone: Option<&str>, refused: &[String]) -> String {
    match alone {
        None if refused.is_empty() => format!("the richest style of {profile}"),
        alone => why_not(alone, refused),
    }
}

fn why_not(alone: Option<&str>, refused: &[String]) -> String {
    let reasons = alone.into_iter().chain(refused.iter().map(String::as_str));
    reasons.collect::<Vec<_>>().join("; ")
}
