//! Arguments that a model wrote for a shown schema, as they are meant for the tool's own.
//!
//! What comes in: the arguments, references and all. What goes out: the same without what only the
//! shown schema asked for: JSON text is data again, names are the tool's own, and nulls that stood
//! for nothing are gone. References stay: the engine resolves them.

use super::{
    ListedTool, ReadError,
    spot::{Ground, Spot},
};
use crate::{Place, decode, is_fold};
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_wire::{
    Pointer,
    reference::{self, Target},
};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// How many errors are reported together.
const REPORTED: usize = 100;
/// How many parameters are compared with an unknown one.
const COMPARED: usize = 1_000;
/// The longest name that is compared.
const COMPARED_CHARS: usize = 100;

impl ListedTool {
    /// Reads arguments back. Those of a tool whose schema is none stay as they are.
    ///
    /// # Errors
    ///
    /// All that is wrong: [`ReadError::Unfilled`] for a required parameter that is null and that no
    /// reference fills, [`ReadError::UnknownParameter`] for a reference to a parameter that the
    /// tool does not have, [`ReadError::TooDeep`].
    ///
    /// ```
    /// use crossfeed_schema::{ListOptions, Style, ToolList, rewrite_tools};
    /// use serde_json::json;
    ///
    /// let tools = json!([{"name": "fetch", "inputSchema": {"type": "object", "properties": {
    ///     "url": {"type": "string"}, "limit": {"type": "integer"},
    /// }, "required": ["url"]}}]);
    /// let listed = rewrite_tools(&ToolList::parse(&tools)?, &ListOptions::style(Style::Refs));
    /// let fetch = listed.find("fetch").expect("the tool");
    /// let reference = json!({"_tool": "call_1", "_select": "items[0].url"});
    /// let arguments = json!({"url": null, "limit": null, "_refs": {"url": reference}});
    /// let read = fetch.read(arguments).expect("arguments");
    /// assert_eq!(read, json!({"url": null, "_refs": {"url": reference}}));
    /// # Ok::<(), crossfeed_schema::ToolListError>(())
    /// ```
    pub fn read(&self, arguments: Value) -> Result<Value, Vec<ReadError>> {
        if self.error.is_some() {
            return Ok(arguments);
        }
        if is_deeper(&arguments, MAX_DEPTH) {
            crossfeed_json::dismantle(arguments);
            return Err(vec![ReadError::TooDeep]);
        }
        let mut arguments = arguments;
        if self.folded > 0 {
            let ground = Ground::of(&self.shown);
            open(&ground, &ground.root(), &mut arguments);
            if is_deeper(&arguments, MAX_DEPTH) {
                crossfeed_json::dismantle(arguments);
                return Err(vec![ReadError::TooDeep]);
            }
        }
        let mut arguments = self.names.restore(arguments, &self.original);
        if let (Some(key), Value::Object(members)) = (&self.references, &mut arguments)
            && members.get(key) == Some(&Value::Null)
        {
            members.shift_remove(key);
        }
        let mut errors = Vec::new();
        let filled = self.entries(&arguments, &mut errors);
        let is_nullable = self.references.is_some() || self.strict == Some(true);
        if is_nullable && let Value::Object(members) = &mut arguments {
            let ground = Ground::of(&self.original);
            let mut nulls = Nulls {
                tool: self,
                ground: &ground,
                filled,
                errors: &mut errors,
            };
            nulls.object(members, &ground.root(), &Pointer::root());
        }
        match errors.is_empty() {
            true => Ok(arguments),
            false => {
                errors.truncate(REPORTED);
                Err(errors)
            }
        }
    }

    /// The places that references maps at the root fill. Entries for what is no parameter are
    /// errors; what is wrong with the maps themselves the engine says.
    fn entries(&self, arguments: &Value, errors: &mut Vec<ReadError>) -> HashSet<String> {
        let place = Place::root(Some(&self.original));
        // A list that was rewritten before declares the map itself.
        let is_own = |key: &str| place.declares(key) && self.references.as_deref() != Some(key);
        let maps = arguments
            .as_object()
            .map(|object| reference::read_references(object, &|key| is_own(key)));
        let mut filled = HashSet::new();
        let mut closed = None;
        for entry in maps
            .into_iter()
            .flatten()
            .flatten()
            .flat_map(|map| map.entries)
        {
            // A malformed reference still names its parameter.
            let to = match (&entry.reading, entry.at.tokens().last()) {
                (Ok((to, _)), _) => to.to_pointer(),
                (Err(_), Some(name)) => Target::Parameter(name).to_pointer(),
                (Err(_), None) => continue,
            };
            let name = to.tokens().next();
            if entry.reading.is_ok()
                && *closed.get_or_insert_with(|| self.admits_only_declared())
                && let Some(name) = name.filter(|name| !self.has(&place, name))
            {
                errors.push(ReadError::UnknownParameter {
                    at: entry.at,
                    nearest: self.nearest(&name),
                    name,
                });
                continue;
            }
            filled.insert(to.as_str().to_owned());
        }
        filled
    }

    fn has(&self, place: &Place<'_>, name: &str) -> bool {
        // A pattern may admit it.
        place.declares(name)
            || self.original.get("patternProperties").is_some() && !place.member(name).is_unknown()
    }

    /// Whether the tool takes what it declares and nothing else. A schema that says nothing of
    /// other parameters admits them by the letter; a reference to one is a slip all the same.
    fn admits_only_declared(&self) -> bool {
        let open = |key: &str| {
            self.original
                .get(key)
                .is_some_and(|rest| rest != &Value::Bool(false))
        };
        let ground = Ground::of(&self.original);
        let declares = ground
            .schemas(&ground.root())
            .any(|schema| schema.get("properties").is_some());
        let says_no = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|key| self.original.get(*key) == Some(&Value::Bool(false)));
        says_no || declares && !open("additionalProperties") && !open("unevaluatedProperties")
    }

    /// The parameter that is called most like `name`; the first of several.
    fn nearest(&self, name: &str) -> Option<String> {
        let ground = Ground::of(&self.original);
        let root = ground.root();
        let own = ground
            .schemas(&root)
            .filter_map(|schema| schema.get("properties")?.as_object())
            .flat_map(Map::keys)
            .take(COMPARED);
        let name: String = name.chars().take(COMPARED_CHARS).collect();
        let name = name.to_lowercase();
        let mut nearest: Option<(f64, &str)> = None;
        for own in own {
            let compared: String = own.chars().take(COMPARED_CHARS).collect();
            let likeness = strsim::normalized_damerau_levenshtein(&name, &compared.to_lowercase());
            if nearest.is_none_or(|(best, _)| likeness > best) {
                nearest = Some((likeness, own));
            }
        }
        // What the model was shown is what it can write.
        nearest.map(|(_, own)| self.names.shown(own).to_owned())
    }
}

/// Takes JSON text apart where the shown schema asked for it.
fn open(ground: &Ground<'_>, spot: &Spot, value: &mut Value) {
    match value {
        Value::String(text) => {
            let folded = ground.schemas(spot).any(is_fold);
            let Some(decoded) = folded.then(|| decode(text)).flatten() else {
                return;
            };
            // Where plain text may stand too, `5` and `true` are plain text: the number and the word
            // would have been written as such. What is in brackets or quotes is JSON.
            let text_too = ground
                .schemas(spot)
                .any(|schema| !is_fold(schema) && admits_text(schema));
            let is_json = matches!(
                decoded,
                Value::String(_) | Value::Array(_) | Value::Object(_)
            );
            if !text_too || is_json {
                *value = decoded;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                open(ground, &ground.item(spot, index), item);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                open(ground, &ground.member(spot, key), value);
            }
        }
        _ => {}
    }
}

/// Whether a schema by itself asks for text.
fn admits_text(schema: &Value) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        _ => schema.get("enum").is_some() || schema.get("const").is_some(),
    }
}

/// The nulls that stand for nothing.
struct Nulls<'a, 's> {
    tool: &'a ListedTool,
    ground: &'a Ground<'s>,
    filled: HashSet<String>,
    errors: &'a mut Vec<ReadError>,
}

impl Nulls<'_, '_> {
    fn object(&mut self, members: &mut Map<String, Value>, spot: &Spot, at: &Pointer) {
        let mut gone: HashSet<String> = HashSet::new();
        if !at.as_str().is_empty() {
            self.map(members, spot, at);
        }
        let declared = members.iter_mut();
        for (key, value) in declared.filter(|(key, _)| self.ground.declares(spot, key)) {
            let at = at.key(key);
            if self.filled.contains(at.as_str()) {
                continue;
            }
            let inner = self.ground.member(spot, key);
            if !value.is_null() {
                self.inside(value, &inner, &at);
            } else if !self.ground.admits_null(&inner) {
                if self.ground.requires(spot, key) {
                    self.errors.push(ReadError::Unfilled {
                        at,
                        name: self.tool.names.shown(key).to_owned(),
                        references: self.tool.references.clone(),
                    });
                } else {
                    gone.insert(key.clone());
                }
            }
        }
        members.retain(|key, _| !gone.contains(key));
    }

    /// Adds what references maps below the root fill. What is wrong with them the engine says.
    fn map(&mut self, members: &Map<String, Value>, spot: &Spot, at: &Pointer) {
        if !["$refs", "_refs"]
            .iter()
            .any(|key| members.contains_key(*key))
        {
            return;
        }
        let maps = reference::read_references(members, &|key| self.ground.declares(spot, key));
        for entry in maps.into_iter().flatten().flat_map(|map| map.entries) {
            if let Ok((to, _)) = entry.reading {
                self.filled
                    .insert(at.join(&to.to_pointer()).as_str().to_owned());
            }
        }
    }

    /// Only strict schemas ask for nulls below the root.
    fn inside(&mut self, value: &mut Value, spot: &Spot, at: &Pointer) {
        if self.tool.strict != Some(true) || self.errors.len() >= REPORTED {
            return;
        }
        match value {
            Value::Object(members) => self.object(members, spot, at),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.inside(item, &self.ground.item(spot, index), &at.index(index));
                }
            }
            _ => {}
        }
    }
}
