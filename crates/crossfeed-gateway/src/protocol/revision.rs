//! The revisions of MCP that are spoken.

use std::fmt;

/// A revision of the Model Context Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Revision {
    /// 2024-11-05: sessions.
    V2024_11_05,
    /// 2025-03-26: sessions, streamable HTTP.
    V2025_03_26,
    /// 2025-06-18: sessions, structured content.
    V2025_06_18,
    /// 2025-11-25: sessions, tasks.
    V2025_11_25,
    /// 2026-07-28: no sessions; every request says who asks.
    V2026_07_28,
}

impl Revision {
    /// Every revision, oldest first.
    pub const ALL: &'static [Self] = &[
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// As it is written on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision that is written so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|revision| revision.as_str() == text)
    }

    /// The revision of a session whose client wants this one: its own, or the newest with sessions where that
    /// is not known.
    pub(crate) fn of_session(wanted: &str) -> Self {
        Self::parse(wanted)
            .filter(|revision| !revision.is_stateless())
            .unwrap_or(Self::V2025_11_25)
    }

    /// Those without sessions as they are written, or those with them; oldest first.
    pub(crate) fn of_era(stateless: bool) -> impl Iterator<Item = &'static str> {
        let of_era = Self::ALL
            .iter()
            .filter(move |own| own.is_stateless() == stateless);
        of_era.map(|revision| revision.as_str())
    }

    /// Whether there are no sessions: no `initialize`, and no requests from a server to its client.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
