//! Stored results and artifacts as resources: a client's user opens or attaches them.
//!
//! # What holds
//!
//! - A client sees what its own calls may refer to, and nothing else. What others have reads like what is not there, and
//!   so does what has expired.
//! - Each has one address, and every address of this scheme is the gateway's, whatever servers list.

use super::{
    client::{ClientTools, Shared},
    refusal,
};
use crate::{
    apart::{apart, indexed},
    export::{Content, ExportError, ExportRequest},
    message::RpcError,
    protocol::{code, method},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use crossfeed_json::quoted;
use crossfeed_store::{StoreError, with_causes};
use crossfeed_wire::{ArtifactId, CallId, ErrorCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::{Value, json};
use std::{cmp::Reverse, fmt, sync::Arc};

const SCHEME: &str = "crossfeed:";
const RESULTS: &str = "crossfeed://results/";
const ARTIFACTS: &str = "crossfeed://artifacts/";
const SELECT: &str = "?select=";
/// What stands in an address as it is.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The most resources of a page.
const PAGE: usize = 100;

/// Whether an address, or a template of some, is of the gateway's scheme to any reader.
pub(crate) fn is_own(uri: &str) -> bool {
    let uri = uri.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
    let scheme = uri.get(..SCHEME.len());
    scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// What an address names.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Address {
    Result(CallId),
    Artifact(ArtifactId, CallId),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |text| utf8_percent_encode(text, ENCODED);
        match self {
            Self::Result(call) => write!(f, "{RESULTS}{}", encoded(call.as_str())),
            Self::Artifact(artifact, call) => {
                let [artifact, call] = [artifact.as_str(), call.as_str()].map(encoded);
                write!(f, "{ARTIFACTS}{artifact}/{call}")
            }
        }
    }
}

impl Address {
    /// Reads an address as the gateway writes it, and the selector behind it.
    fn parse(uri: &str) -> Option<(Self, Option<String>)> {
        let decoded = |text| percent_decode_str(text).decode_utf8().ok();
        let (path, select) = match uri.split_once(SELECT) {
            Some((path, select)) => (path, Some(decoded(select)?.into_owned())),
            None => (uri, None),
        };
        let call = |text| CallId::parse(&decoded(text)?).ok();
        let address = if let Some(id) = path.strip_prefix(RESULTS) {
            Self::Result(call(id)?)
        } else {
            let (artifact, id) = path.strip_prefix(ARTIFACTS)?.split_once('/')?;
            let artifact = ArtifactId::parse(&decoded(artifact)?).ok()?;
            Self::Artifact(artifact, call(id)?)
        };
        // Another spelling would be another address of the same.
        (address.to_string() == path).then_some((address, select))
    }

    fn call_id(&self) -> &CallId {
        match self {
            Self::Result(call) | Self::Artifact(_, call) => call,
        }
    }

    /// The order of a list: results, then artifacts, those with the highest numbers first. It does not depend on what
    /// is used meanwhile.
    fn order(&self) -> (bool, Reverse<(usize, String)>) {
        let text = self.to_string();
        let is_artifact = matches!(self, Self::Artifact(..));
        (is_artifact, Reverse((text.len(), text)))
    }
}

impl ClientTools {
    /// Whether the client may list and read its results as resources.
    pub(crate) fn offers_resources(&self) -> bool {
        self.shared.tools.config.result_resources
    }

    /// The place of a request with these `params`.
    async fn place_of(&self, params: &Bytes) -> Arc<Shared> {
        let document = indexed(params.clone()).await;
        match document.root() {
            Ok(root) => self.shared.for_call(root),
            Err(_) => Arc::clone(&self.shared),
        }
    }

    /// A page of a list of resources or of templates; `cursor` is that of the page before.
    pub(crate) async fn resource_page(
        &self,
        method: &str,
        params: &Bytes,
        cursor: Option<&str>,
    ) -> Result<Bytes, RpcError> {
        if method == method::LIST_TEMPLATES {
            return Ok(templates().to_string().into());
        }
        let after = match cursor.map(Address::parse) {
            Some(None) => return Err(RpcError::new(code::INVALID_PARAMS, "unknown cursor")),
            Some(Some((address, _))) => Some(address.order()),
            None => None,
        };
        let mut listed = listed(&*self.place_of(params).await).await.map_err(|error| {
            tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(&error), "cannot list results");
            let message = "stored results cannot be read at the moment";
            let data = json!({"code": ErrorCode::StoreUnavailable.as_str()});
            RpcError::new(code::INTERNAL, message).with_data(data)
        })?;
        listed.retain(|(address, _)| after.as_ref().is_none_or(|after| address.order() > *after));
        listed.sort_by_cached_key(|(address, _)| address.order());
        let is_more = listed.len() > PAGE;
        listed.truncate(PAGE);
        let last = listed.last().map(|(address, _)| address.to_string());
        let resources: Vec<_> = listed.into_iter().map(|(_, item)| item).collect();
        let mut page = json!({ "resources": resources });
        if let Some(last) = last.filter(|_| is_more) {
            page["nextCursor"] = json!(last);
        }
        Ok(page.to_string().into())
    }

    /// The content of a resource of the gateway's own.
    pub(crate) async fn read_resource(&self, uri: &str, params: &Bytes) -> Result<Bytes, RpcError> {
        let shared = self.place_of(params).await;
        let Some((address, select)) = Address::parse(uri) else {
            return Err(self.unknown_resource(uri));
        };
        // An id that was never given out is not even looked up.
        if !shared.place.ids.may_be(address.call_id().as_str()) {
            return Err(self.unknown_resource(uri));
        }
        let artifact = match &address {
            Address::Artifact(artifact, _) => Some(artifact),
            Address::Result(_) => None,
        };
        let request = ExportRequest::new(address.call_id()).with_artifact(artifact);
        let export = shared.export(request.with_select(select.as_deref())).await;
        let (export, _room) = export.map_err(|error| self.unreadable(uri, &address, error))?;
        let (head, bytes) = (quoted(uri), export.content.as_bytes().len());
        let is_stateless = shared.is_stateless();
        let write = move || contents(&head, &export.content, is_stateless);
        let result = apart(bytes, write).await;
        let limit = shared.tools.config.limits.message_bytes;
        if result.len() > limit {
            let message = format!(
                "the result takes {} bytes as a resource; the limit of a message is {limit}",
                result.len()
            );
            let error = RpcError::limit_exceeded(code::INVALID_PARAMS, message, Some(limit));
            return Err(with_advice(error, part_of(&address)));
        }
        Ok(result)
    }

    /// An address of the gateway's scheme that names nothing of this client.
    pub(crate) fn unknown_resource(&self, uri: &str) -> RpcError {
        let code = if self.shared.is_stateless() {
            code::INVALID_PARAMS
        } else {
            code::RESOURCE_NOT_FOUND
        };
        let message = "resource not found: no result or artifact of this session has the address, or it has expired";
        RpcError::new(code, message).with_data(json!({ "uri": uri }))
    }

    /// Why there is no content.
    fn unreadable(&self, uri: &str, address: &Address, error: ExportError) -> RpcError {
        const MISSING: [ErrorCode; 5] = [
            ErrorCode::ResultUnknown,
            ErrorCode::ResultExpired,
            ErrorCode::ResultEvicted,
            ErrorCode::ArtifactUnknown,
            ErrorCode::ArtifactExpired,
        ];
        let Some(body) = refusal::not_exported(error).into_iter().next() else {
            return self.unknown_resource(uri);
        };
        if MISSING.iter().any(|code| code.as_str() == body.code) {
            return self.unknown_resource(uri);
        }
        let is_ours = body.code == ErrorCode::StoreUnavailable.as_str();
        let code = if is_ours {
            code::INTERNAL
        } else {
            code::INVALID_PARAMS
        };
        let error = RpcError::new(code, body.message).with_data(json!({ "code": body.code }));
        if body.code == ErrorCode::LimitExceeded.as_str() {
            return with_advice(error, part_of(address));
        }
        match body.advice {
            Some(advice) => with_advice(error, advice),
            None => error,
        }
    }
}

fn with_advice(mut error: RpcError, advice: String) -> RpcError {
    if let Some(data) = &mut error.data {
        data["advice"] = json!(advice);
    }
    error
}

/// How to read less.
fn part_of(address: &Address) -> String {
    format!("read a part of it: `{address}{SELECT}EXPRESSION`, with a JMESPath expression")
}

fn templates() -> Value {
    let about = "`select` is a JMESPath expression that picks a part";
    json!({"resourceTemplates": [
        {
            "uriTemplate": format!("{RESULTS}{{callId}}{{?select}}"),
            "name": "tool result",
            "description": format!("What a call of a tool returned, by its `_toolCallId`; {about}"),
        },
        {
            "uriTemplate": format!("{ARTIFACTS}{{artifactId}}/{{callId}}{{?select}}"),
            "name": "artifact",
            "description": format!("A kept part of a tool result; {about}"),
        },
    ]})
}

/// The results and artifacts of a place, as items of a list. None where others' could be among them.
async fn listed(shared: &Shared) -> Result<Vec<(Address, Value)>, StoreError> {
    if shared.place.is_shared {
        return Ok(Vec::new());
    }
    let session = shared.session();
    let item = |address: Address, name: &str, what: &str, tool: Option<&str>, bytes: usize| {
        let of = tool.map_or_else(String::new, |tool| format!(" of `{tool}`"));
        let item = json!({
            "uri": address.to_string(),
            "name": name,
            "title": tool.map_or_else(|| name.to_owned(), |tool| format!("{tool}, {name}")),
            "description": format!("{what}{of}, {bytes} bytes as it is stored"),
        });
        (address, item)
    };
    let results = session.results().await?.into_iter();
    // A failed call has no result.
    let results = results.filter(|result| !result.failed).map(|result| {
        let address = Address::Result(result.call_id.clone());
        let tool = result.tool.as_deref();
        item(
            address,
            result.call_id.as_str(),
            "a result",
            tool,
            result.bytes,
        )
    });
    let mut listed: Vec<_> = results.collect();
    let artifacts = session.artifacts().await?.into_iter();
    listed.extend(artifacts.filter(|own| !own.damaged).map(|own| {
        let address = Address::Artifact(own.artifact_id.clone(), own.call_id);
        let tool = own.tool.as_deref();
        item(
            address,
            own.artifact_id.as_str(),
            "an artifact",
            tool,
            own.bytes,
        )
    }));
    Ok(listed)
}

/// The result of `resources/read`.
fn contents(uri: &str, content: &Content, is_stateless: bool) -> Bytes {
    let media_type = quoted(content.media_type());
    let (member, value) = match content {
        Content::Text(text) => ("text", quoted(text)),
        Content::Json(json) => ("text", quoted(&String::from_utf8_lossy(json))),
        Content::Binary { bytes, .. } => ("blob", quoted(&BASE64_STANDARD.encode(bytes))),
    };
    let complete = if is_stateless {
        r#","resultType":"complete","ttlMs":0,"cacheScope":"private""#
    } else {
        ""
    };
    let result = format!(
        r#"{{"contents":[{{"uri":{uri},"mimeType":{media_type},"{member}":{value}}}]{complete}}}"#
    );
    result.into()
}

#[cfg(test)]
mod tests {
    use super::{Address, is_own};
    use crossfeed_wire::{ArtifactId, CallId};
    use proptest::prelude::*;

    fn check(uri: &str, expected: Option<(&str, Option<&str>)>) {
        let parsed = Address::parse(uri);
        let parsed = parsed
            .as_ref()
            .map(|(address, select)| (address.call_id().as_str(), select.as_deref()));
        assert_eq!(parsed, expected, "{uri}");
    }

    #[test]
    fn an_address_has_one_spelling() {
        check("crossfeed://results/call_1", Some(("call_1", None)));
        check("crossfeed://artifacts/a/call_1", Some(("call_1", None)));
        check(
            "crossfeed://results/call_1?select=items%5B0%5D.a",
            Some(("call_1", Some("items[0].a"))),
        );
        check(
            "crossfeed://results/call_1?select=a?select=b",
            Some(("call_1", Some("a?select=b"))),
        );
        check("crossfeed://results/%2E%2E", None);
        check("crossfeed://results/..", Some(("..", None)));
        for other in [
            "crossfeed://results/",
            "crossfeed://results",
            "crossfeed://results/call%5F1",
            "crossfeed://results/call%5f1",
            "crossfeed://results/call_1/",
            "crossfeed://results/../results/call_1",
            "crossfeed://results/call_1#x",
            "crossfeed://results/call_1?x=1",
            "crossfeed://results/call_1?select=%FF",
            "crossfeed://results/call_1%00",
            "crossfeed://results/call_1\n",
            "crossfeed://results//call_1",
            "crossfeed:///results/call_1",
            "crossfeed:results/call_1",
            "crossfeed://Results/call_1",
            "Crossfeed://results/call_1",
            " crossfeed://results/call_1",
            "crossfeed://user@results/call_1",
            "crossfeed://results:1/call_1",
            "crossfeed://artifacts/a",
            "crossfeed://artifacts/a/",
            "crossfeed://artifacts/a/b/c",
            "crossfeed://artifacts//b",
            "file:///etc/passwd",
            "",
        ] {
            check(other, None);
        }
    }

    #[test]
    fn the_scheme_is_the_gateways_in_every_spelling() {
        for own in [
            "crossfeed:x",
            "CROSSFEED://results/a",
            " \tcrossfeed://{id}",
        ] {
            assert!(is_own(own), "{own}");
        }
        for other in ["crossfeeds://x", "x-crossfeed://x", "crossfeed", "", "é"] {
            assert!(!is_own(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(call in "\\PC{1,20}", artifact in proptest::option::of("\\PC{1,20}")) {
            let call = CallId::parse(&call).unwrap();
            let address = match artifact {
                Some(artifact) => Address::Artifact(ArtifactId::parse(&artifact).unwrap(), call),
                None => Address::Result(call),
            };
            let text = address.to_string();
            prop_assert!(is_own(&text));
            prop_assert_eq!(Address::parse(&text), Some((address, None)));
        }
    }
}
