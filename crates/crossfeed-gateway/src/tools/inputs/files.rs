//! Files beneath the configured roots.

use super::{ClientRoots, roots::is_plain};
use crate::{
    apart::blocking,
    budget::{Account, Charge, Purpose},
    config::FilesConfig,
    root_directory::{FileError, RelativePath, RootDirectory},
};
use bytes::Bytes;
use crossfeed_core::InputError;
use data_encoding::HEXLOWER;
use percent_encoding::percent_decode_str;
use sha2::{Digest as _, Sha256};
use std::{
    borrow::Cow,
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// The bytes that are read at once.
const PART_BYTES: usize = 64 << 10;

/// The files of a gateway.
pub(in crate::tools) struct Files {
    roots: Arc<[Root]>,
    most: u64,
    /// By what a question for the client's roots is known where it has no session: that of no gateway with other files.
    state: String,
}

/// A directory beneath which files are read.
struct Root {
    path: PathBuf,
    /// Opened on first use.
    opened: OnceLock<OpenRoot>,
}

/// A root that is open.
struct OpenRoot {
    directory: RootDirectory,
    /// Its path without links when it was opened.
    path: PathBuf,
}

/// What was read of a file.
#[derive(Debug)]
pub(super) struct ReadFile {
    /// Charged as long as anything refers to them.
    pub(super) bytes: Bytes,
    /// Its path beneath its root.
    pub(super) path: String,
}

impl Files {
    pub(in crate::tools) fn new(config: &FilesConfig) -> Self {
        let root = |path: &PathBuf| Root {
            path: std::path::absolute(path).unwrap_or_else(|_| path.clone()),
            opened: OnceLock::new(),
        };
        let mut digest = Sha256::new();
        for root in &config.roots {
            digest.update(root.as_os_str().as_encoded_bytes());
            digest.update([0]);
        }
        let [a, b, c, d, ..] = <[u8; 32]>::from(digest.finalize());
        Self {
            roots: config.roots.iter().map(root).collect(),
            most: config.max_bytes,
            state: format!("crossfeed_roots_{}", HEXLOWER.encode(&[a, b, c, d])),
        }
    }

    pub(in crate::tools) fn state(&self) -> &str {
        &self.state
    }

    /// Reads a file by a path beneath a root, relative or absolute, or by a `file:` URI. A relative path is that of the
    /// first root that has such a file. The client's own roots, if it has any, narrow what may be read.
    pub(super) async fn read(
        &self,
        name: &str,
        within: Option<ClientRoots>,
        account: &Arc<Account>,
    ) -> Result<ReadFile, InputError> {
        let (roots, most) = (Arc::clone(&self.roots), self.most);
        let name = path_of(name)?;
        let charge = account.nothing();
        blocking(move || read(&roots, &name, within.as_ref(), most, charge)).await
    }
}

/// A path, that of a `file:` URI decoded.
fn path_of(name: &str) -> Result<String, InputError> {
    match path_in_uri(name) {
        None => Ok(name.to_owned()),
        Some(Some(path)) => Ok(path),
        Some(None) => Err(refused("it is not the URI of a file of this machine")),
    }
}

/// The path of a `file:` URI, if it is one of this machine; none if it is no such URI.
pub(super) fn path_in_uri(uri: &str) -> Option<Option<String>> {
    let rest = strip_prefix_ignoring_case(uri, "file:")?;
    let path = rest.strip_prefix("//").map_or(Some(rest), |rest| {
        let path = strip_prefix_ignoring_case(rest, "localhost").unwrap_or(rest);
        path.starts_with('/').then_some(path)
    });
    let is_whole = |path: &&str| path.starts_with('/') && !path.contains(['?', '#']);
    let decoded = path
        .filter(is_whole)
        .and_then(|path| percent_decode_str(path).decode_utf8().ok());
    Some(decoded.map(Cow::into_owned))
}

fn strip_prefix_ignoring_case<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn read(
    roots: &[Root],
    name: &str,
    within: Option<&ClientRoots>,
    most: u64,
    mut charge: Charge,
) -> Result<ReadFile, InputError> {
    let mut missing = Err(refused("it is outside of the directories that may be read"));
    for root in roots {
        let Some(beneath) = root.beneath(name) else {
            continue;
        };
        let path = RelativePath::parse(beneath).map_err(|error| refused(&error.to_string()))?;
        let open = match root.open() {
            Ok(open) => open,
            Err(FileError::NotFound) => {
                missing = Err(failed(FileError::NotFound));
                continue;
            }
            Err(error) => return Err(failed(error)),
        };
        let is_within = |within: &ClientRoots| {
            let mut of_root = [&open.path, &root.path].into_iter();
            of_root.any(|root| is_plain(root) && within.hold(&root.join(path.as_str())))
        };
        if !within.is_none_or(is_within) {
            missing = Err(InputError::Refused {
                why: "it is outside of the roots of the client".to_owned(),
                advice: "name a file beneath a root of the client, or ask the user to add its directory to the roots"
                    .to_owned(),
            });
            continue;
        }
        match open.directory.open_file(&path) {
            Err(FileError::NotFound) => missing = Err(failed(FileError::NotFound)),
            Err(error) => return Err(failed(error)),
            Ok(file) => {
                let bytes = bytes_of(file, most, &mut charge)?;
                return Ok(ReadFile {
                    bytes: charge.hold(bytes),
                    path: path.as_str().to_owned(),
                });
            }
        }
    }
    missing
}

impl Root {
    /// The part of a path beneath this root, which may be written out.
    fn beneath<'n>(&self, name: &'n str) -> Option<&'n str> {
        if !name.starts_with('/') {
            return Some(name);
        }
        let within = |root: &Path| {
            let root = root.to_str()?.trim_end_matches('/');
            name.strip_prefix(root)?.strip_prefix('/')
        };
        within(&self.path).or_else(|| within(&self.open().ok()?.path))
    }

    fn open(&self) -> Result<&OpenRoot, FileError> {
        if let Some(root) = self.opened.get() {
            return Ok(root);
        }
        let open = || {
            let path = fs::canonicalize(&self.path)?;
            RootDirectory::open(&path).map(|directory| (directory, path))
        };
        let (directory, path) = open().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FileError::NotFound,
            _ => FileError::Io(error),
        })?;
        Ok(self.opened.get_or_init(|| OpenRoot { directory, path }))
    }
}

/// What a file holds now, however long it says that it is.
fn bytes_of(file: fs::File, most: u64, charge: &mut Charge) -> Result<Vec<u8>, InputError> {
    let too_large = InputError::TooLarge { limit: most };
    if file.metadata().map_err(|error| failed(error.into()))?.len() > most {
        return Err(too_large);
    }
    let mut file = file.take(most.saturating_add(1));
    let mut bytes = Vec::new();
    let mut part = vec![0; PART_BYTES];
    loop {
        let read = match file.read(&mut part) {
            Ok(0) => return Ok(bytes),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(failed(error.into())),
        };
        if bytes.len() as u64 + read as u64 > most {
            return Err(too_large);
        }
        if !charge.more(read, Purpose::Resolved) {
            return Err(InputError::Unavailable {
                why: "there is no memory for it now".to_owned(),
                advice: "try again when other calls have returned, or name a smaller file"
                    .to_owned(),
            });
        }
        bytes.extend_from_slice(part.get(..read).unwrap_or_default());
    }
}

fn refused(why: &str) -> InputError {
    InputError::Refused {
        why: why.to_owned(),
        advice: "name a file by its path beneath a root of `references.files`, such as `today.md`, without the root itself".to_owned(),
    }
}

fn failed(error: FileError) -> InputError {
    match &error {
        FileError::NotFound => InputError::Unavailable {
            why: error.to_string(),
            advice: "check the path: it begins within a root of `references.files`, and upper and lower case differ"
                .to_owned(),
        },
        FileError::Io(source) => {
            tracing::warn!(target: "crossfeed::gateway::tools", error = %source, "cannot read a file");
            InputError::Unavailable {
                why: error.to_string(),
                advice: "name another file, or write the value in place of the reference"
                    .to_owned(),
            }
        }
        _ => refused(&error.to_string()),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
