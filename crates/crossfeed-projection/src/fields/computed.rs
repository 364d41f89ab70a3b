//! Fields that a host computes of a resource when they are asked for.
//!
//! What comes in: a document and where its resources are. What goes out: the same document with
//! the computed values in the `_computed` of each resource, to be projected as any other.
//! Deliberately not here: what is asked for.

use crossfeed_json::{Cursor, Kind, quoted};
use serde_json::Value;
use std::{fmt, sync::Arc};

/// Where computed fields stand.
pub(super) const COMPUTED: &str = "_computed";

type Compute = dyn Fn(Cursor<'_>) -> Option<Value> + Send + Sync;

/// A field that is computed of a resource, only when it is asked for.
#[derive(Clone)]
pub struct Computed {
    name: String,
    description: String,
    compute: Option<Arc<Compute>>,
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Computed")
            .field("name", &self.name)
            .field("description", &self.description)
            .finish_non_exhaustive()
    }
}

impl Computed {
    /// A field by its name and what it says; `compute` sees the whole resource. Where it gives
    /// nothing, there is no such field.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        compute: impl Fn(Cursor<'_>) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            compute: Some(Arc::new(compute)),
        }
    }

    /// A field that is told of, and that nothing computes here.
    #[must_use]
    pub fn declared(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            compute: None,
        }
    }

    /// Its name, under `_computed`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Its value of a resource.
    #[must_use]
    pub fn of(&self, resource: Cursor<'_>) -> Option<Value> {
        self.compute.as_ref().and_then(|compute| compute(resource))
    }
}

/// A document with the values of `computed` in each of the resources that `resources` visits; a
/// value that the data has under the same name stays.
pub(super) fn written(
    value: Cursor<'_>,
    resources: impl FnOnce(&mut dyn FnMut(Cursor<'_>)),
    computed: &[&Computed],
) -> Vec<u8> {
    let start = value.offset();
    let mut inserts: Vec<(usize, String)> = Vec::new();
    resources(&mut |resource| {
        let own = resource.get(COMPUTED);
        if own.is_some_and(|own| own.kind() != Kind::Object) {
            return;
        }
        let mut members = String::new();
        for field in computed {
            if own.is_some_and(|own| own.get(field.name()).is_some()) {
                continue;
            }
            let Some(value) = field.of(resource) else {
                continue;
            };
            if !members.is_empty() {
                members.push(',');
            }
            members.push_str(&quoted(field.name()));
            members.push(':');
            members.push_str(&value.to_string());
        }
        if members.is_empty() {
            return;
        }
        let into = own.unwrap_or(resource);
        let comma = if into.is_empty() { "" } else { "," };
        let text = match own {
            Some(_) => format!("{comma}{members}"),
            None => format!("{comma}\"{COMPUTED}\":{{{members}}}"),
        };
        // Before the brace that closes it.
        let at = into.offset() + into.raw().len() - 1;
        inserts.push((at - start, text));
    });
    // A key that stands twice may put a later resource first.
    inserts.sort_by_key(|(at, _)| *at);
    let raw = value.raw();
    let more: usize = inserts.iter().map(|(_, text)| text.len()).sum();
    let mut out = Vec::with_capacity(raw.len() + more);
    let mut from = 0;
    for (at, text) in inserts {
        out.extend_from_slice(raw.get(from..at).unwrap_or_default());
        out.extend_from_slice(text.as_bytes());
        from = at;
    }
    out.extend_from_slice(raw.get(from..).unwrap_or_default());
    out
}
