//! JSON Merge Patch.

use crate::{merged, oracle};
use proptest::prelude::*;
use serde_json::{Value, json};

/// RFC 7396, appendix A: original, patch, result.
const EXAMPLES: [(&str, &str, &str); 15] = [
    (r#"{"a":"b"}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
    (r#"{"a":"b"}"#, r#"{"a":null}"#, r#"{}"#),
    (r#"{"a":"b","b":"c"}"#, r#"{"a":null}"#, r#"{"b":"c"}"#),
    (r#"{"a":["b"]}"#, r#"{"a":"c"}"#, r#"{"a":"c"}"#),
    (r#"{"a":"c"}"#, r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
    (
        r#"{"a":{"b":"c"}}"#,
        r#"{"a":{"b":"d","c":null}}"#,
        r#"{"a":{"b":"d"}}"#,
    ),
    (r#"{"a":[{"b":"c"}]}"#, r#"{"a":[1]}"#, r#"{"a":[1]}"#),
    (r#"["a","b"]"#, r#"["c","d"]"#, r#"["c","d"]"#),
    (r#"{"a":"b"}"#, r#"["c"]"#, r#"["c"]"#),
    (r#"{"a":"foo"}"#, "null", "null"),
    (r#"{"a":"foo"}"#, r#""bar""#, r#""bar""#),
    (r#"{"e":null}"#, r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
    ("[1,2]", r#"{"a":"b","c":null}"#, r#"{"a":"b"}"#),
    ("{}", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
];

#[test]
fn the_examples_of_the_rfc() {
    for (original, patch, result) in EXAMPLES {
        let patch = serde_json::from_str(patch).unwrap();
        assert_eq!(
            merged(original, &patch).unwrap(),
            result,
            "{original} {patch}"
        );
    }
}

#[test]
fn other_bytes_stay() {
    let json = "{\n  \"a\": 1.50,\n  \"b\": {\"x\" : [ ], \"y\": \"\\u00e9\"},\n  \"c\": null\n}";
    let merge = json!({"b": {"x": 2, "z": [null, {"k": null}]}, "c": null, "d": {"e": {"f": null, "g": 1}}});
    assert_eq!(
        merged(json, &merge).unwrap(),
        "{\n  \"a\": 1.50,\n  \"b\": {\"x\" : 2, \"y\": \"\\u00e9\", \"z\": [null,{\"k\":null}]},\n  \"d\": {\"e\":{\"g\":1}}\n}"
    );
    assert_eq!(
        merged(r#"{ "a" : 1 }"#, &json!({})).unwrap(),
        r#"{ "a" : 1 }"#
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Merging does to the bytes what the RFC's pseudo-code does to the value.
    #[test]
    fn a_merge_does_what_the_rfc_says(json in oracle::any_document(), other in oracle::any_document(), new in oracle::any_value()) {
        let value: Value = serde_json::from_str(&json).unwrap();
        let other: Value = serde_json::from_str(&other).unwrap();
        for merge in [new, other] {
            let expected = oracle::merge_patch(value.clone(), &merge);
            let found: Value = serde_json::from_str(&merged(&json, &merge).unwrap()).unwrap();
            prop_assert_eq!(found.to_string(), expected.to_string(), "{} {}", json, merge);
        }
    }
}
