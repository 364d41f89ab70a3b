//! The tools for what the engine stores: create an artifact, read an artifact or a result. The model sees the engine's own
//! answers.

use super::script::Call;
use crate::{
    artifact,
    report::{CommandError, Result, bail},
};
use crossfeed::{
    CallId, Session,
    artifact::{ArtifactId, ListedArtifact, NewArtifact},
    render::Retrieved,
};
use serde_json::{Map, Value};

/// The answer to a call of these tools, as the model sees it.
pub(super) async fn call(session: &Session, call: &Call) -> Result<String> {
    let arguments: Map<String, Value> = match call.tool {
        "keep_artifact" | "read_artifact" | "read_result" => serde_json::from_str(call.arguments())
            .map_err(|error| CommandError::usage(error.to_string()))?,
        tool => bail!("there is no tool `{tool}`"),
    };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let call_id = CallId::parse(text("call_id").unwrap_or_default())?;
    let artifact_id = || ArtifactId::parse(text("artifact_id").unwrap_or_default());
    let select = text("select");
    let brought = match call.tool {
        "keep_artifact" => {
            let mut wanted = NewArtifact::new(artifact_id()?, call_id);
            if let Some(base) = text("base") {
                wanted = wanted.with_base(base);
            }
            let details = arguments.get("details").and_then(Value::as_object);
            for (name, selector) in details.into_iter().flatten() {
                wanted = wanted.with_detail(name, selector.as_str().unwrap_or_default());
            }
            return Ok(match session.create_artifact(wanted).await {
                Ok(created) => artifact::line(&ListedArtifact::from_artifact(&created.artifact)),
                Err(failure) => failure.to_string(),
            });
        }
        "read_artifact" => {
            session
                .retrieve_artifact(&artifact_id()?, &call_id, select)
                .await
        }
        _ => session.retrieve(&call_id, select).await,
    };
    Ok(match brought {
        Ok(Retrieved::Data { json, .. }) => String::from_utf8_lossy(&json).into_owned(),
        Ok(other) => match other.error_body() {
            None => other.status().to_owned(),
            Some(body) => {
                let lines = [Some(body.message), body.advice];
                lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
            }
        },
        Err(failure) => failure.to_string(),
    })
}
