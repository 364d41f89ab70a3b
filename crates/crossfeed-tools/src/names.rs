//! Replaces names that a provider would refuse in schemas, and restores them in arguments.
//!
//! Only refused names are changed, the same schema always gives the same names, and each name is given once.

mod allocator;
mod schema;

pub use allocator::tool_names;

use allocator::NameAllocator;
use crossfeed_schema::{Position, keywords};
use crossfeed_wire::{
    Pointer,
    fragment::{decoded, encoded},
};
use schema::SchemaNames;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// The keys under which a references map may stand.
pub(crate) const MAPS: [&str; 2] = ["$refs", "_refs"];
/// The name of a parameter if no part of its own name is admitted.
const UNNAMED: &str = "parameter";

/// The names of one tool's parameters that are shown differently.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    shown: HashMap<String, String>,
    original: HashMap<String, String>,
    /// The original names, in the order in which they stand in the schema.
    order: Vec<String>,
}

impl Names {
    /// Finds the names of properties that `admits` refuses; it gets the name and whether it is one at the
    /// root.
    ///
    /// ```
    /// use crossfeed_tools::{Names, Profile};
    /// use serde_json::json;
    ///
    /// let schema = json!({"properties": {"$filter": {"type": "string"}, "top": {"type": "integer"}}});
    /// let names = Names::new(&schema, |name, at_root| Profile::Anthropic.admits_property(name, at_root));
    /// assert_eq!(names.pairs().collect::<Vec<_>>(), [("$filter", "filter")]);
    /// assert_eq!(names.restore(json!({"filter": "a", "top": 3}), &schema), json!({"$filter": "a", "top": 3}));
    /// ```
    pub fn new(schema: &Value, admits: impl Fn(&str, bool) -> bool) -> Self {
        let found = SchemaNames::new(schema);
        let mut names = Self::default();
        let mut given = NameAllocator::new(found.all.iter().map(String::as_str));
        for name in &found.all {
            if admits(name, found.at_root.contains(name)) {
                continue;
            }
            let admits = |name: &str| admits(name, true) && admits(name, false);
            if let Some(shown) = given.give(name, UNNAMED, &admits) {
                names.original.insert(shown.clone(), name.clone());
                names.shown.insert(name.clone(), shown);
                names.order.push(name.clone());
            }
        }
        names
    }

    /// Whether every name is shown as it is.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether this is one of the names, original or shown.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.shown.contains_key(name) || self.original.contains_key(name)
    }

    /// The original and the shown names, in the order of the schema.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.order.iter();
        pairs.filter_map(|name| Some((name.as_str(), self.shown.get(name)?.as_str())))
    }

    /// How a parameter is shown.
    pub fn shown<'n>(&'n self, original: &'n str) -> &'n str {
        self.shown.get(original).map_or(original, String::as_str)
    }

    /// The schema with the shown names, in `properties`, in lists of names and in pointers.
    ///
    /// The schema nests no deeper than 127 levels, as one that was judged does.
    pub fn apply(&self, schema: &Value) -> Value {
        if self.is_empty() {
            return schema.clone();
        }
        self.schema(schema)
    }

    fn schema(&self, schema: &Value) -> Value {
        let Value::Object(object) = schema else {
            return schema.clone();
        };
        let mut out = Map::with_capacity(object.len());
        for (keyword, value) in object {
            let written = match keyword.as_str() {
                "required" => self.list(value),
                "dependentRequired" => self.members(value, |value| self.list(value)),
                "properties" | "dependentSchemas" => {
                    self.members(value, |value| self.schema(value))
                }
                "dependencies" => self.members(value, |value| match value {
                    Value::Array(_) => self.list(value),
                    schema => self.schema(schema),
                }),
                "$ref" | "$dynamicRef" => self.pointer(value),
                keyword => self.inside(keyword, value),
            };
            out.insert(keyword.clone(), written);
        }
        Value::Object(out)
    }

    /// The value of another keyword.
    fn inside(&self, keyword: &str, value: &Value) -> Value {
        let holds = keywords::subschemas(keyword).map(|(holds, _)| holds);
        let shown = |_, schema: &Value| self.schema(schema);
        let written = holds.and_then(|holds| keywords::replaced(holds, value, shown));
        written.unwrap_or_else(|| value.clone())
    }

    fn members(&self, value: &Value, inner: impl Fn(&Value) -> Value) -> Value {
        match value {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (self.shown(name).to_owned(), inner(value)))
                .collect(),
            other => other.clone(),
        }
    }

    fn list(&self, value: &Value) -> Value {
        match value {
            Value::Array(names) => names
                .iter()
                .map(|name| match name {
                    Value::String(name) => Value::from(self.shown(name)),
                    other => other.clone(),
                })
                .collect(),
            other => other.clone(),
        }
    }

    /// A reference with the shown names where it passes through the members of `properties`.
    fn pointer(&self, value: &Value) -> Value {
        let Some((before, fragment)) = value.as_str().and_then(|text| text.split_once('#')) else {
            return value.clone();
        };
        if !fragment.starts_with('/') {
            return value.clone();
        }
        let mut out = format!("{before}#");
        let mut next = TokenKind::Keyword;
        for token in fragment.split('/').skip(1) {
            let text = decoded(token).as_deref().map(Pointer::unescaped);
            let text = text.unwrap_or_else(|| token.to_owned());
            let shown = self
                .shown
                .get(&text)
                .filter(|_| next == TokenKind::Property);
            match shown {
                Some(shown) => {
                    let mut pointer = String::new();
                    Pointer::push_token(&mut pointer, shown);
                    out.push_str(&encoded(&pointer));
                }
                None => push_as_is(&mut out, token),
            }
            next = match text.as_str() {
                _ if next != TokenKind::Keyword => TokenKind::Keyword,
                "properties" | "dependentSchemas" | "dependencies" => TokenKind::Property,
                "patternProperties" | "$defs" | "definitions" => TokenKind::Name,
                _ => TokenKind::Keyword,
            };
        }
        Value::String(out)
    }

    /// The arguments with the tool's own names, where its schema declares or requires them; in
    /// references maps too.
    ///
    /// The caller ensures that the arguments are nested no deeper than 127 levels.
    pub fn restore(&self, arguments: Value, original: &Value) -> Value {
        self.restore_at(arguments, &Position::root(original))
    }

    /// The same at the position of the arguments.
    pub(crate) fn restore_at(&self, arguments: Value, position: &Position<'_>) -> Value {
        if self.is_empty() {
            arguments
        } else {
            self.value(arguments, position)
        }
    }

    /// The tool's own name of the parameter shown as `name` at a position; else `name`.
    pub(crate) fn original_or<'n>(&'n self, position: &Position<'_>, name: &'n str) -> &'n str {
        self.original_at(name, position).unwrap_or(name)
    }

    fn value(&self, value: Value, place: &Position<'_>) -> Value {
        match value {
            Value::Array(items) => items
                .into_iter()
                .enumerate()
                .map(|(index, item)| self.value(item, &place.item(index)))
                .collect(),
            Value::Object(members) => self.object(members, place),
            other => other,
        }
    }

    fn object(&self, members: Map<String, Value>, place: &Position<'_>) -> Value {
        // What a literal holds stands where the literal stands.
        if members.len() == 1
            && let Some(key) = members.keys().next()
            && matches!(key.as_str(), "$literal" | "_literal")
            && !place.declares(key)
        {
            let content = members
                .into_iter()
                .map(|(key, content)| (key, self.value(content, place)));
            return Value::Object(content.collect());
        }
        let mut out = Map::with_capacity(members.len());
        let taken: HashSet<String> = members.keys().cloned().collect();
        for (key, value) in members {
            if MAPS.contains(&key.as_str()) && !place.declares(&key) {
                out.insert(key, self.references(value, place));
                continue;
            }
            let name = match self.original_at(&key, place) {
                Some(original) if !taken.contains(original) => original.to_owned(),
                _ => key,
            };
            let value = self.value(value, &place.member(&name));
            out.insert(name, value);
        }
        Value::Object(out)
    }

    /// The tool's own name of the parameter shown as `name` at a place.
    fn original_at(&self, name: &str, place: &Position<'_>) -> Option<&str> {
        let original = self.original.get(name)?;
        let is_own = place.declares(original) || place.asks_for(original);
        is_own.then_some(original)
    }

    /// A references map on an object at a place.
    fn references(&self, map: Value, place: &Position<'_>) -> Value {
        match map {
            Value::Object(entries) => entries
                .into_iter()
                .map(|(name, reference)| match self.original_at(&name, place) {
                    Some(original) => (original.to_owned(), reference),
                    None => (name, reference),
                })
                .collect(),
            Value::Array(entries) => entries
                .into_iter()
                .map(|mut entry| {
                    if let Some(Value::String(to)) = entry.get_mut("to") {
                        *to = self.target(to, place);
                    }
                    entry
                })
                .collect(),
            other => other,
        }
    }

    /// Where an entry of the list form puts its value.
    fn target(&self, to: &str, place: &Position<'_>) -> String {
        if !to.starts_with('/') {
            let original = self.original_at(to, place);
            return original.unwrap_or(to).to_owned();
        }
        let mut place = place.clone();
        let mut out = String::with_capacity(to.len());
        for token in to.split('/').skip(1) {
            let text = Pointer::unescaped(token);
            match self.original_at(&text, &place) {
                Some(original) => {
                    Pointer::push_token(&mut out, original);
                    place = place.member(original);
                }
                None => {
                    push_as_is(&mut out, token);
                    place = place.child(&text);
                }
            }
        }
        out
    }
}

/// The kind of a pointer's token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Keyword,
    /// The name of a property.
    Property,
    /// Another name that a keyword holds.
    Name,
}

/// Appends a token of a pointer that is escaped already.
fn push_as_is(out: &mut String, token: &str) {
    out.push('/');
    out.push_str(token);
}

#[cfg(test)]
mod tests;
