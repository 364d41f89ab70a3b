//! Turns arguments that a model wrote for a shown schema into arguments for the tool's own schema.
//!
//! It undoes what the shown schema asked for: it parses JSON text, restores the tool's own names, and removes
//! nulls that mean "absent". References stay: the engine resolves them.

use super::{
    ListedTool, ReadError,
    branch::{Siblings, contradicts, may_hold, tells},
    folds,
};
use crate::names::MAPS;
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_schema::{Position, keywords};
use crossfeed_wire::{
    Pointer,
    reference::{self, Target},
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeSet, HashSet},
    convert::Infallible,
};

/// How many errors are reported together.
const MAX_ERRORS: usize = 100;
/// How many parameters are compared with an unknown one.
const MAX_COMPARED: usize = 1_000;
/// The longest name that is compared.
const MAX_COMPARED_CHARS: usize = 100;

impl ListedTool {
    /// Reads arguments back, without the added parameters
    /// ([`ListedTool::take_projection`]). Those of a tool whose schema cannot be used stay as they are.
    ///
    /// # Errors
    ///
    /// All faults: [`ReadError::NotOffered`] for a parameter that asks for parts of the result though the tool
    /// was listed without a choice of fields, [`ReadError::NotBoolean`], [`ReadError::Unfilled`] for a required
    /// parameter that is null and that no reference fills, [`ReadError::UnknownParameter`] for a reference to
    /// a parameter that the tool does not have, [`ReadError::TooDeep`], [`ReadError::TooMuch`].
    ///
    /// ```
    /// use crossfeed_tools::{ListOptions, Style, ToolList, rewrite_tools};
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
    /// # Ok::<(), crossfeed_tools::ToolListError>(())
    /// ```
    pub fn read(&self, arguments: Value) -> Result<Value, Vec<ReadError>> {
        let take_all = |_, _| Ok::<_, Infallible>(());
        let Ok(read) = self.read_counted(arguments, take_all);
        read
    }

    /// The same, counted: calls `take` before it builds the values of a JSON text, with their number and their
    /// bytes beyond those of the arguments.
    ///
    /// # Errors
    ///
    /// Those of `take`; within, those of [`Self::read`].
    pub fn read_counted<E>(
        &self,
        mut arguments: Value,
        mut take: impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<Result<Value, Vec<ReadError>>, E> {
        if self.shown.error.is_some() {
            return Ok(Ok(arguments));
        }
        let own = Position::root(&self.original);
        let opened = self.open(&mut arguments, &own, &mut take)?;
        if opened == Err(ReadError::TooDeep) {
            crossfeed_json::dismantle(arguments);
            return Ok(Err(vec![ReadError::TooDeep]));
        }
        Ok(match opened {
            Ok(()) => self.read_opened(arguments, &own),
            Err(error) => Err(vec![error]),
        })
    }

    /// Takes JSON text apart.
    fn open<'s, E>(
        &'s self,
        arguments: &mut Value,
        own: &Position<'s>,
        take: &mut impl FnMut(usize, usize) -> Result<(), E>,
    ) -> Result<Result<(), ReadError>, E> {
        if is_deeper(arguments, MAX_DEPTH) {
            return Ok(Err(ReadError::TooDeep));
        }
        // Callers that need the added parameters take them out before.
        let _ = self.take_projection(arguments);
        if self.shown.folded == 0 {
            return Ok(Ok(()));
        }
        let shown = Position::root(self.shown_schema());
        folds::open(&self.shown.names, (&shown, own), arguments, take)?;
        Ok(if is_deeper(arguments, MAX_DEPTH) {
            Err(ReadError::TooDeep)
        } else if shown.document().is_exhausted() {
            Err(ReadError::TooMuch)
        } else {
            Ok(())
        })
    }

    /// Reads arguments back in which no text is to be taken apart.
    fn read_opened(&self, arguments: Value, own: &Position<'_>) -> Result<Value, Vec<ReadError>> {
        let mut arguments = self.shown.names.restore_at(arguments, own);
        if let (Some(key), Value::Object(members)) = (&self.shown.references, &mut arguments)
            && members.get(key) == Some(&Value::Null)
        {
            members.shift_remove(key);
        }
        let mut errors = self.misasked(&arguments, own);
        let filled = self.entries(&arguments, own, &mut errors);
        let is_nullable = self.shown.references.is_some() || self.shown.strict == Some(true);
        if is_nullable && let Value::Object(members) = &mut arguments {
            let mut nulls = Nulls {
                tool: self,
                filled,
                errors: &mut errors,
            };
            nulls.object(members, own, &Pointer::root());
        }
        // Of what was not looked at nothing was read.
        if own.document().is_exhausted() {
            return Err(vec![ReadError::TooMuch]);
        }
        if errors.is_empty() {
            Ok(arguments)
        } else {
            errors.truncate(MAX_ERRORS);
            Err(errors)
        }
    }

    /// The places that references maps at the root fill. Entries without such a parameter are errors; the
    /// engine reports faults of the maps themselves.
    fn entries(
        &self,
        arguments: &Value,
        own: &Position<'_>,
        errors: &mut Vec<ReadError>,
    ) -> BTreeSet<String> {
        // A list that was rewritten before declares the map itself.
        let is_own = |key: &str| own.declares(key) && self.shown.references.as_deref() != Some(key);
        let maps = arguments
            .as_object()
            .map(|object| reference::read_references(object, &|key| is_own(key)));
        let mut filled = BTreeSet::new();
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
                && *closed.get_or_insert_with(|| self.admits_only_declared(own))
                && let Some(name) = name.filter(|name| !self.has(own, name))
            {
                errors.push(ReadError::UnknownParameter {
                    at: entry.at,
                    nearest: self.nearest(own, &name),
                    name,
                });
                // Each is compared with every parameter.
                if errors.len() == MAX_ERRORS {
                    break;
                }
                continue;
            }
            filled.insert(to.as_str().to_owned());
        }
        filled
    }

    fn has(&self, own: &Position<'_>, name: &str) -> bool {
        // A pattern may admit it.
        own.declares(name)
            || self.original.get("patternProperties").is_some() && !own.member(name).is_empty()
    }

    /// Whether the tool takes what it declares and nothing else. A schema that says nothing of
    /// other parameters admits them by the letter; a reference to one is a slip all the same.
    pub(super) fn admits_only_declared(&self, own: &Position<'_>) -> bool {
        let rest = ["additionalProperties", "unevaluatedProperties"];
        let mut rest = rest
            .iter()
            .filter_map(|key| self.original.get(*key))
            .peekable();
        let mut schemas = own.schemas();
        match rest.peek() {
            None => schemas.any(|schema| schema.get("properties").is_some()),
            Some(_) => rest.any(|rest| *rest == Value::Bool(false)),
        }
    }

    /// The parameter name closest to `name`; the first of several.
    fn nearest(&self, own: &Position<'_>, name: &str) -> Option<String> {
        let compared = |name: &str| {
            let name: String = name.chars().take(MAX_COMPARED_CHARS).collect();
            name.to_lowercase()
        };
        let name = compared(name);
        let own = own
            .schemas()
            .flat_map(|schema| keywords::members(schema.get("properties")))
            .take(MAX_COMPARED);
        let mut nearest: Option<(f64, &str)> = None;
        for (own, _) in own {
            let likeness = strsim::normalized_damerau_levenshtein(&name, &compared(own));
            if nearest.is_none_or(|(best, _)| likeness > best) {
                nearest = Some((likeness, own));
            }
        }
        // What the model was shown is what it can write.
        nearest.map(|(_, own)| self.shown.names.shown(own).to_owned())
    }
}

/// The nulls that stand for nothing.
struct Nulls<'a> {
    tool: &'a ListedTool,
    filled: BTreeSet<String>,
    errors: &'a mut Vec<ReadError>,
}

impl Nulls<'_> {
    fn object(&mut self, members: &mut Map<String, Value>, position: &Position<'_>, at: &Pointer) {
        let mut gone: HashSet<String> = HashSet::new();
        if !at.as_str().is_empty() {
            self.map(members, position, at);
        }
        let is_map = |key: &str| MAPS.contains(&key) && !position.declares(key);
        // A null is an error only if the branch that the object means refuses it.
        let meant = if position.has_branches() {
            let filled = self.below(at).filter_map(|to| to.tokens().next()).collect();
            let siblings = Siblings::new(members, is_map, &filled);
            position.without_branches(|schema| contradicts(position.document(), schema, &siblings))
        } else {
            position.clone()
        };
        for (key, value) in members.iter_mut() {
            let is_plain = !matches!(value, Value::Null | Value::Array(_) | Value::Object(_));
            if is_plain || is_map(key) {
                continue;
            }
            let inner = meant.member(key);
            let is_declared = position.declares(key);
            // A key that the tool refuses is an error of its own.
            if !is_declared && !inner.schemas().any(Value::is_object) {
                continue;
            }
            let at = at.key(key);
            if self.filled.contains(at.as_str()) {
                continue;
            }
            if !value.is_null() {
                self.inside(value, &inner, &at);
            } else if self.is_built(&inner, &at) {
                *value = Value::Object(Map::new());
            } else if is_declared && inner.is_empty() {
                gone.insert(key.clone()); // only another branch knows it
            } else if !inner.keeps_null() {
                if meant.requires(key) {
                    self.errors.push(ReadError::Unfilled {
                        at,
                        name: self.tool.shown.names.shown(key).to_owned(),
                        references: self.tool.shown.references.clone(),
                    });
                } else {
                    gone.insert(key.clone());
                }
            }
        }
        members.retain(|key, _| !gone.contains(key));
    }

    /// The places within another that references fill, from there.
    fn below(&self, at: &Pointer) -> impl Iterator<Item = Pointer> {
        let before = format!("{}/", at.as_str());
        let length = before.len() - 1;
        self.filled
            .range(before.clone()..)
            .take_while(move |to| to.starts_with(&before))
            .filter_map(move |to| Pointer::parse(to.get(length..)?))
    }

    /// Whether references fill members of an object that is to stand here.
    fn is_built(&self, position: &Position<'_>, at: &Pointer) -> bool {
        let mut names = self.below(at).filter_map(|to| to.tokens().next());
        let object = Value::Object(Map::new());
        names.next().is_some_and(|name| {
            let says = |schema: &Value| {
                tells(schema, &object) && !(tells(schema, &json!([])) && is_index(&name))
            };
            may_hold(position, &object)
                && (position.declares(&name) || position.schemas().any(says))
        })
    }

    /// Adds the places that references maps below the root fill. The engine reports faults of the maps.
    fn map(&mut self, members: &Map<String, Value>, position: &Position<'_>, at: &Pointer) {
        if !MAPS.iter().any(|key| members.contains_key(*key)) {
            return;
        }
        let maps = reference::read_references(members, &|key| position.declares(key));
        for entry in maps.into_iter().flatten().flat_map(|map| map.entries) {
            if let Ok((to, _)) = entry.reading {
                self.filled
                    .insert(at.join(&to.to_pointer()).as_str().to_owned());
            }
        }
    }

    /// Only strict schemas ask for nulls below the root.
    fn inside(&mut self, value: &mut Value, position: &Position<'_>, at: &Pointer) {
        if self.tool.shown.strict != Some(true) || self.errors.len() >= MAX_ERRORS {
            return;
        }
        match value {
            Value::Object(members) => self.object(members, position, at),
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.inside(item, &position.item(index), &at.index(index));
                }
            }
            _ => {}
        }
    }
}

/// Whether a token of a pointer may be an index of a list.
fn is_index(token: &str) -> bool {
    token == "-" || token.bytes().all(|byte| byte.is_ascii_digit())
}
