//! The schemas that may apply to a place of the arguments, by where they stand in their schema.

use crate::{
    Dialect,
    index::{Index, Target, push_step},
    keywords::{self, Applies, Step},
    null::Nulls,
};
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
};

/// How many schemas are followed for one place: `$ref` and combinators fan out.
const FOLLOWED: usize = 64;
/// How many schemas are followed for all places: beyond that nothing is known of a place, and its
/// value stays as it came. A call of a thousand values, each with ten alternatives, needs a hundredth.
const FOLLOWED_IN_ALL: usize = 1_000_000;

/// A schema that places of arguments are looked up in.
#[derive(Debug)]
pub(super) struct Ground<'s> {
    root: &'s Value,
    index: Index,
    dialect: Dialect,
    /// Which places admit null: asked again for each null of a list of objects.
    nulls: RefCell<HashMap<String, bool>>,
    left: Cell<usize>,
}

/// One place of the arguments.
#[derive(Clone, Debug, Default)]
pub(super) struct Spot {
    here: Vec<At>,
}

/// A schema by its place.
#[derive(Clone, Debug, PartialEq, Eq)]
struct At {
    at: String,
    /// Whether it always applies: not through one of several branches.
    surely: bool,
    /// Whether it was looked up, not followed to.
    first: bool,
}

impl<'s> Ground<'s> {
    pub(super) fn of(root: &'s Value) -> Self {
        let dialect = Dialect::declared(root).unwrap_or(Dialect::Draft202012);
        Self {
            root,
            index: Index::of(root, dialect).unwrap_or_default(),
            dialect,
            nulls: RefCell::default(),
            left: Cell::new(FOLLOWED_IN_ALL),
        }
    }

    /// The place that the whole schema is for.
    pub(super) fn root(&self) -> Spot {
        let mut spot = Spot::default();
        self.follow(&mut spot, String::new(), true);
        spot
    }

    /// The schemas at a place.
    pub(super) fn schemas<'a>(&'a self, spot: &'a Spot) -> impl Iterator<Item = &'s Value> + 'a {
        spot.here
            .iter()
            .filter_map(|one| self.root.pointer(&one.at))
    }

    /// The place of a member.
    pub(super) fn member(&self, spot: &Spot, key: &str) -> Spot {
        let mut inner = Spot::default();
        for one in &spot.here {
            let Some(schema) = self.root.pointer(&one.at) else {
                continue;
            };
            let mut at = one.at.clone();
            if schema
                .get("properties")
                .is_some_and(|p| p.get(key).is_some())
            {
                push_step(&mut at, "properties", Step::Key(key));
            } else if schema.get("additionalProperties").is_some() {
                push_step(&mut at, "additionalProperties", Step::Keyword);
            } else {
                continue;
            }
            self.follow(&mut inner, at, one.surely);
        }
        inner
    }

    /// The place of an item.
    pub(super) fn item(&self, spot: &Spot, index: usize) -> Spot {
        let mut inner = Spot::default();
        for one in &spot.here {
            let Some(schema) = self.root.pointer(&one.at) else {
                continue;
            };
            let listed = |key: &str| schema.get(key)?.as_array()?.get(index);
            let mut at = one.at.clone();
            if listed("prefixItems").is_some() {
                push_step(&mut at, "prefixItems", Step::Index(index));
            } else if listed("items").is_some() {
                push_step(&mut at, "items", Step::Index(index));
            } else if schema.get("items").is_some_and(|items| !items.is_array()) {
                push_step(&mut at, "items", Step::Keyword);
            } else {
                continue;
            }
            self.follow(&mut inner, at, one.surely);
        }
        inner
    }

    /// Whether a schema here declares the member.
    pub(super) fn declares(&self, spot: &Spot, key: &str) -> bool {
        self.schemas(spot).any(|schema| {
            schema
                .get("properties")
                .is_some_and(|p| p.get(key).is_some())
        })
    }

    /// Whether the member must be there whatever else is.
    pub(super) fn requires(&self, spot: &Spot, key: &str) -> bool {
        let sure = spot.here.iter().filter(|one| one.surely);
        sure.filter_map(|one| self.root.pointer(&one.at)?.get("required")?.as_array())
            .any(|required| required.iter().any(|name| name == key))
    }

    /// Whether null may stand here.
    pub(super) fn admits_null(&self, spot: &Spot) -> bool {
        let mut alternatives = spot
            .here
            .iter()
            .filter(|one| one.first && !one.surely)
            .peekable();
        let mut sure = spot.here.iter().filter(|one| one.first && one.surely);
        sure.all(|one| self.admits(&one.at))
            && (alternatives.peek().is_none() || alternatives.any(|one| self.admits(&one.at)))
    }

    fn admits(&self, at: &str) -> bool {
        if let Some(known) = self.nulls.borrow().get(at) {
            return *known;
        }
        let nulls = Nulls::new(self.root, &self.index, self.dialect);
        let admits = nulls.at(at);
        self.nulls.borrow_mut().insert(at.to_owned(), admits);
        admits
    }

    /// Adds a schema and all that it applies to the same value.
    fn follow(&self, spot: &mut Spot, at: String, surely: bool) {
        let first = |at| At {
            at,
            surely,
            first: true,
        };
        let mut open = vec![first(at)];
        while let Some(one) = open.pop() {
            let seen = spot.here.iter().any(|known| known.at == one.at);
            let Some(schema) = self.root.pointer(&one.at) else {
                continue;
            };
            if seen || spot.here.len() == FOLLOWED || self.left.get() == 0 {
                continue;
            }
            self.left.set(self.left.get() - 1);
            if let Some(Target::Here { at, .. }) = self.index.target(&one.at, "$ref") {
                open.push(At {
                    at: at.clone(),
                    surely: one.surely,
                    first: false,
                });
            }
            for (keyword, value) in schema.as_object().into_iter().flatten() {
                let applied = keywords::subschemas(keyword);
                let Some((holds, Applies::Here)) = applied.filter(|_| keyword != "not") else {
                    continue;
                };
                for (step, _) in keywords::held(holds, value) {
                    let mut at = one.at.clone();
                    push_step(&mut at, keyword, step);
                    open.push(At {
                        at,
                        surely: one.surely && keyword == "allOf",
                        first: false,
                    });
                }
            }
            spot.here.push(one);
        }
    }
}
