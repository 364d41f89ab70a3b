//! Rewrites in the style `inline`: every value position admits a reference.
//!
//! An assertion about a part that may now be a reference is loosened; the tool's own schema validates the
//! resolved arguments.

use super::{
    Notice,
    moves::{Move, Moves},
    reads::{carries_header, is_structured, keeps_condition, loosens_one_of, reads_inside},
    reference::{anything, reference},
};
use crate::{Offers, Spelling};
use crossfeed_schema::{
    Dialect, Position,
    index::{self, Index, identity},
    keywords::{self, Applies, HEADER, Holds, Step},
};
use crossfeed_wire::Pointer;
use serde_json::{Map, Value, json};

/// Features of the whole schema.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Features {
    /// A parameter is sent as a header.
    headers: bool,
    /// A property's name looks like a key of a reference.
    sentinels: bool,
    /// `unevaluated…` depends on `if`, `contains` or a published schema, which are removed.
    forgets: bool,
}

impl Features {
    pub(super) fn new(root: &Value, index: &Index) -> Self {
        let mut found = Self::default();
        let (mut unevaluated, mut evaluating) = (false, index.refers_to_published());
        index::visit_all(root, index, &mut |object, _| {
            found.headers |= object.contains_key(HEADER);
            if let Some(Value::Object(properties)) = object.get("properties") {
                found.sentinels |= properties.keys().any(|key| key.starts_with(['$', '_']));
            }
            let has = |key| object.contains_key(key);
            unevaluated |= has("unevaluatedProperties") || has("unevaluatedItems");
            evaluating |= has("if") || has("contains");
        });
        found.forgets = unevaluated && evaluating;
        found
    }
}

/// The schema of a reference in one spelling.
pub(super) struct ReferenceSchema {
    pub(super) spelling: Spelling,
    /// Its name in `$defs`.
    pub(super) name: String,
    /// The `$ref` that leads there.
    pub(super) address: String,
}

pub(super) struct Rewriter<'s> {
    pub(super) root: &'s Value,
    pub(super) offers: Offers,
    pub(super) dialect: Dialect,
    pub(super) features: Features,
    pub(super) moves: Moves<'s>,
    /// The tool's own declarations at the root.
    pub(super) declared: Position<'s>,
    pub(super) notices: Vec<Notice>,
    /// How references are spelled, and the other spelling.
    pub(super) spellings: [ReferenceSchema; 2],
    /// Which of them are referred to in the resource at hand.
    pub(super) used: [bool; 2],
    /// The keyword that holds the targets of references: `$defs`, unless that is something else here.
    pub(super) definitions: &'static str,
    /// Whether value positions admit references at all.
    pub(super) wraps: bool,
    /// Whether references stand beside the parameters, which admit none themselves.
    pub(super) lists: bool,
    /// How many parts were given names in `$defs`.
    pub(super) parts: usize,
    /// How many more value positions within each other may admit references: each takes two levels.
    pub(super) levels: usize,
}

impl<'s> Rewriter<'s> {
    /// A schema, with each value position in it admitting a reference.
    pub(super) fn schema(&mut self, schema: &'s Value, place: &mut Move) -> Value {
        self.moves.arrive(place);
        let Value::Object(object) = schema else {
            return schema.clone();
        };
        if object.is_empty() {
            return anything();
        }
        // A schema with an `$id` needs the schemas of references within it.
        let embedded = identity(object, self.dialect).is_some();
        let outside = embedded.then(|| std::mem::take(&mut self.used));
        let mut out = Map::with_capacity(object.len() + 1);
        for (key, value) in object {
            self.keyword(object, key, value, &mut out, place);
        }
        self.loosened(object, &mut out, place);
        let old = self.dialect <= Dialect::Draft7;
        if out.is_empty() || old && object.contains_key("$ref") && !out.contains_key("$ref") {
            // In the older drafts, what stands beside a reference means nothing.
            return anything();
        }
        if let Some(outside) = outside {
            self.define(&mut out);
            self.used = outside;
        }
        Value::Object(out)
    }

    /// A part of the schema, in the style at hand.
    pub(super) fn part(&mut self, schema: &'s Value, place: &mut Move) -> Value {
        if self.lists {
            self.keep(schema, place)
        } else {
            self.schema(schema, place)
        }
    }

    /// Adds the schemas of references that are referred to.
    pub(super) fn define(&self, out: &mut Map<String, Value>) {
        for (spelled, used) in self.spellings.iter().zip(self.used) {
            if used {
                let schema = reference(spelled.spelling, self.offers);
                add_definition(out, self.definitions, &spelled.name, schema);
            }
        }
    }

    /// One keyword of a schema; those that are loosened into others are left to [`Self::loosened`].
    pub(super) fn keyword(
        &mut self,
        object: &'s Map<String, Value>,
        key: &'s str,
        value: &'s Value,
        out: &mut Map<String, Value>,
        place: &mut Move,
    ) {
        let new = match key {
            "enum" | "const" if is_structured(key, value) => {
                if !object.contains_key("examples") {
                    let examples = match key {
                        "enum" => value.clone(),
                        _ => json!([value]),
                    };
                    out.insert("examples".to_owned(), examples);
                }
                return;
            }
            "uniqueItems" | "contains" | "minContains" | "maxContains" => return,
            "unevaluatedProperties" | "unevaluatedItems" if self.features.forgets => return,
            "not" => {
                if reads_inside(value) {
                    return;
                }
                self.kept(key, value, place)
            }
            "if" | "then" | "else" => {
                if !keeps_condition(object) {
                    return;
                }
                if key == "if" {
                    self.kept(key, value, place)
                } else {
                    self.held(Holds::One, key, value, place, false)
                }
            }
            "oneOf" if loosens_one_of(object) => return,
            "$ref" | "$dynamicRef" | "$recursiveRef" => match self.link(key, value, place) {
                Some(text) => text,
                None => return,
            },
            _ => match keywords::subschemas(key) {
                Some((holds, Applies::Inside)) => self.held(holds, key, value, place, true),
                Some((_, Applies::Names)) => self.kept(key, value, place),
                Some((holds, _)) => self.held(holds, key, value, place, false),
                None => self.foreign(key, value, place, false),
            },
        };
        out.insert(key.to_owned(), new);
    }

    /// The schemas that a keyword holds; `inside` says that each is a value position.
    fn held(
        &mut self,
        holds: Holds,
        key: &str,
        value: &'s Value,
        place: &mut Move,
        inside: bool,
    ) -> Value {
        let step = |step: Step<'_>, schema: &'s Value| {
            // A boolean as the only schema of a keyword says what may be there at all.
            let is_position = inside && !(step == Step::Keyword && schema.is_boolean());
            self.inside(place, key, step, |rewriter, place| {
                if is_position {
                    rewriter.position(schema, place)
                } else {
                    rewriter.schema(schema, place)
                }
            })
        };
        match keywords::replaced(holds, value, step) {
            Some(new) => new,
            None => self.kept(key, value, place),
        }
    }

    /// Adds the loosened forms of `oneOf` and `if`.
    pub(super) fn loosened(
        &mut self,
        object: &'s Map<String, Value>,
        out: &mut Map<String, Value>,
        place: &mut Move,
    ) {
        let mut alternatives: Vec<Vec<(&str, Step<'s>, &'s Value)>> = Vec::new();
        if loosens_one_of(object)
            && let Some(Value::Array(list)) = object.get("oneOf")
        {
            let branch = |(index, schema)| ("oneOf", Step::Index(index), schema);
            alternatives.push(list.iter().enumerate().map(branch).collect());
        }
        if !keeps_condition(object)
            && let (Some(then), Some(other)) = (object.get("then"), object.get("else"))
        {
            alternatives.push(vec![
                ("then", Step::Keyword, then),
                ("else", Step::Keyword, other),
            ]);
        }
        for branches in alternatives {
            // Beside an `anyOf` that is there already, it is one more schema that must hold.
            let within_all = out.contains_key("anyOf");
            let length = keywords::items(out.get("allOf")).len();
            let outer = if within_all {
                self.moves.step_new(place, "allOf", Step::Index(length))
            } else {
                self.moves.mark(place)
            };
            let mut new = Vec::with_capacity(branches.len());
            for (position, (key, step, schema)) in branches.into_iter().enumerate() {
                let mark = self.moves.step_old(place, key, step);
                self.moves.step_new(place, "anyOf", Step::Index(position));
                new.push(self.schema(schema, place));
                self.moves.back(place, mark);
            }
            self.moves.back(place, outer);
            let new = Value::Array(new);
            if within_all {
                let all = out.entry("allOf").or_insert_with(|| json!([]));
                if let Value::Array(all) = all {
                    all.push(json!({"anyOf": new}));
                }
            } else {
                out.insert("anyOf".to_owned(), new);
            }
        }
    }

    /// A value position: its schema, or a reference.
    pub(super) fn position(&mut self, schema: &'s Value, place: &mut Move) -> Value {
        if schema == &Value::Bool(false) {
            self.moves.arrive(place);
            return Value::Bool(false);
        }
        if !self.wraps || self.features.headers && carries_header(schema) {
            return self.schema(schema, place);
        }
        let Some(spelling) = self.spelling([schema]) else {
            if let Some(at) = Pointer::parse(&place.old) {
                self.notices.push(Notice::NamesTaken { at });
            }
            return self.schema(schema, place);
        };
        let Some(levels) = self.levels.checked_sub(1) else {
            if !self.notices.contains(&Notice::Deep) {
                self.notices.push(Notice::Deep);
            }
            return self.schema(schema, place);
        };
        self.levels = levels;
        let inner = self.in_branch(place, 0, |rewriter, place| rewriter.schema(schema, place));
        self.levels += 1;
        self.or_reference(inner, spelling)
    }

    /// A schema or a reference, with one description for both.
    pub(super) fn or_reference(&mut self, inner: Value, spelling: usize) -> Value {
        if let Some(used) = self.used.get_mut(spelling) {
            *used = true;
        }
        either(inner, json!({"$ref": self.spellings[spelling].address}))
    }

    /// Which spelling of a reference the tool's own names leave free at a position.
    pub(super) fn spelling(&self, schemas: impl IntoIterator<Item = &'s Value>) -> Option<usize> {
        if !self.features.sentinels {
            return Some(0);
        }
        let schemas = schemas.into_iter();
        let declared: Vec<_> = schemas
            .map(|schema| self.declared.elsewhere(schema))
            .collect();
        let is_free = |spelled: &ReferenceSchema| {
            let taken = |word: &&str| {
                let key = spelled.spelling.key(word);
                declared.iter().any(|place| place.declares(&key))
            };
            let exhausted = self.declared.document().is_exhausted();
            let inputs: Vec<_> = self.offers.inputs().collect();
            let mut words = ["tool", "artifact", "select"].iter().chain(&inputs);
            !exhausted && !words.any(taken)
        };
        self.spellings.iter().position(is_free)
    }
}

/// A schema or another one; the description of the first moves beside both.
pub(super) fn either(mut first: Value, other: Value) -> Value {
    let description = match &mut first {
        Value::Object(first) => first.shift_remove("description"),
        _ => None,
    };
    say_anything(&mut first);
    let mut out = json!({"anyOf": [first, other]});
    if let Some(description) = description {
        out["description"] = description;
    }
    out
}

/// Adds a schema to the definitions of another, in the place of one of that name.
pub(super) fn add_definition(
    out: &mut Map<String, Value>,
    definitions: &str,
    name: &str,
    schema: Value,
) {
    let defs = out.entry(definitions).or_insert_with(|| json!({}));
    if let Value::Object(defs) = defs {
        defs.insert(name.to_owned(), schema);
    }
}

/// Writes out that a schema which asserts nothing accepts everything.
pub(super) fn say_anything(schema: &mut Value) {
    match schema {
        Value::Bool(true) => *schema = anything(),
        Value::Object(object) if object.keys().all(|key| keywords::is_annotation(key)) => {
            let Value::Object(anything) = anything() else {
                return;
            };
            object.extend(anything);
        }
        _ => {}
    }
}
