//! The programs of the guide. In `docs/`, a block that begins with ```` ```rust NAME ```` shows what stands here between
//! `// docs: NAME` and `// end`; `CROSSFEED_BLESS=1` writes it there.

use crossfeed::{CallId, Engine, EngineOptions, InputSchema, Scope, Session, ToolResult};
use serde_json::{Value, json};
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

type Outcome = Result<(), Box<dyn Error>>;

const FOUND: &str = r#"{"items": [{"url": "https://a.example", "score": 0.9}]}"#;

fn engine() -> Result<(Engine, Session, InputSchema), Box<dyn Error>> {
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    let page = json!({"type": "object", "properties": {"page": {"type": "string"}}});
    let schema = engine.input_schema(&page)?;
    Ok((engine, session, schema))
}

/// A session with the result of a call.
async fn recorded() -> Result<(Session, InputSchema), Box<dyn Error>> {
    let (_, session, schema) = engine()?;
    let call = CallId::parse("call_1")?;
    session.record(&call, ToolResult::json(FOUND)).await?;
    Ok((session, schema))
}

fn arguments() -> Value {
    json!({"page": {"$tool": "call_1", "$select": "items[0].url"}})
}

#[tokio::test]
async fn resolve() -> Outcome {
    let page = json!({"type": "object", "properties": {"page": {"type": "string"}}});
    let tool_output = FOUND;
    // docs: resolve
    use crossfeed::{CallId, Engine, EngineOptions, Scope, ToolResult};

    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);

    // A tool returned.
    let call = CallId::parse("call_1")?;
    session.record(&call, ToolResult::json(tool_output)).await?;

    // The next one is called; its own schema judges the resolved arguments.
    let input_schema = engine.input_schema(&page)?;
    let arguments = json!({"page": {"$tool": "call_1", "$select": "items[0].url"}});
    let resolved = session.resolve(arguments, Some(&input_schema)).await?;
    // end
    assert_eq!(resolved.arguments, json!({"page": "https://a.example"}));
    Ok(())
}

#[tokio::test]
async fn bytes() -> Outcome {
    let (session, input_schema) = recorded().await?;
    let arguments_as_json = arguments().to_string();
    let mut request = Vec::new();
    // docs: bytes
    let resolved = session
        .resolve_json(arguments_as_json, Some(&input_schema))
        .await?;
    for piece in resolved.arguments.chunks() {
        request.extend_from_slice(piece);
    }
    // end
    assert_eq!(request, br#"{"page":"https://a.example"}"#);
    Ok(())
}

#[tokio::test]
async fn errors() -> Outcome {
    let (session, _) = recorded().await?;
    let arguments = json!({"page": {"$tool": "call_1", "$select": "items[0].ulr"}});
    let mut replies = Vec::new();
    // docs: errors
    use crossfeed::Fault;

    if let Err(error) = session.resolve(arguments, None).await {
        match error.fault() {
            // What was there, and what to try next; never the data. Return it as the tool's result.
            Fault::Model => replies.push(error.to_string()),
            // The model cannot help: log it, and give the model one neutral line.
            Fault::Backend => replies.push("the result is not available, try again".to_owned()),
            Fault::Host => return Err(error.into()),
        }
    }
    // end
    let [reply] = &replies[..] else {
        return Err("one error was expected".into());
    };
    assert!(reply.ends_with("try: items[0].url"), "{reply}");
    Ok(())
}

#[tokio::test]
async fn show() -> Outcome {
    let (session, _) = recorded().await?;
    // docs: show
    use crossfeed::RenderOptions;

    let call = CallId::parse("call_1")?;
    let shown = session.render(&call, &RenderOptions::default()).await?;
    let tokens_avoided = session.usage().avoided();
    // end
    assert!(shown.whole && shown.json.contains("https://a.example"));
    assert!(tokens_avoided.abs() < 100, "{tokens_avoided}");
    Ok(())
}

#[tokio::test]
async fn project() -> Outcome {
    let (_, session, _) = engine()?;
    let tool_output = FOUND;
    let mut audited = 0;
    // docs: project
    use crossfeed::project::{ProjectOptions, ProjectionRequest};

    let call = CallId::parse("call_2")?;
    let result = ToolResult::json(tool_output);
    let mut response = session.respond(&call, result).await?;
    response.observe("audit", |full| audited += full.document().raw().len());
    let request = ProjectionRequest::new().with_include(["items.url"]);
    let options = ProjectOptions::default().with_request(request);
    let projected = response.cut(&options).await?;
    // end
    assert_eq!(audited, FOUND.len());
    assert_eq!(
        serde_json::from_slice::<Value>(&projected.json)?,
        json!({"items": [{"url": "https://a.example"}]})
    );
    Ok(())
}

#[tokio::test]
async fn wait() -> Outcome {
    let (_, session, input_schema) = engine()?;
    let tool_output = FOUND;
    let arguments = json!({"page": {"$tool": "call_3", "$select": "items[0].url"}});
    // docs: wait
    let search = session.begin(&CallId::parse("call_3")?).await?;
    let fetch = session.begin(&CallId::parse("call_4")?).await?;

    // Both at once: the arguments of the second wait for the result of the first.
    let (found, resolved) = tokio::join!(
        search.complete(ToolResult::json(tool_output)),
        fetch.session().resolve(arguments, Some(&input_schema)),
    );
    // end
    found?;
    assert_eq!(resolved?.arguments, json!({"page": "https://a.example"}));
    Ok(())
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn artifacts() -> Outcome {
    let directory = std::env::temp_dir().join(format!("crossfeed-guide-{}", std::process::id()));
    // docs: artifacts
    use crossfeed::{
        artifact::{ArtifactId, NewArtifact},
        store::{SqliteOptions, SqliteStore},
    };
    use std::sync::Arc;

    let store = SqliteStore::open(&directory, SqliteOptions::default())?;
    let engine = Engine::new(EngineOptions::default(), Arc::new(store));
    let session = engine.session(Scope::parse("acme", "support", "conversation-42")?);
    // end
    let call = CallId::parse("call_1")?;
    session.record(&call, ToolResult::json(FOUND)).await?;
    // docs: artifact
    let best = NewArtifact::new(ArtifactId::parse("best")?, call).with_base("items[0]");
    session.create_artifact(best).await?;
    // end
    let arguments = json!({"page": {"$artifact": "best", "$tool": "call_1", "$select": "url"}});
    let resolved = session.resolve(arguments, None).await?;
    assert_eq!(resolved.arguments, json!({"page": "https://a.example"}));
    drop((session, engine));
    fs::remove_dir_all(directory)?;
    Ok(())
}

#[tokio::test]
async fn tools() -> Outcome {
    let (engine, session, _) = engine()?;
    session
        .record(&CallId::parse("call_1")?, ToolResult::json(FOUND))
        .await?;
    let fetch = json!({
        "name": "fetch",
        "description": "Fetches a page",
        "input_schema": {
            "type": "object",
            "properties": {"page": {"type": "string"}},
            "required": ["page"]
        }
    });
    let tools = json!([fetch]);
    // docs: tools
    use crossfeed::tools::{ListOptions, Profile, ToolList, rewrite_tools};

    let own = ToolList::parse(&tools)?;
    let listed = rewrite_tools(&own, &ListOptions::profile(Profile::Anthropic));
    // `listed.value` goes to the provider, `listed.guidance()` into the system prompt.
    let fetch = engine.prepare(listed.tools[0].clone());

    let written = json!({"page": {"_tool": "call_1", "_select": "items[0].url"}});
    let resolved = session.resolve_call(&fetch, written).await?;
    // end
    assert_eq!(resolved.arguments, json!({"page": "https://a.example"}));
    assert!(listed.guidance().contains("_tool"));
    Ok(())
}

#[cfg(feature = "otel")]
#[test]
fn telemetry() -> Outcome {
    use opentelemetry_sdk::{
        error::OTelSdkResult,
        trace::{SpanData, SpanExporter},
    };

    #[derive(Debug)]
    struct Exporter;

    impl SpanExporter for Exporter {
        async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
            Ok(())
        }
    }

    let exporter = Exporter;
    // docs: pipeline
    use crossfeed::telemetry::{Policy, SanitizingSpanExporter};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    let exporter = SanitizingSpanExporter::new(exporter, Policy::default()); // the line to add
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .build();
    // end
    provider.shutdown()?;
    // docs: telemetry
    use crossfeed::telemetry::EngineTelemetry;
    use std::sync::Arc;

    let telemetry = EngineTelemetry::new(&opentelemetry::global::meter("crossfeed"));
    let options = EngineOptions::default().with_telemetry(Arc::new(telemetry));
    let engine = Engine::in_memory(options);
    // end
    drop(engine);
    Ok(())
}

/// The lines of this file between `// docs: NAME` and `// end`, at the margin.
fn snippet(name: &str) -> Option<String> {
    let (_, rest) = include_str!("guide.rs").split_once(&format!("    // docs: {name}\n"))?;
    let (lines, _) = rest.split_once("    // end\n")?;
    let lines = lines.lines();
    Some(
        lines
            .map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line)))
            .collect(),
    )
}

/// A page with its blocks of Rust as they are here.
fn with_snippets(page: &str) -> String {
    let mut blocks = page.split("```rust ");
    let mut written = blocks.next().unwrap_or_default().to_owned();
    for block in blocks {
        let (name, rest) = block.split_once('\n').unwrap_or((block, ""));
        let (_, rest) = rest.split_once("```").unwrap_or_default();
        let code = snippet(name).unwrap_or_else(|| format!("there is no `// docs: {name}`\n"));
        written += &format!("```rust {name}\n{code}```{rest}");
    }
    written
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "CROSSFEED_BLESS decides whether pages are written or compared"
)]
fn the_guide_shows_this_file() -> Outcome {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages: Vec<PathBuf> = ["library.md", "telemetry.md"]
        .map(|page| docs.join(page))
        .into();
    for path in pages {
        let page = fs::read_to_string(&path)?;
        let written = with_snippets(&page);
        if std::env::var_os("CROSSFEED_BLESS").is_some() {
            fs::write(path, written)?;
        } else {
            assert_eq!(page, written, "run this test with CROSSFEED_BLESS=1");
        }
    }
    Ok(())
}
