//! The law of what is never revealed: it is in nothing that a model may see, and nothing of it is lost
//! for hosts and tools.

mod told;

use self::told::{Told, artifacts, misfit, project, select_and_retrieve, show};
use super::Session;
use crate::{ContextOptions, Engine, EngineOptions, NewArtifact, RevealPolicy, ToolResult};
use crossfeed_projection::RevealRules;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A key that is never revealed.
const HIDDEN: &str = "hushname";
/// What stands in all that is never revealed.
const SECRET: &str = "S3CR3T";

fn call() -> CallId {
    CallId::parse("c").unwrap()
}

fn policy() -> RevealPolicy {
    let rules = RevealRules::parse(["id"], [HIDDEN, "owner.mail", "items[].owner.mail"]).unwrap();
    RevealPolicy::default().with_every_tool(rules)
}

/// A session whose context holds so many tokens, and that hides what the policy does.
fn session(window: usize, policy: RevealPolicy) -> Session {
    let context = ContextOptions::default().with_window(window);
    let options = EngineOptions::default()
        .with_context(context)
        .with_reveal(policy);
    Engine::in_memory(options).session(Scope::parse("t", "p", "s").unwrap())
}

/// What stands under the key: the secret, or something that holds it.
fn secret() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(SECRET)),
        Just(json!([1, {SECRET: SECRET}])),
        Just(json!({"deep": {"id": SECRET, "S3CR3T key": 1}})),
        Just(json!(format!("{{\"a\":\"{SECRET}\"}}"))),
    ]
}

/// Data with secrets in it: under the key at any depth, in JSON that strings hold, and in strings of
/// such strings.
fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5_i64..100).prop_map(Value::from),
        "[a-c ]{0,12}".prop_map(Value::from),
        Just(json!("https://a.example/x")),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let key = prop_oneof![
            Just("a"),
            Just("b"),
            Just("id"),
            Just("items"),
            Just("name"),
            Just("we ird"),
            Just("url"),
        ];
        let object = prop::collection::vec((key, inner.clone()), 0..5);
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            6 => (object, proptest::option::of(secret()), any::<prop::sample::Index>()).prop_map(
                |(members, secret, at)| {
                    let mut members: Vec<(String, Value)> = members
                        .into_iter()
                        .map(|(key, value)| (key.to_owned(), value))
                        .collect();
                    if let Some(secret) = secret {
                        let at = at.index(members.len() + 1);
                        members.insert(at, (HIDDEN.to_owned(), secret));
                    }
                    members.into_iter().collect::<Map<_, _>>().into()
                }
            ),
            1 => inner.clone().prop_map(|value| Value::from(value.to_string())),
            1 => inner.prop_map(|value| Value::from(json!([value.to_string()]).to_string())),
        ]
    })
}

/// The same with secrets by their paths, in an object at the root.
fn rooted() -> impl Strategy<Value = Value> {
    let owner = || json!({"mail": SECRET, "id": 4});
    (data(), any::<bool>()).prop_map(move |(data, is_list)| {
        if is_list {
            json!({"items": [{"owner": owner(), "data": data}], "id": 1})
        } else {
            json!({"owner": owner(), "data": data, "id": 1})
        }
    })
}

/// How a value is recorded.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Json,
    Escaped,
    InString,
    Undeclared,
    Text,
    Structured,
    OnePart,
    Parts,
    Resource,
    Wrapped,
    Prose,
    Bytes,
    Failed,
}

const KINDS: [Kind; 13] = [
    Kind::Json,
    Kind::Escaped,
    Kind::InString,
    Kind::Undeclared,
    Kind::Text,
    Kind::Structured,
    Kind::OnePart,
    Kind::Parts,
    Kind::Resource,
    Kind::Wrapped,
    Kind::Prose,
    Kind::Bytes,
    Kind::Failed,
];

impl Kind {
    fn result(self, value: &Value) -> ToolResult {
        let text = value.to_string();
        let part = json!({"type": "text", "text": text});
        let mcp = |result: Value| ToolResult::mcp(result.to_string());
        // Without a secret there is nothing to say of it.
        let prose = if text.contains(SECRET) {
            format!("the {HIDDEN} is {SECRET}, see {text}")
        } else {
            "nothing".to_owned()
        };
        let result = match self {
            Self::Json => ToolResult::json(text),
            Self::Escaped => ToolResult::json(text.replace(HIDDEN, "h\\u0075shname")),
            Self::InString => ToolResult::json(Value::from(text).to_string()),
            Self::Undeclared => ToolResult::undeclared(text),
            Self::Text => ToolResult::text(text),
            Self::Structured => {
                let said = json!({"type": "text", "text": format!("it says {text}")});
                mcp(json!({"content": [said, part], "structuredContent": value}))
            }
            Self::OnePart => mcp(json!({"content": [part], "_meta": {HIDDEN: SECRET}})),
            Self::Parts => {
                let said = json!({"type": "text", "text": prose});
                mcp(json!({"content": [part, said]}))
            }
            Self::Resource => {
                let resource = json!({"uri": "a://b", "text": text});
                mcp(json!({"content": [{"type": "resource", "resource": resource}]}))
            }
            Self::Wrapped => {
                ToolResult::undeclared(json!({"type": "text", "value": value}).to_string())
            }
            Self::Prose => ToolResult::text(prose),
            Self::Bytes => ToolResult::bytes(text, "application/json"),
            Self::Failed => {
                ToolResult::json(json!({"error": prose, "of": value}).to_string()).failed()
            }
        };
        result.with_tool("search")
    }

    /// Whether nothing in it is judged from the root of the value: a text around it is not valid JSON.
    fn is_prose(self) -> bool {
        matches!(self, Self::Prose | Self::Failed | Self::Bytes)
    }
}

const EXPRESSIONS: [&str; 26] = [
    "@",
    "*",
    "[]",
    "a",
    "items[0]",
    "items[*].owner",
    "owner",
    "owner.mail",
    "items[].owner.mail",
    "hushname",
    "a.hushname",
    "[].hushname",
    "**",
    "keys(@)",
    "values(@)",
    "to_string(@)",
    "length(to_string(@))",
    "data.*.hushname | [0]",
    "structuredContent",
    "content[0].text",
    "content[].text",
    "[?contains(to_string(@), 'a')]",
    "sort_by(items, &hushname)",
    "hushnam",
    "merge(@, @)",
    "_meta",
];

pub(in crate::session) fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work);
}

async fn check(kind: Kind, value: &Value, asked: &str, window: usize) {
    let (hiding, open) = (
        session(window, policy()),
        session(window, RevealPolicy::default()),
    );
    for session in [&hiding, &open] {
        session.record(&call(), kind.result(value)).await.unwrap();
    }
    let of = format!("{kind:?} {value}");
    let mut told = Told(Vec::new());
    select_and_retrieve(&hiding, asked, &mut told).await;
    show(&hiding, &mut told).await;
    misfit(&hiding, &mut told).await;
    artifacts(&hiding, asked, &mut told).await;
    project(&hiding, asked, &mut told).await;
    told.add("debug", format!("{hiding:?}"));
    told.check(&of);
    // Nothing is lost for hosts, and for tools that get all of it.
    let raw =
        |result: std::sync::Arc<crossfeed_store::StoredResult>| result.document().raw().clone();
    let kept = raw(hiding.get(&call()).await.unwrap());
    assert_eq!(kept, raw(open.get(&call()).await.unwrap()), "{of}");
    for reference in [
        json!({"$tool": "c"}),
        json!({"$tool": "c", "$artifact": "bare"}),
    ] {
        let resolved = |session: Session, reference: Value| async move {
            let resolved = session.resolve(json!([reference]), None).await;
            resolved.map(|resolved| resolved.arguments).ok()
        };
        if reference.get("$artifact").is_some() {
            // Texts in an envelope, and bytes, cannot be judged once they have lost it.
            let is_text = !value.is_object() && !value.is_array();
            let is_part = is_text && matches!(kind, Kind::OnePart | Kind::Resource);
            if is_part || matches!(kind, Kind::Parts | Kind::Bytes) {
                continue;
            }
            let bare = NewArtifact::new(ArtifactId::parse("bare").unwrap(), call());
            let _ = open.create_artifact(bare).await;
        }
        let (hidden, whole) = (
            resolved(hiding.clone(), reference.clone()).await,
            resolved(open.clone(), reference).await,
        );
        assert_eq!(hidden, whole, "{of}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn what_is_never_revealed_is_in_nothing_that_a_model_sees(
        value in data(),
        kind in prop::sample::select(&KINDS[..]),
        asked in prop::sample::select(&EXPRESSIONS[..]),
        window in prop_oneof![Just(200_000_usize), Just(200)],
    ) {
        run(check(kind, &value, asked, window));
    }

    #[test]
    fn neither_is_what_a_path_hides(
        value in rooted(),
        kind in prop::sample::select(&KINDS[..]),
        asked in prop::sample::select(&EXPRESSIONS[..]),
    ) {
        // A text that is not valid JSON has no root.
        prop_assume!(!kind.is_prose());
        run(check(kind, &value, asked, 200_000));
    }
}

/// What a session tells that does not depend on which session it is.
async fn told_by(session: &Session, asked: &str) -> Vec<(String, String)> {
    let mut told = Told(Vec::new());
    select_and_retrieve(session, asked, &mut told).await;
    show(session, &mut told).await;
    misfit(session, &mut told).await;
    artifacts(session, asked, &mut told).await;
    told.0
}

fn without_secrets(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let open = members.into_iter().filter(|(key, _)| key != HIDDEN);
            let open = open.map(|(key, value)| (key, without_secrets(value)));
            open.collect::<Map<_, _>>().into()
        }
        Value::Array(items) => items
            .into_iter()
            .map(without_secrets)
            .collect::<Vec<_>>()
            .into(),
        Value::String(text) if text.contains(HIDDEN) => Value::from("open"),
        other => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn rules_that_hide_nothing_change_nothing(
        value in data(),
        kind in prop::sample::select(&KINDS[..]),
        asked in prop::sample::select(&EXPRESSIONS[..]),
    ) {
        let value = without_secrets(value);
        // These say the name themselves.
        prop_assume!(!matches!(kind, Kind::OnePart));
        // The prose of a part, once an artifact holds nothing else, is no longer known to stand beside
        // the value: the first name of a path is enough to withhold it.
        let is_prose_alone = matches!(kind, Kind::Structured)
            && matches!(asked, "content[0].text" | "content[].text");
        prop_assume!(!is_prose_alone || !value.to_string().contains("items"));
        run(async {
            let (hiding, open) = (session(1000, policy()), session(1000, RevealPolicy::default()));
            for session in [&hiding, &open] {
                session.record(&call(), kind.result(&value)).await.unwrap();
            }
            assert_eq!(told_by(&hiding, asked).await, told_by(&open, asked).await);
            let held = |session: &Session| {
                let session = session.clone();
                async move { session.get(&call()).await.unwrap().resident_bytes() }
            };
            // Nothing is kept beside it.
            assert_eq!(held(&hiding).await, held(&open).await);
        });
    }
}
