//! Large data: files that are named by their content.
//!
//! Every file that is read is checked. A file is written under another name, flushed and renamed,
//! so that one that has its name is whole.

use crate::{fault, options::SqliteDurability};
use crossfeed_store::{Digest, StoreError};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

/// The end of the name of a file that is being written.
const PARTIAL: &str = ".partial";

/// How many names are tried for a file that is being written.
const TRIES: usize = 1000;

pub(crate) struct Files {
    directory: PathBuf,
    /// The name of the directory within the store's.
    folder: &'static str,
    durability: SqliteDurability,
    /// Numbers files that are written at the same time.
    written: AtomicU64,
}

/// The content of a file.
pub(crate) enum Content {
    Whole(Vec<u8>),
    /// It is damaged.
    Damaged,
    Missing,
}

impl Content {
    /// Reads a file and checks it.
    pub(crate) fn checked(data: Vec<u8>, digest: &Digest, bytes: usize) -> Self {
        if data.len() == bytes && Digest::of(&data) == *digest {
            Self::Whole(data)
        } else {
            Self::Damaged
        }
    }
}

impl Files {
    /// The files in a folder of a store.
    pub(crate) fn new(store: &Path, folder: &'static str, durability: SqliteDurability) -> Self {
        Self {
            directory: store.join(folder),
            folder,
            durability,
            written: AtomicU64::new(0),
        }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.directory.join(digest.to_hex())
    }

    /// Makes sure that the data is there under its name, on the disk where it is to be, and that its file looks new,
    /// so that no sweep takes it for one that was left behind.
    pub(crate) fn put(&self, digest: &Digest, data: &[u8]) -> Result<(), StoreError> {
        let path = self.path(digest);
        let is_there = matches!(self.read(digest, data.len()), Ok(Content::Whole(_)));
        if !(is_there && renew(&path).is_ok()) {
            self.write(&path, digest, data)
                .map_err(|error| fault::writing(self.name_of(digest), error))?;
        }
        if self.durability == SqliteDurability::Process {
            return Ok(());
        }
        // Also for a file that was there: its writer may not have come to this yet.
        flush_directory(&self.directory).map_err(|error| fault::writing(self.folder, error))
    }

    /// Writes data, then gives it its name; once more where a sweep took the partial file for one that was left behind.
    fn write(&self, path: &Path, digest: &Digest, data: &[u8]) -> io::Result<()> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.write_once(path, digest, data) {
                Err(error) if error.kind() == ErrorKind::NotFound && tries < TRIES => {}
                outcome => return outcome,
            }
        }
    }

    fn write_once(&self, path: &Path, digest: &Digest, data: &[u8]) -> io::Result<()> {
        let (partial, mut file) = self.begin(digest)?;
        let written = file
            .write_all(data)
            .and_then(|()| match self.durability {
                SqliteDurability::Process => Ok(()),
                SqliteDurability::Flushed => file.sync_all(),
            })
            .and_then(|()| fs::rename(&partial, path));
        if written.is_err() {
            // A partial file that stays does no harm.
            let _ = fs::remove_file(&partial);
        }
        written
    }

    /// A new file with one writer only, also among other stores of this
    /// process or in a process of the same number.
    fn begin(&self, digest: &Digest) -> io::Result<(PathBuf, File)> {
        let mut tries = 0;
        loop {
            let number = self.written.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}.{}.{number}{PARTIAL}", digest.to_hex(), process::id());
            let partial = self.directory.join(name);
            tries += 1;
            match create(&partial) {
                Ok(file) => return Ok((partial, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && tries < TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether there is a file of this name and length.
    pub(crate) fn has(&self, digest: &Digest, bytes: usize) -> bool {
        fs::metadata(self.path(digest)).is_ok_and(|found| found.len() == bytes as u64)
    }

    pub(crate) fn read(&self, digest: &Digest, bytes: usize) -> Result<Content, StoreError> {
        let unreadable = |error| fault::reading(self.name_of(digest), error);
        let mut file = match File::open(self.path(digest)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Content::Missing),
            Err(error) => return Err(unreadable(error)),
        };
        // Looked at first, so that no more is read than was written.
        let found = file.metadata().map_err(unreadable)?;
        if !found.is_file() || found.len() != bytes as u64 {
            return Ok(Content::Damaged);
        }
        let mut data = Vec::with_capacity(bytes);
        file.read_to_end(&mut data).map_err(unreadable)?;
        Ok(Content::checked(data, digest, bytes))
    }

    /// The name of a file, as seen from the store's directory.
    fn name_of(&self, digest: &Digest) -> String {
        format!("{}/{}", self.folder, digest.to_hex())
    }

    /// Removes a file. The caller holds the lock that keeps new rows out.
    pub(crate) fn remove(&self, digest: &Digest) {
        // The next sweep tries again if the file cannot be removed now.
        let _ = fs::remove_file(self.path(digest));
    }

    /// The files that are older than that. Removes partial files first.
    pub(crate) fn old(&self, age: Duration) -> Vec<Digest> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        let is_old = |entry: &fs::DirEntry| {
            let modified = entry.metadata().and_then(|found| found.modified());
            modified.is_ok_and(|modified| {
                SystemTime::now()
                    .duration_since(modified)
                    .unwrap_or_default()
                    >= age
            })
        };
        let mut old = Vec::new();
        for entry in entries.flatten().filter(is_old) {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if name.ends_with(PARTIAL) {
                let _ = fs::remove_file(entry.path());
            } else if let Ok(digest) = Digest::from_hex(name) {
                old.push(digest);
            }
        }
        old
    }
}

/// Makes a new file that only its owner can read.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// Sets the time of a file to now.
fn renew(path: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_modified(SystemTime::now())
}

/// Writes the names in a directory down to the disk.
pub(crate) fn flush_directory(directory: &Path) -> io::Result<()> {
    // Elsewhere a directory cannot be opened; the file systems there keep names by themselves.
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
