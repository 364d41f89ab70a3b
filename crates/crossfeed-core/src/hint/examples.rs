//! Selectors as a next call may need them: single items, filters, list projections.

use super::{
    lists::{Lists, Spot},
    offers::{is_same, is_something},
};
use crate::paths::{Path, SELECTOR_CHARS, Step, member, raw_string};
use crossfeed_jmespath::Kind;
use std::collections::HashSet;

/// The most characters of a text that a filter compares with.
const MAX_FILTER_CHARS: usize = 60;
/// The items that a list projection covers if the list is too long.
const FEW_ITEMS: usize = 10;
/// How many paths within the items of a list are tried for list projections.
const MAX_TRIED: usize = 40;
/// How many list projections of one list may fail before no more are tried.
const MAX_FAILED: usize = 2;
/// The relevance from which a path within an item comes before the item's own members.
const RELEVANT: u8 = 4;
/// The number of values from which an object may be a map.
const MIN_MAP_VALUES: usize = 4;

impl Lists<'_, '_> {
    /// Selectors as a next call may need them: single items, filters, list projections, then paths.
    pub(super) fn examples(&mut self, most: usize, paths: usize) -> Vec<String> {
        const LISTS: usize = 4;
        const PROJECTIONS: usize = 4;
        let mut examples = Vec::new();
        let items = self.objects_in_lists.clone();
        let (main, others) = items.split_at(items.len().min(1));
        for item in main {
            add_new(&mut examples, self.item_and_filter(*item));
            add_new(&mut examples, self.projections(*item, PROJECTIONS));
        }
        for item in others.iter().take(LISTS - 1) {
            add_new(&mut examples, self.item_and_filter(*item));
        }
        for (item, projections) in others.iter().zip([2, 1]) {
            add_new(&mut examples, self.projections(*item, projections));
        }
        for map in self.maps().into_iter().take(LISTS / 2) {
            add_new(&mut examples, self.values(map, 2));
        }
        for item in self.others_in_lists.clone().into_iter().take(LISTS) {
            add_new(&mut examples, self.offers.place(item.place));
        }
        // The whole value needs no selector, and null is of no use.
        let best = self.best_terminals(paths).into_iter();
        let best = best.filter(|typed| typed.selector != "@" && typed.kind != "null");
        add_new(&mut examples, best.map(|typed| typed.selector));
        for item in items.iter().skip(LISTS).take(LISTS) {
            if examples.len() < most {
                add_new(&mut examples, self.item_and_filter(*item));
            }
        }
        examples.truncate(most);
        examples
    }

    /// Selectors of one object each.
    pub(super) fn bases(&mut self, most: usize) -> Vec<String> {
        let mut bases = Vec::new();
        let items = self.objects_in_lists.clone();
        let (first, rest) = items.split_at(items.len().min(2));
        for item in first {
            add_new(&mut bases, self.item_and_filter(*item));
        }
        let is_member = |path: &&Path| matches!(path.step, Some(Step::Name(_)));
        let members = self.by_depth(|path| Some(path).filter(is_member)?.object);
        let is_full = |spot: &&Spot| !self.path(spot.path).children.is_empty();
        let members: Vec<_> = members.iter().take(4 * most).filter(is_full).collect();
        for spot in members.into_iter().chain(rest.iter().take(most)) {
            if bases.len() < most {
                add_new(&mut bases, self.offers.place(spot.place));
            }
        }
        let root = self.path(0);
        if bases.is_empty() && !root.children.is_empty() {
            bases.extend(root.object.and_then(|root| self.offers.place(root)));
        }
        bases.truncate(most);
        bases
    }

    fn item_and_filter(&mut self, item: Spot) -> impl Iterator<Item = String> + use<> {
        let place = self.offers.place(item.place);
        place.into_iter().chain(self.filter(item))
    }

    /// A selector on the list around the item at a place.
    fn on_list(&self, item: usize, step: &str) -> Option<String> {
        let list = self.walk.selector(self.walk.places[item].parent)?;
        let prefix = if list == "@" { "" } else { &list };
        let selector = format!("{prefix}{step}");
        let is_long = selector.chars().nth(SELECTOR_CHARS).is_some();
        (!is_long).then_some(selector)
    }

    /// How many items a selector on the list around the item at a place goes over.
    fn items_around(&self, item: usize) -> usize {
        let list = &self.walk.places[self.walk.places[item].parent];
        // A text that holds a list is at most as long as the walk may open.
        list.view.len().unwrap_or(1000)
    }

    /// `l[?title=='T'] | [0]`, with what an item has of `title`, else `name`, else `id`.
    fn filter(&mut self, item: Spot) -> Option<String> {
        ["title", "name", "id"].into_iter().find_map(|name| {
            let walk = self.walk;
            let place = &walk.places[walk.member(item.path, name)?.scalar?];
            let literal = match place.view.kind() {
                Kind::String => {
                    let is_short = place
                        .view
                        .as_cursor()
                        .is_none_or(|cursor| cursor.raw().len() <= 6 * MAX_FILTER_CHARS + 2);
                    let text = is_short.then(|| place.view.as_str())??;
                    let is_short = text.chars().nth(MAX_FILTER_CHARS).is_none();
                    raw_string(&text).filter(|_| is_short && !text.is_empty())?
                }
                Kind::Number if name == "id" => {
                    let digits = place.view.as_cursor()?.as_number()?;
                    (digits.len() <= MAX_FILTER_CHARS).then(|| format!("`{digits}`"))?
                }
                _ => return None,
            };
            let item = place.parent;
            let selector = self.on_list(item, &format!("[?{name}=={literal}] | [0]"))?;
            // An item may be a text that holds the object.
            let expected = &walk.places[item].view;
            let items = self.items_around(item);
            let works = expected.kind() == Kind::Object
                && self
                    .offers
                    .over(&selector, items, |value| is_same(value, expected));
            works.then_some(selector)
        })
    }

    /// Objects that are maps: most of their values are objects. Nearest to the root first.
    fn maps(&self) -> Vec<Spot> {
        let mut objects = self.by_depth(|path| path.object);
        objects.retain(|spot| {
            let values = &self.path(spot.path).children;
            let objects = values.iter().filter(|at| self.path(**at).object.is_some());
            values.len() >= MIN_MAP_VALUES && objects.count() * 10 >= values.len() * 8
        });
        objects
    }

    /// `o.*.url`: members that most values of a map have, best first.
    fn values(&mut self, map: Spot, most: usize) -> Vec<String> {
        let walk = self.walk;
        let Some(prefix) = walk.selector(map.place) else {
            return Vec::new();
        };
        let prefix = if prefix == "@" {
            "*".to_owned()
        } else {
            format!("{prefix}.*")
        };
        let values = &self.path(map.path).children;
        let values = &values[..values.len().min(MAX_TRIED)];
        let mut tried = HashSet::new();
        let mut selectors = Vec::new();
        for spot in &self.terminals {
            let path = self.path(spot.path);
            let Some(Step::Name(name)) = path.step else {
                continue;
            };
            let is_within = self.path(path.parent).parent == map.path;
            if selectors.len() == most || !is_within || !tried.insert(name) {
                continue;
            }
            let has = |value: &&usize| {
                let member = walk.step(**value, Step::Name(name));
                member.is_some_and(|member| member.scalar.is_some())
            };
            if values.iter().filter(has).count() * 10 >= values.len() * 8 {
                selectors.push(member(&prefix, &walk.names[name].text));
            }
        }
        let items = walk.places[map.place].view.len().unwrap_or_default();
        selectors.retain(|selector| {
            let is_short = selector.chars().nth(SELECTOR_CHARS).is_none();
            is_short && self.offers.over(selector, items, is_something)
        });
        selectors
    }

    /// `l[*].url`: members that the items of a list have, best first.
    fn projections(&mut self, item: Spot, most: usize) -> Vec<String> {
        let (mut selectors, mut failed) = (Vec::new(), 0);
        let mut all_cost_too_much = false;
        let walk = self.walk;
        let within = self.terminals.iter().filter_map(|spot| {
            let members = walk.members_between(item.path, spot.path)?;
            let is_null = walk.places[spot.place].view.is_null();
            let is_far = self.path(spot.path).parent != item.path;
            let is_irrelevant = self.relevance(spot.path) < RELEVANT;
            (!members.is_empty() && !is_null).then_some((is_irrelevant, is_far, members))
        });
        let mut within: Vec<(bool, bool, String)> = within.take(MAX_TRIED).collect();
        // A stable sort: the items' own members first.
        within.sort_by_key(|(is_irrelevant, is_far, _)| (*is_irrelevant, *is_far));
        for (_, _, members) in within {
            if selectors.len() == most || failed == MAX_FAILED {
                break;
            }
            let items = self.items_around(item.place);
            let all = self.on_list(item.place, &format!("[*].{members}"));
            let few = self.on_list(item.place, &format!("[0:{FEW_ITEMS}].{members}"));
            let mut try_it = |selector: Option<String>, items| {
                selector.filter(|selector| self.offers.over(selector, items, is_something))
            };
            let over_all = try_it(all.filter(|_| !all_cost_too_much), items);
            let works = over_all.clone().or_else(|| try_it(few, FEW_ITEMS));
            // If the projection works only for the first items, it does so for the next member, too.
            all_cost_too_much = over_all.is_none() && works.is_some();
            failed += usize::from(works.is_none());
            selectors.extend(works);
        }
        selectors
    }
}

/// Adds the texts that are not in a list yet.
fn add_new(list: &mut Vec<String>, texts: impl IntoIterator<Item = String>) {
    for text in texts {
        if !list.contains(&text) {
            list.push(text);
        }
    }
}
