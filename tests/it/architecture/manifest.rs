//! The Cargo.toml files of the workspace's own packages.
//!
//! Comes in: manifests as text. Goes out: each package's name, the packages of ours that it depends on, and what it should have taken
//! from the workspace. Not here: other people's crates, features, versions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::tree;

/// Fields that every package takes from `[workspace.package]`.
const INHERITED: [&str; 4] = ["version", "edition", "rust-version", "license"];
/// Fields that every published package takes from there, too.
const INHERITED_IF_PUBLISHED: [&str; 2] = ["readme", "repository"];
/// What else a registry shows of a published package.
const SHOWN: [&str; 4] = ["description", "documentation", "keywords", "categories"];
const DEPENDENCY_TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
/// Unpublished members that stand beside `crates/`.
const BESIDE: [&str; 8] = [
    "tests",
    "tests/fixture",
    "tests/fuzz",
    "tests/history",
    "tests/redis-servers",
    "tests/store-history",
    "benches",
    "benches/race-gateway",
];

/// One package of the workspace.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) name: String,
    /// Its folder, relative to the root.
    pub(super) folder: PathBuf,
    /// Packages of ours it depends on, by any kind of dependency.
    pub(super) ours: BTreeSet<String>,
    manifest: Table,
}

impl Package {
    /// True for a package below `crates/`, which the table of the architecture page must list.
    pub(super) fn is_crate(&self) -> bool {
        self.folder.starts_with("crates")
    }

    /// What its manifest does not take from the workspace, as advice.
    pub(super) fn problems(&self) -> Vec<String> {
        let place = self.folder.join("Cargo.toml");
        let from_workspace = |value: Option<&Value>| {
            value
                .and_then(|value| value.get("workspace"))
                .and_then(Value::as_bool)
                == Some(true)
        };
        let package = self.manifest.get("package").and_then(Value::as_table);
        let mut problems = Vec::new();
        if !from_workspace(self.manifest.get("lints")) {
            problems.push(format!(
                "{}: add `[lints]` with `workspace = true`",
                place.display()
            ));
        }
        let published = INHERITED_IF_PUBLISHED.iter().filter(|_| self.is_crate());
        for field in INHERITED.iter().chain(published).copied() {
            if !from_workspace(package.and_then(|package| package.get(field))) {
                problems.push(format!(
                    "{}: write `{field}.workspace = true`",
                    place.display()
                ));
            }
        }
        for field in SHOWN {
            if self.is_crate() && package.and_then(|package| package.get(field)).is_none() {
                problems.push(format!("{}: add `{field}`", place.display()));
            }
        }
        let unpublished = package
            .and_then(|package| package.get("publish"))
            .and_then(Value::as_bool)
            == Some(false);
        if !self.is_crate() && !unpublished {
            problems.push(format!("{}: write `publish = false`", place.display()));
        }
        problems
    }
}

/// Every package of the workspace, sorted by folder; a folder below `crates/` without a manifest is an error.
pub(super) fn read_workspace(root: &Path) -> Result<Vec<Package>, String> {
    let workspace: Table = parse("Cargo.toml", &tree::read(root, "Cargo.toml")?)?;
    let mut folders = Vec::new();
    for entry in fs::read_dir(root.join("crates"))
        .map_err(|error| format!("cannot list crates/: {error}"))?
    {
        let entry = entry.map_err(|error| format!("cannot list crates/: {error}"))?;
        if entry.path().is_dir() {
            folders.push(Path::new("crates").join(entry.file_name()));
        }
    }
    folders.extend(
        BESIDE
            .iter()
            .map(PathBuf::from)
            .filter(|folder| root.join(folder).join("Cargo.toml").exists()),
    );
    folders.sort();
    folders
        .into_iter()
        .map(|folder| {
            read_package(
                &folder,
                &tree::read(root, folder.join("Cargo.toml"))?,
                &workspace,
            )
        })
        .collect()
}

/// One package, given its manifest and the workspace's, which may rename a dependency.
pub(super) fn read_package(
    folder: &Path,
    text: &str,
    workspace: &Table,
) -> Result<Package, String> {
    let place = folder.join("Cargo.toml");
    let manifest = parse(&place.display().to_string(), text)?;
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(Value::as_str);
    let name = name
        .ok_or_else(|| format!("{}: no package name", place.display()))?
        .to_owned();
    let shared = workspace
        .get("workspace")
        .and_then(|table| table.get("dependencies"))
        .and_then(Value::as_table);
    let mut ours = BTreeSet::new();
    for (key, value) in dependencies(&manifest) {
        let inherited = shared
            .and_then(|shared| shared.get(key))
            .filter(|_| value.get("workspace").is_some());
        let renamed = [Some(value), inherited]
            .into_iter()
            .flatten()
            .find_map(|value| value.get("package")?.as_str());
        let target = renamed.unwrap_or(key);
        if is_ours(target) && target != name {
            ours.insert(target.to_owned());
        }
    }
    Ok(Package {
        name,
        folder: folder.to_path_buf(),
        ours,
        manifest,
    })
}

fn parse(place: &str, text: &str) -> Result<Table, String> {
    text.parse().map_err(|error| format!("{place}: {error}"))
}

/// All dependencies of a manifest, those for one target only included.
fn dependencies(manifest: &Table) -> BTreeMap<&String, &Value> {
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let tables = targets.chain([manifest]);
    let of_kind = |table| {
        DEPENDENCY_TABLES
            .iter()
            .filter_map(move |kind| Table::get(table, *kind)?.as_table())
    };
    tables.flat_map(of_kind).flatten().collect()
}

/// True for the name of a package of this workspace.
pub(super) fn is_ours(name: &str) -> bool {
    name == "crossfeed" || name.starts_with("crossfeed-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(folder: &str, text: &str) -> Package {
        let workspace = "[workspace.dependencies]\nwire = { package = \"crossfeed-wire\", path = \"crates/crossfeed-wire\" }\n";
        read_package(Path::new(folder), text, &workspace.parse().unwrap()).unwrap()
    }

    #[test]
    fn dependencies_of_every_kind_are_found() {
        let text = "[package]\nname = \"crossfeed-x\"\n\
            [dependencies]\ncrossfeed-a = \"1\"\nserde = \"1\"\nwire.workspace = true\n\
            [dev-dependencies]\ncrossfeed-b.workspace = true\ncrossfeed-x = { path = \".\" }\n\
            [build-dependencies]\nother = { package = \"crossfeed-c\", version = \"1\" }\n\
            [target.'cfg(unix)'.dependencies]\ncrossfeed-d = \"1\"\n";
        let expected = [
            "crossfeed-a",
            "crossfeed-b",
            "crossfeed-c",
            "crossfeed-d",
            "crossfeed-wire",
        ];
        assert_eq!(
            package("crates/crossfeed-x", text).ours,
            expected.map(str::to_owned).into()
        );
    }

    #[test]
    fn a_manifest_that_follows_the_workspace_has_no_problems() {
        let text = "[package]\nname = \"crossfeed-x\"\nversion.workspace = true\nedition.workspace = true\n\
            rust-version.workspace = true\nlicense.workspace = true\nreadme.workspace = true\nrepository.workspace = true\n\
            description = \"X\"\ndocumentation = \"x\"\nkeywords = []\ncategories = []\n[lints]\nworkspace = true\n";
        assert_eq!(package("crates/crossfeed-x", text).problems(), [""; 0]);
        assert_eq!(
            package("tests", text).problems(),
            ["tests/Cargo.toml: write `publish = false`"]
        );
    }

    #[test]
    fn a_manifest_that_goes_its_own_way_is_told_what_to_write() {
        let text = "[package]\nname = \"crossfeed-x\"\nversion.workspace = true\nedition = \"2021\"\nrust-version.workspace = true\n";
        assert_eq!(
            package("crates/crossfeed-x", text).problems(),
            [
                "crates/crossfeed-x/Cargo.toml: add `[lints]` with `workspace = true`",
                "crates/crossfeed-x/Cargo.toml: write `edition.workspace = true`",
                "crates/crossfeed-x/Cargo.toml: write `license.workspace = true`",
                "crates/crossfeed-x/Cargo.toml: write `readme.workspace = true`",
                "crates/crossfeed-x/Cargo.toml: write `repository.workspace = true`",
                "crates/crossfeed-x/Cargo.toml: add `description`",
                "crates/crossfeed-x/Cargo.toml: add `documentation`",
                "crates/crossfeed-x/Cargo.toml: add `keywords`",
                "crates/crossfeed-x/Cargo.toml: add `categories`",
            ]
        );
    }

    #[test]
    fn a_manifest_without_a_name_is_refused() {
        assert!(read_package(Path::new("crates/x"), "[package]\n", &Table::new()).is_err());
    }
}
