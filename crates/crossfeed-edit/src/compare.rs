//! Equality as `test` has it (RFC 6902, section 4.6): numbers by value, strings by characters, objects without
//! regard to order. What is withheld does not count.

use crate::{
    error::EditErrorKind,
    looks::{Looks, Member},
    tree::{Found, Node},
};
use crossfeed_json::{Cursor, Kind, compare_numbers};
use std::cmp::Ordering;

/// Whether a value is the same as one that an edit brings, which holds each key once.
pub(crate) fn is_equal<'d>(
    value: &Node<'d>,
    expected: Cursor<'d>,
    looks: &mut Looks<'d, '_>,
) -> Result<bool, EditErrorKind> {
    // Depth is bounded by that of documents.
    looks.budget.spend(1)?;
    if value.kind() != expected.kind() {
        return Ok(false);
    }
    match value {
        Node::Raw(value) => is_raw_equal(*value, expected, looks),
        Node::List(list) => {
            if Some(list.item_count()) != expected.len() {
                return Ok(false);
            }
            for (item, expected) in list.items(looks)?.iter().zip(expected.items()) {
                if !is_equal(item, expected, looks)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Node::Object(object) => {
            if Some(object.members(looks)?.len()) != expected.len() {
                return Ok(false);
            }
            for (key, expected) in expected.members() {
                let Found::Value(value) = object.find(&key.text(), looks)? else {
                    return Ok(false);
                };
                if !is_equal(&value, expected, looks)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

fn is_raw_equal<'d>(
    value: Cursor<'d>,
    expected: Cursor<'d>,
    looks: &mut Looks<'d, '_>,
) -> Result<bool, EditErrorKind> {
    if value.kind() != expected.kind() {
        return Ok(false);
    }
    match value.kind() {
        Kind::Null => Ok(true),
        Kind::Boolean => Ok(value.as_bool() == expected.as_bool()),
        Kind::Number => {
            looks.budget.spend_bytes(value.raw().len())?;
            let numbers = value.as_number().zip(expected.as_number());
            Ok(numbers.is_some_and(|(a, b)| a == b || compare_numbers(a, b) == Ordering::Equal))
        }
        Kind::String => {
            looks.budget.spend_bytes(value.raw().len())?;
            Ok(value.string_bytes() == expected.string_bytes())
        }
        Kind::Array | Kind::Object => {
            let children = looks.children(value)?;
            if Some(children.len()) != expected.len() {
                return Ok(false);
            }
            for (mut child, expected) in children.into_iter().zip(expected.items()) {
                let key = expected.key();
                // Mostly the order is the same.
                if value.kind() == Kind::Object && child.key().bytes() != key.bytes() {
                    match looks.member(value, &key.text())? {
                        Member::Found(member) => child = member,
                        Member::Absent | Member::Withheld => return Ok(false),
                    }
                }
                looks.budget.spend(1)?;
                if !is_raw_equal(child, expected, looks)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}
