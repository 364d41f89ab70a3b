//! The token of a listener whose configuration names none: created at the first start, and kept for later ones.

use crate::private_file;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use std::{
    fmt, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// Bytes of a file of a token; one that is longer is not ours.
const MAX_FILE_BYTES: u64 = 1024;

/// A listener's own token, and the file that keeps it.
pub struct ListenerToken {
    path: PathBuf,
    token: String,
}

/// A listener's own token cannot be read or made.
#[derive(Debug, thiserror::Error)]
#[error("the token file {} cannot be used", path.display())]
pub struct ListenerTokenError {
    path: PathBuf,
    source: io::Error,
}

impl ListenerToken {
    /// The token of the gateway that listens at this address, from its file in `directory`; the file is
    /// made if there is none. Of two processes that make it at once, both get the same.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written, others can read it or write to its directory, or another user
    /// owns it.
    pub fn load_or_create(
        directory: &Path,
        address: SocketAddr,
    ) -> Result<Self, ListenerTokenError> {
        let path = directory.join(file_name(address));
        match token(&path) {
            Ok(token) => Ok(Self { path, token }),
            Err(source) => Err(ListenerTokenError { path, source }),
        }
    }

    /// Whether [`Self::load_or_create`] could use the file that is there; makes nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::load_or_create`].
    pub fn check(directory: &Path, address: SocketAddr) -> Result<(), ListenerTokenError> {
        let path = directory.join(file_name(address));
        read(&path)
            .map(|_| ())
            .map_err(|source| ListenerTokenError { path, source })
    }

    /// The file that keeps it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The token: a secret.
    pub fn secret(&self) -> &str {
        &self.token
    }
}

impl fmt::Debug for ListenerToken {
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerToken")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// `127.0.0.1-8807`, `__1-8807`: no sign that a file system refuses.
fn file_name(address: SocketAddr) -> String {
    let host = address.ip().to_string().replace(':', "_");
    format!("{host}-{}", address.port())
}

/// A random text that fits into headers and files; none where the system gives no random bytes.
pub(super) fn random() -> Option<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

fn token(path: &Path) -> io::Result<String> {
    if let Some(token) = read(path)? {
        return Ok(token);
    }
    let no_random = || io::Error::other("the system gives no random bytes");
    let token = random().ok_or_else(no_random)?;
    if private_file::create(path, format!("{token}\n").as_bytes())? {
        return Ok(token);
    }
    // Another process made it meanwhile.
    read(path)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

fn read(path: &Path) -> io::Result<Option<String>> {
    private_file::check_directory(path)?;
    let Some(bytes) = private_file::read_own(path, MAX_FILE_BYTES)? else {
        return Ok(None);
    };
    let text = String::from_utf8(bytes).unwrap_or_default();
    let token = text.trim_end();
    // What it holds may be a secret of another kind.
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(token);
    if !bytes.is_ok_and(|bytes| bytes.len() == TOKEN_BYTES) {
        let reason = "it does not hold a token: remove it, and another one is made";
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(Some(token.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_file::TestDirectory;
    use std::{error::Error as _, fs};

    fn at(directory: &TestDirectory, address: &str) -> Result<ListenerToken, String> {
        let token = ListenerToken::load_or_create(&directory.0, address.parse().unwrap());
        token.map_err(|error| format!("{error}: {}", error.source().unwrap()))
    }

    #[test]
    fn a_token_is_made_once_for_each_address() {
        let directory = TestDirectory::new();
        let first = at(&directory, "127.0.0.1:8807").unwrap();
        assert_eq!(first.secret().len(), 43);
        assert!(first.path().ends_with("127.0.0.1-8807"));
        assert!(!format!("{first:?}").contains(first.secret()));
        let again = at(&directory, "127.0.0.1:8807").unwrap();
        assert_eq!(again.secret(), first.secret());
        for other in ["127.0.0.1:8808", "[::1]:8807", "[::]:8807", "0.0.0.0:8807"] {
            assert_ne!(at(&directory, other).unwrap().secret(), first.secret());
        }
        assert!(
            at(&directory, "[::1]:8807")
                .unwrap()
                .path()
                .ends_with("__1-8807")
        );
    }

    #[test]
    fn processes_that_start_at_once_agree() {
        let directory = TestDirectory::new();
        let token = || at(&directory, "127.0.0.1:1").unwrap().secret().to_owned();
        let tokens: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(token)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_not_private_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = TestDirectory::new();
        let path = at(&directory, "127.0.0.1:1").unwrap().path().to_owned();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let said = at(&directory, "127.0.0.1:1").unwrap_err();
        assert!(said.starts_with(&format!("the token file {} cannot be used", path.display())));
        assert!(said.contains("others may read it"), "{said}");
    }

    /// Who may write to the directory puts another file in the place of this one.
    #[cfg(unix)]
    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = TestDirectory::new();
        at(&directory, "127.0.0.1:1").unwrap();
        for mode in [0o777, 0o720, 0o702] {
            fs::set_permissions(&directory.0, fs::Permissions::from_mode(mode)).unwrap();
            for address in ["127.0.0.1:1", "127.0.0.1:2"] {
                let said = at(&directory, address).unwrap_err();
                assert!(said.contains("others may write to its directory"), "{said}");
                let address = address.parse().unwrap();
                assert!(ListenerToken::check(&directory.0, address).is_err());
            }
        }
    }

    #[test]
    fn a_check_makes_nothing() {
        let directory = TestDirectory::new();
        let address = "127.0.0.1:1".parse().unwrap();
        assert!(ListenerToken::check(&directory.0, address).is_ok());
        assert!(!directory.0.exists());
        at(&directory, "127.0.0.1:1").unwrap();
        assert!(ListenerToken::check(&directory.0, address).is_ok());
    }

    #[test]
    fn a_file_that_holds_no_token_is_refused() {
        let directory = TestDirectory::new();
        let path = at(&directory, "127.0.0.1:1").unwrap().path().to_owned();
        for text in ["", "short", &"x".repeat(2000)] {
            private_file::replace(&path, text.as_bytes()).unwrap();
            let said = at(&directory, "127.0.0.1:1").unwrap_err();
            assert!(said.contains("it does not hold a token"), "{said}");
        }
    }
}
