//! Where the resources of a value are.
//!
//! What comes in: a value, the envelopes of its kind, and the names that are asked for. What goes
//! out: the envelope that it is, if any. Deliberately not here: what is kept of each resource.

use super::{ENVELOPES, Operation, ProjectionError};
use crate::{Path, Step};
use crossfeed_json::{Cursor, Kind};
use std::{collections::HashSet, fmt};

/// Items and members that are looked at to tell a collection from a resource.
const ITEMS: usize = 100;
const MEMBERS: usize = 10_000;

/// Where a collection keeps its items: names that lead to a list, and names within each item that
/// lead to the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    list: Vec<String>,
    inner: Vec<String>,
}

/// As a path: `edges[].node`.
impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = self.steps();
        // The list alone says that its items are meant.
        if self.inner.is_empty() {
            steps.pop();
        }
        match Path::from_steps(steps) {
            Ok(path) => path.fmt(f),
            Err(_) => Ok(()),
        }
    }
}

impl Envelope {
    /// The usual ones.
    pub(super) fn usual() -> Vec<Self> {
        let paths = ENVELOPES.iter().filter_map(|text| Path::parse(text).ok());
        paths.filter_map(|path| Self::of(&path).ok()).collect()
    }

    pub(super) fn of(path: &Path) -> Result<Self, ProjectionError> {
        let names = |steps: &[Step]| -> Option<Vec<String>> {
            let names = steps.iter().map(|step| match step {
                Step::Key(name) => Some(name.clone()),
                _ => None,
            });
            names.collect()
        };
        let mut parts = path.steps().split(|step| matches!(step, Step::EachItem));
        let list = parts.next().and_then(names);
        let inner = names(parts.next().unwrap_or_default());
        match (list, inner, parts.next()) {
            (Some(list), Some(inner), None) if !list.is_empty() => Ok(Self { list, inner }),
            _ => Err(ProjectionError::Form {
                at: "envelopes".to_owned(),
                expected: "names that lead to a list, such as `items` or `edges[].node`",
                found: "another path",
            }),
        }
    }

    /// The steps to each resource.
    pub(super) fn steps(&self) -> Vec<Step> {
        let key = |name: &String| Step::Key(name.clone());
        let list = self.list.iter().map(key).chain([Step::EachItem]);
        list.chain(self.inner.iter().map(key)).collect()
    }

    /// The steps to each object on the way, of which all but the way is kept.
    pub(super) fn around(&self) -> Vec<Vec<Step>> {
        let steps = self.steps();
        (0..steps.len())
            .filter(|end| matches!(steps.get(*end), Some(Step::Key(_))))
            .filter_map(|end| steps.get(..end).map(<[Step]>::to_vec))
            .collect()
    }

    /// The list in a value, where it is such an envelope.
    pub(super) fn list<'a>(&self, value: Cursor<'a>) -> Option<Cursor<'a>> {
        let list = inside(value, &self.list)?;
        (list.kind() == Kind::Array).then_some(list)
    }

    /// The resource in an item.
    pub(super) fn resource<'a>(&self, item: Cursor<'a>) -> Option<Cursor<'a>> {
        inside(item, &self.inner)
    }
}

fn inside<'a>(value: Cursor<'a>, names: &[String]) -> Option<Cursor<'a>> {
    names.iter().try_fold(value, |at, name| at.get(name))
}

/// Which of `envelopes` a value is. Where the operation does not say whether it is a collection,
/// that side counts on which more of `names` are found; ties go to the envelope, as do ties between
/// two to the first.
pub(super) fn envelope_of<'e>(
    value: Cursor<'_>,
    envelopes: &'e [Envelope],
    operation: Option<Operation>,
    names: &HashSet<&str>,
) -> Option<&'e Envelope> {
    if value.kind() != Kind::Object || operation == Some(Operation::Single) {
        return None;
    }
    let mut best: Option<(usize, &Envelope)> = None;
    for envelope in envelopes {
        let Some(list) = envelope.list(value) else {
            continue;
        };
        let items = list.items().take(ITEMS);
        let resources = items.filter_map(|item| envelope.resource(item));
        let found = found(resources, names);
        if best.is_none_or(|(most, _)| found > most) {
            best = Some((found, envelope));
        }
    }
    let (in_items, envelope) = best?;
    let is_one = operation.is_some() || in_items >= found([value].into_iter(), names);
    is_one.then_some(envelope)
}

/// How many of `names` some of `resources` have.
fn found<'a>(resources: impl Iterator<Item = Cursor<'a>>, names: &HashSet<&str>) -> usize {
    if names.is_empty() {
        return 0;
    }
    let members = resources.flat_map(Cursor::members).take(MEMBERS);
    let mut found = HashSet::new();
    for (key, _) in members {
        if let Some(name) = names.get(&*key.text()) {
            found.insert(*name);
        }
    }
    found.len()
}
