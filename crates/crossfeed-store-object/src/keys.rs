//! Keys of tenants, for encryption before bytes leave the process.

use std::{collections::BTreeMap, fmt};

/// A key of a tenant: 32 bytes, and the id by which objects name it.
#[derive(Clone, PartialEq, Eq)]
pub struct TenantKey {
    id: String,
    bytes: [u8; Self::BYTES],
}

/// Why a text is not the id of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id of a key is 1 to 64 letters, digits, `.`, `_` and `-`")]
pub struct KeyIdError;

impl TenantKey {
    /// Length of a key.
    pub const BYTES: usize = 32;

    /// A key by its id, which stands in objects, and so has to stay the same as long as they do.
    ///
    /// # Errors
    ///
    /// [`KeyIdError`] if the id is not 1 to 64 letters, digits, `.`, `_` and `-`: `2026/01`.
    pub fn new(id: impl Into<String>, bytes: [u8; Self::BYTES]) -> Result<Self, KeyIdError> {
        let id = id.into();
        if !is_key_id(&id) {
            return Err(KeyIdError);
        }
        Ok(Self { id, bytes })
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.bytes
    }
}

pub(crate) fn is_key_id(text: &str) -> bool {
    let is_admitted = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&text.len()) && text.bytes().all(is_admitted)
}

/// The id only.
impl fmt::Debug for TenantKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TenantKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// Knows the keys of tenants. To rotate a key, give another one as the current one, and still give the earlier one by
/// its id as long as objects are kept.
///
/// ```
/// use crossfeed_store_object::{TenantKey, TenantKeys};
///
/// /// One key for one tenant; the others' data is not encrypted.
/// struct OnlyAcme(TenantKey);
///
/// impl TenantKeys for OnlyAcme {
///     fn current(&self, tenant: &str) -> Option<TenantKey> {
///         (tenant == "acme").then(|| self.0.clone())
///     }
///
///     fn by_id(&self, tenant: &str, id: &str) -> Option<TenantKey> {
///         self.current(tenant).filter(|key| key.id() == id)
///     }
/// }
/// ```
pub trait TenantKeys: Send + Sync {
    /// The key with which a tenant's bytes are to be encrypted; `None` to keep them as they are. Where there is one, an
    /// object that is not encrypted is damaged.
    fn current(&self, tenant: &str) -> Option<TenantKey>;

    /// A key of a tenant that was a current one once.
    fn by_id(&self, tenant: &str, id: &str) -> Option<TenantKey>;
}

/// Keys in memory, each tenant's in the order in which they were added.
///
/// ```
/// use crossfeed_store_object::{KeyRing, TenantKey, TenantKeys};
///
/// let keys = KeyRing::default()
///     .with_key("acme", TenantKey::new("2025", [1; 32])?)
///     .with_key("acme", TenantKey::new("2026", [2; 32])?);
/// assert_eq!(keys.current("acme").unwrap().id(), "2026");
/// assert!(keys.by_id("acme", "2025").is_some());
/// assert!(keys.current("other").is_none());
/// # Ok::<(), crossfeed_store_object::KeyIdError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyRing(BTreeMap<String, Vec<TenantKey>>);

impl KeyRing {
    /// Adds a key, which is the tenant's current one from now on.
    #[must_use]
    pub fn with_key(mut self, tenant: impl Into<String>, key: TenantKey) -> Self {
        self.0.entry(tenant.into()).or_default().push(key);
        self
    }
}

impl TenantKeys for KeyRing {
    fn current(&self, tenant: &str) -> Option<TenantKey> {
        self.0.get(tenant)?.last().cloned()
    }

    fn by_id(&self, tenant: &str, id: &str) -> Option<TenantKey> {
        let mut keys = self.0.get(tenant)?.iter().rev();
        keys.find(|key| key.id == id).cloned()
    }
}
