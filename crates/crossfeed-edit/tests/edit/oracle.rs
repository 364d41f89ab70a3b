//! The same edits on a `serde_json::Value`, written as the RFCs have them, and random documents.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

/// RFC 6902 on a value, one operation after the other.
pub(crate) fn patch(mut value: Value, patch: &Value) -> Option<Value> {
    for operation in patch.as_array()? {
        let path = tokens(operation["path"].as_str()?);
        let from = operation
            .get("from")
            .map(|from| tokens(from.as_str().unwrap()));
        match operation["op"].as_str()? {
            "add" => add(&mut value, &path, operation["value"].clone())?,
            "remove" => drop(remove(&mut value, &path)?),
            "replace" => *find(&mut value, &path)? = operation["value"].clone(),
            "move" => {
                let from = from?;
                if path.len() > from.len() && path.starts_with(&from) {
                    return None;
                }
                if path == from {
                    find(&mut value, &path)?;
                } else {
                    let moved = remove(&mut value, &from)?;
                    add(&mut value, &path, moved)?;
                }
            }
            "copy" => {
                let copied = find(&mut value, &from?)?.clone();
                add(&mut value, &path, copied)?;
            }
            "test" => {
                if !is_equal(find(&mut value, &path)?, &operation["value"]) {
                    return None;
                }
            }
            _ => return None,
        }
    }
    Some(value)
}

fn tokens(pointer: &str) -> Vec<String> {
    let tokens = pointer.split('/').skip(1);
    tokens
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .collect()
}

fn index(token: &str) -> Option<usize> {
    let index: usize = token.parse().ok()?;
    (index.to_string() == token).then_some(index)
}

fn find<'v>(value: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(value, |value, token| match value {
        Value::Object(map) => map.get_mut(token),
        Value::Array(items) => items.get_mut(index(token)?),
        _ => None,
    })
}

fn add(value: &mut Value, path: &[String], new: Value) -> Option<()> {
    let Some((last, parents)) = path.split_last() else {
        *value = new;
        return Some(());
    };
    match find(value, parents)? {
        Value::Object(map) => {
            map.insert(last.clone(), new);
        }
        Value::Array(items) if last == "-" => items.push(new),
        Value::Array(items) => {
            let index = index(last).filter(|index| *index <= items.len())?;
            items.insert(index, new);
        }
        _ => return None,
    }
    Some(())
}

fn remove(value: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    match find(value, parents)? {
        Value::Object(map) => map.shift_remove(last),
        Value::Array(items) => {
            let index = index(last).filter(|index| *index < items.len())?;
            Some(items.remove(index))
        }
        _ => None,
    }
}

fn is_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let same = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| is_equal(a, b));
            a.len() == b.len() && a.iter().all(same)
        }
        _ => a == b,
    }
}

/// The pseudo-code of RFC 7396, section 2.
pub(crate) fn merge_patch(mut target: Value, patch: &Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch.clone();
    };
    if !target.is_object() {
        target = Value::Object(Map::new());
    }
    let object = target.as_object_mut().unwrap();
    for (name, value) in patch {
        if value.is_null() {
            object.shift_remove(name);
        } else {
            let new = merge_patch(object.get(name).cloned().unwrap_or_default(), value);
            object.insert(name.clone(), new);
        }
    }
    target
}

/// Keys as they are written, some of them the same key.
const KEYS: [&str; 9] = ["a", "b", "\\u0061", "", "a/b", "m~n", "é", "\\u00e9", "1"];

fn blanks() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "", " ", "\n  ", "\t", " \r\n"])
}

/// A JSON text with blanks, escapes, digits and keys as they come from many hands.
pub(crate) fn document(
    keys: &'static [&'static str],
    leaves: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let leaf =
        (blanks(), select(leaves), blanks()).prop_map(|(a, leaf, b)| format!("{a}{leaf}{b}"));
    leaf.prop_recursive(4, 40, 5, move |inner| {
        let list = (vec(inner.clone(), 0..5), blanks()).prop_map(|(items, blanks)| {
            let inside = if items.is_empty() {
                blanks.to_owned()
            } else {
                items.join(",")
            };
            format!("[{inside}]")
        });
        let member = (blanks(), select(keys), blanks(), inner);
        let member = member.prop_map(|(a, key, b, value)| format!("{a}\"{key}\"{b}:{value}"));
        let object = (vec(member, 0..5), blanks()).prop_map(|(members, blanks)| {
            let inside = if members.is_empty() {
                blanks.to_owned()
            } else {
                members.join(",")
            };
            format!("{{{inside}}}")
        });
        (blanks(), prop_oneof![list, object], blanks()).prop_map(|(a, it, b)| format!("{a}{it}{b}"))
    })
}

pub(crate) const LEAVES: [&str; 11] = [
    "1",
    "1.50",
    "1e2",
    "-0.0",
    "\"x\"",
    "\"\\u00e9\"",
    "\"\\/\"",
    "null",
    "true",
    "false",
    "100.0",
];

pub(crate) fn any_document() -> impl Strategy<Value = String> {
    document(&KEYS, &LEAVES)
}

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!(1),
        json!(1.5),
        json!(100),
        json!("x"),
        json!("é\""),
        json!(null),
        json!(false),
    ]);
    leaf.prop_recursive(3, 10, 3, |inner| {
        let key = select(vec!["a", "b", "é", "c", "0"]);
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            vec((key, inner), 0..3).prop_map(|members| {
                members
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

/// A choice of numbers that each draw uses up.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, count: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }

    /// A pointer that mostly leads to something in `value`.
    pub(crate) fn pointer(&mut self, value: &Value) -> String {
        let mut at = value;
        let mut pointer = crossfeed_wire::Pointer::root();
        loop {
            if self.below(4) == 0 {
                return pointer.to_string();
            }
            if self.below(6) == 0 {
                let tokens = ["a", "c", "-", "0", "1", "2", "01", "", "é", "x/y", "~"];
                return pointer.key(tokens[self.below(tokens.len())]).to_string();
            }
            match at {
                Value::Object(map) if !map.is_empty() => {
                    let (key, value) = map.iter().nth(self.below(map.len())).unwrap();
                    (pointer, at) = (pointer.key(key), value);
                }
                Value::Array(items) if !items.is_empty() => {
                    let index = self.below(items.len());
                    (pointer, at) = (pointer.index(index), &items[index]);
                }
                _ => return pointer.to_string(),
            }
        }
    }

    /// A patch of which most operations can be applied to `value`.
    pub(crate) fn patch(&mut self, value: &Value, new: &[Value]) -> Value {
        let mut now = value.clone();
        let mut operations = Vec::new();
        for new in new {
            let path = self.pointer(&now);
            let from = self.pointer(&now);
            let operation = match self.below(7) {
                0 | 1 => json!({"op": "add", "path": path, "value": new}),
                2 => json!({"op": "remove", "path": path}),
                3 => json!({"op": "replace", "path": path, "value": new, "more": 1}),
                4 => json!({"op": "move", "path": path, "from": from}),
                5 => json!({"op": "copy", "path": path, "from": from}),
                _ => {
                    let found = now.pointer(&path).unwrap_or(new);
                    json!({"op": "test", "path": path, "value": found})
                }
            };
            let next = patch(now.clone(), &json!([operation]));
            let is_kept = next.is_some() || self.below(8) == 0;
            if is_kept {
                operations.push(operation);
            }
            now = next.unwrap_or(now);
        }
        Value::Array(operations)
    }
}
