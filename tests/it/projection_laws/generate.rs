//! Values, paths and instances, made from a seed.

use crossfeed_projection::{Path, PathTree, Projection, RevealRules, Step};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// Keys that schemas, values and paths share, so that they meet.
const KEYS: [&str; 8] = ["a", "b", "c", "id", "secret", "foo", "bar", "a b"];

/// Xorshift, so that what is made depends on nothing but the seed.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        for _ in 0..4 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % bound.max(1)
    }

    pub(super) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub(super) fn of<'v, T>(&mut self, some: &'v [T]) -> &'v T {
        &some[self.below(some.len())]
    }

    pub(super) fn key(&mut self) -> String {
        (*self.of(&KEYS)).to_owned()
    }
}

/// Texts, some of which hold JSON.
pub(super) fn text(random: &mut Random) -> String {
    let texts = [
        "",
        "a",
        "text",
        "b text",
        "{\"a\":1,\"secret\":2}",
        "[{\"secret\":[1]},{\"b\":1}]",
        "{}",
        "\"a\"",
        "{broken secret",
        "\"{\\\"secret\\\":1}\"",
        "[1, 2]",
    ];
    (*random.of(&texts)).to_owned()
}

/// Any value.
pub(super) fn value(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth > 4 { 4 } else { 9 };
    match random.below(kinds) {
        0 => json!(null),
        1 => json!(random.percent(50)),
        2 => json!(random.below(4)),
        3 => json!(text(random)),
        4 | 5 => (0..random.below(4))
            .map(|_| value(random, depth + 1))
            .collect(),
        _ => {
            let members = (0..random.below(5)).map(|_| (random.key(), value(random, depth + 1)));
            Value::Object(members.collect())
        }
    }
}

/// A path into a value, or past it.
fn path(random: &mut Random, root: &Value) -> Path {
    let mut steps = Vec::new();
    let mut here = root;
    loop {
        match here {
            Value::Object(members) if !members.is_empty() && !random.percent(12) => {
                let (key, inner) = members.iter().nth(random.below(members.len())).unwrap();
                steps.push(if random.percent(12) {
                    Step::EachKey
                } else {
                    Step::Key(key.clone())
                });
                here = inner;
            }
            Value::Array(items) if !items.is_empty() => {
                let at = random.below(items.len());
                match random.below(4) {
                    0 => steps.push(Step::Index(at)),
                    1 | 2 => steps.push(Step::EachItem),
                    _ => {}
                }
                here = &items[at];
                if !steps.is_empty() && random.percent(25) {
                    break;
                }
                continue;
            }
            _ => {
                if steps.is_empty() || random.percent(20) {
                    steps.push(match random.below(6) {
                        0 => Step::EachKey,
                        1 => Step::EachItem,
                        2 => Step::Index(random.below(3)),
                        _ => Step::Key(random.key()),
                    });
                }
                break;
            }
        }
        if random.percent(30) {
            break;
        }
    }
    Path::from_steps(steps).unwrap()
}

fn names(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(properties)) = members.get("properties") {
                found.extend(properties.keys().cloned());
            }
            members.values().for_each(|inner| names(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| names(inner, found)),
        _ => {}
    }
}

fn paths(random: &mut Random, value: &Value, declared: &[String]) -> Vec<Path> {
    let count = 1 + random.below(3);
    (0..count)
        .map(|_| {
            if declared.is_empty() || random.percent(80) {
                path(random, value)
            } else {
                Path::key(random.of(declared).clone())
            }
        })
        .collect()
}

/// Include, exclude, or both.
pub(super) fn plain(random: &mut Random, value: &Value) -> Projection {
    chosen(random, value, &[])
}

fn chosen(random: &mut Random, value: &Value, declared: &[String]) -> Projection {
    let mut projection = Projection::new();
    let kind = random.below(4);
    if kind != 0 {
        let mut tree = PathTree::new(paths(random, value, declared));
        if random.percent(8) {
            let key = Step::Key(random.key());
            let at = if random.percent(50) {
                vec![]
            } else {
                vec![key]
            };
            tree = tree.with_rest_at(&at);
        }
        projection = projection.with_include(tree);
    }
    if kind == 0 || kind == 3 {
        projection = projection.with_exclude(PathTree::new(paths(random, value, declared)));
    }
    projection
}

/// Any projection, cut to meet a value and its schema.
pub(super) fn projection(random: &mut Random, value: &Value, schema: &Value) -> Projection {
    let mut declared = Vec::new();
    names(schema, &mut declared);
    let projection = if random.percent(10) {
        Projection::new()
    } else {
        chosen(random, value, &declared)
    };
    if random.percent(55) {
        return projection;
    }
    let entries = |random: &mut Random| -> Vec<Path> {
        (0..random.below(3))
            .map(|_| match random.percent(50) {
                true if declared.is_empty() || random.percent(50) => Path::key(random.key()),
                true => Path::key(random.of(&declared).clone()),
                false => path(random, value),
            })
            .collect()
    };
    let (always, never) = (entries(random), entries(random));
    projection.with_rules(RevealRules::new(always, never))
}

/// Whether a path of a projection counts items.
pub(super) fn has_index(projection: &Projection) -> bool {
    let trees = projection.include().into_iter().chain(projection.exclude());
    let mut paths: Vec<Path> = trees.flat_map(PathTree::paths).collect();
    paths.extend(projection.rules().always().iter().cloned());
    paths.extend(projection.rules().never().iter().cloned());
    let counts = |step: &Step| matches!(step, Step::Index(_));
    paths.iter().any(|path| path.steps().iter().any(counts))
}

/// Valid instances of a schema, made by its structure, and mutated.
pub(super) fn instances(
    schema: &Value,
    validator: &Validator,
    random: &mut Random,
    wanted: usize,
) -> Vec<Value> {
    let mut valid: Vec<Value> = Vec::new();
    for attempt in 0..8 * wanted {
        if valid.len() == wanted {
            break;
        }
        let mut maker = Maker {
            root: schema,
            random,
            optional: [100, 50, 0, 75, 25][attempt % 5],
            left: 400,
        };
        if let Some(made) = maker.value(schema, 0)
            && validator.is_valid(&made)
            && !valid.contains(&made)
        {
            valid.push(made);
        }
    }
    valid
}

struct Maker<'s, 'r> {
    root: &'s Value,
    random: &'r mut Random,
    /// The share of optional members that are there, in percent.
    optional: usize,
    left: usize,
}

impl Maker<'_, '_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        let object = match schema {
            Value::Bool(false) => return None,
            Value::Object(object) => object,
            _ => return Some(value(self.random, depth.min(3) + 2)),
        };
        if depth > 24 {
            return None;
        }
        if let Some(reference) = object.get("$ref") {
            let target = self.root.pointer(reference.as_str()?.strip_prefix('#')?)?;
            let mut all = object.clone();
            all.shift_remove("$ref");
            let all = merged(all, target);
            return self.value(&all, depth + 1);
        }
        for combinator in ["anyOf", "oneOf"] {
            if let Some(branches) = object.get(combinator).and_then(Value::as_array) {
                let mut rest = object.clone();
                rest.shift_remove(combinator);
                let branch = branches.get(self.random.below(branches.len()))?;
                return self.value(&merged(rest, branch), depth + 1);
            }
        }
        if let Some(branches) = object.get("allOf").and_then(Value::as_array) {
            let mut rest = object.clone();
            rest.shift_remove("allOf");
            let all = branches
                .iter()
                .fold(Value::Object(rest), |all, branch| match all {
                    Value::Object(all) => merged(all, branch),
                    other => other,
                });
            return self.value(&all, depth + 1);
        }
        for branch in ["then", "else"] {
            if object.contains_key("if") && object.contains_key(branch) && self.random.percent(50) {
                let mut rest = object.clone();
                let more = rest.shift_remove(branch)?;
                rest.shift_remove("if");
                return self.value(&merged(rest, &more), depth + 1);
            }
        }
        if let Some(value) = object.get("const") {
            return Some(value.clone());
        }
        if let Some(values) = object.get("enum").and_then(Value::as_array) {
            return values.get(self.random.below(values.len())).cloned();
        }
        let word = match object.get("type") {
            Some(Value::String(word)) => word.clone(),
            Some(Value::Array(words)) => words
                .get(self.random.below(words.len()))?
                .as_str()?
                .to_owned(),
            _ => {
                let kinds = ["object", "object", "array", "string", "any"];
                let known = [
                    "properties",
                    "additionalProperties",
                    "patternProperties",
                    "required",
                ];
                match known.iter().any(|keyword| object.contains_key(*keyword)) {
                    true if self.random.percent(85) => "object".to_owned(),
                    _ if object.contains_key("items") && self.random.percent(85) => {
                        "array".to_owned()
                    }
                    _ => (*self.random.of(&kinds)).to_owned(),
                }
            }
        };
        match word.as_str() {
            "object" => self.object(object, depth),
            "array" => self.array(object, depth),
            "string" => Some(json!(self.string(object))),
            "number" | "integer" => {
                let bound = |key: &str| object.get(key).and_then(Value::as_i64);
                let least = bound("minimum").or(bound("exclusiveMinimum").map(|least| least + 1));
                let most = bound("maximum").or(bound("exclusiveMaximum").map(|most| most - 1));
                let least = least.unwrap_or(most.unwrap_or(0).min(0));
                Some(json!(
                    least
                        .max(least + self.random.below(3) as i64)
                        .min(most.unwrap_or(i64::MAX))
                ))
            }
            "boolean" => Some(json!(self.random.percent(50))),
            "null" => Some(Value::Null),
            _ => Some(value(self.random, depth.min(3) + 1)),
        }
    }

    fn string(&mut self, object: &Map<String, Value>) -> String {
        let bound = |key: &str| {
            object
                .get(key)
                .and_then(Value::as_u64)
                .and_then(|n| usize::try_from(n).ok())
        };
        let mut made = match object.get("format").and_then(Value::as_str) {
            Some("date-time") => "2026-11-05T12:00:00Z".to_owned(),
            _ => text(self.random),
        };
        while made.chars().count() < bound("minLength").unwrap_or(0) {
            made.push('x');
        }
        match bound("maxLength") {
            Some(most) => made.chars().take(most).collect(),
            None => made,
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut made = Map::new();
        let others = schema.get("additionalProperties");
        for (key, inner) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let is_required = required.contains(&key.as_str());
            if is_required || depth < 10 && self.random.percent(self.optional) {
                match self.value(inner, depth + 1) {
                    Some(value) => {
                        made.insert(key.clone(), value);
                    }
                    None if is_required => return None,
                    None => {}
                }
            }
        }
        for key in required {
            if !made.contains_key(key) {
                let value = self.value(others.unwrap_or(&json!(true)), depth + 1)?;
                made.insert(key.to_owned(), value);
            }
        }
        if others != Some(&json!(false)) && self.random.percent(self.optional / 2 + 10) {
            let key = self.random.key();
            if let Some(value) = self.value(others.unwrap_or(&json!(true)), depth + 1) {
                made.entry(key).or_insert(value);
            }
        }
        for (pattern, inner) in schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let key = match pattern.trim_start_matches('^') {
                "a" => "ab".to_owned(),
                _ => self.random.key(),
            };
            if let Some(value) = self.value(inner, depth + 1) {
                made.entry(key).or_insert(value);
            }
        }
        Some(Value::Object(made))
    }

    fn array(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let bound = |key: &str| {
            schema
                .get(key)
                .and_then(Value::as_u64)
                .and_then(|n| usize::try_from(n).ok())
        };
        let least = bound("minItems").unwrap_or(0);
        let most = bound("maxItems").unwrap_or(usize::MAX).min(least + 3);
        let length = if depth > 10 {
            least
        } else {
            least + self.random.below(most.saturating_sub(least) + 1)
        };
        let anything = json!(true);
        let list = |key: &str| schema.get(key).and_then(Value::as_array);
        let listed = list("prefixItems").or(list("items"));
        let rest = match schema.get("items") {
            Some(Value::Array(_)) => schema.get("additionalItems"),
            rest => rest,
        };
        let mut made = Vec::new();
        if let Some(wanted) = schema.get("contains")
            && listed.is_none()
            && let Some(value) = self.value(wanted, depth + 1)
        {
            made.push(value);
        }
        while made.len() < length {
            let own = listed.and_then(|listed| listed.get(made.len()));
            match self.value(own.or(rest).unwrap_or(&anything), depth + 1) {
                Some(item) => made.push(item),
                None if made.len() < least => return None,
                None => break,
            }
        }
        Some(Value::Array(made))
    }
}

/// Two schemas as one: what the second says replaces, but properties and what is required add up.
fn merged(mut schema: Map<String, Value>, other: &Value) -> Value {
    let Value::Object(other) = other else {
        return match other {
            Value::Bool(false) => json!(false),
            _ => Value::Object(schema),
        };
    };
    for (key, value) in other {
        match (schema.get_mut(key), value) {
            (Some(Value::Object(own)), Value::Object(more)) if key == "properties" => {
                own.extend(more.clone());
            }
            (Some(Value::Array(own)), Value::Array(more)) if key == "required" => {
                own.extend(more.iter().cloned());
            }
            _ => {
                schema.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(schema)
}
