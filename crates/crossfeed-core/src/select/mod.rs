//! Selects the value that a model meant by an expression.
//!
//! The order of steps is normative in `specs/select.md`.

mod cache;
mod declared;
mod empty;
mod guess;
mod miss;
mod notice;
mod parts;
mod quoted;
mod readings;
mod report;
mod rewrite;
#[cfg(test)]
mod tests;
mod texts;
mod trace;

pub(crate) use cache::Selectors;
pub(crate) use declared::{DeclaredOutput, DeclaredOutputs};
pub(crate) use guess::guesses;
pub(crate) use miss::{MAX_CHOICE, OFFERED};
pub(crate) use parts::{is_of_whole, paths_of};
pub use report::{AnsweringView, Notice, Oddity, SelectReport};
pub(crate) use rewrite::near;
pub(crate) use trace::{masked_failed_selector, masked_selector};

use self::{
    readings::{Reading, prefix_chars, readings_on, strip_prefix},
    trace::SelectTrace,
};
use crate::{
    canonical::Views,
    error::{SelectError, quotable},
    paths::{Outline, in_part},
    telemetry::Telemetry,
};
use crossfeed_jmespath::{
    Arena, Budget, Cost, Doubt, Emptiness, EvalError, Expression, Foreign, Limits, ParseError,
    TypeMismatch, View, emptiness, equal, evaluate,
    guard::Patterns,
    repair::{self, Candidate},
};
use derive_setters::Setters;
use std::{cell::Cell, sync::Arc};

/// The limits of selectors: their text and their cost.
///
/// ```
/// use crossfeed_core::{EngineOptions, SelectOptions};
///
/// let select = SelectOptions::default().with_max_chars(200);
/// let options = EngineOptions::default().with_select(select);
/// ```
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct SelectOptions {
    /// The most characters of an expression, 1,000 by default: far more than any model needs, and
    /// few enough to be quoted in an error.
    pub max_chars: usize,
    /// Patterns that no expression may hold.
    pub patterns: Patterns,
    /// The limits of one selection.
    pub limits: Limits,
}

impl Default for SelectOptions {
    fn default() -> Self {
        Self {
            max_chars: 1000,
            patterns: Patterns::default(),
            limits: Limits::default(),
        }
    }
}

impl SelectOptions {
    /// Whether the text of a selector is refused, whatever the value. A selector that does not parse may
    /// still be repaired.
    pub(crate) fn refuses(&self, selector: &str) -> bool {
        let text = selector.trim();
        let text = quoted::in_template(text).unwrap_or(text);
        let read = strip_prefix(text).unwrap_or(text);
        text.is_empty()
            || read.chars().count() > self.max_chars
            || self.patterns.check(text).is_err()
    }

    /// Whether a selector passes the guards, so that it may be offered.
    pub(crate) fn admits(&self, selector: &str) -> bool {
        selector.chars().count() <= self.max_chars && self.patterns.check(selector).is_ok()
    }
}

/// A selected value and how it was found.
#[derive(Clone, Debug)]
pub(crate) struct Selection<'a> {
    pub(crate) view: View<'a>,
    pub(crate) report: SelectReport,
}

/// The outcome of one reading.
enum Outcome<'a> {
    Selected(Selection<'a>),
    /// An empty list that the expression built, or another value that may be no answer.
    Emptied(Selection<'a>, &'a Expression, Emptiness),
    Nothing(&'a Expression),
}

/// Selects from a result.
pub(crate) struct Selector<'a, 'v> {
    pub(crate) options: &'v SelectOptions,
    pub(crate) compiled: &'v Selectors,
    pub(crate) views: &'v Views<'a>,
    /// The outline of the view that paths are offered on.
    pub(crate) outline: &'v Outline,
    /// What the tool says that it returns.
    pub(crate) declared: Option<Arc<DeclaredOutput>>,
    pub(crate) arena: &'a Arena,
    pub(crate) budget: &'v Budget,
    /// How many more misses may be explained.
    pub(crate) explanations: &'v Cell<usize>,
    /// How many selectors an error offers, from which those that fit a parameter may be chosen later.
    pub(crate) offers: usize,
    /// Receives the duration.
    pub(crate) telemetry: Option<&'v dyn Telemetry>,
}

/// Why a reading failed.
enum ReadError {
    Parse(ParseError),
    Mismatch(Box<TypeMismatch>),
    Refused(SelectError),
}

/// The most readings that gave null which are looked at.
const MAX_NULLS: usize = 8;

/// Why no reading of an expression gave a value.
#[derive(Default)]
struct Miss<'a> {
    parse_error: Option<ParseError>,
    mismatch: Option<Box<TypeMismatch>>,
    /// A reading that gave an empty answer, which is none.
    emptied: Option<Emptied<'a>>,
    /// Readings that gave null, of the text as it was written or repaired.
    nulls: Vec<(&'a Expression, View<'a>)>,
}

impl<'a> Miss<'a> {
    /// With what another miss knows besides.
    fn or(mut self, other: Self) -> Self {
        self.emptied = self.emptied.or(other.emptied);
        let room = MAX_NULLS.saturating_sub(self.nulls.len());
        self.nulls.extend(other.nulls.into_iter().take(room));
        self
    }

    fn add_null(&mut self, expression: &'a Expression, view: &View<'a>) {
        if self.nulls.len() < MAX_NULLS {
            self.nulls.push((expression, view.clone()));
        }
    }
}

/// A reading that gave an empty answer, which is none.
struct Emptied<'a> {
    expression: &'a Expression,
    view: View<'a>,
    doubt: Doubt<'a>,
}

impl<'a, 'v> Selector<'a, 'v> {
    /// Selects with the expression as it was written. The budget also covers writing the value out.
    pub(crate) fn select(&self, written: &'a str) -> Result<Selection<'a>, SelectError> {
        let trace = SelectTrace::begin(self.telemetry);
        let selection = trace.span.in_scope(|| self.try_select(written));
        trace.end(
            written,
            selection.as_ref().map(|selection| &selection.report),
        );
        selection
    }

    /// The same without a trace.
    pub(crate) fn try_select(&self, written: &'a str) -> Result<Selection<'a>, SelectError> {
        let quoted = quotable(written);
        let selection = self.find(written, &quoted)?;
        match selection.view.unfold(self.budget) {
            Ok(()) => Ok(selection),
            Err(cost) => Err(too_costly(&quoted, cost.to_string())),
        }
    }

    /// Finds the value; `written` is how messages quote the expression.
    fn find(&self, full: &'a str, written: &str) -> Result<Selection<'a>, SelectError> {
        let text = full.trim();
        if text.is_empty() {
            return Err(SelectError::Blank);
        }
        let stripped = strip_prefix(text);
        self.check_length(text, stripped.unwrap_or(text))?;
        if let Some(selection) = self.unquoted(written, text)? {
            return Ok(selection);
        }
        self.check_patterns(written, text)
            .map_err(|error| match error {
                SelectError::Forbidden {
                    expression, source, ..
                } if self.explains() => {
                    let root = self.views.offered(self.arena, self.budget);
                    let nearest = self.guessed(text, &[root]);
                    SelectError::Forbidden {
                        expression,
                        source,
                        nearest,
                    }
                }
                error => error,
            })?;
        let is_foreign = self.compiled.get(stripped.unwrap_or(text)).is_err();
        let found = self.everywhere(written, text, stripped, is_foreign)?;
        found.map_err(|miss| self.explained(written, stripped.unwrap_or(text), miss))
    }

    /// The value of the first reading on the JSON that texts hold.
    fn on_shown(
        &self,
        written: &str,
        text: &'a str,
        stripped: Option<&'a str>,
    ) -> Result<Result<Selection<'a>, Miss<'a>>, SelectError> {
        let mut miss = Miss::default();
        for view in self.views.shown_json(self.arena, self.budget) {
            let readings = readings_on(&view, AnsweringView::Shown, text, stripped);
            match self.first(written, text, &readings.collect::<Vec<_>>())? {
                Ok(selection) => return Ok(Ok(selection)),
                Err(other) => miss = miss.or(other),
            }
        }
        Ok(Err(miss))
    }

    /// The value of the first reading on any view.
    fn everywhere(
        &self,
        written: &str,
        text: &'a str,
        stripped: Option<&'a str>,
        is_shown_first: bool,
    ) -> Result<Result<Selection<'a>, Miss<'a>>, SelectError> {
        let readings = self.readings(text, stripped);
        // What is not JMESPath means what was shown, of which `@` may be all.
        let is_shown_first = is_shown_first && self.views.is_wrapped();
        let mut miss = Miss::default();
        if is_shown_first {
            match self.on_shown(written, text, stripped)? {
                Ok(selection) => return Ok(Ok(selection)),
                Err(other) => miss = other,
            }
        }
        match self.first(written, text, &readings)? {
            Ok(selection) => return Ok(Ok(selection)),
            Err(other) => miss = other.or(miss),
        }
        if !is_shown_first {
            match self.on_shown(written, text, stripped)? {
                Ok(selection) => return Ok(Ok(selection)),
                Err(other) => miss = miss.or(other),
            }
        }
        Ok(match self.as_shown(written, text, stripped)? {
            Some(selection) => Ok(selection),
            None => Err(miss),
        })
    }

    /// The error of an expression that selects nothing.
    fn explained(&self, written: &str, text: &'a str, miss: Miss<'a>) -> SelectError {
        let root = self.views.offered(self.arena, self.budget);
        let shape = self.outline.shape(&root);
        let (mut nearest, mut why) = (Vec::new(), None);
        let foreign = miss.parse_error.as_ref();
        let foreign = foreign.and_then(|_| self.foreign(text));
        // Names are only needed to explain the miss.
        if self.explains() {
            let understood = self.understood(text);
            // What is tried to correct: what was evaluated, else what was understood, else its other readings.
            let mut tried = Vec::new();
            let mut tried_first = None;
            let mut is_near = false;
            let mut is_refused = false;
            let mut views = vec![root.clone()];
            let doubted = |text: &str| {
                let expression = self.compiled.get(text).ok()?;
                let expression = self.arena.keep(expression);
                let doubts = self.doubts(expression, &root);
                let doubt = doubts.first()?;
                Some(self.reason(expression.text(), doubt))
            };
            let is_within = self.views.inner(self.arena, self.budget).is_some();
            if !is_within {
                let shown = self.views.shown_json(self.arena, self.budget);
                let at = if self.views.is_wrapped() { 0 } else { 1 };
                views.splice(at..at, shown);
            }
            let gives = |text: &str, filled: bool| {
                let works = |view| miss::works(text, view, self.arena, self.budget, filled);
                self.options.admits(text) && views.iter().any(works)
            };
            let works = |text: &str| gives(text, false);
            if let Some(emptied) = &miss.emptied {
                let text = emptied.expression.text();
                if is_within {
                    why = doubted(text);
                } else {
                    tried_first = Some(emptied.view.clone());
                }
                why = why.or_else(|| Some(self.reason(text, &emptied.doubt)));
                tried.push(text.to_owned());
            } else if let Some(refused) = self.refused(text, &miss.nulls) {
                why = Some(refused);
                is_refused = true;
            } else if let Some(understood) = &understood {
                if !understood.is_plain_path() {
                    why = doubted(understood.text());
                }
                tried.push(understood.text().to_owned());
                let others = self.candidates(text).into_iter();
                tried.extend(others.map(|candidate| candidate.expression));
            }
            if let Some(rest) = in_part(text) {
                let works = miss::works(rest, &root, self.arena, self.budget, false);
                nearest.extend(works.then(|| rest.to_owned()));
                tried.push(rest.to_owned());
            }
            if let Some(part) = foreign.as_ref().and_then(|found| found.understood.clone()) {
                nearest.extend(gives(&part, true).then(|| part.clone()));
                tried.push(part);
            }
            let called = miss.parse_error.as_ref();
            let called = called.and_then(|error| miss::called(text, error));
            let called = called.filter(|text| works(text));
            let is_called = called.is_some();
            nearest.extend(called);
            let tried = tried.iter().flat_map(|text| {
                tried_first
                    .iter()
                    .chain(&views)
                    .map(move |view| (text, view))
            });
            for (text, view) in tried {
                if !nearest.is_empty() {
                    break;
                }
                (nearest, is_near) = self.edited(text, view, OFFERED);
            }
            // What is put right by one name needs no guess, unless that is a selector in quotes.
            let is_read = is_called
                || is_refused
                || miss.parse_error.is_none() && is_near && !text.contains('"');
            let guessed = if is_read {
                Vec::new()
            } else {
                self.guessed(text, &views)
            };
            for guess in guessed {
                if nearest.len() < self.offers && !nearest.contains(&guess) {
                    nearest.push(guess);
                }
            }
            let names = understood.as_deref().map(miss::names);
            let wanted = names.unwrap_or_else(|| miss::words(text));
            let projects = is_refused || understood.as_deref().is_some_and(miss::projects);
            // A word for a function is no name.
            let is_call = matches!(
                miss.parse_error,
                Some(ParseError::UnknownFunction {
                    nearest: Some(_),
                    ..
                })
            );
            let lines = self.lines(text, &root);
            let paths = if is_call {
                Vec::new()
            } else {
                self.nearest(&wanted, &root, projects)
            };
            // What leaves out a part of what was written is not evaluated instead, but may be meant.
            let doubtful = self.candidates(text).into_iter();
            let doubtful = doubtful
                .filter(|candidate| candidate.is_doubtful)
                .map(|candidate| candidate.expression)
                .filter(|text| gives(text, true));
            for path in lines.into_iter().chain(doubtful).chain(paths) {
                if nearest.len() < self.offers && !nearest.contains(&path) {
                    nearest.push(path);
                }
            }
        }
        let expression = written.to_owned();
        let is_read = miss.emptied.is_some() || !miss.nulls.is_empty();
        match (is_read, miss.parse_error, miss.mismatch) {
            (false, Some(source), _) => SelectError::Invalid {
                expression,
                source: foreign.map_or(source, |found| ParseError::Foreign(found.into())),
                shape,
                nearest,
            },
            (false, None, Some(source)) => SelectError::Mismatch {
                expression,
                source,
                shape,
                nearest,
            },
            (true, ..) | (false, None, None) => SelectError::MatchedNothing {
                expression,
                why,
                defaults: None,
                shape,
                nearest,
            },
        }
    }

    /// The value of the first reading that gives one, else of the first that can be repaired.
    fn first(
        &self,
        written: &str,
        text: &str,
        readings: &[Reading<'a, '_>],
    ) -> Result<Result<Selection<'a>, Miss<'a>>, SelectError> {
        let mut miss = Miss::default();
        let read = readings.iter().filter(|reading| !reading.is_subscript());
        for reading in read {
            match self.read(written, reading, reading.text) {
                Ok(Outcome::Selected(mut selection)) => {
                    selection.report.notice = self.doubtful(reading, &selection.view);
                    return Ok(Ok(selection));
                }
                Ok(Outcome::Emptied(mut selection, expression, emptiness)) => {
                    let is_list = emptiness == Emptiness::List;
                    let doubts = self.doubts(expression, reading.view);
                    let is_doubted = refusal(&doubts, emptiness).is_some();
                    // An expression that selected nothing may still be a mistake to repair, but only on the
                    // view that answered.
                    if is_list || is_doubted {
                        let only = std::slice::from_ref(reading);
                        if let Some(better) =
                            self.repaired(written, only, true, is_doubted, &mut miss)?
                        {
                            return Ok(Ok(better));
                        }
                    }
                    let Some(number) = refusal(&doubts, emptiness) else {
                        let odd = || self.odd(expression, emptiness, &doubts, reading.view);
                        let field = || self.field_for_text(reading, &selection.view);
                        let notice = self.text_order(reading, &selection.view);
                        selection.report.notice = notice.or_else(odd).or_else(field);
                        return Ok(Ok(selection));
                    };
                    let doubt = doubts.into_iter().nth(number);
                    let emptied = doubt.map(|doubt| Emptied {
                        expression,
                        view: reading.view.clone(),
                        doubt,
                    });
                    miss.emptied = miss.emptied.or(emptied);
                }
                Ok(Outcome::Nothing(expression)) => {
                    miss.add_null(expression, reading.view);
                }
                Err(ReadError::Parse(error)) if error.is_too_costly() => {
                    return Err(too_costly(written, error.to_string()));
                }
                Err(ReadError::Parse(error)) => {
                    // The prefix that was removed before reading; the quoted text still has it.
                    let before = written.chars().take_while(|c| c.is_whitespace()).count()
                        + prefix_chars(text, reading);
                    miss.parse_error.get_or_insert_with(|| moved(error, before));
                }
                Err(ReadError::Mismatch(error)) => {
                    miss.mismatch.get_or_insert(error);
                }
                Err(ReadError::Refused(error)) => return Err(error),
            }
        }
        let parsed = miss.parse_error.is_none();
        let repaired =
            self.repaired(written, readings, parsed, miss.emptied.is_some(), &mut miss)?;
        Ok(repaired.ok_or(miss))
    }

    /// Checks the length of `text`, the part of `written` that is read.
    fn check_length(&self, written: &str, text: &str) -> Result<(), SelectError> {
        let limit = self.options.max_chars;
        // A text has at most as many characters as bytes, so most need no counting.
        if text.len() <= limit || text.chars().count() <= limit {
            return Ok(());
        }
        Err(SelectError::TooLong {
            start: written.trim().chars().take(40).collect(),
            chars: text.chars().count(),
            limit,
        })
    }

    fn check_patterns(&self, written: &str, text: &str) -> Result<(), SelectError> {
        let checked = self.options.patterns.check(text);
        checked.map_err(|source| SelectError::Forbidden {
            expression: written.to_owned(),
            source,
            nearest: Vec::new(),
        })
    }

    /// Evaluates one text on the view of a reading.
    fn read(
        &self,
        written: &str,
        reading: &Reading<'a, '_>,
        text: &str,
    ) -> Result<Outcome<'a>, ReadError> {
        let expression = self.compiled.get(text).map_err(ReadError::Parse)?;
        let expression = self.arena.keep(expression);
        let found = evaluate(expression, reading.view, self.arena, self.budget);
        let found = found.map_err(|error| match error {
            EvalError::Type(mismatch) => ReadError::Mismatch(mismatch),
            EvalError::TooCostly(Cost::Memory) => ReadError::Refused(SelectError::NoMemory {
                expression: written.to_owned(),
            }),
            other => ReadError::Refused(too_costly(written, other.to_string())),
        })?;
        let Some(view) = found else {
            return Ok(Outcome::Nothing(expression));
        };
        let emptiness = self
            .budget
            .spare(|| emptiness(expression, &view, self.budget));
        let selection = Selection {
            view,
            report: SelectReport {
                evaluated: expression.text().to_owned(),
                view: reading.answered,
                prefix_stripped: reading.stripped,
                repairs: Vec::new(),
                notice: None,
            },
        };
        Ok(match emptiness {
            Some(emptiness) => Outcome::Emptied(selection, expression, emptiness),
            None => Outcome::Selected(selection),
        })
    }

    /// Tries the repaired readings. An expression that parsed (`parsed`) is repaired only if that
    /// selects something, or if what it gave is no answer (`doubted`).
    fn repaired(
        &self,
        written: &str,
        readings: &[Reading<'a, '_>],
        parsed: bool,
        doubted: bool,
        miss: &mut Miss<'a>,
    ) -> Result<Option<Selection<'a>>, SelectError> {
        let mut second_best = None;
        for reading in readings {
            let candidates = self.candidates(reading.text).into_iter();
            for candidate in candidates.filter(|candidate| !candidate.is_doubtful) {
                let guarded = self
                    .check_length(written, &candidate.expression)
                    .and_then(|()| self.check_patterns(written, &candidate.expression));
                match guarded {
                    Ok(()) => {}
                    // The original expression is valid; only this repair of it is refused.
                    Err(_) if parsed => continue,
                    Err(error) => return Err(error),
                }
                let outcome = self.read(written, reading, &candidate.expression);
                if let (Some(exact), Ok(outcome)) = (&candidate.exact, &outcome)
                    && !self.agrees(written, reading, exact, outcome)
                {
                    continue;
                }
                match outcome {
                    Ok(Outcome::Selected(mut selection)) => {
                        selection.report.repairs = candidate.repairs;
                        return Ok(Some(selection));
                    }
                    Ok(Outcome::Emptied(mut selection, expression, emptiness))
                        if (!parsed || doubted) && second_best.is_none() =>
                    {
                        let doubts = self.doubts(expression, reading.view);
                        if let Some(doubt) = doubts.into_iter().next() {
                            miss.emptied.get_or_insert_with(|| Emptied {
                                expression,
                                view: reading.view.clone(),
                                doubt,
                            });
                            continue;
                        }
                        selection.report.repairs = candidate.repairs;
                        selection.report.notice =
                            self.odd(expression, emptiness, &[], reading.view);
                        second_best = Some(selection);
                    }
                    Ok(Outcome::Nothing(expression)) => {
                        miss.add_null(expression, reading.view);
                    }
                    Ok(_) | Err(ReadError::Parse(_) | ReadError::Mismatch(_)) => {}
                    Err(ReadError::Refused(SelectError::TooCostly { .. })) if parsed => {}
                    Err(ReadError::Refused(error)) => return Err(error),
                }
            }
        }
        Ok(second_best)
    }

    /// Whether an expression gives the same as the outcome of another one.
    fn agrees(
        &self,
        written: &str,
        reading: &Reading<'a, '_>,
        text: &str,
        outcome: &Outcome<'a>,
    ) -> bool {
        let value = |outcome: &Outcome<'a>| match outcome {
            Outcome::Selected(selection) | Outcome::Emptied(selection, ..) => {
                Some(selection.view.clone())
            }
            Outcome::Nothing(_) => None,
        };
        let Ok(other) = self.read(written, reading, text) else {
            return false;
        };
        match (value(outcome), value(&other)) {
            (Some(one), Some(other)) => equal(&one, &other, self.budget).unwrap_or(false),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// What the words of a text may mean on the first of some views on which they mean anything.
    fn guessed(&self, text: &str, views: &[View<'a>]) -> Vec<String> {
        let (arena, budget, options) = (self.arena, self.budget, self.options);
        let mut guessed = views
            .iter()
            .map(|view| budget.spare(|| guesses(text, view, arena, budget, options, self.offers)));
        guessed.find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Whether one more miss may be explained; it counts as explained then.
    fn explains(&self) -> bool {
        let left = self.explanations.get();
        self.explanations.set(left.saturating_sub(1));
        left > 0
    }

    /// The repaired forms of a text.
    fn candidates(&self, text: &str) -> Vec<Candidate> {
        self.with_keys(|has_key| repair::candidates(text, has_key))
    }

    /// The other language that a text is written in, with the part that selectors can say.
    fn foreign(&self, text: &str) -> Option<Foreign> {
        self.with_keys(|has_key| repair::foreign(text, has_key))
    }

    /// The expression of a text as it is written, or of its first repair.
    fn understood(&self, text: &str) -> Option<Arc<Expression>> {
        self.compiled.get(text).ok().or_else(|| {
            let candidate = self.candidates(text).into_iter().next()?;
            self.compiled.get(&candidate.expression).ok()
        })
    }

    /// Gives the test of whether the value has a key.
    fn with_keys<T>(&self, run: impl FnOnce(&dyn Fn(&str) -> bool) -> T) -> T {
        let root = self.views.offered(self.arena, self.budget);
        run(&|key| self.outline.has_key(&root, key))
    }
}

/// The first doubt for which a value is no answer: one of a value that holds nothing, or of an empty part.
fn refusal(doubts: &[Doubt<'_>], emptiness: Emptiness) -> Option<usize> {
    let is_part = emptiness == Emptiness::Within;
    doubts.iter().position(|doubt| !(is_part && doubt.is_null))
}

fn too_costly(written: &str, why: String) -> SelectError {
    SelectError::TooCostly {
        expression: written.to_owned(),
        why,
    }
}

/// A parse error with its position moved by this many characters.
fn moved(error: ParseError, by: usize) -> ParseError {
    match error {
        ParseError::Syntax { position, found } => ParseError::Syntax {
            position: position + by,
            found,
        },
        other => other,
    }
}
