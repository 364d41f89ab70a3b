//! Who takes part, behind one trait: each peer reads a document, prepares an expression, answers
//! once to be compared, and then says how long it takes.
//!
//! Deliberately not here: expressions and tables.

mod jaq;
mod jmespath;
mod jq;
mod ours;
mod process;

pub(crate) use ours::evaluated;

use crate::{files::File, rows::Row};
use crossfeed_benches::Contender;
use std::{path::Path, time::Duration};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// From a document that was parsed, converted or indexed before.
    ParseExcluded,
    /// From bytes.
    ParseIncluded,
}

/// What someone takes who does not come to an end: longer than anything that was measured, however
/// many iterations it is divided by.
pub(crate) const FAILED: Duration = Duration::MAX;

/// Text of an error, or of a reason why someone is missing.
pub(crate) type Reason = String;

/// One who answers.
pub(crate) trait Peer {
    /// The head of its column.
    fn name(&self) -> &'static str;

    /// What exactly it is, and what its figure contains in this part; `None` where it takes no part.
    fn contents(&self, part: Part) -> Option<String>;

    /// Reads a document, as far as that is not what is measured.
    fn open(&mut self, file: &File) -> Result<(), Reason>;

    /// Compiles an expression for the document.
    fn prepare(&mut self, row: &Row) -> Result<(), Reason>;

    /// The answer as JSON.
    fn answer(&mut self) -> Result<Vec<u8>, Reason>;

    /// Evaluates so many times in a loop of its own, each answer written as JSON bytes; [`FAILED`] if
    /// it cannot.
    fn run(&mut self, part: Part, times: u64) -> Duration;

    /// How it is sampled.
    fn contender(&mut self, part: Part) -> Contender<'_> {
        looped(self, part)
    }

    /// Whether it speaks jq's language and so may be excused where an answer differs.
    fn speaks_jq(&self) -> bool {
        false
    }

    /// Whether a loop gets quicker by having run for a while.
    fn warms_up(&self) -> bool {
        false
    }
}

/// Samples a loop of the peer's own.
fn looped<P: Peer + ?Sized>(peer: &mut P, part: Part) -> Contender<'_> {
    Contender::timed(move |times| {
        // Whoever ran before it has filled the caches, and memory given back since then costs the
        // system more to give out again than memory in use.
        peer.run(part, 1);
        peer.run(part, times)
    })
}

/// The version of a crate that takes part.
fn version_of(name: &str) -> &'static str {
    let locked = include_str!("../../../Cargo.lock");
    let found = locked.split_once(&format!("name = \"{name}\"\nversion = \""));
    let version = found.and_then(|(_, rest)| rest.split_once('"'));
    version.map_or("of an unknown version", |(version, _)| version)
}

/// Who takes part, crossfeed first.
pub(crate) type Peers = Vec<Box<dyn Peer>>;

/// Who does not, and why.
pub(crate) type Missing = Vec<(&'static str, Reason)>;

/// Everyone there is; packages are looked for in `folder`.
pub(crate) fn all(folder: &Path) -> (Peers, Missing) {
    let mut peers: Peers = vec![
        Box::new(ours::Ours::again()),
        Box::new(ours::Ours::first()),
        Box::new(jmespath::Jmespath::interpret()),
        Box::new(jmespath::Jmespath::search()),
    ];
    let mut missing = Missing::new();
    let mut add = |name, peer: Result<Box<dyn Peer>, Reason>| match peer {
        Ok(peer) => peers.push(peer),
        Err(reason) => missing.push((name, reason)),
    };
    add("jmespath.js", process::node(folder));
    add("jmespath.py", process::python(folder));
    add("jaq", Ok(Box::<jaq::Jaq>::default()));
    add("jq", jq::Jq::found());
    (peers, missing)
}
