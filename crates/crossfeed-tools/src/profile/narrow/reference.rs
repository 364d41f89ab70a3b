//! Writes references: to definitions where the provider takes them, else in place.

use super::Narrowing;
use crate::profile::{fold_schema, is_fold};
use crossfeed_wire::{Pointer, fragment::decoded};
use serde_json::{Map, Value, json};

/// How many references are followed that lead to nothing but a reference.
const MAX_FOLLOWED: usize = 16;

impl Narrowing<'_> {
    /// The target of a reference and its pointer; `None` for a reference that is remote, dangling or not a
    /// pointer.
    pub(super) fn target(&self, reference: &str) -> Option<(String, &Value)> {
        let mut reference = reference;
        for _ in 0..MAX_FOLLOWED {
            let pointer = decoded(reference.strip_prefix('#')?)?;
            let target = self.root.pointer(Pointer::parse(&pointer)?.as_str())?;
            let next = target.as_object().filter(|map| map.len() == 1);
            match next.and_then(|map| map.get("$ref")).and_then(Value::as_str) {
                Some(next) => reference = next,
                None => return Some((pointer, target)),
            }
        }
        None
    }

    /// A schema that is a reference, with the annotations beside it.
    pub(super) fn reference(
        &mut self,
        reference: &str,
        beside: Map<String, Value>,
        at: &Pointer,
        nested: usize,
    ) -> Value {
        let found = self.target(reference);
        let found = found.map(|(pointer, target)| (pointer, target.clone()));
        let Some((pointer, target @ Value::Object(_))) = found else {
            return self.folded(&beside);
        };
        match self.is_open(&pointer) {
            Some(at_once) if at_once || !self.facts.recursion => return self.folded(&beside),
            _ => {}
        }
        if !self.facts.refs {
            self.follow(vec![pointer]);
            let mut target = target;
            if let Value::Object(target) = &mut target {
                target.extend(beside);
            }
            let inlined = self.schema(&target, at, nested + 1);
            self.open.pop();
            return inlined;
        }
        let name = self.name(&pointer);
        if !self.definitions.contains_key(&name) {
            self.definitions.insert(name.clone(), Value::Null);
            self.follow(vec![pointer.clone()]);
            let place = Pointer::parse(&pointer).unwrap_or_default();
            let made = self.schema(&target, &place, nested + 1);
            self.open.pop();
            self.definitions.insert(name.clone(), made);
        }
        let made = self.definitions.get(&name);
        let target = if made.is_some_and(is_fold) {
            fold_schema()
        } else {
            json!({"$ref": format!("#/$defs/{name}")})
        };
        let annotations = self.annotations(&beside);
        self.union(vec![target], annotations)
    }

    /// The name of the definition for a pointer: its last word, made unlike all others.
    fn name(&mut self, pointer: &str) -> String {
        if let Some(name) = self.names.get(pointer) {
            return name.clone();
        }
        let word = pointer.rsplit('/').next().unwrap_or_default();
        let name = self.given.give(word, "root");
        self.names.insert(pointer.to_owned(), name.clone());
        name
    }
}
