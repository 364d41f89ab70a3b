//! Why a projection gave an empty list.

use super::{EvalError, Evaluator};
use crate::{
    arena::Arena,
    budget::Budget,
    compile::{Elements, Node},
    expression::Expression,
    view::View,
};
use crossfeed_json::Kind;

/// Why a projection over items gave an empty list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhyEmpty {
    /// No item has the member: `items[*].titel`.
    NoItemHasField {
        /// The number of items that were examined, which passed any filter.
        items: usize,
    },
    /// The filter let no item through: `` items[?score > `9`] ``.
    FilterRefusedAll {
        /// The number of items that were examined.
        items: usize,
    },
    /// The slice took no item: `items[10:]`.
    SliceTookNone {
        /// The number of items of the list.
        items: usize,
    },
}

/// Explains an empty list, or a null that comes of one, that `expression` gave on `value`; `None` if the source of its
/// projection was empty, or there is none.
///
/// # Errors
///
/// As [`evaluate`](super::evaluate).
pub fn why_empty<'a>(
    expression: &'a Expression,
    value: &View<'a>,
    arena: &'a Arena,
    budget: &Budget,
) -> Result<Option<WhyEmpty>, EvalError> {
    let before = arena.built();
    let why = Evaluator::new(expression, arena, budget).why_empty(&expression.root, value);
    arena.free(before, None);
    why
}

fn is_nothing(value: &View<'_>) -> bool {
    value.is_null() || value.kind() == Kind::Array && value.is_empty()
}

impl<'a> Evaluator<'a, '_> {
    /// Implements [`why_empty`].
    fn why_empty(
        &self,
        mut node: &'a Node,
        value: &View<'a>,
    ) -> Result<Option<WhyEmpty>, EvalError> {
        let mut current = value.clone();
        loop {
            match node {
                Node::Chain(parts) => {
                    let mut found = None;
                    for part in parts {
                        let next = self.eval(part, &current)?;
                        if is_nothing(&next) {
                            found = Some(part);
                            break;
                        }
                        current = next;
                    }
                    match found {
                        Some(part) => node = part,
                        None => return Ok(None),
                    }
                }
                // `max_by(items[?id == 9], &id)`
                Node::Call(_, arguments) => match arguments.first() {
                    Some(list) if is_nothing(&self.eval(list, &current)?) => node = list,
                    _ => return Ok(None),
                },
                Node::Project(projection) => {
                    let source = self.eval(&projection.source, &current)?;
                    if source.is_empty() && matches!(projection.source, Node::Project(_)) {
                        node = &projection.source;
                        continue;
                    }
                    let mut items = 0;
                    let mut passed = 0;
                    self.each(projection, &source, |item| {
                        items += 1;
                        passed += usize::from(match &projection.elements {
                            Elements::Filtered(predicate) => self.test(predicate, &item)?,
                            _ => true,
                        });
                        Ok(())
                    })?;
                    let is_slice = matches!(projection.elements, Elements::Slice { .. });
                    return Ok(match (items, passed) {
                        (0, _) if is_slice => source
                            .len()
                            .filter(|items| *items > 0)
                            .map(|items| WhyEmpty::SliceTookNone { items }),
                        (0, _) => None,
                        (_, 0) => Some(WhyEmpty::FilterRefusedAll { items }),
                        _ => Some(WhyEmpty::NoItemHasField { items: passed }),
                    });
                }
                _ => return Ok(None),
            }
        }
    }
}
