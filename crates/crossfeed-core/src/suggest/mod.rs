//! Suggests selectors whose values fit a parameter, and filters given selectors by the same test.

mod intent;
mod parameter;
mod place;
mod reshape;
#[cfg(test)]
mod tests;

pub(crate) use intent::ParameterIntent;
pub use parameter::{ParameterError, ParameterSchema};
pub(crate) use reshape::reshaped;

use crate::{
    canonical::Views,
    paths::{Candidate, candidates, member, relevance},
    select::{MAX_CHOICE, SelectOptions, guesses, near},
    validate::keeps_numbers,
};
use crossfeed_jmespath::{
    Arena, Budget, Expression, Kind, Limits, Node, SpineStep, View, evaluate,
};
use crossfeed_json::Cursor;
use serde_json::Value;
use std::{cmp::Reverse, collections::HashSet, fmt};

/// How many values are tested: each test is a validation.
const MAX_TESTED: usize = 60;
/// The size of the largest value that is tested: the fields of some thousands of records.
const MAX_VALUE_BYTES: usize = 1 << 20;
/// The most bytes of all tested values together.
const MAX_TESTED_BYTES: usize = 4 << 20;
/// The size of the largest text that is tested: as large as references may bring in by default.
const MAX_TEXT_BYTES: usize = 64 << 20;
/// How many texts beyond the limit of other values are tested.
const MAX_LARGE_TEXTS: usize = 2;
/// The steps of one evaluation: a selector that takes more gives too large a value to test.
const MAX_EVALUATION_STEPS: u64 = 300_000;

/// A selector whose value fits a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Suggestion {
    /// The selector; `@` is the whole value.
    pub selector: String,
    /// The JSON type of its value.
    pub kind: Kind,
    /// How many items the value has, if it is a list.
    pub items: Option<usize>,
}

impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.selector)
    }
}

/// A test of whether a value fits. It also gets the digits of a number.
pub(crate) type FitTest<'f> = dyn FnMut(Value, Option<&str>) -> bool + 'f;

/// A value on which selectors are tried.
#[derive(Clone)]
pub(crate) struct Trial<'a, 'v> {
    view: View<'a>,
    /// Other views on which selectors are read, where they give nothing on the first.
    others: Vec<View<'a>>,
    arena: &'a Arena,
    /// For the walk, and for the JSON in strings that it opens.
    budget: &'v Budget,
    /// The limits of selectors: only those that pass are offered.
    options: &'v SelectOptions,
    /// Whether the view is the whole value, which `@` selects.
    whole: bool,
    /// Whether types of values may be repaired for the parameter.
    repairs: bool,
}

impl<'a, 'v> Trial<'a, 'v> {
    /// A trial on a whole value.
    pub(crate) fn new(
        view: View<'a>,
        arena: &'a Arena,
        budget: &'v Budget,
        options: &'v SelectOptions,
    ) -> Self {
        Self {
            view,
            others: Vec::new(),
            arena,
            budget,
            options,
            whole: true,
            repairs: false,
        }
    }

    /// A trial on the view of a result that selectors are offered on.
    pub(crate) fn on(
        views: &Views<'a>,
        arena: &'a Arena,
        budget: &'v Budget,
        options: &'v SelectOptions,
    ) -> Self {
        Self {
            whole: views.inner(arena, budget).is_none(),
            ..Self::new(views.offered(arena, budget), arena, budget, options)
        }
    }

    /// Reads given selectors on the JSON that texts hold, too.
    pub(crate) fn with_shown(mut self, views: &Views<'a>) -> Self {
        if self.whole {
            self.others = views.shown_json(self.arena, self.budget);
        }
        self
    }

    /// Whether types of values may be repaired for the parameter.
    pub(crate) fn with_repairs(self, repairs: bool) -> Self {
        Self { repairs, ..self }
    }

    /// The selectors whose values fit a parameter.
    pub(crate) fn fitting_parameter(
        &self,
        schema: &ParameterSchema,
        most: usize,
    ) -> Vec<Suggestion> {
        let mut steps = schema.steps();
        let mut fits = |value: Value, _: Option<&str>| schema.accepts(&value, &mut steps);
        self.fitting(&schema.intent, most, &mut fits)
    }

    /// The selectors whose values `fits` accepts, best first: those that match the intent best, then those
    /// that a next tool is likely to want, then those nearest to the root, ties in document order. Of places
    /// with the same names one is offered. A value that would lose digits on its way to the tool is not
    /// offered.
    pub(crate) fn fitting(
        &self,
        intent: &ParameterIntent,
        most: usize,
        fits: &mut FitTest<'_>,
    ) -> Vec<Suggestion> {
        let mut found = candidates(&self.view, self.arena, self.budget);
        if self.whole {
            found.insert(0, Candidate::whole(self.view.clone(), "@"));
        } else {
            // Without a name it would be read on the whole value.
            found.retain(|candidate| !candidate.names.is_empty());
        }
        found.sort_by_cached_key(|candidate| {
            let relevance = candidate.names.last().map_or(0, |name| relevance(name));
            let similarity = intent.similarity(candidate);
            (Reverse((similarity, relevance)), candidate.names.len())
        });
        let mut offered = Vec::new();
        let mut places: HashSet<&[String]> = HashSet::new();
        let mut tested = 0;
        let mut left = TestBudget::ALL;
        for candidate in &found {
            for (selector, kind) in selectors(candidate, intent.is_list()) {
                if offered.len() == most || tested == MAX_TESTED {
                    return offered;
                }
                if places.contains(candidate.names.as_slice()) {
                    break;
                }
                if !intent.may_be(kind, self.repairs) || !self.options.admits(&selector) {
                    continue;
                }
                tested += 1;
                let Some(value) = self.value_of(&selector, &self.view, &mut left) else {
                    continue;
                };
                let items = value.json.as_array().map(Vec::len);
                if fits(value.json, value.digits.as_deref()) {
                    places.insert(&candidate.names);
                    offered.push(Suggestion {
                        selector,
                        kind,
                        items,
                    });
                }
            }
        }
        offered
    }

    /// The selectors among those given whose values fit.
    pub(crate) fn filter(&self, selectors: &[String], fits: &mut FitTest<'_>) -> Vec<String> {
        let mut left = TestBudget::ALL;
        let mut fit = |selector: &str| {
            let views = std::iter::once(&self.view).chain(&self.others);
            let mut values = views.filter_map(|view| self.value_of(selector, view, &mut left));
            values
                .next()
                .is_some_and(|value| fits(value.json, value.digits.as_deref()))
        };
        let fitting = selectors.iter().filter(|selector| fit(selector));
        fitting.cloned().collect()
    }

    /// What the words of a text may mean.
    pub(crate) fn guesses(&self, text: &str) -> Vec<String> {
        let most = MAX_CHOICE;
        guesses(
            text,
            &self.view,
            self.arena,
            self.budget,
            self.options,
            most,
        )
    }

    /// The selector with an object built of each object that it gives, of the members that must be there: each is the
    /// field of that name, else the nearest.
    pub(crate) fn built(&self, selector: &str, intent: &ParameterIntent) -> Option<String> {
        let expression = self.arena.keep(Expression::parse(selector).ok()?.into());
        let limits = Limits::default().with_base_steps(MAX_EVALUATION_STEPS);
        let budget = Budget::new(&limits, 0);
        let mut views = std::iter::once(&self.view).chain(&self.others);
        let found =
            views.find_map(|view| evaluate(expression, view, self.arena, &budget).ok()?)?;
        let is_list = found.kind() == Kind::Array;
        let item = if is_list { found.at(0)? } else { found };
        if item.kind() != Kind::Object || intent.required().is_empty() {
            return None;
        }
        let member_of = |name: &String| {
            let field = match item.get(name) {
                Some(_) => member("", name),
                None => near(std::slice::from_ref(&item), name, self.arena, self.budget)
                    .into_iter()
                    .next()?,
            };
            Some(format!("{}: {field}", member("", name)))
        };
        let members: Option<Vec<_>> = intent.required().iter().map(member_of).collect();
        let each = match expression.root() {
            Node::Project(_) | Node::Chain(_) => "",
            _ if is_list => "[*]",
            _ => "",
        };
        Some(format!("{selector}{each}.{{{}}}", members?.join(", ")))
    }

    fn value_of(
        &self,
        selector: &str,
        view: &View<'a>,
        left: &mut TestBudget,
    ) -> Option<TestValue> {
        let expression = Expression::parse(selector).ok()?;
        let limits = Limits::default()
            .with_base_steps(MAX_EVALUATION_STEPS)
            .with_output_bytes(MAX_VALUE_BYTES);
        // Each selector has its own budget, so that one cannot use up another's.
        let budget = Budget::new(&limits, 0);
        let found = evaluate(&expression, view, self.arena, &budget).ok()??;
        let most = MAX_VALUE_BYTES.min(left.bytes);
        // The size is known before the value is built.
        if let Some(cursor) = found.as_cursor().filter(|cursor| cursor.raw().len() > most) {
            return self.large_text(cursor, left);
        }
        let mut rest = most;
        let value = found.to_value(&mut rest).ok();
        left.bytes -= most - rest;
        let json = value.filter(|_| keeps_digits(&found))?;
        let digits = json.is_number().then(|| {
            let mut digits = Vec::new();
            found.write(&mut digits, most).ok()?;
            String::from_utf8(digits).ok()
        });
        Some(TestValue {
            json,
            digits: digits.flatten(),
        })
    }

    /// Tests a text that is too large for most tests, since it may be the one that the parameter wants.
    fn large_text(&self, cursor: Cursor<'_>, left: &mut TestBudget) -> Option<TestValue> {
        let bytes = cursor.raw().len();
        if cursor.kind() != Kind::String || bytes > MAX_TEXT_BYTES {
            return None;
        }
        left.large_texts = left.large_texts.checked_sub(1)?;
        // Twice, because a repair may be tried as well. The arena gives it back.
        let room = bytes.saturating_mul(2);
        self.arena.reservation().reserve(room).ok()?;
        Some(TestValue {
            json: Value::String(cursor.as_str()?.into_owned()),
            digits: None,
        })
    }
}

/// How much more may be tested.
struct TestBudget {
    bytes: usize,
    large_texts: usize,
}

impl TestBudget {
    const ALL: Self = Self {
        bytes: MAX_TESTED_BYTES,
        large_texts: MAX_LARGE_TEXTS,
    };
}

/// A value to be tested.
struct TestValue {
    json: Value,
    /// The digits of a number.
    digits: Option<String>,
}

/// The selectors for a place and for all places like it, each with the type of its value; the latter come
/// first if lists are wanted.
fn selectors(candidate: &Candidate<'_>, lists: bool) -> Vec<(String, Kind)> {
    let one = (candidate.selector.clone(), candidate.view.kind());
    let Some(in_each) = &candidate.in_each else {
        return vec![one];
    };
    let each = (in_each.clone(), Kind::Array);
    if !lists {
        return vec![one, each];
    }
    let flat = flattened(candidate).filter(|flat| flat != in_each);
    let flat = flat.map(|flat| (flat, Kind::Array));
    std::iter::once(each).chain(flat).chain([one]).collect()
}

/// The selector for all places like this one, in all items of the lists on its path.
fn flattened(candidate: &Candidate<'_>) -> Option<String> {
    let expression = Expression::parse(&candidate.selector).ok()?;
    let spine = expression.spine();
    let lists = spine.iter().filter(|s| !matches!(s, SpineStep::Field(_)));
    let ends_in_list = candidate.view.kind() == Kind::Array;
    if lists.count() + usize::from(ends_in_list) < 2 {
        return None;
    }
    let mut text = String::new();
    for step in &spine {
        match step {
            SpineStep::Field(name) => text = member(&text, name),
            SpineStep::Index(_) | SpineStep::Each => text.push_str("[]"),
        }
    }
    if ends_in_list {
        text.push_str("[]");
    }
    Some(text)
}

/// Whether 64 bits hold every number of a value. Depth is bounded by the document.
fn keeps_digits(view: &View<'_>) -> bool {
    match view.as_cursor() {
        Some(cursor) => keeps_numbers(cursor),
        None => {
            view.items().all(|item| keeps_digits(&item))
                && view.members().all(|(_, value)| keeps_digits(&value))
        }
    }
}
