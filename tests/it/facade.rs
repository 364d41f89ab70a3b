//! The public face of the crate `crossfeed`: few names at the root, one path for each item, and examples.
//!
//! Reads the sources of the facade as text.

use crossfeed_tests::workspace_root;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const FACADE: &str = "crates/crossfeed/src";
/// Modules included.
const MAX_ROOT_NAMES: usize = 30;

/// An item that a module of the facade exports.
struct Export {
    /// `lib` for the root.
    module: String,
    /// The crate that defines it.
    from: String,
    name: String,
}

/// A source without comments.
fn code(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The paths of a `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn paths(tree: &str, base: &str, found: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((prefix, inside)) = tree.split_once('{') else {
        return found.extend((!tree.is_empty()).then(|| format!("{base}{tree}")));
    };
    let inside = inside.strip_suffix('}').unwrap_or(inside);
    let (mut depth, mut from) = (0, 0);
    for (at, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                paths(&inside[from..at], &format!("{base}{prefix}"), found);
                from = at + 1;
            }
            _ => {}
        }
    }
    paths(&inside[from..], &format!("{base}{prefix}"), found);
}

/// What a module of the facade exports by `pub use`.
fn exports(module: &str, text: &str) -> Vec<Export> {
    let mut found = Vec::new();
    for tree in code(text).split("pub use ").skip(1) {
        let mut exported = Vec::new();
        paths(tree.split(';').next().unwrap(), "", &mut exported);
        found.extend(exported.iter().map(|path| Export {
            module: module.to_owned(),
            from: path.split("::").next().unwrap().to_owned(),
            name: path.rsplit("::").next().unwrap().to_owned(),
        }));
    }
    found
}

/// The modules of the facade by name, with their sources.
fn modules() -> BTreeMap<String, String> {
    let files = fs::read_dir(workspace_root().join(FACADE)).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let read = |path: &Path| {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    };
    files.map(|path| read(&path)).collect()
}

fn all_exports() -> Vec<Export> {
    let modules = modules();
    let exports = modules.iter().map(|(name, text)| exports(name, text));
    exports.flatten().collect()
}

#[test]
fn the_root_is_small() {
    let root = &modules()["lib"];
    let code = code(root);
    let modules = code.lines().filter(|line| line.starts_with("pub mod "));
    let names = modules.count() + exports("lib", root).len();
    assert!(names <= MAX_ROOT_NAMES, "the root exports {names} names");
}

#[test]
fn each_item_has_one_path() {
    let (mut items, mut places) = (BTreeSet::new(), BTreeSet::new());
    for Export { module, from, name } in all_exports() {
        assert!(
            name != "*" && name != "self" && !name.contains(" as "),
            "{module} exports `{from}::{name}`: name each item as it is called"
        );
        assert!(
            places.insert((module.clone(), name.clone())),
            "{module} has two items `{name}`"
        );
        assert!(
            items.insert((from.clone(), name.clone())),
            "`{from}::{name}` has a second path in {module}"
        );
    }
    assert!(items.len() > 100, "{} items", items.len());
}

#[test]
fn each_module_begins_with_an_example() {
    for (name, text) in modules() {
        let header = text.lines().take_while(|line| line.starts_with("//!"));
        let header: Vec<_> = header.collect();
        assert!(
            header.iter().any(|line| line.trim_end() == "//! ```"),
            "the header of {name} has no example"
        );
    }
}

#[test]
fn exports_are_read() {
    let text = "//! pub use a::B;\npub use a::{B, c::{D, e}};\n#[cfg(x)]\npub use f::G;";
    let found = exports("m", text);
    let found: Vec<_> = found.iter().map(|it| (&*it.from, &*it.name)).collect();
    assert_eq!(found, [("a", "B"), ("a", "D"), ("a", "e"), ("f", "G")]);
}
