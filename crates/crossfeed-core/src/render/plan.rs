//! The plan of a preview: in which order a value is revealed.
//!
//! A preview shows the tree after as many steps as its budget holds, so a larger budget shows everything that
//! a smaller one does.
//!
//! Values nearer to the root come first, and the first item of a list before the others, because items are
//! mostly alike.

use super::{
    parts::EnvelopeInfo,
    subject::RenderContext,
    text::{BEGINNING, Chars, SHORT, Text},
};
use crate::strip::StripPolicy;
use crossfeed_json::{Cursor, Items, Key, Kind};
use std::{cmp::Reverse, collections::BinaryHeap};

/// The most bytes of a list or object that is shown whole with its first step: no more than the
/// mark in its place.
const SMALL_BYTES: usize = 40;
/// The most digits of a number that is shown like any scalar.
const MAX_DIGITS: usize = 64;
/// The most members of an object, or items of a list, that are shown: more than any budget holds.
const MAX_CHILDREN: usize = 100_000;
/// The most bytes of a key that is shown.
const MAX_KEY_BYTES: usize = 256;
/// The penalty of the rest of a text, compared with its beginning.
const LONGER_PENALTY: u32 = 6;
/// How deep lists and objects are opened. With the levels around them, and small values that are shown whole,
/// a preview stays within the depth that readers of JSON support.
const MAX_DEPTH: usize = 100;

/// The index of a node in its plan.
pub(super) type Id = usize;

/// A tree over a result, and the steps that reveal it.
pub(super) struct Plan<'a, 'v> {
    /// Facts about the result that its bytes do not say.
    pub(super) known: &'v RenderContext<'a, 'v>,
    pub(super) around: EnvelopeInfo,
    /// The structured content of a tool result, shown beside its parts.
    pub(super) structured: Option<Cursor<'a>>,
    /// The root node.
    pub(super) root: Id,
    nodes: Vec<Node<'a>>,
    /// How many steps were planned.
    pub(super) steps: usize,
    /// The nodes that can show more, in order of penalty.
    next: BinaryHeap<Reverse<(u32, usize, Id)>>,
    /// How many were added, which keeps nodes of equal penalty in order.
    put: usize,
    /// The approximate bytes that all steps show.
    bytes: usize,
}

/// One value.
pub(super) struct Node<'a> {
    pub(super) body: Body<'a>,
    /// Its place in a document, if it has one.
    pub(super) cursor: Option<Cursor<'a>>,
    pub(super) hop: PathStep<'a>,
    /// The number of lists and objects around it.
    depth: usize,
    /// Whether it is in an item after the first one of a list, so that its keys were named before.
    pub(super) repeated: bool,
}

/// How a node is reached.
#[derive(Clone, Debug)]
pub(super) enum PathStep<'a> {
    /// By a selector of its own.
    Select(String),
    Member(Id, Key<'a>),
    Item(Id, usize),
}

impl PathStep<'_> {
    /// All of the result.
    pub(super) fn whole() -> Self {
        Self::Select(String::new())
    }

    /// The node that the step starts from.
    pub(super) fn parent(&self) -> Option<Id> {
        match self {
            Self::Select(_) => None,
            Self::Member(parent, _) | Self::Item(parent, _) => Some(*parent),
        }
    }
}

pub(super) enum Body<'a> {
    /// JSON that is shown as it is.
    Fixed(Vec<u8>),
    /// The description of binary data.
    Described(String),
    /// A note on members beside the data that no step shows.
    Aside(String),
    Text(Text<'a>),
    Branch(Branch<'a>),
    /// Nodes in a row, each after its own prefix.
    Row(Vec<(String, Id)>),
}

impl Body<'_> {
    /// The approximate bytes that a new node shows.
    fn shown_at_first(&self) -> usize {
        match self {
            Self::Fixed(json) => json.len(),
            Self::Described(text) => text.len(),
            Self::Text(_) => BEGINNING + 20,
            _ => 20,
        }
    }
}

/// A list or object that is shown from its first child on.
pub(super) struct Branch<'a> {
    pub(super) form: Form,
    /// The number of all children.
    pub(super) len: usize,
    pub(super) children: Vec<Child<'a>>,
    /// The children that are not planned yet.
    rest: Items<'a>,
    /// The index of the first child.
    first: usize,
    /// Which members are stripped.
    strip: Option<StripPolicy>,
}

/// The form of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    List,
    /// The content of a tool result.
    Parts,
    /// An object; the keys of the root object are named even if no member is shown.
    Object {
        is_root: bool,
    },
}

impl Form {
    /// The form of a list or object within the result.
    fn inner(cursor: Cursor<'_>) -> Self {
        match cursor.kind() {
            Kind::Object => Self::Object { is_root: false },
            _ => Self::List,
        }
    }
}

#[derive(Debug)]
pub(super) struct Child<'a> {
    /// Its place, with its key.
    pub(super) cursor: Cursor<'a>,
    pub(super) id: Id,
    /// The step that shows it.
    pub(super) step: usize,
}

impl<'a> Branch<'a> {
    /// How many children are shown after `steps` steps.
    pub(super) fn visible(&self, steps: usize) -> usize {
        self.children.partition_point(|child| child.step < steps)
    }

    /// The children from `visible` on.
    pub(super) fn hidden(&self, visible: usize) -> impl Iterator<Item = Cursor<'a>> {
        let planned = self.children.iter().skip(visible);
        let strip = self.strip;
        let rest = self.rest.clone();
        planned
            .map(|child| child.cursor)
            .chain(rest.filter(move |child| !strips(strip, *child)))
    }
}

/// Whether a policy strips a member.
fn strips(policy: Option<StripPolicy>, member: Cursor<'_>) -> bool {
    policy.is_some_and(|policy| policy.strips_member(member))
}

impl<'a, 'v> Plan<'a, 'v> {
    pub(super) fn new(known: &'v RenderContext<'a, 'v>, around: EnvelopeInfo) -> Self {
        Self {
            known,
            around,
            structured: None,
            root: 0,
            nodes: Vec::new(),
            steps: 0,
            next: BinaryHeap::new(),
            put: 0,
            bytes: 0,
        }
    }

    pub(super) fn node(&self, id: Id) -> &Node<'a> {
        &self.nodes[id]
    }

    /// How the child of a branch at index `place` is reached, and its place in a document.
    pub(super) fn hop(
        &self,
        id: Id,
        branch: &Branch<'a>,
        place: usize,
        cursor: Cursor<'a>,
    ) -> (PathStep<'a>, Option<Cursor<'a>>) {
        let index = branch.first + place;
        match branch.form {
            Form::Object { .. } => (PathStep::Member(id, cursor.key()), Some(cursor)),
            Form::List => (PathStep::Item(id, index), Some(cursor)),
            // A part is reached as its value, which has a place of its own only in the envelope.
            Form::Parts => {
                let place = self.around.structured.then_some(cursor);
                (PathStep::Select(self.around.select(index)), place)
            }
        }
    }

    /// The selector of the part at index `place` among the shown ones.
    pub(super) fn part_label(&self, branch: &Branch<'a>, place: usize) -> String {
        self.around.select(branch.first + place)
    }

    /// Adds a node without a step of its own.
    pub(super) fn add(
        &mut self,
        body: Body<'a>,
        cursor: Option<Cursor<'a>>,
        hop: PathStep<'a>,
    ) -> Id {
        let parent = hop.parent().map(|parent| &self.nodes[parent]);
        let depth = parent.map_or(0, |parent| parent.depth + 1);
        let repeated = matches!(hop, PathStep::Item(_, index) if index > 0)
            || parent.is_some_and(|parent| parent.repeated);
        self.nodes.push(Node {
            body,
            cursor,
            hop,
            depth,
            repeated,
        });
        self.nodes.len() - 1
    }

    /// Adds a text that is the whole result: raw, unless its lines could be read as data.
    pub(super) fn add_raw(&mut self, chars: Chars<'a>) -> Id {
        let text = Text::new(chars, !chars.has_json_lines());
        let id = self.add(Body::Text(text), None, PathStep::whole());
        self.want(id, 0);
        id
    }

    /// Adds a list or object whose children are shown one by one.
    pub(super) fn add_branch(
        &mut self,
        cursor: Cursor<'a>,
        form: Form,
        strip: Option<StripPolicy>,
        hop: PathStep<'a>,
        penalty: u32,
    ) -> Id {
        let stays = |child: &Cursor<'a>| !strips(strip, *child);
        let branch = Branch {
            form,
            len: if strip.is_some() && cursor.may_have_underscored_key() {
                cursor.items().filter(stays).count()
            } else {
                cursor.len().unwrap_or_default()
            },
            children: Vec::new(),
            rest: cursor.items(),
            first: 0,
            strip,
        };
        let id = self.add(Body::Branch(branch), Some(cursor), hop);
        if self.nodes[id].depth < MAX_DEPTH {
            self.want(id, penalty.saturating_add(1));
        }
        id
    }

    /// Adds a value in its initial form.
    pub(super) fn add_value(&mut self, cursor: Cursor<'a>, hop: PathStep<'a>, penalty: u32) -> Id {
        let raw = cursor.raw();
        let body = match cursor.kind() {
            Kind::Array | Kind::Object if raw.len() > SMALL_BYTES && !cursor.is_empty() => {
                return self.add_branch(cursor, Form::inner(cursor), None, hop, penalty);
            }
            // Quotes are two of its bytes.
            Kind::String if raw.len() - 2 > SHORT => {
                Body::Text(Text::new(Chars::from_string(raw), false))
            }
            Kind::Number if raw.len() > MAX_DIGITS => {
                Body::Text(Text::new(Chars::Digits(raw), false))
            }
            _ => {
                let mut json = Vec::with_capacity(raw.len());
                cursor.write_compact(&mut json);
                Body::Fixed(json)
            }
        };
        self.add(body, Some(cursor), hop)
    }

    /// Adds a value in its initial form, which later steps may extend.
    pub(super) fn add_wanted(&mut self, cursor: Cursor<'a>, hop: PathStep<'a>, penalty: u32) -> Id {
        let id = self.add_value(cursor, hop, penalty);
        if let Body::Text(_) = self.nodes[id].body {
            self.want(id, penalty);
        }
        id
    }

    /// Adds a list or object from a text or part, without its stripped fields.
    pub(super) fn add_opened(&mut self, opened: Cursor<'a>, hop: PathStep<'a>, penalty: u32) -> Id {
        let strip = Some(self.known.strip).filter(|_| opened.kind() == Kind::Object);
        self.add_branch(opened, Form::inner(opened), strip, hop, penalty)
    }

    /// Leaves the first child of a branch out.
    pub(super) fn skip_first(&mut self, id: Id) {
        if let Body::Branch(branch) = &mut self.nodes[id].body {
            branch.rest.next();
            branch.first = 1;
            branch.len -= 1;
        }
    }

    /// Adds a node to those that can show more.
    pub(super) fn want(&mut self, id: Id, penalty: u32) {
        self.next.push(Reverse((penalty, self.put, id)));
        self.put += 1;
    }

    /// Plans steps until they show about this many bytes; returns whether more are possible.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        while self.bytes < bytes {
            let Some(Reverse((penalty, _, id))) = self.next.pop() else {
                return false;
            };
            match &mut self.nodes[id].body {
                Body::Text(text) => {
                    let (more, has_more) = text.lengthen(self.steps);
                    self.steps += 1;
                    self.bytes += more;
                    if has_more {
                        self.want(id, penalty.saturating_add(LONGER_PENALTY));
                    }
                }
                Body::Branch(_) => self.reveal(id, penalty),
                _ => {}
            }
        }
        true
    }

    /// Plans to show the next child of a branch.
    fn reveal(&mut self, id: Id, penalty: u32) {
        let Body::Branch(branch) = &mut self.nodes[id].body else {
            return;
        };
        if branch.children.len() >= MAX_CHILDREN {
            return;
        }
        let strip = branch.strip;
        let before = branch.rest.clone();
        let Some(cursor) = branch.rest.find(|child| !strips(strip, *child)) else {
            return;
        };
        let (form, index) = (branch.form, branch.first + branch.children.len());
        let key = cursor.key();
        if key.raw().len() > MAX_KEY_BYTES {
            // Members are shown in order, so this one hides those after it; it counts as the first hidden
            // value.
            branch.rest = before;
            return;
        }
        let hop = match form {
            Form::Object { .. } => PathStep::Member(id, key),
            _ => PathStep::Item(id, index),
        };
        let child = match form {
            Form::Parts => self.add_part(cursor, index, hop, penalty),
            _ => self.add_value(cursor, hop, penalty),
        };
        let step = self.steps;
        self.steps += 1;
        let body = &mut self.nodes[child].body;
        let small = matches!(body, Body::Fixed(_) | Body::Described(_) | Body::Aside(_));
        self.bytes += key.raw().len() + 4 + body.shown_at_first();
        if let Body::Text(text) = body
            && text.begin(step)
        {
            self.want(child, penalty.saturating_add(LONGER_PENALTY));
        }
        if let Body::Branch(branch) = &mut self.nodes[id].body {
            branch.children.push(Child {
                cursor,
                id: child,
                step,
            });
        }
        let further = match form {
            // Every eighth member counts as one level.
            Form::Object { .. } => u32::from(index % 8 == 7),
            _ if small => 1,
            _ => 3,
        };
        self.want(id, penalty.saturating_add(further));
    }
}
