//! Where no root can be opened.

use super::{Existing, FileDigest, FileError, RelativePath};
use std::{convert::Infallible, fs::File, io, path::Path};

/// A directory beneath which files are read and written.
#[derive(Debug)]
pub struct RootDirectory(Infallible);

impl RootDirectory {
    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// Always: nothing was tried on this system.
    pub fn open(_: &Path) -> io::Result<Self> {
        let reason = "files beneath a directory are read and written on Unix only";
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    /// Opens a regular file to read it.
    ///
    /// # Errors
    ///
    /// None: there is no root.
    pub fn open_file(&self, _: &RelativePath) -> Result<File, FileError> {
        match self.0 {}
    }

    /// Writes a file.
    ///
    /// # Errors
    ///
    /// None: there is no root.
    pub fn write(&self, _: &RelativePath, _: &[u8], _: Existing) -> Result<FileDigest, FileError> {
        match self.0 {}
    }
}
