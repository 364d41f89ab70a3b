//! Selectors as a next call may need them: single items, filters, list projections.

use super::{
    lists::{List, Lists},
    offers::{is_same, is_something},
};
use crate::paths::{Path, SELECTOR_CHARS, Step, member, raw_string};
use crossfeed_jmespath::Kind;
use std::collections::HashSet;

/// The most characters of a text that a filter compares with.
const FILTERED_CHARS: usize = 60;
/// How many items a list projection goes over where all are too many.
const FEW_ITEMS: usize = 10;
/// How many paths within the items of a list are tried for list projections.
const WITHIN: usize = 40;
/// How many list projections of one list may fail before no more are tried.
const FAILED: usize = 2;
/// From which wantedness on a path within an item comes before the item's own members.
const WANTED: u8 = 4;
/// From how many values on an object may be a map.
const MAP: usize = 4;

impl Lists<'_, '_> {
    /// Selectors as a next call may need them: single items, filters, list projections, then paths.
    pub(super) fn examples(&mut self, most: usize, paths: usize) -> Vec<String> {
        const LISTS: usize = 4;
        const PROJECTIONS: usize = 4;
        let mut found = Distinct::default();
        let lists = self.of_objects.clone();
        let (main, others) = lists.split_at(lists.len().min(1));
        for list in main {
            found.extend(self.item_and_filter(*list));
            found.extend(self.projections(*list, PROJECTIONS));
        }
        for list in others.iter().take(LISTS - 1) {
            found.extend(self.item_and_filter(*list));
        }
        for (list, projections) in others.iter().zip([2, 1]) {
            found.extend(self.projections(*list, projections));
        }
        for map in self.maps().into_iter().take(LISTS / 2) {
            found.extend(self.values(map, 2));
        }
        for list in self.of_others.clone().into_iter().take(LISTS) {
            found.extend(self.offers.place(list.item));
        }
        // The whole value needs no selector, and null helps nobody.
        let best = self.best_terminals(paths).into_iter();
        let best = best.filter(|typed| typed.selector != "@" && typed.kind != "null");
        found.extend(best.map(|typed| typed.selector));
        for list in lists.iter().skip(LISTS).take(LISTS) {
            if found.texts.len() < most {
                found.extend(self.item_and_filter(*list));
            }
        }
        found.texts.truncate(most);
        found.texts
    }

    /// Selectors of one object each.
    pub(super) fn bases(&mut self, most: usize) -> Vec<String> {
        let mut found = Distinct::default();
        let lists = self.of_objects.clone();
        let (first, rest) = lists.split_at(lists.len().min(2));
        for list in first {
            found.extend(self.item_and_filter(*list));
        }
        let is_member = |path: &&Path| matches!(path.step, Some(Step::Name(_)));
        let members = self.by_depth(|path| Some(path).filter(is_member)?.object);
        for (at, place) in members.into_iter().take(4 * most) {
            let holds = self.path(at).is_some_and(|path| !path.children.is_empty());
            if holds && found.texts.len() < most {
                found.extend(self.offers.place(place));
            }
        }
        for list in rest.iter().take(most) {
            if found.texts.len() < most {
                found.extend(self.offers.place(list.item));
            }
        }
        let root = self.path(0).and_then(|root| root.object);
        let holds = self.path(0).is_some_and(|root| !root.children.is_empty());
        if let Some(root) = root.filter(|_| found.texts.is_empty() && holds) {
            found.extend(self.offers.place(root));
        }
        found.texts.truncate(most);
        found.texts
    }

    fn item_and_filter(&mut self, list: List) -> impl Iterator<Item = String> + use<> {
        let item = self.offers.place(list.item);
        item.into_iter().chain(self.filter(list))
    }

    /// A selector on the list around an item.
    fn on_list(&self, item: usize, step: &str) -> Option<String> {
        let list = self.walk().selector(self.list_of(item)?)?;
        let prefix = if list == "@" { "" } else { &list };
        let selector = format!("{prefix}{step}");
        let is_long = selector.chars().nth(SELECTOR_CHARS).is_some();
        (!is_long).then_some(selector)
    }

    fn list_of(&self, item: usize) -> Option<usize> {
        Some(self.walk().places.get(item)?.parent)
    }

    /// How many items a selector on the list around `item` goes over.
    fn items_around(&self, item: usize) -> usize {
        let list = self.list_of(item).and_then(|at| self.walk().places.get(at));
        // A text that holds a list is at most as long as what the walk may open.
        list.and_then(|list| list.view.len()).unwrap_or(1000)
    }

    /// `l[?title=='T'] | [0]`, with what an item has of `title`, else `name`, else `id`.
    fn filter(&mut self, list: List) -> Option<String> {
        ["title", "name", "id"].into_iter().find_map(|name| {
            let walk = self.walk();
            let place = walk.places.get(walk.member(list.items, name)?.scalar?)?;
            let literal = match place.view.kind() {
                Kind::String => {
                    let is_short = place
                        .view
                        .as_cursor()
                        .is_none_or(|cursor| cursor.raw().len() <= 6 * FILTERED_CHARS + 2);
                    let text = is_short.then(|| place.view.as_str())??;
                    let is_short = text.chars().nth(FILTERED_CHARS).is_none();
                    raw_string(&text).filter(|_| is_short && !text.is_empty())?
                }
                Kind::Number if name == "id" => {
                    let digits = place.view.as_cursor()?.raw();
                    let digits = std::str::from_utf8(digits).ok()?;
                    let is_short = digits.len() <= FILTERED_CHARS;
                    is_short.then(|| format!("`{digits}`"))?
                }
                _ => return None,
            };
            let item = place.parent;
            let selector = self.on_list(item, &format!("[?{name}=={literal}] | [0]"))?;
            // An item may be a text that holds the object.
            let expected = walk.places.get(item)?.view.clone();
            let expected = Some(expected).filter(|item| item.kind() == Kind::Object)?;
            let items = self.items_around(item);
            let works = self
                .offers
                .over(&selector, items, |found| is_same(found, &expected));
            works.then_some(selector)
        })
    }

    /// Paths to objects that are maps: most of their values are objects. Nearest to the root first.
    fn maps(&self) -> Vec<usize> {
        let is_object = |at: &&usize| self.path(**at).is_some_and(|path| path.object.is_some());
        let paths = self.by_depth(|path| path.object);
        let maps = paths.into_iter().map(|(at, _)| at).filter(|at| {
            let children = self.path(*at).map(|path| &path.children);
            children.is_some_and(|all| {
                let objects = all.iter().filter(is_object).count();
                all.len() >= MAP && objects * 10 >= all.len() * 8
            })
        });
        maps.collect()
    }

    /// `o.*.url`: what most values of a map have, best first.
    fn values(&mut self, map: usize, most: usize) -> Vec<String> {
        let walk = self.walk();
        let place = self.path(map).and_then(|path| path.object);
        let prefix = place.and_then(|place| walk.selector(place));
        let view = place.and_then(|place| Some(&walk.places.get(place)?.view));
        let (Some(path), Some(prefix), Some(view)) = (self.path(map), prefix, view) else {
            return Vec::new();
        };
        let prefix = if prefix == "@" {
            "*".to_owned()
        } else {
            format!("{prefix}.*")
        };
        let values: Vec<usize> = path.children.iter().copied().take(WITHIN).collect();
        let mut tried = HashSet::new();
        let mut found = Vec::new();
        for at in &self.terminals {
            let Some(path) = self.path(*at) else { continue };
            let Some(Step::Name(name)) = path.step else {
                continue;
            };
            let is_within = self
                .path(path.parent)
                .is_some_and(|value| value.parent == map);
            if found.len() == most || !is_within || !tried.insert(name) {
                continue;
            }
            let has = |value: &&usize| {
                let member = walk.step(**value, Step::Name(name));
                member.is_some_and(|member| member.scalar.is_some())
            };
            let have = values.iter().filter(has).count();
            if let Some(name) = walk
                .names
                .get(name)
                .filter(|_| have * 10 >= values.len() * 8)
            {
                found.push(member(&prefix, &name.text));
            }
        }
        let items = view.len().unwrap_or_default();
        found.retain(|selector| {
            let is_short = selector.chars().nth(SELECTOR_CHARS).is_none();
            is_short && self.offers.over(selector, items, is_something)
        });
        found
    }

    /// `l[*].url`: what the items of a list have, best first.
    fn projections(&mut self, list: List, most: usize) -> Vec<String> {
        let (mut found, mut failed) = (Vec::new(), 0);
        let mut all_cost_too_much = false;
        let walk = self.walk();
        let within = self.terminals.iter().filter_map(|at| {
            let path = self.path(*at)?;
            let members = walk.members_between(list.items, *at)?;
            let is_null = walk.places.get(path.scalar?)?.view.is_null();
            let is_far = path.parent != list.items;
            (!members.is_empty() && !is_null).then_some((
                self.wanted(*at) < WANTED,
                is_far,
                members,
            ))
        });
        let mut within: Vec<(bool, bool, String)> = within.take(WITHIN).collect();
        // A stable sort: the items' own members first.
        within.sort_by_key(|(is_unwanted, is_far, _)| (*is_unwanted, *is_far));
        for (_, _, members) in within {
            if found.len() == most || failed == FAILED {
                break;
            }
            let items = self.items_around(list.item);
            let all = self.on_list(list.item, &format!("[*].{members}"));
            let few = self.on_list(list.item, &format!("[0:{FEW_ITEMS}].{members}"));
            let mut try_it = |selector: Option<String>, items| {
                selector.filter(|selector| self.offers.over(selector, items, is_something))
            };
            let over_all = try_it(all.filter(|_| !all_cost_too_much), items);
            let works = over_all.clone().or_else(|| try_it(few, FEW_ITEMS));
            // Where few items work, all of them were too many: so they are for the next member.
            all_cost_too_much = over_all.is_none() && works.is_some();
            failed += usize::from(works.is_none());
            found.extend(works);
        }
        found
    }
}

/// Texts in order, each once.
#[derive(Default)]
struct Distinct {
    texts: Vec<String>,
    seen: HashSet<String>,
}

impl Distinct {
    fn extend(&mut self, texts: impl IntoIterator<Item = String>) {
        for text in texts {
            if self.seen.insert(text.clone()) {
                self.texts.push(text);
            }
        }
    }
}
