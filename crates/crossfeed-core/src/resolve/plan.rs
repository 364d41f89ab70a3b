//! The plan: one walk over the arguments that finds every reference, and every malformed one.

use super::{Declared, LimitError};
use crossfeed_json::MAX_DEPTH;
use crossfeed_wire::{
    ArtifactId, CallId, Pointer,
    reference::{self, Malformed, Reading, Reference, Target},
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// What is looked up: a result, or an artifact of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Wanted {
    pub(crate) call_id: CallId,
    pub(crate) artifact_id: Option<ArtifactId>,
}

/// A reference, where it stands, and which of the wanted results it means.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) at: Pointer,
    pub(crate) reference: Reference,
    pub(crate) wanted: usize,
}

/// What is done to the arguments, in order: inner places come before those around them.
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
        entries: Vec<(Target, usize)>,
    },
}

/// Everything that a walk over the arguments found.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) references: Vec<Planned>,
    pub(crate) steps: Vec<Step>,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) malformed: Vec<(Pointer, Malformed)>,
    index: HashMap<Wanted, usize>,
}

/// A key or index on the way to the value at hand.
#[derive(Clone, Copy)]
enum Part<'v> {
    Key(&'v str),
    Index(usize),
}

struct Walk<'v> {
    plan: Plan,
    path: Vec<Part<'v>>,
}

impl Plan {
    /// Walks over the arguments. With nothing to resolve this is all that happens to them.
    pub(crate) fn of(arguments: &Value, declared: &Declared<'_>) -> Result<Self, LimitError> {
        let mut walk = Walk {
            plan: Self::default(),
            path: Vec::new(),
        };
        walk.value(arguments, declared)?;
        Ok(walk.plan)
    }

    /// Whether the arguments are what the tool gets.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.malformed.is_empty()
    }

    /// The places of all references and of what is malformed, as the walk came by them.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Pointer> {
        let references = self.references.iter().map(|planned| &planned.at);
        references.chain(self.malformed.iter().map(|(at, _)| at))
    }

    fn add(&mut self, at: Pointer, reference: Reference) -> usize {
        let wanted = Wanted {
            call_id: reference.call_id.clone(),
            artifact_id: reference.artifact_id.clone(),
        };
        let wanted = match self.index.get(&wanted) {
            Some(&known) => known,
            None => {
                self.wanted.push(wanted.clone());
                self.index.insert(wanted, self.wanted.len() - 1);
                self.wanted.len() - 1
            }
        };
        self.references.push(Planned {
            at,
            reference,
            wanted,
        });
        self.references.len() - 1
    }
}

impl<'v> Walk<'v> {
    fn at(&self) -> Pointer {
        self.path
            .iter()
            .fold(Pointer::root(), |at, part| match part {
                Part::Key(key) => at.key(key),
                Part::Index(index) => at.index(*index),
            })
    }

    fn value(&mut self, value: &'v Value, declared: &Declared<'_>) -> Result<(), LimitError> {
        match value {
            Value::Object(object) => self.object(object, declared),
            Value::Array(items) => {
                self.enter()?;
                for (index, item) in items.iter().enumerate() {
                    self.path.push(Part::Index(index));
                    if declared.is_unknown() {
                        self.value(item, declared)?;
                    } else {
                        self.value(item, &declared.item(index))?;
                    }
                    self.path.pop();
                }
                Ok(())
            }
            Value::String(text) if text.trim_start().starts_with('{') => {
                match reference::read_string(text) {
                    Ok(None) => {}
                    Ok(Some(reference)) => self.put(reference),
                    Err(malformed) => self.plan.malformed.push((self.at(), malformed)),
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

    fn put(&mut self, reference: Reference) {
        let at = self.at();
        let reference = self.plan.add(at.clone(), reference);
        self.plan.steps.push(Step::Put { at, reference });
    }

    fn object(
        &mut self,
        object: &'v Map<String, Value>,
        declared: &Declared<'_>,
    ) -> Result<(), LimitError> {
        self.enter()?;
        let sentinels = object.keys().any(|key| key.starts_with(['$', '_']));
        let mut maps = Vec::new();
        if sentinels {
            let declares = |key: &str| declared.declares(key);
            match reference::read_object(object, &declares) {
                Ok(Reading::Data) => {}
                Ok(Reading::Literal(_)) => {
                    let at = self.at();
                    self.plan.steps.push(Step::Literal(at));
                    return Ok(());
                }
                Ok(Reading::Reference(reference)) => {
                    self.put(reference);
                    return Ok(());
                }
                Err(malformed) => {
                    self.plan.malformed.push((self.at(), malformed));
                    return Ok(());
                }
            }
            match reference::read_references(object, &declares) {
                Ok(found) => maps = found,
                Err((within, malformed)) => {
                    self.plan.malformed.push((self.at().join(&within), malformed));
                    return Ok(());
                }
            }
        }
        for (key, value) in object {
            if maps.iter().any(|map| map.key == key) {
                continue;
            }
            self.path.push(Part::Key(key));
            if declared.is_unknown() {
                self.value(value, declared)?;
            } else {
                self.value(value, &declared.member(key))?;
            }
            self.path.pop();
        }
        for map in maps {
            let object = self.at();
            let mut entries = Vec::with_capacity(map.entries.len());
            for entry in map.entries {
                let at = object.join(&entry.at);
                match entry.reading {
                    Ok((target, reference)) => entries.push((target, self.plan.add(at, reference))),
                    Err(malformed) => self.plan.malformed.push((at, malformed)),
                }
            }
            self.plan.steps.push(Step::Map {
                object,
                key: map.key,
                entries,
            });
        }
        Ok(())
    }
}
