//! The scripts that run on the server, one for each operation.

use redis::Script;
use std::sync::LazyLock;

/// An operation that is one script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Put,
    Get,
    List,
    Remove,
    PutArtifact,
    GetArtifact,
    ListArtifacts,
    Tokens,
    Acquire,
    Renew,
    Release,
    Flights,
    ReadState,
    WriteState,
    Summary,
    Oldest,
    Evict,
    Reserve,
    Settle,
}

/// A script and its digest, by which a server knows it.
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) digest: String,
}

impl Source {
    fn new(parts: &[&str]) -> Self {
        let text = parts.concat();
        let digest = Script::new(&text).get_hash().to_owned();
        Self { text, digest }
    }
}

macro_rules! on_results {
    ($name:literal) => {
        Source::new(&[
            include_str!("lua/session.lua"),
            include_str!("lua/use.lua"),
            include_str!("lua/totals.lua"),
            include_str!("lua/loss.lua"),
            include_str!(concat!("lua/", $name, ".lua")),
        ])
    };
}

macro_rules! on_artifacts {
    ($name:literal) => {
        Source::new(&[
            include_str!("lua/artifact.lua"),
            include_str!(concat!("lua/", $name, ".lua")),
        ])
    };
}

static SOURCES: LazyLock<[Source; 19]> = LazyLock::new(|| {
    [
        // What most requests need comes before functions that they do not: making one takes as long as half a command.
        Source::new(&[
            include_str!("lua/session.lua"),
            include_str!("lua/totals.lua"),
            include_str!("lua/put.lua"),
            "if not is_free then\n",
            include_str!("lua/use.lua"),
            include_str!("lua/loss.lua"),
            include_str!("lua/make_room.lua"),
            "end\n",
            include_str!("lua/record.lua"),
        ]),
        Source::new(&[
            include_str!("lua/session.lua"),
            include_str!("lua/use.lua"),
            include_str!("lua/touch.lua"),
            include_str!("lua/totals.lua"),
            include_str!("lua/loss.lua"),
            include_str!("lua/get.lua"),
        ]),
        on_results!("list"),
        on_results!("remove"),
        on_artifacts!("put_artifact"),
        on_artifacts!("get_artifact"),
        on_artifacts!("list_artifacts"),
        on_artifacts!("tokens"),
        on_results!("acquire"),
        on_results!("renew"),
        on_results!("release"),
        on_results!("flights"),
        Source::new(&[include_str!("lua/read_state.lua")]),
        Source::new(&[include_str!("lua/write_state.lua")]),
        on_results!("summary"),
        on_results!("oldest"),
        on_results!("evict"),
        Source::new(&[
            include_str!("lua/tenant.lua"),
            include_str!("lua/reserve.lua"),
        ]),
        Source::new(&[
            include_str!("lua/tenant.lua"),
            include_str!("lua/settle.lua"),
        ]),
    ]
});

impl Operation {
    /// Whether all that it is about is under one key.
    pub(crate) fn is_on_one_key(self) -> bool {
        matches!(self, Self::ReadState | Self::WriteState)
    }

    pub(crate) fn source(self) -> &'static Source {
        &SOURCES[self as usize]
    }
}
