//! An agent loop to copy from: `cargo run -p crossfeed --example orchestrator`.
//!
//! The tool list goes to the provider with every parameter reference-aware. Each call goes the same
//! way: it is begun, its references are resolved and the outcome is judged by the tool's own schema,
//! the tool runs, the result is recorded, and the model is shown a small result whole and of a large
//! one a preview, with the call id and selectors that work. What was large stays outside the model's
//! context. The calls of a turn run at once, and one that refers to another of its turn waits for it. Here the model's turns are scripted and the data is a few lines; put your provider's
//! client where [`model`] stands.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use crossfeed::{
    CallId, Engine, EngineOptions, Fault, InFlight, PreparedTool, RenderOptions, Scope, Session,
    ToolResult,
    tools::{ListOptions, Profile, RewrittenList, Spelling, ToolList, rewrite_tools},
};
use futures_util::future::{BoxFuture, try_join_all};
use serde_json::{Value, json};
use std::{collections::HashMap, error::Error, time::Duration};

/// The most tokens of a result that the model is shown: few, since the data is small.
const BUDGET: usize = 250;

/// What only the host can act on.
type HostError = Box<dyn Error + Send + Sync>;

/// A tool: its own input schema and the way back to it, and what it does. It knows nothing of
/// references.
struct Tool {
    prepared: PreparedTool,
    run: Box<dyn Fn(Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>,
}

/// A call as the model wrote it: its id, the tool, the arguments, still text.
type Call = (&'static str, &'static str, &'static str);

/// What the model reads as the result of its call.
struct Reply {
    text: String,
    is_error: bool,
}

struct Agent {
    session: Session,
    tools: HashMap<String, Tool>,
}

impl Agent {
    /// Carries out one call. `Err` is the host's to deal with; whatever the model can put right is
    /// a reply.
    async fn call(&self, flight: &InFlight, (id, name, written): Call) -> Result<Reply, HostError> {
        // A reference to this call now reports that it has failed.
        let refuse = async |text: String| {
            flight.fail("the call was refused").await?;
            let is_error = true;
            Ok(Reply { text, is_error })
        };
        let Some(tool) = self.tools.get(name) else {
            return refuse(format!("there is no tool `{name}`")).await;
        };
        let arguments = match serde_json::from_str(written) {
            Ok(arguments) => arguments,
            Err(error) => {
                return refuse(format!("the arguments are not valid JSON: {error}")).await;
            }
        };

        // 2. Resolve the references; the tool's own schema judges what came of it. What is in flight
        // is waited for.
        let session = flight.session();
        let resolved = match session.resolve_call(&tool.prepared, arguments).await {
            Ok(resolved) => resolved,
            Err(error) => match error.fault() {
                // It says what was there and what to try next, and never shows data.
                Fault::Model => return refuse(error.to_string()).await,
                // Log it. The model cannot help, so it gets one neutral line.
                Fault::Backend => {
                    return refuse("the result is not at hand, try again".to_owned()).await;
                }
                Fault::Host => return Err(error.into()),
            },
        };
        for link in &resolved.lineage {
            let (from, bytes) = (&link.source.call_id, link.source.bytes_out);
            println!("  {} of {id} <- {from}, about {bytes} bytes", link.at);
        }

        // 3. Run the tool, 4. record what it returned. A failure is recorded, too: a reference to
        // it then says so.
        match (tool.run)(resolved.arguments).await {
            Ok(value) => flight.complete(ToolResult::value(&value)).await?,
            Err(text) => {
                flight.fail(text.as_str()).await?;
                let is_error = true;
                return Ok(Reply { text, is_error });
            }
        };

        // 5. Show the model how to refer to the result, and what is in it: whole up to so many
        // tokens, else a preview, in the spelling of the tool list. A real host leaves the budget
        // as it is.
        let options = RenderOptions::default()
            .with_budget(BUDGET)
            .with_spelling(Spelling::Underscore);
        let rendered = session.render(flight.call_id(), &options).await;
        let rendered = rendered.map_err(|failure| failure.to_string())?;
        Ok(Reply {
            text: rendered.json,
            is_error: false,
        })
    }

    /// Carries out the calls of one turn at once.
    async fn turn(&self, calls: &[Call]) -> Result<Vec<Reply>, HostError> {
        // 1. Begin all of them before any runs: so each may refer to any other. A call that is dropped
        // before it has returned, as by the `?` below, is given up, so that no call waits for it in vain.
        let mut flights = Vec::new();
        for (id, name, written) in calls {
            let flight = self.session.begin(&CallId::parse(id)?).await?;
            // With tool and arguments, an error can say how to get a result again that has gone. It does
            // so only for calls that may be repeated: all of these tools only read.
            let flight = flight.with_tool(*name).with_arguments(*written);
            flights.push(flight.with_repeatable(true));
        }
        let running = flights.iter().zip(calls);
        try_join_all(running.map(|(flight, &call)| self.call(flight, call))).await
    }
}

/// The list that the provider is sent in place of [`definitions`], and how it came about.
fn listed() -> Result<RewrittenList, HostError> {
    let options = ListOptions::profile(Profile::Anthropic);
    Ok(rewrite_tools(&ToolList::parse(&definitions())?, &options))
}

/// The tools as this host has always sent them.
fn definitions() -> Value {
    let tool = |name: &str, description: &str, properties: Value| {
        let schema = json!({"type": "object", "properties": properties});
        json!({"name": name, "description": description, "input_schema": schema})
    };
    let string = json!({"type": "string"});
    let strings = json!({"type": "array", "items": string});
    json!([
        tool("search", "Finds pages", json!({"query": string})),
        tool("fetch", "Fetches pages", json!({"urls": strings})),
        tool("digest", "Sums texts up", json!({"texts": strings})),
    ])
}

/// The tools by the names that the model sees, ready to be called.
fn tools(engine: &Engine, listed: &RewrittenList) -> HashMap<String, Tool> {
    let run = |name: &str| -> fn(Value) -> Result<Value, String> {
        match name {
            "search" => search,
            "fetch" => fetch,
            _ => digest,
        }
    };
    let tools = listed.tools.iter().map(|tool| {
        let run = run(tool.name());
        let prepared = engine.prepare(tool.clone());
        let run = Box::new(move |arguments| -> BoxFuture<'static, _> {
            Box::pin(async move {
                // In place of what a real tool waits for.
                tokio::time::sleep(Duration::from_millis(20)).await;
                run(arguments)
            })
        });
        (tool.shown_name().to_owned(), Tool { prepared, run })
    });
    tools.collect()
}

fn search(arguments: Value) -> Result<Value, String> {
    let query = arguments["query"].as_str().unwrap_or_default();
    let item = |number: usize| {
        let url = format!("https://{query}.example/{number}");
        json!({"title": format!("{query} {number}"), "url": url, "score": 1.0 / number as f64})
    };
    Ok(json!({"total": 50, "items": (1..=50).map(item).collect::<Vec<_>>()}))
}

fn fetch(arguments: Value) -> Result<Value, String> {
    let urls = arguments["urls"].as_array().filter(|urls| !urls.is_empty());
    let pages = urls.ok_or("nothing to fetch")?.iter().map(|url| {
        let url = url.as_str().unwrap_or_default();
        json!({"url": url, "text": format!("What {url} says. ").repeat(20)})
    });
    Ok(json!({"pages": pages.collect::<Vec<_>>()}))
}

fn digest(arguments: Value) -> Result<Value, String> {
    let texts = arguments["texts"].as_array().map_or(&[][..], Vec::as_slice);
    let words = texts
        .iter()
        .filter_map(Value::as_str)
        .flat_map(str::split_whitespace);
    Ok(json!({"digest": format!("{} texts, {} words", texts.len(), words.count())}))
}

/// What the model calls in each turn; nothing when it is done.
fn model(turn: usize) -> &'static [Call] {
    match turn {
        1 => &[
            ("call_1", "search", r#"{"query": "rust"}"#),
            ("call_2", "search", r#"{"query": "wasm"}"#),
        ],
        // A guess at a name that is not there. The error says what is.
        2 => &[(
            "call_3",
            "fetch",
            r#"{"urls": [{"_tool": "call_1", "_select": "items[0].link"}]}"#,
        )],
        // The third call refers to the first, which has not returned yet.
        3 => &[
            (
                "call_4",
                "fetch",
                r#"{"urls": {"_tool": "call_1", "_select": "items[?score > `0.3`].url"}}"#,
            ),
            (
                "call_5",
                "fetch",
                r#"{"urls": {"_tool": "call_2", "_select": "items[:2].url"}}"#,
            ),
            (
                "call_6",
                "digest",
                r#"{"texts": {"_tool": "call_4", "_select": "pages[].text"}}"#,
            ),
        ],
        _ => &[],
    }
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), HostError> {
    let engine = Engine::in_memory(EngineOptions::default());
    // One session a conversation: its call ids mean nothing in another.
    let session = engine.session(Scope::parse("tenant", "project", "conversation-1")?);
    let listed = listed()?;
    println!("the provider gets the tools {}", listed.value);
    println!("and the system prompt ends with: {}", listed.guidance());
    let tools = tools(&engine, &listed);
    let agent = Agent { session, tools };
    for number in 1.. {
        let calls = model(number);
        if calls.is_empty() {
            break;
        }
        println!("turn {number}");
        for reply in agent.turn(calls).await? {
            let mark = if reply.is_error { "error: " } else { "" };
            println!("  the model reads: {mark}{}", reply.text);
        }
    }
    // The answer for the user may well be read whole.
    let last = CallId::parse("call_6")?;
    let answer = agent.session.select(&last, "digest").await;
    let answer = answer.map_err(|failure| failure.to_string())?;
    println!("answer: {}", String::from_utf8_lossy(&answer.json));
    let usage = agent.session.usage();
    println!("{} tokens did not enter the context", usage.avoided());
    Ok(())
}
