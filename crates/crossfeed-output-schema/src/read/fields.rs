//! Reads the fields and the items of a place.

use super::{Node, Reader, Source, Veil, types::Types};
use crossfeed_projection::Step;
use crossfeed_schema::{address, keywords};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Lists of lists that are crossed at once.
const MAX_LISTS: usize = 16;
/// Ways in which the schemas of one field are put together.
const MAX_WAYS: usize = 256;

/// A field of an object.
#[derive(Clone, Debug)]
pub(crate) struct Field<'s> {
    pub(crate) name: &'s str,
    source: Source<'s>,
    veil: Veil<'s>,
    /// Whether it stands for all fields that are not named.
    is_rest: bool,
}

impl Field<'_> {
    /// Whether it stands for all fields that are not named.
    pub(crate) fn is_rest(&self) -> bool {
        self.is_rest
    }

    /// The step to it.
    pub(crate) fn step(&self) -> Step {
        if self.is_rest {
            Step::EachKey
        } else {
            Step::Key(self.name.to_owned())
        }
    }
}

/// The members of a place; for a list, those of its items.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields<'s> {
    /// Those that are declared and not withheld, in the source's order; behind them `*`, where fields
    /// that are not named have fields of their own. As a path it names the declared ones, too.
    pub(crate) named: Vec<Field<'s>>,
    /// All of them, where the schema declares no name and describes their values.
    pub(crate) rest: Option<Field<'s>>,
    /// Whether it may be an object of which no key is known.
    pub(crate) is_open: bool,
}

impl<'s> Reader<'s> {
    /// The place of a field.
    pub(crate) fn field(&self, field: &Field<'s>) -> Node<'s> {
        self.node(&field.source, field.veil.clone())
    }

    /// The place of any member: `*`.
    pub(crate) fn any_field(&self, fields: Fields<'s>) -> Option<Node<'s>> {
        let mut veil = Veil::default();
        let all = fields.named.into_iter().chain(fields.rest);
        let sources = all.map(|field| {
            veil.join(field.veil);
            field.source
        });
        let source = Source::any(sources);
        let known = !(source.all.is_empty() && source.any.is_empty());
        known.then(|| self.node(&source, veil))
    }

    /// The place of the items of a list, or of the item at a position; `None` for what can be none.
    pub(crate) fn items(&self, list: &Node<'s>, position: Option<usize>) -> Option<Node<'s>> {
        if !list.may_be(Types::ARRAY) {
            return None;
        }
        Some(self.node(&list.item_source(position), list.veil.item()?))
    }

    /// The place inside lists of lists, and the number of lists; any other place itself.
    pub(crate) fn innermost(&self, mut node: Node<'s>) -> (Node<'s>, usize) {
        let mut lists = 0;
        while lists < MAX_LISTS
            && node.word() == "array"
            && let Some(items) = self.items(&node, None)
        {
            node = items;
            lists += 1;
        }
        (node, lists)
    }

    /// The fields of a place, those of its items where it may be a list.
    pub(crate) fn fields(&self, node: &Node<'s>) -> Fields<'s> {
        let mut fields = FieldMap::default();
        self.gather(node, &mut fields, 0);
        self.spend(fields.named.len());
        let mut fields = fields.done();
        if !fields.named.is_empty()
            && let Some(rest) = fields.rest.take_if(|rest| self.declares(rest))
        {
            fields.named.push(rest);
        }
        if !fields.named.is_empty() {
            fields.rest = None;
        }
        fields
    }

    /// Whether a field has fields of its own that are declared, as far as is looked.
    fn declares(&self, field: &Field<'s>) -> bool {
        let mut open = vec![self.field(field)];
        for _ in 0..MAX_LISTS {
            let Some(node) = open.pop() else {
                return false;
            };
            if node.may_be(Types::OBJECT) && node.word() != "enum" {
                let mut members = Members::default();
                node.members(&mut members);
                let mut names = members.named.iter().map(|(name, _)| name);
                if names.any(|name| node.veil.member(name).is_some()) {
                    return true;
                }
                open.extend(self.rest(&node, members.rest).map(|rest| self.field(&rest)));
            }
            open.extend(self.items(&node, None));
        }
        false
    }

    /// The field that stands for those that are not named, by the schemas that describe them.
    fn rest(&self, node: &Node<'s>, said: Vec<&'s Value>) -> Option<Field<'s>> {
        let source = Source::any(said.into_iter().map(Source::new));
        let says_nothing = source.all.is_empty() && source.any.is_empty();
        let veil = node.veil.other()?;
        (!says_nothing).then_some(Field {
            name: "*",
            source,
            veil,
            is_rest: true,
        })
    }

    fn gather(&self, node: &Node<'s>, fields: &mut FieldMap<'s>, crossed: usize) {
        let word = node.word();
        if word == "enum" {
            return;
        }
        if node.may_be(Types::OBJECT) {
            let mut members = Members::default();
            node.members(&mut members);
            fields.is_open |= members.named.is_empty() && !node.is_closed();
            for (name, source) in members.named {
                if let Some(veil) = node.veil.member(name) {
                    fields.add(name, source.settled(), veil);
                }
            }
            fields.rest = self.rest(node, members.rest).or(fields.rest.take());
        }
        if crossed < MAX_LISTS
            && let Some(items) = self.items(node, None)
        {
            self.gather(&items, fields, crossed + 1);
        }
    }
}

/// Fields by name, in order.
#[derive(Default)]
struct FieldMap<'s> {
    named: Vec<Field<'s>>,
    by_name: HashMap<&'s str, usize>,
    rest: Option<Field<'s>>,
    is_open: bool,
}

impl<'s> FieldMap<'s> {
    fn add(&mut self, name: &'s str, source: Source<'s>, veil: Veil<'s>) {
        match self.by_name.get(name) {
            Some(&at) => {
                let field = &mut self.named[at];
                let first = std::mem::take(&mut field.source);
                field.source = Source::any([first, source]);
                field.veil.join(veil);
            }
            None => {
                self.by_name.insert(name, self.named.len());
                self.named.push(Field {
                    name,
                    source,
                    veil,
                    is_rest: false,
                });
            }
        }
    }

    fn done(self) -> Fields<'s> {
        Fields {
            is_open: self.is_open && self.named.is_empty(),
            rest: self.rest,
            named: self.named,
        }
    }
}

/// The schemas of an object's members.
#[derive(Default)]
struct Members<'s> {
    named: Vec<(&'s str, Source<'s>)>,
    by_name: HashMap<&'s str, usize>,
    /// The schemas of members that are not named.
    rest: Vec<&'s Value>,
}

impl<'s> Members<'s> {
    fn entry(&mut self, name: &'s str) -> &mut Source<'s> {
        let next = self.named.len();
        let at = *self.by_name.entry(name).or_insert(next);
        if at == next {
            self.named.push((name, Source::default()));
        }
        &mut self.named[at].1
    }
}

impl<'s> Node<'s> {
    /// Gathers the schemas of the members: what holds in any case is `all` of a field, what
    /// branches say is one of its ways.
    fn members(&self, into: &mut Members<'s>) {
        for part in &self.parts {
            for (name, schema) in keywords::members(part.get("properties")) {
                if *schema != Value::Bool(false) {
                    let source = into.entry(name);
                    if source.all.len() < MAX_WAYS {
                        source.all.push(schema);
                    }
                }
            }
            let patterned = keywords::members(part.get("patternProperties"));
            let patterned = patterned.map(|(_, schema)| schema);
            let others = ["additionalProperties", "unevaluatedProperties"];
            let others = others.iter().filter_map(|keyword| part.get(*keyword));
            let rest = patterned.chain(others).filter(|schema| is_telling(schema));
            into.rest.extend(rest.take(MAX_WAYS));
        }
        for branch in self.groups.iter().flatten() {
            if !branch.may_be(Types::OBJECT) {
                continue;
            }
            let mut inner = Members::default();
            branch.members(&mut inner);
            for (name, source) in inner.named {
                let entry = into.entry(name);
                if entry.any.len() < MAX_WAYS {
                    entry.or(source);
                }
            }
            into.rest.extend(inner.rest);
            into.rest.truncate(MAX_WAYS);
        }
    }

    /// Whether an object here has no other members than those that are declared.
    fn is_closed(&self) -> bool {
        let closes = |part: &&serde_json::Map<String, Value>| {
            let closed = ["additionalProperties", "unevaluatedProperties"];
            let closed = closed
                .iter()
                .any(|k| part.get(*k) == Some(&Value::Bool(false)));
            let none = part.get("maxProperties").and_then(Value::as_u64) == Some(0);
            none || (closed && !part.contains_key("patternProperties"))
        };
        let branches = |group: &Vec<Self>| {
            let mut objects = group.iter().filter(|b| b.may_be(Types::OBJECT)).peekable();
            objects.peek().is_some() && objects.all(Self::is_closed)
        };
        self.parts.iter().any(closes) || self.groups.iter().any(branches)
    }

    /// The schemas of the items, or of the item at a position.
    fn item_source(&self, position: Option<usize>) -> Source<'s> {
        let mut source = Source::default();
        for part in &self.parts {
            let list = |keyword: &str| part.get(keyword).and_then(Value::as_array);
            let (listed, rest) = match (list("prefixItems"), list("items")) {
                (Some(listed), _) => (Some(listed), part.get("items")),
                (None, Some(listed)) => (Some(listed), part.get("additionalItems")),
                (None, None) => (None, part.get("items")),
            };
            let rest = rest.or_else(|| part.get("unevaluatedItems"));
            let rest = rest.filter(|schema| **schema != Value::Bool(false));
            let at = position.and_then(|at| listed?.get(at));
            match (listed, position) {
                (Some(_), Some(_)) => source.all.extend(at.or(rest)),
                (Some(listed), None) => {
                    let ways = listed.iter().chain(rest.filter(|s| is_telling(s)));
                    source.any.extend(ways.take(MAX_WAYS).map(|way| vec![way]));
                }
                (None, _) => source.all.extend(rest),
            }
        }
        for branch in self.groups.iter().flatten() {
            if branch.may_be(Types::ARRAY) && source.any.len() < MAX_WAYS {
                source.or(branch.item_source(position));
            }
        }
        let mut known = HashSet::new();
        source.all.retain(|schema| known.insert(address(schema)));
        source.settled()
    }
}

/// Whether a schema says more than that anything goes.
fn is_telling(schema: &Value) -> bool {
    schema.as_object().is_some_and(|schema| !schema.is_empty())
}
