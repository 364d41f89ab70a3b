//! The depth of a `serde_json::Value`. A program can build one of any depth, and any recursion over it, its
//! drop included, would overflow the stack: so the depth is checked first.

use serde_json::Value;

/// Whether lists and objects nest deeper than `limit` within each other.
pub fn is_deeper(value: &Value, limit: usize) -> bool {
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        if !(value.is_array() || value.is_object()) {
            continue;
        }
        if depth > limit {
            return true;
        }
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => open.extend(members.values().map(|value| (value, depth + 1))),
            _ => {}
        }
    }
    false
}

/// Drops a value without recursion, so that its depth does not matter.
pub fn dismantle(value: Value) {
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        match value {
            Value::Array(items) => stack.extend(items),
            Value::Object(members) => stack.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_deeper;
    use serde_json::json;

    #[test]
    fn depth_counts_lists_and_objects() {
        assert!(!is_deeper(&json!(1), 0));
        assert!(is_deeper(&json!([]), 0));
        assert!(!is_deeper(&json!({"a": [1], "b": 2}), 2));
        assert!(is_deeper(&json!({"b": 2, "a": [{}]}), 2));
    }
}
