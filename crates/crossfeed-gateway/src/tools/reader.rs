//! Who reads the results of a request, as far as the request itself says so.
//!
//! What comes in: the `_meta` of a `tools/list` or a `tools/call`. What goes out: the view that it asks for,
//! and, in the era without sessions, the client that it names. Deliberately not here: who else has a say
//! ([`GatewayConfig::view_of`](crate::config::GatewayConfig::view_of)).

use crate::{
    config::{ClientName, GatewayConfig, ServerConfig, ViewChoice},
    meta,
};
use crossfeed_json::{Cursor, Kind};
use crossfeed_wire::View;

/// The member of `_meta` that asks for a view.
const VIEW: &str = "dev.crossfeed/view";
/// The longest name or version of a client that is gone by.
const LONGEST: usize = 256;

/// What a request says of who reads its results.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    pub(super) view: Option<ViewChoice>,
    /// Only in the era without sessions, where each request says it.
    pub(super) client: Option<ClientName>,
}

impl Asked {
    /// What the `params` of a request say.
    ///
    /// # Errors
    ///
    /// A text that says which views there are, where it asks for another.
    pub(super) fn of(params: Cursor<'_>, is_stateless: bool) -> Result<Self, String> {
        let Some(said) = params.get("_meta") else {
            return Ok(Self::default());
        };
        let view = said.get(VIEW).filter(|own| own.kind() != Kind::Null);
        let view = view.map(|own| {
            let word = own.as_str();
            let word = word.as_deref();
            let view = match word {
                Some("auto") => Some(ViewChoice::Auto),
                word => word.and_then(|word| Some(ViewChoice::Always(word.parse::<View>().ok()?))),
            };
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

    /// The view of a server's results, for a client that says it is this one where the request does not.
    pub(super) fn view(
        &self,
        config: &GatewayConfig,
        server: &ServerConfig,
        client: Option<&ClientName>,
    ) -> View {
        let client = self.client.as_ref().or(client);
        match self.view {
            Some(choice) => choice.of(client).view,
            None => config.view_of(server, client).view,
        }
    }

    /// Whether the request says nothing of it.
    pub(super) fn is_empty(&self) -> bool {
        self.view.is_none() && self.client.is_none()
    }
}

/// What is told once of a view.
pub(super) fn guidance(view: View) -> Option<&'static str> {
    match view {
        View::Program => Some(
            "Results come whole, for programs: the `_toolCallId` of one is `dev.crossfeed/callId` in its `_meta`.",
        ),
        View::Ask => Some(
            "In a script that computes with a result, call the tool with `_whole` set to true: all of the result is returned then, and its \
             `_toolCallId` is `dev.crossfeed/callId` in its `_meta`. Without `_whole` a long result is a preview, which no script can read.",
        ),
        _ => None,
    }
}

/// What a `clientInfo` says.
pub(crate) fn client_name(info: Cursor<'_>) -> Option<ClientName> {
    let text = |key| {
        let text = info.get(key)?.as_str()?;
        (text.len() <= LONGEST).then(|| text.into_owned())
    };
    Some(ClientName::new(text("name")?, text("version")))
}
