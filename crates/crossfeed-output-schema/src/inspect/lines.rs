//! Lists the fields below a place, as lines.

use super::InspectRequest;
use crate::read::{Field, Fields, Node, Reader};
use crossfeed_projection::{Path, Step};
use std::ops::Range;

/// The deepest that lines go.
const MAX_DEPTH: usize = 32;
/// The most lines.
const MAX_LINES: usize = 1_000;

/// The lines about a place.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) texts: Vec<String>,
    /// Whether lines or depth were cut.
    pub(super) cut: bool,
}

/// A place below the one that is asked for.
struct Spot<'s> {
    parent: Option<usize>,
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
pub(super) fn unfold<'s>(
    reader: &Reader<'s>,
    node: &Node<'s>,
    fields: &Fields<'s>,
    page: Range<usize>,
    request: &InspectRequest,
) -> Lines {
    let max_depth = request.max_depth.min(MAX_DEPTH);
    let max_lines = request.max_fields.min(MAX_LINES);
    let mut unfolding = Unfolding {
        reader,
        spots: Vec::new(),
        lines: 0,
        max_lines,
        cut: false,
    };
    let first = unfolding.spot(None, Vec::new(), node.clone(), 0);
    let is_list = first.node.word() != "object" && !first.steps.is_empty();
    unfolding.spots.push(first);
    let shown: Vec<_> = fields.named.get(page).unwrap_or_default().to_vec();
    let rest = fields.rest.clone();
    let has_fields = !fields.named.is_empty() || rest.is_some();
    if !has_fields {
        // Of a list of scalars the items are all there is to say.
        if is_list && max_depth > 0 && max_lines > 0 {
            unfolding.spots[0].is_line = true;
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
    // Breadth first: fields of an unfolded place come after all places of its level.
    while next < unfolding.spots.len() {
        unfolding.deepen(next, max_depth);
        next += 1;
    }
    unfolding.written()
}

impl<'s> Unfolding<'_, 's> {
    /// A place, its lists crossed.
    fn spot(
        &self,
        parent: Option<usize>,
        mut steps: Vec<Step>,
        node: Node<'s>,
        depth: usize,
    ) -> Spot<'s> {
        let (node, lists) = self.reader.innermost(node);
        steps.extend(std::iter::repeat_n(Step::EachItem, lists));
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
        let spot = &self.spots[at];
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
        let is_deep = spot.depth >= max_depth || self.is_recursion(spot);
        if is_deep || !fits {
            self.cut = true;
            return;
        }
        self.unfold(at, inner, false);
    }

    /// Puts lines of fields in the place of one; of the first place as many as fit.
    fn unfold(&mut self, at: usize, fields: Vec<Field<'s>>, is_first: bool) {
        let spot = &mut self.spots[at];
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
            let mut spot = self.spot(Some(at), steps, self.reader.field(&field), depth);
            spot.is_line = true;
            self.lines += 1;
            let number = self.spots.len();
            self.spots.push(spot);
            self.spots[at].children.push(number);
        }
    }

    /// Whether a place stands within one that is made of the same.
    fn is_recursion(&self, spot: &Spot<'s>) -> bool {
        let mut around = std::iter::successors(spot.parent, |at| self.spots[*at].parent);
        !spot.identity.is_empty() && around.any(|at| self.spots[at].identity == spot.identity)
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
