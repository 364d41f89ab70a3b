//! The names under which tools or prompts of several servers stand in one list, no two the same.
//!
//! Which server a name means depends on the configuration and on the names given before, never on which servers
//! answered.

use crate::config::{GatewayConfig, Prefix};
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// The most bytes of a name with a prefix: what every provider takes.
const MAX_NAME_BYTES: usize = 64;
/// Hexadecimal digits that tell names apart that were cut.
const MARK: usize = 6;
/// What is kept of a server's name in a prefix that needs a mark.
const STEM: usize = 24;
/// Between a prefix and a name.
const BETWEEN: &str = "__";

/// Names that one server may have in a session, and their bytes.
const MAX_NAMES: usize = 32_768;
const MAX_BYTES: usize = 4 << 20;

/// How names are given: by the configuration alone.
pub(crate) struct Naming {
    prefix: Prefix,
    /// By their places in the configuration; none of servers that are disabled.
    servers: Vec<Option<Server>>,
}

struct Server {
    name: String,
    /// Without [`BETWEEN`], which it does not contain.
    prefix: String,
}

/// A tool or a prompt as its server knows it: the server's place, and its own name there.
type ServerItem = (usize, Arc<str>);

/// Names that were given, and what they stand for. A name that was given once stands for the same until
/// the session ends.
#[derive(Clone, Default)]
pub(crate) struct Bindings {
    owners: HashMap<Arc<str>, ServerItem>,
    names: HashMap<ServerItem, Arc<str>>,
    room: HashMap<usize, Room>,
    digest: [u8; 32],
}

/// What the names of one server take.
#[derive(Clone, Copy, Default)]
struct Room {
    names: usize,
    bytes: usize,
}

impl Bindings {
    /// The server of a name, and the name there.
    pub(crate) fn owner(&self, name: &str) -> Option<(usize, &str)> {
        let (server, own) = self.owners.get(name)?;
        Some((*server, own))
    }

    /// The same for the same names, given in the same order.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    fn name(&self, own: &ServerItem) -> Option<&Arc<str>> {
        self.names.get(own)
    }

    fn has_room(&self, (server, own): &ServerItem, name: &str) -> bool {
        let room = self.room.get(server).copied().unwrap_or_default();
        room.names < MAX_NAMES && room.bytes + own.len() + name.len() <= MAX_BYTES
    }

    fn bind(&mut self, own: ServerItem, name: &str) {
        let mut digest = Sha256::new();
        digest.update(self.digest);
        digest.update(own.0.to_le_bytes());
        for text in [&own.1, name] {
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        }
        self.digest = digest.finalize().into();
        let room = self.room.entry(own.0).or_default();
        room.names += 1;
        room.bytes += own.1.len() + name.len();
        let name: Arc<str> = name.into();
        self.owners.insert(Arc::clone(&name), own.clone());
        self.names.insert(own, name);
    }
}

impl Naming {
    pub(crate) fn from_config(config: &GatewayConfig) -> Self {
        let names = config.servers.iter();
        let names = names.map(|server| (!server.disabled).then_some(server.name.as_str()));
        Self::new(&names.collect::<Vec<_>>(), config.prefix)
    }

    /// The same names for all processes: each with its prefix, whatever was listed before.
    pub(crate) fn with_prefixes(mut self) -> Self {
        self.prefix = Prefix::Always;
        self
    }

    fn new(names: &[Option<&str>], prefix: Prefix) -> Self {
        // A name that can be a prefix as it is goes first, wherever it stands.
        let exact = |name: &str| is_unambiguous(name) && plain(name) == name;
        let first = names.iter().flatten().filter(|name| exact(name));
        let mut taken: HashSet<String> = first.map(|name| (*name).to_owned()).collect();
        let servers = names.iter().map(|name| {
            let name = (*name)?;
            let prefix = if exact(name) {
                name.to_owned()
            } else {
                marked_prefix(name, &taken)
            };
            taken.insert(prefix.clone());
            let name = name.to_owned();
            Some(Server { name, prefix })
        });
        Self {
            prefix,
            servers: servers.collect(),
        }
    }

    /// Whether there is one server: its names are its own.
    pub(crate) fn is_sole(&self) -> bool {
        self.sole().is_some()
    }

    /// Whether what a name means depends on the lists that were there before.
    pub(crate) fn goes_by_lists(&self) -> bool {
        self.prefix == Prefix::Collisions && !self.is_sole()
    }

    /// The only server, where there is one.
    pub(crate) fn sole(&self) -> Option<usize> {
        let servers = self.servers.iter().enumerate();
        let mut enabled = servers.filter(|(_, server)| server.is_some());
        let (at, _) = enabled.next()?;
        enabled.next().is_none().then_some(at)
    }

    /// The server whose prefix a name has, and the name there, where the prefix is all that was put to it.
    pub(crate) fn prefixed_by<'n>(&self, name: &'n str) -> Option<(usize, &'n str)> {
        let (prefix, own) = name.split_once(BETWEEN)?;
        let mut servers = self.servers.iter();
        let at = servers.position(|of| of.as_ref().is_some_and(|of| of.prefix == prefix))?;
        (self.prefixed(at, own, |_| false) == name).then_some((at, own))
    }

    /// The names that items are shown under, in their order, and all names that are given by then; none
    /// for an item beyond the room of its server. `reserved` are taken.
    pub(crate) fn give(
        &self,
        before: &Arc<Bindings>,
        items: &[(usize, &str)],
        reserved: &[&str],
    ) -> (Vec<Option<String>>, Arc<Bindings>) {
        if self.is_sole() {
            return (self.name_sole(items, reserved), Arc::clone(before));
        }
        let items: Vec<ServerItem> = items
            .iter()
            .map(|(server, own)| (*server, Arc::from(*own)))
            .collect();
        let is_new = |item: &&ServerItem| before.name(item).is_none();
        let mut bindings = Arc::clone(before);
        if items.iter().any(|item| is_new(&item)) {
            let bindings = Arc::make_mut(&mut bindings);
            if self.prefix == Prefix::Collisions {
                let mut servers: HashMap<&str, HashSet<usize>> = HashMap::new();
                for (server, own) in &items {
                    servers.entry(own).or_default().insert(*server);
                }
                let is_free = |(server, own): &ServerItem| {
                    let servers = servers.get(&**own).map_or(0, HashSet::len);
                    servers == 1 && !reserved.contains(&&**own) && !self.is_of_another(*server, own)
                };
                for item in items.iter().filter(is_new).filter(|item| is_free(item)) {
                    let is_taken = bindings.name(item).is_some()
                        || bindings.owners.contains_key(&item.1)
                        || !bindings.has_room(item, &item.1);
                    if !is_taken {
                        bindings.bind(item.clone(), &item.1);
                    }
                }
            }
            for item in &items {
                if bindings.name(item).is_some() {
                    continue;
                }
                let is_taken =
                    |name: &str| bindings.owners.contains_key(name) || reserved.contains(&name);
                let name = self.prefixed(item.0, &item.1, is_taken);
                if bindings.has_room(item, &name) {
                    bindings.bind(item.clone(), &name);
                }
            }
        }
        let names = items
            .iter()
            .map(|item| bindings.name(item).map(|name| (**name).to_owned()));
        (names.collect(), bindings)
    }

    fn name_sole(&self, items: &[(usize, &str)], reserved: &[&str]) -> Vec<Option<String>> {
        let own = items.iter().map(|(_, own)| *own);
        let taken = own.chain(reserved.iter().copied()).map(str::to_owned);
        let mut taken: HashSet<String> = taken.collect();
        let mut given: HashMap<&str, String> = HashMap::new();
        let names = items.iter().map(|&(server, own)| {
            if !reserved.contains(&own) {
                return Some(own.to_owned());
            }
            let name = given.entry(own).or_insert_with(|| {
                let name = self.prefixed(server, own, |name| taken.contains(name));
                taken.insert(name.clone());
                name
            });
            Some(name.clone())
        });
        names.collect()
    }

    /// Whether a name begins as those of another server do: a client that allows it means the other's.
    fn is_of_another(&self, server: usize, name: &str) -> bool {
        let Some((prefix, _)) = name.split_once(BETWEEN) else {
            return false;
        };
        let mut others = self.servers.iter().enumerate();
        others.any(|(at, other)| {
            at != server && other.as_ref().is_some_and(|other| other.prefix == prefix)
        })
    }

    fn prefixed(&self, server: usize, name: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let server = self.servers.get(server).and_then(Option::as_ref);
        let (prefix, server) = server.map_or(("", ""), |server| (&server.prefix, &server.name));
        let full = format!("{prefix}{BETWEEN}{}", plain(name));
        if plain(name) == name && full.len() <= MAX_NAME_BYTES && !is_taken(&full) {
            return full;
        }
        let kept: String = full.chars().take(MAX_NAME_BYTES - MARK - 1).collect();
        let marked = |round| format!("{kept}_{}", mark(&format!("{server}\n{name}\n{round}")));
        first_free(marked, is_taken)
    }
}

/// The prefixes of names of these servers, where all carry one.
pub(crate) fn prefixes(servers: &[String]) -> Vec<String> {
    let names: Vec<_> = servers.iter().map(|name| Some(name.as_str())).collect();
    let naming = Naming::new(&names, Prefix::Always);
    let servers = naming.servers.into_iter().flatten();
    servers.map(|server| server.prefix).collect()
}

/// Whether the first [`BETWEEN`] behind a server's name is the one that the gateway put there.
fn is_unambiguous(server: &str) -> bool {
    !server.contains(BETWEEN) && !server.ends_with('_')
}

/// A prefix for a server whose name cannot be one: without its mark where nothing else has it.
fn marked_prefix(server: &str, taken: &HashSet<String>) -> String {
    let mut stem = plain(server);
    while stem.contains(BETWEEN) {
        stem = stem.replace(BETWEEN, "_");
    }
    let stem = stem.trim_end_matches('_');
    if is_unambiguous(server) && is_unambiguous(&plain(server)) && !taken.contains(stem) {
        return stem.to_owned();
    }
    let stem = stem.get(..stem.len().min(STEM)).unwrap_or_default();
    let stem = match stem.trim_end_matches('_') {
        "" => "server",
        stem => stem,
    };
    first_free(
        |round| format!("{stem}_{}", mark(&format!("{server}\n{round}"))),
        |prefix| taken.contains(prefix),
    )
}

/// The first of an endless row of names that is free.
fn first_free(name: impl Fn(usize) -> String, is_taken: impl Fn(&str) -> bool) -> String {
    let mut names = (0..).map(name);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// Digits that tell texts apart.
fn mark(text: &str) -> String {
    let mut mark = HEXLOWER.encode(&Sha256::digest(text));
    mark.truncate(MARK);
    mark
}

/// A name in the signs that every provider takes.
fn plain(text: &str) -> String {
    let sign = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    text.chars().map(sign).collect()
}

#[cfg(test)]
mod tests;
