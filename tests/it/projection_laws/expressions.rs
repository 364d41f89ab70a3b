//! The schema that is inferred for an expression, held to what the expression gives.

use super::{
    SEEDS,
    generate::{Random, instances},
    outputs, schemas,
};
use crossfeed_core::infer_schema;
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use crossfeed_schema::{check, compile};
use serde_json::Value;
use std::io::{self, Write as _};

/// An expression that follows a value, more or less.
fn expression(random: &mut Random, root: &Value, depth: usize) -> String {
    let mut text = String::new();
    let mut here = root;
    for _ in 0..1 + random.below(4) {
        match here {
            Value::Object(members) if !members.is_empty() => {
                let (key, inner) = members.iter().nth(random.below(members.len())).unwrap();
                let dot = if text.is_empty() { "" } else { "." };
                if random.percent(10) {
                    text.push_str(&format!("{dot}*"))
                } else {
                    text.push_str(&format!("{dot}{}", Value::from(key.as_str())))
                }
                here = inner;
            }
            Value::Array(items) if !items.is_empty() => {
                let at = random.below(items.len());
                let parts = ["[*]", "[]", "[1:]", "[?@]", "[0]", "[-1]", "[::-1]"];
                text.push_str(parts[random.below(parts.len())]);
                here = &items[at];
            }
            _ => break,
        }
    }
    if text.is_empty() {
        text.push('@');
    }
    if depth > 2 {
        return text;
    }
    let more = |random: &mut Random| expression(random, here, depth + 1);
    match random.below(30) {
        0 => format!("{text} | {}", more(random)),
        1 => format!("{text}.[{}, {}]", more(random), more(random)),
        2 | 3 => format!("{text}.{{a: {}, b: {}}}", more(random), more(random)),
        4 => format!("{text} || {}", more(random)),
        5 => format!("{text} && {}", more(random)),
        6 => format!("!{text}"),
        7 => format!("{text} == {}", more(random)),
        8 => format!("[{text} > `1`, {text}]"),
        9 => format!("length({text})"),
        10 => format!("keys({text})"),
        11 => format!("values({text})"),
        12 => format!("to_array({text})"),
        13 => format!("sort({text})"),
        14 => format!("max({text})"),
        15 => format!("reverse({text})"),
        16 => format!("map(&{}, {text})", more(random)),
        17 => format!("not_null({text}, {})", more(random)),
        18 => format!("sort_by({text}, &{})", more(random)),
        19 => format!("to_string({text})"),
        20 => format!("[to_number({text}), sum({text}), type({text})]"),
        21 => format!("merge({text}, {text})"),
        22 => format!("[{text}, min_by({text}, &{})]", more(random)),
        23 => format!("{text}[?{}].{{x: @, n: `null`}}", more(random)),
        _ => text,
    }
}

/// What an expression gives, if anything.
fn given(expression: &Expression, instance: &Value) -> Option<Value> {
    let document = Document::new(instance.to_string());
    let (arena, budget) = (Arena::new(), Budget::new(&Limits::default(), 10_000));
    let view = View::from(document.root().unwrap());
    let given = evaluate(expression, &view, &arena, &budget).ok()??;
    given.to_value(&mut 10_000_000).ok()
}

#[test]
fn what_expressions_give_is_valid_by_what_is_inferred() {
    let mut judged = 0;
    let mut inferred_for = 0;
    let made = (0..SEEDS).map(|seed| schemas::schema(&mut Random::new(seed)));
    let real = outputs().into_iter().map(|(_, schema)| schema);
    for (seed, schema) in made.chain(real).enumerate() {
        let mut random = Random::new(seed as u64);
        let Ok(own) = compile(&schema) else { continue };
        let valid = instances(&schema, &own, &mut random, 3);
        for about in &valid {
            for _ in 0..4 {
                let text = expression(&mut random, about, 0);
                let Ok(expression) = Expression::parse(&text) else {
                    continue;
                };
                let Some(inferred) = infer_schema(&schema, &expression) else {
                    continue;
                };
                inferred_for += 1;
                assert!(check(&inferred).is_ok(), "{text} on {schema}: {inferred}");
                let validator = compile(&inferred).unwrap();
                for instance in &valid {
                    let Some(given) = given(&expression, instance) else {
                        continue;
                    };
                    judged += 1;
                    assert!(
                        validator.is_valid(&given),
                        "`{text}` gives {given}\n  of {instance}\n  schema: {schema}\n  inferred: {inferred}"
                    );
                }
            }
        }
    }
    let _ = writeln!(
        io::stdout(),
        "{inferred_for} schemas inferred, {judged} values judged"
    );
    assert!(inferred_for > 500 && judged > 500);
}
