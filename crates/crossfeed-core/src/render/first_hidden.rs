//! The first value that a preview hides, and the selector that reaches it.

use super::plan::{Body, Form, Id, PathStep, Plan};
use crate::paths::{SELECTOR_CHARS, member};
use crossfeed_json::Cursor;

/// A value in the plan: how it is reached, and its place in a document, if it has one.
type Location<'a> = (PathStep<'a>, Option<Cursor<'a>>);

/// A hidden value and those around it, the innermost first.
#[derive(Debug)]
pub(super) struct HiddenValue<'a>(Vec<Location<'a>>);

/// The kind of a hidden value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HiddenKind {
    /// Items, members and parts.
    Values,
    /// The rest of a text whose beginning is shown.
    Texts,
    /// Members beside the data.
    Asides,
}

/// The first value that is hidden after `steps` steps; `None` if everything is shown. Items and members come
/// first, then the rest of texts, then members beside the data: each kind only if nothing of an earlier kind
/// is hidden.
pub(super) fn first_hidden<'a>(plan: &Plan<'a, '_>, steps: usize) -> Option<HiddenValue<'a>> {
    let kinds = [HiddenKind::Values, HiddenKind::Texts, HiddenKind::Asides];
    let mut kinds = kinds.into_iter();
    let (id, child) = kinds.find_map(|kind| search(plan, plan.root, steps, kind))?;
    let around = std::iter::successors(Some(id), |id| plan.node(*id).hop.parent());
    let around = around.map(|id| (plan.node(id).hop.clone(), plan.node(id).cursor));
    Some(HiddenValue(child.into_iter().chain(around).collect()))
}

impl<'a> HiddenValue<'a> {
    /// The selectors of the values, without those that are too long to be offered.
    pub(super) fn selectors(
        &self,
        plan: &Plan<'a, '_>,
    ) -> impl Iterator<Item = (String, Option<Cursor<'a>>)> {
        let places = self.0.iter();
        places.filter_map(|(hop, cursor)| Some((selector(plan, hop)?, *cursor)))
    }
}

/// The selector of a value; empty for the whole result, `None` if it is too long to be offered.
fn selector(plan: &Plan<'_, '_>, hop: &PathStep<'_>) -> Option<String> {
    let around = |parent: Id| selector(plan, &plan.node(parent).hop);
    let selector = match hop {
        PathStep::Select(selector) => selector.clone(),
        PathStep::Member(parent, key) => member(&around(*parent)?, &key.text()),
        PathStep::Item(parent, index) => format!("{}[{index}]", around(*parent)?),
    };
    (selector.len() <= SELECTOR_CHARS).then_some(selector)
}

/// The first node, in reading order, that hides something of this kind.
fn search<'a>(
    plan: &Plan<'a, '_>,
    id: Id,
    steps: usize,
    kind: HiddenKind,
) -> Option<(Id, Option<Location<'a>>)> {
    let node = plan.node(id);
    match &node.body {
        Body::Fixed(_) | Body::Described(_) => None,
        Body::Aside(_) => (kind == HiddenKind::Asides).then_some((id, None)),
        Body::Text(text) => {
            let is_cut = || text.end(steps) < text.chars.len();
            (kind == HiddenKind::Texts && is_cut()).then_some((id, None))
        }
        Body::Row(row) => row
            .iter()
            .find_map(|(_, id)| search(plan, *id, steps, kind)),
        Body::Branch(branch) => {
            let visible = branch.visible(steps);
            let mut shown = branch.children.iter().take(visible);
            let within = shown.find_map(|child| search(plan, child.id, steps, kind));
            if within.is_some() {
                return within;
            }
            if visible == branch.len || kind != HiddenKind::Values {
                return None;
            }
            // The whole value needs no selector, so the selector of its first item says more.
            let is_all = matches!(&node.hop, PathStep::Select(select) if select.is_empty());
            let hidden = branch.hidden(visible).next();
            let hidden = hidden.filter(|_| visible > 0 || is_all || branch.form == Form::Parts);
            Some((
                id,
                hidden.map(|cursor| plan.hop(id, branch, visible, cursor)),
            ))
        }
    }
}
