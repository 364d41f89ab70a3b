//! Making: schemas in the order of their keywords, references and definitions.

use super::{
    NoProjectedSchema,
    cuts::{CutId, Cuts},
    value::is_address,
};
use crate::{
    Dialect,
    check::checked,
    index::{Index, REFERENCES},
    keywords,
    lookup::{Patterns, address},
};
use crossfeed_projection::Projection;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet, VecDeque};

/// Values that a projected schema may hold beyond those of the schema itself.
const GROWTH: usize = 10_000;
/// How deep references are followed at once; what lies deeper is made after.
const FOLLOWED: usize = 48;

/// A schema that was made.
pub(super) struct Made {
    pub(super) schema: Value,
    /// Whether an instance is valid by the original exactly when its projection is by this: only then
    /// it may stand where being invalid counts (`not`, `if`, `oneOf`).
    pub(super) exact: bool,
}

/// What became of one keyword.
pub(super) struct Part {
    value: Option<Value>,
    exact: bool,
}

impl Part {
    pub(super) fn of(value: Option<Value>, exact: bool) -> Self {
        Self { value, exact }
    }

    pub(super) fn kept(value: Value) -> Self {
        Self::of(Some(value), true)
    }

    pub(super) fn dropped() -> Self {
        Self::of(None, false)
    }
}

/// The keywords of one schema that act together.
pub(super) struct Pieces {
    pub(super) keywords: Map<String, Value>,
    /// What must hold besides, where its keyword is taken.
    pub(super) besides: Vec<Value>,
    pub(super) exact: bool,
}

/// Where a reference leads.
#[derive(Clone, Copy)]
enum Link<'s> {
    /// To a schema of the document, which has this name.
    Here(&'s Value, &'s str),
    /// To a published one, at this address.
    Published(&'s str),
    /// To one that depends on how the schema was reached.
    Dynamic,
}

/// A definition that is made, or about to be.
struct Definition {
    /// The reference to it.
    reference: String,
    exact: bool,
}

/// What making a schema knows.
pub(super) struct Maker<'s, 'p> {
    pub(super) dialect: Dialect,
    pub(super) cuts: Cuts<'p>,
    pub(super) patterns: Patterns<'s>,
    /// By keyword, and the address of the schema that refers.
    links: HashMap<(&'static str, usize), Link<'s>>,
    /// Whether a schema in the document can be made to mean the same at another place: no reference
    /// depends on how it was reached.
    pub(super) faithful: bool,
    known: HashMap<(usize, CutId), Definition>,
    names: HashMap<String, usize>,
    definitions: Map<String, Value>,
    waiting: VecDeque<(&'s Value, CutId, String)>,
    depth: usize,
    made: usize,
    limit: usize,
}

type Done<T> = Result<T, NoProjectedSchema>;

/// Makes the projected schema.
pub(super) fn made(
    root: &Value,
    dialect: Dialect,
    index: &Index,
    projection: &Projection,
) -> Done<Value> {
    let (cuts, cut) = Cuts::of(projection);
    match cut {
        Some(cut) => made_with(root, dialect, index, cuts, cut, true),
        // Where the value is gone there is nothing to be right about.
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
) -> Done<Value> {
    let limit = GROWTH.saturating_add(values_in(root));
    let mut maker = Maker::new(root, dialect, index, cuts, limit);
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
    fn new(
        root: &'s Value,
        dialect: Dialect,
        index: &'s Index,
        cuts: Cuts<'p>,
        limit: usize,
    ) -> Self {
        let links = links(root, dialect, index);
        let mut faithful = !links.values().any(|link| matches!(link, Link::Dynamic));
        keywords::visit_all(root, index, &mut |object, at| {
            faithful &= at.is_empty() || !is_of_another(object, dialect);
        });
        Self {
            dialect,
            cuts,
            patterns: Patterns::default(),
            links,
            faithful,
            known: HashMap::new(),
            names: HashMap::new(),
            definitions: Map::new(),
            waiting: VecDeque::new(),
            depth: 0,
            made: 0,
            limit,
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
    pub(super) fn count(&mut self, values: usize) -> Done<()> {
        self.made = self.made.saturating_add(values);
        match self.made > self.limit {
            true => Err(NoProjectedSchema::TooLarge { limit: self.limit }),
            false => Ok(()),
        }
    }

    /// The schema of what a cut leaves of the instances of a schema.
    pub(super) fn schema(&mut self, schema: &'s Value, cut: CutId) -> Done<Made> {
        let Value::Object(object) = schema else {
            self.count(1)?;
            return Ok(Made {
                schema: schema.clone(),
                exact: true,
            });
        };
        if cut == CutId::WHOLE && is_plain(schema, self.dialect) {
            self.count(values_in(schema))?;
            return Ok(Made {
                schema: schema.clone(),
                exact: true,
            });
        }
        self.count(1 + object.len())?;
        if self.depth > 0 && is_of_another(object, self.dialect) {
            return Ok(Made {
                schema: self.anything(),
                exact: false,
            });
        }
        self.depth += 1;
        let made = self.keywords(object, address(schema), cut);
        self.depth -= 1;
        made
    }

    fn keywords(&mut self, object: &'s Map<String, Value>, at: usize, cut: CutId) -> Done<Made> {
        let mut pieces = Pieces::new();
        self.references(object, at, cut, &mut pieces)?;
        if self.dialect <= Dialect::Draft7 && object.contains_key("$ref") {
            // Beside it nothing else counts.
            return Ok(Made {
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
            if let Some(part) = self.alone(keyword, value, cut)? {
                pieces.exact &= part.exact;
                if let Some(value) = part.value {
                    out.insert(keyword.clone(), value);
                }
            }
        }
        out.extend(pieces.keywords);
        if !pieces.besides.is_empty() {
            let all = out.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.extend(pieces.besides);
            }
        }
        Ok(Made {
            schema: Value::Object(out),
            exact: pieces.exact,
        })
    }

    /// What becomes of a keyword that acts alone; `None` for those that do not.
    fn alone(&mut self, keyword: &str, value: &Value, cut: CutId) -> Done<Option<Part>> {
        let in_draft_4 = self.dialect == Dialect::Draft4;
        if is_address(keyword)
            || keywords::subschemas(keyword).is_some()
            || ACTING_TOGETHER.contains(&keyword)
            || in_draft_4 && keyword == "id"
        {
            return Ok(None);
        }
        self.count(values_in(value))?;
        Ok(Some(match keyword {
            "type" | "format" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" | "contentEncoding" | "contentMediaType" => {
                Part::kept(value.clone())
            }
            "enum" => self.constants(keyword, value, cut),
            "const" if !in_draft_4 => self.constants(keyword, value, cut),
            "const" => return Ok(None),
            _ => match self.characters(keyword, value, cut) {
                Some(part) => part,
                None => Part::of(self.said(keyword, value, cut), true),
            },
        }))
    }

    fn references(
        &mut self,
        object: &'s Map<String, Value>,
        at: usize,
        cut: CutId,
        pieces: &mut Pieces,
    ) -> Done<()> {
        for keyword in REFERENCES {
            if !object.contains_key(keyword) || !is_known(keyword, self.dialect) {
                continue;
            }
            let link = self.links.get(&(keyword, at)).copied();
            let reference = match link {
                Some(link) => self.referred(link, cut)?,
                None => None,
            };
            match reference {
                None => pieces.exact = false,
                Some(Made { schema, exact }) => {
                    pieces.exact &= exact;
                    match schema {
                        Value::Object(schema) if pieces.keywords.is_empty() => {
                            pieces.keywords = schema;
                        }
                        schema => pieces.besides.push(schema),
                    }
                }
            }
        }
        Ok(())
    }

    /// A reference to the definition for what a link leads to.
    fn referred(&mut self, link: Link<'s>, cut: CutId) -> Done<Option<Made>> {
        let (target, name) = match link {
            Link::Here(target, name) => (target, name),
            Link::Published(text) if cut == CutId::WHOLE => {
                return Ok(Some(Made {
                    schema: json!({"$ref": text}),
                    exact: true,
                }));
            }
            _ => return Ok(None),
        };
        let key = (address(target), cut);
        if !self.known.contains_key(&key) {
            let name = self.fresh(name);
            let exact = cut == CutId::WHOLE && self.faithful;
            let reference = format!("#/{}/{name}", self.definitions_keyword());
            self.known.insert(key, Definition { reference, exact });
            if exact || self.depth > FOLLOWED {
                self.waiting.push_back((target, cut, name));
            } else {
                let made = self.schema(target, cut)?;
                self.definitions.insert(name, made.schema);
                if let Some(known) = self.known.get_mut(&key) {
                    known.exact = made.exact;
                }
            }
        }
        Ok(self.known.get(&key).map(|known| Made {
            schema: json!({"$ref": known.reference}),
            exact: known.exact,
        }))
    }

    fn definitions_keyword(&self) -> &'static str {
        match self.dialect <= Dialect::Draft7 {
            true => "definitions",
            false => "$defs",
        }
    }

    /// A name for a definition that no other has, as near as can be to the one it had.
    fn fresh(&mut self, name: &str) -> String {
        let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') {
            true => c,
            false => '_',
        };
        let base: String = match name.is_empty() || self.cuts.mentions_withheld(name) {
            true => "schema".to_owned(),
            false => name.chars().take(100).map(plain).collect(),
        };
        loop {
            let count = self.names.entry(base.clone()).or_insert(0);
            *count += 1;
            let name = match *count {
                1 => return base,
                count => format!("{base}_{count}"),
            };
            if !self.names.contains_key(&name) {
                self.names.insert(name.clone(), 1);
                return name;
            }
        }
    }

    /// The document: the dialect first, then the schema, then those definitions that are in use.
    fn assembled(mut self, root: &Value, schema: Value) -> Value {
        let Value::Object(schema) = schema else {
            return schema;
        };
        let keyword = self.definitions_keyword();
        let prefix = format!("#/{keyword}/");
        let mut used = HashSet::new();
        let mut open: Vec<String> = Vec::new();
        schema
            .values()
            .for_each(|value| referred_to(value, &prefix, &mut open));
        if let Some(Value::String(text)) = schema.get("$ref") {
            open.extend(text.strip_prefix(&prefix).map(str::to_owned));
        }
        while let Some(name) = open.pop() {
            if let Some(definition) = self.definitions.get(&name)
                && used.insert(name)
            {
                referred_to(definition, &prefix, &mut open);
            }
        }
        self.definitions.retain(|name, _| used.contains(name));
        let mut out = Map::new();
        let declared = match Dialect::declared(root) == Some(self.dialect) {
            true => root.get("$schema").cloned(),
            // Without the keyword that it was told by it would be read as another.
            false => Some(json!("http://json-schema.org/draft-07/schema#")),
        };
        out.extend(declared.map(|declared| ("$schema".to_owned(), declared)));
        out.extend(schema);
        if !self.definitions.is_empty() {
            let definitions = std::mem::take(&mut self.definitions);
            out.insert(keyword.to_owned(), Value::Object(definitions));
        }
        Value::Object(out)
    }
}

/// Assertions that are no schemas and are made together with those that are.
const ACTING_TOGETHER: [&str; 12] = [
    "required",
    "minProperties",
    "maxProperties",
    "dependentRequired",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minContains",
    "maxContains",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
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

/// Whether every instance is valid by a schema, as far as a look tells.
pub(super) fn is_anything(schema: &Value) -> bool {
    match schema {
        Value::Bool(valid) => *valid,
        Value::Object(keywords) => keywords.is_empty(),
        _ => false,
    }
}

/// How many values there are, this one included.
fn values_in(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.values().map(values_in).sum::<usize>(),
        Value::Array(items) => items.iter().map(values_in).sum(),
        _ => 0,
    }
}

/// Whether a schema means the same wherever it stands: nothing within refers, or is there to be
/// referred to.
fn is_plain(value: &Value, dialect: Dialect) -> bool {
    match value {
        Value::Object(members) => members.iter().all(|(key, value)| {
            let is_identity = dialect == Dialect::Draft4 && key == "id";
            !is_address(key) && !is_identity && is_plain(value, dialect)
        }),
        Value::Array(items) => items.iter().all(|item| is_plain(item, dialect)),
        _ => true,
    }
}

/// Whether a schema within the document declares another dialect.
fn is_of_another(object: &Map<String, Value>, dialect: Dialect) -> bool {
    object
        .get("$schema")
        .is_some_and(|declared| Dialect::declared(&json!({"$schema": declared})) != Some(dialect))
}

/// Adds the names of the definitions that something within a value refers to.
fn referred_to(value: &Value, prefix: &str, names: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(Value::String(text)) = members.get("$ref") {
                names.extend(text.strip_prefix(prefix).map(str::to_owned));
            }
            members
                .values()
                .for_each(|value| referred_to(value, prefix, names));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| referred_to(item, prefix, names)),
        _ => {}
    }
}

/// Where the references of a document lead.
fn links<'s>(
    root: &'s Value,
    dialect: Dialect,
    index: &'s Index,
) -> HashMap<(&'static str, usize), Link<'s>> {
    let mut anchors: HashMap<&str, usize> = HashMap::new();
    let mut recursive = 0;
    keywords::visit_all(root, index, &mut |object, _| {
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
            crate::index::Target::Published if text.contains("://") => Link::Published(text),
            crate::index::Target::Published => Link::Dynamic,
            crate::index::Target::Here { at: to, .. } => {
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
                match moves {
                    true => Link::Dynamic,
                    false => Link::Here(schema, to.rsplit('/').next().unwrap_or_default()),
                }
            }
        };
        links.insert((keyword, address(holder)), link);
    }
    links
}
