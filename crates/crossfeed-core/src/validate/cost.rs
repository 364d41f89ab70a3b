//! Bounds the cost of validation: with references in a schema, a few hundred bytes of schema and value can
//! require 2^100 evaluations, and the validator itself has no budget.
//!
//! The evaluations of a subschema on a value are counted without performing them: each pair of subschema and
//! value is examined once, however often it would be evaluated.

use crate::{arguments::count_of, error::ValidationCost};
use crossfeed_schema::{
    Dialect, Document, address,
    index::{Index, visit_all},
    keywords::{self, Applies, Step as At},
};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// The evaluations that the arguments of one call may always take.
const MAX_STEPS: u64 = 10_000_000;
/// Further evaluations for each value of the arguments.
const STEPS_PER_VALUE: u64 = 50;
/// The most pairs of subschema and value that are examined, besides one for each value.
const MAX_PAIRS: usize = 1_000_000;
/// An evaluation that explains mismatches counts as this many that only detect them, because it collects the
/// mismatches of every alternative at every level.
const EXPLANATION_WEIGHT: u64 = 50;
/// The steps per value for a schema of another document that the validator knows: the largest, that of JSON
/// Schema, takes fewer.
const FOREIGN_STEPS_PER_VALUE: u64 = 200;

/// The steps that all validations of one call may take together. Schemas without a graph need none.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    limit: u64,
    left: u64,
    pairs: usize,
}

impl Steps {
    /// The steps for these arguments.
    pub(super) fn new(arguments: &Value) -> Self {
        let values = count_of(arguments);
        let limit = MAX_STEPS.saturating_add(STEPS_PER_VALUE.saturating_mul(values as u64));
        Self {
            limit,
            left: limit,
            pairs: MAX_PAIRS.saturating_add(values),
        }
    }

    /// Pays for one validation, if the schema has a graph. Once the steps do not suffice, none are left.
    pub(super) fn pay(
        &mut self,
        graph: Option<&Graph>,
        value: &Value,
        explained: bool,
    ) -> Result<(), ValidationCost> {
        let Some(graph) = graph else { return Ok(()) };
        let weight = if explained { EXPLANATION_WEIGHT } else { 1 };
        let cost = graph.cost(value, self.left / weight, self.pairs);
        self.left = cost.map_or(0, |cost| self.left.saturating_sub(cost * weight));
        match self.left {
            0 => Err(ValidationCost { limit: self.limit }),
            _ => Ok(()),
        }
    }
}

/// An evaluation that a subschema causes.
#[derive(Debug)]
enum Step {
    /// A subschema of the document.
    Subschema(usize, Instance),
    /// A schema of another document, on the same value and all values in it.
    Foreign,
}

/// The instance that a subschema is evaluated on.
#[derive(Debug)]
enum Instance {
    /// The same value.
    Value,
    /// The member of this name.
    Member(Box<str>),
    Members,
    /// The item at this place.
    Item(usize),
    Items,
    /// Each name of a member.
    Names,
}

/// The subschemas of a schema, each with the evaluations that it causes; the first is the schema itself.
#[derive(Debug)]
pub(super) struct Graph(Vec<Vec<Step>>);

impl Graph {
    /// The graph of a schema that holds references. Other schemas cost no more than the length of the value,
    /// and need none.
    pub(super) fn new(schema: &Value, dialect: Dialect, index: &Index) -> Option<Self> {
        if index.is_empty() {
            return None;
        }
        let document = Document::indexed(schema, dialect, index);
        let mut dynamic = Vec::new();
        visit_all(schema, index, &mut |object, at| {
            let named = object.get("$dynamicAnchor").and_then(Value::as_str);
            let name = named.or(object.contains_key("$recursiveAnchor").then_some(""));
            dynamic.extend(name.zip(schema.pointer(at)));
        });
        let mut numbers = HashMap::new();
        let mut open = Vec::new();
        let mut number = |schema, open: &mut Vec<_>| {
            let next = numbers.len();
            *numbers.entry(address(schema)).or_insert_with(|| {
                open.push(schema);
                next
            })
        };
        number(schema, &mut open);
        let mut nodes = Vec::new();
        let mut done = 0;
        while let Some(&schema) = open.get(done) {
            let mut number = |subschema| number(subschema, &mut open);
            nodes.push(steps(schema, &document, &dynamic, &mut number));
            done += 1;
        }
        Some(Self(nodes))
    }

    /// Whether a small value may take long: the schema refers to itself, or reaches one of its parts on very
    /// many paths.
    pub(super) fn is_slow(&self) -> bool {
        const MAX_WAYS: u64 = 10_000;
        let nodes = self.0.len();
        let next = |node: usize| {
            self.0[node].iter().filter_map(|step| match step {
                Step::Subschema(to, _) => Some(*to),
                Step::Foreign => None,
            })
        };
        // How many steps lead to each node from nodes that are not done.
        let mut left: Vec<usize> = vec![0; nodes];
        for to in (0..nodes).flat_map(next) {
            left[to] += 1;
        }
        // A node is done once all that lead to it are; the nodes of a cycle never are.
        let mut ways: Vec<u64> = (0..nodes).map(|node| u64::from(node == 0)).collect();
        let mut open: Vec<usize> = (0..nodes).filter(|node| left[*node] == 0).collect();
        let mut done = 0;
        while let Some(node) = open.pop() {
            done += 1;
            if ways[node] > MAX_WAYS {
                return true;
            }
            for to in next(node) {
                ways[to] = ways[to].saturating_add(ways[node]);
                left[to] -= 1;
                if left[to] == 0 {
                    open.push(to);
                }
            }
        }
        done < nodes
    }

    /// The evaluations on a value, if they are at most `most` and take at most `pairs` pairs to
    /// count.
    fn cost(&self, value: &Value, most: u64, pairs: usize) -> Option<u64> {
        /// The evaluations of each pair: `None` while they are being counted.
        type Counts = HashMap<(usize, usize), Option<u64>>;
        let mut known = Counts::new();
        let mut open = vec![(0, value, false)];
        let mut looked: u64 = 0;
        while let Some((node, value, counted)) = open.pop() {
            let pair = (node, identity(value));
            if !counted {
                if known.contains_key(&pair) {
                    continue;
                }
                known.insert(pair, None);
                open.push((node, value, true));
                self.parts(node, value, &mut |part, value, times| {
                    looked = looked.saturating_add(times);
                    let Some(value) = value else { return };
                    let more = looked <= most && open.len() <= pairs;
                    if more
                        && !self.0[part].is_empty()
                        && !known.contains_key(&(part, identity(value)))
                    {
                        open.push((part, value, false));
                    }
                });
                if looked > most || open.len() > pairs || known.len() > pairs {
                    return None;
                }
                continue;
            }
            let mut total: u64 = 1;
            self.parts(node, value, &mut |part, value, times| {
                let each = match value {
                    Some(value) if !self.0[part].is_empty() => {
                        // A pair within itself is not evaluated again.
                        let counted = known.get(&(part, identity(value)));
                        counted.copied().flatten().unwrap_or(0)
                    }
                    _ => 1,
                };
                total = total.saturating_add(each.saturating_mul(times));
            });
            if total > most {
                return None;
            }
            known.insert(pair, Some(total));
        }
        known.get(&(0, identity(value))).copied().flatten()
    }

    /// Calls `tell` with each subschema that a node has evaluated, the value, and how often; without a value
    /// each evaluation is one step.
    fn parts<'v>(
        &self,
        node: usize,
        value: &'v Value,
        tell: &mut dyn FnMut(usize, Option<&'v Value>, u64),
    ) {
        const NAME: &Value = &Value::Null;
        let members = || value.as_object().into_iter().flat_map(Map::values);
        for step in &self.0[node] {
            let Step::Subschema(part, on) = step else {
                let values = count_of(value) as u64;
                tell(node, None, values.saturating_mul(FOREIGN_STEPS_PER_VALUE));
                continue;
            };
            let mut tell_once = |value| tell(*part, Some(value), 1);
            match on {
                Instance::Value => tell_once(value),
                Instance::Member(name) => value.get(&**name).into_iter().for_each(tell_once),
                Instance::Members => members().for_each(tell_once),
                Instance::Item(at) => value.get(*at).into_iter().for_each(tell_once),
                Instance::Items => value.as_array().into_iter().flatten().for_each(tell_once),
                Instance::Names => match members().count() as u64 {
                    0 => {}
                    names => tell(*part, Some(NAME), names),
                },
            }
        }
    }
}

/// The evaluations that a schema causes. A dynamic reference counts for all of its possible targets, which
/// `dynamic` names.
fn steps<'s>(
    schema: &'s Value,
    document: &Document<'s>,
    dynamic: &[(&str, &'s Value)],
    number: &mut dyn FnMut(&'s Value) -> usize,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for link in document.links(schema) {
        steps.push(match link.target {
            Some(target) => Step::Subschema(number(target), Instance::Value),
            None => Step::Foreign,
        });
        if link.keyword != "$ref" {
            let text = schema.get(link.keyword).and_then(Value::as_str);
            let name = text.and_then(|text| Some(text.split_once('#')?.1));
            for (_, target) in dynamic.iter().filter(|(own, _)| Some(*own) == name) {
                steps.push(Step::Subschema(number(target), Instance::Value));
            }
        }
    }
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let Some((holds, applies)) = keywords::subschemas(keyword) else {
            continue;
        };
        if applies == Applies::Nowhere {
            continue;
        }
        for (place, schema) in keywords::held(holds, value) {
            let on = match (applies, place) {
                (Applies::Here | Applies::Nowhere, _) => Instance::Value,
                (Applies::Names, _) => Instance::Names,
                (_, At::Key(name)) if keyword == "properties" => Instance::Member(name.into()),
                (_, At::Key(_)) => Instance::Members,
                (_, At::Index(at)) => Instance::Item(at),
                (_, At::Keyword) if keyword.ends_with("Properties") => Instance::Members,
                (_, At::Keyword) => Instance::Items,
            };
            steps.push(Step::Subschema(number(schema), on));
        }
    }
    steps
}

/// The address of a list or object that is not empty; 0 for any other value, because all of those cost the
/// same.
fn identity(value: &Value) -> usize {
    match value {
        Value::Array(items) if !items.is_empty() => address(value),
        Value::Object(members) if !members.is_empty() => address(value),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Graph;
    use crossfeed_schema::index::Index;
    use serde_json::{Value, json};

    fn graph(schema: &Value) -> Option<Graph> {
        let (dialect, index) = Index::lenient(schema);
        Graph::new(schema, dialect, &index)
    }

    fn cost(schema: &Value, value: &Value) -> Option<u64> {
        graph(schema).unwrap().cost(value, 10_000_000, 1_000_000)
    }

    #[test]
    fn schemas_without_references_are_not_counted() {
        assert!(graph(&json!({"properties": {"$ref": {"type": "string"}}})).is_none());
        assert!(graph(&json!(true)).is_none());
    }

    #[test]
    fn every_evaluation_is_counted() {
        let schema = json!({"items": {"$ref": "#/$defs/t"}, "$defs": {"t": {"type": "integer"}}});
        // The list, and for each item the subschema and what it refers to.
        assert_eq!(cost(&schema, &json!([1, 2, 3])), Some(7));
        assert_eq!(cost(&schema, &json!(1)), Some(1));
        let names = json!({"propertyNames": {"$ref": "#/$defs/a%7E1b"}, "$defs": {"a/b": {}}});
        assert_eq!(cost(&names, &json!({"a": 1, "b": 2})), Some(5));
    }

    #[test]
    fn what_may_take_long_on_a_small_value_is_slow() {
        let is_slow = |schema: Value| graph(&schema).unwrap().is_slow();
        let doubling = |levels: usize| {
            let defs = (0..levels).map(|level| {
                let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
                let inner = json!({"properties": {"a": next, "b": next}});
                (format!("d{level}"), inner)
            });
            let mut defs: serde_json::Map<_, _> = defs.collect();
            defs.insert(format!("d{levels}"), json!({"type": "string"}));
            json!({"$ref": "#/$defs/d0", "$defs": defs})
        };
        assert!(!is_slow(doubling(3)));
        assert!(!is_slow(doubling(12)));
        assert!(is_slow(doubling(20)));
        assert!(is_slow(json!({"properties": {"a": {"$ref": "#"}}})));
        let plain = json!({"properties": {"a": {"$ref": "#/$defs/t"}, "b": {"$ref": "#/$defs/t"}},
            "$defs": {"t": {"type": "object", "properties": {"c": {"$ref": "#/$defs/u"}}}, "u": {}}});
        assert!(!is_slow(plain));
    }

    #[test]
    fn every_kind_of_reference_is_followed() {
        let nested = (0..40).fold(json!({}), |inner, _| json!({"t": inner}));
        for (id, reference) in [
            ("$anchor", json!({"$ref": "#n"})),
            ("$dynamicAnchor", json!({"$dynamicRef": "#n"})),
            ("$id", json!({"$ref": "n"})),
            ("$id", json!({"$ref": "crossfeed:///n#"})),
            ("$comment", json!({"$ref": "#/$defs/t"})),
            ("$comment", json!({"$recursiveRef": "#"})),
        ] {
            let twice = json!({"anyOf": [reference, {"allOf": [reference]}]});
            let mut schema = json!({"properties": {"t": twice}, "$ref": "#/$defs/t", "$defs": {"t": {"properties": {"t": twice}}}});
            schema["$defs"]["t"][id] = json!("n");
            assert_eq!(cost(&schema, &nested), None, "{schema}");
        }
    }

    #[test]
    fn what_refers_to_itself_ends() {
        assert_eq!(cost(&json!({"$ref": "#"}), &json!([1])), Some(1));
        let meta = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
        assert_eq!(cost(&meta, &json!([1])), Some(401));
    }
}
