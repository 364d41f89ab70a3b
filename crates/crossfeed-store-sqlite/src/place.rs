//! Notices that the store's directory was removed or replaced: what is written to an open database then goes nowhere.

use crate::fault;
use crossfeed_store::StoreError;
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// The file of a database, and which one it was when it was opened.
#[derive(Clone)]
pub(crate) struct Place {
    path: PathBuf,
    /// What it is called in errors.
    name: &'static str,
    opened: FileId,
}

/// What tells a file from all others, also where it has the same name; nothing where an open file cannot be removed.
#[derive(Clone, PartialEq, Eq)]
struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    number: u64,
}

#[derive(Debug, thiserror::Error)]
#[error(
    "{name}: it was removed or replaced while it was open; move the same one back, or restart what uses it"
)]
struct Gone {
    name: &'static str,
}

impl Place {
    /// The place of a database that was opened just now.
    pub(crate) fn of(path: PathBuf, name: &'static str) -> Result<Self, StoreError> {
        let opened = id(&path).map_err(|error| fault::reading(name, error))?;
        Ok(Self { path, name, opened })
    }

    /// That the file is still there. A file system tells without asking the disk.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match id(&self.path) {
            Ok(found) if found == self.opened => Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(fault::reading(self.name, error))
            }
            _ => Err(fault::unavailable(Gone { name: self.name })),
        }
    }
}

fn id(path: &Path) -> io::Result<FileId> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::metadata(path)?;
        Ok(FileId {
            device: found.dev(),
            number: found.ino(),
        })
    }
    #[cfg(not(unix))]
    fs::metadata(path).map(|_| FileId {})
}
