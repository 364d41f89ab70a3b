//! The file that keeps the tokens of a server.

use crate::private_file;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::{
    fs::{File, OpenOptions},
    io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How much earlier a token counts as expired: requests take time.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// How much of a server's name is in the name of its file.
const MAX_NAME_BYTES: usize = 40;

/// How long to wait for another process that renews tokens.
#[cfg(unix)]
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for the lock without a thread that could not be ended.
#[cfg(unix)]
async fn locked(file: &File) -> io::Result<()> {
    use rustix::{
        fs::{FlockOperation, flock},
        io::Errno,
    };
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => tokio::time::sleep(Duration::from_millis(50)).await,
            locked => return locked.map_err(io::Error::from),
        }
    }
}

/// The gateway's identity and tokens at one server.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Login {
    /// The server's address, without what may be a key in it.
    pub(super) resource: String,
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    pub(super) client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// Whether the secret goes into the body and not into a header.
    #[serde(default)]
    pub(super) secret_in_body: bool,
    /// Whether the gateway itself is who is let in, by its id and secret, and not a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_own: bool,
    /// None where no one has logged in since the server wanted more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) access_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    /// Seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    /// When a person, or the gateway itself, logged in last, in seconds since 1970; renewals leave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) logged_in_at: Option<u64>,
    /// How often its token was renewed since.
    #[serde(default)]
    pub(super) renewals: u64,
    #[serde(default)]
    pub(super) scopes: Vec<String>,
    /// What the server said that it wants beside these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) wanted: Vec<String>,
    /// When the file was written from which it was read, in seconds since 1970.
    #[serde(skip)]
    pub(super) written_at: Option<u64>,
}

impl Login {
    /// Whether the access token has expired, or is about to.
    pub(super) fn is_expired(&self) -> bool {
        self.expires_at
            .is_some_and(|at| at <= unix_time_in(EXPIRY_MARGIN))
    }

    /// Whether both are one login, renewed more or less often.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.logged_in_at == other.logged_in_at
            && self.issuer == other.issuer
            && self.client_id == other.client_id
    }

    /// Whether its tokens replace those of the other: a later login, or the same renewed more often. Where a version of
    /// before wrote one of them, which counts neither, those that expire later; but its file is not later than a login
    /// that was made after that.
    pub(super) fn is_later_than(&self, other: &Self) -> bool {
        let order = |login: &Self| (login.logged_in_at, login.renewals);
        match (self.expires_at, other.expires_at) {
            (Some(own), Some(others))
                if own != others
                    && (self.is_uncounted() || other.is_uncounted())
                    && !self.was_written_before(other)
                    && !other.was_written_before(self) =>
            {
                own > others
            }
            _ => order(self) > order(other),
        }
    }

    /// Whether a version wrote it that counts no renewals.
    fn is_uncounted(&self) -> bool {
        self.logged_in_at.is_none() && self.renewals == 0
    }

    /// Whether a version that counts nothing wrote its file before a person, or the gateway itself, made the other login.
    fn was_written_before(&self, other: &Self) -> bool {
        let written = self.written_at.filter(|_| self.is_uncounted());
        written
            .zip(other.logged_in_at)
            .is_some_and(|(written, login)| written < login)
    }

    /// The same to be written in place of `other`: one that was not counted is from then on.
    pub(super) fn counted_after(&self, other: Option<&Self>) -> Self {
        let mut login = self.clone();
        if login.is_uncounted() {
            login.logged_in_at = other.and_then(|other| other.logged_in_at);
            login.renewals = other.map_or(1, |other| other.renewals.saturating_add(1));
        }
        login
    }
}

/// The time after so long from now, in seconds since 1970.
pub(super) fn unix_time_in(duration: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().saturating_add(duration).as_secs()
}

/// The file of one server.
#[derive(Clone)]
pub(super) struct Store(PathBuf);

impl Store {
    /// The file of a server with this name and address: two names may be two people.
    pub(super) fn new(directory: &Path, name: &str, url: &str) -> Self {
        let digest = Sha256::new().chain_update(name).chain_update([0]);
        let digest = digest.chain_update(url).finalize();
        let is_odd = |sign: char| !sign.is_ascii_alphanumeric() && !matches!(sign, '-' | '_');
        let mut file = name.replace(is_odd, "_");
        file.truncate(MAX_NAME_BYTES);
        file.push('-');
        HEXLOWER.encode_append(&digest[..12], &mut file);
        file.push_str(".json");
        Self(directory.join(file))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The stored tokens; none where no one has logged in.
    pub(super) fn read(&self) -> io::Result<Option<Login>> {
        let Some(file) = private_file::open(&self.0)? else {
            return Ok(None);
        };
        let written = file.metadata().and_then(|about| about.modified()).ok();
        let written = written.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        // Its text is a secret, and what the reader says of it may quote it.
        let mut login: Login = serde_json::from_reader(io::BufReader::new(file))
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not readable"))?;
        login.written_at = written.map(|since| since.as_secs());
        Ok(Some(login))
    }

    /// Waits until no other process renews these tokens; none does until what is returned is dropped.
    pub(super) async fn lock(&self) -> io::Result<File> {
        private_file::make_directory(&self.0)?;
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.write(true).create(true).truncate(false);
        let file = options.open(self.0.with_extension("lock"))?;
        #[cfg(unix)]
        tokio::time::timeout(LOCK_TIMEOUT, locked(&file))
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        Ok(file)
    }

    pub(super) fn write(&self, login: &Login) -> io::Result<()> {
        let text = serde_json::to_string_pretty(login)?;
        private_file::replace(&self.0, text.as_bytes())
    }
}
