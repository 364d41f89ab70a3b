//! Projections over rows: a list whose paths are read from columns.
//!
//! The outcome and the steps equal those of a walk over the items, in the same order; between two possible
//! errors of an item, several steps are taken at once. Only the time differs: building columns takes no
//! steps, and at most half of the time left.

use super::{
    Budget, Cost, EvalError, Evaluator, ITEM_STEPS, Input,
    functions::{pay_sorting, sorted_places},
    number::order_short,
};
use crate::{
    compile::{Elements, Node, Path, Projection},
    view::{Repr, View},
};
use crossfeed_json::{ColumnRequest, Cursor, Rows};
use std::cmp::Ordering;

/// One row under evaluation.
#[derive(Clone, Copy)]
struct Row<'r, 'a> {
    rows: &'r Rows<'a>,
    at: usize,
}

impl<'a> Input<'a> for Row<'_, 'a> {
    #[inline]
    fn on_view<T>(self, look: impl FnOnce(&View<'a>) -> T) -> T {
        look(&View::from(self.rows.item(self.at)))
    }

    #[inline]
    fn cursor(self) -> Option<Cursor<'a>> {
        Some(self.rows.item(self.at))
    }

    #[inline]
    fn cell(self, path: &Path) -> Option<Option<Cursor<'a>>> {
        self.rows.cell(path.column()?, self.at)
    }

    #[inline]
    fn number(self, path: &Path) -> Option<f64> {
        let number = *self.rows.numbers(path.column()?)?.get(self.at)?;
        Some(number).filter(|number| !number.is_nan())
    }
}

impl<'a> Evaluator<'a, '_> {
    /// A list as rows with columns, where that pays.
    fn rows(&self, list: &View<'a>, wanted: &[ColumnRequest]) -> Option<Rows<'a>> {
        match list.0 {
            Repr::Json(list) if !wanted.is_empty() => {
                list.rows(wanted, self.budget.tables(), self.budget.building())
            }
            _ => None,
        }
    }

    /// The outcome of a projection over a list by its columns; `None` if that does not pay.
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
            row.at += self.skip(&projection.elements, row)?;
            if row.at == rows.len() {
                break;
            }
            self.budget.spend(1)?;
            self.project_item(projection, row, &mut out)?;
            row.at += 1;
        }
        Ok(Some(out))
    }

    /// Number of rows from `row` on that a filter refuses for certain, as it compares a column's numbers, up
    /// to the first one that it does not; they are paid for.
    #[inline]
    fn skip(&self, elements: &Elements, row: Row<'_, 'a>) -> Result<usize, Cost> {
        let Elements::Filtered(Node::Compare(comparison)) = elements else {
            return Ok(0);
        };
        let (Node::Path(path), Some(constant)) = (&comparison.left, &comparison.constant) else {
            return Ok(0);
        };
        let numbers = path.column().and_then(|at| row.rows.numbers(at));
        let (Some(numbers), Some(constant)) = (numbers, constant.short()) else {
            return Ok(0);
        };
        let rest = numbers.get(row.at..).unwrap_or_default();
        let skipped = rest.iter().take_while(|&&number| {
            // NaN is not refused here.
            let order = number.partial_cmp(&constant);
            order.is_some() && comparison.outcome(order) == Some(false)
        });
        let skipped = skipped.count();
        let steps = 2 + path.steps() + comparison.steps();
        self.budget.spend(steps.saturating_mul(skipped as u64))?;
        Ok(skipped)
    }
}

/// A list whose items each have a number at one path, all of them distinct as floats.
pub(super) struct NumberedRows<'a>(Rows<'a>);

impl<'a> Evaluator<'a, '_> {
    /// The rows of a list with the number that `by` gives for each, if it gives one for every row. Pays for
    /// reading them.
    pub(super) fn numbered(
        &self,
        list: &View<'a>,
        by: &View<'a>,
    ) -> Result<Option<NumberedRows<'a>>, Cost> {
        let Repr::Reference(Node::Path(path)) = by.0 else {
            return Ok(None);
        };
        let names = path.names().filter(|names| !names.is_empty());
        let wanted = names.map(|names| ColumnRequest::new(names, true).with_numbers());
        let rows = wanted.and_then(|wanted| self.rows(list, &[wanted]));
        let is_number = |number: &f64| !number.is_nan();
        let are_numbers = |rows: &Rows<'_>| {
            let numbers = rows.numbers(0);
            numbers.is_some_and(|numbers| numbers.iter().all(is_number))
        };
        let Some(rows) = rows.filter(are_numbers) else {
            return Ok(None);
        };
        let steps = path.steps() + ITEM_STEPS;
        self.budget.spend(steps.saturating_mul(rows.len() as u64))?;
        Ok(Some(NumberedRows(rows)))
    }
}

impl<'a> NumberedRows<'a> {
    fn numbers(&self) -> &[f64] {
        self.0.numbers(0).unwrap_or_default()
    }

    /// The first of the rows with the largest or smallest number.
    pub(super) fn extreme(&self, wanted: Ordering) -> View<'a> {
        let numbers = self.numbers();
        let Some(&first) = numbers.first() else {
            return View::null();
        };
        let (mut best, mut of_best) = (0, first);
        for (row, &number) in numbers.iter().enumerate() {
            if order_short(number, of_best) == wanted {
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
