//! Selects the value that a model meant by an expression.
//!
//! The order of steps is normative in `specs/select.md`.

mod cache;
mod empty;
mod miss;
mod quoted;
mod readings;
mod report;
mod rewrite;
#[cfg(test)]
mod tests;
mod trace;

pub(crate) use cache::Selectors;
pub use report::{AnsweringView, Notice, SelectReport};
pub(crate) use trace::{masked_failed_selector, masked_selector};

use self::{
    empty::{Emptiness, emptiness},
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
    Arena, Budget, Cost, Doubt, EvalError, Expression, Foreign, Limits, ParseError, TypeMismatch,
    View, WhyEmpty, doubts, evaluate, guard::Patterns, repair, why_empty,
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
    Nothing,
}

/// Selects from a result.
pub(crate) struct Selector<'a, 'v> {
    pub(crate) options: &'v SelectOptions,
    pub(crate) compiled: &'v Selectors,
    pub(crate) views: &'v Views<'a>,
    /// The outline of the view that paths are offered on.
    pub(crate) outline: &'v Outline,
    pub(crate) arena: &'a Arena,
    pub(crate) budget: &'v Budget,
    /// How many more misses may be explained.
    pub(crate) explanations: &'v Cell<usize>,
    /// Receives the duration.
    pub(crate) telemetry: Option<&'v dyn Telemetry>,
}

/// Why a reading failed.
enum ReadError {
    Parse(ParseError),
    Mismatch(Box<TypeMismatch>),
    Refused(SelectError),
}

/// Why no reading of an expression gave a value.
#[derive(Default)]
struct Miss<'a> {
    parse_error: Option<ParseError>,
    mismatch: Option<Box<TypeMismatch>>,
    /// A reading that gave an empty answer, which is none.
    emptied: Option<Emptied<'a>>,
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
        let selection = trace.span.in_scope(|| self.unfolded(written));
        trace.end(
            written,
            selection.as_ref().map(|selection| &selection.report),
        );
        selection
    }

    fn unfolded(&self, written: &'a str) -> Result<Selection<'a>, SelectError> {
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
        self.check_patterns(written, text)?;
        if let Some(selection) = self.unquoted(written, text)? {
            return Ok(selection);
        }
        let found = self.everywhere(written, text, stripped)?;
        found.map_err(|miss| self.explained(written, stripped.unwrap_or(text), miss))
    }

    /// The value of the first reading on any view.
    fn everywhere(
        &self,
        written: &str,
        text: &'a str,
        stripped: Option<&'a str>,
    ) -> Result<Result<Selection<'a>, Miss<'a>>, SelectError> {
        let readings = self.readings(text, stripped);
        let mut miss = match self.first(written, text, &readings)? {
            Ok(selection) => return Ok(Ok(selection)),
            Err(miss) => miss,
        };
        for view in self.views.shown_json(self.arena, self.budget) {
            let readings = readings_on(&view, AnsweringView::Shown, text, stripped);
            match self.first(written, text, &readings.collect::<Vec<_>>())? {
                Ok(selection) => return Ok(Ok(selection)),
                Err(other) => miss.emptied = miss.emptied.or(other.emptied),
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
        // Names are only needed to explain the miss.
        let left = self.explanations.get();
        self.explanations.set(left.saturating_sub(1));
        let (mut nearest, mut why) = (Vec::new(), None);
        let foreign = miss.parse_error.as_ref();
        let foreign = foreign.and_then(|_| self.foreign(text));
        if left > 0 {
            let understood = self.understood(text);
            // What is tried to correct: what was evaluated, else what was understood, else its other readings.
            let mut tried = Vec::new();
            let mut view = &root;
            let doubted = |text: &str| {
                let expression = self.compiled.get(text).ok()?;
                let expression = self.arena.keep(expression);
                let doubts = doubts(expression, &root, self.arena, self.budget);
                let doubt = doubts.first()?;
                Some(self.reason(expression.text(), doubt))
            };
            if let Some(emptied) = &miss.emptied {
                let text = emptied.expression.text();
                if self.views.inner(self.arena, self.budget).is_some() {
                    why = doubted(text);
                } else {
                    view = &emptied.view;
                }
                why = why.or_else(|| Some(self.reason(text, &emptied.doubt)));
                tried.push(text.to_owned());
            } else if let Some(understood) = &understood {
                if !understood.is_plain_path() {
                    why = doubted(understood.text());
                }
                tried.push(understood.text().to_owned());
                let has_key = |key: &str| self.outline.has_key(&root, key);
                let others = repair::candidates(text, &has_key).into_iter();
                tried.extend(others.map(|candidate| candidate.expression));
            }
            if let Some(rest) = in_part(text) {
                let works = miss::works(rest, &root, self.arena, self.budget);
                nearest.extend(works.then(|| rest.to_owned()));
                tried.push(rest.to_owned());
            }
            if let Some(part) = foreign.as_ref().and_then(|found| found.understood.clone()) {
                if miss::works(&part, view, self.arena, self.budget) && self.options.admits(&part) {
                    nearest.push(part.clone());
                }
                tried.push(part);
            }
            for text in tried {
                if !nearest.is_empty() {
                    break;
                }
                nearest = self.corrections(&text, view, miss::MAX_OFFERED);
            }
            let names = understood.as_deref().map(miss::names);
            let wanted = names.unwrap_or_else(|| miss::words(text));
            let projects = understood.as_deref().is_some_and(miss::projects);
            let paths = self.nearest(&wanted, &root, projects).into_iter();
            for path in paths.chain(self.lines(&root)) {
                if nearest.len() < miss::MAX_OFFERED && !nearest.contains(&path) {
                    nearest.push(path);
                }
            }
        }
        let expression = written.to_owned();
        match (miss.emptied, miss.parse_error, miss.mismatch) {
            (None, Some(source), _) => SelectError::Invalid {
                expression,
                source: foreign.map_or(source, |found| ParseError::Foreign(found.into())),
                shape,
                nearest,
            },
            (None, None, Some(source)) => SelectError::Mismatch {
                expression,
                source,
                shape,
                nearest,
            },
            (Some(_), ..) | (None, None, None) => SelectError::MatchedNothing {
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
        for reading in readings {
            match self.read(written, reading, reading.text) {
                Ok(Outcome::Selected(selection)) => return Ok(Ok(selection)),
                Ok(Outcome::Emptied(mut selection, expression, emptiness)) => {
                    let is_list = emptiness == Emptiness::List;
                    let mut doubts = self.doubts(expression, emptiness, reading.view).into_iter();
                    let doubt = doubts.next();
                    // An expression that selected nothing may still be a mistake to repair, but only on the
                    // view that answered.
                    if is_list || doubt.is_some() {
                        let only = std::slice::from_ref(reading);
                        if let Some(better) =
                            self.repaired(written, only, true, doubt.is_some(), &mut miss)?
                        {
                            return Ok(Ok(better));
                        }
                    }
                    let Some(doubt) = doubt else {
                        if is_list {
                            selection.report.notice = self.notice(expression, reading.view);
                        }
                        return Ok(Ok(selection));
                    };
                    miss.emptied.get_or_insert_with(|| Emptied {
                        expression,
                        view: reading.view.clone(),
                        doubt,
                    });
                }
                Ok(Outcome::Nothing) => {}
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
            return Ok(Outcome::Nothing);
        };
        let emptiness = emptiness(expression, &view, self.budget);
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
        let root = self.views.offered(self.arena, self.budget);
        let has_key = |key: &str| self.outline.has_key(&root, key);
        for reading in readings {
            for candidate in repair::candidates(reading.text, &has_key) {
                let guarded = self
                    .check_length(written, &candidate.expression)
                    .and_then(|()| self.check_patterns(written, &candidate.expression));
                match guarded {
                    Ok(()) => {}
                    // The original expression is valid; only this repair of it is refused.
                    Err(_) if parsed => continue,
                    Err(error) => return Err(error),
                }
                match self.read(written, reading, &candidate.expression) {
                    Ok(Outcome::Selected(mut selection)) => {
                        selection.report.repairs = candidate.repairs;
                        return Ok(Some(selection));
                    }
                    Ok(Outcome::Emptied(mut selection, expression, emptiness))
                        if (!parsed || doubted) && second_best.is_none() =>
                    {
                        let doubts = self.doubts(expression, emptiness, reading.view);
                        if let Some(doubt) = doubts.into_iter().next() {
                            miss.emptied.get_or_insert_with(|| Emptied {
                                expression,
                                view: reading.view.clone(),
                                doubt,
                            });
                            continue;
                        }
                        selection.report.repairs = candidate.repairs;
                        if emptiness == Emptiness::List {
                            selection.report.notice = self.notice(expression, reading.view);
                        }
                        second_best = Some(selection);
                    }
                    Ok(_) | Err(ReadError::Parse(_) | ReadError::Mismatch(_)) => {}
                    Err(ReadError::Refused(SelectError::TooCostly { .. })) if parsed => {}
                    Err(ReadError::Refused(error)) => return Err(error),
                }
            }
        }
        Ok(second_best)
    }

    /// The notice on an empty list; `None` if explaining it would cost too much.
    fn notice(&self, expression: &'a Expression, view: &View<'a>) -> Option<Notice> {
        let why = why_empty(expression, view, self.arena, self.budget).ok()??;
        let left = self.explanations.get();
        self.explanations.set(left.saturating_sub(1));
        let nearest = match left {
            0 => Vec::new(),
            _ => {
                // A projection of a field that is null everywhere would be empty again.
                let refused = matches!(why, WhyEmpty::FilterRefusedAll { .. });
                let projects = refused && miss::projects(expression);
                self.nearest(&miss::names(expression), view, projects)
            }
        };
        Some(Notice { why, nearest })
    }

    /// The other language that a text is written in, with the part that selectors can say.
    fn foreign(&self, text: &str) -> Option<Foreign> {
        let has_key = |key: &str| self.outline.has_key(&self.views.canonical, key);
        repair::foreign(text, &has_key)
    }

    /// The expression of a text as it is written, or of its first repair.
    fn understood(&self, text: &str) -> Option<Arc<Expression>> {
        self.compiled.get(text).ok().or_else(|| {
            let root = self.views.offered(self.arena, self.budget);
            let has_key = |key: &str| self.outline.has_key(&root, key);
            let candidate = repair::candidates(text, &has_key).into_iter().next()?;
            self.compiled.get(&candidate.expression).ok()
        })
    }
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
