//! Where results and the gateway's own records are kept.

use reqwest::Url;
use std::{
    collections::BTreeMap,
    fmt,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    time::Duration,
};

/// A store, and how it is reached.
#[derive(Clone, Default)]
#[non_exhaustive]
#[must_use]
pub struct StoreConfig {
    /// Where it is.
    pub location: StoreLocation,
    /// What the keys of Redis begin with, which tells this store from others on the same servers; `crossfeed` if absent.
    pub prefix: Option<String>,
    /// The user's name, where the servers want one.
    pub username: Option<String>,
    /// The user's password.
    pub password: Option<Secret>,
    /// The password of sentinels.
    pub sentinel_password: Option<Secret>,
    /// A file with certificates of authorities, in PEM; those of the system if absent.
    pub tls_roots: Option<PathBuf>,
    /// Files with the client's certificate and its key, in PEM.
    pub tls_identity: Option<[PathBuf; 2]>,
    /// When a write counts as done; as the store decides if absent.
    pub durability: Option<Durability>,
    /// Bytes of all results of all gateways that use it; no limit if absent.
    pub tenant_bytes: Option<usize>,
    /// The number of these results; no limit if absent.
    pub tenant_results: Option<usize>,
    /// Where large results and artifacts go: the URL of a bucket or directory. With the others if absent.
    pub blobs: Option<String>,
    /// Settings of that place, by their names there.
    pub blob_settings: BTreeMap<String, String>,
    /// The keys with which what goes there is encrypted: an id and a key a line. As it is if absent.
    pub blob_keys: Option<Secret>,
}

/// A secret, or the file that has it.
#[derive(Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a secret stands in one of these places"
)]
pub enum Secret {
    /// The secret itself.
    Text(String),
    /// Its file.
    File(PathBuf),
}

/// Where a store is.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreLocation {
    /// In the memory of this process, with which it ends.
    #[default]
    Memory,
    /// In a directory of this machine: an SQLite database.
    Sqlite(PathBuf),
    /// On the servers of this URL, which speak the protocol of Redis. It may hold a password.
    Redis(String),
}

/// When a write counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// It survives a crash of this process.
    Process,
    /// It survives a loss of power.
    Flushed,
    /// The primary has it.
    Primary,
    /// So many replicas have it, too.
    Replicas {
        /// How many.
        number: NonZeroUsize,
        /// How long to wait for them.
        within: Duration,
    },
}

impl StoreConfig {
    /// A store at this place, with every option at its default.
    pub fn new(location: StoreLocation) -> Self {
        Self {
            location,
            ..Self::default()
        }
    }

    /// Whether a directory for other files is the store's own, in it or around it, as they are written. On servers that is
    /// the directory of its blobs, if they have one.
    pub fn overlaps(&self, directory: &Path) -> bool {
        let of_blobs = || {
            let url = Url::parse(self.blobs.as_deref()?).ok()?;
            (url.scheme() == "file").then(|| url.to_file_path().ok())?
        };
        let own = match &self.location {
            StoreLocation::Sqlite(own) => Some(own.clone()),
            _ => of_blobs(),
        };
        own.is_some_and(|own| super::overlap(&own, directory))
    }
}

impl StoreLocation {
    /// Whether what is kept there outlives the process.
    pub fn lasts(&self) -> bool {
        *self != Self::Memory
    }
}

impl fmt::Debug for Secret {
    /// The file only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(…)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

impl fmt::Debug for StoreLocation {
    /// Without the URL: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("Memory"),
            Self::Sqlite(directory) => f.debug_tuple("Sqlite").field(directory).finish(),
            Self::Redis(_) => f.write_str("Redis(…)"),
        }
    }
}

impl fmt::Debug for StoreConfig {
    /// Without secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreConfig")
            .field("location", &self.location)
            .field("durability", &self.durability)
            .field("has_blobs", &self.blobs.is_some())
            .finish_non_exhaustive()
    }
}
