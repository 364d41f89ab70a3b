//! Which places of a tree have a line, and how it is written.

use super::{
    DEPTH, MAX_LINES, Summary, is_well_known,
    tree::{Form, Spot, Tree},
};
use crate::{INSPECTOR, read::path_text};
use crossfeed_json::quoted;
use crossfeed_projection::Step;

/// What a place has of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PlaceLines {
    /// It has a line of its own, or would have one if it were not listed wholly.
    own: bool,
    /// How many of its children have lines, of their own or within.
    children: usize,
}

/// The lines as they are chosen.
///
/// A chosen place brings all branches around it along, so that a marker of its own counts what remains of
/// each of them.
pub(super) struct Lines {
    tree: Tree,
    listed: Vec<PlaceLines>,
    /// The chosen places, in the order of their lines; the root has none among them.
    order: Vec<usize>,
    count: usize,
}

impl Lines {
    pub(super) fn new(tree: Tree) -> Self {
        let mut lines = Self {
            listed: vec![PlaceLines::default(); tree.spots.len()],
            tree,
            order: Vec::new(),
            count: 0,
        };
        lines.count = lines.lines_of(0);
        lines
    }

    /// Chooses all leaves, where they are few and near.
    pub(super) fn list_leaves(&mut self) -> bool {
        let mut leaves = Vec::new();
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            let spot = &self.tree.spots[at];
            let is_complete = spot.children.len() == spot.total;
            match spot.form {
                Form::Branch if is_complete => open.extend(spot.children.iter().rev()),
                Form::Branch | Form::Folded { recursive: true } => return false,
                _ if spot.depth > DEPTH || spot.path.is_none() => return false,
                _ if at == 0 => {}
                _ => leaves.push(at),
            }
            if leaves.len() > MAX_LINES {
                return false;
            }
        }
        for leaf in leaves {
            // With all of them listed no marker remains; on the way there may be some.
            self.choose(leaf, usize::MAX);
        }
        let spots = &self.tree.spots;
        self.order.retain(|at| spots[*at].form != Form::Branch);
        true
    }

    /// Chooses the fields of the root.
    pub(super) fn list_root(&mut self) {
        self.list(|spot| spot.depth == 1);
    }

    /// Chooses well-known leaves, wherever they are.
    pub(super) fn list_well_known(&mut self) {
        self.list(|spot| spot.form == Form::Leaf && is_well_known(&spot.name));
    }

    /// Chooses further fields, the nearest first.
    pub(super) fn fill(&mut self) {
        self.list(|spot| spot.depth <= DEPTH);
    }

    fn list(&mut self, is_wanted: impl Fn(&Spot) -> bool) {
        for at in 1..self.tree.spots.len() {
            if is_wanted(&self.tree.spots[at]) {
                self.choose(at, MAX_LINES);
            }
        }
    }

    /// Chooses a place and all around it, unless there would be too many lines.
    fn choose(&mut self, at: usize, limit: usize) {
        if self.tree.spots[at].path.is_none() || self.listed[at].own {
            return;
        }
        let mut before = vec![];
        let mut count = self.count;
        let mut next = Some(at);
        let mut brings_child = false;
        while let Some(at) = next {
            let was = self.listed[at];
            before.push((at, was));
            count -= self.lines_of(at);
            self.listed[at].own |= at != 0;
            self.listed[at].children += usize::from(brings_child);
            count += self.lines_of(at);
            brings_child = at != 0 && !was.own;
            next = self.tree.spots[at].parent.filter(|_| brings_child);
        }
        if count > limit {
            for (at, was) in before {
                self.listed[at] = was;
            }
            return;
        }
        self.count = count;
        let new = before.iter().rev().filter(|(at, was)| *at != 0 && !was.own);
        self.order.extend(new.map(|(at, _)| *at));
    }

    /// How many lines a place has itself: none or one.
    fn lines_of(&self, at: usize) -> usize {
        let (listed, spot) = (&self.listed[at], &self.tree.spots[at]);
        let is_branch = spot.form == Form::Branch;
        usize::from(match at {
            0 => is_branch && listed.children < spot.total,
            _ => listed.own && (!is_branch || listed.children < spot.total),
        })
    }

    /// Writes the lines.
    pub(super) fn written(self, tool_id: &str) -> Summary {
        let mut summary = Summary::default();
        for &at in self.order.iter().chain(&[0]) {
            let (spot, listed) = (&self.tree.spots[at], &self.listed[at]);
            if self.lines_of(at) == 0 && (at != 0 || spot.form == Form::Branch) {
                continue;
            }
            let path = spot.path.clone().unwrap_or_default();
            let (field_path, word) = (path_text(&path), spot.word);
            // The value in an envelope has a name in its line, but paths begin there.
            let label = match (at, path.is_empty()) {
                (0, true) => spot.name.clone(),
                _ => field_path.clone(),
            };
            let asked = format!(
                "{INSPECTOR}(tool_id={}, field_path={})",
                quoted(tool_id),
                quoted(&field_path)
            );
            let hidden = spot.form != Form::Leaf;
            let is_nameless = label.is_empty();
            summary.has_hidden_fields |= hidden;
            let each = || {
                let mut steps = path.clone();
                steps.push(Step::EachKey);
                path_text(&steps)
            };
            summary.output_fields.push(match spot.form {
                Form::Leaf | Form::Open if is_nameless => continue,
                Form::Leaf => format!("{label}: {word}"),
                Form::Open => format!("{label}: {word} (unknown keys; {asked})"),
                Form::Branch if at == 0 || listed.children > 0 => {
                    let left = spot.total - listed.children;
                    format!("{} (+{left} more fields; {asked})", each())
                }
                Form::Folded { .. } if is_nameless => {
                    format!("{} (+{} more fields; {asked})", each(), spot.total)
                }
                Form::Branch | Form::Folded { .. } => {
                    format!(
                        "{label}: {word} (contains {} sub-fields; {asked})",
                        spot.total
                    )
                }
            });
        }
        summary
    }
}
