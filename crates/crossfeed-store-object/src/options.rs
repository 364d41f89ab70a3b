//! The options of a place for objects.

use crate::TenantKeys;
use derive_setters::Setters;
use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// The options of [`ObjectBlobs`](crate::ObjectBlobs).
///
/// ```
/// use crossfeed_store_object::{ObjectBlobs, ObjectOptions};
///
/// let settings = [
///     ("region", "eu-central-1"),
///     ("access_key_id", "AKIAIOSFODNN7EXAMPLE"),
///     ("secret_access_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
/// ];
/// let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
/// let options = ObjectOptions::default().with_settings(settings.into());
/// let blobs = ObjectBlobs::from_url("s3://bucket/crossfeed", options)?;
/// assert_eq!(blobs.to_string(), "s3://bucket/crossfeed");
/// # Ok::<(), crossfeed_store_object::OpenError>(())
/// ```
#[derive(Clone, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ObjectOptions {
    /// The backend's settings, by the names that the crate `object_store` gives them: `region`, `endpoint`,
    /// `access_key_id`, and so on. [`OpenError::UnknownSetting`](crate::OpenError) lists them.
    pub settings: BTreeMap<String, String>,
    /// Keys of tenants, for encryption in this process. None: bytes are kept as they are.
    #[setters(strip_option)]
    pub keys: Option<Arc<dyn TenantKeys>>,
    /// How long a request may take, retries included; for each MiB it may take a second more. 30 s: object storage
    /// answers within a second, or is in trouble.
    pub timeout: Duration,
    /// How many times a request is made again that failed in a way that may pass, within the time-out. 3: what does
    /// not pass within a second or two is told to the caller, who has a session waiting.
    pub retries: usize,
    /// Whether a directory must have been used before, rather than be made: one that was is empty where its disk is not
    /// mounted. No by default, and without meaning for other backends.
    pub must_exist: bool,
    /// The largest blob, so that an object that somebody else made cannot fill the memory. 1 GiB: four times what a
    /// session may hold by default.
    pub max_bytes: usize,
}

impl Default for ObjectOptions {
    fn default() -> Self {
        Self {
            settings: BTreeMap::new(),
            keys: None,
            timeout: Duration::from_secs(30),
            retries: 3,
            must_exist: false,
            max_bytes: 1 << 30,
        }
    }
}

/// The names of settings only: values may be secret.
impl fmt::Debug for ObjectOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectOptions")
            .field("settings", &self.settings.keys())
            .field("keys", &self.keys.is_some())
            .field("timeout", &self.timeout)
            .field("retries", &self.retries)
            .field("must_exist", &self.must_exist)
            .field("max_bytes", &self.max_bytes)
            .finish()
    }
}
