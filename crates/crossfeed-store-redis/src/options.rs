//! The options of a store: where its servers are, and how much they keep.

use crate::url::{self, RedisUrlError};
use crossfeed_store::{BlobStore, MemoryLimits};
use derive_setters::Setters;
use std::{fmt, sync::Arc, time::Duration};

/// A password. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(Arc<str>);

impl Password {
    /// This password.
    pub fn new(password: impl Into<Arc<str>>) -> Self {
        Self(password.into())
    }

    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

impl<T: Into<Arc<str>>> From<T> for Password {
    fn from(password: T) -> Self {
        Self::new(password)
    }
}

/// A client's certificate and its key, by which servers know it. `Debug` does not show the key.
#[derive(Clone, PartialEq, Eq)]
pub struct TlsIdentity {
    pub(crate) certificates: Vec<u8>,
    pub(crate) key: Vec<u8>,
}

impl TlsIdentity {
    /// A certificate, followed by those of the authorities that issued it, and its key, both in PEM.
    pub fn new(certificates: impl Into<Vec<u8>>, key: impl Into<Vec<u8>>) -> Self {
        Self {
            certificates: certificates.into(),
            key: key.into(),
        }
    }
}

impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsIdentity(…)")
    }
}

/// When a write counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RedisDurability {
    /// When the primary has it. A failover loses what the new primary had not received yet: usually the writes of
    /// less than a second.
    #[default]
    Primary,
    /// When so many replicas have it, too. A failover to one of them loses nothing that was acknowledged. (A primary
    /// that is cut off from all replicas acknowledges nothing.)
    Replicas {
        /// How many.
        number: usize,
        /// How long to wait for them; then the write is
        /// [`StoreError::Unavailable`](crossfeed_store::StoreError), and may be made again.
        within: Duration,
    },
}

/// Where the servers are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Servers {
    /// One server.
    Single { address: Address, db: i64 },
    /// Some nodes of a cluster.
    Cluster { nodes: Vec<Address> },
    /// Sentinels, who know the address of a primary.
    Sentinel {
        sentinels: Vec<Address>,
        primary: String,
        db: i64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The options of a [`RedisStore`](crate::RedisStore).
///
/// ```
/// use crossfeed_store_redis::{Password, RedisOptions};
///
/// let options = RedisOptions::from_url("rediss+cluster://10.0.0.1:6379,10.0.0.2:6379")?
///     .with_password(Password::new("from a file"));
/// assert!(!format!("{options:?}").contains("from a file"));
/// # Ok::<(), crossfeed_store_redis::RedisUrlError>(())
/// ```
#[derive(Clone, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct RedisOptions {
    #[setters(skip)]
    pub(crate) servers: Servers,
    #[setters(skip)]
    pub(crate) tls: bool,
    /// The user's name, where the servers want one.
    #[setters(into, strip_option)]
    pub username: Option<String>,
    /// The user's password.
    #[setters(strip_option)]
    pub password: Option<Password>,
    /// The password of the sentinels, where they want one.
    #[setters(strip_option)]
    pub sentinel_password: Option<Password>,
    /// Certificates of authorities in PEM, for servers whose authority is not among the system's; those are not trusted
    /// then.
    #[setters(into, strip_option)]
    pub tls_roots: Option<Vec<u8>>,
    /// The client's certificate, where servers ask for one.
    #[setters(strip_option)]
    pub tls_identity: Option<TlsIdentity>,
    /// Limits. `total_bytes` is not used: see [`tenant_bytes`](Self::tenant_bytes).
    pub limits: MemoryLimits,
    /// Bytes of results of one tenant. None by default, because it costs each write three more requests.
    pub tenant_bytes: Option<usize>,
    /// Results of one tenant. None by default.
    pub tenant_results: Option<usize>,
    /// When a write counts as done.
    pub durability: RedisDurability,
    /// How long one request may take. 2 s: an answer takes milliseconds, so a slower server is not there.
    pub timeout: Duration,
    /// Bytes of results, and of artifacts, that stay in this process's memory after they were read or written, index
    /// included, so that each is fetched and indexed once. 64 MiB of each.
    pub cache_bytes: usize,
    /// What all keys begin with. `crossfeed`.
    #[setters(into)]
    pub prefix: String,
    /// A place for large data. None by default: all lies in the server's memory.
    #[setters(strip_option)]
    pub blobs: Option<Arc<dyn BlobStore>>,
    /// Data beyond this many bytes goes to [`blobs`](Self::blobs), where there are any. 256 KiB.
    pub blob_bytes: usize,
    /// How long a call counts as in flight when its process does not renew it. 15 s: a crash is noticed within that.
    pub lease_time: Duration,
    /// How long to wait, at most, until calls in flight are asked for again. 500 ms: it is only needed where a message
    /// was missed.
    pub poll_interval: Duration,
}

impl RedisOptions {
    /// The options for a URL: `redis://[user:password@]host[:port][/db]`, `redis+cluster://host:port,host:port`, or
    /// `redis+sentinel://host:port,host:port/PRIMARY[?db=0]`; each with `rediss` for TLS.
    ///
    /// # Errors
    ///
    /// [`RedisUrlError`] for any other text.
    pub fn from_url(text: &str) -> Result<Self, RedisUrlError> {
        let url = url::parse(text)?;
        Ok(Self {
            servers: url.servers,
            tls: url.tls,
            username: url.username,
            password: url.password,
            sentinel_password: None,
            tls_roots: None,
            tls_identity: None,
            limits: MemoryLimits::default(),
            tenant_bytes: None,
            tenant_results: None,
            durability: RedisDurability::default(),
            timeout: Duration::from_secs(2),
            cache_bytes: 64 << 20,
            prefix: "crossfeed".to_owned(),
            blobs: None,
            blob_bytes: 256 << 10,
            lease_time: Duration::from_secs(15),
            poll_interval: Duration::from_millis(500),
        })
    }
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisOptions")
            .field("servers", &self.servers)
            .field("tls", &self.tls)
            .field("username", &self.username)
            .field("password", &self.password)
            .field("durability", &self.durability)
            .field("prefix", &self.prefix)
            .field("blobs", &self.blobs.is_some())
            .finish_non_exhaustive()
    }
}
