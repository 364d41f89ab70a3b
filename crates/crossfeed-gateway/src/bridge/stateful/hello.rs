//! How a session begins, and what every request says from then on.

use super::{Sent, Session, invalid, no_such_method};
use crate::{
    Revision,
    bridge::{
        answer,
        driver::{Action, Actions, FIRST},
        members, refuse, tell,
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
    pub(super) fn initialize(&mut self, id: Id, params: Option<Bytes>, actions: &mut Actions) {
        let params = params.unwrap_or_default();
        if self.server.is_some() || !self.sent.is_empty() {
            actions.push(invalid(&id, "the session has begun"));
            return;
        }
        self.client = Client {
            capabilities: members::get(&params, &["capabilities"]),
            info: members::get(&params, &["clientInfo"]),
            level: None,
        };
        let wanted = members::get_text(&params, &["protocolVersion"]).unwrap_or_default();
        let number = self.number();
        let wanted = Revision::of_session(&wanted);
        let Some(params) = self.with_meta(None, false) else {
            return;
        };
        self.sent
            .insert(number, Sent::Discover { client: id, wanted });
        let discover = Message::request(&Id::number(number), method::DISCOVER, Some(&params));
        actions.push(Action::Speak(FIRST, Revision::V2026_07_28));
        actions.push(Action::Send(FIRST, discover, Vec::new()));
    }

    pub(super) fn discovered(
        &mut self,
        client: &Id,
        wanted: Revision,
        message: &Message,
        actions: &mut Actions,
    ) {
        let Some(result) = message.result() else {
            actions.push(tell(message.clone().with_id(client.clone()), None));
            return;
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
            actions.push(refuse(client, &error));
            return;
        }
        let capabilities =
            members::get(&result, &["capabilities"]).unwrap_or_else(|| Bytes::from_static(b"{}"));
        // Tasks of the other era are not those that this client may know.
        let info = members::get(&result, &["_meta", meta::SERVER_INFO])
            .or_else(|| members::get(&result, &["serverInfo"]))
            .unwrap_or_else(|| Bytes::from_static(br#"{"name":"server","version":"0"}"#));
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
            Some(result) => actions.push(answer(client, &result)),
            None => actions.push(invalid(client, "the server describes itself by no object")),
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

    pub(super) fn set_level(&mut self, id: &Id, params: Option<Bytes>, actions: &mut Actions) {
        if !self.server.as_ref().is_some_and(|server| server.logs) {
            actions.push(no_such_method(id, method::SET_LEVEL));
            return;
        }
        let level = members::get_text(&params.unwrap_or_default(), &["level"]);
        let Some(level) = level.as_deref().and_then(protocol::log_level) else {
            actions.push(invalid(id, "there is no such level"));
            return;
        };
        self.client.level = Some(level);
        actions.push(answer(id, &Bytes::from_static(b"{}")));
    }
}
