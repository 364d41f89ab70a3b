//! Where results are saved as files, and which files were written there for whom.

use crate::{
    principal::Principal,
    root_directory::{Existing, FileDigest, FileError, RelativePath, RootDirectory},
};
use lru::LruCache;
use parking_lot::Mutex;
use std::{io, num::NonZeroUsize, path::Path};

/// Files that are remembered: beyond, the one that was not written for longest counts as someone else's.
const MAX_FILES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(4095);

/// The directory below which results are saved.
pub(super) struct SaveDirectory {
    root: RootDirectory,
    /// What each file held when it was written.
    written: Mutex<LruCache<(Principal, RelativePath), FileDigest>>,
}

impl SaveDirectory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            root: RootDirectory::open(path)?,
            written: Mutex::new(LruCache::new(MAX_FILES)),
        })
    }

    /// Writes a file for a client. One that is there stays, unless it still holds what was written for this client, or the
    /// client `overwrites` it.
    pub(super) fn write(
        &self,
        principal: &Principal,
        path: &RelativePath,
        content: &[u8],
        overwrites: bool,
    ) -> Result<FileDigest, FileError> {
        let key = (principal.clone(), path.clone());
        let before = self.written.lock().get(&key).copied();
        let existing = match before {
            _ if overwrites => Existing::Replace,
            Some(before) => Existing::ReplaceIf(before),
            None => Existing::Keep,
        };
        let written = self.root.write(path, content, existing)?;
        self.written.lock().put(key, written);
        Ok(written)
    }
}
