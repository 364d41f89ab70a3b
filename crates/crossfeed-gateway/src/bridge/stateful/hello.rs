//! How a session begins, and the `_meta` of all requests from then on.

use super::{Intent, Session};
use crate::{
    Revision,
    bridge::{
        UNNAMED,
        desk::unknown_method,
        driver::{Action, FIRST, Outgoing},
        members::{self, EMPTY},
    },
    message::{Id, Message, RpcError},
    protocol::{self, meta, method},
};
use bytes::Bytes;
use crossfeed_json::quoted;

/// The client's `initialize`.
#[derive(Default)]
pub(super) struct Client {
    capabilities: Option<Bytes>,
    info: Option<Bytes>,
    /// The lowest level of log messages that it wants, if it said so.
    level: Option<usize>,
}

impl Client {
    /// Whether it has a capability.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities
            .as_ref()
            .is_some_and(|capabilities| members::get(capabilities, &[capability]).is_some())
    }
}

/// The server's answer to `server/discover`.
pub(super) struct Server {
    pub(super) capabilities: Bytes,
    /// Whether it may make tasks of calls.
    pub(super) has_tasks: bool,
    logs: bool,
}

/// The lowest level of log messages for clients that did not set one, as of servers with sessions.
const LEVEL: &str = "info";

impl Session {
    pub(super) fn initialize(&mut self, id: Id, params: Option<Bytes>) {
        let params = params.unwrap_or_default();
        if self.server.is_some() || !self.desk.sent.is_empty() {
            return self.desk.invalid(&id, "the session has begun");
        }
        self.client = Client {
            capabilities: members::get(&params, &["capabilities"]),
            info: members::get(&params, &["clientInfo"]),
            level: None,
        };
        let wanted = members::get_text(&params, &["protocolVersion"]).unwrap_or_default();
        let wanted = Revision::for_session(&wanted);
        self.desk
            .act(Action::Put(FIRST, Outgoing::Speak(Revision::V2026_07_28)));
        self.ask(
            method::DISCOVER,
            None,
            Intent::Discover { client: id, wanted },
        );
    }

    /// Sends a request of the bridge's own.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: Option<&Bytes>,
        sent: Intent,
    ) -> Option<u64> {
        let params = self.with_meta(params, false)?;
        Some(self.desk.ask(FIRST, method, &params, sent))
    }

    pub(super) fn discovered(&mut self, client: &Id, wanted: Revision, message: Message) {
        let Some(result) = message.result() else {
            return self.desk.tell(message.with_id(client.clone()), None);
        };
        let spoken = members::get_texts(&result, &["supportedVersions"]);
        if !spoken
            .iter()
            .any(|spoken| spoken == Revision::V2026_07_28.as_str())
        {
            let error = RpcError::unsupported_revision(
                "the server does not speak a revision that the gateway speaks",
                spoken.iter().map(AsRef::as_ref),
                Revision::V2026_07_28.as_str(),
            );
            return self.desk.refuse(client, &error);
        }
        let capabilities = members::get(&result, &["capabilities"]).unwrap_or(EMPTY.clone());
        let info = members::get(&result, &["_meta", meta::SERVER_INFO])
            .or_else(|| members::get(&result, &["serverInfo"]))
            .unwrap_or(UNNAMED.clone());
        let revision = quoted(wanted.as_str());
        let rest = members::without(
            &result,
            &["supportedVersions", "resultType", "ttlMs", "cacheScope"],
            &[meta::SERVER_INFO],
        );
        let initialized = members::with(
            Some(&rest),
            &[
                ("protocolVersion", revision.as_bytes()),
                ("capabilities", &capabilities),
                ("serverInfo", &info),
            ],
            &[],
        );
        self.server = Some(Server {
            has_tasks: members::get(&capabilities, &["extensions", meta::TASKS]).is_some(),
            logs: members::get(&capabilities, &["logging"]).is_some(),
            capabilities,
        });
        match initialized {
            Some(result) => self.desk.answer(client, &result),
            None => (self.desk).invalid(client, "the server's description is not an object"),
        }
    }

    /// Parameters with the client's `_meta`; with the log level, if the request may cause log messages.
    pub(super) fn with_meta(&self, params: Option<&Bytes>, logs: bool) -> Option<Bytes> {
        let version = quoted(Revision::V2026_07_28.as_str());
        let capabilities = self.client.capabilities.as_deref().unwrap_or(b"{}");
        let mut meta = vec![
            (meta::PROTOCOL_VERSION, version.as_bytes()),
            (meta::CLIENT_CAPABILITIES, capabilities),
        ];
        if let Some(info) = &self.client.info {
            meta.push((meta::CLIENT_INFO, info));
        }
        let level = self.client.level.and_then(protocol::log_level_name);
        let level = quoted(level.unwrap_or(LEVEL));
        if logs && self.server.as_ref().is_some_and(|server| server.logs) {
            meta.push((meta::LOG_LEVEL, level.as_bytes()));
        }
        members::with(params, &[], &meta)
    }

    pub(super) fn set_level(&mut self, id: &Id, params: Option<Bytes>) {
        if !self.server.as_ref().is_some_and(|server| server.logs) {
            return self.desk.refuse(id, &unknown_method(method::SET_LEVEL));
        }
        let level = members::get_text(&params.unwrap_or_default(), &["level"]);
        let Some(level) = level.as_deref().and_then(protocol::log_level) else {
            return self.desk.invalid(id, "unknown level");
        };
        self.client.level = Some(level);
        self.desk.answer(id, &EMPTY);
    }
}
