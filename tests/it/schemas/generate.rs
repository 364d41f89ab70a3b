//! Instances for a schema, made by its structure from a seed.
//!
//! Comes in: a schema as real servers send them. Goes out: instances that it accepts and mutations of them that it refuses, the same for the
//! same seed. What is made is a guess; a validator judges it. Not here: schemas from the far corners of the standard.

use super::laws::positions;
use jsonschema::Validator;
use proptest::{
    strategy::{Strategy, ValueTree},
    string::string_regex,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Map, Value, json};

/// How deep a made instance may nest; beyond it only what is required is made.
const DEPTH: usize = 8;

/// Xorshift, so that what is made depends on nothing but the seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % bound.max(1)
    }

    fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }
}

/// Instances of one schema: those that it accepts, and those that it refuses.
pub(crate) struct Instances {
    pub(crate) valid: Vec<Value>,
    pub(crate) invalid: Vec<Value>,
}

/// Makes instances: the smallest, the fullest, and some between.
pub(crate) fn instances(schema: &Value, validator: &Validator, seed: u64) -> Instances {
    let mut random = Random::new(seed);
    let valid = accepted(schema, validator, &mut random, true);
    let mut invalid = Vec::new();
    for instance in &valid {
        for _ in 0..4 {
            let mutated = mutation(instance, &mut random);
            if !validator.is_valid(&mutated) && !invalid.contains(&mutated) {
                invalid.push(mutated);
            }
        }
    }
    Instances { valid, invalid }
}

/// Valid instances without keys that an object's declared properties do not name.
pub(crate) fn closed_instances(schema: &Value, validator: &Validator, seed: u64) -> Vec<Value> {
    accepted(schema, validator, &mut Random::new(seed), false)
}

fn accepted(schema: &Value, validator: &Validator, random: &mut Random, open: bool) -> Vec<Value> {
    let mut valid: Vec<Value> = Vec::new();
    for optional in [0, 100, 50, 50, 25, 75, 10, 0, 0] {
        if valid.len() == 5 {
            break;
        }
        let mut maker = Maker {
            root: schema,
            random,
            optional,
            open,
        };
        let Some(made) = maker.value(schema, 0).filter(Value::is_object) else {
            continue;
        };
        if validator.is_valid(&made) && !valid.contains(&made) {
            valid.push(made);
        }
    }
    valid
}

/// The instance with one place removed, replaced or added.
fn mutation(instance: &Value, random: &mut Random) -> Value {
    let others = [
        json!(null),
        json!(true),
        json!(-7.5),
        json!("\u{1}no such value"),
        json!([[]]),
        json!({"no such key": {}}),
    ];
    let mut places = Vec::new();
    positions(instance, &mut String::new(), &mut places);
    let mut mutated = instance.clone();
    let other = others[random.below(others.len())].clone();
    match places.get(random.below(places.len() + 1)) {
        None => mutated["no such parameter"] = other,
        Some(place) => {
            let (parent, key) = place.rsplit_once('/').unwrap();
            let key = key.replace("~1", "/").replace("~0", "~");
            match mutated.pointer_mut(parent) {
                Some(Value::Object(members)) if random.percent(30) => {
                    members.shift_remove(&key);
                }
                _ => *mutated.pointer_mut(place).unwrap() = other,
            }
        }
    }
    mutated
}

struct Maker<'s, 'r> {
    root: &'s Value,
    random: &'r mut Random,
    /// The share of optional properties that are there, in percent.
    optional: usize,
    /// Whether an object that declares properties may have others.
    open: bool,
}

impl Maker<'_, '_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Option<Value> {
        if depth > 2 * DEPTH {
            return None;
        }
        let schema = match schema {
            Value::Bool(false) => return None,
            Value::Object(schema) => schema,
            _ => return Some(self.anything()),
        };
        if let Some(reference) = schema.get("$ref") {
            let target = self.root.pointer(reference.as_str()?.strip_prefix('#')?)?;
            let target = target.as_object().cloned().unwrap_or_default();
            return self.value(&merged(target, &without(schema, "$ref")), depth + 1);
        }
        for combinator in ["anyOf", "oneOf"] {
            if let Some(branches) = schema.get(combinator).and_then(Value::as_array) {
                let rest = without(schema, combinator);
                let first = self.random.below(branches.len());
                let branches = branches.iter().cycle().skip(first).take(branches.len());
                return branches.into_iter().find_map(|branch| {
                    self.value(&merged(rest.clone(), branch.as_object()?), depth + 1)
                });
            }
        }
        if let Some(branches) = schema.get("allOf").and_then(Value::as_array) {
            let rest = without(schema, "allOf");
            let all = branches.iter().filter_map(Value::as_object);
            let all = all.fold(rest, |all, branch| match merged(all, branch) {
                Value::Object(all) => all,
                _ => Map::new(),
            });
            return self.value(&Value::Object(all), depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return Some(value.clone());
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values.get(self.random.below(values.len())).cloned();
        }
        self.of_type(schema, depth)
    }

    fn of_type(&mut self, schema: &Map<String, Value>, depth: usize) -> Option<Value> {
        let word = match schema.get("type") {
            Some(Value::String(word)) => word.clone(),
            Some(Value::Array(words)) => words
                .get(self.random.below(words.len()))?
                .as_str()?
                .to_owned(),
            _ if schema.contains_key("properties") => "object".to_owned(),
            _ if schema.contains_key("items") => "array".to_owned(),
            _ if schema.is_empty() || depth == 0 => {
                return Some(match depth {
                    0 => json!({}),
                    _ => self.anything(),
                });
            }
            _ => "string".to_owned(),
        };
        match word.as_str() {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => Some(Value::String(self.string(schema))),
            "number" => Some(self.number(schema, 0.5)),
            "integer" => Some(self.number(schema, 1.0)),
            "boolean" => Some(Value::Bool(self.random.percent(50))),
            "null" => Some(Value::Null),
            _ => None,
        }
    }

    fn anything(&mut self) -> Value {
        let some = [
            json!("anything"),
            json!(7),
            json!({"a": {"b": [1, "two"]}}),
            json!(["one", {"two": 2}]),
            json!(true),
            json!(null),
        ];
        some[self.random.below(some.len())].clone()
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
        let properties = schema.get("properties").and_then(Value::as_object);
        for (key, schema) in properties.into_iter().flatten() {
            let is_required = required.contains(&key.as_str());
            if is_required || (depth < DEPTH && self.random.percent(self.optional)) {
                match self.value(schema, depth + 1) {
                    Some(value) => {
                        made.insert(key.clone(), value);
                    }
                    None if is_required => return None,
                    None => {}
                }
            }
        }
        let others = schema.get("additionalProperties");
        for key in required {
            if !made.contains_key(key) {
                let value = match others {
                    Some(schema) => self.value(schema, depth + 1)?,
                    None => self.anything(),
                };
                made.insert(key.to_owned(), value);
            }
        }
        let is_map = others.is_some_and(Value::is_object);
        let is_open = others.is_none_or(|others| *others == Value::Bool(true))
            && (self.open || depth > 0 && properties.is_none_or(Map::is_empty));
        if depth < DEPTH
            && (is_map && self.random.percent(self.optional.max(50))
                || is_open && self.random.percent(self.optional / 5))
        {
            for _ in 0..=self.random.below(2) {
                let key = match schema.get("propertyNames") {
                    Some(names) => self.value(names, depth + 1),
                    None => Some(json!(
                        ["some key", "_id", "a/b~c", "key"][self.random.below(4)]
                    )),
                };
                let value = match others.filter(|others| others.is_object()) {
                    Some(schema) => self.value(schema, depth + 1),
                    None => Some(self.anything()),
                };
                if let (Some(Value::String(key)), Some(value)) = (key, value) {
                    made.entry(key).or_insert(value);
                }
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
        let most = bound("maxItems").unwrap_or(usize::MAX).min(least + 2);
        let length = if depth >= DEPTH {
            least
        } else {
            least + self.random.below(most - least + 1)
        };
        let items = schema.get("items").unwrap_or(&Value::Bool(true));
        let mut made = Vec::new();
        while made.len() < length {
            match self.value(items, depth + 1) {
                Some(item) => made.push(item),
                None if made.len() < least => return None,
                None => break,
            }
        }
        Some(Value::Array(made))
    }

    fn string(&mut self, schema: &Map<String, Value>) -> String {
        if let Some(made) = schema
            .get("pattern")
            .and_then(Value::as_str)
            .and_then(|p| self.matching(p))
        {
            return made;
        }
        let bound = |key: &str| {
            schema
                .get(key)
                .and_then(Value::as_u64)
                .and_then(|n| usize::try_from(n).ok())
        };
        let words = [
            "",
            "text",
            "2026-11-05",
            "a long text of some words",
            "é\"\\\n",
            "12",
            "https://a.example/b?c=d#e",
        ];
        let mut made: String = words[self.random.below(words.len())].to_owned();
        while made.chars().count() < bound("minLength").unwrap_or(0) {
            made.push('x');
        }
        match bound("maxLength") {
            Some(most) => made.chars().take(most).collect(),
            None => made,
        }
    }

    /// A text that a regular expression matches, where it is a plain one.
    fn matching(&mut self, pattern: &str) -> Option<String> {
        let plain = pattern.trim_start_matches('^').trim_end_matches('$');
        let ascii = plain.replace(r"\d", "[0-9]").replace(r"\w", "[0-9A-Za-z_]");
        let strategy = string_regex(&ascii).ok()?;
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.random.next().to_le_bytes());
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(Config::default(), rng);
        Some(strategy.new_tree(&mut runner).ok()?.current())
    }

    /// A number within its bounds, a multiple of `step`.
    fn number(&mut self, schema: &Map<String, Value>, step: f64) -> Value {
        let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
        let step = bound("multipleOf").unwrap_or(step);
        let least = bound("minimum").or(bound("exclusiveMinimum").map(|least| least + step));
        let most = bound("maximum").or(bound("exclusiveMaximum").map(|most| most - step));
        let least = least.unwrap_or(most.unwrap_or(0.0).min(0.0));
        let most = most.unwrap_or(least + 1000.0);
        let steps = ((most - least) / step).clamp(0.0, 100.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "from 0 to 100"
        )]
        let made = (least / step)
            .ceil()
            .mul_add(step, self.random.below(steps as usize + 1) as f64 * step);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "whole, and far from the ends"
        )]
        if made.fract() == 0.0 && made.abs() < 9e15 {
            json!(made as i64)
        } else {
            json!(made)
        }
    }
}

fn without(schema: &Map<String, Value>, keyword: &str) -> Map<String, Value> {
    let mut rest = schema.clone();
    rest.shift_remove(keyword);
    rest
}

/// Two schemas as one: what the second says replaces, but properties and what is required add up.
fn merged(mut schema: Map<String, Value>, other: &Map<String, Value>) -> Value {
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
