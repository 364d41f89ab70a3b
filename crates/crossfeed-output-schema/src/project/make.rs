//! Makes schemas in the order of their keywords, with references and definitions.

use super::{
    NoProjectedSchema,
    cuts::{CutId, Cuts},
    definitions::Definition,
    links::{Link, links},
    parts::{is_anything, is_definitions, values_in},
    value::is_address,
};
use crossfeed_projection::Projection;
use crossfeed_schema::{
    DefinitionNames, Dialect, Patterns, address, checked,
    index::{self, Index},
    keywords,
};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet, VecDeque};

/// Values that a projected schema may hold beyond those of the schema itself.
const MAX_GROWTH: usize = 10_000;
/// How many places of the projection may be looked up for each of those values.
const LOOKS_PER_VALUE: usize = 20;

/// A schema that was made.
pub(super) struct ProjectedSchema {
    pub(super) schema: Value,
    /// Whether an instance is valid by the original exactly when its projection is by this: only then
    /// it may stand where being invalid counts (`not`, `if`, `oneOf`).
    pub(super) exact: bool,
}

/// The keywords that are made of one schema.
pub(super) struct Pieces {
    pub(super) keywords: Map<String, Value>,
    /// What must hold besides, where its keyword is taken.
    pub(super) besides: Vec<Value>,
    pub(super) exact: bool,
}

impl Pieces {
    pub(super) fn new() -> Self {
        Self {
            keywords: Map::new(),
            besides: Vec::new(),
            exact: true,
        }
    }

    /// Adds a keyword.
    pub(super) fn put(&mut self, keyword: &str, value: Value) {
        self.keywords.insert(keyword.to_owned(), value);
    }
}

/// Makes the schemas of one document.
pub(super) struct Maker<'s, 'p> {
    pub(super) dialect: Dialect,
    pub(super) cuts: Cuts<'p>,
    pub(super) patterns: Patterns<'s>,
    /// By keyword, and the address of the schema that refers.
    pub(super) links: HashMap<(&'static str, usize), Link<'s>>,
    /// Whether a schema in the document can be made to mean the same at another place: no reference
    /// depends on how it was reached.
    pub(super) faithful: bool,
    pub(super) known: HashMap<(usize, CutId), Definition>,
    pub(super) names: DefinitionNames,
    pub(super) definitions: Map<String, Value>,
    pub(super) waiting: VecDeque<(&'s Value, CutId, String)>,
    pub(super) depth: usize,
    made: usize,
    /// How many values the outcome may hold: grows with each definition that is reached.
    limit: usize,
    reached: HashSet<usize>,
}

pub(super) type Outcome<T> = Result<T, NoProjectedSchema>;

/// Makes the projected schema.
pub(super) fn made(
    root: &Value,
    dialect: Dialect,
    index: &Index,
    projection: &Projection,
) -> Outcome<Value> {
    let (cuts, cut) = Cuts::new(projection);
    match cut {
        Some(cut) => made_with(root, dialect, index, cuts, cut, true),
        // If the value is left out, any schema is right.
        None => Ok(Value::Object(Map::new())),
    }
}

/// Makes the schema of a document for one way to cut its instances; `refers_to_root` where it may
/// refer to itself as `#`.
pub(super) fn made_with(
    root: &Value,
    dialect: Dialect,
    index: &Index,
    cuts: Cuts<'_>,
    cut: CutId,
    refers_to_root: bool,
) -> Outcome<Value> {
    let mut maker = Maker::new(root, dialect, index, cuts);
    maker.reaches(root);
    if refers_to_root {
        let own = Definition {
            reference: "#".to_owned(),
            exact: cut == CutId::WHOLE && maker.faithful,
        };
        maker.known.insert((address(root), cut), own);
    }
    let made = maker.schema(root, cut)?;
    while let Some((target, cut, name)) = maker.waiting.pop_front() {
        let made = maker.schema(target, cut)?;
        maker.definitions.insert(name, made.schema);
    }
    let schema = maker.assembled(root, made.schema);
    let (read, _) = checked(&schema).map_err(NoProjectedSchema::Unusable)?;
    debug_assert!(read == dialect, "read as {read:?}");
    Ok(schema)
}

impl<'s, 'p> Maker<'s, 'p> {
    fn new(root: &'s Value, dialect: Dialect, index: &'s Index, cuts: Cuts<'p>) -> Self {
        let links = links(root, dialect, index);
        let mut faithful = !links.values().any(|link| matches!(link, Link::Dynamic));
        index::visit_all(root, index, &mut |object, at| {
            faithful &= at.is_empty() || !is_of_another(object, dialect);
        });
        Self {
            dialect,
            cuts,
            patterns: Patterns::default(),
            links,
            faithful,
            known: HashMap::new(),
            names: DefinitionNames::default(),
            definitions: Map::new(),
            waiting: VecDeque::new(),
            depth: 0,
            made: 0,
            limit: MAX_GROWTH,
            reached: HashSet::new(),
        }
    }

    /// Counts a schema that the outcome needs; unused definitions do not count.
    pub(super) fn reaches(&mut self, schema: &'s Value) {
        if self.reached.insert(address(schema)) {
            let own = match schema {
                Value::Object(members) => {
                    let own = members.iter().filter(|(key, _)| !is_definitions(key));
                    own.map(|(_, value)| values_in(value)).sum()
                }
                _ => 0,
            };
            self.limit = self.limit.saturating_add(1 + own);
        }
    }

    /// The schema that every instance is valid by.
    pub(super) fn anything(&self) -> Value {
        match self.dialect {
            Dialect::Draft4 => json!({}),
            _ => Value::Bool(true),
        }
    }

    /// Counts values of the outcome, before they are made.
    pub(super) fn count(&mut self, values: usize) -> Outcome<()> {
        self.made = self.made.saturating_add(values);
        if self.made > self.limit {
            return Err(NoProjectedSchema::TooLarge { limit: self.limit });
        }
        let looks = self.limit.saturating_mul(LOOKS_PER_VALUE);
        if self.cuts.looks() > looks {
            Err(NoProjectedSchema::TooManyWays { limit: looks })
        } else {
            Ok(())
        }
    }

    /// Projects a schema: the outcome accepts its instances after a cut.
    pub(super) fn schema(&mut self, schema: &'s Value, cut: CutId) -> Outcome<ProjectedSchema> {
        let as_it_is = || ProjectedSchema {
            schema: schema.clone(),
            exact: true,
        };
        let Value::Object(object) = schema else {
            self.count(1)?;
            return Ok(as_it_is());
        };
        let has_definitions = object.keys().any(|key| is_definitions(key));
        if cut == CutId::WHOLE && !has_definitions && is_plain(schema, self.dialect) {
            self.count(values_in(schema))?;
            return Ok(as_it_is());
        }
        self.count(1 + object.len())?;
        if self.depth > 0 && is_of_another(object, self.dialect) {
            return Ok(ProjectedSchema {
                schema: self.anything(),
                exact: false,
            });
        }
        self.depth += 1;
        let made = self.keywords(object, address(schema), cut);
        self.depth -= 1;
        made
    }

    /// The same for a part of a schema, which is as exact as its parts.
    pub(super) fn part(
        &mut self,
        schema: &'s Value,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<Value> {
        let made = self.schema(schema, cut)?;
        pieces.exact &= made.exact;
        Ok(made.schema)
    }

    /// The value of a keyword that means something in the dialect.
    pub(super) fn asserted(
        &self,
        object: &'s Map<String, Value>,
        keyword: &str,
    ) -> Option<&'s Value> {
        object
            .get(keyword)
            .filter(|_| is_known(keyword, self.dialect))
    }

    /// `unevaluatedProperties` or `unevaluatedItems`: what was evaluated is only known where nothing is cut.
    pub(super) fn unevaluated(
        &mut self,
        keyword: &str,
        object: &'s Map<String, Value>,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<()> {
        if let Some(rest) = self.asserted(object, keyword) {
            if cut == CutId::WHOLE && self.faithful {
                let made = self.schema(rest, cut)?;
                pieces.put(keyword, made.schema);
            } else {
                pieces.exact &= is_anything(rest);
            }
        }
        Ok(())
    }

    fn keywords(
        &mut self,
        object: &'s Map<String, Value>,
        at: usize,
        cut: CutId,
    ) -> Outcome<ProjectedSchema> {
        let mut pieces = Pieces::new();
        self.references(object, at, cut, &mut pieces)?;
        if self.dialect <= Dialect::Draft7 && object.contains_key("$ref") {
            // Beside it nothing else counts.
            return Ok(ProjectedSchema {
                schema: Value::Object(pieces.keywords),
                exact: pieces.exact,
            });
        }
        self.members(object, cut, &mut pieces)?;
        self.items(object, cut, &mut pieces)?;
        self.applied(object, cut, &mut pieces)?;
        let mut out = Map::new();
        for (keyword, value) in object {
            if let Some(value) = pieces.keywords.shift_remove(keyword) {
                out.insert(keyword.clone(), value);
                continue;
            }
            if let Some(value) = self.alone(keyword, value, cut, &mut pieces)? {
                out.insert(keyword.clone(), value);
            }
        }
        out.extend(pieces.keywords);
        if !pieces.besides.is_empty() {
            let all = out.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.extend(pieces.besides);
            }
        }
        Ok(ProjectedSchema {
            schema: Value::Object(out),
            exact: pieces.exact,
        })
    }

    /// Projects a keyword that acts alone; `None` for others, and if nothing of it is left.
    fn alone(
        &mut self,
        keyword: &str,
        value: &Value,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Outcome<Option<Value>> {
        let in_draft_4 = self.dialect == Dialect::Draft4;
        if is_address(keyword)
            || keywords::subschemas(keyword).is_some()
            || ACTING_TOGETHER.contains(&keyword)
            || in_draft_4 && keyword == "id"
        {
            return Ok(None);
        }
        self.count(values_in(value))?;
        Ok(match keyword {
            "type" | "format" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" | "contentEncoding" | "contentMediaType" => Some(value.clone()),
            // The characters of a string whose JSON was rewritten are unknown.
            "pattern" | "minLength" | "maxLength" if self.cuts.rewrites_strings(cut) => {
                pieces.exact = false;
                None
            }
            "pattern" | "minLength" | "maxLength" => Some(value.clone()),
            // In draft 4 it asserts nothing, and may hold values that are cut.
            "const" if in_draft_4 => None,
            "enum" | "const" => self.constants(keyword, value, cut, pieces),
            _ => self.annotation(keyword, value, cut),
        })
    }
}

/// Assertions that are not schemas and are made together with those that are.
const ACTING_TOGETHER: [&str; 9] = [
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
];

/// Whether a keyword means something in a dialect.
pub(super) fn is_known(keyword: &str, dialect: Dialect) -> bool {
    match keyword {
        "$dynamicRef" | "prefixItems" => dialect >= Dialect::Draft202012,
        "$recursiveRef" => dialect == Dialect::Draft201909,
        "additionalItems" => dialect <= Dialect::Draft201909,
        "unevaluatedProperties"
        | "unevaluatedItems"
        | "dependentSchemas"
        | "dependentRequired"
        | "minContains"
        | "maxContains" => dialect >= Dialect::Draft201909,
        "if" | "then" | "else" => dialect >= Dialect::Draft7,
        "contains" | "propertyNames" => dialect >= Dialect::Draft6,
        _ => true,
    }
}

/// Whether a schema means the same wherever it stands: nothing within refers, or is there to be
/// referred to.
fn is_plain(value: &Value, dialect: Dialect) -> bool {
    !index::has_key(value, &|key| {
        is_address(key) || dialect == Dialect::Draft4 && key == "id"
    })
}

/// Whether a schema within the document declares another dialect.
fn is_of_another(object: &Map<String, Value>, dialect: Dialect) -> bool {
    object
        .get("$schema")
        .is_some_and(|declared| Dialect::declared(&json!({"$schema": declared})) != Some(dialect))
}
