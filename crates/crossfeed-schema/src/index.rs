//! Finds the references of a schema and where each leads: places as JSON Pointers from the root.
//!
//! `$id`, `$anchor` and embedded schemas count (JSON Schema 2020-12, sections 8.2 and 9.2). Nothing is
//! fetched.

use crate::{
    Dialect, SchemaError,
    keywords::{self, push_step},
};
use crossfeed_wire::{Pointer, fragment::decoded};
use fluent_uri::{Uri, UriRef};
use serde_json::{Map, Value};
use std::{
    collections::{HashMap, HashSet},
    hash::Hash,
};

/// Keywords that refer to a schema.
pub const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The base of a schema without `$id`; nothing can be fetched from it.
const BASE: &str = "crossfeed:///schema";

/// A schema with an identity of its own: the root, and each one with an `$id`.
#[derive(Debug)]
pub struct Resource {
    uri: Uri<String>,
    /// Its place, from the root of the whole.
    pub at: String,
}

/// Where a reference leads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a reference leads into the document or out of it"
)]
pub enum Target {
    /// To a place of the schema.
    Here {
        /// The place, a JSON Pointer.
        at: String,
        /// The resource that the reference begins at.
        resource: usize,
        /// Whether the reference is written as a JSON Pointer.
        by_pointer: bool,
    },
    /// To a published schema that every validator knows.
    Published,
}

/// All references of a schema, by the place of the schema that holds them.
#[derive(Debug, Default)]
pub struct Index {
    /// The root, and each schema with an `$id`.
    pub resources: Vec<Resource>,
    links: HashMap<&'static str, HashMap<String, Target>>,
    /// The places of schemas where no keyword is known to hold one.
    pub foreign: Vec<String>,
}

struct Reference<'s> {
    at: String,
    keyword: &'static str,
    text: &'s str,
    resource: usize,
}

struct Walk<'s> {
    dialect: Dialect,
    root: &'s Value,
    resources: Vec<Resource>,
    /// The schemas by their places, each with its resource.
    schemas: HashMap<String, usize>,
    anchors: HashMap<(usize, &'s str), String>,
    found: Vec<Reference<'s>>,
}

/// Whether some object within a value has a keyword that refers.
pub fn may_refer(value: &Value) -> bool {
    has_key(value, &|key| REFERENCES.contains(&key))
}

/// Whether some object within a value has such a key.
pub fn has_key(value: &Value, is_wanted: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| is_wanted(key) || has_key(value, is_wanted)),
        Value::Array(items) => items.iter().any(|item| has_key(item, is_wanted)),
        _ => false,
    }
}

impl Index {
    /// Finds all references of a schema that nests within the limit.
    ///
    /// # Errors
    ///
    /// [`SchemaError`] for the first one that leads nowhere or to another document.
    pub fn try_new(root: &Value, dialect: Dialect) -> Result<Self, SchemaError> {
        if !may_refer(root) {
            return Ok(Self::default());
        }
        let base = Uri::parse(BASE.to_owned()).map_err(|_| SchemaError::TooDeep)?;
        let mut walk = Walk {
            dialect,
            root,
            resources: vec![Resource {
                uri: base,
                at: String::new(),
            }],
            schemas: HashMap::new(),
            anchors: HashMap::new(),
            found: Vec::new(),
        };
        walk.schema(root, &mut String::new(), 0);
        let mut links: HashMap<_, HashMap<_, _>> = HashMap::new();
        // The target of a reference may lie outside known schemas, and may hold further references.
        let mut next = 0;
        let mut foreign = Vec::new();
        while let Some(found) = walk.found.get(next) {
            let target = walk.resolve(found)?;
            let (at, keyword) = (found.at.clone(), found.keyword);
            if let Target::Here { at, resource, .. } = &target
                && !walk.schemas.contains_key(at)
                && let Some(schema) = root.pointer(at)
            {
                let (mut at, resource) = (at.clone(), *resource);
                foreign.push(at.clone());
                walk.schema(schema, &mut at, resource);
            }
            links.entry(keyword).or_default().insert(at, target);
            next += 1;
        }
        Ok(Self {
            resources: walk.resources,
            links,
            foreign,
        })
    }

    /// The dialect and the references of a schema that may be invalid: then no reference is known.
    pub fn lenient(root: &Value) -> (Dialect, Self) {
        let dialect = Dialect::declared(root).unwrap_or(Dialect::Draft202012);
        (dialect, Self::try_new(root, dialect).unwrap_or_default())
    }

    /// Every reference: the place of the schema that holds it, its keyword, where it leads.
    pub fn links(&self) -> impl Iterator<Item = (&str, &'static str, &Target)> {
        self.links.iter().flat_map(|(keyword, links)| {
            links
                .iter()
                .map(move |(at, target)| (at.as_str(), *keyword, target))
        })
    }

    /// Whether something refers to a published schema.
    pub fn refers_to_published(&self) -> bool {
        self.links()
            .any(|(_, _, target)| *target == Target::Published)
    }

    /// Whether nothing refers to anything.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Where the reference of the schema at a place leads.
    pub fn target(&self, at: &str, keyword: &'static str) -> Option<&Target> {
        self.links.get(keyword)?.get(at)
    }
}

impl Reference<'_> {
    fn place(&self) -> (Pointer, String) {
        let at = Pointer::parse(&self.at).unwrap_or_default();
        (at.key(self.keyword), self.text.to_owned())
    }

    fn dangling(&self) -> SchemaError {
        let (at, reference) = self.place();
        SchemaError::Dangling { at, reference }
    }

    fn remote(&self) -> SchemaError {
        let (at, reference) = self.place();
        SchemaError::Remote { at, reference }
    }
}

impl<'s> Walk<'s> {
    fn schema(&mut self, schema: &'s Value, at: &mut String, resource: usize) {
        let Value::Object(object) = schema else {
            return;
        };
        if self.schemas.contains_key(at) {
            return;
        }
        let resource = self.identify(object, at, resource);
        self.schemas.insert(at.clone(), resource);
        for keyword in REFERENCES {
            if let Some(Value::String(text)) = object.get(keyword) {
                self.found.push(Reference {
                    at: at.clone(),
                    keyword,
                    text,
                    resource,
                });
            }
        }
        for inner in keywords::subschemas_of(object) {
            let length = at.len();
            push_step(at, inner.keyword, inner.step);
            self.schema(inner.schema, at, resource);
            at.truncate(length);
        }
    }

    /// The resource that a schema belongs to: its own, where it has an identity.
    fn identify(&mut self, object: &'s Map<String, Value>, at: &str, resource: usize) -> usize {
        let old = self.dialect <= Dialect::Draft7;
        if old && object.contains_key("$ref") {
            return resource; // siblings of a reference mean nothing in the older drafts
        }
        let mut own = resource;
        if let Some(id) = identity(object, self.dialect)
            && let Some(uri) = self.absolute(resource, id)
        {
            if at.is_empty() {
                if let Some(root) = self.resources.first_mut() {
                    root.uri = uri;
                }
            } else {
                self.resources.push(Resource {
                    uri,
                    at: at.to_owned(),
                });
                own = self.resources.len() - 1;
            }
        }
        for keyword in ["$anchor", "$dynamicAnchor"] {
            if let Some(Value::String(anchor)) = object.get(keyword) {
                self.anchors.insert((own, anchor), at.to_owned());
            }
        }
        // Before 2019-09 an anchor is an `$id` that is a fragment.
        if let Some(Value::String(id)) = object.get(identity_keyword(self.dialect)).filter(|_| old)
            && let Some((_, anchor)) = id.split_once('#')
            && !anchor.is_empty()
        {
            self.anchors.insert((own, anchor), at.to_owned());
        }
        own
    }

    /// A reference without its fragment, against the base of a resource.
    fn absolute(&self, resource: usize, text: &str) -> Option<Uri<String>> {
        let base = &self.resources.get(resource)?.uri;
        let reference = UriRef::parse(text).ok()?;
        let mut uri = reference.resolve_against(base).ok()?;
        uri.set_fragment(None);
        Some(uri)
    }

    fn resolve(&self, found: &Reference<'_>) -> Result<Target, SchemaError> {
        let (address, fragment) = found.text.split_once('#').unwrap_or((found.text, ""));
        let resource = if address.is_empty() {
            found.resource
        } else {
            let uri = self.absolute(found.resource, address);
            let uri = uri.ok_or_else(|| found.dangling())?;
            match self.resources.iter().position(|known| known.uri == uri) {
                Some(resource) => resource,
                None if is_published(uri.as_str()) => return Ok(Target::Published),
                None => return Err(found.remote()),
            }
        };
        let begin = self.resources.get(resource).map_or("", |own| &own.at);
        let fragment = decoded(fragment).unwrap_or_else(|| fragment.to_owned());
        let by_pointer = fragment.is_empty() || fragment.starts_with('/');
        let at = if by_pointer {
            Some(format!("{begin}{fragment}"))
        } else {
            let own = self.anchors.get(&(resource, fragment.as_str()));
            // A dynamic reference finds its anchor in another resource.
            let anywhere = || {
                let anchors = self.anchors.iter().filter(|_| found.keyword != "$ref");
                let named = anchors.filter(|((_, name), _)| *name == fragment);
                named.map(|(_, at)| at).min()
            };
            own.or_else(anywhere).cloned()
        };
        let at = at.filter(|at| self.root.pointer(at).is_some_and(keywords::is_schema));
        Ok(Target::Here {
            at: at.ok_or_else(|| found.dangling())?,
            resource,
            by_pointer,
        })
    }
}

/// The keyword by which a schema has an identity.
fn identity_keyword(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Draft4 {
        "id"
    } else {
        "$id"
    }
}

/// The `$id` of a schema, where it is more than an anchor.
pub fn identity(object: &Map<String, Value>, dialect: Dialect) -> Option<&str> {
    let id = object.get(identity_keyword(dialect))?.as_str()?;
    let address = id.split_once('#').map_or(id, |(address, _)| address);
    (!address.is_empty()).then_some(address)
}

/// The schemas of the dialects themselves, which every validator has.
fn is_published(uri: &str) -> bool {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    rest.strip_prefix("json-schema.org/draft")
        .is_some_and(|rest| rest.starts_with(['-', '/']))
}

/// The first place that leads back to itself, of those that a start leads to. `next` gives what a place
/// leads to; places that are `done` are not entered again.
pub fn find_cycle<P: Clone + Eq + Hash>(
    start: P,
    done: &mut HashSet<P>,
    mut next: impl FnMut(&P) -> Vec<P>,
) -> Option<P> {
    let mut open = HashSet::new();
    // Each place on the way, with those that it leads to and that were not followed yet.
    let mut way: Vec<(P, Vec<P>)> = Vec::new();
    let mut entered = Some(start);
    loop {
        if let Some(at) = entered.take() {
            if open.contains(&at) {
                return Some(at);
            }
            if done.insert(at.clone()) {
                open.insert(at.clone());
                let mut inside = next(&at);
                inside.reverse();
                way.push((at, inside));
            }
        }
        let (at, rest) = way.last_mut()?;
        entered = rest.pop();
        if entered.is_none() {
            open.remove(at);
            way.pop();
        }
    }
}

/// Shows all schemas of a document, those included that stand where only a reference finds them.
pub fn visit_all<'s>(
    root: &'s Value,
    index: &Index,
    see: &mut dyn FnMut(&'s Map<String, Value>, &str),
) {
    keywords::visit(root, "", see);
    for at in &index.foreign {
        if let Some(schema) = root.pointer(at) {
            keywords::visit(schema, at, see);
        }
    }
}
