//! The schema that is announced with what leaves a session, or why none is.

use super::{call, found, include, session};
use crate::{
    Engine, EngineOptions, ProjectOptions, RevealPolicy, ToolResult, session::reveal_laws::run,
};
use crossfeed_projection::{Diagnostic, DiagnosticKind, RevealRules};
use crossfeed_wire::Scope;
use serde_json::{Value, json};

#[test]
fn a_schema_is_announced_only_where_it_is_true() {
    let item = json!({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "integer"}, "name": {"type": "string"}, "pin": {"type": "integer"}}});
    let schema = json!({"type": "object", "required": ["items", "next"], "properties": {
        "items": {"type": "array", "items": item}, "next": {}}});
    let announced = |schema: Value, options: ProjectOptions| {
        let (mut told, mut said) = (None, Vec::<String>::new());
        run(async {
            let session = session(ToolResult::value(&found())).await;
            let options = options.with_output_schema(schema);
            let projected = session.project(&call(), &options).await.unwrap();
            told = projected.schema;
            let said_of =
                |d: &Diagnostic| format!("{} `{}` {}", d.kind.as_str(), d.path, d.message);
            let all = projected.diagnostics.iter().map(said_of);
            said = all.filter(|said| !said.starts_with("withheld")).collect();
        });
        (told, said)
    };
    let (told, said) = announced(schema.clone(), include("items.name"));
    let told = told.unwrap();
    assert!(told.pointer("/properties/next").is_none(), "{told}");
    assert!(said.is_empty());
    let whole = ProjectOptions::default();
    let check = |schema: Value, expected: &str| {
        let (told, said) = announced(schema, whole.clone());
        assert_eq!((told, said.as_slice()), (None, &[expected.to_owned()][..]));
    };
    let breaks = |at: &str, why: &str| {
        format!(
            "breaks_schema `{at}` the result does not fit the schema of its tool's output: no schema \
             is announced: {why}"
        )
    };
    let of_items = |items: Value| json!({"properties": {"items": items}});
    let string = json!({"type": "string"});
    let items = "found [{id: number, name: string(1)}](len=2)";
    check(
        of_items(string.clone()),
        &breaks("items", &format!("expected string, {items}")),
    );
    let mut schema = of_items(json!({"items": {"properties": {"id": string}}}));
    check(
        schema.clone(),
        &breaks("items[0].id", "expected string, found number"),
    );
    schema["type"] = json!("array");
    let root = format!(
        "expected array, found {{items: {}, next: null}}",
        &items[6..]
    );
    check(schema, &breaks("", &root));
}

#[test]
fn a_schema_that_is_none_is_said_with_its_place() {
    let check = |schema: Value, expected: &[&str]| {
        run(async {
            let session = session(ToolResult::value(&found())).await;
            let options = include("next").with_output_schema(schema);
            let projected = session.project(&call(), &options).await.unwrap();
            assert_eq!(projected.json, br#"{"next":null}"#);
            assert_eq!(projected.schema, None);
            let mut said = projected.diagnostics.iter();
            let said = said
                .find(|said| said.kind == DiagnosticKind::NoSchema)
                .unwrap();
            assert!(said.message.starts_with("no schema is announced"));
            for part in expected {
                assert!(said.message.contains(part), "{}", said.message);
            }
            assert!(!said.message.contains("pin"), "{}", said.message);
        });
    };
    check(
        json!({"properties": {"items": {"type": "objekt"}}}),
        &["/properties/items/type"],
    );
    check(json!({"properties": {"pin": {"type": "objekt"}}}), &[]);
}

#[test]
fn the_schema_of_a_selection_knows_nothing_that_is_hidden_by_a_path() {
    run(async {
        let rules = RevealRules::parse([] as [&str; 0], ["owner.mail"]).unwrap();
        let policy = RevealPolicy::default().with_every_tool(rules);
        let engine = Engine::in_memory(EngineOptions::default().with_reveal(policy));
        let session = engine.session(Scope::parse("t", "p", "s").unwrap());
        let value = json!({"owner": {"id": 1, "mail": "m"}});
        session
            .record(&call(), ToolResult::value(&value))
            .await
            .unwrap();
        let owner = json!({"type": "object", "properties": {"id": {"type": "integer"}, "mail": {"type": "string"}}});
        let options = ProjectOptions::default()
            .with_output_schema(json!({"type": "object", "properties": {"owner": owner}}))
            .with_select("owner");
        let projected = session.project(&call(), &options).await.unwrap();
        assert_eq!(projected.json, br#"{"id":1}"#);
        let schema = projected.schema.unwrap().to_string();
        assert!(
            schema.contains("id") && !schema.contains("mail"),
            "{schema}"
        );
    });
}
