//! Finds the resources of a value: its envelope, if it has one, by the names that a request wants.

use super::{ENVELOPES, Operation, ProjectionError, hidden::Hidden};
use crate::{Path, Step};
use crossfeed_json::{Cursor, Kind};
use std::{collections::HashSet, fmt};

/// How many items and members are read to tell a collection from a resource.
const ITEMS: usize = 100;
const MEMBERS: usize = 10_000;

/// Where a collection keeps its items: names that lead to a list, and names within each item that
/// lead to the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Envelope {
    list: Vec<String>,
    inner: Vec<String>,
    /// Whether one resource stands in place of the list.
    holds_one: bool,
}

/// Names of members that belong to a page and to no resource, in small letters and without `_`.
const PAGING: [&str; 24] = [
    "count",
    "cursor",
    "endcursor",
    "hasmore",
    "hasnext",
    "hasnextpage",
    "limit",
    "links",
    "meta",
    "next",
    "nextcursor",
    "nextpage",
    "nextpagetoken",
    "offset",
    "page",
    "pageinfo",
    "pages",
    "pagesize",
    "pagination",
    "perpage",
    "previous",
    "total",
    "totalcount",
    "totalpages",
];

/// The key under which an envelope may hold one resource.
const HOLDS_ONE: &str = "data";

/// As a path: `edges[].node`.
impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps = self.steps();
        // The list alone says that its items are meant.
        if self.inner.is_empty() && !self.holds_one {
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
        paths.filter_map(|path| Self::parse(&path).ok()).collect()
    }

    pub(super) fn parse(path: &Path) -> Result<Self, ProjectionError> {
        let name = |step: &Step| step.name().map(str::to_owned);
        let names = |steps: &[Step]| steps.iter().map(name).collect::<Option<Vec<_>>>();
        let mut parts = path.steps().split(|step| matches!(step, Step::EachItem));
        let list = parts.next().and_then(names);
        let inner = names(parts.next().unwrap_or_default());
        match (list, inner, parts.next()) {
            (Some(list), Some(inner), None) if !list.is_empty() => Ok(Self {
                list,
                inner,
                holds_one: false,
            }),
            _ => Err(ProjectionError::form(
                "envelopes",
                "names that lead to a list, such as `items` or `edges[].node`",
                "another path",
            )),
        }
    }

    /// The steps to each resource.
    pub(super) fn steps(&self) -> Vec<Step> {
        let key = |name: &String| Step::Key(name.clone());
        let each = (!self.holds_one).then_some(Step::EachItem);
        let list = self.list.iter().map(key).chain(each);
        list.chain(self.inner.iter().map(key)).collect()
    }

    /// The steps to each object on the way, whose other keys are kept.
    pub(super) fn around(&self) -> Vec<Vec<Step>> {
        let steps = self.steps();
        (0..steps.len())
            .filter(|end| matches!(steps.get(*end), Some(Step::Key(_))))
            .filter_map(|end| steps.get(..end).map(<[Step]>::to_vec))
            .collect()
    }

    /// The list in a value that is such an envelope.
    fn list<'a>(&self, value: Cursor<'a>) -> Option<Cursor<'a>> {
        let list = inside(value, &self.list)?;
        (list.kind() == Kind::Array && !self.holds_one).then_some(list)
    }

    /// The resources in a value that is such an envelope; none in any other.
    pub(super) fn resources<'a>(&self, value: Cursor<'a>) -> impl Iterator<Item = Cursor<'a>> {
        let one = inside(value, &self.list).filter(|_| self.holds_one);
        let items = self.list(value).into_iter().flat_map(Cursor::items);
        one.into_iter()
            .chain(items.filter_map(|item| inside(item, &self.inner)))
    }

    /// The same envelope with one resource in place of the list, if it may have one.
    fn for_one(&self) -> Option<Self> {
        let is_it = self.inner.is_empty() && self.list.as_slice() == [HOLDS_ONE];
        is_it.then(|| Self {
            holds_one: true,
            ..self.clone()
        })
    }

    /// Whether all other members of a value belong to a page or are hidden.
    fn is_page(&self, value: Cursor<'_>, hidden: &Hidden) -> bool {
        let own = self.list.first().map(String::as_str);
        let mut members = value.members().map(|(key, _)| key.text());
        members.all(|key| {
            let name = key.to_lowercase().replace('_', "");
            own == Some(&*key) || PAGING.contains(&name.as_str()) || hidden.hides_name(&key)
        })
    }

    /// The envelopes that fit a value, whatever the request.
    pub(super) fn all_of(envelopes: &[Self], value: Cursor<'_>) -> Vec<Self> {
        let lists = envelopes.iter().filter(|own| own.list(value).is_some());
        let is_one = |own: &Self| own.resources(value).any(|one| one.kind() == Kind::Object);
        let ones = envelopes.iter().filter_map(Self::for_one).filter(is_one);
        lists.cloned().chain(ones).collect()
    }
}

fn inside<'a>(value: Cursor<'a>, names: &[String]) -> Option<Cursor<'a>> {
    names.iter().try_fold(value, |at, name| at.get(name))
}

/// The envelope of a value. If the operation does not say whether the value is a collection, the side with
/// more of `names` wins; a tie goes to the collection, and between two envelopes to the first. If no name is
/// found, only a list that holds objects, or that has only members of a page beside it, makes a collection.
///
/// An envelope with one resource is not a collection: it wins if more names are found in it.
pub(super) fn envelope_of(
    value: Cursor<'_>,
    envelopes: &[Envelope],
    operation: Option<Operation>,
    names: &HashSet<&str>,
    hidden: &Hidden,
) -> Option<Envelope> {
    if value.kind() != Kind::Object {
        return None;
    }
    let on_top = found([value].into_iter(), names);
    let mut best: Option<(usize, Envelope)> = None;
    for envelope in Envelope::all_of(envelopes, value) {
        let in_items = found(envelope.resources(value).take(ITEMS), names);
        let counts = match operation {
            _ if envelope.holds_one => in_items > on_top,
            Some(Operation::Single) => false,
            Some(_) => true,
            None if in_items == 0 && on_top == 0 => {
                holds_objects(&envelope, value) || envelope.is_page(value, hidden)
            }
            None => in_items >= on_top,
        };
        if counts && best.as_ref().is_none_or(|(most, _)| in_items > *most) {
            best = Some((in_items, envelope));
        }
    }
    best.map(|(_, envelope)| envelope)
}

/// Whether a collection holds objects, among the items that are read.
fn holds_objects(envelope: &Envelope, value: Cursor<'_>) -> bool {
    let mut resources = envelope.resources(value).take(ITEMS);
    resources.any(|resource| matches!(resource.kind(), Kind::Object | Kind::Array))
}

/// How many of `names` some of `resources` have.
fn found<'a>(resources: impl Iterator<Item = Cursor<'a>>, names: &HashSet<&str>) -> usize {
    if names.is_empty() {
        return 0;
    }
    let members = resources.flat_map(Cursor::members).take(MEMBERS);
    let found = members.filter_map(|(key, _)| names.get(&*key.text()));
    found.collect::<HashSet<_>>().len()
}
