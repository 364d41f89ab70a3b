//! The plan of a preview: in which order a value is revealed.
//!
//! A preview is the tree after as many steps as its budget holds, so that a larger budget shows all that a
//! smaller one does.
//!
//! What matters most comes first: what is nearer to the root, and the first item of a list before
//! the others, because lists are of a kind.

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
/// How much less a longer text is wanted than its beginning.
const LONGER_PENALTY: u32 = 6;
/// How deep lists and objects are opened: with what stands around them, and what is small enough to
/// be shown whole, as deep as any reader of JSON goes.
const MAX_DEPTH: usize = 100;

/// The place of a node in its plan.
pub(super) type Id = usize;

/// What is shown of a result, and what can be shown of it.
pub(super) struct Plan<'a, 'v> {
    /// What must be known of the result beside its bytes.
    pub(super) known: &'v RenderContext<'a, 'v>,
    pub(super) around: EnvelopeInfo,
    /// The structured content of a tool result, beside which its parts are shown.
    pub(super) structured: Option<Cursor<'a>>,
    /// The node that all of it is shown from.
    pub(super) root: Id,
    nodes: Vec<Node<'a>>,
    /// How many steps were planned.
    pub(super) steps: usize,
    /// What could be shown next, the most wanted first.
    next: BinaryHeap<Reverse<(u32, usize, Id)>>,
    /// How many were put there, so that of the equally wanted the first comes first.
    put: usize,
    /// About how many bytes all steps show.
    bytes: usize,
}

/// One value.
pub(super) struct Node<'a> {
    pub(super) body: Body<'a>,
    /// Where it stands in a document, if it does.
    pub(super) cursor: Option<Cursor<'a>>,
    pub(super) hop: PathStep<'a>,
    /// How many lists and objects are around it.
    depth: usize,
    /// Whether it stands in a list behind the first item, whose keys have been named.
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

    /// The node that the step starts at.
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
    /// What describes binary data, in place of it.
    Described(String),
    /// What stands for something beside the data that is not shown, whatever the steps.
    Aside(String),
    Text(Text<'a>),
    Branch(Branch<'a>),
    /// What stands one behind the other, each behind what leads to it.
    Row(Vec<(String, Id)>),
}

impl Body<'_> {
    /// About how many bytes a new node is shown with.
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
    /// How many children there are.
    pub(super) len: usize,
    pub(super) children: Vec<Child<'a>>,
    /// The children that are not planned yet.
    rest: Items<'a>,
    /// The index of the first child.
    first: usize,
    /// Which members are left out.
    strip: Option<StripPolicy>,
}

/// What a branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    List,
    /// The content of a tool result.
    Parts,
    /// An object; whether it is the one whose keys are named even where no member is shown.
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
    /// Where it stands, with its key.
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

/// Whether a policy leaves a member out.
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

    /// How the child of a branch at `place` is reached, and where it stands.
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
            // A part is reached by what it stands for, which is no place of its own unless it is
            // reached through the envelope.
            Form::Parts => {
                let place = self.around.structured.then_some(cursor);
                (PathStep::Select(self.around.select(index)), place)
            }
        }
    }

    /// How selectors call the part that stands at `place` among those that are shown.
    pub(super) fn part_label(&self, branch: &Branch<'a>, place: usize) -> String {
        self.around.select(branch.first + place)
    }

    /// Adds a node, not shown by any step of its own.
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

    /// Adds a text that is all of a result: as it is, unless lines of it could be read as data, too.
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

    /// Adds a value as it is shown at first.
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

    /// Adds a value as it is shown at first, of which more could be shown next.
    pub(super) fn add_wanted(&mut self, cursor: Cursor<'a>, hop: PathStep<'a>, penalty: u32) -> Id {
        let id = self.add_value(cursor, hop, penalty);
        if let Body::Text(_) = self.nodes[id].body {
            self.want(id, penalty);
        }
        id
    }

    /// Adds a list or object that a text or part holds; of an object fields are left out.
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

    /// Puts a node among those of which more could be shown next.
    pub(super) fn want(&mut self, id: Id, penalty: u32) {
        self.next.push(Reverse((penalty, self.put, id)));
        self.put += 1;
    }

    /// Plans steps until they show about so many bytes; whether there are more.
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
            // Neither this one nor what stands behind it, for members are shown in order; and it is
            // what is hidden first.
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
