//! The README and the guide: size, order, picture, and what a reader's program depends on. Their commands are run by
//! `crates/crossfeed-cli/tests/cli/pages.rs`, their links are followed by `architecture`.

use crossfeed_tests::workspace_root;
use std::{
    fs,
    process::{Command, Stdio},
};

fn page(path: &str) -> String {
    fs::read_to_string(workspace_root().join(path)).unwrap()
}

/// The chapters in the order of the contents: title and file.
fn chapters() -> Vec<(String, String)> {
    let contents = page("docs/README.md");
    let lines = contents
        .lines()
        .filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    lines
        .enumerate()
        .map(|(index, line)| {
            let start = format!("{}. [", index + 1);
            let rest = line.strip_prefix(&start).unwrap();
            let (title, rest) = rest.split_once("](").unwrap();
            let (file, line) = rest.split_once("): ").unwrap();
            assert!(line.ends_with('.'), "{title} has one sentence");
            (title.to_owned(), file.to_owned())
        })
        .collect()
}

#[test]
fn the_readme_is_short() {
    let readme = page("README.md");
    assert!(readme.len() <= 8 * 1024, "{} bytes", readme.len());
    assert!(readme.contains("\n## Install\n"));
}

#[test]
fn the_chapters_are_a_book() {
    let chapters = chapters();
    for (index, (title, file)) in chapters.iter().enumerate() {
        let text = page(&format!("docs/{file}"));
        assert!(text.starts_with(&format!("# {title}\n")), "{file}");
        let link = |word: &str, at: usize| {
            let (title, file) = chapters.get(at)?;
            Some(format!("{word}: [{title}]({file})"))
        };
        let links = [
            link("Previous", index.wrapping_sub(1)),
            Some("[Contents](README.md)".to_owned()),
            link("Next", index + 1),
        ];
        let links: Vec<String> = links.into_iter().flatten().collect();
        let footer = format!("\n---\n\n{}\n", links.join(" · "));
        assert!(text.ends_with(&footer), "{file} must end with {footer}");
    }
    let pages = fs::read_dir(workspace_root().join("docs")).unwrap();
    let names = pages.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages = names.filter(|name| name.ends_with(".md")).count();
    assert_eq!(chapters.len() + 1, pages, "the contents lists every page");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the script is run as a reader would, by a shell"
)]
fn the_picture_is_what_its_script_draws() {
    let output = Command::new("sh")
        .arg(workspace_root().join("docs/picture"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let drawn = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{:?}", output.stderr);
    assert_eq!(page("docs/picture.svg"), drawn, "run docs/picture");
    assert!(page("README.md").contains("](docs/picture.svg)"));
}

#[test]
fn what_the_readmes_program_depends_on_is_there() {
    let readme = page("README.md");
    let (_, block) = readme.split_once("```toml\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let manifest: toml::Table = block.parse().unwrap();
    let workspace: toml::Table = page("Cargo.toml").parse().unwrap();
    let ours = &workspace["workspace"]["dependencies"];
    for (name, dependency) in manifest["dependencies"].as_table().unwrap() {
        match dependency.get("path") {
            Some(path) => {
                // Beside the program's own folder.
                let path = path.as_str().unwrap().strip_prefix("../crossfeed/");
                assert_eq!(path, ours[name]["path"].as_str(), "{name}");
            }
            None => {
                let version = dependency.get("version").unwrap_or(dependency);
                let version = format!("{}.", version.as_str().unwrap());
                let own = format!("{}.", ours[name]["version"].as_str().unwrap());
                assert!(own.starts_with(&version), "{name}");
            }
        }
    }
}
