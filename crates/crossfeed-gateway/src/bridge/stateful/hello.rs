//! How a session begins, and what every request says from then on.

use super::{Sent, Session};
use crate::{
    Revision,
    bridge::{
        UNNAMED,
        desk::{EMPTY, unknown_method},
        driver::{Action, FIRST},
        members,
    },
    message::{Id, Message, RpcError},
    protocol::{self, meta, method},
};
use bytes::Bytes;
use crossfeed_json::quoted;

/// What a client said of itself.
#[derive(Default)]
pub(super) struct Client {
    capabilities: Option<Bytes>,
    info: Option<Bytes>,
    /// The least grave level of log messages that it wants, once it said so.
    level: Option<usize>,
}

impl Client {
    /// Whether it may be asked for this.
    pub(super) fn can(&self, capability: &str) -> bool {
        self.capabilities
            .as_ref()
            .is_some_and(|capabilities| members::get(capabilities, &[capability]).is_some())
    }
}

/// What a server said of itself.
pub(super) struct Server {
    pub(super) capabilities: Bytes,
    /// Whether it may make tasks of calls.
    pub(super) has_tasks: bool,
    logs: bool,
}

/// The level at which logs begin for clients that did not say, of which there are many: as servers with
/// sessions do.
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
        let wanted = Revision::of_session(&wanted);
        self.desk.act(Action::Speak(FIRST, Revision::V2026_07_28));
        self.ask(
            method::DISCOVER,
            None,
            Sent::Discover { client: id, wanted },
        );
    }

    /// Sends a request of the bridge's own.
    pub(super) fn ask(&mut self, method: &str, params: Option<&Bytes>, sent: Sent) -> Option<u64> {
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
                "the server speaks no revision that is spoken here",
                spoken.iter().map(AsRef::as_ref),
                Revision::V2026_07_28.as_str(),
            );
            return self.desk.refuse(client, &error);
        }
        let capabilities = members::get(&result, &["capabilities"]).unwrap_or(EMPTY.clone());
        // Tasks of the other era are not those that this client may know.
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
            None => (self.desk).invalid(client, "the server describes itself by no object"),
        }
    }

    /// Parameters that say who asks; `logs` where the request may give rise to log messages.
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
        let level = self
            .client
            .level
            .and_then(protocol::log_level_name)
            .unwrap_or(LEVEL);
        let level = quoted(level);
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
            return self.desk.invalid(id, "there is no such level");
        };
        self.client.level = Some(level);
        self.desk.answer(id, &EMPTY);
    }
}
