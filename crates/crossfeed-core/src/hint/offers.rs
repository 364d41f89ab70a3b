//! Tries selectors before they are offered, under the same guards as any selector.

use crate::{paths::Walk, select::SelectOptions};
use crossfeed_jmespath::{Arena, Budget, Expression, Kind, Limits, View, evaluate};
use std::collections::HashMap;

/// Steps that trying one selector may take: far more than the look-ups of 200 characters do.
const MAX_PATH_STEPS: u64 = 10_000;
/// Further steps for each item of the list that it goes over.
const STEPS_PER_ITEM: u64 = 20;
/// Items that all selectors together may go over.
const MAX_ITEMS: usize = 20_000;

/// Tries selectors on a value.
pub(super) struct Offers<'a, 'v> {
    pub(super) walk: &'v Walk<'a>,
    view: &'v View<'a>,
    options: &'v SelectOptions,
    arena: &'v Arena,
    budget: &'v Budget,
    /// Selectors of places, once they were requested.
    known: HashMap<usize, Option<String>>,
    items_left: usize,
    /// Steps that trying a path may take.
    path_steps: u64,
}

impl<'a, 'v> Offers<'a, 'v> {
    pub(super) fn new(
        walk: &'v Walk<'a>,
        view: &'v View<'a>,
        options: &'v SelectOptions,
        arena: &'v Arena,
        budget: &'v Budget,
    ) -> Self {
        // A look-up in a built object costs as much as the object is long.
        let members = match view.as_cursor() {
            Some(_) => 0,
            None => view.len().unwrap_or_default(),
        };
        Self {
            walk,
            view,
            options,
            arena,
            budget,
            known: HashMap::new(),
            items_left: MAX_ITEMS,
            path_steps: MAX_PATH_STEPS + members as u64,
        }
    }

    /// The selector of a place, if it works: it gives the value at that place.
    pub(super) fn place(&mut self, place: usize) -> Option<String> {
        if let Some(known) = self.known.get(&place) {
            return known.clone();
        }
        let expected = &self.walk.places[place].view;
        let selector = self.walk.selector(place).filter(|selector| {
            self.gives(selector, self.path_steps, |value| is_same(value, expected))
        });
        self.known.insert(place, selector.clone());
        selector
    }

    /// Whether a selector over `items` items works, and its value passes `wanted`.
    pub(super) fn over(
        &mut self,
        selector: &str,
        items: usize,
        wanted: impl FnOnce(&View<'_>) -> bool,
    ) -> bool {
        let Some(left) = self.items_left.checked_sub(items) else {
            return false;
        };
        self.items_left = left;
        let steps = STEPS_PER_ITEM.saturating_mul(items as u64);
        self.gives(selector, self.path_steps.saturating_add(steps), wanted)
    }

    /// Evaluates a selector as it would be if a model wrote it.
    fn gives(&self, selector: &str, steps: u64, wanted: impl FnOnce(&View<'_>) -> bool) -> bool {
        let guarded = selector.len() <= self.options.max_chars
            && self.options.patterns.check(selector).is_ok()
            && self.budget.spend(1).is_ok();
        let Ok(expression) = Expression::parse(selector) else {
            return false;
        };
        let limits = Limits::default()
            .with_steps_per_value(0)
            .with_base_steps(self.options.limits.base_steps.min(steps))
            .with_output_bytes(self.options.limits.output_bytes)
            .with_time(self.options.limits.time);
        let own = Budget::new(&limits, 0);
        guarded
            && matches!(
                evaluate(&expression, self.view, self.arena, &own),
                Ok(Some(found)) if wanted(&found)
            )
    }
}

/// Whether both are one value: the same place in a document, else of the same kind.
pub(super) fn is_same(found: &View<'_>, expected: &View<'_>) -> bool {
    match (found.as_cursor(), expected.as_cursor()) {
        (Some(found), Some(expected)) => std::ptr::eq(found.raw(), expected.raw()),
        _ => found.kind() == expected.kind(),
    }
}

/// Whether a selector that is not a plain path gave a value.
pub(super) fn is_something(found: &View<'_>) -> bool {
    !(found.is_null() || found.kind() == Kind::Array && found.is_empty())
}
