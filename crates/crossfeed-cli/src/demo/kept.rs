//! The tools that a host gives a model for what the engine keeps: make an artifact, read an artifact
//! or a result.
//!
//! What comes in: a call as the model wrote it. What goes out: what it is shown, straight from the
//! engine.

use super::script::Call;
use crate::{artifact, report::Stop};
use crossfeed::{
    ArtifactId, CallId, ErrorBody, Failure, NewArtifact, Retrieved, Session, store::ListedArtifact,
};
use serde_json::{Map, Value};

/// What the model is shown of a call of these tools; `None` for another tool.
pub(super) async fn call(session: &Session, call: &Call) -> Result<Option<String>, Stop> {
    let arguments: Map<String, Value> = match call.tool {
        "keep_artifact" | "read_artifact" | "read_result" => {
            serde_json::from_str(call.arguments).map_err(|error| Stop::Usage(error.to_string()))?
        }
        _ => return Ok(None),
    };
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let call_id = CallId::parse(text("call_id").unwrap_or_default()).map_err(no_id)?;
    let select = text("select");
    let brought = match call.tool {
        "keep_artifact" => {
            let mut wanted = NewArtifact::new(artifact_id(text("artifact_id"))?, call_id);
            if let Some(base) = text("base") {
                wanted = wanted.with_base(base);
            }
            let details = arguments.get("details").and_then(Value::as_object);
            for (name, selector) in details.into_iter().flatten() {
                wanted = wanted.with_detail(name, selector.as_str().unwrap_or_default());
            }
            return Ok(Some(match session.create_artifact(wanted).await {
                Ok(created) => artifact::line(&ListedArtifact::of(&created.artifact)),
                Err(failure) => refused(&failure),
            }));
        }
        "read_artifact" => {
            let artifact_id = artifact_id(text("artifact_id"))?;
            let brought = session.retrieve_artifact(&artifact_id, &call_id, select);
            brought.await
        }
        _ => session.retrieve(&call_id, select).await,
    };
    Ok(Some(match brought {
        Ok(Retrieved::Data { json, .. }) => String::from_utf8_lossy(&json).into_owned(),
        Ok(other) => other
            .error_body()
            .map_or_else(|| other.status().to_owned(), |body| said(&body)),
        Err(failure) => refused(&failure),
    }))
}

fn artifact_id(text: Option<&str>) -> Result<ArtifactId, Stop> {
    ArtifactId::parse(text.unwrap_or_default()).map_err(no_id)
}

fn no_id(error: crossfeed::wire::IdError) -> Stop {
    Stop::Usage(error.to_string())
}

fn refused(failure: &Failure) -> String {
    failure.to_string()
}

/// An error as a model reads it.
fn said(body: &ErrorBody) -> String {
    match &body.advice {
        Some(advice) => format!("{}\n{advice}", body.message),
        None => body.message.clone(),
    }
}
