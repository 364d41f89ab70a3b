//! Rewrites the root: an object with properties, whatever the tool's own root looks like.
//!
//! It is not wrapped. A provider refuses one that is not an object or combines schemas, so that what the
//! branches say of the parameters is shown in one object ([`super::merge`]).

use super::{
    Notice,
    inline::{Rewriter, add_definition, say_anything},
    merge::{Member, Members, Merge},
    moves::{Move, in_definitions},
    reads::carries_header,
    reference::{anything, references},
};
use crate::{Offers, Spelling, Style};
use crossfeed_schema::{
    Dialect, Patterns,
    keywords::{self, Step},
};
use serde_json::{Map, Value, json};

/// The name in `$defs` of a part whose place is removed.
const PART: &str = "tool_part";

/// Keywords of a root that a references map or list takes the place of.
const DEPENDING: [&str; 2] = ["dependentSchemas", "dependencies"];

/// The references map or list of a root.
struct ReferencesProperty {
    key: String,
    schema: Value,
}

impl<'s> Rewriter<'s> {
    /// The whole schema, and the key of its references map or list.
    pub(super) fn root(&mut self, style: Style, spelling: Spelling) -> (Value, Option<String>) {
        let root: &'s Value = self.root;
        let Value::Object(object) = root else {
            return boolean_root(style, spelling, self.offers);
        };
        let members = Merge::new(self.root, self.moves.index(), self.dialect)
            .members(self.root, "")
            .unwrap_or_default();
        let beside = self.beside(style, spelling, object, &members);
        if style != Style::Inline && beside.is_none() {
            let at = Default::default();
            self.notices.push(Notice::NamesTaken { at });
            self.wraps = false;
        }
        self.lists = beside.is_some();
        let merges = object.keys().any(|key| keywords::is_combining(key));
        if merges {
            self.notices.push(Notice::RootMerged);
        }
        // In the older drafts, what stands beside a reference means nothing.
        let overridden = self.dialect <= Dialect::Draft7 && object.contains_key("$ref");
        let mut out = Map::with_capacity(object.len() + 3);
        if overridden || !object.contains_key("type") {
            out.insert("type".to_owned(), json!("object"));
        }
        let mut place = Move::default();
        self.moves.arrive(&place);
        let counts = |key: &str| !overridden || keywords::is_annotation(key);
        for (key, value) in object.iter().filter(|(key, _)| counts(key)) {
            match key.as_str() {
                "type" => {
                    out.insert("type".to_owned(), json!("object"));
                }
                // Providers refuse them beside an object's properties.
                "enum" | "const" => {}
                key if keywords::is_combining(key) => {}
                // It depends on keywords that were removed.
                "unevaluatedProperties"
                    if merges
                        || self.lists && DEPENDING.iter().any(|key| object.contains_key(*key)) => {}
                "properties" | "required" if merges => {
                    out.insert(key.clone(), Value::Null); // its place; see below
                }
                key => match &beside {
                    Some(beside) => {
                        let new = self.beside_references(key, value, &mut place, beside);
                        out.extend(new.map(|new| (key.to_owned(), new)));
                    }
                    None => self.keyword(object, key, value, &mut out, &mut place),
                },
            }
        }
        if merges {
            self.merged(object, members, overridden, &mut out);
        }
        let key = beside.map(|beside| {
            let properties = out.entry("properties").or_insert_with(|| json!({}));
            if let Value::Object(properties) = properties {
                properties.insert(beside.key.clone(), beside.schema);
            }
            beside.key
        });
        let is_object = object.get("type").and_then(Value::as_str) == Some("object");
        if self.moves.root_is_target() && (merges || self.lists || !is_object) {
            self.keep_root(object, &mut out);
        }
        self.keep_parts(&mut out);
        self.define(&mut out);
        (Value::Object(out), key)
    }

    /// The references map or list, under a key that the tool leaves free.
    fn beside(
        &self,
        style: Style,
        spelling: Spelling,
        object: &Map<String, Value>,
        members: &Members<'_>,
    ) -> Option<ReferencesProperty> {
        // A name that the engine takes for the tool's own is not free, wherever it is declared.
        let is_free = |key: &String| {
            !members.unknown
                && !members.names(key)
                && !self.declared.declares(key)
                && !keywords::strings(object.get("required")).any(|name| name == key)
        };
        let spelling = [spelling, spelling.other()]
            .into_iter()
            .find(|spelling| is_free(&spelling.key("refs")))?;
        Some(ReferencesProperty {
            key: spelling.key("refs"),
            schema: references(style, spelling, self.offers)?,
        })
    }

    /// One keyword of a root that has a references map or list: parameters become nullable, and keywords that
    /// would refuse the map or list admit it.
    fn beside_references(
        &mut self,
        key: &'s str,
        value: &'s Value,
        place: &mut Move,
        beside: &ReferencesProperty,
    ) -> Option<Value> {
        let own = beside.key.as_str();
        Some(match (key, value) {
            ("dependentSchemas", _) => return None,
            ("properties" | "patternProperties", Value::Object(map)) => map
                .iter()
                .map(|(name, schema)| {
                    // A pattern that the key of the references matches must admit them.
                    let admits_references =
                        key == "patternProperties" && Patterns::default().matches(name, own);
                    let new = self.inside(place, key, Step::Key(name), |rewriter, place| {
                        if !admits_references {
                            return rewriter.nullable(schema, place);
                        }
                        let new = rewriter.in_branch(place, 0, |rewriter, place| {
                            rewriter.nullable(schema, place)
                        });
                        json!({"anyOf": [new, beside.schema]})
                    });
                    (name.clone(), new)
                })
                .collect(),
            ("additionalProperties" | "unevaluatedProperties", Value::Object(_)) => {
                self.inside(place, key, Step::Keyword, |rewriter, place| {
                    rewriter.nullable(value, place)
                })
            }
            ("propertyNames", _) => self.inside(place, key, Step::Keyword, |rewriter, place| {
                let names =
                    rewriter.in_branch(place, 0, |rewriter, place| rewriter.keep(value, place));
                json!({"anyOf": [names, {"enum": [own]}]})
            }),
            ("maxProperties", _) => json!(value.as_u64()?.saturating_add(1)),
            ("dependentRequired" | "dependencies", Value::Object(map)) => map
                .iter()
                .filter(|(name, needed)| needed.is_array() && *name != own)
                .map(|(name, needed)| (name.clone(), needed.clone()))
                .collect(),
            _ => self.kept_keyword(key, value, place),
        })
    }

    /// Merges the branches of the root into its `properties` and `required`.
    fn merged(
        &mut self,
        object: &'s Map<String, Value>,
        members: Members<'s>,
        overridden: bool,
        out: &mut Map<String, Value>,
    ) {
        let own = |key: &str| object.get(key).filter(|_| !overridden);
        let closes = own("additionalProperties");
        // Names that the root itself refuses or judges are not for the branches to add.
        let adds = closes.is_none_or(|rest| rest == &Value::Bool(true));
        let declared = own("properties").and_then(Value::as_object);
        let mut properties = Map::new();
        let (closed, required) = (members.closed, members.required.clone());
        for (name, member) in members.into_named() {
            if declared.is_none_or(|own| !own.contains_key(name)) && !adds {
                continue;
            }
            let schema = self.member(name, member);
            properties.insert(name.to_owned(), schema);
        }
        out.insert("properties".to_owned(), Value::Object(properties));
        if required.is_empty() {
            out.shift_remove("required");
        } else {
            out.insert("required".to_owned(), json!(required));
        }
        if closed && closes.is_none() && own("patternProperties").is_none() {
            out.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
    }

    /// A parameter that branches of the root declare.
    fn member(&mut self, name: &str, member: Member<'s>) -> Value {
        let lists = self.lists;
        let Member {
            schemas: parts,
            open,
        } = member;
        let mut place = Move::default();
        let step = Step::Key(name);
        self.moves.step_new(&mut place, "properties", step);
        if let ([(at, schema)], false) = (parts.as_slice(), open) {
            place.old.clone_from(at);
            return if lists {
                self.nullable(schema, &mut place)
            } else {
                self.position(schema, &mut place)
            };
        }
        let spelling = self.spelling(parts.iter().map(|(_, schema)| *schema));
        let headed = parts.iter().any(|(_, schema)| carries_header(schema));
        let reference = spelling.filter(|_| !lists && !headed);
        if reference.is_some() {
            self.moves.step_new(&mut place, "anyOf", Step::Index(0));
        }
        let mut branches = Vec::with_capacity(parts.len() + 2);
        for (index, (at, schema)) in parts.into_iter().enumerate() {
            place.old = at;
            let mut new = self.in_branch(&mut place, index, |rewriter, place| {
                rewriter.part(schema, place)
            });
            say_anything(&mut new);
            branches.push(new);
        }
        if open {
            branches.push(anything());
        } else if lists && !headed {
            branches.push(json!({"type": "null"}));
        }
        let schema = json!({"anyOf": branches});
        match reference {
            Some(spelling) => self.or_reference(schema, spelling),
            None => schema,
        }
    }

    /// Keeps a copy of the original root as the target of references to the root.
    fn keep_root(&mut self, object: &'s Map<String, Value>, out: &mut Map<String, Value>) {
        let name = self.part_name();
        let mut place = in_definitions("", self.definitions, &name);
        self.moves.redirect_root(&place);
        let mut kept = Map::with_capacity(object.len());
        let skipped = [
            "$schema",
            "$id",
            "id",
            "$anchor",
            "$dynamicAnchor",
            "$defs",
            "definitions",
            "$vocabulary",
        ];
        for (key, value) in object
            .iter()
            .filter(|(key, _)| !skipped.contains(&key.as_str()))
        {
            if self.lists {
                kept.insert(key.clone(), self.kept_keyword(key, value, &mut place));
            } else {
                self.keyword(object, key, value, &mut kept, &mut place);
            }
        }
        if !self.lists {
            self.loosened(object, &mut kept, &mut place);
        }
        add_definition(out, self.definitions, &name, Value::Object(kept));
    }

    /// A name in `$defs` that is free in the tool's own schema; each is given once.
    fn part_name(&mut self) -> String {
        let defs = self.root.get(self.definitions);
        loop {
            self.parts += 1;
            let name = match self.parts {
                1 => PART.to_owned(),
                number => format!("{PART}_{number}"),
            };
            if defs.is_none_or(|defs| defs.get(&name).is_none()) {
                return name;
            }
        }
    }

    /// Keeps a target of references whose place is removed.
    fn keep_parts(&mut self, out: &mut Map<String, Value>) {
        let mut last = String::new();
        while let Some(at) = self.moves.missing(&last) {
            last.clone_from(&at);
            let schema = self.root.pointer(&at);
            let name = self.part_name();
            let mut place = in_definitions(&at, self.definitions, &name);
            self.moves.arrive(&place);
            self.moves.refuse_from_within(&at);
            if let Some(schema) = schema {
                let kept = self.part(schema, &mut place);
                add_definition(out, self.definitions, &name, kept);
            }
        }
    }
}

/// The root of a tool whose schema is `true` or `false`: it says nothing of parameters, and what it
/// says of all arguments is the validator's to keep.
fn boolean_root(style: Style, spelling: Spelling, offers: Offers) -> (Value, Option<String>) {
    let mut out = json!({"type": "object"});
    let key = references(style, spelling, offers).map(|schema| {
        let key = spelling.key("refs");
        out["properties"] = json!({key.clone(): schema});
        key
    });
    (out, key)
}
