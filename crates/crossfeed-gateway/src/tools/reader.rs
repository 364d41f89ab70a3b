//! Reads from the `_meta` of a request who reads its results: the view of each server's results, and
//! whether tools take references.

use crate::{
    config::{ClientName, GatewayConfig, ViewChoice},
    members::may_hold,
    protocol::meta,
};
use crossfeed_json::{Cursor, Kind};
use crossfeed_wire::View;

/// The member of `_meta` that asks for a view.
const VIEW: &str = "dev.crossfeed/view";
/// The longest name or version of a client that is gone by.
const MAX_NAME_BYTES: usize = 256;

/// What a request says about the reader of its results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReaderHints {
    pub(super) view: Option<ViewChoice>,
    /// Only in the era without sessions, where each request says it.
    pub(super) client: Option<ClientName>,
}

/// The reader of results, as far as lists and results depend on it. Few differ: clients of other names are the
/// same reader where the configuration names neither.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Reader {
    /// Of each server, by its place in the configuration.
    views: Vec<View>,
    pub(super) takes_references: bool,
}

impl Reader {
    /// The reader of a client's results; `asked` is the view that a request asks for.
    pub(super) fn new(
        config: &GatewayConfig,
        client: Option<&ClientName>,
        asked: Option<ViewChoice>,
    ) -> Self {
        let view = |server| match asked {
            Some(choice) => choice.for_client(client).view,
            None => config.view_of(server, client).view,
        };
        Self {
            views: config.servers.iter().map(view).collect(),
            takes_references: config.admits_references(client),
        }
    }

    /// The view of a server's results.
    pub(super) fn view(&self, server: usize) -> View {
        self.views.get(server).copied().unwrap_or_default()
    }

    /// The views that there are, each once.
    pub(super) fn views(&self) -> impl Iterator<Item = View> {
        View::ALL
            .into_iter()
            .filter(|view| self.views.contains(view))
    }
}

impl ReaderHints {
    /// What the `_meta` of a request says.
    ///
    /// # Errors
    ///
    /// A text that says which views there are, where it asks for another.
    pub(super) fn from_meta(said: Cursor<'_>, is_stateless: bool) -> Result<Self, String> {
        let view = said.get(VIEW).filter(|own| own.kind() != Kind::Null);
        let view = view.map(|own| {
            let view = own.as_str().and_then(|word| word.parse().ok());
            view.ok_or_else(|| {
                format!("`_meta[\"{VIEW}\"]` is not \"auto\", \"model\", \"program\" or \"ask\"")
            })
        });
        let client = said.get(meta::CLIENT_INFO).filter(|_| is_stateless);
        Ok(Self {
            view: view.transpose()?,
            client: client.and_then(client_name),
        })
    }

    /// Whether the request says nothing of it.
    pub(super) fn is_empty(&self) -> bool {
        self.view.is_none() && self.client.is_none()
    }
}

/// Whether the `_meta` of a request may name a reader.
pub(super) fn may_say(said: &[u8], is_stateless: bool) -> bool {
    may_hold(said, VIEW) || (is_stateless && may_hold(said, meta::CLIENT_INFO))
}

/// The guidance for a view.
pub(super) fn guidance(view: View) -> Option<&'static str> {
    match view {
        View::Program => Some(
            "Results are returned whole, for programs. The `_toolCallId` of a result is `dev.crossfeed/callId` in its `_meta`.",
        ),
        View::Ask => Some(
            "In a script that computes with a result, call the tool with `_whole` set to true: it returns the whole result, whose \
             `_toolCallId` is `dev.crossfeed/callId` in its `_meta`. Without `_whole` a long result is a preview, which no script can read.",
        ),
        _ => None,
    }
}

/// What a `clientInfo` says.
pub(crate) fn client_name(info: Cursor<'_>) -> Option<ClientName> {
    let text = |key| {
        let text = info.get(key)?.as_str()?;
        (text.len() <= MAX_NAME_BYTES).then(|| text.into_owned())
    };
    Some(ClientName::new(text("name")?, text("version")))
}
