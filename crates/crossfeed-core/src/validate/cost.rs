//! What validating may cost: with references in a schema, a few hundred bytes of schema and value
//! can ask for 2^100 evaluations, and the validator itself has no budget.
//!
//! What comes in: a schema, once, and the values it is to judge. What goes out: how many evaluations
//! of a subschema on a value the validator makes at most, found without making them: each pair of
//! subschema and value is looked at once, however often it would be evaluated.

use crate::error::ValidationCost;
use crossfeed_schema::{
    address,
    index::REFERENCES,
    keywords::{self, Applies, Step as At},
};
use crossfeed_wire::fragment::decoded;
use serde_json::Value;
use std::collections::HashMap;

/// How many evaluations the arguments of one call may take, however small they are.
const STEPS: u64 = 10_000_000;
/// How many more for each value of the arguments.
const STEPS_PER_VALUE: u64 = 50;
/// How many pairs of subschema and value are looked at, and one more for each value.
const PAIRS: usize = 1_000_000;
/// An evaluation that says what does not fit counts as this many that only say whether it fits:
/// what each alternative misses is collected at every level.
const EXPLAINED: u64 = 50;
/// What the schema of another document that the validator itself knows asks of each value: the
/// largest, that of JSON Schema, asks less.
const FOREIGN: u64 = 200;

/// The steps that the validations of one call may take together.
#[derive(Debug)]
pub(crate) struct Steps {
    limit: u64,
    left: u64,
    pairs: usize,
}

impl Steps {
    /// As many as the arguments may take.
    pub(super) fn of(arguments: &Value) -> Self {
        let values = count(arguments);
        let limit = STEPS.saturating_add(STEPS_PER_VALUE.saturating_mul(values as u64));
        Self {
            limit,
            left: limit,
            pairs: PAIRS.saturating_add(values),
        }
    }

    /// For schemas that need no counting.
    pub(super) fn uncounted() -> Self {
        Self {
            limit: STEPS,
            left: STEPS,
            pairs: 0,
        }
    }

    /// Pays for one validation; once the steps do not suffice, none is left.
    pub(super) fn pay(
        &mut self,
        graph: &Graph,
        value: &Value,
        explained: bool,
    ) -> Result<(), ValidationCost> {
        if self.left == 0 {
            return Err(ValidationCost { limit: self.limit });
        }
        let weight = if explained { EXPLAINED } else { 1 };
        let cost = graph.cost(value, self.left / weight, self.pairs);
        self.left = cost.map_or(0, |cost| self.left.saturating_sub(cost * weight));
        if self.left == 0 {
            return Err(ValidationCost { limit: self.limit });
        }
        Ok(())
    }
}

/// What a subschema has evaluated, and on what.
#[derive(Debug)]
enum Step {
    /// A subschema on the same value.
    Same(usize),
    /// On the member of this name.
    Member(Box<str>, usize),
    /// On any member.
    Members(usize),
    /// On the item at this place.
    Item(usize, usize),
    /// On any item.
    Items(usize),
    /// On each name of a member.
    Names(usize),
    /// A schema of another document, on the same value and all within.
    Foreign,
}

impl Step {
    /// The subschema that is evaluated.
    fn leads_to(&self) -> Option<usize> {
        match self {
            Self::Same(to)
            | Self::Member(_, to)
            | Self::Members(to)
            | Self::Item(_, to)
            | Self::Items(to)
            | Self::Names(to) => Some(*to),
            Self::Foreign => None,
        }
    }
}

/// The subschemas of a schema by what they have evaluated; the first is the schema itself.
#[derive(Debug)]
pub(super) struct Graph(Vec<Vec<Step>>);

impl Graph {
    /// The graph of a schema that holds references. Others cost what the value is long, and need none.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let places = Places::of(schema);
        if !places.refers {
            return None;
        }
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
            let mut steps = Vec::new();
            places.steps(
                schema,
                &mut |subschema| number(subschema, &mut open),
                &mut steps,
            );
            nodes.push(steps);
            done += 1;
        }
        Some(Self(nodes))
    }

    /// Whether a small value may take long: the schema leads into itself, or by very many ways to one
    /// of its parts.
    pub(super) fn is_slow(&self) -> bool {
        const WAYS: u64 = 10_000;
        let nodes = self.0.len();
        let next = |node: usize| self.steps(node).iter().filter_map(Step::leads_to);
        let mut left: Vec<usize> = vec![0; nodes];
        for node in 0..nodes {
            for to in next(node) {
                if let Some(left) = left.get_mut(to) {
                    *left += 1;
                }
            }
        }
        // Each node once all that lead to it are done; what is part of a circle never is.
        let mut ways: Vec<u64> = (0..nodes).map(|node| u64::from(node == 0)).collect();
        let mut open: Vec<usize> = (0..nodes)
            .filter(|node| left.get(*node) == Some(&0))
            .collect();
        let mut done = 0;
        while let Some(node) = open.pop() {
            done += 1;
            let own = ways.get(node).copied().unwrap_or_default();
            if own > WAYS {
                return true;
            }
            for to in next(node) {
                if let Some(ways) = ways.get_mut(to) {
                    *ways = ways.saturating_add(own);
                }
                if let Some(left) = left.get_mut(to) {
                    *left -= 1;
                    if *left == 0 {
                        open.push(to);
                    }
                }
            }
        }
        done < nodes
    }

    fn steps(&self, node: usize) -> &[Step] {
        self.0.get(node).map_or(&[], Vec::as_slice)
    }

    /// The evaluations on a value, if they are at most `most` and take at most `pairs` pairs to
    /// count.
    fn cost(&self, value: &Value, most: u64, pairs: usize) -> Option<u64> {
        /// What is known of a pair: `None` while it is being counted.
        type Known = HashMap<(usize, usize), Option<u64>>;
        let mut known = Known::new();
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
                        && !self.steps(part).is_empty()
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
                    Some(value) if !self.steps(part).is_empty() => {
                        // A pair within itself is not evaluated again.
                        known
                            .get(&(part, identity(value)))
                            .copied()
                            .flatten()
                            .unwrap_or(0)
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

    /// Tells each subschema that a node has evaluated, on which value and how often; without a value
    /// each time is one step.
    fn parts<'v>(
        &self,
        node: usize,
        value: &'v Value,
        tell: &mut dyn FnMut(usize, Option<&'v Value>, u64),
    ) {
        const NAME: &Value = &Value::Null;
        let members = || {
            value
                .as_object()
                .into_iter()
                .flatten()
                .map(|(_, value)| value)
        };
        let items = || value.as_array().into_iter().flatten();
        for step in self.steps(node) {
            match step {
                Step::Same(part) => tell(*part, Some(value), 1),
                Step::Member(name, part) => {
                    if let Some(value) = value.as_object().and_then(|members| members.get(&**name))
                    {
                        tell(*part, Some(value), 1);
                    }
                }
                Step::Members(part) => members().for_each(|value| tell(*part, Some(value), 1)),
                Step::Item(at, part) => {
                    if let Some(value) = value.as_array().and_then(|items| items.get(*at)) {
                        tell(*part, Some(value), 1);
                    }
                }
                Step::Items(part) => items().for_each(|value| tell(*part, Some(value), 1)),
                Step::Names(part) => {
                    let names = members().count() as u64;
                    if names > 0 {
                        tell(*part, Some(NAME), names);
                    }
                }
                Step::Foreign => {
                    let values = count(value) as u64;
                    tell(node, None, values.saturating_mul(FOREIGN));
                }
            }
        }
    }
}

/// What stands where in a schema.
struct Places<'s> {
    whole: &'s Value,
    /// The schemas with an `$id`, by its last segment.
    resources: HashMap<&'s str, Vec<&'s Value>>,
    /// The schemas with an anchor, by its name.
    anchors: HashMap<&'s str, Vec<&'s Value>>,
    /// The schema with an `$id` around each object that is within one.
    around: HashMap<usize, &'s Value>,
    refers: bool,
}

impl<'s> Places<'s> {
    fn of(whole: &'s Value) -> Self {
        let mut places = Self {
            whole,
            resources: HashMap::new(),
            anchors: HashMap::new(),
            around: HashMap::new(),
            refers: false,
        };
        let mut open = vec![(whole, whole)];
        while let Some((schema, mut around)) = open.pop() {
            match schema {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, around))),
                Value::Object(members) => {
                    let text = |name: &str| members.get(name).and_then(Value::as_str);
                    for id in ["$id", "id"].into_iter().filter_map(text) {
                        match id.strip_prefix('#') {
                            Some(name) => places.anchors.entry(name).or_default().push(schema),
                            None => {
                                around = schema;
                                places
                                    .resources
                                    .entry(segment(id))
                                    .or_default()
                                    .push(schema);
                            }
                        }
                    }
                    for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
                        places.anchors.entry(name).or_default().push(schema);
                    }
                    places.refers |= REFERENCES.into_iter().any(|name| text(name).is_some());
                    places.around.insert(address(schema), around);
                    open.extend(members.values().map(|value| (value, around)));
                }
                _ => {}
            }
        }
        places
    }

    /// What a schema has evaluated.
    fn steps(
        &self,
        schema: &'s Value,
        number: &mut dyn FnMut(&'s Value) -> usize,
        steps: &mut Vec<Step>,
    ) {
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let Some((holds, applies)) = keywords::subschemas(keyword) else {
                if REFERENCES.contains(&keyword.as_str())
                    && let Some(text) = value.as_str()
                {
                    let targets = self.targets(schema, text);
                    if targets.is_empty() {
                        steps.push(Step::Foreign);
                    }
                    steps.extend(targets.into_iter().map(|schema| Step::Same(number(schema))));
                }
                continue;
            };
            if applies == Applies::Nowhere {
                continue;
            }
            for (place, schema) in keywords::held(holds, value) {
                let schema = number(schema);
                steps.push(match (applies, place) {
                    (Applies::Here | Applies::Nowhere, _) => Step::Same(schema),
                    (Applies::Names, _) => Step::Names(schema),
                    (_, At::Key(name)) if keyword == "properties" => {
                        Step::Member(name.into(), schema)
                    }
                    (_, At::Key(_)) => Step::Members(schema),
                    (_, At::Index(at)) => Step::Item(at, schema),
                    (_, At::Keyword) if keyword.ends_with("Properties") => Step::Members(schema),
                    (_, At::Keyword) => Step::Items(schema),
                });
            }
        }
    }

    /// What a reference within `schema` may lead to; all of it where that depends on the way there.
    fn targets(&self, schema: &Value, text: &str) -> Vec<&'s Value> {
        let (base, fragment) = text.split_once('#').unwrap_or((text, ""));
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(fragment).cloned().unwrap_or_default();
        }
        let mut roots = match base {
            "" => vec![
                self.around
                    .get(&address(schema))
                    .copied()
                    .unwrap_or(self.whole),
                self.whole,
            ],
            base => self
                .resources
                .get(segment(base))
                .cloned()
                .unwrap_or_default(),
        };
        roots.dedup_by_key(|root| address(root));
        let Some(pointer) = decoded(fragment) else {
            return Vec::new();
        };
        roots
            .into_iter()
            .filter_map(|root| root.pointer(&pointer))
            .collect()
    }
}

/// The last segment of an id: what is left of it however it was resolved.
fn segment(id: &str) -> &str {
    let id = id.split('#').next().unwrap_or_default();
    id.rsplit(['/', ':']).next().unwrap_or_default()
}

/// The address of a list or object that holds something. Nothing else has parts: all others cost
/// the same.
fn identity(value: &Value) -> usize {
    match value {
        Value::Array(items) if !items.is_empty() => address(value),
        Value::Object(members) if !members.is_empty() => address(value),
        _ => 0,
    }
}

/// How many values there are in a value, itself among them.
fn count(value: &Value) -> usize {
    let mut open = vec![value];
    let mut count = 0;
    while let Some(value) = open.pop() {
        count += 1;
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => open.extend(members.values()),
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::Graph;
    use serde_json::{Value, json};

    fn cost(schema: &Value, value: &Value) -> Option<u64> {
        Graph::of(schema)
            .unwrap()
            .cost(value, 10_000_000, 1_000_000)
    }

    #[test]
    fn schemas_without_references_are_not_counted() {
        assert!(Graph::of(&json!({"properties": {"$ref": {"type": "string"}}})).is_none());
        assert!(Graph::of(&json!(true)).is_none());
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
        let is_slow = |schema: Value| Graph::of(&schema).unwrap().is_slow();
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
            ("$id", json!({"$ref": "https://x.example/n#"})),
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
