//! The public face of the crate `crossfeed`: few names at the root, one path for each item, and examples.
//!
//! Reads the sources as text. An example counts if it stands in the documentation of an item, of its
//! methods, or of the module of the facade that exports it. Links are not followed.

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

/// The Rust sources below a folder.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
}

/// Whether a line begins the definition of what has this name.
fn defines(line: &str, kind: &str, name: &str) -> bool {
    let rest = line
        .strip_prefix(kind)
        .and_then(|rest| rest.strip_prefix(name));
    rest.is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

/// The item that begins at a line, as rustfmt sets it: up to a line that begins with a brace, or to a semicolon.
fn item<'t>(lines: &'t [&'t str]) -> impl Iterator<Item = &'t &'t str> {
    let ends = |line: &&str| !line.starts_with(' ') && line.ends_with(['}', ';']);
    let end = lines.iter().position(ends).unwrap_or(lines.len());
    lines.iter().take(end + 1)
}

/// Whether the documentation of an item or of its methods has an example; `None` for what is not defined by one of `kinds`.
fn has_example(kinds: &[&str], name: &str, sources: &[String]) -> Option<bool> {
    let mut has = None;
    for text in sources {
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            if kinds.iter().any(|kind| defines(line, kind, name)) {
                let above = lines[..at].iter().rev();
                let documents = |line: &&&str| {
                    line.starts_with("///") || line.starts_with('#') || line.starts_with(' ')
                };
                let own = above.take_while(documents).chain(item(&lines[at..]));
                let own = own.copied().any(|line| line.contains("/// ```"));
                has = Some(has.unwrap_or(false) || own);
            }
            let is_methods = ["impl ", "impl<'a> ", "impl<T> "].iter();
            if is_methods.clone().any(|start| defines(line, start, name)) {
                let own = item(&lines[at..]).any(|line| line.contains("/// ```"));
                has = has.map(|has| has || own).or(own.then_some(true));
            }
        }
    }
    has
}

/// What a program calls, implements or sets has an example of its own; types that answer or fail are shown where they come from.
#[test]
fn each_function_trait_and_options_type_has_an_example_of_its_own() {
    let mut of_crates = BTreeMap::new();
    let mut missing = Vec::new();
    for Export { module, from, name } in all_exports() {
        let sources = of_crates.entry(from.clone()).or_insert_with(|| {
            let folder = format!("crates/{}/src", from.replace('_', "-"));
            let mut found = Vec::new();
            sources(&workspace_root().join(folder), &mut found);
            found
        });
        let mut kinds = vec!["pub fn ", "pub trait "];
        kinds.extend(name.ends_with("Options").then_some("pub struct "));
        if has_example(&kinds, &name, sources) == Some(false) {
            missing.push(format!("{from}::{name}, exported by {module}"));
        }
    }
    assert!(
        missing.is_empty(),
        "no example:\n- {}",
        missing.join("\n- ")
    );
}

#[test]
fn exports_are_read() {
    let text = "//! pub use a::B;\npub use a::{B, c::{D, e}};\n#[cfg(x)]\npub use f::G;";
    let found = exports("m", text);
    let found: Vec<_> = found.iter().map(|it| (&*it.from, &*it.name)).collect();
    assert_eq!(found, [("a", "B"), ("a", "D"), ("a", "e"), ("f", "G")]);
}

#[test]
fn examples_are_found() {
    let check = |text: &str, expected| {
        let kinds = ["pub fn ", "pub struct "];
        assert_eq!(
            has_example(&kinds, "a", &[text.to_owned()]),
            expected,
            "{text}"
        );
    };
    check("/// ```\n/// ```\npub fn a() {}", Some(true));
    check(
        "/// Text.\npub fn a() {}\n/// ```\npub fn ab() {}",
        Some(false),
    );
    check(
        "/// ```\n\n/// Text.\n#[must_use]\npub struct a;",
        Some(false),
    );
    check(
        "pub struct a;\nimpl a {\n    /// ```\n    pub fn b() {}\n}",
        Some(true),
    );
    check("pub enum a {}", None);
}
