//! `save_result`: a stored result, or a part of it, as a file.

use super::{Arguments, call_id_of};
use crate::{
    apart::blocking,
    config::GATEWAY,
    export::ExportRequest,
    root_directory::{FileError, RelativePath},
    tools::{
        client::Shared,
        flow,
        refusal::{self, ErrorBodies},
        result::with_notices,
        save_directory::SaveDirectory,
    },
};
use bytes::Bytes;
use crossfeed_wire::ErrorCode;
use serde_json::json;
use std::sync::Arc;

const HOW_TO_NAME: &str = "write names with `/` between them, like `reports/june.json`";

/// Saves what is asked for.
pub(super) async fn answer(
    shared: &Shared,
    directory: &Arc<SaveDirectory>,
    arguments: &Arguments,
    is_model: bool,
) -> Result<Bytes, ErrorBodies> {
    let call_id = call_id_of(shared, arguments)?;
    let select = arguments.text("select")?;
    let overwrites = arguments.flag("overwrite")?.unwrap_or_default();
    let Some(written) = arguments.text("path")? else {
        let message = "the required parameter `path` is missing";
        let code = ErrorCode::ArgumentsInvalid;
        return Err(refusal::body(code, message, HOW_TO_NAME));
    };
    let path = RelativePath::parse(written).map_err(|error| {
        let code = ErrorCode::FileRefused;
        refusal::body(code, error.to_string(), HOW_TO_NAME)
    })?;
    let request = ExportRequest::new(&call_id).with_select(select);
    let (export, room) = shared
        .export(request)
        .await
        .map_err(refusal::not_exported)?;
    let to = format!("{GATEWAY}/{}", super::SAVE).into();
    let sources = shared.tools.flows.check(&export.lineage, &to);
    sources.map_err(|error| {
        let masked = error.masked();
        tracing::warn!(target: "crossfeed::gateway::flow", %to, error = masked, "refused a flow");
        refusal::flow_body(&error)
    })?;
    flow::log(None, &to, &export.lineage);
    let notices = shared.heard(export.notices);
    let (directory, principal) = (Arc::clone(directory), shared.principal.clone());
    let (at, content) = (path.clone(), export.content);
    let kind = content.media_type().to_owned();
    let is_shared = shared.tools.config.shares_saves();
    let write = move || {
        let _room = room;
        directory.write(&principal, &at, content.as_bytes(), overwrites)
    };
    let saved = blocking(write).await;
    let saved = saved.map_err(|error| refused(error, is_shared))?;
    tracing::info!(target: "crossfeed::gateway::tools", call_id = call_id.as_str(), bytes = saved.bytes, "saved a result");
    let saved = json!({
        "path": path.as_str(),
        "bytes": saved.bytes,
        "sha256": saved.hex(),
        "mimeType": kind,
    });
    let mut result = refusal::result(&saved.to_string(), shared.privacy());
    result["structuredContent"] = saved;
    with_notices(&mut result, &notices, is_model);
    Ok(result.to_string().into())
}

/// Why a file is not written.
fn refused(error: FileError, is_shared: bool) -> ErrorBodies {
    let code = error.code();
    let advice = match &error {
        FileError::Exists if is_shared => {
            "save it under another path: several clients save here, and only a file of your own is replaced that nobody has changed since"
        }
        FileError::Exists => {
            "save it under another path; `overwrite: true` replaces the file, if that is intended"
        }
        FileError::Io(source) => {
            tracing::warn!(target: "crossfeed::gateway::tools", error = %source, "cannot save a result");
            "save it later; the log of the gateway says more"
        }
        FileError::NotFound => {
            "the directory of saved results is gone: its operator has to restore it"
        }
        _ => "save it under another path",
    };
    refusal::body(code, error.to_string(), advice)
}
