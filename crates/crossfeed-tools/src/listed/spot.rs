//! The schemas that may apply to a place of the arguments, by where they stand in their schema.
//!
//! What comes in: a schema and the way into a value. What goes out: the schemas there, which of them
//! always apply, and what they say of one member. Places are known again: all items of a list share
//! one, so that arguments of any length cost what their schema costs.

use super::branch::Siblings;
use crossfeed_schema::{
    Dialect, Nulls,
    index::{Index, Target},
    keywords::{self, Applies, Step, push_step},
    lookup::{self, Patterns, address},
};
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    rc::Rc,
};

/// How many schemas are followed for one place: `$ref` and combinators fan out.
const FOLLOWED: usize = 1_000;
/// How much is looked at for all places. A call of a thousand values, each with ten alternatives,
/// needs a hundredth.
const LOOKED_AT: usize = 4_000_000;
/// What following one schema costs of that; judging a member by one costs 1.
const STEP: usize = 10;

/// A schema that places of arguments are looked up in.
#[derive(Debug)]
pub(crate) struct Ground<'s> {
    root: &'s Value,
    index: Index,
    /// What references lead to, by the address of the schema that holds one.
    targets: HashMap<usize, &'s Value>,
    pub(super) dialect: Dialect,
    patterns: Patterns<'s>,
    /// Which places admit null: asked again for each null of a list of objects.
    nulls: RefCell<HashMap<String, bool>>,
    /// Every place that was asked for, by the schemas that it begins at and the branches left out.
    places: RefCell<HashMap<Begin, Spot<'s>>>,
    /// The same by the way from another place.
    ways: RefCell<HashMap<(usize, Way), Spot<'s>>>,
    left: Cell<usize>,
}

/// The schemas that a place begins at, and the branches left out.
type Begin = (Vec<Start>, Vec<String>);

/// One place of the arguments.
#[derive(Clone, Debug)]
pub(crate) struct Spot<'s>(Rc<Here<'s>>);

#[derive(Debug)]
struct Here<'s> {
    number: usize,
    starts: Vec<Start>,
    schemas: Vec<At<'s>>,
    /// The branches of `anyOf` and `oneOf` among the schemas.
    branches: Vec<Branch<'s>>,
    /// From which item on all are alike.
    alike: usize,
    patterned: bool,
}

/// A schema that a place begins at: what stands for the value in the schema around.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Start {
    at: String,
    /// Whether it always applies: not through one of several branches.
    surely: bool,
    /// Whether the schema around leaves the value out as well.
    optional: bool,
}

/// A schema by its place.
#[derive(Debug)]
struct At<'s> {
    at: String,
    schema: &'s Value,
    surely: bool,
}

/// One of several schemas of which one applies.
#[derive(Debug)]
struct Branch<'s> {
    at: String,
    schema: &'s Value,
    /// The place of the keyword.
    of: Rc<str>,
}

/// A step from one place to another.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Way {
    Member(String),
    /// A member that nothing names.
    Rest,
    Item(usize),
    /// An item that nothing counts.
    Items,
}

impl<'s> Ground<'s> {
    pub(crate) fn of(root: &'s Value) -> Self {
        let (dialect, index) = Index::lenient(root);
        let targets = lookup::links(root, &index)
            .filter(|(keyword, ..)| *keyword == "$ref")
            .map(|(_, from, to)| (from, to))
            .collect();
        Self {
            root,
            targets,
            index,
            dialect,
            patterns: Patterns::default(),
            nulls: RefCell::default(),
            places: RefCell::default(),
            ways: RefCell::default(),
            left: Cell::new(LOOKED_AT),
        }
    }

    /// What the reference of a schema leads to.
    pub(super) fn target(&self, schema: &Value) -> Option<&'s Value> {
        self.targets.get(&address(schema)).copied()
    }

    /// Whether so much was looked at that nothing is known of further places.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.left.get() == 0
    }

    /// Takes what looking costs; `false` where nothing is left.
    pub(super) fn spend(&self, cost: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(cost));
        self.left.get() > 0
    }

    /// The place that the whole schema is for.
    pub(crate) fn root(&self) -> Spot<'s> {
        let start = Start {
            at: String::new(),
            surely: true,
            optional: false,
        };
        self.place(vec![start], Vec::new())
    }

    /// The schemas at a place.
    pub(crate) fn schemas<'a>(&self, spot: &'a Spot<'s>) -> impl Iterator<Item = &'s Value> + 'a {
        spot.0.schemas.iter().map(|one| one.schema)
    }

    /// The place of a member.
    pub(crate) fn member(&self, spot: &Spot<'s>, key: &str) -> Spot<'s> {
        let way = match self.declares(spot, key) {
            true => Some(Way::Member(key.to_owned())),
            false if spot.0.patterned => None,
            false => Some(Way::Rest),
        };
        self.on(spot, way, || self.members(spot, key))
    }

    fn members(&self, spot: &Spot<'s>, key: &str) -> Vec<Start> {
        let mut starts = Vec::new();
        let mut rest = Vec::new();
        for one in &spot.0.schemas {
            let before = starts.len();
            let required = one.schema.get("required").and_then(Value::as_array);
            let optional = !required.is_some_and(|names| names.iter().any(|name| name == key));
            let mut start = |keyword: &str, step| {
                let mut at = one.at.clone();
                push_step(&mut at, keyword, step);
                starts.push(Start {
                    at,
                    surely: one.surely,
                    optional,
                });
            };
            let own = one.schema.get("properties");
            if own.is_some_and(|own| own.get(key).is_some()) {
                start("properties", Step::Key(key));
            }
            let patterned = one.schema.get("patternProperties");
            for pattern in patterned
                .and_then(Value::as_object)
                .into_iter()
                .flat_map(|p| p.keys())
            {
                if self.matches(pattern, key) {
                    start("patternProperties", Step::Key(pattern));
                }
            }
            if starts.len() > before {
                continue;
            }
            for keyword in ["additionalProperties", "unevaluatedProperties"] {
                if one.schema.get(keyword).is_some() {
                    let mut at = one.at.clone();
                    push_step(&mut at, keyword, Step::Keyword);
                    let start = Start {
                        at,
                        surely: one.surely,
                        optional,
                    };
                    match keyword {
                        "additionalProperties" => starts.push(start),
                        _ => rest.push(start),
                    }
                    break;
                }
            }
        }
        // What another schema here names is evaluated.
        if starts.is_empty() {
            starts = rest;
        }
        starts
    }

    /// The place of an item.
    pub(crate) fn item(&self, spot: &Spot<'s>, index: usize) -> Spot<'s> {
        let way = if index < spot.0.alike {
            Way::Item(index)
        } else {
            Way::Items
        };
        self.on(spot, Some(way), || {
            let start = |one: &At<'s>| {
                let listed = |key: &str| one.schema.get(key)?.as_array()?.get(index);
                let has = |key: &str| one.schema.get(key).is_some_and(|held| !held.is_array());
                let rest = match one.schema.get("items") {
                    Some(Value::Array(_)) => "additionalItems",
                    Some(_) => "items",
                    None => "unevaluatedItems",
                };
                let mut at = one.at.clone();
                if listed("prefixItems").is_some() {
                    push_step(&mut at, "prefixItems", Step::Index(index));
                } else if listed("items").is_some() {
                    push_step(&mut at, "items", Step::Index(index));
                } else if has(rest) {
                    push_step(&mut at, rest, Step::Keyword);
                } else {
                    return None;
                }
                Some(Start {
                    at,
                    surely: one.surely,
                    optional: false,
                })
            };
            spot.0.schemas.iter().filter_map(start).collect()
        })
    }

    /// Whether some of the schemas here are branches of which one applies.
    pub(crate) fn has_branches(&self, spot: &Spot<'s>) -> bool {
        !spot.0.branches.is_empty()
    }

    /// The place without the branches that the members of the value there contradict.
    pub(crate) fn without_contradicted(
        &self,
        spot: &Spot<'s>,
        siblings: &Siblings<'_>,
    ) -> Spot<'s> {
        let branches = &spot.0.branches;
        let judged: Vec<_> = branches
            .iter()
            .map(|branch| (branch, self.contradicts(branch.schema, siblings)))
            .collect();
        // Where all are refused, something else is wrong than the branch.
        let left: HashSet<_> = judged
            .iter()
            .filter(|(_, refused)| !refused)
            .map(|(branch, _)| &branch.of)
            .collect();
        let gone: Vec<_> = judged
            .iter()
            .filter(|(branch, refused)| *refused && left.contains(&branch.of))
            .map(|(branch, _)| branch.at.clone())
            .collect();
        if gone.is_empty() {
            spot.clone()
        } else {
            self.place(spot.0.starts.clone(), gone)
        }
    }

    /// Whether a schema here declares the member.
    pub(crate) fn declares(&self, spot: &Spot<'s>, key: &str) -> bool {
        self.schemas(spot).any(|schema| {
            schema
                .get("properties")
                .is_some_and(|p| p.get(key).is_some())
        })
    }

    /// Whether a schema here asks for the member by name, declared or not.
    pub(crate) fn asks_for(&self, spot: &Spot<'s>, key: &str) -> bool {
        let names = |list: &Value| matches!(list, Value::Array(list) if list.iter().any(|name| name == key));
        self.schemas(spot).any(|schema| {
            let dependent = ["dependentRequired", "dependencies"].iter().any(|keyword| {
                let lists = schema.get(*keyword).and_then(Value::as_object);
                lists.is_some_and(|lists| lists.contains_key(key) || lists.values().any(names))
            });
            dependent || schema.get("required").is_some_and(names)
        })
    }

    /// Whether the member must be there whatever else is.
    pub(crate) fn requires(&self, spot: &Spot<'s>, key: &str) -> bool {
        let sure = spot.0.schemas.iter().filter(|one| one.surely);
        sure.filter_map(|one| one.schema.get("required")?.as_array())
            .any(|required| required.iter().any(|name| name == key))
    }

    /// Whether null may stand here: whatever branch applies, it is taken or cannot be left out.
    pub(crate) fn keeps_null(&self, spot: &Spot<'s>) -> bool {
        let starts = &spot.0.starts;
        let (sure, several): (Vec<_>, Vec<_>) = starts.iter().partition(|start| start.surely);
        sure.iter().all(|start| self.admits_null(&start.at))
            && (several.is_empty() || several.iter().any(|start| self.admits_null(&start.at)))
            && several
                .iter()
                .all(|start| !start.optional || self.admits_null(&start.at))
    }

    /// Whether a value that is not null may stand here, as far as kinds and listed values say it.
    pub(crate) fn may_hold(&self, spot: &Spot<'s>, value: &Value) -> bool {
        let starts = &spot.0.starts;
        let (sure, several): (Vec<_>, Vec<_>) = starts.iter().partition(|start| start.surely);
        sure.iter().all(|start| self.may_start(start, value))
            && (several.is_empty() || several.iter().any(|start| self.may_start(start, value)))
    }

    fn may_start(&self, start: &Start, value: &Value) -> bool {
        let schema = self.root.pointer(&start.at);
        schema.is_none_or(|schema| self.may_be(schema, value))
    }

    fn admits_null(&self, at: &str) -> bool {
        if let Some(known) = self.nulls.borrow().get(at) {
            return *known;
        }
        let nulls = Nulls::new(self.root, &self.index, self.dialect);
        let admits = nulls.at(at);
        self.nulls.borrow_mut().insert(at.to_owned(), admits);
        admits
    }

    /// Whether a key matches; a pattern that cannot be compiled might.
    pub(super) fn matches(&self, pattern: &'s str, key: &str) -> bool {
        self.patterns.matches(pattern, key)
    }

    /// A place by the way to it, or by the schemas that it begins at.
    fn on(
        &self,
        spot: &Spot<'s>,
        way: Option<Way>,
        starts: impl FnOnce() -> Vec<Start>,
    ) -> Spot<'s> {
        let Some(way) = way else {
            return self.place(starts(), Vec::new());
        };
        let way = (spot.0.number, way);
        if let Some(known) = self.ways.borrow().get(&way) {
            return known.clone();
        }
        let found = self.place(starts(), Vec::new());
        self.ways.borrow_mut().insert(way, found.clone());
        found
    }

    fn place(&self, starts: Vec<Start>, without: Vec<String>) -> Spot<'s> {
        let key = (starts, without);
        if let Some(known) = self.places.borrow().get(&key) {
            return known.clone();
        }
        let number = self.places.borrow().len();
        let found = Spot(Rc::new(self.follow(number, &key.0, &key.1)));
        self.places.borrow_mut().insert(key, found.clone());
        found
    }

    /// The schemas that a place begins at, and all that they apply to the same value.
    fn follow(&self, number: usize, starts: &[Start], without: &[String]) -> Here<'s> {
        let mut here = Here {
            number,
            starts: starts.to_vec(),
            schemas: Vec::new(),
            branches: Vec::new(),
            alike: 0,
            patterned: false,
        };
        let mut known = HashSet::new();
        for start in starts {
            let mut open = vec![(start.at.clone(), start.surely)];
            while let Some((at, surely)) = open.pop() {
                let Some(schema) = self.root.pointer(&at) else {
                    continue;
                };
                if known.contains(&at) || here.schemas.len() == FOLLOWED || !self.spend(STEP) {
                    continue;
                }
                if let Some(Target::Here { at: target, .. }) = self.index.target(&at, "$ref") {
                    open.push((target.clone(), surely));
                }
                for (keyword, value) in schema.as_object().into_iter().flatten() {
                    let applied = keywords::subschemas(keyword);
                    let Some((holds, Applies::Here)) = applied.filter(|_| keyword != "not") else {
                        continue;
                    };
                    let mut held: Vec<_> = keywords::held(holds, value)
                        .into_iter()
                        .map(|(step, schema)| {
                            let mut at = at.clone();
                            push_step(&mut at, keyword, step);
                            (at, schema)
                        })
                        .collect();
                    let is_choice = matches!(keyword.as_str(), "anyOf" | "oneOf");
                    if is_choice {
                        held.retain(|(branch, _)| !without.contains(branch));
                    }
                    if is_choice && held.len() > 1 {
                        let of: Rc<str> = format!("{at}/{keyword}").into();
                        here.branches.extend(held.iter().map(|(at, schema)| Branch {
                            at: at.clone(),
                            schema,
                            of: Rc::clone(&of),
                        }));
                    }
                    let surely = surely && (keyword == "allOf" || is_choice && held.len() == 1);
                    open.extend(held.into_iter().map(|(at, _)| (at, surely)));
                }
                let listed = |key: &str| {
                    schema
                        .get(key)
                        .and_then(Value::as_array)
                        .map_or(0, Vec::len)
                };
                here.alike = here.alike.max(listed("prefixItems")).max(listed("items"));
                here.patterned |= schema.get("patternProperties").is_some();
                known.insert(at.clone());
                here.schemas.push(At { at, schema, surely });
            }
        }
        here
    }
}

impl Spot<'_> {
    /// Whether no schema is known to stand here.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.schemas.is_empty()
    }
}
