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
    /// Who wrote each file last, and what it held then.
    written: Mutex<LruCache<RelativePath, (Principal, FileDigest)>>,
}

impl SaveDirectory {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            root: RootDirectory::open(path)?,
            written: Mutex::new(LruCache::new(MAX_FILES)),
        })
    }

    /// Writes a file for a client. One that is there stays, unless this client wrote it last and it still holds that, or
    /// `overwrites` it.
    pub(super) fn write(
        &self,
        principal: &Principal,
        path: &RelativePath,
        content: &[u8],
        overwrites: bool,
    ) -> Result<FileDigest, FileError> {
        // Held meanwhile: what is noted is what is there.
        let mut written = self.written.lock();
        let existing = match written.get(path).cloned() {
            _ if overwrites => Existing::Replace,
            Some((writer, before)) if writer == *principal => Existing::ReplaceIf(before),
            _ => Existing::Keep,
        };
        let digest = self.root.write(path, content, existing)?;
        written.put(path.clone(), (principal.clone(), digest));
        Ok(digest)
    }
}
