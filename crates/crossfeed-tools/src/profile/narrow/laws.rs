use super::{encode::encode, narrow};
use crate::{Profile, Severity, ToLint, decode, lint};
use proptest::{prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// The profiles that narrow to a subset.
pub(super) const SUBSETS: [Profile; 3] = [
    Profile::OpenAiStrict,
    Profile::AnthropicStrict,
    Profile::Gemini,
];

/// What holds of every narrowed schema.
pub(super) fn judge(schema: &Value, profile: Profile) -> Result<(), String> {
    let narrowed = narrow(schema, profile).schema;
    let again = narrow(&narrowed, profile).schema;
    let (once, twice) = (narrowed.to_string(), again.to_string());
    if once != twice {
        return Err(format!(
            "{profile}: {schema}\nonce {narrowed}\ntwice {again}"
        ));
    }
    if let Some(lonely) = lonely_null(&narrowed) {
        return Err(format!(
            "{profile}: {schema}\nnarrowed {narrowed}\n`nullable` without a type: {lonely}"
        ));
    }
    let tool = ToLint {
        name: "tool",
        description: None,
        input_schema: &narrowed,
        strict: None,
    };
    let findings = lint(&[tool], profile);
    let of_tool = |finding: &&crate::Finding| {
        // Names are mended elsewhere.
        let named = finding.what == "the property's name";
        finding.tool == "tool" && finding.severity == Severity::Refused && !named
    };
    match findings.iter().find(of_tool) {
        Some(finding) => Err(format!(
            "{schema}\nnarrowed {narrowed}\n{profile}: {finding}"
        )),
        None => Ok(()),
    }
}

/// A schema within a narrowed one that says `nullable` and no type, which validators refuse.
fn lonely_null(schema: &Value) -> Option<&Value> {
    match schema {
        Value::Object(map) => {
            let says = map.get("nullable") == Some(&Value::Bool(true));
            let is_lonely = says && !map.contains_key("type");
            let mut inner = map.values();
            is_lonely
                .then_some(schema)
                .or_else(|| inner.find_map(lonely_null))
        }
        Value::Array(several) => several.iter().find_map(lonely_null),
        _ => None,
    }
}

/// A narrowed schema as JSON Schema, where null is a keyword.
fn with_null(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut told: Map<_, _> = map
                .iter()
                .map(|(key, value)| (key.clone(), with_null(value)))
                .collect();
            if told.shift_remove("nullable") == Some(Value::Bool(true)) {
                return json!({"anyOf": [told, {"type": "null"}]});
            }
            Value::Object(told)
        }
        Value::Array(several) => several.iter().map(with_null).collect(),
        other => other.clone(),
    }
}

/// What was encoded, as it was: folded places opened, and null where nothing was.
fn decoded(told: &Value, value: &Value) -> Value {
    match (told, value) {
        (Value::Object(told), Value::Object(members)) => {
            let mut open = Map::new();
            for (name, told) in told {
                match members.get(name) {
                    Some(member) => {
                        open.insert(name.clone(), decoded(told, member));
                    }
                    None if told.is_null() => {}
                    None => {
                        open.insert(name.clone(), told.clone());
                    }
                }
            }
            Value::Object(open)
        }
        (Value::Array(told), Value::Array(items)) if told.len() == items.len() => told
            .iter()
            .zip(items)
            .map(|(told, item)| decoded(told, item))
            .collect(),
        (Value::String(text), value) if told != value => {
            decode(text).unwrap_or_else(|| told.clone())
        }
        _ => told.clone(),
    }
}

fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(&reference[1..].replace("%20", " "))
}

/// A small source of choices.
struct Choices<'c>(&'c [u8], usize);

impl Choices<'_> {
    fn of(&mut self, among: usize) -> usize {
        self.1 += 1;
        let byte = self.0.get(self.1 % self.0.len().max(1)).copied();
        usize::from(byte.unwrap_or_default()) % among.max(1)
    }

    /// A value that a schema probably accepts.
    fn value(&mut self, schema: &Value, root: &Value, nested: usize) -> Value {
        let plain = [
            json!("a"),
            json!(1),
            json!(2.5),
            json!(true),
            json!({"k": [1]}),
            json!([{"k": null}]),
            Value::Null,
            json!("5"),
            json!({}),
            json!([]),
        ];
        let Value::Object(map) = schema else {
            return plain[self.of(plain.len())].clone();
        };
        if nested > 6 {
            return plain[self.of(plain.len())].clone();
        }
        if let Some(values) = map.get("enum").and_then(Value::as_array) {
            return values[self.of(values.len())].clone();
        }
        if let Some(value) = map.get("const") {
            return value.clone();
        }
        if let Some(to) = map.get("$ref").and_then(Value::as_str) {
            let target = target(root, to).unwrap_or(&Value::Null);
            return self.value(target, root, nested + 1);
        }
        for combinator in ["anyOf", "oneOf", "allOf"] {
            if let Some(branches) = map.get(combinator).and_then(Value::as_array) {
                let branch = &branches[self.of(branches.len())];
                let inner = self.value(branch, root, nested + 1);
                if let (Value::Object(mut inner), true) =
                    (inner.clone(), map.contains_key("properties"))
                {
                    let mut rest = map.clone();
                    rest.shift_remove(combinator);
                    if let Value::Object(more) = self.value(&Value::Object(rest), root, nested + 1)
                    {
                        inner.extend(more);
                    }
                    return Value::Object(inner);
                }
                return inner;
            }
        }
        let word = match map.get("type") {
            Some(Value::Array(words)) => words[self.of(words.len())].as_str(),
            Some(word) => word.as_str(),
            None if map.contains_key("properties") => Some("object"),
            None => None,
        };
        match word {
            Some("string") => plain[[0, 7][self.of(2)]].clone(),
            Some("integer") => json!(self.of(9)),
            Some("number") => json!(2.5),
            Some("boolean") => json!(self.of(2) == 0),
            Some("null") => Value::Null,
            Some("array") => {
                let places = map.get("prefixItems").and_then(Value::as_array);
                let any = Value::Bool(true);
                (0..self.of(4))
                    .map(|index| {
                        let schema = places.and_then(|places| places.get(index));
                        let schema = schema.or_else(|| map.get("items")).unwrap_or(&any);
                        self.value(schema, root, nested + 1)
                    })
                    .collect()
            }
            Some("object") => {
                let mut members = Map::new();
                let properties = map.get("properties").and_then(Value::as_object);
                let required = map.get("required").and_then(Value::as_array);
                for (name, schema) in properties.into_iter().flatten() {
                    let demanded = required.is_some_and(|names| names.iter().any(|n| n == name));
                    if demanded || self.of(2) == 0 {
                        members.insert(name.clone(), self.value(schema, root, nested + 1));
                    }
                }
                let open = map.get("additionalProperties");
                if open.is_some_and(|open| *open != Value::Bool(false)) || properties.is_none() {
                    let any = Value::Bool(true);
                    for _ in 0..self.of(3) {
                        let name = ["x", "y y"][self.of(2)].to_owned();
                        members.insert(name, self.value(open.unwrap_or(&any), root, nested + 1));
                    }
                }
                Value::Object(members)
            }
            _ => plain[self.of(plain.len())].clone(),
        }
    }
}

/// A schema of what tools have, and of what they rarely have.
fn schemas() -> impl Strategy<Value = Value> {
    let words = || {
        select(vec![
            "string", "number", "integer", "boolean", "null", "object", "array",
        ])
    };
    let leaf = prop_oneof![
        4 => words().prop_map(|word| json!({"type": word})),
        1 => proptest::collection::vec(words(), 1..4).prop_map(|mut words| {
            words.sort_unstable();
            words.dedup();
            json!({"type": words})
        }),
        4 => select(vec![
            json!({}), json!(true), json!({"description": "d"}),
            json!({"type": "string", "enum": ["a", "b", ""]}),
            json!({"enum": ["a", 1, null]}),
            json!({"enum": [{"k": 1}, "a"]}),
            json!({"const": 3}), json!({"const": "a"}), json!({"const": null}), json!({"const": [1]}),
            json!({"type": "string", "minLength": 1, "pattern": "^.", "format": "uri"}),
            json!({"type": "string", "format": "date-time", "default": "x"}),
            json!({"type": "integer", "minimum": 0, "exclusiveMaximum": 9, "x-mcp-header": "N"}),
            json!({"minLength": 1}),
            json!({"$ref": "#/$defs/one"}), json!({"$ref": "#/$defs/two"}),
            json!({"$ref": "#/$defs/two", "description": "beside"}),
            json!({"allOf": [{"$ref": "#/$defs/one"}], "description": "d"}),
            json!({"$ref": "#/properties/a"}), json!({"$ref": "#/$defs/odd%20name"}),
            json!({"type": "array"}), json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"type": "object", "additionalProperties": false}),
        ]),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let several = proptest::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            4 => objects(inner.clone()),
            1 => objects(inner.clone()).prop_map(|mut untyped| {
                untyped.as_object_mut().unwrap().shift_remove("type");
                untyped
            }),
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items, "minItems": 1})),
            1 => (several.clone(), any::<bool>()).prop_map(|(places, full)| if full { json!({"type": "array", "maxItems": places.len(), "prefixItems": places}) } else { json!({"type": "array", "prefixItems": places}) }),
            2 => (several.clone(), select(vec!["anyOf", "oneOf"]))
                .prop_map(|(several, word)| json!({word: several, "description": "one of"})),
            1 => several.clone().prop_map(|several| json!({"allOf": several})),
            1 => (objects(inner.clone()), several.clone(), select(vec!["anyOf", "oneOf"]))
                .prop_map(|(mut object, several, word)| {
                    object[word] = Value::Array(several);
                    object
                }),
            1 => (objects(inner.clone()), inner).prop_map(|(mut object, inner)| {
                object["if"] = json!({"required": ["a"]});
                object["then"] = json!({"properties": {"b": inner.clone()}});
                object["dependentSchemas"] = json!({"a": {"properties": {"e": inner}}});
                object
            }),
        ]
    })
}

fn objects(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let properties = proptest::collection::btree_map(
        select(vec!["a", "b", "c", "d-d"]).prop_map(str::to_owned),
        inner,
        0..4,
    );
    let rest = select(vec![None, None, None, Some(false), Some(true)]);
    (
        properties,
        proptest::collection::vec(select(vec!["a", "b", "z"]), 0..2),
        rest,
    )
        .prop_map(|(properties, required, rest)| {
            let mut object = json!({"type": "object", "properties": properties});
            if !required.is_empty() {
                object["required"] = json!(required);
            }
            if let Some(rest) = rest {
                object["additionalProperties"] = json!(rest);
            }
            object
        })
}

/// A tool's schema: an object at the root, with definitions.
fn tools() -> impl Strategy<Value = Value> {
    (objects(schemas()), schemas(), schemas(), schemas()).prop_map(|(mut root, one, two, odd)| {
        root.as_object_mut()
            .unwrap()
            .shift_remove("additionalProperties");
        root["$defs"] = json!({"one": one, "two": two, "odd name": odd});
        root
    })
}

/// The schema as the normalisation reads it: an object that declares properties has no others.
fn closed(schema: &Value, root: &Value, in_place: bool) -> Value {
    let Value::Object(map) = schema else {
        return schema.clone();
    };
    let mut told = Map::new();
    for (keyword, value) in map {
        let inner = |schema: &Value, in_place| closed(schema, root, in_place);
        let value = match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => named
                .iter()
                .map(|(name, schema)| (name.clone(), inner(schema, false)))
                .collect(),
            ("$defs" | "dependentSchemas", Value::Object(named)) => named
                .iter()
                .map(|(name, schema)| (name.clone(), inner(schema, true)))
                .collect(),
            ("anyOf" | "oneOf" | "allOf", Value::Array(several)) => {
                several.iter().map(|schema| inner(schema, true)).collect()
            }
            ("prefixItems", Value::Array(several)) => {
                several.iter().map(|schema| inner(schema, false)).collect()
            }
            ("then", schema) => inner(schema, true),
            ("items" | "additionalProperties", schema) => inner(schema, false),
            (_, value) => value.clone(),
        };
        told.insert(keyword.clone(), value);
    }
    if !in_place && declares(schema, root, 0) {
        told.insert("unevaluatedProperties".to_owned(), Value::Bool(false));
    }
    Value::Object(told)
}

/// Whether a schema declares properties, itself or by what is applied in place.
fn declares(schema: &Value, root: &Value, nested: usize) -> bool {
    let own = schema.get("properties").and_then(Value::as_object);
    let referred = schema.get("$ref").and_then(Value::as_str);
    let referred = referred.and_then(|to| target(root, to));
    let branches = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.as_array())
        .flatten();
    let mut parts = branches.chain(referred).chain(schema.get("then"));
    own.is_some_and(|own| !own.is_empty())
        || nested < 12 && parts.any(|part| declares(part, root, nested + 1))
}

#[test]
fn branches_that_differ_by_null_alone_are_one() {
    let schema = json!({"type": "object", "properties": {"a": {
        "anyOf": [{"type": "number"}, {"type": ["null", "number"]}, {"const": null}],
        "description": "one of",
    }}});
    for profile in Profile::ALL {
        judge(&schema, profile).unwrap();
    }
}

proptest! {
    #[test]
    fn what_narrow_gives_lint_accepts_and_narrow_leaves(schema in tools()) {
        for profile in Profile::ALL {
            // The plain profiles mend no schema that is none.
            if SUBSETS.contains(&profile) || crossfeed_schema::check(&schema).is_ok() {
                let judged = judge(&schema, profile);
                prop_assert!(judged.is_ok(), "{}", judged.unwrap_err());
            }
        }
    }

    #[test]
    fn what_a_schema_accepts_its_narrowed_form_accepts(
        schema in tools(),
        choices in proptest::collection::vec(any::<u8>(), 40),
    ) {
        if crossfeed_schema::check(&schema).is_err() {
            return Ok(());
        }
        let own = jsonschema::validator_for(&schema).unwrap();
        let normal = jsonschema::validator_for(&closed(&schema, &schema, false)).unwrap();
        let mut choices = Choices(&choices, 0);
        for _ in 0..4 {
            let value = choices.value(&schema, &schema, 0);
            if !value.is_object() || !own.is_valid(&value) || !normal.is_valid(&value) {
                continue;
            }
            for profile in SUBSETS {
                let shown = narrow(&schema, profile).schema;
                let told = encode(&value, &shown);
                let judge = jsonschema::validator_for(&with_null(&shown)).unwrap();
                prop_assert!(
                    judge.is_valid(&told),
                    "{profile}\nschema {schema}\nshown {shown}\nvalue {value}\ntold {told}"
                );
                prop_assert_eq!(decoded(&told, &value), value.clone(), "{} {}", profile, shown);
            }
        }
    }
}
