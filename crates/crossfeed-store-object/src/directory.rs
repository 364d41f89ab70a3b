//! A directory that is used as object storage.

use object_store::local::LocalFileSystem;
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// How old what an interrupted write left must be before it is removed: no write takes that long.
const LEFTOVER_AGE: Duration = Duration::from_secs(60 * 60);

/// The directory in which all objects are.
#[derive(Clone)]
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn at(outer: &Path) -> Self {
        Self(outer.join(crate::name::FORMAT))
    }

    /// Makes the directories if they are missing. Only their owner can enter the inner one.
    pub(crate) fn open(outer: &Path) -> Result<(Self, LocalFileSystem), io::Error> {
        let this = Self::at(outer);
        let inner = &this.0;
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(inner)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if fs::metadata(inner)?.permissions().mode() & 0o077 != 0 {
                fs::set_permissions(inner, fs::Permissions::from_mode(0o700))?;
            }
        }
        let files = LocalFileSystem::new_with_prefix(outer)?.with_fsync(true);
        Ok((this, files))
    }

    /// Whether the directory is there, rather than on a disk that is not mounted.
    pub(crate) fn is_there(&self) -> bool {
        self.0.is_dir()
    }

    /// Removes files that writes left when they were interrupted, and directories that are empty.
    pub(crate) fn sweep(&self) -> io::Result<()> {
        let Some(before) = SystemTime::now().checked_sub(LEFTOVER_AGE) else {
            return Ok(());
        };
        for tenant in fs::read_dir(&self.0)? {
            let tenant = tenant?.path();
            for session in entries(&tenant) {
                for file in entries(&session) {
                    // The object store writes to `NAME#1`, then renames.
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    if name.contains('#') && is_older(&file, before) {
                        // Another process may be quicker.
                        let _ = fs::remove_file(&file);
                    }
                }
                remove_if_empty(&session, before);
            }
            remove_if_empty(&tenant, before);
        }
        Ok(())
    }
}

/// The entries of a directory; none if it has gone or is not one.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn is_older(path: &Path, before: SystemTime) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified < before)
}

/// Removes a directory that nobody has written to of late; the system refuses if anything is in it.
fn remove_if_empty(path: &Path, before: SystemTime) {
    if is_older(path, before) {
        let _ = fs::remove_dir(path);
    }
}
