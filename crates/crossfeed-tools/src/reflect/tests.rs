//! Examples of parameters of ours in each shape and profile, and of what is taken out again.

use super::{FIELDS, SELECT, WHOLE};
use crate::{
    ListOptions, Profile, ReadError, Reflection, RewrittenList, Shape, Spelling, Style, ToolList,
    rewrite_tools,
};
use crossfeed_projection::{FieldsValue, ProjectionRequest, ResourceType, RevealRules};
use serde_json::{Map, Value, json};

fn output() -> Value {
    json!({"type": "object", "properties": {"b": {}, "id": {"type": "integer"}, "a": {}, "pin": {}}})
}

pub(super) fn tool(schema: Value) -> Value {
    json!({"name": "t", "description": "d", "inputSchema": schema, "outputSchema": output()})
}

pub(super) fn list(document: &Value, options: &ListOptions) -> RewrittenList {
    let listed = rewrite_tools(&ToolList::parse(document).unwrap(), options);
    let again = rewrite_tools(&ToolList::parse(document).unwrap(), options);
    assert_eq!(again.value.to_string(), listed.value.to_string());
    listed
}

fn issue() -> ResourceType {
    ResourceType::new("issue")
        .with_preset("minimal", ["id"])
        .unwrap()
}

/// Every way to show a list, with both parameters.
pub(super) fn ways() -> Vec<ListOptions> {
    let reflection = || Reflection::new().with_resource(issue());
    let profiles = Profile::ALL
        .iter()
        .map(|profile| ListOptions::profile(*profile));
    let styles = Style::ALL.iter().flat_map(|style| {
        let spelled = |spelling| ListOptions::style(*style).with_spelling(spelling);
        [Spelling::Dollar, Spelling::Underscore].map(spelled)
    });
    let ways = styles.chain(profiles);
    ways.map(|options| options.with_reflection("t", reflection()))
        .collect()
}

/// The keys that a schema offers, wherever its profile puts them.
pub(super) fn offered(shown: &Value) -> Vec<String> {
    fn enums<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("enum"));
                map.values().for_each(|inner| enums(inner, found));
            }
            Value::Array(items) => items.iter().for_each(|inner| enums(inner, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    enums(&shown["properties"][SELECT], &mut found);
    let words = found
        .into_iter()
        .flat_map(|all| all.as_array().into_iter().flatten());
    words.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Shown with this reflection, a tool offers these keys.
fn check(reflection: Reflection, expected: &[&str]) {
    for options in ways() {
        let options = options.with_reflection("t", reflection.clone());
        let listed = list(
            &json!([tool(json!({"type": "object", "properties": {"q": {}}}))]),
            &options,
        );
        let shown = listed.tools[0].shown_schema();
        assert_eq!(offered(shown), expected, "{shown}");
        let names: Vec<_> = listed.tools[0].reflected().to_vec();
        assert_eq!(names.contains(&SELECT), !expected.is_empty());
    }
}

#[test]
fn keys_are_those_of_the_outputs() {
    let of = |keys: &[&str]| {
        let properties: Map<_, _> = keys
            .iter()
            .map(|key| ((*key).to_owned(), json!({})))
            .collect();
        json!({"type": "object", "properties": properties})
    };
    check(Reflection::new(), &["a", "b", "id", "pin"]);
    check(Reflection::new().with_output(of(&["z", "y"])), &["y", "z"]);
    check(
        Reflection::new()
            .with_output(of(&["z"]))
            .with_output(of(&["y", "z"])),
        &["y", "z"],
    );
    let actions = Reflection::new()
        .with_action("get", of(&["id", "body"]))
        .with_action("find", of(&["total", "id"]));
    check(actions.clone(), &["body", "id", "total"]);
    check(actions.for_action("get"), &["body", "id"]);
    check(actions.for_action("find"), &["id", "total"]);
    let rules = RevealRules::parse([""; 0], ["pin"]).unwrap();
    check(Reflection::new().with_rules(rules), &["a", "b", "id"]);
    // Where no keys are known, there is nothing to choose from.
    check(Reflection::new().with_output(json!({})), &[]);
    check(
        Reflection::new().with_output(json!({"type": "string"})),
        &[],
    );
    check(Reflection::new().with_output(json!(7)), &[]);
}

#[test]
fn many_keys_are_not_listed() {
    let reflection = |count: usize| {
        let keys = (0..count).map(|n| (format!("k{n:03}"), json!({})));
        let properties: Map<_, _> = keys.collect();
        Reflection::new().with_output(json!({"type": "object", "properties": properties}))
    };
    for (count, listed) in [(200, 200), (201, 0)] {
        let options = ListOptions::style(Style::Refs).with_reflection("t", reflection(count));
        let shown = list(&json!([tool(json!({"type": "object"}))]), &options);
        assert_eq!(shown.tools[0].reflected(), [SELECT]);
        assert_eq!(offered(shown.tools[0].shown_schema()).len(), listed);
    }
}

#[test]
fn other_shapes_have_the_same_parameters() {
    let document = json!([tool(
        json!({"type": "object", "properties": {"q": {"type": "string"}}})
    )]);
    for options in ways() {
        for shape in Shape::ALL {
            let listed = list(&document, &options.clone().with_shape(shape));
            let shown = listed.tools[0].shown_schema();
            assert_eq!(offered(shown), ["a", "b", "id", "pin"], "{shape}: {shown}");
            let shown = ToolList::parse(&listed.value).unwrap();
            let tool = shown.tools().next().unwrap();
            assert_eq!(tool.shape(), shape);
            assert!(tool.input_schema()["properties"].get(FIELDS).is_some());
        }
    }
}

#[test]
fn what_is_shown_says_so_in_each_profile() {
    let document = json!([tool(
        json!({"type": "object", "properties": {"q": {"type": "string"}}})
    )]);
    let shown = |profile| {
        let options = ListOptions::profile(profile).with_reflection("t", Reflection::new());
        let listed = list(&document, &options);
        listed.tools[0].shown_schema()["properties"][SELECT].clone()
    };
    let says = "Only these top-level fields of the result; without it, all of them.";
    let items = json!({"type": "string", "enum": ["a", "b", "id", "pin"]});
    assert_eq!(
        shown(Profile::Mcp),
        json!({"type": "array", "items": items, "description": says})
    );
    let strict = shown(Profile::OpenAiStrict);
    assert_eq!(
        strict,
        json!({"type": ["array", "null"], "items": items, "description": says})
    );
}

#[test]
fn a_parameter_of_the_tools_own_wins() {
    let own = json!({"type": "string", "enum": ["x"]});
    for schema in [
        json!({"type": "object", "properties": {SELECT: own, FIELDS: own}}),
        json!({"type": "object", "required": [SELECT, FIELDS]}),
        json!({"type": "object", "allOf": [{"properties": {SELECT: own}}, {"properties": {FIELDS: own}}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": {SELECT: own, FIELDS: own}}}}),
    ] {
        for options in ways() {
            let document = json!([tool(schema.clone())]);
            let listed = list(&document, &options);
            assert!(listed.tools[0].reflected().is_empty(), "{schema}");
            let mut arguments = json!({SELECT: "x", FIELDS: "x"});
            let before = arguments.clone();
            let taken = listed.tools[0].take_projection(&mut arguments);
            assert_eq!(
                (arguments, taken.request),
                (before, ProjectionRequest::new())
            );
            let bare = list(&document, &without_reflections(options));
            assert_eq!(bare.value, listed.value);
        }
    }
}

pub(super) fn without_reflections(mut options: ListOptions) -> ListOptions {
    options.reflections.clear();
    options.wholes.clear();
    options
}

#[test]
fn without_opting_in_nothing_changes() {
    let document = json!([tool(json!({"type": "object", "properties": {"q": {}}}))]);
    for options in ways() {
        let other = without_reflections(options).with_reflection("other", Reflection::new());
        let listed = list(&document, &other);
        assert!(
            !listed.value.to_string().contains("of the result"),
            "{}",
            listed.value
        );
        assert!(listed.tools[0].reflected().is_empty());
        assert_eq!(
            listed.tools[0].read(json!({SELECT: 1})),
            Err(vec![ReadError::NotOffered {
                name: SELECT,
                offered: Vec::new(),
            }])
        );
        assert!(!listed.guidance().contains("top-level fields"));
    }
}

#[test]
fn tools_that_admit_no_references_may_be_asked_for_parts() {
    for schema in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({}),
        json!(true),
    ] {
        for options in ways() {
            let listed = list(&json!([tool(schema.clone())]), &options);
            assert_eq!(listed.tools[0].reflected(), [SELECT, FIELDS], "{schema}");
            if schema != json!(true) {
                assert_eq!(listed.tools[0].style(), None, "{schema}");
            }
            let again = list(&listed.value, &options);
            assert_eq!(again.value, listed.value, "{schema}");
            assert_eq!(again.tools[0].reflected(), [SELECT, FIELDS], "{schema}");
        }
    }
}

#[test]
fn a_bad_schema_stays_as_it_came() {
    for schema in [
        json!({"type": "objekt"}),
        json!(7),
        json!({"$ref": "#/gone"}),
    ] {
        for options in ways() {
            let document = json!([tool(schema.clone())]);
            let listed = list(&document, &options);
            assert_eq!(listed.value, document);
            assert!(listed.tools[0].reflected().is_empty());
        }
    }
}

fn taken(arguments: &Value) -> (Value, ProjectionRequest, Vec<String>) {
    let document = json!([tool(json!({"type": "object", "properties": {"q": {}}}))]);
    let listed = list(&document, &ways()[0]);
    let mut left = arguments.clone();
    let taken = listed.tools[0].take_projection(&mut left);
    assert_eq!(listed.tools[0].read(arguments.clone()), Ok(left.clone()));
    let told = taken.diagnostics.iter().map(|noted| noted.message.clone());
    (left, taken.request, told.collect())
}

#[test]
fn what_was_asked_is_taken_out() {
    let (left, request, told) = taken(&json!({"q": 1, SELECT: ["id"], FIELDS: "minimal"}));
    assert_eq!((left, told), (json!({"q": 1}), vec![]));
    assert_eq!(request.select, Some(vec!["id".to_owned()]));
    assert_eq!(
        request.fields,
        Some(FieldsValue::Name("minimal".to_owned()))
    );
    let (left, request, told) = taken(&json!({SELECT: null, FIELDS: ["id", "a.b"]}));
    assert_eq!((left, told), (json!({}), vec![]));
    assert_eq!(request, ProjectionRequest::new().with_fields(["id", "a.b"]));
}

#[test]
fn a_reference_as_the_whole_of_the_arguments_keeps_its_selector() {
    for reference in [
        json!({"_tool": "call_1", SELECT: "items[0]"}),
        json!({"$tool": "call_1", SELECT: "items[0]"}),
        json!({"$tool": "call_1", "_artifact": "a1", SELECT: "items[0]"}),
        json!({"_tool": "call_1", "$artifact": "a1", SELECT: "items[0]", "$default": [1]}),
        json!({"$tool": "call_1", SELECT: "items[0]", "q": 1}),
    ] {
        let (left, request, told) = taken(&reference);
        assert_eq!((left, told), (reference, vec![]));
        assert_eq!(request, ProjectionRequest::new());
    }
    // Without a call it is none.
    let (left, _, told) = taken(&json!({"$artifact": "a1", SELECT: "items[0]"}));
    assert_eq!((left, told.len()), (json!({"$artifact": "a1"}), 1));
    // Neither where the tool has such a parameter itself.
    for tool_key in ["$tool", "_tool"] {
        let document = json!([tool(
            json!({"type": "object", "properties": {tool_key: {}}})
        )]);
        let listed = list(&document, &ways()[0]);
        let mut arguments = json!({tool_key: "call_1", SELECT: "items[0]"});
        let taken = listed.tools[0].take_projection(&mut arguments);
        assert_eq!(arguments, json!({tool_key: "call_1"}));
        assert!(!taken.diagnostics.is_empty());
    }
    let (left, request, _) = taken(&json!({"_tool": "call_1", SELECT: ["id"]}));
    assert_eq!(left, json!({"_tool": "call_1"}));
    assert_eq!(request.select, Some(vec!["id".to_owned()]));
}

#[test]
fn what_is_no_list_of_strings_is_ignored() {
    let said =
        |found: &str| format!("`_select` must be a list of strings, not {found}: it is ignored");
    for (written, found) in [
        (json!("id"), "string"),
        (json!(7), "number"),
        (json!({"a": 1}), "object"),
        (json!(true), "boolean"),
        (json!([1]), "a list of other things"),
        (json!(["id", null]), "a list of other things"),
        (json!({"$tool": "c"}), "object"),
    ] {
        // Neither is it ever read as the selector of a reference.
        let (left, request, told) = taken(&json!({"q": 1, SELECT: written}));
        assert_eq!(
            (left, request, told),
            (json!({"q": 1}), ProjectionRequest::new(), vec![said(found)])
        );
    }
    for arguments in [json!(null), json!([SELECT]), json!("x")] {
        assert_eq!(
            taken(&arguments),
            (arguments.clone(), ProjectionRequest::new(), vec![])
        );
    }
}

#[test]
fn what_nests_too_deep_is_ignored() {
    let document = json!([tool(json!({"type": "object", "properties": {"q": {}}}))]);
    let listed = list(&document, &ways()[0]);
    let deep = (0..100_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let mut arguments = json!({});
    arguments[SELECT] = deep;
    let taken = listed.tools[0].take_projection(&mut arguments);
    assert_eq!(
        (arguments, taken.request),
        (json!({}), ProjectionRequest::new())
    );
    assert!(!taken.diagnostics.is_empty());
}

#[test]
fn references_come_before_the_choice_of_fields() {
    let keys: Vec<String> = (0..200)
        .map(|n| format!("key_number_{n}_{}", "of_a_very_long_name_".repeat(5)))
        .collect();
    let properties: Map<_, _> = keys.iter().map(|key| (key.clone(), json!({}))).collect();
    let many = Reflection::new().with_output(json!({"type": "object", "properties": properties}));
    let document = json!([tool(
        json!({"type": "object", "properties": {"q": {"type": "string"}}})
    )]);
    let options = ListOptions::profile(Profile::Mcp).with_max_added_tokens(2_000);
    let plain = list(&document, &options);
    let listed = list(&document, &options.with_reflection("t", many));
    assert_eq!(listed.value, plain.value);
    assert!(
        listed.tools[0]
            .decision()
            .why
            .contains("with a choice of fields would make")
    );
}

#[test]
fn it_is_told_once_how_it_is_used() {
    let document = json!([tool(json!({})), tool(json!({"properties": {"q": {}}}))]);
    let text = list(&document, &ways()[0]).guidance();
    assert_eq!(text.matches("`_select`").count(), 1, "{text}");
    assert_eq!(text.matches("`_fields`").count(), 1, "{text}");
    let only = ListOptions::style(Style::Refs).with_reflection("t", Reflection::new());
    assert!(!list(&document, &only).guidance().contains("`_fields`"));
}

#[test]
fn the_whole_result_may_be_asked_for() {
    let document = json!([tool(json!({"properties": {"q": {"type": "string"}}}))]);
    for options in ways() {
        let both = options.clone().with_whole("t");
        let listed = list(&document, &both);
        assert_eq!(listed.tools[0].reflected(), [SELECT, FIELDS, WHOLE]);
        let property = &listed.tools[0].shown_schema()["properties"][WHOLE];
        // Who must write it may write null.
        let required = listed.tools[0].shown_schema()["required"].as_array();
        let is_required = required.is_some_and(|names| names.contains(&json!(WHOLE)));
        let is_nullable = property["type"] == json!(["boolean", "null"]);
        assert_eq!(is_nullable, is_required, "{property}");
        let says = "Whether to return the whole result, for a script that reads it.";
        assert_eq!(property["description"], says);
        let guidance = listed.guidance();
        assert_eq!(guidance.matches("`_whole`").count(), 1, "{guidance}");
        // Without it nobody hears of it.
        let plain = list(&document, &options);
        assert!(!plain.value.to_string().contains(WHOLE));
        assert!(!plain.guidance().contains(WHOLE));
        // A list that was shown without it gains it, and keeps what it had.
        let gained = list(&plain.value, &both);
        if gained.tools[0].decision().why != "it admits references already" {
            assert_eq!(gained.tools[0].reflected(), [SELECT, FIELDS, WHOLE]);
        }
    }
    let only = ListOptions::style(Style::Refs).with_whole("t");
    let listed = list(&document, &only);
    assert_eq!(
        listed.tools[0].shown_schema()["properties"][WHOLE],
        json!({"type": "boolean", "description": "Whether to return the whole result, for a script that reads it."})
    );
}
