//! Keeps results and an artifact across restarts: `cargo run -p crossfeed --features sqlite --example sqlite`.
//!
//! Both lie in a directory that any number of processes may share. Results expire as they do in memory; save what must
//! stay as an artifact.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use crossfeed::{
    CallId, Engine, EngineOptions, Scope, Session, ToolResult,
    artifact::{ArtifactId, NewArtifact},
    store::{SqliteOptions, SqliteStore},
};
use serde_json::json;
use std::{error::Error, path::Path, sync::Arc};

/// The session of one conversation. Each call stands for a program that starts anew.
fn open(directory: &Path) -> Result<Session, Box<dyn Error>> {
    let options = SqliteOptions::default().with_keep_results(true);
    let store = SqliteStore::open(directory, options)?;
    let engine = Engine::new(EngineOptions::default(), Arc::new(store));
    Ok(engine.session(Scope::parse("acme", "support", "conversation-42")?))
}

async fn save(session: &Session) -> Result<(), Box<dyn Error>> {
    let call = CallId::parse("call_1")?;
    let found = r#"{"orders": [{"id": 7, "total": 12.50}, {"id": 8, "total": 3.20}]}"#;
    session.record(&call, ToolResult::json(found)).await?;
    let order = NewArtifact::new(ArtifactId::parse("order-7")?, call)
        .with_base("orders[0]")
        .with_detail("total", "total");
    session.create_artifact(order).await?;
    Ok(())
}

async fn run(directory: &Path) -> Result<(), Box<dyn Error>> {
    save(&open(directory)?).await?;

    // After a restart the result and the artifact are there, and can be referred to.
    let session = open(directory)?;
    for artifact in session.artifacts().await? {
        println!("{}: {} bytes", artifact.artifact_id, artifact.bytes);
    }
    let order = json!({"$artifact": "order-7", "$tool": "call_1", "$select": "total"});
    let resolved = session.resolve(json!({"refund": order}), None).await?;
    println!("the next tool gets {}", resolved.arguments);
    assert_eq!(resolved.arguments, json!({"refund": 12.5}));
    let other = json!({"$tool": "call_1", "$select": "orders[1].total"});
    let resolved = session.resolve(json!({"refund": other}), None).await?;
    println!("and another one {}", resolved.arguments);
    assert_eq!(resolved.arguments, json!({"refund": 3.2}));
    Ok(())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::temp_dir().join(format!("crossfeed-{}", std::process::id()));
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let done = runtime.block_on(run(&directory));
    std::fs::remove_dir_all(&directory)?;
    done
}
