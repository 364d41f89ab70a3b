//! Evaluation: a tree of nodes over borrowed JSON, within a budget.

mod compare;
mod doubt;
mod emptiness;
mod functions;
mod number;
mod rows;
mod slice;
#[cfg(test)]
mod tests;
mod texts;
mod why_empty;

pub use compare::equal;
pub use doubt::{Doubt, Misread, doubts};
pub use emptiness::{Emptiness, emptiness};
pub use why_empty::{WhyEmpty, why_empty};

use crate::{
    arena::Arena,
    budget::{Budget, Cost},
    compile::{Elements, Hash, Node, Part, Path, Projection},
    expression::Expression,
    view::{BUILT_BYTES, Repr, View},
};
use crossfeed_json::{Cursor, Document, Kind, Prediction};
use regex::Regex;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

/// Why an evaluation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// An argument of the wrong type: `` length(`5`) ``.
    #[error(transparent)]
    Type(Box<TypeMismatch>),
    /// The budget is used up.
    #[error(transparent)]
    TooCostly(#[from] Cost),
}

/// The type that a function was given, and the types that it takes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{function}` takes {expected} as argument {argument}, not {found}")]
#[non_exhaustive]
pub struct TypeMismatch {
    /// The function.
    pub function: &'static str,
    /// Which argument, from 1.
    pub argument: usize,
    /// The types that the function takes there.
    pub expected: &'static str,
    /// The type of the argument.
    pub found: &'static str,
}

/// Evaluates `expression` on `value`.
///
/// `None` means that it matched nothing: for a path of fields and indexes that the place is absent
/// (a `null` that is there is an answer), for any other expression that the outcome is `null`.
///
/// # Errors
///
/// [`EvalError`] when a function gets an argument of the wrong type, or the budget is used up.
///
/// ```
/// use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
/// use crossfeed_json::Document;
///
/// let document = Document::new(r#"{"items": [{"url": "a", "n": 1}, {"url": "b", "n": 2}]}"#);
/// let expression = Expression::parse("items[?n > `1`].url")?;
/// let (arena, budget) = (Arena::new(), Budget::new(&Limits::default(), 7));
/// let answer = evaluate(&expression, &View::from(document.root()?), &arena, &budget)?;
/// let mut json = Vec::new();
/// answer.expect("a match").write(&mut json, 100)?;
/// assert_eq!(json, br#"["b"]"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate<'a>(
    expression: &'a Expression,
    value: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Result<Option<View<'a>>, EvalError> {
    let before = arena.built();
    let outcome = Evaluator::new(expression, arena, budget).outcome(&expression.root, value);
    arena.free(before, outcome.as_ref().ok().and_then(Option::as_ref));
    outcome
}

pub(crate) struct Evaluator<'a, 'b> {
    arena: &'a Arena,
    budget: &'b Budget,
    /// Where each field look-up of the program found its key last.
    predictions: Vec<Cell<Prediction>>,
    /// The regular expression that was compiled last.
    pattern: RefCell<Option<(String, Regex)>>,
}

pub(crate) type EvalResult<'a> = Result<View<'a>, EvalError>;

/// The steps of building one item of a list, which stays in memory until the evaluation ends.
const ITEM_STEPS: u64 = 4;

impl<'a, 'b> Evaluator<'a, 'b> {
    fn new(expression: &'a Expression, arena: &'a Arena, budget: &'b Budget) -> Self {
        // A plain path looks each field up once, so predictions do not help.
        let sites = if expression.is_plain_path() {
            0
        } else {
            expression.sites
        };
        let predictions = vec![Cell::new(Prediction::default()); sites];
        Self {
            arena,
            budget,
            predictions,
            pattern: RefCell::default(),
        }
    }

    /// Implements [`evaluate`].
    fn outcome(&self, root: &'a Node, value: &View<'a>) -> Result<Option<View<'a>>, EvalError> {
        match root {
            Node::Path(path) => self.follow(path, value),
            Node::Current => {
                self.budget.spend(1)?;
                Ok(Some(value.clone()))
            }
            root => Ok(Some(self.eval(root, value)?).filter(|view| !view.is_null())),
        }
    }

    /// Evaluates one node. Recursion is bounded by the nesting of the expression.
    #[inline]
    pub(crate) fn eval(&self, node: &'a Node, here: impl Input<'a>) -> EvalResult<'a> {
        match node {
            Node::Path(path) => {
                if let Some(place) = self.located(path, here)? {
                    return Ok(place.map_or(View::null(), View::from));
                }
            }
            Node::List(parts) => return self.list(parts, here),
            Node::Hash(hash) => return self.hash(hash, here),
            _ => {}
        }
        here.on_view(|view| self.eval_other(node, view))
    }

    /// The place in a document that a path leads to, `Some(None)` if it is absent; `None` if the path leads
    /// through built values.
    #[inline(always)]
    fn located(
        &self,
        path: &'a Path,
        here: impl Input<'a>,
    ) -> Result<Option<Option<Cursor<'a>>>, Cost> {
        if let Some(place) = here.cell(path) {
            self.budget.spend(path.steps())?;
            return Ok(Some(place));
        }
        here.cursor()
            .map(|cursor| self.locate(path, cursor))
            .transpose()
    }

    /// Evaluates any node. Code with variables is in other functions, to keep the frame of this one small: a
    /// deep expression needs many.
    #[inline(never)]
    fn eval_other(&self, node: &'a Node, current: &View<'a>) -> EvalResult<'a> {
        if !matches!(node, Node::Path(_) | Node::List(_) | Node::Hash(_)) {
            // These pay for themselves.
            self.budget.spend(1)?;
        }
        match node {
            Node::Current => Ok(current.clone()),
            Node::Path(path) => Ok(self.follow(path, current)?.unwrap_or(View::null())),
            Node::List(parts) => self.list(parts, current),
            Node::Hash(hash) => self.hash(hash, current),
            Node::Literal(document) => Ok(literal(document)),
            Node::Text(text) => Ok(View(Repr::Str(text))),
            Node::Chain(parts) => self.chain(parts, current),
            Node::Project(projection) => self.project(projection, current),
            Node::Or(parts) => self.any(parts, current, true),
            Node::And(parts) => self.any(parts, current, false),
            Node::Not(inner) => Ok(View::bool(!self.test(inner, current)?)),
            Node::Compare(comparison) => {
                let outcome = self.compare(comparison, current)?;
                Ok(outcome.map_or(View::null(), View::bool))
            }
            Node::Call(function, arguments) => self.call(*function, arguments, current),
            Node::Reference(inner) => Ok(View(Repr::Reference(inner))),
        }
    }

    #[inline(never)]
    fn chain(&self, parts: &'a [Node], current: &View<'a>) -> EvalResult<'a> {
        let mut value = current.clone();
        for part in parts {
            value = self.eval(part, &value)?;
        }
        Ok(value)
    }

    /// Whether the value of a node is truthy, without building it, for filters.
    pub(crate) fn test(&self, node: &'a Node, here: impl Input<'a>) -> Result<bool, EvalError> {
        match node {
            Node::Path(path) => {
                if let Some(place) = self.located(path, here)? {
                    return Ok(place.is_some_and(is_truthy));
                }
            }
            Node::Compare(comparison) => {
                self.budget.spend(1)?;
                return Ok(self.compare(comparison, here)? == Some(true));
            }
            Node::Or(parts) => return self.test_any(parts, here, true),
            Node::And(parts) => return self.test_any(parts, here, false),
            Node::Not(inner) => {
                self.budget.spend(1)?;
                return Ok(!self.test(inner, here)?);
            }
            _ => {}
        }
        here.on_view(|view| Ok(self.eval_other(node, view)?.is_truthy()))
    }

    /// [`Self::any`], without building the value.
    fn test_any(
        &self,
        parts: &'a [Node],
        here: impl Input<'a>,
        wanted: bool,
    ) -> Result<bool, EvalError> {
        self.budget.spend(1)?;
        for part in parts {
            if self.test(part, here)? == wanted {
                return Ok(wanted);
            }
        }
        Ok(!wanted)
    }

    /// The first part that is truthy (`wanted`) or not, else the last.
    #[inline(never)]
    fn any(&self, parts: &'a [Node], current: &View<'a>, wanted: bool) -> EvalResult<'a> {
        let mut value = View::null();
        for part in parts {
            value = self.eval(part, current)?;
            if value.is_truthy() == wanted {
                break;
            }
        }
        Ok(value)
    }

    #[inline(never)]
    fn list(&self, parts: &'a [Node], here: impl Input<'a>) -> EvalResult<'a> {
        let values = self.all(parts, here)?;
        Ok(values.map_or(View::null(), View::list))
    }

    #[inline(never)]
    fn hash(&self, hash: &'a Hash, here: impl Input<'a>) -> EvalResult<'a> {
        Ok(match self.all(&hash.values, here)? {
            Some(values) => View(Repr::Hash(hash, Rc::new(values))),
            None => View::null(),
        })
    }

    /// Takes room for a value of this many bytes before it is built.
    #[inline]
    fn reserve(&self, bytes: usize) -> Result<(), Cost> {
        let bytes = bytes.saturating_add(BUILT_BYTES);
        self.arena.reservation().reserve(bytes)
    }

    /// An empty list with room for this many items.
    #[inline]
    fn list_of(&self, items: usize) -> Result<Vec<View<'a>>, Cost> {
        self.reserve(items.saturating_mul(size_of::<View<'a>>()))?;
        Ok(Vec::with_capacity(items))
    }

    /// Adds an item to a list.
    #[inline]
    fn push(&self, list: &mut Vec<View<'a>>, item: View<'a>) -> Result<(), Cost> {
        self.arena.reservation().grow_by(list, 1)?;
        list.push(item);
        Ok(())
    }

    /// The value of each node of a list or hash; `None` on null.
    #[inline]
    fn all(
        &self,
        nodes: &'a [Node],
        here: impl Input<'a>,
    ) -> Result<Option<Vec<View<'a>>>, EvalError> {
        self.budget.spend(1)?;
        if here.on_view(View::is_null) {
            return Ok(None);
        }
        self.budget.spend(ITEM_STEPS * nodes.len() as u64)?;
        let mut values = self.list_of(nodes.len())?;
        for node in nodes {
            values.push(self.eval(node, here)?);
        }
        Ok(Some(values))
    }

    /// Follows a path; `None` where it is absent.
    fn follow(&self, path: &'a Path, current: &View<'a>) -> Result<Option<View<'a>>, EvalError> {
        match current.0 {
            Repr::Json(cursor) => Ok(self.locate(path, cursor)?.map(View::from)),
            _ => {
                self.budget.spend(path.steps())?;
                self.follow_built(&path.parts, current)
            }
        }
    }

    /// Follows a path from a built value.
    #[inline(never)]
    fn follow_built(
        &self,
        parts: &'a [Part],
        current: &View<'a>,
    ) -> Result<Option<View<'a>>, EvalError> {
        let Some((first, rest)) = parts.split_first() else {
            return Ok(Some(current.clone()));
        };
        let next = match first {
            Part::Field(name, _) => compare::get(current, name, self.budget)?,
            Part::Index(index) => current
                .len()
                .and_then(|len| place(*index, len))
                .and_then(|at| current.at(at)),
        };
        match next {
            None => Ok(None),
            Some(View(Repr::Json(cursor))) => Ok(self.locate_parts(rest, cursor)?.map(View::from)),
            Some(built) => self.follow_built(rest, &built),
        }
    }

    /// Follows a path within documents.
    #[inline]
    fn locate(&self, path: &'a Path, from: Cursor<'a>) -> Result<Option<Cursor<'a>>, Cost> {
        self.budget.spend(path.steps())?;
        match &*path.parts {
            [Part::Field(name, site)] if from.kind() == Kind::Object => {
                self.member(from, name, *site)
            }
            parts => self.locate_parts(parts, from),
        }
    }

    /// Follows parts of a path within documents. Strings that it goes through are opened.
    #[inline(never)]
    fn locate_parts(
        &self,
        parts: &'a [Part],
        from: Cursor<'a>,
    ) -> Result<Option<Cursor<'a>>, Cost> {
        let mut here = from;
        for part in parts {
            if here.kind() == Kind::String {
                match self.arena.open(here, self.budget)? {
                    Some(opened) => here = opened,
                    None => return Ok(None),
                }
            }
            let next = match part {
                Part::Field(name, site) => self.member(here, name, *site)?,
                Part::Index(index) => self.item(here, *index)?,
            };
            match next {
                Some(next) => here = next,
                None => return Ok(None),
            }
        }
        Ok(Some(here))
    }

    /// A member of an object, looked up first at its position in the previous object.
    #[inline(never)]
    fn member(
        &self,
        object: Cursor<'a>,
        name: &str,
        site: usize,
    ) -> Result<Option<Cursor<'a>>, Cost> {
        let Some(cell) = self.predictions.get(site) else {
            return compare::look_up(object, name, self.budget);
        };
        let mut prediction = cell.get();
        if object.is_wide() {
            compare::pay_wide(self.budget)?;
            if let Some(found) = object.get_at(name, prediction) {
                return Ok(Some(found));
            }
            let found = compare::look_up_wide(object, name, self.budget)?;
            cell.set(found.map_or(prediction, |member| object.prediction(member)));
            return Ok(found);
        }
        let found = object.get_predicted(name, &mut prediction);
        cell.set(prediction);
        Ok(found)
    }

    /// An item of a list, the walk to it paid for.
    fn item(&self, list: Cursor<'a>, index: i64) -> Result<Option<Cursor<'a>>, Cost> {
        if list.kind() != Kind::Array {
            return Ok(None);
        }
        let len = list.len().unwrap_or_default();
        let Some(at) = place(index, len).filter(|at| *at < len) else {
            return Ok(None);
        };
        // The last item is found without a walk.
        if at >= 16 && at + 1 < len {
            self.budget.spend(at as u64 / 16)?;
            let (tables, building) = (self.budget.tables(), self.budget.building());
            return Ok(list.items_from(at, tables, building).next());
        }
        Ok(list.at(at))
    }

    /// The view itself, or the object or list whose JSON is its string.
    #[inline]
    fn opened(&self, view: &View<'a>) -> Result<Option<Cursor<'a>>, Cost> {
        match view.as_cursor() {
            Some(cursor) if cursor.kind() == Kind::String => self.arena.open(cursor, self.budget),
            other => Ok(other),
        }
    }

    #[inline(never)]
    fn project(&self, projection: &'a Projection, current: &View<'a>) -> EvalResult<'a> {
        let source = self.eval(&projection.source, current)?;
        if matches!(projection.elements, Elements::Items | Elements::Filtered(_)) {
            let opened = self.opened(&source)?.map(View::from);
            let list = opened.as_ref().unwrap_or(&source);
            if let Some(out) = self.project_rows(projection, list)? {
                return Ok(View::list(out));
            }
        }
        let mut out = self.list_of(0)?;
        let listed = self.each(projection, &source, |item| {
            self.project_item(projection, &item, &mut out)
        })?;
        Ok(if listed {
            View::list(out)
        } else {
            View::null()
        })
    }

    /// Adds the value that a projection gives for one item.
    #[inline]
    fn project_item(
        &self,
        projection: &'a Projection,
        item: impl Input<'a>,
        out: &mut Vec<View<'a>>,
    ) -> Result<(), EvalError> {
        if let Elements::Filtered(predicate) = &projection.elements
            && !self.test(predicate, item)?
        {
            return Ok(());
        }
        // A path on a row: its column tells the place, a fifth faster than by way of a value.
        let located = match &projection.each {
            Node::Path(path) => self.located(path, item)?,
            _ => None,
        };
        let value = match (located, &projection.each) {
            (Some(place), _) => place.map(View::from),
            (None, Node::Current) => Some(item.on_view(View::clone)),
            (None, each) => Some(self.eval(each, item)?),
        };
        match value {
            Some(value) if !value.is_null() => {
                self.budget.spend(ITEM_STEPS)?;
                Ok(self.push(out, value)?)
            }
            _ => Ok(()),
        }
    }

    /// Calls `item` with each item of a projection; returns false if the source has no items.
    fn each(
        &self,
        projection: &'a Projection,
        source: &View<'a>,
        mut item: impl FnMut(View<'a>) -> Result<(), EvalError>,
    ) -> Result<bool, EvalError> {
        let opened = self.opened(source)?.map(View::from);
        let source = opened.as_ref().unwrap_or(source);
        let wanted = match projection.elements {
            Elements::Values => Kind::Object,
            _ => Kind::Array,
        };
        if source.kind() != wanted {
            return Ok(false);
        }
        match &projection.elements {
            Elements::Items | Elements::Filtered(_) | Elements::Values => {
                for value in source.all_within(wanted) {
                    self.budget.spend(1)?;
                    item(value)?;
                }
            }
            Elements::Flattened => {
                for value in source.items() {
                    self.budget.spend(1)?;
                    if value.kind() == Kind::Array {
                        for inner in value.items() {
                            self.budget.spend(1)?;
                            item(inner)?;
                        }
                    } else {
                        item(value)?;
                    }
                }
            }
            Elements::Slice { start, stop, step } => {
                let len = source.len().unwrap_or_default();
                let range = slice::Range::new(len, *start, *stop, *step);
                self.slice(source, &range, item)?;
            }
        }
        Ok(true)
    }

    /// The items of a slice: reached in one walk over the list, whatever the step.
    fn slice(
        &self,
        source: &View<'a>,
        range: &slice::Range,
        item: impl FnMut(View<'a>) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let (first, last) = range.bounds();
        self.budget.spend(last as u64)?;
        let mut wanted = source
            .items_from(first, self.budget)
            .zip(first..last)
            .filter(|(_, at)| range.contains(*at))
            .map(|(value, _)| value);
        if range.is_forward() {
            return wanted.try_for_each(item);
        }
        let mut backwards = self.list_of(0)?;
        wanted.try_for_each(|item| self.push(&mut backwards, item))?;
        self.budget.spend(ITEM_STEPS * backwards.len() as u64)?;
        backwards.into_iter().rev().try_for_each(item)
    }
}

/// The value that a node is evaluated on: a view, or a row of a list with columns.
pub(crate) trait Input<'a>: Copy {
    /// Calls `look` with the value.
    fn on_view<T>(self, look: impl FnOnce(&View<'a>) -> T) -> T;

    /// Its place in a document, if it has one.
    fn cursor(self) -> Option<Cursor<'a>>;

    /// The place that a path leads to, `Some(None)` if it is absent; `None` if no column holds it.
    fn cell(self, path: &Path) -> Option<Option<Cursor<'a>>>;

    /// The number that a path leads to, if it has been read.
    fn number(self, path: &Path) -> Option<f64>;
}

impl<'a> Input<'a> for &View<'a> {
    #[inline]
    fn on_view<T>(self, look: impl FnOnce(&View<'a>) -> T) -> T {
        look(self)
    }

    #[inline]
    fn cursor(self) -> Option<Cursor<'a>> {
        self.as_cursor()
    }

    #[inline]
    fn cell(self, _: &Path) -> Option<Option<Cursor<'a>>> {
        None
    }

    #[inline]
    fn number(self, _: &Path) -> Option<f64> {
        None
    }
}

/// The position of an index in a list of `len` items, from the end if it is negative.
fn place(index: i64, len: usize) -> Option<usize> {
    if index < 0 {
        let back = usize::try_from(index.unsigned_abs()).ok()?;
        return len.checked_sub(back);
    }
    usize::try_from(index).ok()
}

fn literal(document: &Document) -> View<'_> {
    // The parser accepted the literal, so the index accepts it as well.
    document.root().map_or_else(|_| View::null(), View::from)
}

/// JMESPath's truth, of a place in a document.
#[inline]
fn is_truthy(place: Cursor<'_>) -> bool {
    match place.kind() {
        Kind::Null => false,
        Kind::Boolean => place.as_bool() == Some(true),
        Kind::Number => true,
        Kind::String => place.raw().len() > 2,
        Kind::Array | Kind::Object => !place.is_empty(),
    }
}

impl View<'_> {
    /// JMESPath's truth: everything but null, false and empty values.
    pub(crate) fn is_truthy(&self) -> bool {
        match &self.0 {
            Repr::Null => false,
            Repr::Bool(value) => *value,
            Repr::Json(cursor) => is_truthy(*cursor),
            _ => self.own_text() != Some("") && !self.is_empty(),
        }
    }
}
