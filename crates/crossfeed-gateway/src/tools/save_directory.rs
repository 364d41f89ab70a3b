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
    /// Whether several holders of tokens save here: `overwrite` then replaces no file that may be another's.
    is_shared: bool,
    /// Who wrote each file last, and what it held then.
    written: Mutex<LruCache<RelativePath, (Principal, FileDigest)>>,
}

impl SaveDirectory {
    pub(super) fn open(path: &Path, is_shared: bool) -> io::Result<Self> {
        Ok(Self {
            root: RootDirectory::open(path)?,
            is_shared,
            written: Mutex::new(LruCache::new(MAX_FILES)),
        })
    }

    /// Whether several holders of tokens save here.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Writes a file for a client. One that is there stays, unless this client wrote it last and it still holds that, or
    /// the client `overwrites` it and no other holder of a token may have written it.
    pub(super) fn write(
        &self,
        principal: &Principal,
        path: &RelativePath,
        content: &[u8],
        overwrites: bool,
    ) -> Result<FileDigest, FileError> {
        let before = self.written.lock().get(path).cloned();
        let existing = match before {
            _ if overwrites && !self.is_shared => Existing::Replace,
            Some((writer, before)) if writer == *principal => Existing::ReplaceIf(before),
            _ => Existing::Keep,
        };
        let written = self.root.write(path, content, existing)?;
        let by = (principal.clone(), written);
        self.written.lock().put(path.clone(), by);
        Ok(written)
    }
}
