//! Finds the path of this command for the files of clients. It stays valid when a package manager replaces this version.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
};

/// The name of the command.
const NAME: &str = "crossfeed";

/// Where this command is.
pub(super) struct Program {
    /// The path by which it was called; links are not resolved.
    pub(super) path: PathBuf,
    /// Whether `PATH` finds it as `crossfeed`.
    pub(super) is_on_path: bool,
}

impl Program {
    /// The program of this process.
    pub(super) fn find(environment: &BTreeMap<String, String>) -> io::Result<Self> {
        let this = std::env::current_exe()?;
        let called = std::env::args_os().next().unwrap_or_default();
        let path = environment.get("PATH").map(OsString::from);
        Ok(Self::of(
            &this,
            &called,
            path.as_deref().unwrap_or_default(),
        ))
    }

    fn of(this: &Path, called: &OsStr, path: &OsStr) -> Self {
        let resolved = this.canonicalize().ok();
        let is_this = |found: &PathBuf| found.canonicalize().ok() == resolved && resolved.is_some();
        let within = Path::new(called);
        let found = match within.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => std::path::absolute(within).ok(),
            _ => first(path, called),
        };
        Self {
            path: found.filter(is_this).unwrap_or_else(|| this.to_owned()),
            is_on_path: first(path, OsStr::new(NAME)).is_some_and(|found| is_this(&found)),
        }
    }
}

/// The first file of this name in the directories of `PATH`.
fn first(path: &OsStr, name: &OsStr) -> Option<PathBuf> {
    let mut name = name.to_owned();
    let suffix = std::env::consts::EXE_SUFFIX;
    if !name.to_string_lossy().ends_with(suffix) {
        name.push(suffix);
    }
    let places = std::env::split_paths(path).filter(|place| place.is_absolute());
    places
        .map(|place| place.join(&name))
        .find(|file| file.is_file())
}

#[cfg(all(test, unix))]
mod tests {
    use super::Program;
    use std::{ffi::OsStr, fs, os::unix::fs::symlink};

    #[test]
    fn a_link_that_was_called_stays_one() {
        let folder = std::env::temp_dir().join(format!("crossfeed-program-{}", std::process::id()));
        let (versions, bin) = (folder.join("1.0"), folder.join("bin"));
        fs::create_dir_all(&versions).expect("it can be made");
        fs::create_dir_all(&bin).expect("it can be made");
        let (this, link) = (versions.join("crossfeed"), bin.join("crossfeed"));
        let other = versions.join("other");
        fs::write(&this, "").expect("it can be written");
        fs::write(&other, "").expect("it can be written");
        symlink(&this, &link).expect("it can be linked");
        let of = |called: &OsStr, path: &OsStr| {
            let program = Program::of(&this, called, path);
            (program.path, program.is_on_path)
        };
        let done = [
            of(link.as_os_str(), OsStr::new("")),
            of(OsStr::new("crossfeed"), bin.as_os_str()),
            // What was called says something else than what runs.
            of(other.as_os_str(), bin.as_os_str()),
            of(OsStr::new("crossfeed"), OsStr::new("/there/is/none")),
        ];
        fs::remove_dir_all(&folder).expect("it can be removed");
        let expected = [
            (link.clone(), false),
            (link, true),
            (this.clone(), true),
            (this, false),
        ];
        assert_eq!(done, expected);
    }
}
