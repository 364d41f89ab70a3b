//! Schemas made from a seed: every keyword beside every other.

use super::generate::{Random, text, value};
use serde_json::{Map, Value, json};

const DIALECTS: [&str; 6] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2019-09/schema",
    "http://json-schema.org/draft-07/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-04/schema#",
];

/// A whole document, with definitions that refer to themselves and each other.
pub(super) fn schema(random: &mut Random) -> Value {
    let dialect = *random.of(&DIALECTS);
    let mut maker = Maker {
        old: dialect.contains("draft-0"),
        draft4: dialect.contains("draft-04"),
        latest: dialect.contains("2020"),
        random,
    };
    let mut root = match maker.object(0, true) {
        Value::Object(root) => root,
        _ => Map::new(),
    };
    let keyword = maker.definitions();
    let definitions: Map<String, Value> = ["one", "two"]
        .iter()
        .map(|name| ((*name).to_owned(), maker.object(1, true)))
        .collect();
    root.insert(keyword.to_owned(), Value::Object(definitions));
    if !maker.random.percent(20) || !maker.latest {
        root.insert("$schema".to_owned(), json!(dialect));
    }
    Value::Object(root)
}

struct Maker<'r> {
    old: bool,
    draft4: bool,
    latest: bool,
    random: &'r mut Random,
}

impl Maker<'_> {
    fn definitions(&self) -> &'static str {
        if self.old { "definitions" } else { "$defs" }
    }

    fn any(&mut self, depth: usize) -> Value {
        if depth > 3 || self.random.percent(35) {
            return self.leaf();
        }
        let is_object = self.random.percent(60);
        self.object(depth, is_object)
    }

    fn leaf(&mut self) -> Value {
        match self.random.below(12) {
            0 if !self.draft4 => json!(true),
            0 => json!({}),
            1 => json!({"enum": [text(self.random), 1, null, value(self.random, 3)]}),
            2 if !self.draft4 => json!({"const": value(self.random, 3)}),
            3 => json!({"type": "string", "maxLength": 12}),
            4 => json!({"type": "string", "pattern": "t"}),
            5 => json!({"type": ["integer", "null"]}),
            6 | 7 => {
                let name = self.random.of(&["one", "two"]);
                let mut to = json!({"$ref": format!("#/{}/{name}", self.definitions())});
                if self.random.percent(25) {
                    to["maxProperties"] = json!(3);
                }
                if self.random.percent(25) {
                    to["type"] = json!(*self.random.of(&["string", "object", "array"]));
                }
                to
            }
            8 => json!({"$ref": "#"}),
            9 => json!({"type": "boolean", "title": "a secret"}),
            10 => {
                let items = if self.random.percent(50) {
                    json!({"type": "integer"})
                } else {
                    self.leaf()
                };
                json!({"type": "array", "items": items, "minItems": 1, "uniqueItems": true})
            }
            _ => json!({"type": "object", "minProperties": 1}),
        }
    }

    fn map(&mut self, depth: usize) -> Value {
        let count = 1 + self.random.below(3);
        let members = (0..count).map(|_| (self.random.key(), self.any(depth + 1)));
        Value::Object(members.collect())
    }

    fn names(&mut self) -> Value {
        let mut names = vec![self.random.key()];
        let more = self.random.key();
        if !names.contains(&more) {
            names.push(more);
        }
        json!(names)
    }

    fn list(&mut self, depth: usize) -> Value {
        let count = 1 + self.random.below(3);
        (0..count).map(|_| self.any(depth + 1)).collect()
    }

    fn object(&mut self, depth: usize, of_objects: bool) -> Value {
        let mut made = Map::new();
        if of_objects {
            if self.random.percent(70) {
                made.insert("type".to_owned(), json!("object"));
            }
            made.insert("properties".to_owned(), self.map(depth));
        } else if self.random.percent(70) {
            made.insert("type".to_owned(), json!("array"));
            made.insert("items".to_owned(), self.any(depth + 1));
        }
        for _ in 0..self.random.below(4) {
            let (keyword, value) = self.keyword(depth);
            made.insert(keyword.to_owned(), value);
        }
        Value::Object(made)
    }

    fn keyword(&mut self, depth: usize) -> (&'static str, Value) {
        let inner = depth + 1;
        match self.random.below(31) {
            0 | 1 => ("required", self.names()),
            2 if self.random.percent(50) => ("additionalProperties", json!(false)),
            2 | 3 => ("additionalProperties", self.any(inner)),
            4 => {
                let pattern = *self.random.of(&["^a", "b", "", "^s"]);
                ("patternProperties", json!({pattern: self.any(inner)}))
            }
            5 => ("propertyNames", json!({"maxLength": 4})),
            6 => ("minProperties", json!(self.random.below(3))),
            7 => ("maxProperties", json!(2 + self.random.below(3))),
            8 => (
                "dependentRequired",
                json!({self.random.key(): self.names()}),
            ),
            9 => ("dependentSchemas", self.map(inner)),
            10 => ("dependencies", json!({self.random.key(): self.names()})),
            11 => ("dependencies", self.map(inner)),
            12 => ("unevaluatedProperties", self.any(inner)),
            13 => ("unevaluatedItems", self.any(inner)),
            14 if self.latest => ("prefixItems", self.list(inner)),
            14 | 15 if !self.latest => ("items", self.list(inner)),
            15 => ("items", self.any(inner)),
            16 => ("additionalItems", self.any(inner)),
            17 => ("contains", self.any(inner)),
            18 => ("minContains", json!(self.random.below(3))),
            19 => ("maxContains", json!(1 + self.random.below(3))),
            20 => ("uniqueItems", json!(true)),
            21 => ("minItems", json!(self.random.below(3))),
            22 => ("maxItems", json!(1 + self.random.below(3))),
            23 => ("allOf", self.list(inner)),
            24 => ("anyOf", self.list(inner)),
            25 => ("oneOf", self.list(inner)),
            26 => ("not", self.any(inner)),
            27 => ("if", self.any(inner)),
            28 => ("then", self.any(inner)),
            29 => ("else", self.any(inner)),
            _ => ("default", value(self.random, 2)),
        }
    }
}
