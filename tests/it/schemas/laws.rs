//! The laws of rewriting, for one schema in one style.
//!
//! Comes in: a schema, a style, instances. Goes out: nothing, or the first law that is broken and the smallest thing that shows it.
//! Not here: where schemas and instances come from.

use crossfeed_core::InputSchema;
use crossfeed_json::{MAX_DEPTH, is_deeper};
use crossfeed_schema::{Dialect, check};
use crossfeed_tools::{Rewritten, Style, rewrite};
use jsonschema::{Draft, PatternOptions, Validator};
use serde_json::{Map, Value, json};

/// How many positions of one instance are replaced, one after the other.
const POSITIONS: usize = 80;

/// A tool's own schema and the form of it that is shown, both compiled.
pub(crate) struct Pair {
    pub(crate) style: Style,
    pub(crate) own: Validator,
    pub(crate) rewritten: Rewritten,
    pub(crate) shown: Validator,
    /// The places that no reference may stand at.
    unreached: Vec<String>,
}

/// Compiles as the engine does: offline, `format` an annotation.
pub(crate) fn compile(schema: &Value) -> Result<Validator, String> {
    let options = match check(schema) {
        Ok(Dialect::Draft7) => jsonschema::options().with_draft(Draft::Draft7),
        _ => jsonschema::options(),
    };
    options
        .offline()
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(100_000))
        .build(schema)
        .map_err(|error| error.to_string())
}

impl Pair {
    /// Rewrites a schema and holds the outcome to the laws that need no instance; `None` where the schema is rightly refused.
    pub(crate) fn new(original: &Value, style: Style) -> Result<Option<Self>, String> {
        let usable = InputSchema::compile(original.clone());
        let rewritten = match (rewrite(original, style, style.spelling()), usable) {
            (Ok(rewritten), Ok(_)) => rewritten,
            (Err(_), Err(_)) => return Ok(None),
            (Err(error), Ok(_)) => {
                return Err(format!(
                    "refused, but it can be judged: {error}: {original}"
                ));
            }
            (Ok(_), Err(error)) => {
                return Err(format!(
                    "rewritten, but it cannot be judged: {error}: {original}"
                ));
            }
        };
        let again = rewrite(original, style, style.spelling());
        if again.map(|again| again.schema.to_string()) != Ok(rewritten.schema.to_string()) {
            return Err(format!("two runs differ: {original}"));
        }
        let schema = &rewritten.schema;
        let broken = |law: &str| {
            Err(format!(
                "{law}\n  original: {original}\n  rewritten: {schema}"
            ))
        };
        if is_deeper(schema, MAX_DEPTH) {
            return Err(format!("too deep: the rewritten form of {original}"));
        }
        match rewrite(schema, style, style.spelling()) {
            Err(error) => return broken(&format!("its own output is refused: {error}")),
            Ok(twice) if written(&twice.schema) != written(schema) => {
                return broken(&format!("rewriting twice gives {}", twice.schema));
            }
            Ok(twice) if twice.references != rewritten.references => {
                return broken("rewriting twice names another references map");
            }
            Ok(_) => {}
        }
        if schema.get("type") != Some(&json!("object")) {
            return broken("the root is not an object");
        }
        let combinators = [
            "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "$ref",
        ];
        if let Some(found) = combinators
            .iter()
            .find(|keyword| schema.get(keyword).is_some())
        {
            return broken(&format!("the root has {found}"));
        }
        // Servers send list-form `items` whatever they declare: that is read as draft-07.
        let is_declared = jsonschema::meta::is_valid(original);
        if is_declared && schema.get("$schema") != original.get("$schema") {
            return broken("the dialect is another");
        }
        if rewritten.references.is_none() != (style == Style::Inline) {
            return broken("no references map is named");
        }
        if let (true, Err(error)) = (is_declared, jsonschema::meta::validate(schema)) {
            return broken(&format!("not valid in its dialect: {error}"));
        }
        let shown = match compile(schema) {
            Ok(shown) => shown,
            Err(error) => return broken(&format!("does not compile: {error}")),
        };
        Ok(Some(Self {
            style,
            own: compile(original)?,
            shown,
            unreached: unreached(original),
            rewritten,
        }))
    }

    /// The shown schema accepts a valid instance, and each form of it that holds references.
    pub(crate) fn admits(&self, instance: &Value) -> Result<(), String> {
        let accept = |what: &str, instance: &Value| match self.shown.validate(instance) {
            Ok(()) => Ok(()),
            Err(error) => Err(format!(
                "refuses {what} {instance}: at `{}`: {}\n  rewritten: {}",
                error.instance_path(),
                short(&error.to_string()),
                self.rewritten.schema
            )),
        };
        accept("the valid", instance)?;
        for with_references in self.with_references(instance) {
            accept("with references", &with_references)?;
        }
        Ok(())
    }

    fn reaches(&self, position: &str) -> bool {
        let within = |a: &str, b: &str| {
            a.strip_prefix(b)
                .is_some_and(|r| r.is_empty() || r.starts_with('/'))
        };
        !self
            .unreached
            .iter()
            .any(|place| within(position, place) || within(place, position))
    }

    /// The instance with references at one position, at all root properties, and at all leaves.
    pub(crate) fn with_references(&self, instance: &Value) -> Vec<Value> {
        let Some(members) = instance.as_object() else {
            return Vec::new();
        };
        match &self.rewritten.references {
            None => self.inline(instance),
            Some(key) => self.by_map(members, key),
        }
    }

    fn inline(&self, instance: &Value) -> Vec<Value> {
        let kinds = [
            json!({"$tool": "call_1"}),
            json!({"$tool": "call_1", "$select": "a"}),
            json!({"$artifact": "a1", "$tool": "call_1"}),
        ];
        let mut all = Vec::new();
        positions(instance, &mut String::new(), &mut all);
        all.retain(|position| self.reaches(position));
        let mut made = Vec::new();
        let put = |instance: &mut Value, position: &str, reference: &Value| {
            if let Some(place) = instance.pointer_mut(position) {
                // Where the tool has such names itself, the other spelling is what is shown.
                let own = ["$tool", "$artifact", "$select"];
                let taken = own.iter().any(|key| place.get(key).is_some());
                *place = if taken {
                    serde_json::from_str(&reference.to_string().replace('$', "_")).unwrap()
                } else {
                    reference.clone()
                };
            }
        };
        for (index, position) in all.iter().take(POSITIONS).enumerate() {
            // Every kind at the first ones, then in turns: they differ in nothing but their shape.
            let few = index < 4;
            let kinds = kinds.iter().enumerate();
            for (_, kind) in kinds.filter(|(at, _)| few || *at == index % 3) {
                let mut changed = instance.clone();
                put(&mut changed, position, kind);
                made.push(changed);
            }
        }
        let depth = |position: &String| position.matches('/').count();
        for level in 1..=all.iter().map(depth).max().unwrap_or(0).min(8) {
            let mut changed = instance.clone();
            for position in all.iter().filter(|position| depth(position) == level) {
                put(&mut changed, position, &kinds[level % 3]);
            }
            made.push(changed);
        }
        // From the deepest on: what holds another position is not a leaf.
        let mut leaves = instance.clone();
        for position in all.iter().rev() {
            let is_leaf = match instance.pointer(position) {
                Some(Value::Object(members)) => members.is_empty(),
                Some(Value::Array(items)) => items.is_empty(),
                _ => true,
            };
            if is_leaf {
                put(&mut leaves, position, &kinds[1]);
            }
        }
        made.push(leaves);
        made
    }

    fn by_map(&self, members: &Map<String, Value>, key: &str) -> Vec<Value> {
        // Where the name is taken in one spelling, the entries may be in either.
        let shown = &self.rewritten.schema["properties"][key];
        let sign = if shown.to_string().contains("\"_tool\"") {
            '_'
        } else {
            '$'
        };
        let entry = |index: usize, parameter: &str| {
            let list = self.style == Style::RefsList;
            let key = |word: &str| {
                if list {
                    word.to_owned()
                } else {
                    format!("{sign}{word}")
                }
            };
            let mut entry = Map::new();
            if list {
                let escaped = parameter.replace('~', "~0").replace('/', "~1");
                let to = [parameter.to_owned(), format!("/{escaped}")];
                entry.insert(key("to"), json!(to[index % 2]));
            }
            entry.insert(key("tool"), json!("call_1"));
            if !index.is_multiple_of(3) {
                entry.insert(key("select"), json!("a[0].b"));
            }
            if index % 3 == 2 {
                entry.insert(key("artifact"), json!("a1"));
            }
            Value::Object(entry)
        };
        let with = |parameters: &[&String], kind: usize| {
            let mut changed = members.clone();
            for parameter in parameters {
                changed.insert((*parameter).clone(), Value::Null);
            }
            let entries = parameters
                .iter()
                .enumerate()
                .map(|(index, parameter)| (index + kind, *parameter));
            let references = match self.style {
                Style::RefsList => entries.map(|(index, p)| entry(index, p)).collect(),
                _ => Value::Object(
                    entries
                        .map(|(index, p)| (p.clone(), entry(index, p)))
                        .collect(),
                ),
            };
            changed.insert(key.to_owned(), references);
            Value::Object(changed)
        };
        let reached: Vec<&String> = members
            .keys()
            .filter(|parameter| self.reaches(&format!("/{parameter}")))
            .collect();
        let mut made = vec![with(&[], 0), with(&reached, 0)];
        for parameter in reached.into_iter().take(POSITIONS) {
            made.extend((0..3).map(|kind| with(&[parameter], kind)));
        }
        made
    }
}

/// A schema as it is written: equal values may have their keys in another order.
pub(crate) fn written(schema: &Value) -> String {
    schema.to_string()
}

/// Every place below the root, in document order.
pub(crate) fn positions(value: &Value, here: &mut String, found: &mut Vec<String>) {
    let length = here.len();
    let mut inner = |key: &str, value: &Value, here: &mut String| {
        here.push('/');
        here.push_str(&key.replace('~', "~0").replace('/', "~1"));
        found.push(here.clone());
        positions(value, here, found);
        here.truncate(length);
    };
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                inner(key, value, here);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                inner(&index.to_string(), value, here);
            }
        }
        _ => {}
    }
}

/// The places of parameters that travel in a header: `x-mcp-header` counts where only `properties` lead to it.
fn unreached(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), schema)];
    while let Some((place, schema)) = open.pop() {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, schema) in properties.into_iter().flatten() {
            let place = format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"));
            if schema.get("x-mcp-header").is_some() {
                found.push(place.clone());
            }
            open.push((place, schema));
        }
    }
    found
}

/// A message that may quote a large value, cut.
fn short(text: &str) -> String {
    text.chars().take(200).collect()
}
