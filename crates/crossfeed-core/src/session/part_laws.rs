//! The law of excerpts: whatever is asked of a result, a store that gives excerpts leads to what one that gives the whole
//! does, to the byte and to the word.

use super::Session;
use crate::{Engine, EngineOptions, ToolResult};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_json::{Document, quoted};
use crossfeed_store::{
    ArtifactLookup, Contents, Listed, ListedArtifact, Lookup, MemoryLimits, MemoryStore, PathsOf,
    Recorded, ResultStore, StoreError, StoredArtifact, StoredResult,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Gives an excerpt of every result that has one.
struct Parts {
    whole: MemoryStore,
    /// The smallest block.
    block: usize,
    /// How often it gave an excerpt, and the whole.
    given: [AtomicUsize; 2],
}

impl Parts {
    fn new(block: usize) -> Self {
        Self {
            whole: MemoryStore::new(MemoryLimits::default()),
            block,
            given: Default::default(),
        }
    }

    fn excerpt(&self, result: &StoredResult, paths: &PathsOf<'_>) -> Option<StoredResult> {
        let data = result.document().raw();
        let contents = Contents::in_blocks(result.document(), self.block)?;
        let excerpt = contents.excerpt(&paths())?;
        let read = excerpt
            .ranges()
            .iter()
            .map(|range| data.slice(range.clone()));
        let part = excerpt.assemble(&read.collect::<Vec<Bytes>>()).unwrap();
        let part = result.with_document_of_call(Document::new(part), result.kind());
        Some(part.with_excerpt_of(data.len()))
    }

    fn count(&self, number: usize) {
        self.given[number].fetch_add(1, Ordering::Relaxed);
    }

    fn given(&self) -> [usize; 2] {
        [0, 1].map(|number| self.given[number].swap(0, Ordering::Relaxed))
    }
}

#[async_trait]
impl ResultStore for Parts {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        self.whole.put(scope, call, result).await
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        self.count(1);
        self.whole.get(scope, call).await
    }

    async fn get_part(
        &self,
        scope: &Scope,
        call: &CallId,
        paths: &PathsOf<'_>,
    ) -> Result<Lookup, StoreError> {
        let found = self.whole.get(scope, call).await?;
        if let Lookup::Found(result) = &found
            && let Some(part) = self.excerpt(result, paths)
        {
            self.count(0);
            return Ok(Lookup::Found(Arc::new(part)));
        }
        self.count(1);
        Ok(found)
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        self.whole.measure(scope, call).await
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        self.whole.put_artifact(scope, artifact).await
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        self.whole.get_artifact(scope, artifact, call).await
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        self.whole.list_artifacts(scope).await
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        self.whole.list(scope).await
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        self.whole.remove_session(scope).await
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        self.whole.sweep().await
    }
}

const KEYS: [&str; 12] = [
    "a",
    "b",
    "c",
    "content",
    "structuredContent",
    "value",
    "type",
    "text",
    "result",
    "resource",
    "isError",
    "_toolCallId",
];

/// JSON as it is written.
fn values() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        3 => "[a-z \"\n]{0,120}".prop_map(|text| quoted(&text)),
        1 => select(vec!["1", "null", "true", "false", "[]", "{}", "1e400", "\"text\""]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 60, 6, |inner| {
        let members = vec((select(&KEYS[..]), inner.clone()), 0..5);
        prop_oneof![
            2 => vec(inner.clone(), 0..6).prop_map(|items| format!("[{}]", items.join(", "))),
            3 => members.prop_map(|members| object(&members)),
            1 => inner.prop_map(|json| quoted(&json)),
        ]
    })
}

fn object(members: &[(&str, String)]) -> String {
    let members = members
        .iter()
        .map(|(key, value)| format!("\"{key}\": {value}"));
    format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
}

/// A value with long ones around it, so that an excerpt leaves something out.
fn large() -> impl Strategy<Value = String> {
    let wide = (values(), select(&KEYS[..3]), 0..4_usize).prop_map(|(value, key, items)| {
        let long = format!("\"{}\"", "x".repeat(700));
        let items = vec![value.clone(); items + 1].join(", ");
        object(&[
            ("long", long.clone()),
            (key, format!("[{items}, {long}, {value}]")),
            ("more", value),
        ])
    });
    prop_oneof![1 => values(), 3 => wide]
}

fn results() -> impl Strategy<Value = (u8, String)> {
    let text = |json: &str| format!(r#"{{"type": "text", "text": {}}}"#, quoted(json));
    let content = move |parts: &[String]| format!(r#"{{"content": [{}]}}"#, parts.join(", "));
    let resource = |json: &str| {
        format!(
            r#"{{"type": "resource", "resource": {{"uri": "a://b", "text": {}}}}}"#,
            quoted(json)
        )
    };
    prop_oneof![
        (0_u8..4, large()),
        (1_u8..3, large()).prop_map(move |(kind, json)| (kind, content(&[text(&json)]))),
        (1_u8..3, large()).prop_map(move |(kind, json)| (kind, content(&[resource(&json)]))),
        (1_u8..3, large(), large())
            .prop_map(move |(kind, json, other)| (kind, content(&[text(&json), text(&other)]))),
        (1_u8..3, large(), large(), 0..3_usize).prop_map(move |(kind, json, other, parts)| {
            let parts = vec![text(&other); parts].join(", ");
            (
                kind,
                format!(r#"{{"content": [{parts}], "structuredContent": {json}}}"#),
            )
        }),
        large().prop_map(|json| (2, format!(r#"{{"type": "text", "value": {json}}}"#))),
        large().prop_map(|json| (0, quoted(&json))),
    ]
}

fn recorded(kind: u8, data: &str) -> ToolResult {
    match kind {
        0 => ToolResult::json(data.to_owned()),
        1 => ToolResult::mcp(data.to_owned()),
        2 => ToolResult::undeclared(data.to_owned()),
        _ => ToolResult::text(data.to_owned()),
    }
}

/// A path to a value that is there, or one that is near.
fn path(data: &str, turns: &[u8]) -> String {
    let mut path = String::new();
    let mut value: Value = serde_json::from_str(data).unwrap_or_default();
    for turn in turns {
        let turn = usize::from(*turn);
        if let Some(inner) = value
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok())
        {
            value = inner;
            path.clear();
        }
        value = match &mut value {
            Value::Array(items) if !items.is_empty() => {
                let at = turn % items.len();
                let at_end = turn > 200;
                path += &if at_end {
                    format!("[-{}]", items.len() - at)
                } else {
                    format!("[{at}]")
                };
                items.swap_remove(at)
            }
            Value::Object(members) if !members.is_empty() => {
                let key = members.keys().nth(turn % members.len()).unwrap().clone();
                let is_inside = matches!(&*key, "structuredContent" | "value") && path.is_empty();
                if !(is_inside && turn < 128) {
                    let dot = if path.is_empty() { "" } else { "." };
                    path += &format!("{dot}{key}");
                }
                members.remove(&key).unwrap_or_default()
            }
            _ => break,
        };
    }
    path
}

fn selectors(data: &str, turns: &[Vec<u8>]) -> Vec<String> {
    let mut selectors = Vec::new();
    for (number, turns) in turns.iter().enumerate() {
        let path = path(data, turns);
        selectors.push(match (number + turns.len()) % 8 {
            3 => format!("result.{path}"),
            4 => format!("{path}[*]"),
            5 => format!("\"{path}\""),
            _ => path,
        });
    }
    let more = ["a[1]", "aa[0]", "content[0].text", "c[-1].a", "length(a)"];
    let more = more.into_iter().skip(data.len() % 5).take(1);
    selectors.extend(more.map(str::to_owned));
    selectors
}

fn words(outcome: &impl Debug) -> String {
    format!("{outcome:?}")
}

fn session(store: Arc<dyn ResultStore>) -> Session {
    let engine = Engine::new(EngineOptions::default(), store);
    engine.session(Scope::parse("t", "p", "s").unwrap())
}

async fn ask(session: &Session, call: &CallId, selectors: &[String; 2]) -> Vec<String> {
    let mut told = Vec::new();
    let [selector, other] = selectors;
    told.push(words(&session.select(call, selector).await));
    told.push(words(&session.read(call, selector).await));
    let arguments = [
        json!({"a": {"$tool": "c", "$select": selector}}),
        json!({"a": {"$tool": "c", "$select": selector, "$default": 7}, "b": [{"$tool": "c", "$select": other}]}),
        json!({"a": {"$tool": "c", "$select": selector}, "b": {"$tool": "c"}}),
        json!({"a": format!("{{{{c.{selector}}}}} and {{{{c.{other}}}}}")}),
    ];
    for arguments in arguments {
        let written = arguments.to_string();
        told.push(words(&session.resolve(arguments, None).await));
        let resolved = session.resolve_json(written, None).await;
        told.push(words(&resolved.map(|resolved| {
            (
                resolved.arguments.into_bytes(),
                resolved.lineage,
                resolved.repairs,
            )
        })));
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_excerpt_leads_to_what_the_whole_does(
        (kind, data) in results(),
        block in 8_usize..120,
        turns in vec(vec(any::<u8>(), 0..7), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let call = CallId::parse("c").unwrap();
        let parts = Arc::new(Parts::new(block));
        let whole: Arc<dyn ResultStore> = Arc::new(MemoryStore::new(MemoryLimits::default()));
        let [parts, whole] = [parts as Arc<dyn ResultStore>, whole].map(|store| {
            let session = session(store);
            runtime.block_on(session.record(&call, recorded(kind, &data))).unwrap();
            session
        });
        for selector in selectors(&data, &turns) {
            let selectors = [selector, "long".to_owned()];
            let part = runtime.block_on(ask(&parts, &call, &selectors));
            let whole = runtime.block_on(ask(&whole, &call, &selectors));
            for (part, whole) in part.iter().zip(&whole) {
                prop_assert_eq!(part, whole, "{:?}", selectors);
            }
        }
    }
}

/// How often an excerpt and the whole are read for a selector: by `select`, and for a reference.
async fn check(recorded: ToolResult, select: &str, expected: [usize; 2]) {
    let parts = Arc::new(Parts::new(64));
    let session = session(Arc::<Parts>::clone(&parts));
    let call = CallId::parse("c").unwrap();
    session.record(&call, recorded).await.unwrap();
    let _ = session.select(&call, select).await;
    assert_eq!(parts.given(), expected, "selecting {select}");
    let arguments = json!([{"$tool": "c", "$select": select}, {"$tool": "c", "$select": select}]);
    let resolved = session.resolve(arguments, None).await;
    assert_eq!(parts.given(), expected, "{select}: {resolved:?}");
    if let Ok(resolved) = resolved {
        let stored = session.get(&call).await.unwrap();
        let length = stored.document().raw().len();
        assert_eq!(resolved.lineage[0].source.bytes_in, length, "{select}");
    }
}

#[tokio::test]
async fn what_a_path_leads_to_needs_no_more_than_an_excerpt() {
    let rows = format!(
        r#"{{"items": [{}], "total": 9}}"#,
        vec![r#"{"id": 1, "none": null}"#; 100].join(", ")
    );
    let json = || ToolResult::json(rows.clone());
    for select in [
        "items[70].id",
        "items[70].none",
        "items[-1]",
        "total",
        "result.items[3].id",
    ] {
        check(json(), select, [1, 0]).await;
    }
    let part = json!({"type": "text", "text": rows}).to_string();
    let mcp = |result: String| ToolResult::mcp(result);
    let one = format!(r#"{{"content": [{part}]}}"#);
    let structured = format!(r#"{{"content": [{part}], "structuredContent": {rows}}}"#);
    for result in [one, structured] {
        check(mcp(result.clone()), "items[70].id", [1, 0]).await;
        check(mcp(result), "content[0].type", [1, 1]).await;
    }
    // What is not there, and what needs a repair, is told by the whole.
    for select in ["items[70].other", "itms[70].id", "items[100]"] {
        check(json(), select, [1, 1]).await;
    }
    // More than a path, or more than half.
    for select in [
        "items[70].[id]",
        "length(items)",
        "items",
        "@",
        "\"items\"[1]",
    ] {
        check(json(), select, [0, 1]).await;
    }
    check(
        mcp(format!(r#"{{"content": [{part}, {part}]}}"#)),
        "items[70].id",
        [1, 1],
    )
    .await;
    check(json().failed(), "items[70].id", [1, 1]).await;
}
