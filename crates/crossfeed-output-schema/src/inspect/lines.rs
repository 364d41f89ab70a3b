//! What lies below a place, as lines.

use super::InspectRequest;
use crate::read::{Field, Fields, Node, Reader};
use crossfeed_projection::{Path, Step};
use std::{collections::VecDeque, ops::Range};

/// The deepest that lines go.
const MOST_DEPTH: usize = 32;
/// The most lines.
const MOST_LINES: usize = 1_000;
/// Lists of lists that one line may name.
const LISTS: usize = 16;

/// The lines about a place.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) texts: Vec<String>,
    /// Whether lines or depth were cut.
    pub(super) cut: bool,
}

/// A place below the one that is asked for.
struct Spot<'s> {
    parent: usize,
    steps: Vec<Step>,
    node: Node<'s>,
    depth: usize,
    identity: Vec<usize>,
    /// Those that took its place; a union keeps its own line before them.
    children: Vec<usize>,
    is_line: bool,
}

struct Unfolding<'r, 's> {
    reader: &'r Reader<'s>,
    spots: Vec<Spot<'s>>,
    lines: usize,
    max_lines: usize,
    cut: bool,
}

/// The lines about the fields of a place that are within a range.
pub(super) fn of<'s>(
    reader: &Reader<'s>,
    node: &Node<'s>,
    fields: &Fields<'s>,
    page: Range<usize>,
    request: &InspectRequest,
) -> Lines {
    let max_depth = request.max_depth.min(MOST_DEPTH);
    let max_lines = request.max_fields.min(MOST_LINES);
    let mut unfolding = Unfolding {
        reader,
        spots: Vec::new(),
        lines: 0,
        max_lines,
        cut: false,
    };
    let first = unfolding.spot(0, Vec::new(), node.clone(), 0);
    let is_list = first.node.word() != "object" && !first.steps.is_empty();
    unfolding.spots.push(first);
    let shown: Vec<_> = fields.named.get(page).unwrap_or_default().to_vec();
    let rest = fields.rest.clone();
    let has_fields = !fields.named.is_empty() || rest.is_some();
    if !has_fields {
        // Of a list of scalars the items are all there is to say.
        if is_list && max_depth > 0 && max_lines > 0 {
            if let Some(spot) = unfolding.spots.first_mut() {
                spot.is_line = true;
            }
        } else {
            unfolding.cut = is_list;
        }
        return unfolding.written();
    }
    if max_depth == 0 || max_lines == 0 {
        return Lines {
            texts: Vec::new(),
            cut: !shown.is_empty() || rest.is_some(),
        };
    }
    unfolding.unfold(0, shown.into_iter().chain(rest).collect(), true);
    let mut next = 1;
    // Breadth first: whoever is unfolded stands behind all that are on its level.
    let mut open: VecDeque<usize> = VecDeque::new();
    loop {
        while next < unfolding.spots.len() {
            open.push_back(next);
            next += 1;
        }
        let Some(at) = open.pop_front() else {
            break;
        };
        unfolding.deepen(at, max_depth);
    }
    unfolding.written()
}

impl<'s> Unfolding<'_, 's> {
    /// A place, its lists crossed.
    fn spot(
        &self,
        parent: usize,
        mut steps: Vec<Step>,
        mut node: Node<'s>,
        depth: usize,
    ) -> Spot<'s> {
        let mut lists = 0;
        while lists < LISTS
            && node.word() == "array"
            && let Some(items) = self.reader.items(&node, None)
        {
            node = items;
            lists += 1;
            steps.push(Step::EachItem);
        }
        Spot {
            parent,
            steps,
            identity: node.identity(),
            node,
            depth,
            children: Vec::new(),
            is_line: false,
        }
    }

    /// Unfolds a place that was a line, if it can be.
    fn deepen(&mut self, at: usize, max_depth: usize) {
        let Some(spot) = self.spots.get(at) else {
            return;
        };
        if self.reader.is_tired() {
            self.cut = true;
            return;
        }
        let fields = self.reader.fields(&spot.node);
        let inner: Vec<_> = fields.named.into_iter().chain(fields.rest).collect();
        if inner.is_empty() {
            return;
        }
        // A union may be something else than its fields: its own line stays.
        let stays = usize::from(spot.node.word() != "object");
        let fits = self.lines - 1 + stays + inner.len() <= self.max_lines;
        let is_deep = spot.depth >= max_depth || self.is_within(at);
        if is_deep || !fits {
            self.cut = true;
            return;
        }
        self.unfold(at, inner, false);
    }

    /// Puts lines of fields in the place of one; of the first place as many as fit.
    fn unfold(&mut self, at: usize, fields: Vec<Field<'s>>, is_first: bool) {
        let Some(spot) = self.spots.get_mut(at) else {
            return;
        };
        let (steps, depth) = (spot.steps.clone(), spot.depth + 1);
        if !is_first && spot.node.word() == "object" {
            spot.is_line = false;
            self.lines -= 1;
        }
        for field in fields {
            if self.lines == self.max_lines {
                self.cut = true;
                break;
            }
            let mut steps = steps.clone();
            steps.push(field.step());
            let node = self.reader.field(&field);
            let mut spot = self.spot(at, steps, node, depth);
            spot.is_line = true;
            self.lines += 1;
            let number = self.spots.len();
            self.spots.push(spot);
            if let Some(parent) = self.spots.get_mut(at) {
                parent.children.push(number);
            }
        }
    }

    /// Whether a place stands within one that is made of the same.
    fn is_within(&self, at: usize) -> bool {
        let Some(spot) = self.spots.get(at) else {
            return false;
        };
        let mut around = at;
        while around != 0 {
            around = self.spots.get(around).map_or(0, |spot| spot.parent);
            let known = self.spots.get(around).map(|spot| &spot.identity);
            if !spot.identity.is_empty() && known == Some(&spot.identity) {
                return true;
            }
        }
        false
    }

    fn written(self) -> Lines {
        let mut lines = Lines {
            texts: Vec::new(),
            cut: self.cut,
        };
        let mut open = vec![0];
        while let Some(spot) = open.pop().and_then(|at| self.spots.get(at)) {
            if spot.is_line {
                match Path::from_steps(spot.steps.iter().cloned()) {
                    Ok(path) => lines.texts.push(format!("{path}: {}", spot.node.word())),
                    Err(_) => lines.cut = true, // no path can name it
                }
            }
            open.extend(spot.children.iter().rev());
        }
        lines
    }
}
