//! Projections over rows: a list of which the paths that an expression follows are
//! read from columns.
//!
//! What comes in: a projection, or a function's list and path, and the list's [`Rows`]. What goes
//! out: what a walk over the items gives, for the same steps, taken in the same order; between two
//! errors that an item may cause several steps are taken at once. Only the clock may tell: building
//! columns takes time and no steps, half of what is left at most. Deliberately not here: when
//! columns are built and how.

use super::{
    Budget, Cost, EvalError, Evaluated, Evaluator, ITEM_STEPS,
    compare::unordered,
    functions::{pay_sorting, sorted_places},
    is_truthy,
};
use crate::{
    compile::{Comparison, Constant, Node, Over, Path, Projection},
    number::order_short,
    view::{Repr, View},
};
use crossfeed_json::{Cell, Kind, Rows, Wanted};
use std::{cmp::Ordering, rc::Rc};

/// One row under evaluation.
#[derive(Clone, Copy)]
struct Row<'r, 'a> {
    rows: &'r Rows<'a>,
    at: usize,
}

impl<'a> Row<'_, 'a> {
    fn item(self) -> View<'a> {
        View::from(self.rows.item(self.at))
    }

    /// The cell of a path, if it has a column.
    #[inline]
    fn cell(self, path: &Path) -> Option<Cell<'a>> {
        match self.rows.cell(path.column()?, self.at)? {
            Cell::Odd => None,
            cell => Some(cell),
        }
    }

    /// The number that a path leads to, if it has been read.
    #[inline]
    fn number(self, path: &Path) -> Option<f64> {
        let number = *self.rows.numbers(path.column()?)?.get(self.at)?;
        Some(number).filter(|number| !number.is_nan())
    }
}

impl<'a> Evaluator<'a, '_> {
    /// A list as rows with columns, where that pays.
    fn rows(&self, list: &View<'a>, wanted: &[Wanted]) -> Option<Rows<'a>> {
        match list.0 {
            Repr::Json(list) if !wanted.is_empty() => {
                list.rows(wanted, self.budget.tables(), self.budget.building())
            }
            _ => None,
        }
    }

    /// What a projection makes of a list, by its columns; `None` where that does not pay.
    #[inline(never)]
    pub(super) fn project_rows(
        &self,
        projection: &'a Projection,
        list: &View<'a>,
    ) -> Result<Option<Vec<View<'a>>>, EvalError> {
        let Some(rows) = self.rows(list, &projection.columns) else {
            return Ok(None);
        };
        let mut out = self.list_of(0)?;
        let mut row = Row { rows: &rows, at: 0 };
        while row.at < rows.len() {
            if let Over::Filtered(Node::Compare(comparison)) = &projection.over
                && let Some(skipped) = self.skip(comparison, row)?
            {
                row.at += skipped;
                if row.at == rows.len() {
                    break;
                }
            }
            self.budget.spend(1)?;
            let passes = match &projection.over {
                Over::Filtered(predicate) => self.test_row(predicate, row)?,
                _ => true,
            };
            if passes && let Some(value) = self.project_row(&projection.each, row)? {
                self.budget.spend(ITEM_STEPS)?;
                self.push(&mut out, value)?;
            }
            row.at += 1;
        }
        Ok(Some(out))
    }

    /// Number of rows from `row` on that a comparison of a column's numbers refuses for certain, up
    /// to the first one that it does not; they are paid for.
    #[inline]
    fn skip(&self, comparison: &Comparison, row: Row<'_, 'a>) -> Result<Option<usize>, Cost> {
        let (Node::Path(path), Some(Constant::Number(constant))) =
            (&comparison.left, &comparison.constant)
        else {
            return Ok(None);
        };
        let numbers = path.column().and_then(|at| row.rows.numbers(at));
        let (Some(numbers), Some(constant)) = (numbers, constant.short()) else {
            return Ok(None);
        };
        let operator = comparison.operator;
        let rest = numbers.get(row.at..).unwrap_or_default();
        let skipped = rest.iter().take_while(|&&number| {
            // NaN is not refused here.
            match number.partial_cmp(&constant) {
                Some(order) => !operator.holds(order),
                None => false,
            }
        });
        let skipped = skipped.count();
        let each = 3 + path.steps() + u64::from(operator.is_equality());
        self.budget.spend_often(skipped, each)?;
        Ok(Some(skipped))
    }

    /// What a projection makes of one row; `None` for nothing.
    #[inline]
    fn project_row(&self, each: &'a Node, row: Row<'_, 'a>) -> Result<Option<View<'a>>, EvalError> {
        let value = match each {
            Node::Path(path) => match row.cell(path) {
                Some(cell) => {
                    self.budget.spend(path.steps())?;
                    return Ok(match cell {
                        Cell::Place(place) if place.kind() != Kind::Null => Some(View::from(place)),
                        _ => None,
                    });
                }
                None => self.eval(each, &row.item())?,
            },
            Node::Current => row.item(),
            _ => self.eval_row(each, row)?,
        };
        Ok(Some(value).filter(|value| !value.is_null()))
    }

    /// [`Self::eval`] on a row.
    fn eval_row(&self, node: &'a Node, row: Row<'_, 'a>) -> Evaluated<'a> {
        match node {
            Node::Path(path) => match row.cell(path) {
                Some(cell) => {
                    self.budget.spend(path.steps())?;
                    Ok(match cell {
                        Cell::Place(place) => View::from(place),
                        _ => View::null(),
                    })
                }
                None => self.eval(node, &row.item()),
            },
            Node::Hash(hash) => {
                self.budget.spend(1)?;
                Ok(match self.all_of_row(&hash.values, row)? {
                    Some(values) => View(Repr::Hash(hash, Rc::new(values))),
                    None => View::null(),
                })
            }
            Node::List(parts) => {
                self.budget.spend(1)?;
                let values = self.all_of_row(parts, row)?;
                Ok(values.map_or(View::null(), View::list))
            }
            _ => self.eval(node, &row.item()),
        }
    }

    /// The value of each node on a row; `None` on null.
    #[inline]
    fn all_of_row(
        &self,
        nodes: &'a [Node],
        row: Row<'_, 'a>,
    ) -> Result<Option<Vec<View<'a>>>, EvalError> {
        if row.rows.item(row.at).kind() == Kind::Null {
            return Ok(None);
        }
        self.budget.spend(ITEM_STEPS * nodes.len() as u64)?;
        let mut values = self.list_of(nodes.len())?;
        for node in nodes {
            values.push(self.eval_row(node, row)?);
        }
        Ok(Some(values))
    }

    /// [`Self::test`] on a row.
    fn test_row(&self, node: &'a Node, row: Row<'_, 'a>) -> Result<bool, EvalError> {
        match node {
            Node::Path(path) => match row.cell(path) {
                Some(cell) => {
                    self.budget.spend(path.steps())?;
                    Ok(matches!(cell, Cell::Place(place) if is_truthy(place)))
                }
                None => self.test(node, &row.item()),
            },
            Node::Compare(comparison) => {
                self.budget.spend(1)?;
                Ok(self.compare_row(comparison, row)? == Some(true))
            }
            Node::Or(parts) => self.test_any_of_row(parts, row, true),
            Node::And(parts) => self.test_any_of_row(parts, row, false),
            Node::Not(inner) => {
                self.budget.spend(1)?;
                Ok(!self.test_row(inner, row)?)
            }
            _ => self.test(node, &row.item()),
        }
    }

    fn test_any_of_row(
        &self,
        parts: &'a [Node],
        row: Row<'_, 'a>,
        wanted: bool,
    ) -> Result<bool, EvalError> {
        self.budget.spend(1)?;
        for part in parts {
            if self.test_row(part, row)? == wanted {
                return Ok(wanted);
            }
        }
        Ok(!wanted)
    }

    #[inline]
    fn compare_row(
        &self,
        comparison: &'a Comparison,
        row: Row<'_, 'a>,
    ) -> Result<Option<bool>, EvalError> {
        let (Node::Path(path), Some(constant)) = (&comparison.left, &comparison.constant) else {
            return self.compare(comparison, &row.item());
        };
        let Some(cell) = row.cell(path) else {
            return self.compare(comparison, &row.item());
        };
        let operator = comparison.operator;
        self.budget.spend(path.steps())?;
        self.budget.spend(1 + u64::from(operator.is_equality()))?;
        let order = match (constant, row.number(path)) {
            (Constant::Number(constant), Some(number)) if constant.short().is_some() => constant
                .short()
                .map(|constant| order_short(number, constant)),
            _ => match cell {
                Cell::Place(place) => constant.order_of(place, self.budget)?,
                _ => None,
            },
        };
        Ok(match order {
            Some(order) => Some(operator.holds(order)),
            None => unordered(operator),
        })
    }
}

/// A list whose items each have a number under one path, all of them told apart by floats.
pub(super) struct NumberedRows<'a>(Rows<'a>);

impl<'a> Evaluator<'a, '_> {
    /// The rows of a list by the numbers that `by` gives on them, if it gives one on each; what
    /// looking at each of them costs is paid.
    pub(super) fn numbered(
        &self,
        list: &View<'a>,
        by: &'a Node,
    ) -> Result<Option<NumberedRows<'a>>, Cost> {
        let Node::Path(path) = by else {
            return Ok(None);
        };
        let Some(names) = path.names().filter(|names| !names.is_empty()) else {
            return Ok(None);
        };
        let wanted = Wanted::new(names, true).with_numbers();
        let Some(rows) = self.rows(list, &[wanted]) else {
            return Ok(None);
        };
        match rows.numbers(0) {
            Some(numbers) if !numbers.iter().any(|number| number.is_nan()) => {}
            _ => return Ok(None),
        }
        self.budget
            .spend_often(rows.len(), path.steps() + ITEM_STEPS)?;
        Ok(Some(NumberedRows(rows)))
    }
}

impl<'a> NumberedRows<'a> {
    fn numbers(&self) -> &[f64] {
        self.0.numbers(0).unwrap_or_default()
    }

    /// The first of the rows with the largest or smallest number.
    pub(super) fn extreme(&self, wanted: Ordering) -> View<'a> {
        let mut best = 0;
        let mut of_best = f64::NAN;
        for (row, &number) in self.numbers().iter().enumerate() {
            if row == 0 || order_short(number, of_best) == wanted {
                (best, of_best) = (row, number);
            }
        }
        View::from(self.0.item(best))
    }

    /// The items in the order of their numbers.
    pub(super) fn sorted(&self, budget: &Budget) -> Result<Vec<View<'a>>, Cost> {
        let numbers = self.numbers();
        pay_sorting(numbers.len(), budget)?;
        let places = sorted_places(numbers);
        let items = places.into_iter().map(|row| View::from(self.0.item(row)));
        Ok(items.collect())
    }
}

/// Steps that are taken one row after the other.
impl Budget {
    /// Takes `each` steps `often` times.
    fn spend_often(&self, often: usize, each: u64) -> Result<(), Cost> {
        match each.checked_mul(often as u64) {
            Some(all) => self.spend(all),
            None => self.spend(u64::MAX),
        }
    }
}
