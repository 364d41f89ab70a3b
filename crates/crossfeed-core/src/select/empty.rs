//! Answers that may be none: an empty list, or nulls throughout, where what the selector reads is nowhere there.
//!
//! The rules are normative in `specs/select.md#empty-answers`.

use super::{Selector, rewrite};
use crossfeed_jmespath::{
    Budget, Cost, Doubt, Expression, Kind, Misread, Node, View, doubts, places,
};

/// How deep lists and objects that a selector built are searched for nulls.
const MAX_DEPTH: usize = 4;
/// The most characters of a text that a reason quotes.
const MAX_QUOTED_CHARS: usize = 60;

/// A selection that may be no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Emptiness {
    /// An empty list.
    List,
    /// What a function makes of an empty list: `0`, `false`, an empty text or object.
    OfNothing,
    /// A member that is null in every item.
    Nulls,
}

/// Whether a value that an expression gave may be no answer. Where the budget does not suffice, it is one.
pub(super) fn emptiness(
    expression: &Expression,
    value: &View<'_>,
    budget: &Budget,
) -> Option<Emptiness> {
    if expression.is_plain_path() {
        return None;
    }
    let root = expression.root();
    match value.kind() {
        Kind::Array if value.is_empty() => return Some(Emptiness::List),
        Kind::String | Kind::Object | Kind::Number | Kind::Boolean if calls(root) => {
            let is_zero = value.as_bool() == Some(false)
                || value.as_str().is_some_and(|text| text.is_empty())
                || value.kind() == Kind::Object && value.is_empty()
                || is_zero(value);
            if is_zero {
                return Some(Emptiness::OfNothing);
            }
        }
        _ => {}
    }
    let is_null = builds(root) && has_nulls(value, MAX_DEPTH, budget).unwrap_or(false);
    is_null.then_some(Emptiness::Nulls)
}

fn is_zero(value: &View<'_>) -> bool {
    let mut digits = Vec::new();
    value.kind() == Kind::Number
        && value.write(&mut digits, 16).is_ok()
        && matches!(&*digits, b"0" | b"0.0" | b"-0")
}

/// Whether the last node that makes the value is a function.
fn calls(node: &Node) -> bool {
    match node {
        Node::Call(..) => true,
        Node::Chain(parts) => parts.iter().any(calls),
        _ => false,
    }
}

/// Whether an expression builds lists or objects of its own.
fn builds(node: &Node) -> bool {
    match node {
        Node::List(_) | Node::Hash(_) => true,
        Node::Chain(parts) | Node::Or(parts) | Node::And(parts) => parts.iter().any(builds),
        Node::Project(projection) => builds(&projection.source) || builds(&projection.each),
        Node::Call(_, arguments) => arguments.iter().any(builds),
        Node::Reference(inner) => builds(inner),
        _ => false,
    }
}

/// Whether a member of an object is null, or one of a list of objects is in every item.
fn has_nulls(value: &View<'_>, depth: usize, budget: &Budget) -> Result<bool, Cost> {
    let Some(depth) = depth.checked_sub(1) else {
        return Ok(false);
    };
    let object = match value.kind() {
        Kind::Object => value.clone(),
        Kind::Array => {
            let Some(first) = value.at(0) else {
                return Ok(false);
            };
            if nulls(value, budget)?.contains(&true) {
                return Ok(true);
            }
            let mut throughout = nulls(&first, budget)?;
            for item in value.items().skip(1) {
                if !throughout.contains(&true) {
                    break;
                }
                let here = nulls(&item, budget)?;
                let both = throughout.into_iter().zip(here);
                throughout = both.map(|(before, here)| before && here).collect();
            }
            if throughout.contains(&true) {
                return Ok(true);
            }
            first
        }
        _ => return Ok(false),
    };
    for (_, member) in object.members() {
        budget.spend(1)?;
        let is_member = value.kind() == Kind::Object && member.is_null();
        if is_member || has_nulls(&member, depth, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Which items or members are null.
fn nulls(value: &View<'_>, budget: &Budget) -> Result<Vec<bool>, Cost> {
    budget.spend(value.len().unwrap_or_default() as u64)?;
    Ok(match value.kind() {
        Kind::Object => value
            .members()
            .map(|(_, member)| member.is_null())
            .collect(),
        _ => value.items().map(|item| item.is_null()).collect(),
    })
}

impl<'a> Selector<'a, '_> {
    /// What makes it doubtful that a value is an answer; nothing if it is one.
    pub(super) fn doubts(
        &self,
        expression: &'a Expression,
        emptiness: Emptiness,
        view: &View<'a>,
    ) -> Vec<Doubt<'a>> {
        let mut found = doubts(expression, view, self.arena, self.budget);
        if emptiness == Emptiness::Nulls {
            found.retain(|doubt| doubt.misread == Misread::NoField);
        }
        found
    }

    /// Why an expression gave nothing, for a model.
    pub(super) fn reason(&self, text: &str, doubt: &Doubt<'a>) -> String {
        let place = doubt
            .place
            .and_then(|place| places(text).get(place).copied());
        let written = place.and_then(|place| text.get(place.start..place.end));
        let path = short(&doubt.path);
        let is_one = doubt.values == 1;
        match &doubt.misread {
            Misread::NoField => {
                let name = rewrite::unquoted(written.unwrap_or(&path));
                let near = rewrite::near(doubt, &name, self.arena, self.budget);
                let near = near.into_iter().next();
                let near =
                    near.map_or(String::new(), |near| format!("; `{}` exists", short(&near)));
                let around = doubt.around.first().map(View::kind);
                match around {
                    Some(Kind::Array) => {
                        format!("`{}` is read from a list, not from its items", short(&name))
                    }
                    Some(Kind::Object) if is_one => format!("there is no `{}`{near}", short(&name)),
                    Some(Kind::Object) => format!("no item has `{}`{near}", short(&name)),
                    Some(kind) => format!("`{}` is read from {}", short(&name), a(kind)),
                    None => format!("there is no `{}`{near}", short(&name)),
                }
            }
            Misread::NoList => match written {
                Some(index) => format!(
                    "`{index}` is read from something that is not a list, after a projection from each item"
                ),
                None => "an index is read from something that is not a list".to_owned(),
            },
            Misread::NoItems => match path.as_str() {
                "" => "the value has no items to project".to_owned(),
                path => format!("`{path}` has no items to project"),
            },
            Misread::Types { found, wanted } => {
                let (found, wanted) = (a(*found), wanted.as_str());
                let literal = written.map_or(String::new(), |text| format!(" {}", short(text)));
                format!(
                    "{} is {found} and is compared with the {wanted}{literal}",
                    named(&path)
                )
            }
            Misread::Spelling { found, items } => {
                let found = short(found);
                let written = short(written.unwrap_or("that"));
                let plural = if *items == 1 { "" } else { "s" };
                format!(
                    "{} is never {written}; it is '{found}' in {items} item{plural}",
                    named(&path)
                )
            }
            _ => "it reads what is not there".to_owned(),
        }
    }
}

/// A type with its article.
fn a(kind: Kind) -> String {
    let article = match kind {
        Kind::Array | Kind::Object => "an",
        _ => "a",
    };
    format!("{article} {}", kind.as_str())
}

/// A path in a sentence.
fn named(path: &str) -> String {
    match path {
        "" => "the item".to_owned(),
        path => format!("`{path}`"),
    }
}

/// The beginning of a text, without control characters.
fn short(text: &str) -> String {
    let mut chars = text.chars().filter(|c| !c.is_control());
    let mut short: String = chars.by_ref().take(MAX_QUOTED_CHARS).collect();
    if chars.next().is_some() {
        short.push('…');
    }
    short
}
