//! The repository's files.
//!
//! Comes in: the root. Goes out: relative paths and texts. Not here: what git knows; folders that are never committed are left out by
//! name.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders that are not part of the repository, wherever they stand.
const SKIPPED: [&str; 3] = [".git", "target", "node_modules"];

/// Where home directories lie, in pieces, so that this file does not name one itself.
const HOMES: [&str; 4] = [
    concat!("/", "home/"),
    concat!("/", "Users/"),
    concat!("/", "root/"),
    concat!(r"\", r"Users\"),
];

/// All files below the root, relative to it, sorted.
pub(super) fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        let said = |error| format!("cannot list {}: {error}", folder.display());
        for entry in fs::read_dir(&folder).map_err(said)? {
            let path = entry.map_err(said)?.path();
            if path.is_symlink()
                || path
                    .file_name()
                    .is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped))
            {
                continue;
            }
            if path.is_dir() {
                open.push(path);
            } else if let Ok(relative) = path.strip_prefix(root) {
                found.push(relative.to_path_buf());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of one file of the repository.
pub(super) fn read(root: &Path, path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    fs::read_to_string(root.join(path))
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

/// Where a relative link on a page leads, or nothing if that is outside the repository.
pub(super) fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    let mut target = page.parent()?.to_path_buf();
    for component in Path::new(link).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => target.push(name),
            Component::ParentDir => {
                if !target.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(target)
}

/// The first absolute path of a home directory in a line, as far as the name of its owner.
pub(super) fn home_directory(line: &str) -> Option<&str> {
    HOMES
        .iter()
        .filter_map(|home| starting_with(line, home))
        .min_by_key(|found| found.as_ptr())
}

fn starting_with<'a>(line: &'a str, home: &str) -> Option<&'a str> {
    let is_name =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '~');
    line.match_indices(home).find_map(|(start, _)| {
        // `C:` may stand before a home on Windows; before the others a name makes it part of a longer path or an address.
        let absolute = !line[..start].ends_with(|character| is_name(character) || character == '}');
        let rest = &line[start + home.len()..];
        let owner = rest
            .find(|character| !is_name(character))
            .unwrap_or(rest.len());
        (absolute && owner > 0).then(|| &line[start..start + home.len() + owner])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_resolved_inside_the_repository() {
        let check = |page: &str, link: &str, expected: Option<&str>| {
            assert_eq!(
                resolve(Path::new(page), link),
                expected.map(PathBuf::from),
                "{page} {link}"
            );
        };
        check("README.md", "specs/a.md", Some("specs/a.md"));
        check("specs/a.md", "../README.md", Some("README.md"));
        check("specs/a.md", "./b.md", Some("specs/b.md"));
        check("README.md", "../other", None);
        check("README.md", "/etc/hosts", None);
    }

    #[test]
    fn home_directories_are_found() {
        let check = |before: &str, home: usize, after: &str, found: bool| {
            let line = format!("{before}{}{after}", HOMES[home]);
            assert_eq!(home_directory(&line).is_some(), found, "{line}");
        };
        check("see ", 0, "alice/x", true);
        check("\"", 1, "alice", true);
        check("(", 2, ".cargo", true);
        check("C:", 3, "alice", true);
        check("file://", 0, "alice", true);
        check("https://example.com", 0, "page", false);
        check("var", 2, "x", false);
        check("${PREFIX}", 0, "x", false);
        check("", 0, " and the like", false);
    }

    #[test]
    fn the_walk_leaves_out_what_is_not_committed() {
        let files = files(&crossfeed_tests::workspace_root()).unwrap();
        assert!(files.contains(&PathBuf::from("Cargo.toml")));
        assert!(
            !files
                .iter()
                .any(|path| path.starts_with("target") || path.starts_with(".git"))
        );
    }
}
