//! Folds: strings of JSON where a provider's subset has no words for a schema.

use crossfeed_json::{TokenVisitor, read_tokens};
use serde_json::{Map, Value, json};

/// The description of a folded place.
const DESCRIPTION: &str = "the value as JSON text";

/// The schema of a folded place. A place is recognised by being exactly this.
pub fn fold_schema() -> Value {
    json!({"type": "string", "description": DESCRIPTION})
}

/// Whether a schema is that of a folded place, which may be null where null is a keyword.
pub fn is_fold(schema: &Value) -> bool {
    schema.as_object().is_some_and(is_fold_object)
}

/// The same of the object that a schema is.
pub(crate) fn is_fold_object(schema: &Map<String, Value>) -> bool {
    let is = |key: &str, value: &str| schema.get(key).and_then(Value::as_str) == Some(value);
    let rest = schema.len() - usize::from(schema.get("nullable") == Some(&Value::Bool(true)));
    rest == 2 && is("type", "string") && is("description", DESCRIPTION)
}

/// The value that a model wrote at a folded place; `None` for text that is not valid JSON, or that nests
/// deeper than 127.
pub fn decode(text: &str) -> Option<Value> {
    // serde_json's own limit of recursion is that of this workspace.
    serde_json::from_str(text).ok()
}

/// How many values [`decode`] builds of a text; none of one that does not begin like JSON.
pub(crate) fn decoded_values(text: &str) -> usize {
    struct Count(usize);
    impl TokenVisitor for Count {
        fn value_end(&mut self, _: usize) {
            self.0 += 1;
        }
    }
    let mut count = Count(0);
    // Values are built of an invalid text up to its fault.
    let _ = read_tokens(text, &mut count);
    count.0
}

#[cfg(test)]
mod tests {
    use super::{decode, decoded_values, fold_schema, is_fold};
    use serde_json::json;

    #[test]
    fn folds_are_known_by_being_exactly_so() {
        assert!(is_fold(&fold_schema()));
        let mut other = fold_schema();
        other["minLength"] = json!(1);
        assert!(!is_fold(&other));
        assert!(!is_fold(&json!({"type": "string"})));
        assert!(!is_fold(&json!(true)));
    }

    #[test]
    fn values_of_a_text_are_counted_without_building_them() {
        assert_eq!(decoded_values(r#" {"b": [1, "[2]"]} "#), 4);
        assert_eq!(decoded_values("[0,0,0"), 3);
        assert_eq!(decoded_values("words, [0,0]"), 0);
    }

    #[test]
    fn text_is_read_to_a_bounded_depth() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(
            decode(r#" {"b": 1, "a": []} "#),
            Some(json!({"b": 1, "a": []}))
        );
        assert_eq!(decode("plain"), None);
        assert!(decode(&nested(127)).is_some());
        assert_eq!(decode(&nested(128)), None);
        assert_eq!(decode(&nested(1_000_000)), None);
    }
}
