//! Decides how results are handed to a client, in the order of `specs/gateway-tools.md`.

use super::{GatewayConfig, ServerConfig};
use crate::pattern::fits;
use crossfeed_mcp::Client;
use crossfeed_wire::{UnknownView, View};
use std::{fmt, str::FromStr};
use strum::VariantNames;

/// How a view is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ViewChoice {
    /// By the table of known clients in `specs/clients.md`.
    #[default]
    Auto,
    /// Always this view.
    Always(View),
}

impl ViewChoice {
    /// The words for all choices.
    pub const WORDS: &'static [&'static str] = &["auto", "model", "program", "ask"];

    /// The view of a client under this choice.
    pub(crate) fn for_client(self, client: Option<&ClientName>) -> ChosenView {
        let (view, reason) = match (self, client.and_then(ClientName::known)) {
            (Self::Always(view), _) => (view, ViewReason::Everywhere),
            (Self::Auto, Some(known)) => (known.view, ViewReason::Table),
            (Self::Auto, None) => (View::default(), ViewReason::Unknown),
        };
        ChosenView { view, reason }
    }
}

/// `auto`, or the name of a view.
impl FromStr for ViewChoice {
    type Err = UnknownView;

    fn from_str(word: &str) -> Result<Self, UnknownView> {
        match word {
            "auto" => Ok(Self::Auto),
            word => word.parse().map(Self::Always),
        }
    }
}

impl VariantNames for ViewChoice {
    const VARIANTS: &'static [&'static str] = Self::WORDS;
}

/// The options of clients of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientConfig {
    /// A pattern of the names that they report, in any case of letters.
    pub name: String,
    /// A pattern of their versions; all versions if absent.
    pub version: Option<String>,
    /// How results are handed to them.
    pub view: Option<ViewChoice>,
    /// Whether tools take references from them. If not, tools are listed unchanged and no results are stored.
    pub references: bool,
}

impl ClientConfig {
    /// Clients of this name, with every option at its default.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: None,
            view: None,
            references: true,
        }
    }

    fn is_of(&self, client: &ClientName) -> bool {
        let fits_version = |pattern: &String| {
            let version = client.version.as_deref();
            version.is_some_and(|version| fits(pattern, version))
        };
        let name = Client::own_name(&client.name);
        let (pattern, name) = (self.name.to_lowercase(), name.to_lowercase());
        fits(&pattern, &name) && self.version.iter().all(fits_version)
    }
}

/// The name and version that a client reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ClientName {
    /// The name in its `clientInfo`.
    pub name: String,
    /// The version there.
    pub version: Option<String>,
}

impl ClientName {
    /// A client of this name.
    pub fn new(name: impl Into<String>, version: Option<String>) -> Self {
        Self {
            name: name.into(),
            version,
        }
    }

    /// Its row in the table of known clients.
    pub(crate) fn known(&self) -> Option<&'static Client> {
        Client::find(&self.name, self.version.as_deref())
    }
}

/// The view of a server's results, and what decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChosenView {
    /// The view.
    pub view: View,
    /// What decided it.
    pub reason: ViewReason,
}

/// What decided a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ViewReason {
    /// The client's entry in the configuration.
    Client,
    /// The server's entry.
    Server,
    /// The configuration as a whole, or the command line.
    Everywhere,
    /// The table of known clients.
    Table,
    /// The client is not in the table.
    Unknown,
}

impl fmt::Display for ViewReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "the client's entry in `clients`",
            Self::Server => "the server's `view`",
            Self::Everywhere => "`--view`, else the `view` at the top of the configuration",
            Self::Table => "the table of known clients",
            Self::Unknown => "the default, since the client is not in the table of known clients",
        })
    }
}

impl GatewayConfig {
    /// The first entry that fits a client.
    fn client(&self, client: Option<&ClientName>) -> Option<&ClientConfig> {
        let client = client?;
        self.clients.iter().find(|entry| entry.is_of(client))
    }

    /// Whether tools take references from a client.
    pub(crate) fn admits_references(&self, client: Option<&ClientName>) -> bool {
        self.client(client).is_none_or(|entry| entry.references)
    }

    /// The view that a client gets of a server's results unless a request asks for another.
    pub fn view_of(&self, server: &ServerConfig, client: Option<&ClientName>) -> ChosenView {
        let entry = self.client(client).and_then(|entry| entry.view);
        let (choice, reason) = match (entry, server.view) {
            (Some(choice), _) => (choice, ViewReason::Client),
            (None, Some(choice)) => (choice, ViewReason::Server),
            (None, None) => (self.view, ViewReason::Everywhere),
        };
        match choice {
            ViewChoice::Always(view) => ChosenView { view, reason },
            ViewChoice::Auto => choice.for_client(client),
        }
    }
}
