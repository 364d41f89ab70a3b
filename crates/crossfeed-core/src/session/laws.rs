//! The law of internal fields: at the top of a result they are the engine's, and nobody's data.

use super::Session;
use crate::{Engine, EngineOptions, HintDetail, ProjectOptions, RenderOptions, ToolResult};
use crossfeed_jmespath::{Expression, SpineStep};
use crossfeed_json::Document;
use crossfeed_wire::{
    CallId, Scope,
    internal::{FIELDS, is_internal},
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// What stands in a field that is not the engine's at the top of a result.
const FOREIGN: &str = "foreign";

/// How a value is recorded.
#[derive(Clone, Copy, Debug)]
enum Recorded {
    Json,
    JsonInString,
    Undeclared,
    Text,
    Structured,
    OnePart,
    Parts,
    Resource,
    Wrapped,
}

impl Recorded {
    fn result(self, value: &Value) -> ToolResult {
        let text = value.to_string();
        let part = json!({"type": "text", "text": text});
        let mcp = |result: Value| ToolResult::mcp(result.to_string());
        match self {
            Self::Json => ToolResult::json(text),
            Self::JsonInString => ToolResult::json(Value::from(text).to_string()),
            Self::Undeclared => ToolResult::undeclared(text),
            Self::Text => ToolResult::text(text),
            Self::Structured => mcp(with_foreign(
                json!({"content": [part], "structuredContent": value}),
            )),
            Self::OnePart => mcp(with_foreign(json!({"content": [part]}))),
            Self::Parts => mcp(with_foreign(json!({"content": [part, part]}))),
            Self::Resource => {
                let resource = json!({"uri": "a://b", "text": text});
                mcp(json!({"content": [{"type": "resource", "resource": resource}]}))
            }
            Self::Wrapped => {
                ToolResult::undeclared(json!({"type": "text", "value": value}).to_string())
            }
        }
    }

    /// What selectors see and what a bare reference passes.
    fn expected(self, value: &Value) -> (Value, Value) {
        let own = without_internal(value);
        let text = Value::from(value.to_string());
        match self {
            Self::Json | Self::Undeclared | Self::Structured | Self::Wrapped => (own.clone(), own),
            Self::Parts => (json!([own, own]), json!([text, text])),
            Self::JsonInString | Self::Text | Self::OnePart | Self::Resource => (own, text),
        }
    }
}

fn with_foreign(mut value: Value) -> Value {
    for field in FIELDS {
        value[field] = FOREIGN.into();
    }
    value
}

fn without_internal(value: &Value) -> Value {
    let members = value.as_object().unwrap().iter();
    let own = members.filter(|(key, _)| !is_internal(key));
    let own = own.map(|(key, value)| (key.clone(), value.clone()));
    own.collect::<Map<_, _>>().into()
}

async fn check(recorded: Recorded, value: &Value) {
    let engine = Engine::in_memory(EngineOptions::default());
    let session: Session = engine.session(Scope::parse("t", "p", "s").unwrap());
    let call = CallId::parse("c").unwrap();
    session.record(&call, recorded.result(value)).await.unwrap();
    let (canonical, bare) = recorded.expected(value);
    let selected = session.select(&call, "@").await.unwrap();
    let selected: Value = serde_json::from_slice(&selected.json).unwrap();
    assert_eq!(selected, canonical, "{recorded:?}");
    let resolved = session.resolve(json!({"$tool": "c"}), None).await.unwrap();
    assert_eq!(resolved.arguments, bare, "{recorded:?}");
    let all = ProjectOptions::default();
    let cut = session.response(&call).await.unwrap().cut(&all).await;
    for projected in [session.project(&call, &all).await, cut] {
        let projected: Value = serde_json::from_slice(&projected.unwrap().json).unwrap();
        assert_eq!(projected, canonical, "{recorded:?}");
    }
    // Nested ones are data, and may be offered.
    let hints = session.hints(&call, HintDetail::Full).await.unwrap();
    for selector in hints.selectors() {
        let expression = Expression::parse(selector).unwrap();
        let spine = expression.spine();
        let first = spine.iter().find_map(|step| match step {
            SpineStep::Field(name) => Some(*name),
            _ => None,
        });
        assert!(!first.is_some_and(is_internal), "{recorded:?}: {selector}");
    }
    for budget in [10_000, 120] {
        let options = RenderOptions::default().with_budget(budget);
        let shown = session.render(&call, &options).await.unwrap().json;
        let document = Document::new(shown.clone());
        assert!(
            !document.root().unwrap().document_has_duplicates(),
            "{shown}"
        );
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["_toolCallId"], "c", "{recorded:?}: {shown}");
        for field in FIELDS {
            let foreign = shown.get(field).is_some_and(|own| own == FOREIGN);
            assert!(!foreign, "{recorded:?}: {shown}");
        }
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!(1)), "[a-z]{0,30}".prop_map(Value::from)];
    let key = || {
        prop_oneof![
            "[a-c]",
            proptest::sample::select(FIELDS.to_vec()).prop_map(str::to_owned),
            Just("_id".to_owned()),
        ]
    };
    let nested = leaf.prop_recursive(3, 20, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    });
    let top = prop::collection::vec((prop_oneof!["[a-c]", Just("_id".to_owned())], nested), 1..4);
    let foreign = proptest::sample::subsequence(FIELDS.to_vec(), 0..=FIELDS.len());
    (top, foreign, any::<bool>()).prop_map(|(top, foreign, first)| {
        let foreign = foreign
            .into_iter()
            .map(|field| (field.to_owned(), FOREIGN.into()));
        let members: Vec<_> = if first {
            foreign.chain(top).collect()
        } else {
            top.into_iter().chain(foreign).collect()
        };
        members.into_iter().collect::<Map<_, _>>().into()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_internal_field_is_data(value in values()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for recorded in [
            Recorded::Json,
            Recorded::JsonInString,
            Recorded::Undeclared,
            Recorded::Text,
            Recorded::Structured,
            Recorded::OnePart,
            Recorded::Parts,
            Recorded::Resource,
            Recorded::Wrapped,
        ] {
            runtime.block_on(check(recorded, &value));
        }
    }
}
