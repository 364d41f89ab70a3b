//! JSON Merge Patch (RFC 7396).

use crate::{
    IsWithheld,
    error::{EditError, EditErrorKind, Limit},
    limits::EditLimits,
    looks::Looks,
    patch::{put, root, written},
    source::Source,
    tree::{Found, Node},
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_wire::Pointer;
use serde_json::Value;

/// A merge: members to set, and members to remove (`null`). Anything but an object replaces the whole.
///
/// ```
/// use crossfeed_edit::{EditLimits, Merge};
/// use crossfeed_json::Document;
/// use serde_json::json;
///
/// let limits = EditLimits::default();
/// let merge = Merge::read(&json!({"owner": {"name": "Ann"}, "draft": null}), &limits)?;
/// let document = Document::new(r#"{"owner": {"name": "Bob", "id": 1.0}, "draft": true}"#);
/// let outcome = merge.apply(document.root()?, None, &limits)?;
/// assert_eq!(outcome, r#"{"owner": {"name": "Ann", "id": 1.0}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Merge {
    document: Document,
}

impl Merge {
    /// Reads a merge, which may be any value.
    ///
    /// # Errors
    ///
    /// `LimitExceeded` for a value that nests too deep.
    pub fn read(merge: &Value, limits: &EditLimits) -> Result<Self, EditError> {
        Self::read_source(Source::Value(merge), limits)
    }

    /// Reads a merge from a value of a document; its numbers keep their digits.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_json(merge: Cursor<'_>, limits: &EditLimits) -> Result<Self, EditError> {
        Self::read_source(Source::Cursor(merge), limits)
    }

    fn read_source(merge: Source<'_>, limits: &EditLimits) -> Result<Self, EditError> {
        let depth = limits.depth.min(crossfeed_json::MAX_DEPTH);
        let too_deep = || Limit::Depth.exceeded(depth as u64);
        let document = merge.document(depth).ok_or_else(too_deep)?;
        Ok(Self { document })
    }

    /// The bytes of `root` with the merge applied. Every byte outside the changed values is as it was.
    ///
    /// `is_withheld` is asked about members and items of `root`, at any depth: see [the crate](crate#withheld).
    ///
    /// # Errors
    ///
    /// An [`EditError`] with the place: `NotAllowed` or `LimitExceeded`.
    pub fn apply(
        &self,
        target: Cursor<'_>,
        is_withheld: Option<IsWithheld<'_>>,
        limits: &EditLimits,
    ) -> Result<Bytes, EditError> {
        let mut looks = Looks::new(target, is_withheld, limits);
        let mut tree = Node::Raw(target);
        let merge = root(&self.document).map_err(EditError::from)?;
        let mut keys = Vec::new();
        merge_into(&mut tree, merge, &mut looks, &mut keys).map_err(|kind| {
            let at = keys.iter().fold(Pointer::root(), |at, key| at.key(key));
            kind.at(None, &at)
        })?;
        looks
            .budget
            .check_bytes(tree.len())
            .map_err(EditError::from)?;
        Ok(written(&tree))
    }
}

/// Merges into a value. After an error, the keys lead to the place where it was.
fn merge_into<'d>(
    target: &mut Node<'d>,
    merge: Cursor<'d>,
    looks: &mut Looks<'d, '_>,
    keys: &mut Vec<String>,
) -> Result<(), EditErrorKind> {
    // Depth is bounded by that of the merge, a document.
    if merge.kind() != Kind::Object {
        return put(target, Node::Raw(merge), looks);
    }
    if target.kind() != Kind::Object {
        let value = without_nulls(merge, looks)?;
        return put(target, value, looks);
    }
    for (key, value) in merge.members() {
        looks.budget.begin_operation()?;
        let key = key.text();
        keys.push(key.clone().into_owned());
        let Some(object) = target.object_mut(looks)? else {
            continue;
        };
        match object.find(&key, looks)? {
            Found::Absent | Found::Withheld if value.kind() == Kind::Null => {}
            Found::Withheld => return Err(EditErrorKind::NotAllowed),
            Found::Absent => {
                let value = without_nulls(value, looks)?;
                object.append(&key, value);
            }
            Found::Value(_) if value.kind() == Kind::Null => {
                object.remove(&key, looks)?;
            }
            Found::Value(_) => {
                object.change(&key, looks, |member, looks| {
                    merge_into(member, value, looks, keys)
                })?;
            }
        }
        keys.pop();
    }
    Ok(())
}

/// What a merge makes of nothing: its value without the members that it removes.
fn without_nulls<'d>(
    merge: Cursor<'d>,
    looks: &mut Looks<'d, '_>,
) -> Result<Node<'d>, EditErrorKind> {
    let mut node = Node::Raw(merge);
    if merge.kind() != Kind::Object || !has_nulls(merge, looks)? {
        return Ok(node);
    }
    for (key, value) in merge.members() {
        let is_null = value.kind() == Kind::Null;
        let Some(object) = node.object_mut(looks)? else {
            continue;
        };
        if is_null {
            object.remove(&key.text(), looks)?;
        } else if value.kind() == Kind::Object && has_nulls(value, looks)? {
            object.change(&key.text(), looks, |member, looks| {
                *member = without_nulls(value, looks)?;
                Ok(())
            })?;
        }
    }
    Ok(node)
}

/// Whether an object, or an object in it that no list is around, has a member that is null.
fn has_nulls<'d>(object: Cursor<'d>, looks: &mut Looks<'d, '_>) -> Result<bool, EditErrorKind> {
    for member in object.items() {
        looks.budget.spend(1)?;
        if member.kind() == Kind::Null
            || (member.kind() == Kind::Object && has_nulls(member, looks)?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}
