//! The documents as files, in a folder that is removed again.

use bytes::Bytes;
use std::{fs, io, path::PathBuf};

/// A document in memory and on the disk.
pub(crate) struct File {
    pub(crate) bytes: Bytes,
    pub(crate) path: PathBuf,
}

/// A folder for this run.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("crossfeed-race-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }

    pub(crate) fn file(&self, name: &str, bytes: Bytes) -> io::Result<File> {
        let path = self.0.join(name);
        fs::write(&path, &bytes)?;
        Ok(File { bytes, path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What the system's temporary folder keeps, it removes itself.
        let _ = fs::remove_dir_all(&self.0);
    }
}
