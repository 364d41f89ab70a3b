//! What looking places up in a schema shares: patterns compiled once, and the addresses of schemas.

use crate::index::{Index, Target};
use jsonschema::Validator;
use serde_json::{Value, json};
use std::{cell::RefCell, collections::HashMap};

/// The patterns of `patternProperties`, compiled on first use; `None` for one that cannot be.
#[derive(Debug, Default)]
pub struct Patterns<'s>(RefCell<HashMap<&'s str, Option<Validator>>>);

impl<'s> Patterns<'s> {
    /// Whether a key matches; a pattern that cannot be compiled might.
    pub fn matches(&self, pattern: &'s str, key: &str) -> bool {
        let mut known = self.0.borrow_mut();
        let compiled = known
            .entry(pattern)
            .or_insert_with(|| jsonschema::validator_for(&json!({"pattern": pattern})).ok());
        let key = Value::String(key.to_owned());
        compiled
            .as_ref()
            .is_none_or(|compiled| compiled.is_valid(&key))
    }
}

/// By what a schema within the document is known: it stays where it is while it is borrowed.
pub fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema) as usize
}

/// The references within a document: the keyword, the address of the schema that holds it, and what
/// it leads to.
pub fn links<'s>(
    root: &'s Value,
    index: &Index,
) -> impl Iterator<Item = (&'static str, usize, &'s Value)> {
    index
        .links()
        .filter_map(|(at, keyword, target)| match target {
            Target::Here { at: to, .. } => {
                Some((keyword, address(root.pointer(at)?), root.pointer(to)?))
            }
            Target::Published => None,
        })
}
