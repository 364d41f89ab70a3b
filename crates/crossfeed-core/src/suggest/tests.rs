use super::{FitTest, ParameterSchema, Suggestion, Trial};
use crate::{
    error::{Alternatives, KnownId, comparison_budget},
    select::SelectOptions,
};
use crossfeed_jmespath::{Arena, Budget, Expression, View, evaluate};
use crossfeed_json::Document;
use crossfeed_wire::Pointer;
use proptest::prelude::*;
use serde_json::{Value, json};

fn pointer(text: &str) -> Pointer {
    Pointer::parse(text).unwrap()
}

/// The suggestions on a document.
fn suggest(json: &str, parameter: &ParameterSchema, most: usize) -> Vec<Suggestion> {
    let mut steps = parameter.steps();
    let mut fits = |value: Value, _: Option<&str>| parameter.accepts(&value, &mut steps);
    suggest_by(json, parameter, most, &mut fits)
}

/// The same by a judge of its own.
fn suggest_by(
    json: &str,
    parameter: &ParameterSchema,
    most: usize,
    fits: &mut FitTest<'_>,
) -> Vec<Suggestion> {
    let document = Document::new(json.to_owned());
    let view = View::from(document.root().unwrap());
    let options = SelectOptions::default();
    let arena = Arena::new();
    let budget = Budget::new(&options.limits, document.root().unwrap().value_count());
    let trial = Trial::new(view, &arena, &budget, &options);
    trial.fitting(&parameter.intent, most, fits)
}

/// What a document offers the parameter of a schema at a pointer.
fn check(json: &str, schema: Value, at: &str, expected: &[&str]) {
    let parameter = ParameterSchema::at(&schema, &pointer(at)).unwrap();
    let found = suggest(json, &parameter, 3);
    let found: Vec<&str> = found.iter().map(|found| found.selector.as_str()).collect();
    assert_eq!(found, expected, "{schema} at {at} on {json}");
}

const SEARCH: &str = r#"{
    "total": 2,
    "query": {"text": "rust", "page": 1},
    "items": [
        {"id": 7, "title": "A book", "url": "https://a.example/7", "status": "open",
         "author": {"id": 11, "email": "a@example.org"}, "tags": ["x", "y"], "created": "2024-01-02T03:04:05Z"},
        {"id": 8, "title": "Another", "url": "https://a.example/8", "status": "done",
         "author": {"id": 12, "email": "b@example.org"}, "tags": ["z"], "created": "2024-02-03T03:04:05Z"}
    ]
}"#;

fn tool(name: &str, schema: Value) -> Value {
    json!({"type": "object", "properties": {name: schema}})
}

/// The parts of a result of MCP, as references see them.
#[test]
fn a_text_goes_before_what_an_image_is_of() {
    let parts = r#"["Here it is:", {"data": "iVBORw0K", "encoding": "base64", "mimeType": "image/png"}, "That was it."]"#;
    let text = json!({"type": "string"});
    check(
        parts,
        tool("message", text.clone()),
        "/message",
        &["[0]", "[1].data", "[1].encoding"],
    );
    // Unless it is asked for.
    check(
        parts,
        tool("mime_type", text),
        "/mime_type",
        &["[1].mimeType", "[0]", "[1].data"],
    );
}

#[test]
fn one_value_is_offered_for_a_scalar() {
    let text = json!({"type": "string"});
    check(
        SEARCH,
        tool("url", text.clone()),
        "/url",
        &["items[0].url", "items[0].title", "items[0].author.email"],
    );
    let uri = json!({"type": "string", "format": "uri"});
    check(
        SEARCH,
        tool("target", uri),
        "/target",
        &["items[0].url", "items[0].title", "items[0].author.email"],
    );
    let email = json!({"type": "string", "format": "email"});
    let found = &["items[0].author.email", "items[0].url", "items[0].title"];
    check(SEARCH, tool("to", email), "/to", found);
    let dated = json!({"type": "string", "format": "date-time"});
    let schema = tool("since", dated);
    let parameter = ParameterSchema::at(&schema, &pointer("/since")).unwrap();
    assert_eq!(
        suggest(SEARCH, &parameter, 1)[0].selector,
        "items[0].created"
    );
    check(
        SEARCH,
        tool("page", json!({"type": "integer"})),
        "/page",
        &["query.page", "items[0].id", "items[0].author.id"],
    );
    let status = json!({"type": "string", "enum": ["open", "closed"]});
    check(
        SEARCH,
        tool("state", status),
        "/state",
        &["items[0].status"],
    );
    check(
        SEARCH,
        tool("author_id", json!({"type": "integer"})),
        "/author_id",
        &["items[0].author.id", "items[0].id", "total"],
    );
    check(SEARCH, tool("x", json!({"type": "boolean"})), "/x", &[]);
}

#[test]
fn lists_are_offered_where_lists_are_wanted() {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    check(
        SEARCH,
        tool("urls", texts.clone()),
        "/urls",
        &["items[*].url", "items[*].title", "items[*].author.email"],
    );
    let numbers = json!({"type": "array", "items": {"type": "integer"}});
    check(
        SEARCH,
        tool("ids", numbers),
        "/ids",
        &["items[*].id", "items[*].author.id"],
    );
    check(
        SEARCH,
        tool("tags", texts.clone()),
        "/tags",
        &["items[].tags[]", "items[*].url", "items[*].title"],
    );
    check(
        r#"["u1", "u2"]"#,
        tool("urls", texts.clone()),
        "/urls",
        &["@"],
    );
    let nested =
        r#"{"groups": [{"items": [{"url": "a"}, {"url": "b"}]}, {"items": [{"url": "c"}]}]}"#;
    check(
        nested,
        tool("urls", texts),
        "/urls",
        &["groups[0].items[*].url"],
    );
    let objects = json!({"type": "array", "items": {"type": "object", "required": ["id", "url"]}});
    check(SEARCH, tool("records", objects), "/records", &["items"]);
}

#[test]
fn objects_are_judged_by_their_keys() {
    let record = json!({"type": "object", "required": ["id", "email"]});
    check(SEARCH, tool("user", record), "/user", &["items[0].author"]);
    let none = json!({"type": "object", "required": ["phone"]});
    check(SEARCH, tool("user", none), "/user", &[]);
}

#[test]
fn a_schema_that_admits_all_gets_few() {
    for all in [json!({}), json!(true)] {
        let parameter = ParameterSchema::new(&all).unwrap().with_name("url");
        let found = suggest(SEARCH, &parameter, 3);
        assert_eq!(found[0].selector, "items[0].url");
        assert_eq!(found.len(), 3);
    }
    check(SEARCH, json!(false), "", &[]);
    let long = r#"{"a": [{"b": 1}, {"b": 2}, {"b": 3}]}"#;
    check(long, tool("x", json!({})), "/x", &["@", "a", "a[0].b"]);
}

#[test]
fn schemas_are_found_by_their_places_and_by_their_names() {
    let address = json!({"type": "string", "pattern": "^https://"});
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "url": {"$ref": "#/$defs/address"},
            "filters": {"type": "array", "items": {"$ref": "#/$defs/filter"}},
            "type": {"type": "integer"},
        },
        "required": ["url"],
        "$defs": {
            "address": address,
            "filter": {"type": "object", "properties": {"url": {"$ref": "#/$defs/address"}, "more": {"$ref": "#/$defs/filter"}}},
            "a/b c": {"type": "object", "properties": {"x": {"$ref": "#/$defs/address"}}},
        },
    });
    for at in [
        "/url",
        "/properties/url",
        "/$defs/address",
        "/filters/0/url",
        "/filters/0/more/more/url",
        "/$defs/filter/properties/url",
        "/$defs/a~1b c/properties/x",
    ] {
        check(SEARCH, schema.clone(), at, &["items[0].url"]);
    }
    check(
        SEARCH,
        schema.clone(),
        "/type",
        &["items[0].id", "items[0].author.id", "total"],
    );
    check(
        SEARCH,
        schema,
        "/properties/type",
        &["items[0].id", "items[0].author.id", "total"],
    );
    for draft in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-07/schema#",
    ] {
        let old = json!({
            "$schema": draft,
            "properties": {"url": {"$ref": "#/definitions/u"}, "pair": {"items": [{"$ref": "#/definitions/u"}]}},
            "definitions": {"u": address},
        });
        check(SEARCH, old.clone(), "/url", &["items[0].url"]);
        check(SEARCH, old, "/pair/0", &["items[0].url"]);
    }
    let identified = json!({
        "$id": "https://tools.example/fetch.json",
        "properties": {"url": {"$ref": "fetch.json#/$defs/u"}},
        "$defs": {"u": address},
    });
    check(SEARCH, identified, "/url", &["items[0].url"]);
    let anchored = json!({
        "$id": "fetch.json",
        "properties": {"url": {"$ref": "#u"}},
        "$defs": {"u": {"$anchor": "u", "type": "string", "pattern": "^https://"}},
    });
    check(SEARCH, anchored, "/url", &["items[0].url"]);
    let within_itself = json!({
        "type": "object",
        "required": ["id"],
        "properties": {"parent": {"$ref": "#"}, "id": {"type": "integer"}},
    });
    check(
        SEARCH,
        within_itself.clone(),
        "/parent/parent",
        &["items[0].author", "items[0]"],
    );
    check(
        SEARCH,
        within_itself,
        "/parent/id",
        &["items[0].id", "items[0].author.id", "total"],
    );
    let combined = json!({
        "allOf": [{"properties": {"url": {"type": "string"}}}, {"properties": {"url": address}}],
        "anyOf": [{"properties": {"other": {"type": "integer"}}}, {"properties": {"other": address}}],
    });
    check(SEARCH, combined.clone(), "/url", &["items[0].url"]);
    check(
        SEARCH,
        combined,
        "/other",
        &["items[0].id", "items[0].author.id", "items[0].url"],
    );
    let open = json!({"additionalProperties": address});
    check(SEARCH, open, "/any", &["items[0].url"]);
}

fn check_error(schema: Value, at: &str, message: &str, advice: &str) {
    let error = ParameterSchema::at(&schema, &pointer(at)).unwrap_err();
    assert_eq!(error.code().as_str(), "schema.invalid");
    assert_eq!(
        (error.to_string().as_str(), error.advice().as_str()),
        (message, advice)
    );
}

#[test]
fn a_pointer_that_leads_nowhere_says_what_is_there() {
    let schema = json!({"properties": {"url": {}, "query": {}}});
    check_error(
        schema.clone(),
        "/urll",
        "`/urll` leads to no schema and names no parameter",
        "found: /url, /query\ntry: /url",
    );
    check_error(
        schema.clone(),
        "/properties",
        "`/properties` leads to no schema and names no parameter",
        "found: /url, /query\ntry: /query",
    );
    check_error(
        json!(true),
        "/a",
        "`/a` leads to no schema and names no parameter",
        "found: no parameters\ntry: the whole schema, with the pointer ``",
    );
}

#[test]
fn a_schema_that_is_none_says_what_to_do() {
    check_error(
        json!([]),
        "",
        "a schema is an object or a boolean, this is array",
        "try: {\"type\": \"string\"}, or the whole schema of the tool and a pointer to the parameter",
    );
    check_error(
        json!({"$ref": "#"}),
        "",
        "`#` at `/$ref` leads back to itself",
        "put the schema that is meant in place of `/$ref`",
    );
    let gone = json!({"$ref": "#/gone"});
    check_error(
        tool("a", gone),
        "/a",
        "`#/gone` at `/properties/a/$ref` leads nowhere",
        "give the whole schema that `#/gone` is part of, with a pointer to the parameter",
    );
    let remote = json!({"$ref": "https://a.example/s.json"});
    check_error(
        tool("a", remote),
        "/a",
        "`https://a.example/s.json` at `/properties/a/$ref` is in another document, and nothing is fetched",
        "put what `https://a.example/s.json` refers to under `$defs`, and refer to that",
    );
    // Each is said to be where it is in the document that was given.
    let pattern = json!({"pattern": "["});
    let bogus = json!({"type": "bogus"});
    for (schema, at, place) in [
        (pattern.clone(), "", "/pattern"),
        (tool("a", pattern), "/properties/a", "/properties/a/pattern"),
        (bogus.clone(), "", "/type"),
        (json!({"allOf": [bogus]}), "", "/allOf/0/type"),
        (tool("a", bogus.clone()), "/a", "/properties/a/type"),
        (
            json!({"anyOf": [{}, {"properties": {"a": {"items": bogus}}}]}),
            "/a",
            "/anyOf/1/properties/a/items/type",
        ),
    ] {
        let error = ParameterSchema::at(&schema, &pointer(at)).unwrap_err();
        let message = error.to_string();
        let start = format!("the schema is not valid at `{place}`: ");
        assert!(message.starts_with(&start), "{schema}: {message}");
        let advice = format!("correct the value of `{place}`, or leave it out");
        assert_eq!(error.advice(), advice);
    }
}

#[test]
fn what_loses_digits_or_is_refused_is_not_offered() {
    let json = r#"{"id": 12345678901234567890123, "n": 5, "constructor": 6}"#;
    check(json, tool("id", json!({"type": "integer"})), "/id", &["n"]);
}

#[test]
fn long_lists_hide_nothing_that_is_small() {
    let items = vec![r#"{"blob": "0123456789012345678901234567890123456789", "n": 1}"#; 60_000];
    let json = format!(r#"{{"items": [{}], "names": ["a"]}}"#, items.join(","));
    let texts = json!({"type": "array", "items": {"type": "string"}});
    check(&json, tool("blobs", texts), "/blobs", &["names"]);
}

#[test]
fn unknown_ids_are_offered_what_is_alike() {
    let there = |ids: &[(&str, Option<&str>)]| -> Vec<KnownId> {
        let there = ids
            .iter()
            .map(|(id, of)| KnownId::new(id, of.map(Into::into)));
        there.collect()
    };
    let calls = there(&[
        ("call_1", Some("search")),
        ("call_2", None),
        ("job", Some("fetch")),
    ]);
    let advice = |id: &str, there: &[KnownId]| {
        Alternatives::new(id, there, &mut comparison_budget()).advice("results", "do this")
    };
    assert_eq!(
        advice("call_l", &calls),
        "found: call_2, call_1 (search)\ntry: call_2"
    );
    assert_eq!(
        advice("Call_1", &calls),
        "found: call_1 (search)\ntry: call_1"
    );
    assert_eq!(
        advice("x", &calls),
        "found: job (fetch), call_2, call_1 (search)\ntry: job; otherwise do this"
    );
    let many: Vec<KnownId> = (0..5).flat_map(|_| calls.clone()).collect();
    assert!(advice("x", &many).contains(", 12 more\n"));
    assert_eq!(
        advice("x", &[]),
        "found: no results in this session\ndo this"
    );
    assert_eq!(
        Alternatives::default().advice("results", "do this"),
        "do this"
    );
}

#[test]
fn only_so_many_values_are_judged() {
    let members = (0..1000).map(|n| format!("\"m{n}\": [{n}]"));
    let json = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    let any = ParameterSchema::new(&json!({})).unwrap();
    let mut judged = 0;
    let none = suggest_by(&json, &any, 3, &mut |_, _| {
        judged += 1;
        false
    });
    assert!(none.is_empty());
    assert_eq!(judged, 60);
    // Nor is more judged than was asked for.
    judged = 0;
    let found = suggest_by(&json, &any, 3, &mut |_, _| {
        judged += 1;
        true
    });
    assert_eq!((found.len(), judged), (3, 3));
}

#[test]
fn any_number_of_unknown_ids_is_compared_for_one_effort() {
    // All alike but for what would have to be looked at pair by pair: 10^10 pairs together.
    let id = |n: usize| format!("{}{n:04}{}", "x".repeat(60), "ab".repeat(96));
    let there: Vec<KnownId> = (0..1000).map(|n| KnownId::new(&id(n), None)).collect();
    let mut effort = comparison_budget();
    let mut alike = 0;
    for n in 0..1000 {
        let wanted = format!("{}{n:04}{}", "x".repeat(60), "ba".repeat(96));
        alike += usize::from(Alternatives::new(&wanted, &there, &mut effort).alike);
        alike += usize::from(Alternatives::new(&id(n), &there, &mut effort).alike);
    }
    // The first is compared with all, the last with none.
    assert!((1..1000).contains(&alike), "{alike}");
    assert!(Alternatives::new(&id(1), &there, &mut comparison_budget()).alike);
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z:/@ .0-9]{0,12}".prop_map(Value::from),
        Just(json!("{\"url\": [1, \"x\"]}")),
        Just(json!("https://a.example")),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop_oneof!["url", "id", "a b", "", "x-y", "[a-c]", "__proto__", "\"q'"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn parameters() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({})),
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "format": "uri"})),
        Just(json!({"type": "integer", "minimum": 0})),
        Just(json!({"type": ["number", "null"]})),
        Just(json!({"type": "array", "items": {"type": "string"}})),
        Just(json!({"type": "array", "minItems": 1})),
        Just(json!({"type": "object", "required": ["url"]})),
        Just(
            json!({"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}}]})
        ),
    ]
}

proptest! {
    #[test]
    fn a_parameter_is_judged_as_within_its_tool(value in documents(), schema in parameters(), refers: bool) {
        let own = if refers { json!({"$ref": "#/$defs/p"}) } else { schema.clone() };
        let tool = json!({"type": "object", "properties": {"url": own}, "$defs": {"p": schema}});
        let whole = jsonschema::validator_for(&tool).unwrap();
        for at in ["/url", "/properties/url", "/$defs/p"] {
            let parameter = ParameterSchema::at(&tool, &pointer(at)).unwrap();
            let accepted = parameter.accepts(&value, &mut parameter.steps());
            prop_assert_eq!(accepted, whole.is_valid(&json!({"url": value})), "{} {}", at, tool);
        }
    }

    #[test]
    fn no_pointer_and_no_schema_is_too_odd(schema in documents(), at in "(/[a-z0-9~ ]{0,3}|/properties|/items|/url|/-){0,4}") {
        if let Some(at) = Pointer::parse(&at)
            && let Err(error) = ParameterSchema::at(&schema, &at)
        {
            prop_assert!(!error.advice().is_empty());
        }
    }

    #[test]
    fn every_suggestion_was_evaluated_and_fits(document in documents(), schema in parameters()) {
        let schema = json!({"properties": {"url": {"$ref": "#/$defs/p"}}, "$defs": {"p": schema}});
        let parameter = ParameterSchema::at(&schema, &pointer("/url")).unwrap();
        let text = document.to_string();
        let found = suggest(&text, &parameter, 5);
        prop_assert!(found.len() <= 5);
        prop_assert_eq!(&found, &suggest(&text, &parameter, 5));
        let parsed = Document::new(text);
        let view = View::from(parsed.root().unwrap());
        let judge = jsonschema::validator_for(&schema["$defs"]["p"]).unwrap();
        for suggestion in &found {
            let expression = Expression::parse(&suggestion.selector).unwrap();
            let arena = Arena::new();
            let budget = Budget::new(&Default::default(), 1000);
            let value = evaluate(&expression, &view, &arena, &budget).unwrap();
            let value = value.unwrap().to_value(&mut usize::MAX.clone()).unwrap();
            prop_assert!(judge.is_valid(&value), "{} of {}", suggestion, document);
            prop_assert!(!suggestion.selector.contains("__proto__"));
        }
    }
}

#[test]
fn a_text_that_is_larger_than_other_values_is_offered() {
    let text = tool("body", json!({"type": "string"}));
    let plain = json!({"content": "word ".repeat(500_000)}).to_string();
    check(&plain, text.clone(), "/body", &["content"]);
    let short = tool("body", json!({"type": "string", "maxLength": 100}));
    check(&plain, short, "/body", &[]);
    let three =
        json!({"a": "x".repeat(1 << 21), "b": "x".repeat(1 << 21), "c": "x".repeat(1 << 21)});
    check(&three.to_string(), text, "/body", &["a", "b"]);
}
