//! The modules of a crate, and what each imports from the others.
//!
//! Reads the product code as the compiler finds it: from the root file along `mod` declarations, without what only tests compile.
//! An import is any path that begins with `crate` or `super`, in a `use` or in code. Macros used without a path are not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree, token_stream::IntoIter};

use super::tree;

/// Keywords that begin an item, visibility aside.
const ITEMS: [&str; 14] = [
    "async", "const", "enum", "extern", "fn", "impl", "mod", "static", "struct", "trait", "type",
    "union", "unsafe", "use",
];

/// A crate as far as its modules matter: those right below the root, all that lies below them included.
#[derive(Debug, Default)]
pub(super) struct Crate {
    /// Lines of product code, comments and blank lines included.
    pub(super) lines: usize,
    pub(super) modules: BTreeSet<String>,
    /// Importing module and imported module, with the first place where that is written.
    pub(super) arrows: BTreeMap<(String, String), String>,
    /// Imports that cannot be attributed to a module.
    pub(super) problems: Vec<String>,
}

/// What one file says.
#[derive(Debug, Default)]
struct Contents {
    /// Paths from the crate's root, each with the module that names it.
    paths: Vec<(Vec<String>, Vec<String>)>,
    /// Modules in files of their own.
    files: Vec<Vec<String>>,
    /// All modules, those written inside the file included.
    modules: Vec<Vec<String>>,
    /// The names that `use` declarations bring into the file's own module, and where they lead.
    names: BTreeMap<String, Vec<String>>,
}

/// The crate in a folder of the repository.
pub(super) fn read(root: &Path, folder: &Path) -> Result<Crate, String> {
    let source = folder.join("src");
    let main = ["lib.rs", "main.rs"]
        .map(|name| source.join(name))
        .into_iter()
        .find(|path| root.join(path).exists())
        .ok_or_else(|| format!("{}: neither lib.rs nor main.rs", source.display()))?;
    let mut open = vec![(main, Vec::new())];
    let mut found = Crate::default();
    let mut names = BTreeMap::new();
    let mut paths = Vec::new();
    while let Some((file, module)) = open.pop() {
        let text = tree::read(root, &file)?;
        let contents =
            contents(&text, &module).map_err(|error| format!("{}: {error}", file.display()))?;
        found.lines += product_lines(&text);
        for module in contents.files {
            open.push((file_of(root, &source, &module)?, module));
        }
        let top = contents.modules.iter().filter(|module| module.len() == 1);
        found.modules.extend(top.map(|module| module[0].clone()));
        if module.is_empty() {
            names = contents.names;
        }
        paths.extend(contents.paths.into_iter().map(|path| (file.clone(), path)));
    }
    for (file, (from, path)) in paths {
        let Some(from) = from.first() else { continue };
        let written = format!("{}: `crate::{}`", file.display(), path.join("::"));
        match target(&path, &found.modules, &names) {
            Ok(Some(to)) if to != *from => {
                found.arrows.entry((from.clone(), to)).or_insert(written);
            }
            Ok(_) => {}
            Err(problem) => found.problems.push(format!("{written}: {problem}")),
        }
    }
    Ok(found)
}

/// The module that a path from the root leads to; nothing for a path out of the crate.
fn target(
    path: &[String],
    modules: &BTreeSet<String>,
    names: &BTreeMap<String, Vec<String>>,
) -> Result<Option<String>, String> {
    let name = path.first().map_or("*", String::as_str);
    if modules.contains(name) {
        return Ok(Some(name.to_owned()));
    }
    match names.get(name).map(|path| &path[0]) {
        Some(first) if modules.contains(first) => Ok(Some(first.clone())),
        Some(_) => Ok(None),
        None => {
            Err("no module is known to hold it: import it from the module that does".to_owned())
        }
    }
}

/// The file of a module that is declared as `mod name;`.
fn file_of(root: &Path, source: &Path, module: &[String]) -> Result<PathBuf, String> {
    let folder = source.join(module.iter().collect::<PathBuf>());
    [folder.with_extension("rs"), folder.join("mod.rs")]
        .into_iter()
        .find(|path| root.join(path).exists())
        .ok_or_else(|| format!("module `{}` has no file", module.join("::")))
}

/// The lines before the module of tests that a file may end with.
fn product_lines(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    tests.unwrap_or(lines.len())
}

fn contents(text: &str, module: &[String]) -> Result<Contents, String> {
    let tokens: TokenStream = text.parse().map_err(|error| format!("{error}"))?;
    let mut contents = Contents::default();
    read_tokens(tokens, module, module, &mut contents);
    Ok(contents)
}

type Tokens = Peekable<IntoIter>;

/// Reads the code of a module, which may stand inside the file of another.
fn read_tokens(tokens: TokenStream, module: &[String], file: &[String], contents: &mut Contents) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let inner = is_punct(tokens.peek(), '!') && tokens.next().is_some();
                if let Some(TokenTree::Group(attribute)) = tokens.peek()
                    && is_for_tests(attribute.stream())
                {
                    tokens.next();
                    if inner {
                        return;
                    }
                    skip_item(&mut tokens);
                }
            }
            TokenTree::Ident(word) => match word.to_string().as_str() {
                "mod" => {
                    let Some(TokenTree::Ident(name)) = tokens.next() else {
                        continue;
                    };
                    let child = [module, &[name.to_string()]].concat();
                    match tokens.next() {
                        Some(TokenTree::Group(body)) => {
                            read_tokens(body.stream(), &child, file, contents);
                        }
                        _ => contents.files.push(child.clone()),
                    }
                    contents.modules.push(child);
                }
                "crate" if take_colons(&mut tokens) => {
                    read_path(&mut tokens, Vec::new(), &mut |path, _| {
                        contents.paths.push((module.to_vec(), path));
                    });
                }
                "super" if take_colons(&mut tokens) => {
                    let mut base = module.split_last().map_or(&[][..], |(_, parent)| parent);
                    while is_word(tokens.peek(), "super") {
                        tokens.next();
                        take_colons(&mut tokens);
                        base = base.split_last().map_or(&[][..], |(_, parent)| parent);
                    }
                    read_path(&mut tokens, base.to_vec(), &mut |path, _| {
                        contents.paths.push((module.to_vec(), path));
                    });
                }
                "use" if module == file => {
                    let mut path = tokens.clone();
                    read_path(&mut path, Vec::new(), &mut |path, name| {
                        contents.names.insert(name, path);
                    });
                }
                _ => {}
            },
            TokenTree::Group(group) => read_tokens(group.stream(), module, file, contents),
            _ => {}
        }
    }
}

/// Reads what follows the base of a path: a name, more after `::`, or several between braces. Hands on each whole path with the
/// name that it has here.
fn read_path(tokens: &mut Tokens, base: Vec<String>, found: &mut impl FnMut(Vec<String>, String)) {
    match tokens.peek().cloned() {
        Some(TokenTree::Ident(name)) => {
            tokens.next();
            let name = name.to_string();
            // `self` names the path itself, and `crate` and `self` begin one at the root.
            let mut path = base;
            if name != "self" && name != "crate" {
                path.push(name);
            }
            let more = tokens.clone();
            if take_colons(tokens) {
                match tokens.peek() {
                    // Not a path but the arguments of a generic one.
                    Some(TokenTree::Punct(punct)) if punct.as_char() == '<' => *tokens = more,
                    _ => return read_path(tokens, path, found),
                }
            }
            let mut name = path.last().cloned().unwrap_or_default();
            if is_word(tokens.peek(), "as")
                && let Some(TokenTree::Ident(alias)) = tokens.clone().nth(1)
            {
                name = alias.to_string();
            }
            found(path, name);
        }
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            tokens.next();
            let mut inside = group.stream().into_iter().peekable();
            while inside.peek().is_some() {
                read_path(&mut inside, base.clone(), found);
                for token in inside.by_ref() {
                    if is_punct(Some(&token), ',') {
                        break;
                    }
                }
            }
        }
        Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => {
            let name = format!("{}::*", base.join("::"));
            found(base, name);
        }
        _ => {}
    }
}

/// True if an attribute's content compiles what follows for tests only.
fn is_for_tests(attribute: TokenStream) -> bool {
    let mut tokens = attribute.into_iter();
    let cfg = tokens.next();
    match tokens.next() {
        Some(TokenTree::Group(condition)) if is_word(cfg.as_ref(), "cfg") => {
            needs_test(condition.stream())
        }
        _ => false,
    }
}

/// True for `test` and for `all(…)` with it.
fn needs_test(condition: TokenStream) -> bool {
    let mut tokens = condition.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if is_word(Some(&token), "test") {
            return true;
        }
        if let Some(TokenTree::Group(group)) = tokens.peek() {
            if is_word(Some(&token), "all") && needs_test(group.stream()) {
                return true;
            }
            tokens.next();
        }
    }
    false
}

/// Skips what an attribute stands before: an item, or a field, arm or statement.
fn skip_item(tokens: &mut Tokens) {
    let mut keyword = String::new();
    for token in tokens.by_ref() {
        match &token {
            TokenTree::Ident(word) if keyword.is_empty() => {
                keyword = Some(word.to_string())
                    .filter(|word| ITEMS.contains(&word.as_str()))
                    .unwrap_or_default();
            }
            TokenTree::Group(group)
                if group.delimiter() == Delimiter::Brace && keyword != "use" =>
            {
                return;
            }
            TokenTree::Punct(punct) => match punct.as_char() {
                ';' => return,
                ',' if keyword.is_empty() => return,
                _ => {}
            },
            _ => {}
        }
    }
}

/// Takes `::` if it comes next.
fn take_colons(tokens: &mut Tokens) -> bool {
    let mut ahead = tokens.clone();
    let colons = (0..2).all(|_| is_punct(ahead.next().as_ref(), ':'));
    if colons {
        *tokens = ahead;
    }
    colons
}

fn is_punct(token: Option<&TokenTree>, character: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == character)
}

fn is_word(token: Option<&TokenTree>, word: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(ident)) if ident == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, module: &str) -> Contents {
        let module: Vec<String> = module.split("::").map(str::to_owned).collect();
        contents(text, &module).unwrap()
    }

    /// The paths that a text names as the module `a::b`.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let contents = read(text, "a::b");
        let paths: Vec<String> = contents
            .paths
            .iter()
            .map(|(_, path)| path.join("::"))
            .collect();
        assert_eq!(paths, expected, "{text}");
    }

    #[test]
    fn imports_are_read_in_every_form() {
        check("use crate::x::Y;", &["x::Y"]);
        check("pub(crate) use crate::x;", &["x"]);
        check("pub(in crate::a) fn f() {}", &["a"]);
        check(
            "use crate::{\n    v::{self, W as X, y::*}, // comment, with crate::q\n    Z,\n};",
            &["v", "v::W", "v::y", "Z"],
        );
        check("use {crate::x, std::fmt};", &["x"]);
        check("use crate::*;", &[""]);
        check("use std::crate_name; use self::x;", &[]);
    }

    #[test]
    fn paths_in_code_are_read() {
        check(
            "fn f(a: &crate::x::A) -> Vec<crate::y::B> { crate::z::g::<u8>(a) }",
            &["x::A", "y::B", "z::g"],
        );
        check(
            "fn f() { println!(\"crate::no {}\", crate::x::Y) }",
            &["x::Y"],
        );
        check("macro_rules! m { () => { $crate::x::Y } }", &["x::Y"]);
        check(
            "// crate::x\n/* crate::x */ /// [`crate::x`]\nconst S: &str = \"crate::x\";",
            &[],
        );
        check(
            "fn f<'crate_>(c: char) -> bool { c == '\\'' && crate::x::Y }",
            &["x::Y"],
        );
    }

    #[test]
    fn parents_are_counted_from_the_module() {
        check("use super::c;", &["a::c"]);
        check("use super::super::x::Y;", &["x::Y"]);
        check("use super::{c, d::E};", &["a::c", "a::d::E"]);
        check(
            "mod inner { use super::c; use super::super::super::x; }",
            &["a::b::c", "x"],
        );
    }

    #[test]
    fn code_of_tests_is_skipped() {
        check(
            "#[cfg(test)]\nmod tests { use crate::x; }\nuse crate::y;",
            &["y"],
        );
        check(
            "#[cfg(all(test, unix))] #[allow(a)] use crate::x::{self, z}; use crate::y;",
            &["y"],
        );
        check(
            "#[cfg(test)] pub(crate) fn f<A, B>() { crate::x::f() } use crate::y;",
            &["y"],
        );
        check(
            "struct S { #[cfg(test)] a: crate::x::A, b: crate::y::B }",
            &["y::B"],
        );
        check("#![cfg(test)]\nuse crate::x;", &[]);
        for product in [
            "not(test)",
            "any(test, feature = \"x\")",
            "feature = \"test\"",
        ] {
            check(&format!("#[cfg({product})] use crate::x;"), &["x"]);
        }
        let contents = read("#[cfg(test)] mod tests; mod c; mod d { mod e; }", "a");
        let files: Vec<String> = contents.files.iter().map(|path| path.join("::")).collect();
        assert_eq!(files, ["a::c", "a::d::e"]);
    }

    #[test]
    fn names_at_the_root_lead_to_their_modules() {
        let text = "mod x; mod y; pub use x::{A, b::B as C}; pub use y::*; pub use other::D; pub(crate) use crate::y::E;";
        let root = contents(text, &[]).unwrap();
        let modules = BTreeSet::from(["x".to_owned(), "y".to_owned()]);
        let check = |name: &str, expected: Result<Option<&str>, ()>| {
            let found = target(&[name.to_owned()], &modules, &root.names);
            let found = found.as_ref().map(Option::as_deref).map_err(|_| ());
            assert_eq!(found, expected, "{name}");
        };
        check("x", Ok(Some("x")));
        check("A", Ok(Some("x")));
        check("C", Ok(Some("x")));
        check("E", Ok(Some("y")));
        check("D", Ok(None));
        check("B", Err(()));
        check("F", Err(()));
        assert!(target(&[], &modules, &root.names).is_err());
    }

    #[test]
    fn lines_of_tests_are_not_counted() {
        let check = |text: &str, lines| assert_eq!(product_lines(text), lines, "{text}");
        check("a\n\n// b\n", 3);
        check("a\n#[cfg(test)]\nmod tests {\n}\n", 1);
        check("a\n#[cfg(test)]\nmod tests;\n", 3);
    }
}
