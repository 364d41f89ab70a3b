//! What the model is shown, over real documents and generated ones: judged by checkers of its own that know
//! `specs/views.md` and nothing of the code.

use crate::support::{block_on, call, scope};
use crossfeed_core::{
    ContextOptions, Engine, EngineOptions, HintDetail, RenderOptions, Session, ShownHints,
    ToolResult,
};
use crossfeed_store::{MemoryLimits, MemoryStore};
use crossfeed_tests::{suite, workspace_root};
use crossfeed_tokens::TokenCounter;
use proptest::prelude::*;
use serde_json::{Map, Value};
use std::{fs, path::Path, sync::Arc};

/// Every JSON file below a folder, in order of its path.
fn files(folder: &Path, found: &mut Vec<(String, String)>) {
    let mut entries: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path.display().to_string(), text));
        }
    }
}

/// Real documents: replies of MCP servers, what the demo's tools return, the cases of a suite.
fn documents() -> Vec<(String, String)> {
    let mut found = Vec::new();
    files(&workspace_root().join("tests/corpora/tools"), &mut found);
    files(
        &workspace_root().join("crates/crossfeed-cli/data"),
        &mut found,
    );
    files(&suite("jmespath"), &mut found);
    assert!(found.len() > 50, "{}", found.len());
    found
}

fn session() -> Session {
    let store = MemoryStore::new(MemoryLimits::default());
    Engine::new(EngineOptions::default(), Arc::new(store)).session(scope("views"))
}

async fn recorded(session: &Session, name: &str, text: &str) -> crossfeed_wire::CallId {
    let call_id = call(name);
    let result = ToolResult::json(text.to_owned());
    session.record(&call_id, result).await.unwrap();
    call_id
}

/// A selector with its type taken off.
fn plain(typed: &str) -> &str {
    typed.rsplit_once('[').map_or(typed, |(path, kind)| {
        let types = ["string]", "number]", "boolean]", "null]", "object]"];
        let is_type = types.contains(&kind) || kind.starts_with("array-");
        if is_type { path } else { typed }
    })
}

/// All selectors that hints offer: those with a type, and those without.
fn offered(hints: &Value) -> (Vec<String>, Vec<String>) {
    let texts = |key: &str| {
        let list = hints.get(key).and_then(Value::as_array).into_iter();
        list.flatten()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let typed = ["terminalPaths", "arrayPaths", "objectPaths"];
    let others = [
        "exampleSelectors",
        "deepStructureExamples",
        "recommendedBaseSelectors",
    ];
    let mut plain: Vec<String> = others.into_iter().flat_map(texts).collect();
    for paths in hints["ambiguousFields"].as_object().unwrap().values() {
        let paths = paths.as_array().unwrap().iter();
        plain.extend(paths.map(|path| path.as_str().unwrap().to_owned()));
    }
    (typed.into_iter().flat_map(texts).collect(), plain)
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "boolean".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => format!("array-{}-items", items.len()),
        Value::Object(_) => "object".to_owned(),
    }
}

/// Law 8, by the evaluator of somebody else where the value has no JSON in strings; and by our own.
async fn hints_work(session: &Session, id: &crossfeed_wire::CallId, text: &str) -> usize {
    // What JSON in strings holds, only our evaluator reaches.
    let oracle = (!text.contains("\"{") && !text.contains("\"["))
        .then(|| jmespath::Variable::from_json(text).unwrap());
    let mut count = 0;
    for detail in [HintDetail::Compact, HintDetail::Full] {
        let hints = session.hints(id, detail).await.unwrap().to_value();
        let again = session.hints(id, detail).await.unwrap().to_value();
        assert_eq!(hints.to_string(), again.to_string());
        if detail == HintDetail::Compact {
            assert!(hints.to_string().len() <= 700, "{hints}");
        }
        let (typed, others) = offered(&hints);
        for selector in typed.iter().map(|typed| plain(typed)) {
            let found = session.select(id, selector).await;
            let found = found.unwrap_or_else(|failure| panic!("{selector}: {failure}"));
            let value: Value = serde_json::from_slice(&found.json).unwrap();
            let kind = format!("{selector}[{}]", kind_of(&value));
            // A text that holds JSON is offered as what it holds.
            let is_text = value.is_string();
            assert!(typed.contains(&kind) || is_text, "{kind}: {typed:?}");
        }
        for selector in typed
            .iter()
            .map(|typed| plain(typed))
            .chain(others.iter().map(String::as_str))
        {
            count += 1;
            let found = session.select(id, selector).await;
            let found = found.unwrap_or_else(|failure| panic!("{selector}: {failure}"));
            assert!(found.report.repairs.is_empty(), "{selector}");
            assert!(found.report.notice.is_none(), "{selector} selects nothing");
            if let Some(document) = &oracle {
                let expression = jmespath::compile(selector).unwrap();
                let theirs = expression.search(document.clone()).unwrap();
                let theirs: Value = serde_json::to_value(&*theirs).unwrap();
                let ours: Value = serde_json::from_slice(&found.json).unwrap();
                let is_typed_null = typed.contains(&format!("{selector}[null]"));
                assert!(
                    !theirs.is_null() || is_typed_null || ours.is_null(),
                    "{selector}"
                );
                assert_eq!(theirs.is_null(), ours.is_null(), "{selector}");
            }
        }
    }
    count
}

#[test]
fn every_selector_offered_on_real_documents_works() {
    block_on(async {
        let session = session();
        let mut count = 0;
        for (name, text) in documents() {
            let id = recorded(&session, &name, &text).await;
            count += hints_work(&session, &id, &text).await;
        }
        assert!(count > 3000, "{count} selectors");
    });
}

/// `prefix COUNT suffix`, as marks have it.
fn counted(mark: &str, prefix: &str, suffix: &str) -> Option<usize> {
    mark.strip_prefix(prefix)?
        .strip_suffix(suffix)?
        .parse()
        .ok()
}

/// Whether everything that `shown` shows is in `data`, and every mark tells the truth; how many marks there are.
fn is_true_view(shown: &Value, data: &Value) -> Result<usize, String> {
    let wrong = || Err(format!("{shown} is no view of {data:.200}"));
    match (shown, data) {
        (Value::String(mark), Value::Array(items)) => {
            let n = items.len();
            let marks = [format!("… array, {n} items"), format!("… array, {n} item")];
            if marks.contains(mark) { Ok(1) } else { wrong() }
        }
        (Value::String(mark), Value::Object(members)) => {
            let n = members.len();
            let marks = [format!("… object, {n} keys"), format!("… object, {n} key")];
            if marks.contains(mark) { Ok(1) } else { wrong() }
        }
        (Value::String(text), Value::String(whole)) if text == whole => Ok(0),
        (Value::String(text), Value::String(whole)) => {
            let cut = text.rsplit_once("… (").and_then(|(beginning, rest)| {
                let chars = counted(rest, "", " characters)")?;
                Some(whole.starts_with(beginning) && chars == whole.chars().count())
            });
            if cut == Some(true) { Ok(1) } else { wrong() }
        }
        (Value::Array(shown), Value::Array(all)) => {
            let (items, mut marks) = match shown.split_last() {
                Some((Value::String(mark), items))
                    if shown.len() != all.len() || *mark.as_str() != all[items.len()] =>
                {
                    let hidden =
                        counted(mark, "… ", " more items").or(counted(mark, "… ", " more item"));
                    if hidden != all.len().checked_sub(items.len()) {
                        // The last item may be marked itself.
                        (shown.as_slice(), 0)
                    } else {
                        (items, 1)
                    }
                }
                _ => (shown.as_slice(), 0),
            };
            if marks == 0 && items.len() != all.len() {
                return wrong();
            }
            for (shown, data) in items.iter().zip(all) {
                marks += is_true_view(shown, data)?;
            }
            Ok(marks)
        }
        (Value::Object(shown), Value::Object(all)) => {
            let mut marks = 0;
            let mut shown_members = 0;
            for (key, value) in shown {
                match all.get(key) {
                    Some(data) => {
                        marks += is_true_view(value, data)?;
                        shown_members += 1;
                    }
                    None if key.chars().all(|c| c == '…') && !key.is_empty() => {
                        let mark = value.as_str().unwrap_or_default();
                        let count = mark.split_once(" more key").map(|(count, _)| count);
                        let hidden = count.and_then(|count| count.parse().ok());
                        if hidden != Some(all.len() + 1 - shown.len()) {
                            return wrong();
                        }
                        let names = mark.split_once(": ").map(|(_, names)| names);
                        let names = names.unwrap_or_default().split(", ");
                        for name in names.filter(|name| !name.contains('…') && !name.is_empty()) {
                            // Odd names are quoted, and a comma may stand in one.
                            let name = name.trim_matches('"');
                            let is_there = all
                                .keys()
                                .any(|key| Value::from(key.as_str()).to_string().contains(name));
                            if !is_there {
                                return wrong();
                            }
                        }
                        marks += 1;
                    }
                    None => return wrong(),
                }
            }
            let is_marked = shown.len() > shown_members;
            if is_marked || shown_members == all.len() {
                Ok(marks)
            } else {
                wrong()
            }
        }
        (shown, data) if shown == data => Ok(0),
        _ => wrong(),
    }
}

/// The result's own fields of a rendering, and ours.
fn parts(rendering: &str) -> (Value, Map<String, Value>) {
    let shown: Value = serde_json::from_str(rendering).unwrap();
    let Value::Object(members) = shown else {
        panic!("{rendering}");
    };
    let ours = ["_toolCallId", "_structureHints", "_crossfeedPreview"];
    let (ours, own): (Map<_, _>, Map<_, _>) = members
        .into_iter()
        .partition(|(key, _)| ours.contains(&key.as_str()));
    (Value::Object(own), ours)
}

/// A preview is valid JSON, within its budget, shows nothing that is not there, and marks every cut.
async fn preview_is_true(
    session: &Session,
    id: &crossfeed_wire::CallId,
    text: &str,
    budget: usize,
) -> Option<usize> {
    let options = RenderOptions::default()
        .with_budget(budget)
        .with_hints(ShownHints::WhenCut);
    let rendered = match session.render(id, &options).await {
        Ok(rendered) => rendered,
        Err(failure) => {
            assert_eq!(failure.body().code, "limit.exceeded", "{failure}");
            assert!(budget < 150, "{failure}");
            return None;
        }
    };
    let again = session.render(id, &options).await.unwrap();
    assert_eq!(rendered.json, again.json);
    let tokens = rendered.json.chars().count().div_ceil(4);
    assert!(
        tokens <= budget,
        "{tokens} tokens of {budget}: {}",
        rendered.json
    );
    assert_eq!(tokens, rendered.tokens);
    let (own, ours) = parts(&rendered.json);
    assert_eq!(ours["_toolCallId"], id.as_str());
    let data: Value = serde_json::from_str(text).unwrap();
    let data = match data {
        Value::Object(_) => data,
        // A text is shown as one, or cut as what it holds.
        Value::String(text) if own.get("value").is_some() => {
            let opened: Value = serde_json::from_str(&text).unwrap();
            Value::Object(Map::from_iter([("value".to_owned(), opened)]))
        }
        Value::String(_) => Value::Object(Map::from_iter([("text".to_owned(), data)])),
        other => Value::Object(Map::from_iter([("value".to_owned(), other)])),
    };
    let marks = is_true_view(&own, &data).unwrap_or_else(|why| panic!("at {budget}: {why}"));
    assert_eq!(rendered.whole, !ours.contains_key("_crossfeedPreview"));
    assert_eq!(rendered.whole, marks == 0, "{}", rendered.json);
    if let Some(note) = ours.get("_crossfeedPreview") {
        assert!(note["note"].as_str().unwrap().contains("crossfeed"));
        if let Some(reach) = note.get("reach") {
            assert_eq!(reach["$tool"], id.as_str());
            if let Some(selector) = reach.get("$select").and_then(Value::as_str) {
                session.select(id, selector).await.unwrap();
            }
        }
    }
    Some(tokens)
}

#[test]
fn previews_of_real_documents_are_true_and_use_their_budget() {
    block_on(async {
        let session = session();
        let (mut previews, mut share) = (0, 0);
        for (name, text) in documents() {
            let id = recorded(&session, &name, &text).await;
            for budget in [0, 1, 20, 60, 100, 200, 500, 2000, 10_000] {
                let tokens = preview_is_true(&session, &id, &text, budget).await;
                if budget == 500 && text.len() > 10_000 {
                    previews += 1;
                    share += tokens.unwrap() * 100 / budget;
                }
            }
        }
        assert!(previews > 30, "{previews}");
        assert!(
            share / previews >= 70,
            "{} % of the budget",
            share / previews
        );
    });
}

/// A budget holds by whatever counts: here the tokenizer of a model.
#[test]
fn previews_keep_their_budget_by_an_exact_count() {
    let tokens = TokenCounter::o200k();
    let context = ContextOptions::default().with_tokens(tokens.clone());
    let engine = Engine::in_memory(EngineOptions::default().with_context(context));
    let session = engine.session(scope("exact"));
    block_on(async {
        let mut share = Vec::new();
        for (name, text) in documents() {
            let id = recorded(&session, &name, &text).await;
            for budget in [150, 500] {
                let options = RenderOptions::default().with_budget(budget);
                let rendered = session.render(&id, &options).await.unwrap();
                let exact = tokens.count(&rendered.json);
                assert!(exact <= budget, "{name}: {exact} of {budget}");
                assert_eq!(exact, rendered.tokens);
                if !rendered.whole {
                    share.push(exact * 100 / budget);
                }
            }
        }
        let mean = share.iter().sum::<usize>() / share.len();
        assert!(mean >= 60, "{mean} % of the budget");
    });
}

fn json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        4 => "[a-z_]{1,6}",
        1 => Just("a.b".to_owned()),
        1 => Just("with blank".to_owned()),
        1 => Just("it's \"quoted\"".to_owned()),
        1 => Just("result".to_owned()),
        1 => Just("_id".to_owned()),
        1 => Just("…".to_owned()),
        1 => "\\PC{0,4}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,12}".prop_map(Value::from),
        "\\PC{0,60}".prop_map(Value::from),
        (1..4000_usize).prop_map(|n| Value::from("long text ".repeat(n / 10))),
    ];
    leaf.prop_recursive(5, 120, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner.clone()), 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
            // A list of one kind.
            (inner.clone(), 0..40_usize).prop_map(|(item, n)| Value::from(vec![item; n])),
            // JSON in a string.
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn generated_results_are_shown_truly(value in json(), budgets in prop::collection::vec(0..1200_usize, 4)) {
        block_on(async {
            let session = session();
            let text = value.to_string();
            let id = recorded(&session, "call_1", &text).await;
            hints_work(&session, &id, &text).await;
            for budget in budgets {
                preview_is_true(&session, &id, &text, budget).await;
            }
        });
    }
}
