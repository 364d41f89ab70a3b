//! Files beneath one directory, by paths that a model may have written.
//!
//! # What holds
//!
//! - The directory is opened once. What is at its path later does not matter.
//! - A path is walked name by name, each name in the directory that was opened before it, and no link is followed:
//!   nothing outside of the directory is reached, whatever is moved meanwhile.
//! - Only regular files are read or replaced: no device, pipe or socket.
//! - A file is written whole or not at all. One that is there stays unless the caller says otherwise.
//!
//! On systems other than Unix no directory can be opened: nothing was tried there.

mod path;
#[cfg(test)]
mod tests;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod unsupported;

pub use path::{PathError, RelativePath};
#[cfg(unix)]
pub use unix::RootDirectory;
#[cfg(not(unix))]
pub use unsupported::RootDirectory;

use crossfeed_wire::ErrorCode;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use std::io::{self, BufRead as _, BufReader, Read};

/// How long a file is, and its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileDigest {
    /// Its bytes.
    pub bytes: u64,
    /// Their SHA-256.
    pub sha256: [u8; 32],
}

impl FileDigest {
    /// That of a file that holds these bytes.
    pub fn new(content: &[u8]) -> Self {
        Self {
            bytes: content.len() as u64,
            sha256: Sha256::digest(content).into(),
        }
    }

    /// The digest in hexadecimal digits.
    pub fn hex(&self) -> String {
        HEXLOWER.encode(&self.sha256)
    }

    /// Whether a file still holds what it was made of.
    #[cfg_attr(not(unix), expect(dead_code, reason = "no file can be opened"))]
    fn matches(&self, file: impl Read) -> io::Result<bool> {
        let mut file = BufReader::new(file.take(self.bytes.saturating_add(1)));
        let (mut hasher, mut bytes) = (Sha256::new(), 0);
        loop {
            let part = file.fill_buf()?;
            if part.is_empty() {
                let sha256: [u8; 32] = hasher.finalize().into();
                return Ok(bytes == self.bytes && sha256 == self.sha256);
            }
            hasher.update(part);
            let read = part.len();
            bytes += read as u64;
            file.consume(read);
        }
    }
}

/// What becomes of a regular file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Existing {
    /// It stays.
    Keep,
    /// It is replaced if it still holds this.
    ReplaceIf(FileDigest),
    /// It is replaced.
    Replace,
}

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// No such file.
    #[error("there is no such file")]
    NotFound,
    /// What should be a directory is a file or a link.
    #[error("`{name}` is not a directory: links are not followed")]
    NotDirectory {
        /// Its name.
        name: String,
    },
    /// It is a directory, a link, a device, a pipe or a socket.
    #[error("it is not a regular file: links are not followed")]
    NotRegular,
    /// A file is there that must stay.
    #[error("a file is there already")]
    Exists,
    /// The file system takes a name for another one.
    #[error("`{name}` is there in another spelling")]
    OtherSpelling {
        /// The name as it was given.
        name: String,
    },
    /// The system refuses.
    #[error("the system refuses")]
    Io(#[from] io::Error),
}

impl FileError {
    /// Its code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Io(_) => ErrorCode::FileUnavailable,
            _ => ErrorCode::FileRefused,
        }
    }
}
