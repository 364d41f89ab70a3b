//! What an expression reads that no value has, and what it compares in vain: why an empty list, or a null in
//! every item, may not be an answer.

use super::{EvalError, Evaluator, emptiness::may_be_none, slice::Range};
use crate::{
    arena::Arena,
    budget::{Budget, Cost},
    compile::{Comparison, Elements, Node, Part, Path, Projection, SpineStep},
    expression::Expression,
    function::Function,
    view::View,
};
use crossfeed_json::Kind;
use jmespath::ast::Comparator;
use std::borrow::Cow;

/// The most doubts of one expression, and the most values around a missing field that each keeps.
const MAX_DOUBTS: usize = 8;
const MAX_AROUND: usize = 3;
/// The most characters of a text that is compared without regard to case.
const MAX_FOLDED_CHARS: usize = 1000;

/// A part of an expression that could have given nothing on these values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Doubt<'a> {
    /// What is wrong with it.
    pub misread: Misread,
    /// The number of the name, literal or index, as [`crate::places`] counts them; `None` if it is none.
    pub place: Option<usize>,
    /// The path of what is read or compared, as far as it has names.
    pub path: String,
    /// Some of the values that were read.
    pub around: Vec<View<'a>>,
    /// How many values were read.
    pub values: usize,
    /// Whether it leaves no more than a null in an object or list that the expression builds.
    pub is_null: bool,
    /// Whether a member of what the expression builds is empty, or null, for it.
    is_settled: bool,
}

/// What is wrong with a part of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misread {
    /// None of the values has the field.
    NoField,
    /// An index of values that are no lists.
    NoList,
    /// Items of values that have none.
    NoItems,
    /// A slice that takes no item of any list.
    NoSlice {
        /// The index of its first item, as it is written.
        start: Option<i64>,
        /// The index before which it ends, as it is written.
        stop: Option<i64>,
        /// The distance of its items.
        step: i64,
    },
    /// A literal is compared with another one.
    Constant,
    /// A value of one type is compared with one of another.
    Types {
        /// The type of the value.
        found: Kind,
        /// The type that it is compared with.
        wanted: Kind,
    },
    /// A text is searched for the value instead of the value for the text: `contains('a', title)`.
    Turned {
        /// How many values have the text.
        items: usize,
    },
    /// A text that differs from those compared with by case or surrounding blanks only.
    Spelling {
        /// The text that is there.
        found: String,
        /// How many values it has been found in.
        items: usize,
    },
}

/// The doubts about what `expression` gives on `value`, in the order in which they are met. A field that one
/// alternative of `||` reads is no doubt if the other has what it reads. Where the budget ends before all has been
/// looked at, there are none.
pub fn doubts<'a>(
    expression: &'a Expression,
    value: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Vec<Doubt<'a>> {
    let before = arena.built();
    let mut doubter = Doubter {
        evaluator: &Evaluator::new(expression, arena, budget),
        found: Vec::new(),
        place: 0,
    };
    let walked = doubter.walk(&expression.root, std::slice::from_ref(value));
    let found = doubter.found;
    arena.free(before, None);
    match walked {
        // What is doubtful half-way may be cleared by what follows.
        Err(EvalError::TooCostly(_)) => Vec::new(),
        // On a wrong type the expression fails too, and gives no answer to doubt.
        Ok(()) | Err(EvalError::Type(_)) => found,
    }
}

struct Doubter<'a, 'e, 'b> {
    evaluator: &'e Evaluator<'a, 'b>,
    found: Vec<Doubt<'a>>,
    /// The number of names, literals and indexes before the current node.
    place: usize,
}

/// One side of a comparison.
struct Side<'a> {
    node: &'a Node,
    /// The number of its first name or literal.
    place: usize,
}

impl<'a> Doubter<'a, '_, '_> {
    /// Looks at what a node reads on these values. With none it only counts its names.
    fn walk(&mut self, node: &'a Node, inputs: &[View<'a>]) -> Result<(), EvalError> {
        match node {
            Node::Current => Ok(()),
            Node::Literal(_) | Node::Text(_) => {
                self.place += 1;
                Ok(())
            }
            Node::Path(path) => self.path(path, inputs),
            Node::Chain(parts) => {
                let mut here = Cow::Borrowed(inputs);
                for part in parts {
                    self.walk(part, &here)?;
                    here = Cow::Owned(self.values(part, &here)?);
                }
                Ok(())
            }
            Node::Project(projection) => self.projection(projection, inputs),
            Node::Or(parts) => self.alternatives(parts, |doubter, part| doubter.walk(part, inputs)),
            Node::And(parts) => parts.iter().try_for_each(|part| self.walk(part, inputs)),
            Node::List(parts) => self.members(parts, inputs),
            Node::Hash(hash) => self.members(&hash.values, inputs),
            Node::Not(inner) => self.walk(inner, inputs),
            Node::Compare(comparison) => {
                self.walk(&comparison.left, inputs)?;
                self.walk(&comparison.right, inputs)
            }
            Node::Call(Function::NotNull, arguments) => {
                self.alternatives(arguments, |doubter, part| doubter.walk(part, inputs))
            }
            Node::Call(function, arguments) => self.call(*function, arguments, inputs),
            Node::Reference(inner) => self.walk(inner, &[]),
        }
    }

    /// Looks at the members of what an expression builds. What a member reads in vain is no doubt if it gives something.
    fn members(&mut self, members: &'a [Node], inputs: &[View<'a>]) -> Result<(), EvalError> {
        for member in members {
            let before = self.found.len();
            self.walk(member, inputs)?;
            if self.found[before..].iter().all(|doubt| doubt.is_settled) {
                continue;
            }
            let values = self.values(member, inputs)?;
            let is_null = values.is_empty();
            let is_none = is_null || may_be_none(member, &values, self.evaluator.budget)?;
            let mut place = 0;
            self.found.retain_mut(|doubt| {
                place += 1;
                if place <= before || doubt.is_settled {
                    return true;
                }
                (doubt.is_null, doubt.is_settled) = (is_null, true);
                is_none
            });
        }
        Ok(())
    }

    fn call(
        &mut self,
        function: Function,
        arguments: &'a [Node],
        inputs: &[View<'a>],
    ) -> Result<(), EvalError> {
        // What is referred to is evaluated on the items of the list beside it.
        let list = arguments
            .iter()
            .find(|argument| !matches!(argument, Node::Reference(_)));
        for argument in arguments {
            match (argument, list) {
                (Node::Reference(inner), Some(list)) => {
                    let mut items = Vec::new();
                    for value in self.values(list, inputs)? {
                        for item in value.items() {
                            self.evaluator.budget.spend(1)?;
                            self.evaluator.push(&mut items, item)?;
                        }
                    }
                    self.walk(inner, &items)?;
                }
                (other, _) => {
                    self.walk(other, inputs)?;
                    if takes_list(function) && !matches!(other, Node::Text(_)) {
                        self.list(other, inputs)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes note of an argument that is no list where one is wanted.
    fn list(&mut self, argument: &'a Node, inputs: &[View<'a>]) -> Result<(), EvalError> {
        let values = self.values(argument, inputs)?;
        if values.iter().all(|value| value.kind() != Kind::Array) {
            let place = match argument {
                Node::Current => None,
                _ => self.place.checked_sub(1),
            };
            let path = named(node_spine(argument).into_iter());
            self.doubt(Misread::NoItems, place, path, values.iter())?;
        }
        Ok(())
    }

    /// Walks over alternatives: what one of them lacks is no doubt where another lacks nothing.
    fn alternatives(
        &mut self,
        parts: &'a [Node],
        mut walk: impl FnMut(&mut Self, &'a Node) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let before = self.found.len();
        let mut is_sure = false;
        for part in parts {
            let known = self.found.len();
            walk(self, part)?;
            is_sure |= self.found.len() == known;
        }
        if is_sure {
            let mut place = 0;
            self.found.retain(|doubt| {
                place += 1;
                let is_of_literal = matches!(
                    doubt.misread,
                    Misread::Spelling { .. } | Misread::Types { .. }
                );
                place <= before || is_of_literal
            });
        }
        Ok(())
    }

    fn path(&mut self, path: &'a Path, inputs: &[View<'a>]) -> Result<(), EvalError> {
        let first = self.place;
        self.place += path.parts.len();
        let mut here = Cow::Borrowed(inputs);
        for (number, part) in path.parts.iter().enumerate() {
            let mut next = Vec::new();
            for value in here.iter() {
                self.evaluator.budget.spend(1)?;
                if let Some(found) = self.evaluator.follow_part(part, value)? {
                    self.evaluator.push(&mut next, found)?;
                }
            }
            if next.is_empty() {
                let misread = match part {
                    Part::Field(..) => Some(Misread::NoField),
                    Part::Index(_) => (!here.iter().any(|value| value.kind() == Kind::Array))
                        .then_some(Misread::NoList),
                };
                let here = here.iter().filter(|value| !value.is_null());
                if let Some(misread) = misread {
                    let path = path.parts[..=number].iter().map(SpineStep::from);
                    self.doubt(misread, Some(first + number), named(path), here)?;
                }
                return Ok(());
            }
            here = Cow::Owned(next);
        }
        Ok(())
    }

    /// Takes note of a doubt about values, if there are any.
    fn doubt<'v>(
        &mut self,
        misread: Misread,
        place: Option<usize>,
        path: String,
        values: impl Iterator<Item = &'v View<'a>>,
    ) -> Result<(), Cost>
    where
        'a: 'v,
    {
        let mut around = Vec::new();
        let mut count = 0;
        for value in values {
            count += 1;
            if around.len() < MAX_AROUND {
                let opened = self.evaluator.opened(value)?.map(View::from);
                around.push(opened.unwrap_or_else(|| value.clone()));
            }
        }
        if count > 0 && self.found.len() < MAX_DOUBTS {
            self.found.push(Doubt {
                misread,
                place,
                path,
                around,
                values: count,
                is_null: false,
                is_settled: false,
            });
        }
        Ok(())
    }

    /// The values of a node, without nulls.
    fn values(&self, node: &'a Node, inputs: &[View<'a>]) -> Result<Vec<View<'a>>, EvalError> {
        let mut values = Vec::new();
        for input in inputs {
            let value = self.evaluator.eval(node, input)?;
            if !value.is_null() {
                self.evaluator.push(&mut values, value)?;
            }
        }
        Ok(values)
    }

    fn projection(
        &mut self,
        projection: &'a Projection,
        inputs: &[View<'a>],
    ) -> Result<(), EvalError> {
        self.walk(&projection.source, inputs)?;
        let sources = self.values(&projection.source, inputs)?;
        let (mut items, mut is_listed) = (Vec::new(), false);
        for source in &sources {
            is_listed |= self.evaluator.each(projection, source, |item| {
                Ok(self.evaluator.push(&mut items, item)?)
            })?;
        }
        if !is_listed {
            // A slice stands behind the path that it is taken from, in a chain with it.
            let is_slice = matches!(projection.elements, Elements::Slice { .. });
            let place = match projection.source {
                Node::Current if !is_slice => None,
                _ => self.place.checked_sub(1),
            };
            let path = named(node_spine(&projection.source).into_iter());
            self.doubt(Misread::NoItems, place, path, sources.iter())?;
        }
        if let Elements::Slice { start, stop, step } = projection.elements
            && Range::is_always_empty(start, stop, step)
        {
            let lists = sources.iter().filter(|list| !list.is_empty());
            let path = named(node_spine(&projection.source).into_iter());
            self.doubt(Misread::NoSlice { start, stop, step }, None, path, lists)?;
        }
        if let Elements::Filtered(predicate) = &projection.elements {
            match self.all(&items, |doubter, item| {
                Ok(!doubter.evaluator.test(predicate, item)?)
            }) {
                Ok(true) => self.refusal(predicate, &items, false)?,
                Ok(false) => self.walk(predicate, &[])?,
                // `contains(naem, 'x')`: a function got a null.
                Err(error @ EvalError::Type(_)) => {
                    self.walk(predicate, &items)?;
                    return Err(error);
                }
                Err(error) => return Err(error),
            }
        }
        // What an item has that was refused, others could have had.
        self.walk(&projection.each, &items)
    }

    /// Whether something is true of all items.
    fn all(
        &self,
        items: &[View<'a>],
        is_true: impl Fn(&Self, &View<'a>) -> Result<bool, EvalError>,
    ) -> Result<bool, EvalError> {
        for item in items {
            if !is_true(self, item)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Looks at why a condition refuses every item, or its negation does.
    fn refusal(
        &mut self,
        condition: &'a Node,
        items: &[View<'a>],
        negated: bool,
    ) -> Result<(), EvalError> {
        let all_of = |doubter: &mut Self, parts: &'a [Node]| {
            parts.iter().try_for_each(|part| {
                let refuses =
                    |doubter: &Self, item: &_| Ok(doubter.evaluator.test(part, item)? == negated);
                if doubter.all(items, refuses)? {
                    doubter.refusal(part, items, negated)
                } else {
                    doubter.walk(part, &[])
                }
            })
        };
        match (condition, negated) {
            (Node::And(parts), false) | (Node::Or(parts), true) => all_of(self, parts),
            (Node::Or(parts), false) | (Node::And(parts), true) => {
                self.alternatives(parts, |doubter, part| doubter.refusal(part, items, negated))
            }
            (Node::Not(inner), _) => self.refusal(inner, items, !negated),
            (Node::Compare(comparison), _) => self.comparison(comparison, items, negated),
            (Node::Call(function, arguments), false) => {
                let before = self.found.len();
                let sides = self.sides(arguments, items)?;
                match (function, &*sides) {
                    _ if self.found.len() > before => Ok(()),
                    (
                        Function::Contains | Function::StartsWith | Function::EndsWith,
                        [subject, wanted],
                    ) => self.search(*function, subject, wanted, items),
                    _ => Ok(()),
                }
            }
            (_, true) => self.walk(condition, &[]),
            (other, false) => self.walk(other, items),
        }
    }

    /// Walks over the operands of a comparison or function, and takes note of where they begin.
    fn sides(
        &mut self,
        nodes: impl IntoIterator<Item = &'a Node>,
        items: &[View<'a>],
    ) -> Result<Vec<Side<'a>>, EvalError> {
        let mut sides = Vec::new();
        for node in nodes {
            sides.push(Side {
                node,
                place: self.place,
            });
            self.walk(node, items)?;
        }
        Ok(sides)
    }

    fn comparison(
        &mut self,
        comparison: &'a Comparison,
        items: &[View<'a>],
        negated: bool,
    ) -> Result<(), EvalError> {
        let before = self.found.len();
        let sides = self.sides([&comparison.left, &comparison.right], items)?;
        let is_equality = match comparison.operator {
            Comparator::Equal => !negated,
            Comparator::NotEqual => negated,
            _ => false,
        };
        let [left, right] = &*sides else {
            return Ok(());
        };
        if left.literal() && right.literal() {
            return Ok(self.doubt(
                Misread::Constant,
                Some(left.place),
                String::new(),
                items.iter(),
            )?);
        }
        if self.found.len() > before || !(is_equality || comparison.is_ordered()) {
            return Ok(());
        }
        let (read, wanted) = if left.literal() {
            (right, left)
        } else {
            (left, right)
        };
        let can_order = |kind| matches!(kind, Kind::Number | Kind::String);
        let (mut types, mut agree) = (None, false);
        let mut spelling: Option<(String, usize)> = None;
        for item in items {
            let (a, b) = (self.eval(read, item)?, self.eval(wanted, item)?);
            if a.is_null() || b.is_null() {
                continue;
            }
            let kinds = (a.kind(), b.kind());
            if kinds.0 == kinds.1 && (is_equality || can_order(kinds.0)) {
                agree = true;
            } else {
                types.get_or_insert(kinds);
            }
            if is_equality && let Some(found) = self.same_but_for_case(&a, &b, |a, b| a == b)? {
                spelling.get_or_insert_with(|| (short(&found), 0)).1 += 1;
            }
        }
        self.compared_in_vain(read, wanted, items, spelling, types.filter(|_| !agree))
    }

    /// Takes note of a spelling that is nearly there, else of types that never agree.
    fn compared_in_vain(
        &mut self,
        read: &Side<'a>,
        wanted: &Side<'a>,
        items: &[View<'a>],
        spelling: Option<(String, usize)>,
        types: Option<(Kind, Kind)>,
    ) -> Result<(), EvalError> {
        let misread = match (spelling, types) {
            (Some((found, items)), _) => Misread::Spelling { found, items },
            (None, Some((found, wanted))) => Misread::Types { found, wanted },
            (None, None) => return Ok(()),
        };
        let place = wanted.literal().then_some(wanted.place);
        let path = named(node_spine(read.node).into_iter());
        Ok(self.doubt(misread, place, path, items.iter())?)
    }

    /// Looks at why a text or list has nothing of a text that is searched for.
    fn search(
        &mut self,
        function: Function,
        subject: &Side<'a>,
        wanted: &Side<'a>,
        items: &[View<'a>],
    ) -> Result<(), EvalError> {
        let holds = |text: &str, part: &str| match function {
            Function::StartsWith => text.starts_with(part),
            Function::EndsWith => text.ends_with(part),
            _ => text.contains(part),
        };
        let mut spelling: Option<(String, usize)> = None;
        let (mut types, mut agree) = (None, false);
        let may_be_turned = subject.literal() && !wanted.literal();
        let mut turned = 0;
        for item in items {
            let (text, part) = (self.eval(subject, item)?, self.eval(wanted, item)?);
            if may_be_turned && let Some(text) = text.as_str() {
                turned += usize::from(self.has(&part, &text, holds)?);
            }
            let inner: Vec<_> = match text.kind() {
                Kind::Array => text.items().collect(),
                _ => vec![text.clone()],
            };
            for value in inner {
                self.evaluator.budget.spend(1)?;
                if value.kind() == part.kind() {
                    agree = true;
                } else if !value.is_null() {
                    types.get_or_insert((value.kind(), part.kind()));
                }
                let is_list = text.kind() == Kind::Array;
                let is_same = |a: &str, b: &str| if is_list { a == b } else { holds(a, b) };
                let Some(found) = self.same_but_for_case(&value, &part, is_same)? else {
                    continue;
                };
                // Of a long text only the part is meant.
                match &mut spelling {
                    Some((_, items)) => *items += 1,
                    None if is_list => spelling = Some((short(&found), 1)),
                    None => spelling = Some((self.part_of(&found, &part)?, 1)),
                }
            }
        }
        if turned > 0 {
            let path = named(node_spine(wanted.node).into_iter());
            let misread = Misread::Turned { items: turned };
            return Ok(self.doubt(misread, Some(subject.place), path, items.iter())?);
        }
        self.compared_in_vain(subject, wanted, items, spelling, types.filter(|_| !agree))
    }

    /// Whether a text has, or a list is of, a text.
    fn has(
        &self,
        value: &View<'a>,
        text: &str,
        holds: impl Fn(&str, &str) -> bool,
    ) -> Result<bool, Cost> {
        let budget = self.evaluator.budget;
        if let Some(value) = value.as_str() {
            budget.read_text(value.len().saturating_add(text.len()))?;
            return Ok(holds(&value, text));
        }
        for item in value.items() {
            budget.spend(1)?;
            if item.as_str().is_some_and(|item| item == text) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first of two texts for which `holds` is true in lower case only.
    fn same_but_for_case<'v>(
        &self,
        found: &'v View<'a>,
        wanted: &View<'_>,
        holds: impl Fn(&str, &str) -> bool,
    ) -> Result<Option<Cow<'v, str>>, Cost> {
        let (Some(found), Some(wanted)) = (found.as_str(), wanted.as_str()) else {
            return Ok(None);
        };
        let budget = self.evaluator.budget;
        budget.read_text(found.len().saturating_add(wanted.len()))?;
        let is_same = !wanted.trim().is_empty()
            && !holds(&found, &wanted)
            && holds(&folded(&found), &folded(&wanted));
        Ok(is_same.then_some(found))
    }

    /// The part of a text that is equal to another one but for its case, where it can be found; else the other one.
    fn part_of(&self, text: &str, wanted: &View<'_>) -> Result<String, Cost> {
        let wanted = wanted.as_str().unwrap_or_default();
        let (wanted, lower) = (wanted.trim(), folded(&wanted));
        let length = wanted.chars().count().max(1);
        let chars: Vec<char> = text.chars().take(MAX_FOLDED_CHARS).collect();
        let windows = chars.len().saturating_sub(length) as u64 + 1;
        self.evaluator.budget.spend(windows)?;
        let part = chars.windows(length).find(|window| {
            let window = window.iter().flat_map(|c| c.to_lowercase());
            window.eq(lower.chars())
        });
        Ok(part.map_or_else(|| short(wanted), |part| part.iter().collect()))
    }

    fn eval(&self, side: &Side<'a>, item: &View<'a>) -> Result<View<'a>, EvalError> {
        self.evaluator.eval(side.node, item)
    }
}

impl Side<'_> {
    fn literal(&self) -> bool {
        matches!(self.node, Node::Literal(_) | Node::Text(_))
    }
}

impl<'a> Evaluator<'a, '_> {
    /// Follows one step of a path.
    fn follow_part(&self, part: &'a Part, value: &View<'a>) -> Result<Option<View<'a>>, EvalError> {
        let part = std::slice::from_ref(part);
        match value.as_cursor() {
            Some(cursor) => Ok(self.locate_parts(part, cursor)?.map(View::from)),
            None => self.follow_built(part, value),
        }
    }
}

/// Whether a function takes a list, beside texts and references.
fn takes_list(function: Function) -> bool {
    matches!(
        function,
        Function::Avg
            | Function::Join
            | Function::Map
            | Function::Max
            | Function::MaxBy
            | Function::Min
            | Function::MinBy
            | Function::Sort
            | Function::SortBy
            | Function::Sum
    )
}

fn node_spine(node: &Node) -> Vec<SpineStep<'_>> {
    let mut steps = Vec::new();
    node.spine(&mut steps);
    steps
}

/// The names of a path.
fn named<'s>(steps: impl Iterator<Item = SpineStep<'s>>) -> String {
    let names = steps.filter_map(|step| match step {
        SpineStep::Field(name) => Some(name),
        SpineStep::Index(_) | SpineStep::Each => None,
    });
    names.collect::<Vec<_>>().join(".")
}

/// A text without surrounding blanks, in lower case.
fn folded(text: &str) -> String {
    let text = text.trim().chars().take(MAX_FOLDED_CHARS);
    text.flat_map(char::to_lowercase).collect()
}

/// The beginning of a text.
fn short(text: &str) -> String {
    text.chars().take(MAX_FOLDED_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::doubts;
    use crate::{Arena, Budget, Expression, Limits, View};
    use crossfeed_json::Document;

    fn count(expression: &str, steps: u64) -> usize {
        let json =
            r#"{"users": [{"status": "done", "name": "Ada"}, {"status": "new", "name": "Bob"}]}"#;
        let document = Document::new(json.to_owned());
        let expression = Expression::parse(expression).unwrap();
        let limits = Limits::default()
            .with_steps_per_value(0)
            .with_base_steps(steps);
        let (arena, budget) = (Arena::new(), Budget::new(&limits, 0));
        let root = View::from(document.root().unwrap());
        doubts(&expression, &root, &arena, &budget).len()
    }

    #[test]
    fn a_budget_that_ends_leaves_no_doubts() {
        for steps in 0..200 {
            for expression in [
                "users[?state == 'open' || status == 'open']",
                "users[*].{n: not_null(nick, name)}",
            ] {
                assert_eq!(count(expression, steps), 0, "{expression}, {steps}");
            }
        }
        assert_eq!(count("users[?state == 'open']", 200), 1);
        assert_eq!(count("users[?state == 'open']", 5), 0);
    }
}
