//! Projection and the schema that is announced with it, held to their laws over the official suite, made schemas and real tools.
//!
//! - What is valid by a schema is, projected, valid by the projected schema, which is a schema in the same dialect.
//! - Including and excluding at once is excluding after including; projecting twice is projecting once where no path counts items.
//! - What an expression gives is valid by the schema that is inferred for it.

mod expressions;
mod generate;
mod schemas;

use crate::schemas::{corpus::outputs, suite::cases};
use crossfeed_json::Document;
use crossfeed_output_schema::{NoProjectedSchema, projected_schema};
use crossfeed_projection::Projection;
use crossfeed_schema::{check, compile};
use generate::{Random, has_index, instances, projection};
use serde_json::{Value, json};
use std::io::{self, Write as _};

/// How many schemas are made.
const SEEDS: u64 = 200;

/// What was looked at.
#[derive(Default)]
struct Tally {
    schemas: usize,
    projections: usize,
    instances: usize,
    /// Instances that a projection changed.
    changed: usize,
    problems: Vec<String>,
}

impl Tally {
    fn report(&self, law: &str) {
        let _ = writeln!(
            io::stdout(),
            "{law}: {} schemas, {} projections, {} instances, of which {} were changed",
            self.schemas,
            self.projections,
            self.instances,
            self.changed
        );
        let shown: Vec<String> = self
            .problems
            .iter()
            .take(8)
            .map(|problem| problem.chars().take(3000).collect())
            .collect();
        assert!(
            self.problems.is_empty(),
            "{law}: {} problems\n- {}\n",
            self.problems.len(),
            shown.join("\n- ")
        );
    }
}

fn projected(value: &Value, projection: &Projection) -> Value {
    let document = Document::new(value.to_string());
    let mut out = Vec::new();
    projection.write(document.root().unwrap(), &mut out);
    serde_json::from_slice(&out).unwrap()
}

fn told(projection: &Projection) -> String {
    let paths = |tree: Option<&crossfeed_projection::PathTree>| -> Option<Vec<String>> {
        Some(tree?.paths().iter().map(ToString::to_string).collect())
    };
    let rules = |paths: &[crossfeed_projection::Path]| -> Vec<String> {
        paths.iter().map(ToString::to_string).collect()
    };
    format!(
        "include {:?} exclude {:?} always {:?} never {:?}",
        paths(projection.include()),
        paths(projection.exclude()),
        rules(projection.rules().always()),
        rules(projection.rules().never())
    )
}

/// Law 7, for one schema, one projection and valid instances.
fn truth(schema: &Value, projection: &Projection, valid: &[&Value], tally: &mut Tally) {
    let outcome = match projected_schema(schema, projection) {
        Ok(outcome) => outcome,
        // What the schema itself does not pass is no question here.
        Err(NoProjectedSchema::Invalid(_)) => return,
        Err(error) => {
            let problem = format!("{error:?}: {schema} by {}", told(projection));
            return tally.problems.push(problem);
        }
    };
    tally.projections += 1;
    let judged = tally.projections;
    let mut wrong = |what: &str| {
        tally.problems.push(format!(
            "{what}\n  schema: {schema}\n  projection: {}\n  projected schema: {outcome}",
            told(projection)
        ));
    };
    if projection.is_everything() && outcome != *schema {
        wrong("nothing is cut, and the schema is another");
    }
    // Judging takes long; what hangs on no instance is judged for some.
    if judged % 8 == 1 {
        if projected_schema(schema, projection).as_ref() != Ok(&outcome) {
            wrong("another outcome the second time");
        }
        if check(&outcome) != check(schema) {
            wrong("read in another dialect");
        }
    }
    let declared = |schema: &Value| schema.get("$schema").cloned();
    if outcome.is_object()
        && schema.get("$schema").is_some()
        && declared(&outcome) != declared(schema)
    {
        wrong("declared in another dialect");
    }
    let validator = match compile(&outcome) {
        Ok(validator) => validator,
        Err(error) => return wrong(&format!("no schema: {error}")),
    };
    for instance in valid {
        let left = projected(instance, projection);
        tally.instances += 1;
        tally.changed += usize::from(left != **instance);
        if let Err(error) = validator.validate(&left) {
            tally.problems.push(format!(
                "{error} at {} by {}\n  schema: {schema}\n  projection: {}\n  projected schema: {outcome}\n  instance: {instance}\n  projected: {left}",
                error.instance_path(),
                error.schema_path(),
                told(projection)
            ));
            return;
        }
    }
}

/// The schema as that of one member, so that paths lead into scalars' and lists' schemas from outside.
fn lifted(schema: &Value) -> Option<Value> {
    let mut root = json!({"type": "object"});
    if let Some(dialect) = schema.get("$schema") {
        root["$schema"] = dialect.clone();
        let text = schema.to_string();
        // Elsewhere its references would mean something else.
        let addresses = ["$ref", "$id", "$dynamicRef", "$anchor", "$recursiveRef"];
        if addresses.iter().any(|address| text.contains(address)) {
            return None;
        }
    }
    let mut inner = schema.clone();
    if let Value::Object(members) = &mut inner {
        members.shift_remove("$schema");
    }
    root["properties"] = json!({"value": inner, "other": {"type": "string"}});
    root["required"] = json!(["value", "other"]);
    root["additionalProperties"] = json!(false);
    Some(root)
}

#[test]
fn projected_schemas_are_true_over_the_official_suite() {
    let mut tally = Tally::default();
    for (at, group) in cases().iter().enumerate() {
        let mut random = Random::new(at as u64 + 1);
        let Ok(own) = compile(&group.schema) else {
            continue;
        };
        tally.schemas += 1;
        let valid: Vec<&Value> = group
            .tests
            .iter()
            .filter(|test| test.valid && own.is_valid(&test.data))
            .map(|test| &test.data)
            .collect();
        truth(&group.schema, &Projection::new(), &valid, &mut tally);
        for instance in &valid {
            for _ in 0..3 {
                let projection = projection(&mut random, instance, &group.schema);
                truth(&group.schema, &projection, &valid, &mut tally);
            }
        }
        let lifted = lifted(&group.schema);
        let Some((lifted, own)) = lifted.and_then(|one| Some((one.clone(), compile(&one).ok()?)))
        else {
            continue;
        };
        let valid: Vec<Value> = valid
            .iter()
            .map(|data| json!({"value": data, "other": "text"}))
            .filter(|data| own.is_valid(data))
            .collect();
        let all: Vec<&Value> = valid.iter().collect();
        for instance in &valid {
            for _ in 0..2 {
                let projection = projection(&mut random, instance, &lifted);
                truth(&lifted, &projection, &all, &mut tally);
            }
        }
    }
    tally.report("the official suite");
    assert!(tally.schemas > 500 && tally.instances > 5_000 && tally.changed > 1_000);
}

#[test]
fn projected_schemas_are_true_over_made_schemas() {
    let mut tally = Tally::default();
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let schema = schemas::schema(&mut random);
        let Ok(own) = compile(&schema) else { continue };
        let made = instances(&schema, &own, &mut random, 6);
        if made.is_empty() {
            continue;
        }
        tally.schemas += 1;
        let valid: Vec<&Value> = made.iter().collect();
        for instance in made.iter().take(3) {
            for _ in 0..2 {
                let projection = projection(&mut random, instance, &schema);
                truth(&schema, &projection, &valid, &mut tally);
            }
        }
    }
    tally.report("made schemas");
    assert!(tally.schemas > 100 && tally.instances > 2_000 && tally.changed > 1_000);
}

#[test]
fn projected_schemas_are_true_over_real_tools() {
    let mut tally = Tally::default();
    let mut without = Vec::new();
    for (at, (name, schema)) in outputs().iter().enumerate() {
        let mut random = Random::new(at as u64 + 1);
        let own = compile(schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        let made = instances(schema, &own, &mut random, 5);
        if made.is_empty() {
            without.push(name.clone());
            continue;
        }
        tally.schemas += 1;
        let valid: Vec<&Value> = made.iter().collect();
        truth(schema, &Projection::new(), &valid, &mut tally);
        for instance in &made {
            for _ in 0..2 {
                let projection = projection(&mut random, instance, schema);
                truth(schema, &projection, &valid, &mut tally);
            }
        }
    }
    let _ = writeln!(io::stdout(), "no instances for {without:?}");
    tally.report("real tools");
    assert!(without.len() * 20 <= tally.schemas, "none for {without:?}");
    assert!(tally.schemas > 20 && tally.changed > 300);
}

#[test]
fn include_then_exclude_is_their_composition() {
    let mut compared = 0;
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let value = generate::value(&mut random, 0);
        let both = generate::plain(&mut random, &value);
        let mut included = Projection::new();
        if let Some(tree) = both.include() {
            included = included.with_include(tree.clone());
        }
        let mut excluded = Projection::new();
        if let Some(tree) = both.exclude() {
            excluded = excluded.with_exclude(tree.clone());
        }
        let at_once = projected(&value, &both);
        let in_turn = projected(&projected(&value, &included), &excluded);
        assert_eq!(at_once, in_turn, "{value} by {}", told(&both));
        compared +=
            usize::from(at_once != value && both.include().is_some() && both.exclude().is_some());
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn projecting_twice_is_projecting_once() {
    let mut compared = 0;
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let value = generate::value(&mut random, 0);
        let projection = projection(&mut random, &value, &json!({}));
        if has_index(&projection) {
            continue;
        }
        let once = projected(&value, &projection);
        let twice = projected(&once, &projection);
        assert_eq!(once, twice, "{value} by {}", told(&projection));
        compared += usize::from(once != value);
    }
    assert!(compared > 300, "{compared}");
}
