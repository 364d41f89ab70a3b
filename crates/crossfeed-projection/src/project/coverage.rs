//! Records which nodes of the requested paths a run over a value met.

use super::{
    state::{Spec, State},
    steps::{Reach, Steps},
};
use crate::fold_case;
use crossfeed_json::{Cursor, Kind};
use std::collections::HashSet;

/// Kinds of values that a node met, as bits.
pub(super) mod met {
    pub(in crate::project) const OBJECT: u8 = 1;
    /// A list that has items which are not hidden.
    pub(in crate::project) const LIST: u8 = 2;
    pub(in crate::project) const SCALAR: u8 = 4;
    pub(in crate::project) const NULL: u8 = 8;
}

pub(super) fn kind_of(value: Cursor<'_>) -> u8 {
    match value.kind() {
        Kind::Object => met::OBJECT,
        // Hidden items do not count, so the walk sets this bit later.
        Kind::Array => 0,
        Kind::Null => met::NULL,
        _ => met::SCALAR,
    }
}

/// The nodes that some value reached, and the rules that hid something.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    pub(super) include: Vec<bool>,
    pub(super) exclude: Vec<bool>,
    /// Nodes of the exclude tree that matched always-kept fields.
    pub(super) shielded: HashSet<u32>,
    /// Nodes of the never tree that hid something.
    pub(super) never: HashSet<u32>,
    /// Folded.
    pub(super) never_names: HashSet<Box<str>>,
}

impl Coverage {
    pub(super) fn new(spec: Spec<'_>) -> Self {
        Self {
            include: vec![false; spec.include.branches.len()],
            exclude: vec![false; spec.exclude.branches.len()],
            ..Self::default()
        }
    }

    /// Notes a step that the walk took. A hidden value does not count as reached: to a request it is
    /// absent.
    pub(super) fn step(&mut self, from: &State, steps: &Steps, name: Option<&str>) {
        fn mark(seen: &mut [bool], reached: &Reach) {
            for node in reached.nodes() {
                seen[node as usize] = true;
            }
        }
        let hidden = steps.is_hidden();
        if let Some(include) = steps.include.as_ref().filter(|_| !hidden) {
            mark(&mut self.include, include);
        }
        if !steps.is_kept(from) {
            return;
        }
        if !hidden {
            mark(&mut self.exclude, &steps.exclude);
            if steps.is_shielded(from) {
                self.shielded.extend(steps.exclude.nodes());
            }
        }
        if steps.never_named
            && let Some(name) = name
        {
            self.never_names.insert(fold_case(name).into());
        }
        if steps.never.whole {
            self.never.extend(steps.never.nodes());
        }
    }
}
