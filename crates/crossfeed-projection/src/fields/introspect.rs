//! The document that lists the presets and fields that requests may use.

use super::{ResourceType, ResourceTypes, presets::FULL};
use crate::Path;
use serde_json::{Map, Value, json};

impl ResourceTypes {
    /// The introspection document: presets, fields, envelopes and defaults of each
    /// kind. [`ResourceTypes::parse`] reads it back.
    ///
    /// ```
    /// use crossfeed_projection::{ResourceType, ResourceTypes};
    /// use serde_json::json;
    ///
    /// let issue = ResourceType::new("issue")
    ///     .with_preset("minimal", ["id"])?
    ///     .with_envelopes(["issues"])?;
    /// let told = ResourceTypes::new().with(issue).introspect();
    /// assert_eq!(told, json!({"types": {"issue": {
    ///     "presets": {"minimal": ["id"], "full": null},
    ///     "fields": [], "envelopes": ["issues"], "defaults": {},
    /// }}}));
    /// # Ok::<(), crossfeed_projection::ProjectionError>(())
    /// ```
    pub fn introspect(&self) -> Value {
        let types: Map<_, _> = self
            .iter()
            .map(|kind| (kind.name().to_owned(), kind.introspect()))
            .collect();
        json!({"types": types})
    }
}

impl ResourceType {
    /// The presets, fields, envelopes and defaults of this kind.
    pub fn introspect(&self) -> Value {
        let mut presets: Map<_, _> = self
            .presets
            .iter()
            .map(|(name, paths)| (name.to_owned(), paths.map_or(Value::Null, texts)))
            .collect();
        presets.entry(FULL).or_insert(Value::Null);
        let defaults: Map<_, _> = self
            .defaults
            .iter()
            .map(|(operation, preset)| (operation.as_str().to_owned(), preset.as_str().into()))
            .collect();
        let envelopes: Vec<_> = self.envelopes.iter().map(|at| at.to_string()).collect();
        json!({
            "presets": presets,
            "fields": texts(&self.fields),
            "envelopes": envelopes,
            "defaults": defaults,
        })
    }
}

fn texts(paths: &[Path]) -> Value {
    paths.iter().map(|path| path.to_string()).collect()
}
