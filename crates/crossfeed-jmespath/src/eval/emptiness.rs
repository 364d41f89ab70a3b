//! Whether a value is what an expression gives where it finds nothing: an empty list, what functions and comparisons make of
//! one, or nulls in what the expression builds.

use crate::{
    budget::{Budget, Cost},
    compile::{Elements, Node},
    expression::Expression,
    function::Function,
    view::View,
};
use crossfeed_json::Kind;

/// The most nodes of an expression, one within the other, that are compared with what they gave.
const MAX_DEPTH: usize = 16;
/// The most characters of a text that is compared with the JSON of nothing.
const MAX_TEXT_BYTES: usize = 256;

/// How a value may be no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Emptiness {
    /// It is an empty list.
    List,
    /// It holds nothing but nulls and what is empty.
    Nothing,
    /// It holds one, or null, or what a function or comparison makes of one: `0`, `false`, an empty text or object.
    Within,
}

/// Whether a value that `expression` gave may be no answer, as far as its looks go. Where the budget does not suffice, it
/// is one.
pub fn emptiness(expression: &Expression, value: &View<'_>, budget: &Budget) -> Option<Emptiness> {
    if expression.is_plain_path() {
        return None;
    }
    if value.kind() == Kind::Array && value.is_empty() {
        return Some(Emptiness::List);
    }
    let is_none = may_be_none(&expression.root, std::slice::from_ref(value), budget);
    is_none.unwrap_or(false).then(|| {
        let is_nothing = matches!(value.kind(), Kind::Array | Kind::Object)
            && is_nothing(value, budget, MAX_DEPTH).unwrap_or(false);
        if is_nothing {
            Emptiness::Nothing
        } else {
            Emptiness::Within
        }
    })
}

/// Whether a value holds nothing but nulls and what is empty.
fn is_nothing(value: &View<'_>, budget: &Budget, depth: usize) -> Result<bool, Cost> {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok(false);
    };
    let members = value.members().map(|(_, member)| member);
    for inner in value.items().chain(members) {
        budget.spend(1)?;
        if !is_nothing(&inner, budget, depth)? {
            return Ok(false);
        }
    }
    Ok(matches!(
        value.kind(),
        Kind::Null | Kind::Array | Kind::Object
    ))
}

/// Whether all values that a node gave, or all in one of their parts, are what it gives where it finds nothing.
pub(super) fn may_be_none(node: &Node, values: &[View<'_>], budget: &Budget) -> Result<bool, Cost> {
    look(node, values, budget, MAX_DEPTH)
}

fn look(node: &Node, values: &[View<'_>], budget: &Budget, depth: usize) -> Result<bool, Cost> {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok(false);
    };
    if values.is_empty() {
        return Ok(false);
    }
    budget.spend(values.len() as u64)?;
    let look = |node: &Node, values: &[View<'_>]| look(node, values, budget, depth);
    let any = |nodes: &[Node]| {
        for node in nodes {
            if look(node, values)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // A member of what is built.
    let member = |node: &Node, members: &[View<'_>]| {
        Ok(!members.is_empty() && members.iter().all(View::is_null) || look(node, members)?)
    };
    match node {
        Node::Current | Node::Path(_) | Node::Literal(_) | Node::Text(_) | Node::Reference(_) => {
            Ok(false)
        }
        Node::Chain(parts) => match &**parts {
            [.., last] => look(last, values),
            [] => Ok(false),
        },
        Node::Or(parts) | Node::And(parts) => any(parts),
        Node::Not(_) => Ok(false),
        Node::Compare(comparison) => {
            let counts = finds(&comparison.left) || finds(&comparison.right);
            Ok(counts && values.iter().all(is_none))
        }
        Node::Project(projection) => {
            if values.iter().all(is_none) {
                return Ok(true);
            }
            match &projection.each {
                Node::Current | Node::Path(_) => Ok(false),
                each => look(each, &items(values, budget)?),
            }
        }
        Node::List(parts) => {
            for (index, part) in parts.iter().enumerate() {
                let members = values.iter().filter_map(|value| value.at(index));
                if member(part, &members.collect::<Vec<_>>())? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Node::Hash(hash) => {
            for (key, part) in hash.keys.iter().zip(&hash.values) {
                budget.spend(values.len() as u64)?;
                let members = values.iter().filter_map(|value| value.get(key));
                if member(part, &members.collect::<Vec<_>>())? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Node::Call(Function::NotNull, arguments) => any(arguments),
        Node::Call(Function::Map, arguments) => match &**arguments {
            [Node::Reference(inner), _] if !values.iter().all(is_none) => {
                member(inner, &items(values, budget)?)
            }
            _ => Ok(true),
        },
        Node::Call(Function::Reverse | Function::Sort | Function::SortBy, arguments) => {
            Ok(values.iter().all(is_none) || any(arguments)?)
        }
        Node::Call(..) => Ok(values.iter().all(is_none)),
    }
}

/// Whether what a node gives depends on how much is found.
fn finds(node: &Node) -> bool {
    match node {
        Node::Call(_, arguments) => arguments.iter().any(finds),
        Node::Project(projection) => {
            matches!(projection.elements, Elements::Filtered(_))
                || !matches!(projection.each, Node::Current)
                || finds(&projection.source)
        }
        Node::Chain(parts) | Node::Or(parts) | Node::And(parts) => parts.iter().any(finds),
        Node::Not(inner) => finds(inner),
        _ => false,
    }
}

/// The items of lists.
fn items<'a>(values: &[View<'a>], budget: &Budget) -> Result<Vec<View<'a>>, Cost> {
    let mut items = Vec::new();
    for value in values {
        budget.spend(value.len().unwrap_or_default() as u64)?;
        items.extend(value.items());
    }
    Ok(items)
}

/// Whether a value is what functions give for nothing.
fn is_none(value: &View<'_>) -> bool {
    match value.kind() {
        Kind::Null => true,
        Kind::Boolean => value.as_bool() == Some(false),
        Kind::Array => {
            value.len().is_none_or(|items| items < 2) && value.items().all(|item| item.is_null())
        }
        Kind::Object => value.is_empty(),
        Kind::Number => {
            let mut digits = Vec::new();
            value.write(&mut digits, 16).is_ok() && matches!(&*digits, b"0" | b"0.0" | b"-0")
        }
        Kind::String => value.as_str().is_some_and(|text| {
            // `to_string` of nothing.
            let is_sign = |c| matches!(c, '[' | ']' | '{' | '}' | ',');
            text.is_empty()
                || text.len() <= MAX_TEXT_BYTES && text.replace("null", "").chars().all(is_sign)
        }),
    }
}
