//! Finds where the references of a schema lead.

use super::make::is_known;
use crossfeed_schema::{
    Dialect, address,
    index::{self, Index, Target},
};
use serde_json::Value;
use std::collections::HashMap;

/// Where a reference leads.
#[derive(Clone, Copy)]
pub(super) enum Link<'s> {
    /// To a schema of the document, which has this name.
    Here(&'s Value, &'s str),
    /// To a published one, at this address.
    Published(&'s str),
    /// To one that depends on how the schema was reached.
    Dynamic,
}

/// Where the references of a document lead.
pub(super) fn links<'s>(
    root: &'s Value,
    dialect: Dialect,
    index: &'s Index,
) -> HashMap<(&'static str, usize), Link<'s>> {
    let mut anchors: HashMap<&str, usize> = HashMap::new();
    let mut recursive = 0;
    index::visit_all(root, index, &mut |object, _| {
        if let Some(Value::String(name)) = object.get("$dynamicAnchor") {
            *anchors.entry(name).or_default() += 1;
        }
        recursive += usize::from(object.get("$recursiveAnchor") == Some(&Value::Bool(true)));
    });
    let mut links = HashMap::new();
    for (at, keyword, target) in index.links() {
        if !is_known(keyword, dialect) {
            continue;
        }
        let Some(holder) = root.pointer(at) else {
            continue;
        };
        let text = holder.get(keyword).and_then(Value::as_str);
        let text = text.unwrap_or_default();
        let link = match target {
            Target::Published if text.contains("://") => Link::Published(text),
            Target::Published => Link::Dynamic,
            Target::Here { at: to, .. } => {
                let Some(schema) = root.pointer(to) else {
                    continue;
                };
                let fragment = text.split_once('#').map_or("", |(_, fragment)| fragment);
                let moves = match keyword {
                    "$dynamicRef" => {
                        schema.get("$dynamicAnchor").and_then(Value::as_str) == Some(fragment)
                            && anchors.get(fragment).is_none_or(|count| *count > 1)
                    }
                    "$recursiveRef" => {
                        schema.get("$recursiveAnchor") == Some(&Value::Bool(true)) && recursive > 1
                    }
                    _ => false,
                };
                if moves {
                    Link::Dynamic
                } else {
                    Link::Here(schema, to.rsplit('/').next().unwrap_or_default())
                }
            }
        };
        links.insert((keyword, address(holder)), link);
    }
    links
}
