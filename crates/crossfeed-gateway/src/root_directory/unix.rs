//! Files beneath a directory, where directories can be opened and walked by name.

use super::{Existing, FileDigest, FileError, RelativePath};
use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, linkat, mkdirat, openat, renameat, statat},
    fs::{fsync, unlinkat},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, Write as _},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

/// How a directory is opened; the root may be a link, what is beneath it may not.
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A directory beneath which files are read and written.
#[derive(Debug)]
pub struct RootDirectory(OwnedFd);

impl From<Errno> for FileError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::NotFound,
            error => Self::Io(error.into()),
        }
    }
}

impl RootDirectory {
    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// It is not there, or the system refuses.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens a regular file to read it.
    ///
    /// # Errors
    ///
    /// [`FileError::NotFound`], [`FileError::NotDirectory`], [`FileError::NotRegular`],
    /// [`FileError::OtherSpelling`], or the system refuses.
    pub fn open_file(&self, path: &RelativePath) -> Result<File, FileError> {
        let (directories, name) = path.split();
        let mut parent = self.0.try_clone()?;
        for directory in directories {
            let next = open_directory(&parent, directory)?;
            check_spelling(&parent, directory)?;
            parent = next;
        }
        let file = open_regular(&parent, name)?;
        check_spelling(&parent, name)?;
        Ok(file)
    }

    /// Writes a file, and the directories on its path that are missing. It is on the disk when this returns. Where it
    /// cannot be written, these directories are removed again, unless something else is in them by then.
    ///
    /// # Errors
    ///
    /// [`FileError::Exists`], [`FileError::NotDirectory`], [`FileError::NotRegular`], [`FileError::OtherSpelling`], or
    /// the system refuses. What was there before is there still.
    pub fn write(
        &self,
        path: &RelativePath,
        content: &[u8],
        existing: Existing,
    ) -> Result<FileDigest, FileError> {
        let (directories, name) = path.split();
        let mut parent = self.0.try_clone()?;
        let mut made = CreatedDirectories(Vec::new());
        for directory in directories {
            parent = open_or_make(parent, directory, &mut made)?;
        }
        let replaces = may_replace(&parent, name, existing)?;
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).map_err(|_| io::Error::other("no randomness"))?;
        let temporary = format!(".crossfeed-{:016x}.tmp", u64::from_ne_bytes(nonce));
        let put = fill(&parent, &temporary, content).and_then(|()| {
            if replaces {
                return Ok(renameat(&parent, &temporary, &parent, name)?);
            }
            // A link fails where there is something, which renaming would replace.
            match linkat(&parent, &temporary, &parent, name, AtFlags::empty()) {
                Err(Errno::EXIST) => Err(FileError::Exists),
                linked => Ok(linked?),
            }
        });
        if !replaces || put.is_err() {
            let _ = unlinkat(&parent, &temporary, AtFlags::empty());
        }
        put?;
        made.0.clear();
        fsync(&parent)?;
        Ok(FileDigest::new(content))
    }
}

/// What a name in a directory stands for; a link for itself.
fn kind(parent: impl AsFd, name: &str) -> Result<FileType, Errno> {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode))
}

fn open_directory(parent: &OwnedFd, name: &str) -> Result<OwnedFd, FileError> {
    match openat(parent, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
        // For a link one system says the first, another the second.
        Err(Errno::NOTDIR | Errno::LOOP) => Err(FileError::NotDirectory {
            name: name.to_owned(),
        }),
        opened => Ok(opened?),
    }
}

/// Directories that were created, each by its parent and its name: removed again when this is dropped, the last one first.
struct CreatedDirectories<'p>(Vec<(OwnedFd, &'p str)>);

impl Drop for CreatedDirectories<'_> {
    fn drop(&mut self) {
        for (parent, name) in self.0.iter().rev() {
            // One that is not empty stays.
            let _ = unlinkat(parent, *name, AtFlags::REMOVEDIR);
        }
    }
}

fn open_or_make<'p>(
    parent: OwnedFd,
    name: &'p str,
    made: &mut CreatedDirectories<'p>,
) -> Result<OwnedFd, FileError> {
    match open_directory(&parent, name) {
        Err(FileError::NotFound) => {}
        opened => {
            let opened = opened?;
            check_spelling(&parent, name)?;
            return Ok(opened);
        }
    }
    match mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
        // Another made it meanwhile.
        Err(Errno::EXIST) => open_directory(&parent, name),
        now => {
            now?;
            let opened = open_directory(&parent, name);
            let flushed = fsync(&parent);
            made.0.push((parent, name));
            flushed?;
            opened
        }
    }
}

/// Opens a regular file and nothing else, and waits for nobody.
fn open_regular(parent: &OwnedFd, name: &str) -> Result<File, FileError> {
    // Opening a device may do something already.
    if kind(parent, name)? != FileType::RegularFile {
        return Err(FileError::NotRegular);
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match openat(parent, name, flags | OFlags::CLOEXEC, Mode::empty()) {
        Err(Errno::LOOP | Errno::NXIO) => return Err(FileError::NotRegular),
        opened => opened?,
    };
    // It may have been exchanged since.
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(FileError::NotRegular);
    }
    Ok(file.into())
}

/// Whether what is there is to be replaced; false where nothing is there.
fn may_replace(parent: &OwnedFd, name: &str, existing: Existing) -> Result<bool, FileError> {
    match kind(parent, name) {
        Err(Errno::NOENT) => return Ok(false),
        Ok(FileType::RegularFile) => {}
        Ok(_) => return Err(FileError::NotRegular),
        Err(error) => return Err(error.into()),
    }
    check_spelling(parent, name)?;
    match existing {
        Existing::Keep => Err(FileError::Exists),
        Existing::ReplaceIf(digest) if !digest.matches(open_regular(parent, name)?)? => {
            Err(FileError::Exists)
        }
        Existing::ReplaceIf(_) | Existing::Replace => Ok(true),
    }
}

/// Refuses a name that is found in a directory, and is not in its list: the file system ignores case, or how
/// letters are composed.
pub(super) fn check_spelling(parent: impl AsFd, name: &str) -> Result<(), FileError> {
    for entry in Dir::read_from(parent)? {
        if entry?.file_name().to_bytes() == name.as_bytes() {
            return Ok(());
        }
    }
    Err(FileError::OtherSpelling {
        name: name.to_owned(),
    })
}

fn fill(parent: &OwnedFd, name: &str, content: &[u8]) -> Result<(), FileError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let mode = Mode::from_raw_mode(0o666);
    let mut file = File::from(openat(parent, name, flags | OFlags::CLOEXEC, mode)?);
    file.write_all(content)?;
    Ok(file.sync_all()?)
}
