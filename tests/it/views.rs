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

/// What is left of a body as it is read along its data.
struct Body<'t>(&'t str);

impl<'t> Body<'t> {
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// One thing or several.
    fn takes_mark(&mut self, before: &str, n: usize, one: &str) -> bool {
        let s = if n == 1 { "" } else { "s" };
        self.takes(&format!("{before}{n} {one}{s}"))
    }

    /// The JSON text of a scalar that stands here.
    fn scalar(&mut self) -> Result<Value, String> {
        let mut values = serde_json::Deserializer::from_str(self.0).into_iter::<Value>();
        let found = values.next().ok_or("nothing")?;
        let end = values.byte_offset();
        let found = found.map_err(|error| format!("{error}: {:.80}", self.0))?;
        self.0 = &self.0[end..];
        Ok(found)
    }

    /// Whether everything that is shown is in `data`, and every mark tells the truth; how many marks there are.
    fn marks(&mut self, data: &Value) -> Result<usize, String> {
        let wrong = |body: &Self| Err(format!("{:.80} is not a view of {data:.200}", body.0));
        match data {
            Value::Array(items) if self.takes_mark("… array, ", items.len(), "item") => Ok(1),
            Value::Object(members) if self.takes_mark("… object, ", members.len(), "key") => {
                Ok(1)
            }
            Value::Array(items) => {
                let mut marks = 0;
                for (at, item) in items.iter().enumerate() {
                    if !self.takes(if at == 0 { "[" } else { "," }) {
                        return wrong(self);
                    }
                    if at > 0 && self.takes_mark("… ", items.len() - at, "more item") {
                        marks += 1;
                        break;
                    }
                    marks += self.marks(item)?;
                }
                let closes = self.takes(if items.is_empty() { "[]" } else { "]" });
                if closes { Ok(marks) } else { wrong(self) }
            }
            Value::Object(members) => {
                let mut marks = 0;
                for (at, (key, value)) in members.iter().enumerate() {
                    if !self.takes(if at == 0 { "{" } else { "," }) {
                        return wrong(self);
                    }
                    let more = if at == 0 { "key" } else { "more key" };
                    if self.takes_mark("… ", members.len() - at, more) {
                        marks += 1;
                        self.names(members.keys().skip(at))?;
                        break;
                    }
                    if self.scalar()? != key.as_str() || !self.takes(":") {
                        return wrong(self);
                    }
                    marks += self.marks(value)?;
                }
                let closes = self.takes(if members.is_empty() { "{}" } else { "}" });
                if closes { Ok(marks) } else { wrong(self) }
            }
            Value::String(whole) => {
                let Value::String(shown) = self.scalar()? else {
                    return wrong(self);
                };
                let chars = whole.chars().count();
                if self.takes_mark("… (", chars, "character") && self.takes(")") {
                    let is_cut = shown.len() < whole.len() && whole.starts_with(&shown);
                    return if is_cut { Ok(1) } else { wrong(self) };
                }
                if shown == *whole { Ok(0) } else { wrong(self) }
            }
            scalar => {
                let shown = self.scalar()?;
                if shown == *scalar { Ok(0) } else { wrong(self) }
            }
        }
    }

    /// The names of hidden keys: each of these, in order, as far as they go.
    fn names<'k>(&mut self, keys: impl Iterator<Item = &'k String>) -> Result<(), String> {
        let mut between = ": ";
        for key in keys {
            if !self.takes(between) || self.takes("…") {
                break;
            }
            between = ", ";
            // Odd names are quoted.
            let name = if self.0.starts_with('"') {
                self.scalar()?.as_str().unwrap_or_default().to_owned()
            } else {
                let (name, rest) = self.0.split_at(self.0.find([',', '}', '…']).unwrap_or(0));
                self.0 = rest;
                name.to_owned()
            };
            let is_cut = self.takes("…");
            if name != *key && !(is_cut && key.starts_with(&name)) {
                return Err(format!("{name} names {key:.80}"));
            }
        }
        Ok(())
    }
}

/// Whether the body of a preview shows nothing that is not there; how many marks it has.
fn body_is_true(body: &str, data: &Value) -> Result<usize, String> {
    let opened = |text: &str| {
        let value: Option<Value> = serde_json::from_str(text).ok();
        value.filter(|value| value.is_array() || value.is_object())
    };
    let Value::String(text) = data else {
        let mut body = Body(body);
        let marks = body.marks(data)?;
        return if body.0.is_empty() {
            Ok(marks)
        } else {
            Err(body.0.to_owned())
        };
    };
    if let Some(data) = opened(text) {
        return body_is_true(body, &data);
    }
    let (begin, mark) = body.rsplit_once("… (").ok_or("no mark")?;
    let chars = text.chars().count();
    let s = if chars == 1 { "" } else { "s" };
    let begin = begin.strip_suffix('\n').unwrap_or(begin);
    let is_true = text.starts_with(begin) && mark == format!("{chars} character{s})");
    if is_true { Ok(1) } else { Err(body.to_owned()) }
}

/// Law 13: no reader of JSON takes a preview, or a line of it, for data.
fn is_not_json(text: &str, data: &Value) {
    let is_json = |text: &str| serde_json::from_str::<Value>(text);
    assert!(is_json(text).is_err(), "{text}");
    let (_, body) = text.split_once('\n').unwrap();
    let (body, _) = body.rsplit_once('\n').unwrap();
    assert!(is_json(body).is_err(), "{text}");
    let is_text = data.as_str().is_some_and(|text| is_json(text).is_err());
    for line in text.lines().filter(|_| !is_text) {
        assert!(
            !is_json(line).is_ok_and(|value| value.is_array() || value.is_object()),
            "{line}"
        );
    }
}

/// A rendering is within its budget; of a preview nothing can be read as JSON, it shows nothing that is not there,
/// and marks every cut.
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
    let data: Value = serde_json::from_str(text).unwrap();
    let mut shown: Map<String, Value> = serde_json::from_str(&rendered.json).unwrap();
    assert_eq!(shown.shift_remove("_toolCallId").unwrap(), id.as_str());
    if rendered.whole {
        let data = match data {
            Value::Object(_) => data,
            // A text is shown as one, or without its blanks as what it holds.
            Value::String(text) if shown.contains_key("value") => {
                let opened: Value = serde_json::from_str(&text).unwrap();
                Value::Object(Map::from_iter([("value".to_owned(), opened)]))
            }
            Value::String(_) => Value::Object(Map::from_iter([("text".to_owned(), data)])),
            other => Value::Object(Map::from_iter([("value".to_owned(), other)])),
        };
        assert_eq!(Value::Object(shown), data, "{}", rendered.json);
        return Some(tokens);
    }
    shown.shift_remove("_structureHints");
    let keys: Vec<_> = shown.keys().collect();
    assert_eq!(keys, ["preview"], "{}", rendered.json);
    let preview = shown["preview"].as_str().unwrap();
    is_not_json(preview, &data);
    is_not_json(&rendered.preview_text().unwrap(), &data);
    let (begin, rest) = preview.split_once('\n').unwrap();
    let (body, end) = rest.rsplit_once('\n').unwrap();
    assert_eq!(end, format!("[end of crossfeed preview of {id}]"));
    let begin = begin.strip_prefix(&format!("[crossfeed preview of {id}: cut, not the data"));
    let marks =
        body_is_true(body, &data).unwrap_or_else(|why| panic!("at {budget}: {why}\n{preview}"));
    assert!(marks > 0, "{preview}");
    if let Some((_, reach)) = begin.unwrap().split_once("a reference like ") {
        let reach = reach.strip_suffix(" gets it]").unwrap();
        let reach: Value = serde_json::from_str(reach).unwrap();
        assert_eq!(reach["$tool"], id.as_str());
        if let Some(selector) = reach.get("$select").and_then(Value::as_str) {
            session.select(id, selector).await.unwrap();
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
