//! Walks a schema along a value: which subschemas apply to each place of it.
//!
//! Positions are shared: all items of a list have one, so that a value of any length costs what its schema
//! costs.

use crate::{
    Document,
    document::address,
    index::REFERENCES,
    keywords::{self, Applies},
};
use serde_json::Value;
use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet},
    rc::Rc,
};

/// How many schemas are followed for one position: `$ref` and combinators fan out.
const MAX_SCHEMAS: usize = 1_000;
/// How many steps reading all positions may take. Arguments with a thousand values, each with ten alternatives,
/// need a hundredth.
const MAX_STEPS: usize = 4_000_000;
/// The steps that following one schema costs; a look-up of a member costs 1.
const FOLLOW_STEPS: usize = 10;

/// The positions of one document that were read.
#[derive(Debug)]
pub(crate) struct PositionCache<'s> {
    /// By the schemas that they begin at and the branches left out.
    by_start: RefCell<HashMap<Begin, Rc<PositionData<'s>>>>,
    /// By the step from another position.
    by_step: RefCell<HashMap<(usize, Step), Rc<PositionData<'s>>>>,
    steps: Cell<usize>,
}

impl Default for PositionCache<'_> {
    fn default() -> Self {
        Self {
            by_start: RefCell::default(),
            by_step: RefCell::default(),
            steps: Cell::new(MAX_STEPS),
        }
    }
}

/// Each schema that a position begins at, by its address, with its flags; and the branches left out.
type Begin = (Vec<(usize, bool, bool)>, Vec<usize>);

/// A step from one position to another.
#[derive(Debug, PartialEq, Eq, Hash)]
enum Step {
    Member(String),
    /// A member that nothing names.
    Rest,
    Item(usize),
    /// An item that nothing counts.
    Items,
}

/// The subschemas that apply to one place of a value. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Position<'s> {
    document: Rc<Document<'s>>,
    data: Rc<PositionData<'s>>,
}

#[derive(Debug)]
struct PositionData<'s> {
    number: usize,
    starts: Vec<Start<'s>>,
    schemas: Vec<AppliedSchema<'s>>,
    /// The branches of `anyOf` and `oneOf` among the schemas.
    branches: Vec<Branch<'s>>,
    /// From which item on all are alike.
    alike: usize,
    patterned: bool,
}

/// A schema that a position begins at: the one for the value in the schema around it.
#[derive(Clone, Copy, Debug)]
struct Start<'s> {
    schema: &'s Value,
    /// Whether it always applies: not through one of several branches.
    always: bool,
    /// Whether the schema around leaves the value out as well.
    optional: bool,
}

#[derive(Debug)]
struct AppliedSchema<'s> {
    schema: &'s Value,
    always: bool,
}

/// One of several schemas of which one applies.
#[derive(Debug)]
struct Branch<'s> {
    schema: &'s Value,
    /// The address of the list that it is in.
    list: usize,
}

impl<'s> Position<'s> {
    /// The position that a whole schema is for.
    pub fn root(schema: &'s Value) -> Self {
        Self::within(Rc::new(Document::new(schema)))
    }

    /// The position that the whole of a document is for.
    pub fn within(document: Rc<Document<'s>>) -> Self {
        let root = document.root;
        Self::begin(&document, root)
    }

    /// The position that another schema of the document is for.
    pub fn elsewhere(&self, schema: &'s Value) -> Self {
        Self::begin(&self.document, schema)
    }

    fn begin(document: &Rc<Document<'s>>, schema: &'s Value) -> Self {
        let start = Start {
            schema,
            always: true,
            optional: false,
        };
        Self {
            data: document.position(vec![start], Vec::new()),
            document: Rc::clone(document),
        }
    }

    /// The document that it is in.
    pub fn document(&self) -> &Document<'s> {
        &self.document
    }

    /// Whether no schema applies here.
    pub fn is_empty(&self) -> bool {
        self.data.schemas.is_empty()
    }

    /// The schemas that apply here; those that it begins at come before what they refer to.
    pub fn schemas(&self) -> impl Iterator<Item = &'s Value> + '_ {
        self.data.schemas.iter().map(|applied| applied.schema)
    }

    /// The position of a member.
    pub fn member(&self, key: &str) -> Self {
        let step = if self.declares(key) {
            Some(Step::Member(key.to_owned()))
        } else {
            (!self.data.patterned).then_some(Step::Rest)
        };
        self.step(step, || self.members(key))
    }

    fn members(&self, key: &str) -> Vec<Start<'s>> {
        let mut starts = Vec::new();
        let mut unevaluated = Vec::new();
        for &AppliedSchema { schema, always } in &self.data.schemas {
            let required = schema.get("required");
            let start = |schema| Start {
                schema,
                always,
                optional: !names(required, key),
            };
            let own = schema.get("properties").and_then(|own| own.get(key));
            let patterned = keywords::members(schema.get("patternProperties"));
            let matched = patterned.filter(|(pattern, _)| self.document.matches(pattern, key));
            let named = own.into_iter().chain(matched.map(|(_, schema)| schema));
            let before = starts.len();
            starts.extend(named.map(start));
            if starts.len() > before {
                continue;
            }
            if let Some(other) = schema.get("additionalProperties") {
                starts.push(start(other));
            } else {
                unevaluated.extend(schema.get("unevaluatedProperties").map(start));
            }
        }
        // A member that another schema here names is evaluated.
        if starts.is_empty() {
            unevaluated
        } else {
            starts
        }
    }

    /// The position of an item.
    pub fn item(&self, index: usize) -> Self {
        let step = if index < self.data.alike {
            Step::Item(index)
        } else {
            Step::Items
        };
        self.step(Some(step), || {
            let start = |applied: &AppliedSchema<'s>| {
                let schema = applied.schema;
                let listed = |key: &str| keywords::items(schema.get(key)).get(index);
                let rest = || match schema.get("items") {
                    Some(Value::Array(_)) => schema.get("additionalItems"),
                    items => items.or_else(|| schema.get("unevaluatedItems")),
                };
                let listed = listed("prefixItems").or_else(|| listed("items"));
                Some(Start {
                    schema: listed.or_else(rest)?,
                    always: applied.always,
                    optional: false,
                })
            };
            self.data.schemas.iter().filter_map(start).collect()
        })
    }

    /// The position that a token of a JSON Pointer leads to: of an item where it is a number that names no
    /// declared member.
    pub fn child(&self, token: &str) -> Self {
        match token.parse() {
            Ok(index) if !self.declares(token) => self.item(index),
            _ => self.member(token),
        }
    }

    fn step(&self, step: Option<Step>, starts: impl FnOnce() -> Vec<Start<'s>>) -> Self {
        let document = &self.document;
        let data = match step.map(|step| (self.data.number, step)) {
            None => document.position(starts(), Vec::new()),
            Some(step) => {
                let known = document.positions.by_step.borrow().get(&step).cloned();
                known.unwrap_or_else(|| {
                    let data = document.position(starts(), Vec::new());
                    let mut by_step = document.positions.by_step.borrow_mut();
                    by_step.insert(step, Rc::clone(&data));
                    data
                })
            }
        };
        Self {
            data,
            document: Rc::clone(document),
        }
    }

    /// Whether a schema here declares the member.
    pub fn declares(&self, key: &str) -> bool {
        self.schemas().any(|schema| {
            schema
                .get("properties")
                .is_some_and(|own| own.get(key).is_some())
        })
    }

    /// Whether a schema here asks for the member by name, declared or not.
    pub fn asks_for(&self, key: &str) -> bool {
        let depends = |(name, needed): (&String, &Value)| name == key || names(Some(needed), key);
        self.schemas().any(|schema: &Value| {
            let dependent = ["dependentRequired", "dependencies"]
                .iter()
                .any(|keyword| keywords::members(schema.get(*keyword)).any(depends));
            dependent || names(schema.get("required"), key)
        })
    }

    /// Whether the member must be there whatever else is.
    pub fn requires(&self, key: &str) -> bool {
        let mut always = self.data.schemas.iter().filter(|applied| applied.always);
        always.any(|applied| names(applied.schema.get("required"), key))
    }

    /// Whether null may stand here: whatever branch applies, it is taken or cannot be left out.
    pub fn keeps_null(&self) -> bool {
        let admits = |schema: &'s Value| self.document.admits_null(schema) != Some(false);
        let mut optional = self.data.starts.iter();
        self.may_fit(admits)
            && optional.all(|start| start.always || !start.optional || admits(start.schema))
    }

    /// Whether a value may stand here of which `fits` says whether one schema admits it.
    pub fn may_fit(&self, fits: impl Fn(&'s Value) -> bool) -> bool {
        let starts = self.data.starts.iter();
        let (always, several): (Vec<&Start<'s>>, Vec<_>) = starts.partition(|start| start.always);
        always.iter().all(|start| fits(start.schema))
            && (several.is_empty() || several.iter().any(|start| fits(start.schema)))
    }

    /// Whether some of the schemas here are branches of which one applies.
    pub fn has_branches(&self) -> bool {
        !self.data.branches.is_empty()
    }

    /// The position without the refused branches. Where all of a list are refused, something else than the
    /// branch is wrong, and they stay.
    pub fn without_branches(&self, refused: impl Fn(&'s Value) -> bool) -> Self {
        let branches = self.data.branches.iter();
        let (refused, left): (Vec<&Branch<'s>>, Vec<_>) =
            branches.partition(|one| refused(one.schema));
        let left: HashSet<_> = left.iter().map(|branch| branch.list).collect();
        let refused = refused.iter().filter(|one| left.contains(&one.list));
        let gone: Vec<_> = refused.map(|branch| address(branch.schema)).collect();
        if gone.is_empty() {
            return self.clone();
        }
        Self {
            data: self.document.position(self.data.starts.clone(), gone),
            document: Rc::clone(&self.document),
        }
    }
}

/// Whether a list of names holds one.
fn names(list: Option<&Value>, name: &str) -> bool {
    keywords::items(list).iter().any(|one| one == name)
}

impl<'s> Document<'s> {
    /// Whether so much was read that further positions are unknown.
    pub fn is_exhausted(&self) -> bool {
        self.positions.steps.get() == 0
    }

    /// Spends steps; `false` if none are left.
    pub fn spend(&self, cost: usize) -> bool {
        let left = self.positions.steps.get().saturating_sub(cost);
        self.positions.steps.set(left);
        left > 0
    }

    fn position(&self, starts: Vec<Start<'s>>, without: Vec<usize>) -> Rc<PositionData<'s>> {
        let key = starts
            .iter()
            .map(|start| (address(start.schema), start.always, start.optional));
        let key = (key.collect(), without);
        if let Some(known) = self.positions.by_start.borrow().get(&key) {
            return Rc::clone(known);
        }
        let number = self.positions.by_start.borrow().len();
        let data = Rc::new(self.follow(number, starts, &key.1));
        let mut by_start = self.positions.by_start.borrow_mut();
        by_start.insert(key, Rc::clone(&data));
        data
    }

    /// The schemas that a position begins at, and all that they apply to the same value.
    fn follow(&self, number: usize, starts: Vec<Start<'s>>, without: &[usize]) -> PositionData<'s> {
        let mut data = PositionData {
            number,
            starts,
            schemas: Vec::new(),
            branches: Vec::new(),
            alike: 0,
            patterned: false,
        };
        let mut known = HashSet::new();
        for start in &data.starts {
            let mut open = vec![(start.schema, start.always)];
            while let Some((schema, always)) = open.pop() {
                if known.contains(&address(schema))
                    || data.schemas.len() == MAX_SCHEMAS
                    || !self.spend(FOLLOW_STEPS)
                {
                    continue;
                }
                known.insert(address(schema));
                data.schemas.push(AppliedSchema { schema, always });
                let Value::Object(object) = schema else {
                    continue;
                };
                if REFERENCES.iter().any(|key| object.contains_key(*key)) {
                    // Where a dynamic reference leads depends on the way there.
                    let targets = self.links(schema).iter().filter_map(|link| {
                        let always = always && link.keyword == "$ref";
                        Some((link.target?, always))
                    });
                    open.extend(targets);
                }
                for (keyword, value) in object {
                    let applied = keywords::subschemas(keyword);
                    let Some((holds, Applies::Here)) = applied.filter(|_| keyword != "not") else {
                        continue;
                    };
                    let mut held: Vec<_> = keywords::held(holds, value);
                    let is_choice = matches!(keyword.as_str(), "anyOf" | "oneOf");
                    if is_choice {
                        held.retain(|(_, branch)| !without.contains(&address(branch)));
                    }
                    if is_choice && held.len() > 1 {
                        let list = address(value);
                        let branches = held.iter().map(|&(_, schema)| Branch { schema, list });
                        data.branches.extend(branches);
                    }
                    let always = always && (keyword == "allOf" || is_choice && held.len() == 1);
                    open.extend(held.into_iter().map(|(_, schema)| (schema, always)));
                }
                for keyword in ["prefixItems", "items"] {
                    let listed = keywords::items(object.get(keyword));
                    data.alike = data.alike.max(listed.len());
                }
                data.patterned |= object.contains_key("patternProperties");
            }
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::Position;
    use serde_json::json;

    #[test]
    fn follows_references_and_combinators() {
        let schema = json!({
            "properties": {
                "a": {"$ref": "#/$defs/t"},
                "l": {"items": {"anyOf": [{"properties": {"_select": {}}}, {"type": "null"}]}},
            },
            "additionalProperties": {"properties": {"$tool": {}}},
            "$defs": {"t": {"properties": {"_tool": {}, "self": {"$ref": "#/$defs/t"}}}},
        });
        let root = Position::root(&schema);
        assert!(root.declares("a"));
        assert!(!root.declares("_tool"));
        assert!(root.member("a").declares("_tool"));
        assert!(
            root.member("a")
                .member("self")
                .member("self")
                .declares("_tool")
        );
        assert!(root.member("l").item(3).declares("_select"));
        assert!(root.member("other").declares("$tool"));
    }

    #[test]
    fn follows_references_however_they_are_written() {
        let own = json!({"properties": {"$tool": {}}});
        for (reference, defs) in [
            ("#/$defs/T%3Cx%3E", json!({"T<x>": own})),
            ("#t", json!({"t": {"$anchor": "t", "allOf": [own]}})),
            (
                "urn:example:t",
                json!({"t": {"$id": "urn:example:t", "anyOf": [own]}}),
            ),
        ] {
            let schema = json!({"properties": {"a": {"$ref": reference}}, "$defs": defs});
            let root = Position::root(&schema);
            assert!(root.member("a").declares("$tool"), "{schema}");
            assert!(!root.declares("$tool"));
        }
    }

    #[test]
    fn follows_patterns_rests_and_dependents() {
        let declares = json!({"properties": {"$tool": {}}});
        let schema = json!({
            "properties": {
                "named": {},
                "tuple": {"items": [{}], "additionalItems": declares},
                "list": {"prefixItems": [{}], "unevaluatedItems": declares},
            },
            "patternProperties": {"^x-[0-9]+$": declares, "^named$": declares, "(": declares},
            "unevaluatedProperties": {"properties": {"_tool": {}}},
            "dependentSchemas": {"a": {"properties": {"b": declares}}},
            "dependencies": {"a": {"properties": {"c": declares}}, "d": ["a"]},
        });
        let root = Position::root(&schema);
        assert!(root.member("x-12").declares("$tool"));
        assert!(root.member("named").declares("$tool"));
        assert!(root.member("b").declares("$tool") && root.member("c").declares("$tool"));
        let tuple = root.member("tuple");
        assert!(!tuple.item(0).declares("$tool") && tuple.item(1).declares("$tool"));
        let list = root.member("list");
        assert!(!list.item(0).declares("$tool") && list.item(1).declares("$tool"));

        let schema = json!({
            "patternProperties": {"^x-[0-9]+$": declares},
            "unevaluatedProperties": {"properties": {"_tool": {}}},
        });
        let root = Position::root(&schema);
        assert!(!root.member("x-a").declares("$tool"));
        assert!(root.member("x-a").declares("_tool"));
        // A pattern is not a name: keys that it matches may be the grammar's.
        assert!(!root.declares("x-1"));
    }
}
