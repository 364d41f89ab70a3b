//! JSON Patch (RFC 6902).

use crate::{
    IsWithheld,
    compare::is_equal,
    error::{EditError, EditErrorKind, shortened},
    limits::{EditLimits, check_operations},
    looks::{Looks, Member},
    source::Source,
    tree::{Found, Node},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_projection::nearest;
use crossfeed_wire::Pointer;
use serde_json::Value;

/// A patch: operations that are made in order, all or none.
///
/// ```
/// use crossfeed_edit::{EditLimits, Patch};
/// use crossfeed_json::Document;
/// use serde_json::json;
///
/// let limits = EditLimits::default();
/// let patch = Patch::read(
///     &json!([
///         {"op": "test", "path": "/price", "value": 1.5},
///         {"op": "replace", "path": "/tags/0", "value": "new"},
///         {"op": "add", "path": "/sold", "value": false},
///     ]),
///     &limits,
/// )?;
/// let document = Document::new(r#"{ "price": 1.50, "tags": [ "old" ] }"#);
/// let outcome = patch.apply(document.root()?, None, &limits)?;
/// assert_eq!(outcome, r#"{ "price": 1.50, "tags": [ "new" ], "sold": false }"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Patch {
    operations: Vec<Operation>,
}

#[derive(Debug)]
struct Operation {
    path: Pointer,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Add(Document),
    Remove,
    Replace(Document),
    Move { from: Pointer },
    Copy { from: Pointer },
    Test(Document),
}

impl Patch {
    /// Reads a patch: a list of operations. Members that an operation does not define are ignored.
    ///
    /// # Errors
    ///
    /// An [`EditError`] that names the operation: `WrongType`, `MissingMember`, `UnknownOperation`,
    /// `InvalidPointer`, or `LimitExceeded` for too many operations or a value that nests too deep.
    pub fn read(patch: &Value, limits: &EditLimits) -> Result<Self, EditError> {
        Self::read_source(Source::Value(patch), limits)
    }

    /// Reads a patch from a value of a document; its numbers keep their digits.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_json(patch: Cursor<'_>, limits: &EditLimits) -> Result<Self, EditError> {
        Self::read_source(Source::Cursor(patch), limits)
    }

    fn read_source(patch: Source<'_>, limits: &EditLimits) -> Result<Self, EditError> {
        let operations = patch
            .items(limits.operations)
            .ok_or_else(|| patch.wrong("the patch", "a list of operations"))?;
        check_operations(operations.len(), limits).map_err(EditError::from)?;
        let read = |(index, operation)| {
            read_operation(operation, limits).map_err(|kind: EditErrorKind| kind.of(index))
        };
        let operations = operations.into_iter().enumerate().map(read);
        Ok(Self {
            operations: operations.collect::<Result<_, _>>()?,
        })
    }

    /// The bytes of `root` with the patch applied. Every byte outside the changed values is as it was.
    ///
    /// `is_withheld` is asked about members and items of `root`, at any depth: see [the crate](crate#withheld).
    ///
    /// # Errors
    ///
    /// An [`EditError`] that names the operation and its place: `NotFound`, `NotAContainer`, `InvalidIndex`,
    /// `IndexOutOfRange`, `TestFailed`, `IntoItself`, `NotAllowed` or `LimitExceeded`.
    pub fn apply(
        &self,
        root: Cursor<'_>,
        is_withheld: Option<IsWithheld<'_>>,
        limits: &EditLimits,
    ) -> Result<Bytes, EditError> {
        check_operations(self.operations.len(), limits).map_err(EditError::from)?;
        let mut looks = Looks::new(root, is_withheld, limits);
        let mut tree = Node::Raw(root);
        for (index, operation) in self.operations.iter().enumerate() {
            operation
                .apply(&mut tree, &mut looks)
                .map_err(|(kind, at)| kind.at(Some(index), at))?;
        }
        looks
            .budget
            .check_bytes(tree.len())
            .map_err(EditError::from)?;
        Ok(written(&tree))
    }
}

/// The bytes of a value: those of a raw one are shared.
pub(crate) fn written(tree: &Node<'_>) -> Bytes {
    if let Node::Raw(value) = tree {
        return value.shared();
    }
    let mut out = Vec::with_capacity(tree.len());
    tree.write(&mut out);
    out.into()
}

/// The value of a document that was read.
pub(crate) fn root(document: &Document) -> Result<Cursor<'_>, EditErrorKind> {
    // A document is kept only if it could be read.
    document.root().map_err(|_| EditErrorKind::NotFound {
        nearest: Vec::new(),
    })
}

fn read_operation(operation: Source<'_>, limits: &EditLimits) -> Result<Operation, EditErrorKind> {
    if operation.kind() != Kind::Object {
        return Err(operation.wrong("an operation", "an object"));
    }
    let pointer = |member: &'static str| {
        let text = operation.required_text(member)?;
        Pointer::parse(&text).ok_or(EditErrorKind::InvalidPointer { member })
    };
    let value = || {
        let value = operation.required("value")?;
        let depth = limits.depth.min(crossfeed_json::MAX_DEPTH);
        let too_deep = || crate::error::Limit::Depth.exceeded(depth as u64);
        value.document(depth).ok_or_else(too_deep)
    };
    let op = operation.required_text("op")?;
    let path = pointer("path")?;
    let action = match &*op {
        "add" => Action::Add(value()?),
        "remove" => Action::Remove,
        "replace" => Action::Replace(value()?),
        "move" => Action::Move {
            from: pointer("from")?,
        },
        "copy" => Action::Copy {
            from: pointer("from")?,
        },
        "test" => Action::Test(value()?),
        other => {
            return Err(EditErrorKind::UnknownOperation {
                op: shortened(other),
            });
        }
    };
    Ok(Operation { path, action })
}

/// What is wrong, and at which pointer of the operation.
type Refusal<'o> = (EditErrorKind, &'o Pointer);

impl Operation {
    fn apply<'d>(
        &'d self,
        tree: &mut Node<'d>,
        looks: &mut Looks<'d, '_>,
    ) -> Result<(), Refusal<'d>> {
        let path = &self.path;
        match &self.action {
            Action::Add(value) => {
                root(value).and_then(|value| add(tree, path, Node::Raw(value), looks))
            }
            Action::Remove => take(tree, path, looks).map(drop),
            Action::Replace(value) => {
                root(value).and_then(|value| replace(tree, path, Node::Raw(value), looks))
            }
            Action::Move { from } => {
                let at_source = |kind| (kind, from);
                if from == path {
                    return get(tree, from, looks).map(drop).map_err(at_source);
                }
                if path.is_within(from) {
                    return Err(at_source(EditErrorKind::IntoItself));
                }
                let value = take(tree, from, looks).map_err(at_source)?;
                add(tree, path, value, looks)
            }
            Action::Copy { from } => {
                let at_source = |kind| (kind, from);
                let value = get(tree, from, looks).map_err(at_source)?;
                if value.holds_withheld(looks).map_err(at_source)? {
                    return Err(at_source(EditErrorKind::NotAllowed));
                }
                add(tree, path, value, looks)
            }
            Action::Test(expected) => test(tree, path, expected, looks),
        }
        .map_err(|kind| (kind, path))
    }
}

fn test<'d>(
    tree: &Node<'d>,
    path: &Pointer,
    expected: &'d Document,
    looks: &mut Looks<'d, '_>,
) -> Result<(), EditErrorKind> {
    let value = get(tree, path, looks)?;
    if is_equal(&value, root(expected)?, looks)? {
        return Ok(());
    }
    Err(EditErrorKind::TestFailed {
        found: value.kind(),
    })
}

/// The value at a pointer.
fn get<'d>(
    tree: &Node<'d>,
    at: &Pointer,
    looks: &mut Looks<'d, '_>,
) -> Result<Node<'d>, EditErrorKind> {
    let mut node = tree.clone();
    for token in at.tokens() {
        node = child(&node, &token, looks)?;
    }
    Ok(node)
}

fn child<'d>(
    node: &Node<'d>,
    token: &str,
    looks: &mut Looks<'d, '_>,
) -> Result<Node<'d>, EditErrorKind> {
    let found = match node {
        Node::Object(object) => match object.find(token, looks)? {
            Found::Value(value) => Some(value),
            Found::Absent | Found::Withheld => None,
        },
        Node::Raw(value) if value.kind() == Kind::Object => match looks.member(*value, token)? {
            Member::Found(value) => Some(Node::Raw(value)),
            Member::Absent | Member::Withheld => None,
        },
        Node::List(list) => {
            let place = list.place(index(token, list.item_count())?, looks)?;
            place.and_then(|place| list.value(&place))
        }
        Node::Raw(value) if value.kind() == Kind::Array => {
            let count = looks.item_count(*value)?;
            looks.item(*value, index(token, count)?)?.map(Node::Raw)
        }
        Node::Raw(value) => {
            return Err(EditErrorKind::NotAContainer {
                found: value.kind(),
            });
        }
    };
    found.map_or_else(|| Err(absent(node, token, looks)?), Ok)
}

/// The index that a token names in a list of so many items.
fn index(token: &str, len: usize) -> Result<usize, EditErrorKind> {
    let is_digits = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits || (token.len() > 1 && token.starts_with('0')) {
        return Err(EditErrorKind::InvalidIndex {
            token: shortened(token),
        });
    }
    let index = token.parse().ok().filter(|index| *index < len);
    index.ok_or(EditErrorKind::IndexOutOfRange { len })
}

/// The error that a value has no such child.
fn absent<'d>(
    node: &Node<'d>,
    token: &str,
    looks: &mut Looks<'d, '_>,
) -> Result<EditErrorKind, EditErrorKind> {
    let keys: Vec<String> = match node {
        Node::Object(object) => object
            .members(looks)?
            .into_iter()
            .map(|(key, _)| key)
            .collect(),
        Node::Raw(value) if value.kind() == Kind::Object => {
            let children = looks.children(*value)?.into_iter();
            children
                .map(|child| child.key().text().into_owned())
                .collect()
        }
        Node::Raw(_) | Node::List(_) => Vec::new(),
    };
    Ok(EditErrorKind::NotFound {
        nearest: nearest(token, keys.iter().map(String::as_str)),
    })
}

/// Changes the value that the tokens lead to.
fn change_at<'d, T>(
    node: &mut Node<'d>,
    tokens: &[String],
    looks: &mut Looks<'d, '_>,
    change: impl FnOnce(&mut Node<'d>, &mut Looks<'d, '_>) -> Result<T, EditErrorKind>,
) -> Result<T, EditErrorKind> {
    // Depth is bounded: only values that are there are gone into.
    let Some((token, rest)) = tokens.split_first() else {
        return change(node, looks);
    };
    let inner =
        |node: &mut Node<'d>, looks: &mut Looks<'d, '_>| change_at(node, rest, looks, change);
    let outcome = if let Some(object) = node.object_mut(looks)? {
        object.change(token, looks, inner)?
    } else if let Some(list) = node.list_mut(looks)? {
        match list.place(index(token, list.item_count())?, looks)? {
            Some(place) => list.change(&place, looks, inner)?,
            None => None,
        }
    } else {
        return Err(EditErrorKind::NotAContainer { found: node.kind() });
    };
    outcome.map_or_else(|| Err(absent(node, token, looks)?), Ok)
}

/// Fails unless a value may stand at a pointer.
fn check_depth<'d>(
    value: &Node<'d>,
    tokens: &[String],
    looks: &mut Looks<'d, '_>,
) -> Result<(), EditErrorKind> {
    let is_deep = match looks.budget.depth_below(tokens.len()) {
        Some(limit) => value.is_deeper(limit, looks)?,
        None => true,
    };
    if is_deep {
        return Err(looks.budget.depth_error());
    }
    Ok(())
}

/// Puts another value in the place of one.
pub(crate) fn put<'d>(
    node: &mut Node<'d>,
    value: Node<'d>,
    looks: &mut Looks<'d, '_>,
) -> Result<(), EditErrorKind> {
    if node.holds_withheld(looks)? {
        return Err(EditErrorKind::NotAllowed);
    }
    *node = value;
    Ok(())
}

fn replace<'d>(
    tree: &mut Node<'d>,
    at: &Pointer,
    value: Node<'d>,
    looks: &mut Looks<'d, '_>,
) -> Result<(), EditErrorKind> {
    let tokens: Vec<_> = at.tokens().collect();
    change_at(tree, &tokens, looks, |node, looks| {
        check_depth(&value, &tokens, looks)?;
        put(node, value, looks)
    })?;
    looks.budget.check_bytes(tree.len())
}

fn add<'d>(
    tree: &mut Node<'d>,
    at: &Pointer,
    value: Node<'d>,
    looks: &mut Looks<'d, '_>,
) -> Result<(), EditErrorKind> {
    let tokens: Vec<_> = at.tokens().collect();
    let Some((token, parents)) = tokens.split_last() else {
        return replace(tree, at, value, looks);
    };
    change_at(tree, parents, looks, |parent, looks| {
        check_depth(&value, &tokens, looks)?;
        if let Some(object) = parent.object_mut(looks)? {
            match object.find(token, looks)? {
                Found::Withheld => return Err(EditErrorKind::NotAllowed),
                Found::Absent => object.append(token, value),
                Found::Value(_) => {
                    object.change(token, looks, |member, looks| put(member, value, looks))?;
                }
            }
        } else if let Some(list) = parent.list_mut(looks)? {
            let count = list.item_count();
            let before = match token.as_str() {
                "-" => None,
                token if token == count.to_string() => None,
                token => list.place(index(token, count)?, looks)?,
            };
            list.insert(before.as_ref(), value, looks)?;
        } else {
            return Err(EditErrorKind::NotAContainer {
                found: parent.kind(),
            });
        }
        Ok(())
    })?;
    looks.budget.check_bytes(tree.len())
}

/// Takes a value out.
fn take<'d>(
    tree: &mut Node<'d>,
    at: &Pointer,
    looks: &mut Looks<'d, '_>,
) -> Result<Node<'d>, EditErrorKind> {
    let tokens: Vec<_> = at.tokens().collect();
    let Some((token, parents)) = tokens.split_last() else {
        return Err(EditErrorKind::WholeValue);
    };
    change_at(tree, parents, looks, |parent, looks| {
        let taken = if let Some(object) = parent.object_mut(looks)? {
            object.remove(token, looks)?
        } else if let Some(list) = parent.list_mut(looks)? {
            match list.place(index(token, list.item_count())?, looks)? {
                Some(place) => list.remove(&place, looks)?,
                None => None,
            }
        } else {
            return Err(EditErrorKind::NotAContainer {
                found: parent.kind(),
            });
        };
        taken.map_or_else(|| Err(absent(parent, token, looks)?), Ok)
    })
}
