//! Whether a schema refers to itself.

use crate::profile::count::for_each_subschema;
use serde_json::Value;
use std::collections::HashSet;

/// Deeper than this nothing is followed: no schema nests so deep, and no chain that a provider
/// takes is so long.
const FOLLOWED: usize = 2 * crossfeed_json::MAX_DEPTH;

/// The first reference that leads back to where it stands.
pub(super) fn found(root: &Value) -> Option<String> {
    recurses(root, root, &mut Vec::new(), &mut HashSet::new(), 0)
}

fn recurses(
    schema: &Value,
    root: &Value,
    open: &mut Vec<String>,
    done: &mut HashSet<String>,
    nested: usize,
) -> Option<String> {
    let map = schema.as_object()?;
    if nested > FOLLOWED {
        return None;
    }
    if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
        if open.iter().any(|known| known == reference) || reference == "#" {
            return Some(reference.to_owned());
        }
        let target = reference.strip_prefix('#').and_then(|at| root.pointer(at));
        if let Some(target) = target.filter(|_| !done.contains(reference)) {
            open.push(reference.to_owned());
            let found = recurses(target, root, open, done, nested + 1);
            open.pop();
            done.insert(reference.to_owned());
            if found.is_some() {
                return found;
            }
        }
    }
    let mut found = None;
    for_each_subschema(map, |_, schema| {
        if found.is_none() {
            found = recurses(schema, root, open, done, nested + 1);
        }
    });
    found
}
