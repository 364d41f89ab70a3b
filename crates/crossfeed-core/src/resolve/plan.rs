//! The plan: one walk over the arguments that finds every reference, and every malformed one.

use crate::{
    arguments::{ArgumentValue, Room},
    error::LimitError,
};
use crossfeed_json::{Cursor, Kind, MAX_DEPTH};
use crossfeed_schema::Position;
use crossfeed_wire::{
    ArtifactId, CallId, Pointer,
    reference::{self, Malformed, Reading, Reference, Target},
};
use serde_json::Value;
use std::{borrow::Cow, collections::HashMap};

/// The key of a look-up: a result, or an artifact of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LookupKey {
    pub(crate) call_id: CallId,
    pub(crate) artifact_id: Option<ArtifactId>,
}

impl LookupKey {
    pub(crate) fn new(call_id: &CallId, artifact_id: Option<&ArtifactId>) -> Self {
        Self {
            call_id: call_id.clone(),
            artifact_id: artifact_id.cloned(),
        }
    }
}

/// A reference, its place, and the look-up that it needs.
#[derive(Debug)]
pub(crate) struct PlannedReference {
    pub(crate) at: Pointer,
    pub(crate) reference: Reference,
    pub(crate) wanted: usize,
    /// Its number in the document, if the arguments are one.
    pub(crate) ordinal: Option<u32>,
    /// Its position in the order of the walk.
    order: usize,
}

/// A malformed reference, and its place.
#[derive(Debug)]
pub(crate) struct MalformedAt {
    pub(crate) at: Pointer,
    pub(crate) malformed: Malformed,
    /// Its number in the document, if the arguments are one.
    pub(crate) ordinal: Option<u32>,
    order: usize,
}

/// A change of the arguments. Changes within a place come before those of the place itself.
#[derive(Debug)]
pub(crate) enum Step {
    /// Put the content of a literal at its place.
    Literal(Pointer),
    /// Put the value of a reference at a place.
    Put { at: Pointer, reference: usize },
    /// Put the values of a references map at their targets, then remove the map.
    Map {
        object: Pointer,
        key: &'static str,
        /// The number of the map in the document, if the arguments are one.
        ordinal: Option<u32>,
        entries: Vec<(Target, usize)>,
    },
}

/// The references in arguments, and the steps to replace them.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) references: Vec<PlannedReference>,
    pub(crate) steps: Vec<Step>,
    pub(crate) wanted: Vec<LookupKey>,
    pub(crate) malformed: Vec<MalformedAt>,
    index: HashMap<LookupKey, usize>,
}

/// A key or index on the path to the current value.
enum Part<'v> {
    Key(Cow<'v, str>),
    Index(usize),
}

struct Walk<'v, 'r> {
    plan: Plan,
    path: Vec<Part<'v>>,
    room: &'r mut Room,
}

impl Plan {
    /// Walks over the arguments. If nothing looks like a reference, it reads no more than each key and
    /// string. Plans the arguments of a call; `schema` is the tool's own, if it is known.
    pub(crate) fn new(arguments: &Value, schema: Option<&Value>) -> Result<Self, LimitError> {
        if !may_refer(arguments, 0)? {
            return Ok(Self::default());
        }
        Self::from_json(arguments, schema, &mut Room::new(usize::MAX))
    }

    /// The same for arguments that came as bytes and may hold references. Values are built only within
    /// `room`.
    pub(crate) fn from_json<'v>(
        arguments: impl ArgumentValue<'v>,
        schema: Option<&Value>,
        room: &mut Room,
    ) -> Result<Self, LimitError> {
        let mut walk = Walk {
            plan: Self::default(),
            path: Vec::new(),
            room,
        };
        let root = schema.map(Position::root);
        walk.value(arguments, root.as_ref())?;
        // Without the rest of the schema, a declared key could be taken for a reference.
        if root.is_some_and(|root| root.document().is_exhausted()) {
            return Err(LimitError::SchemaTooCostly);
        }
        Ok(walk.plan)
    }

    /// Whether the tool gets the arguments unchanged.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.malformed.is_empty()
    }

    /// The places of all references, malformed ones included, and their positions in the order of the walk.
    pub(crate) fn order(&self) -> HashMap<&Pointer, usize> {
        let references = self.references.iter().map(|found| (&found.at, found.order));
        let malformed = self.malformed.iter().map(|found| (&found.at, found.order));
        references.chain(malformed).collect()
    }

    fn found(&self) -> usize {
        self.references.len() + self.malformed.len()
    }

    /// Refuses more references than the limit allows, malformed ones included.
    pub(crate) fn check(&self, limit: usize) -> Result<(), LimitError> {
        let found = self.found();
        if found > limit {
            return Err(LimitError::TooManyReferences { found, limit });
        }
        Ok(())
    }

    fn refuse(&mut self, at: Pointer, ordinal: Option<u32>, malformed: Malformed) {
        let order = self.found();
        self.malformed.push(MalformedAt {
            at,
            malformed,
            ordinal,
            order,
        });
    }

    fn add(&mut self, at: Pointer, ordinal: Option<u32>, reference: Reference) -> usize {
        let wanted = LookupKey::new(&reference.call_id, reference.artifact_id.as_ref());
        let wanted = *self.index.entry(wanted).or_insert_with_key(|wanted| {
            self.wanted.push(wanted.clone());
            self.wanted.len() - 1
        });
        let order = self.found();
        self.references.push(PlannedReference {
            at,
            reference,
            wanted,
            ordinal,
            order,
        });
        self.references.len() - 1
    }
}

/// Whether some key or string of the arguments begins like one of the grammar of references.
fn may_refer(value: &Value, depth: usize) -> Result<bool, LimitError> {
    let inside = |child: &Value| may_refer(child, depth + 1);
    match value {
        Value::Object(_) | Value::Array(_) if depth >= MAX_DEPTH => {
            Err(LimitError::ArgumentsTooDeep)
        }
        Value::Object(members) => {
            for (key, child) in members {
                if key.starts_with(['$', '_']) || inside(child)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        // The first that may refer, or nests too deep, ends the walk.
        Value::Array(items) => items
            .iter()
            .map(inside)
            .find(|found| !matches!(found, Ok(false)))
            .unwrap_or(Ok(false)),
        Value::String(text) => Ok(may_be_object(text)),
        _ => Ok(false),
    }
}

/// As [`may_refer`], for arguments that came as bytes. It reads members with duplicate keys as well, so that
/// it overlooks no reference. The depth is bounded by the document.
pub(crate) fn may_hold_references(arguments: Cursor<'_>) -> bool {
    match arguments.kind() {
        Kind::Object => {
            if arguments.document_has_duplicates() {
                return true;
            }
            arguments.members().any(|(key, value)| {
                matches!(key.bytes().first(), Some(b'$' | b'_')) || may_hold_references(value)
            })
        }
        Kind::Array => arguments.items().any(may_hold_references),
        Kind::String => match arguments.raw().get(1) {
            Some(first) if first.is_ascii_graphic() && !matches!(first, b'{' | b'\\') => false,
            _ => arguments.as_str().is_some_and(|text| may_be_object(&text)),
        },
        _ => false,
    }
}

/// Whether a text begins like a JSON object, after blanks. For most texts the first byte decides.
#[inline]
fn may_be_object(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'{') => true,
        Some(first) if first.is_ascii_graphic() => false,
        _ => text.trim_start().starts_with('{'),
    }
}

/// Whether the schema declares a member of this name.
fn declares(declared: Option<&Position<'_>>, key: &str) -> bool {
    declared.is_some_and(|declared| declared.declares(key))
}

impl<'v> Walk<'v, '_> {
    fn at(&self) -> Pointer {
        self.path
            .iter()
            .fold(Pointer::root(), |at, part| match part {
                Part::Key(key) => at.key(key),
                Part::Index(index) => at.index(*index),
            })
    }

    fn value(
        &mut self,
        value: impl ArgumentValue<'v>,
        declared: Option<&Position<'_>>,
    ) -> Result<(), LimitError> {
        let declared = declared.filter(|declared| !declared.is_empty());
        match value.kind() {
            Kind::Object => self.object(value, declared),
            Kind::Array => {
                self.enter()?;
                for (index, item) in value.children().enumerate() {
                    self.path.push(Part::Index(index));
                    self.value(item, declared.map(|list| list.item(index)).as_ref())?;
                    self.path.pop();
                }
                Ok(())
            }
            Kind::String => {
                let text = value.text().filter(|text| may_be_object(text));
                let Some(text) = text else { return Ok(()) };
                self.room.take_text(&text)?;
                match reference::read_string(&text, &|key| declares(declared, key)) {
                    Ok(None) => {}
                    Ok(Some(reference)) => self.put(value, reference),
                    Err(malformed) => self.refuse(value, malformed),
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Refuses a list or object that nests too deep.
    fn enter(&self) -> Result<(), LimitError> {
        if self.path.len() >= MAX_DEPTH {
            return Err(LimitError::ArgumentsTooDeep);
        }
        Ok(())
    }

    /// Refuses a value in the current object that nests too deep and is not walked over.
    fn enter_all(
        &self,
        mut values: impl Iterator<Item = impl ArgumentValue<'v>>,
    ) -> Result<(), LimitError> {
        // The current object counts, too.
        let most = MAX_DEPTH.saturating_sub(self.path.len() + 1);
        if values.any(|value| value.is_deeper(most)) {
            return Err(LimitError::ArgumentsTooDeep);
        }
        Ok(())
    }

    fn refuse(&mut self, value: impl ArgumentValue<'v>, malformed: Malformed) {
        let at = self.at();
        self.plan.refuse(at, value.ordinal(), malformed);
    }

    fn put(&mut self, value: impl ArgumentValue<'v>, reference: Reference) {
        let at = self.at();
        let reference = self.plan.add(at.clone(), value.ordinal(), reference);
        self.plan.steps.push(Step::Put { at, reference });
    }

    fn object<V: ArgumentValue<'v>>(
        &mut self,
        object: V,
        declared: Option<&Position<'_>>,
    ) -> Result<(), LimitError> {
        self.enter()?;
        let mut maps = Vec::new();
        if object
            .members()
            .any(|(key, _)| reference::is_sentinel(&key))
        {
            let declares = |key: &str| declares(declared, key);
            // Reading copies these members.
            self.enter_all(
                reference::COPIED
                    .iter()
                    .filter_map(|key| object.member(key)),
            )?;
            let written = object.as_written(self.room)?;
            match reference::read_object(&written, &declares) {
                Ok(Reading::Data) => {}
                other => {
                    self.enter_all(object.children())?;
                    match other {
                        Ok(Reading::Reference(reference)) => self.put(object, reference),
                        Ok(_) => self.plan.steps.push(Step::Literal(self.at())),
                        Err(malformed) => self.refuse(object, malformed),
                    }
                    return Ok(());
                }
            }
            match reference::read_references(&written, &declares) {
                Ok(found) => maps = found,
                Err((within, malformed)) => {
                    self.enter_all(object.children())?;
                    let map = within.tokens().next().and_then(|key| object.member(&key));
                    let at = self.at().join(&within);
                    let ordinal = map.and_then(ArgumentValue::ordinal);
                    self.plan.refuse(at, ordinal, malformed);
                    return Ok(());
                }
            }
        }
        for (key, value) in object.members() {
            if maps.iter().any(|map| map.key == key) {
                continue;
            }
            let inner = declared.map(|object| object.member(&key));
            self.path.push(Part::Key(key));
            self.value(value, inner.as_ref())?;
            self.path.pop();
        }
        for map in maps {
            let at_object = self.at();
            let written = object.member(map.key);
            let mut places = written.into_iter().flat_map(ArgumentValue::children);
            let mut entries = Vec::with_capacity(map.entries.len());
            for entry in map.entries {
                let at = at_object.join(&entry.at);
                let ordinal = places.next().and_then(ArgumentValue::ordinal);
                match entry.reading {
                    Ok((target, reference)) => {
                        entries.push((target, self.plan.add(at, ordinal, reference)));
                    }
                    Err(malformed) => self.plan.refuse(at, ordinal, malformed),
                }
            }
            self.plan.steps.push(Step::Map {
                object: at_object,
                key: map.key,
                ordinal: written.and_then(ArgumentValue::ordinal),
                entries,
            });
        }
        Ok(())
    }
}
