//! The revisions of MCP that the gateway speaks.

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

/// A revision of the Model Context Protocol.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05: sessions.
    #[strum(serialize = "2024-11-05")]
    V2024_11_05,
    /// 2025-03-26: sessions, streamable HTTP.
    #[strum(serialize = "2025-03-26")]
    V2025_03_26,
    /// 2025-06-18: sessions, structured content.
    #[strum(serialize = "2025-06-18")]
    V2025_06_18,
    /// 2025-11-25: sessions, tasks.
    #[strum(serialize = "2025-11-25")]
    V2025_11_25,
    /// 2026-07-28: no sessions; every request says who asks.
    #[strum(serialize = "2026-07-28")]
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// As it is written on the wire.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The revision that is written so.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    /// The revision of a session whose client wants this one: its own, or the newest with sessions where that
    /// is not known.
    pub(crate) fn for_session(wanted: &str) -> Self {
        Self::parse(wanted)
            .filter(|revision| !revision.is_stateless())
            .unwrap_or(Self::V2025_11_25)
    }

    /// Those without sessions as they are written, or those with them; oldest first.
    pub(crate) fn in_era(stateless: bool) -> impl Iterator<Item = &'static str> {
        let of_era = Self::ALL
            .iter()
            .filter(move |own| own.is_stateless() == stateless);
        of_era.map(|revision| revision.as_str())
    }

    /// Whether there are no sessions: no `initialize`, and no requests from a server to its client.
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }
}
