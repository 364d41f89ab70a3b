//! Files that hold secrets: only their owner can read them, and each is written whole or not at all.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    path::Path,
};

/// Makes the directory of a file, which only its owner may use; one that others may write to is refused.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory_of(path))?;
    check_directory(path)
}

fn directory_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// None where the file is missing.
fn if_found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Refuses a file in a directory that others may write to. A missing directory is fine.
pub(crate) fn check_directory(path: &Path) -> io::Result<()> {
    let Some(metadata) = if_found(fs::metadata(directory_of(path)))? else {
        return Ok(());
    };
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::mode(&metadata) & 0o022 != 0 {
        return Err(denied("others may write to its directory: `chmod 700` it"));
    }
    #[cfg(not(unix))]
    let _ = metadata;
    Ok(())
}

#[cfg(unix)]
fn denied(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, reason)
}

/// Opens a file that only its owner can read; none where it is missing.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    let Some(file) = if_found(File::open(path))? else {
        return Ok(None);
    };
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::mode(&file.metadata()?) & 0o077 != 0 {
        return Err(denied("others may read it: `chmod 600` it, or remove it"));
    }
    Ok(Some(file))
}

/// Reads a file as [`open`] opens it, if this process's user owns it; at most `longest` bytes.
pub(crate) fn read_own(path: &Path, longest: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(file) = open(path)? else {
        return Ok(None);
    };
    #[cfg(unix)]
    {
        let owner = std::os::unix::fs::MetadataExt::uid(&file.metadata()?);
        if owner != rustix::process::geteuid().as_raw() {
            return Err(denied("another user owns it: remove it"));
        }
    }
    let mut bytes = Vec::new();
    file.take(longest).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Writes a file, and replaces the one that is there.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, |temporary| fs::rename(temporary, path))
}

/// Writes a file unless there is one already. Returns whether it did.
pub(crate) fn create(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let created = write(path, bytes, |temporary| {
        // A link fails where there is a file, which renaming would replace.
        fs::hard_link(temporary, path)?;
        fs::remove_file(temporary)
    });
    match created {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        created => created.map(|()| true),
    }
}

/// Writes beside the file, puts it in its place, and waits until the disk has both.
fn write(path: &Path, bytes: &[u8], put: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    make_directory(path)?;
    let directory = directory_of(path);
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).map_err(|_| io::Error::other("no randomness"))?;
    let temporary = directory.join(format!(".{:016x}.tmp", u64::from_ne_bytes(nonce)));
    let written = fill(&temporary, bytes).and_then(|()| put(&temporary));
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written?;
    flush(directory)
}

fn fill(temporary: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.write(true).create_new(true).open(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A name in a directory outlives a crash once the directory is on the disk, too.
fn flush(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}

/// A directory of a test's own, removed when dropped.
#[cfg(test)]
pub(crate) struct TestDirectory(pub(crate) std::path::PathBuf);

#[cfg(test)]
impl TestDirectory {
    /// A place where no directory is yet.
    pub(crate) fn new() -> Self {
        let mut nonce = [0; 8];
        getrandom::fill(&mut nonce).unwrap();
        let name = format!("crossfeed-test-{:x}", u64::from_ne_bytes(nonce));
        Self(std::env::temp_dir().join(name))
    }
}

#[cfg(test)]
impl Drop for TestDirectory {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_file_is_created_once_and_replaced() {
        let home = TestDirectory::new();
        let path = home.0.join("a/b/secret");
        assert_eq!(read_own(&path, 9).unwrap(), None);
        assert!(create(&path, b"one").unwrap());
        assert!(!create(&path, b"two").unwrap());
        assert_eq!(read_own(&path, 9).unwrap().unwrap(), b"one");
        replace(&path, b"three").unwrap();
        assert_eq!(read_own(&path, 9).unwrap().unwrap(), b"three");
        assert_eq!(read_own(&path, 2).unwrap().unwrap(), b"th");
        assert_eq!(entries(path.parent().unwrap()), ["secret"]);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let home = TestDirectory::new();
        let path = home.0.join("kept/secret");
        create(&path, b"one").unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        for wrong in [0o640, 0o604, 0o620] {
            fs::set_permissions(&path, fs::Permissions::from_mode(wrong)).unwrap();
            let error = read_own(&path, 9).unwrap_err();
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
        let directory = path.parent().unwrap();
        fs::set_permissions(directory, fs::Permissions::from_mode(0o770)).unwrap();
        let error = create(&path, b"two").unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }
}
