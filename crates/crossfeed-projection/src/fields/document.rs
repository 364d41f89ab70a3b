//! Resource types and views read from JSON documents, for hosts that keep them in files.

use super::{
    Operation, ProjectionError, ResourceType, ResourceTypes, Views,
    presets::{FULL, parse_each},
};
use crate::Path;
use crossfeed_wire::reference::type_name;
use serde_json::{Map, Value};

/// The members that the document of a kind may have.
const MEMBERS: [&str; 4] = ["presets", "fields", "envelopes", "defaults"];

impl Views {
    /// Reads `{"name": [paths] or null}`; null is everything, and a string is a comma list.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Form`], [`ProjectionError::Path`].
    pub fn parse(document: &Value) -> Result<Self, ProjectionError> {
        let mut views = Self::new();
        for (name, paths) in object("views", document)? {
            views.put(name.clone(), paths_or_all(name, paths)?);
        }
        Ok(views)
    }
}

impl ResourceTypes {
    /// Reads `{"types": {"issue": {"presets", "fields", "envelopes", "defaults"}}}`, or the value of
    /// `types` alone. Each member is optional; others are errors.
    ///
    /// # Errors
    ///
    /// [`ProjectionError::Form`], [`ProjectionError::Path`], [`ProjectionError::FullIsEverything`];
    /// [`ProjectionError::Unknown`] for another member, another kind of operation, and a default
    /// that names no preset.
    ///
    /// ```
    /// use crossfeed_projection::ResourceTypes;
    /// use serde_json::json;
    ///
    /// let types = ResourceTypes::parse(&json!({"types": {"issue": {
    ///     "presets": {"minimal": ["id", "title"]}, "defaults": {"search": "minimal"},
    /// }}}))?;
    /// assert_eq!(ResourceTypes::parse(&types.introspect())?.introspect(), types.introspect());
    /// # Ok::<(), crossfeed_projection::ProjectionError>(())
    /// ```
    pub fn parse(document: &Value) -> Result<Self, ProjectionError> {
        let types = document.get("types").unwrap_or(document);
        let mut parsed = Self::new();
        for (name, kind) in object("types", types)? {
            parsed = parsed.with(ResourceType::parse(name, kind)?);
        }
        Ok(parsed)
    }
}

impl ResourceType {
    /// Reads one kind.
    ///
    /// # Errors
    ///
    /// As [`ResourceTypes::parse`].
    pub fn parse(name: &str, document: &Value) -> Result<Self, ProjectionError> {
        let mut kind = Self::new(name);
        let members = object(name, document)?;
        for (key, value) in members.iter().filter(|(_, value)| !value.is_null()) {
            match key.as_str() {
                "presets" => {
                    for (preset, paths) in object(key, value)? {
                        let paths = paths_or_all(preset, paths)?;
                        if preset == FULL && paths.is_some() {
                            return Err(ProjectionError::FullIsEverything);
                        }
                        kind.presets.put(preset.clone(), paths);
                    }
                }
                "fields" => kind.fields = paths(key, value)?,
                "envelopes" => kind = kind.with_envelopes(texts(key, value)?)?,
                "defaults" => kind = with_defaults(kind, object(key, value)?)?,
                _ => return Err(unknown("member", key, &MEMBERS)),
            }
        }
        let presets = kind.preset_names();
        for name in kind.defaults.values() {
            if !presets.contains(&name.as_str()) {
                return Err(unknown("preset", name, &presets));
            }
        }
        Ok(kind)
    }
}

fn with_defaults(
    mut kind: ResourceType,
    members: &Map<String, Value>,
) -> Result<ResourceType, ProjectionError> {
    for (word, preset) in members.iter().filter(|(_, preset)| !preset.is_null()) {
        let valid = Operation::ALL.map(Operation::as_str);
        let operation = word.parse();
        let operation = operation.map_err(|_| unknown("kind of operation", word, &valid))?;
        let name = preset.as_str();
        let name = name.ok_or_else(|| form(word, "a preset's name", preset))?;
        kind = kind.with_default(operation, name);
    }
    Ok(kind)
}

fn paths_or_all(at: &str, value: &Value) -> Result<Option<Vec<Path>>, ProjectionError> {
    (!value.is_null()).then(|| paths(at, value)).transpose()
}

fn paths(at: &str, value: &Value) -> Result<Vec<Path>, ProjectionError> {
    parse_each(at, texts(at, value)?)
}

fn texts<'v>(at: &str, value: &'v Value) -> Result<Vec<&'v str>, ProjectionError> {
    let read: Option<Vec<&str>> = match value {
        Value::String(text) => Some(vec![text]),
        Value::Array(items) => items.iter().map(Value::as_str).collect(),
        _ => None,
    };
    read.ok_or_else(|| form(at, "a list of paths", value))
}

fn object<'v>(at: &str, value: &'v Value) -> Result<&'v Map<String, Value>, ProjectionError> {
    let members = value.as_object();
    members.ok_or_else(|| form(at, "an object", value))
}

fn unknown(what: &'static str, name: &str, valid: &[&str]) -> ProjectionError {
    let valid = valid.iter().copied().map(str::to_owned).collect();
    ProjectionError::unknown(what, name, valid, |_| false)
}

fn form(at: &str, expected: &'static str, found: &Value) -> ProjectionError {
    ProjectionError::form(at, expected, type_name(found))
}
