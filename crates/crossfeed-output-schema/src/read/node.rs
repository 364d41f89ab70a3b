//! Puts the schemas of one place together.

use super::{
    Reader, Veil,
    types::{self, Types},
};
use crossfeed_schema::{address, keywords};
use serde_json::{Map, Value};
use std::collections::{HashSet, VecDeque};

/// Schemas that one place may take: more are left aside.
const MAX_PARTS: usize = 2_000;
/// Branches within branches that are looked into.
const MAX_BRANCHINGS: usize = 32;

/// The schemas of a place as they stand: all of `all` hold, and one of `any` where there are some.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source<'s> {
    pub(super) all: Vec<&'s Value>,
    pub(super) any: Vec<Vec<&'s Value>>,
}

impl<'s> Source<'s> {
    pub(super) fn new(schema: &'s Value) -> Self {
        Self {
            all: vec![schema],
            any: Vec::new(),
        }
    }

    /// One of these places.
    pub(super) fn any(sources: impl IntoIterator<Item = Self>) -> Self {
        let mut union = Self::default();
        for source in sources {
            union.or(source);
        }
        union.settled()
    }

    /// Adds another place that it may be.
    pub(super) fn or(&mut self, other: Self) {
        if !other.all.is_empty() {
            self.any.push(other.all);
        }
        self.any.extend(other.any);
    }

    /// The same, where a single possibility holds in any case.
    pub(super) fn settled(mut self) -> Self {
        if self.any.is_empty() {
            return self;
        }
        let mut known = HashSet::new();
        self.any.retain(|way| {
            let way: Vec<_> = way.iter().map(|schema| address(schema)).collect();
            known.insert(way)
        });
        if let (true, [_]) = (self.all.is_empty(), self.any.as_slice()) {
            self.all = self.any.pop().unwrap_or_default();
        }
        self
    }
}

/// A place, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node<'s> {
    /// All of these hold.
    pub(super) parts: Vec<&'s Map<String, Value>>,
    /// Of each group one holds, or several; there are at least two.
    pub(super) groups: Vec<Vec<Node<'s>>>,
    /// Nothing is valid here.
    never: bool,
    pub(super) veil: Veil<'s>,
}

impl<'s> Reader<'s> {
    /// Reads the schemas of a place.
    pub(super) fn node(&self, source: &Source<'s>, veil: Veil<'s>) -> Node<'s> {
        let mut assembly = Assembly {
            reader: self,
            way: HashSet::new(),
            left: MAX_PARTS,
        };
        let mut node = assembly.node(&source.all, &source.any, 0);
        node.veil = veil;
        node
    }
}

/// Puts the schemas of a place together.
struct Assembly<'r, 's> {
    reader: &'r Reader<'s>,
    /// The schemas that hold already, here and around: they add nothing a second time, which is what
    /// ends cycles.
    way: HashSet<usize>,
    left: usize,
}

impl<'s> Assembly<'_, 's> {
    fn node(&mut self, all: &[&'s Value], any: &[Vec<&'s Value>], depth: usize) -> Node<'s> {
        let mut node = Node::default();
        let mut entered = Vec::new();
        let mut open: VecDeque<&'s Value> = all.iter().copied().collect();
        let mut groups: VecDeque<Vec<Vec<&'s Value>>> = VecDeque::new();
        if !any.is_empty() {
            groups.push_back(any.to_vec());
        }
        loop {
            while let Some(schema) = open.pop_front() {
                let part = match schema {
                    Value::Object(part) => part,
                    other => {
                        node.never |= *other == Value::Bool(false);
                        continue;
                    }
                };
                let at = address(schema);
                self.reader.spend(1);
                if self.left == 0 || !self.way.insert(at) {
                    continue;
                }
                self.left -= 1;
                entered.push(at);
                node.parts.push(part);
                open.extend(self.reader.targets(schema));
                open.extend(keywords::items(part.get("allOf")));
                for keyword in ["anyOf", "oneOf"] {
                    let branches = keywords::items(part.get(keyword)).iter();
                    groups.push_back(branches.map(|branch| vec![branch]).collect());
                }
                let conditional = ["then", "else"];
                let group = conditional.iter().filter_map(|keyword| part.get(*keyword));
                groups.push_back(group.map(|branch| vec![branch]).collect());
                for keyword in ["dependentSchemas", "dependencies"] {
                    let dependent = keywords::members(part.get(keyword));
                    groups.extend(dependent.map(|(_, schema)| vec![vec![schema]]));
                }
            }
            let Some(group) = groups.pop_front() else {
                break;
            };
            if depth == MAX_BRANCHINGS {
                continue;
            }
            let mut branches = Vec::new();
            for branch in group {
                // A schema beyond the limits is skipped, as if it were visited already.
                if self.left == 0 || self.reader.is_tired() {
                    break;
                }
                self.reader.spend(1);
                let branch = self.node(&branch, &[], depth + 1);
                match branch.as_choice() {
                    Some(choice) => branches.extend(choice),
                    None => branches.push(branch),
                }
            }
            branches.retain(Node::says_something);
            if branches.len() > 1 {
                node.groups.push(branches);
            } else if let Some(only) = branches.pop() {
                node.parts.extend(only.parts);
                node.groups.extend(only.groups);
            }
        }
        for at in entered {
            self.way.remove(&at);
        }
        node
    }
}

impl<'s> Node<'s> {
    /// Its branches, where it is nothing else than a choice among them.
    fn as_choice(&self) -> Option<Vec<Self>> {
        match self.groups.as_slice() {
            [group] if !self.never && self.own_types().is_none() => Some(group.clone()),
            _ => None,
        }
    }

    /// Whether it is a branch worth its name: one that values other than null can take, and that
    /// says what they look like, or that they may be anything.
    fn says_something(&self) -> bool {
        if self.never || self.parts.is_empty() {
            return false;
        }
        match self.types() {
            Some(types) => types != Types::NULL,
            None => self
                .parts
                .iter()
                .all(|part| part.keys().all(|k| keywords::is_annotation(k))),
        }
    }

    /// What the schemas that hold in any case say of its type.
    fn own_types(&self) -> Option<Types> {
        self.declared().or_else(|| {
            let hints = self.parts.iter().map(|part| types::inferred(part));
            Some(Types::any(hints)).filter(|types| !types.is_empty())
        })
    }

    fn declared(&self) -> Option<Types> {
        let declared = self.parts.iter().map(|part| types::declared(part));
        Types::all(declared.filter(|types| !types.is_empty()))
    }

    /// The types that it may have; `None` where the schemas do not tell.
    pub(super) fn types(&self) -> Option<Types> {
        let own = self.own_types();
        let groups = self.groups.iter().filter_map(|group| {
            let types: Option<Vec<_>> = group.iter().map(Node::types).collect();
            Some(Types::any(types?.into_iter()))
        });
        Types::all(own.into_iter().chain(groups))
    }

    /// Whether it may be of this type.
    pub(super) fn may_be(&self, one: Types) -> bool {
        match self.types() {
            Some(types) => types.has(one),
            None if self.groups.is_empty() => self.guessed().has(one),
            None => self
                .groups
                .iter()
                .flatten()
                .any(|branch| branch.may_be(one)),
        }
    }

    /// Whether one of its schemas has `enum`.
    fn is_enum(&self) -> bool {
        self.parts.iter().any(|part| part.contains_key("enum"))
    }

    /// The type word: of `T | null` that of `T`.
    pub(crate) fn word(&self) -> &'static str {
        if self.is_enum() {
            return "enum";
        }
        let own = self.own_types();
        if let Some(types) = own {
            // With a type of its own it is that, whatever branches add.
            if let Some(word) = self
                .types()
                .unwrap_or(types)
                .word()
                .or_else(|| types.word())
            {
                return word;
            }
        }
        let mut words = self.groups.iter().flatten().map(Node::word);
        match (own, words.next()) {
            (None, Some(first)) if first != "object" && words.all(|word| word == first) => first,
            (None, Some(_)) => match self.types().and_then(Types::word) {
                Some("number") => "number",
                _ => "union",
            },
            (Some(_), _) => "union",
            (None, None) => self.guessed().word().unwrap_or("unknown"),
        }
    }

    fn guessed(&self) -> Types {
        Types::any(self.parts.iter().map(|part| types::guessed(part)))
    }

    /// The fields that must be there in any case.
    pub(crate) fn required(&self) -> HashSet<&'s str> {
        let required = |part: &&'s Map<String, Value>| keywords::strings(part.get("required"));
        self.parts.iter().flat_map(required).collect()
    }

    /// The description in the schema, the nearest first.
    pub(crate) fn description(&self) -> Option<&'s str> {
        let mut parts = self.parts.iter();
        parts.find_map(|part| part.get("description")?.as_str())
    }

    /// What it is made of: the schemas that say something of its shape, however they are referred
    /// to. A place within itself that has the same is a recursion.
    pub(crate) fn identity(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            let telling = |part: &&&Map<String, Value>| {
                !types::declared(part).or(types::inferred(part)).is_empty()
            };
            let parts = node.parts.iter().filter(telling);
            found.extend(parts.map(|part| std::ptr::from_ref(*part) as usize));
            open.extend(node.groups.iter().flatten());
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
