//! What is in the dependency tree is what `deny.toml` admits.
//!
//! `cargo deny check` says the same and more, but takes minutes to install. This reads the same file:
//! sources from `Cargo.lock`, for every platform; licences and features from `cargo metadata`, for this
//! one. Advisories are left to `cargo deny`: they need a database. Also here: no dependency asks for a
//! newer Rust than the workspace promises.

use crossfeed_tests::workspace_root;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, process::Command};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

#[derive(Deserialize)]
struct Deny {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Denied>,
    features: Vec<Features>,
}

#[derive(Deserialize)]
struct Denied {
    #[serde(rename = "crate")]
    name: String,
}

#[derive(Deserialize)]
struct Features {
    #[serde(rename = "crate")]
    name: String,
    deny: Vec<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    source: Option<String>,
}

fn read<T: for<'a> Deserialize<'a>>(path: &str) -> T {
    let text = std::fs::read_to_string(workspace_root().join(path)).unwrap();
    toml::from_str(&text).unwrap()
}

/// Whether an SPDX expression can be met by licences that are admitted. `/` is an old spelling of `OR`.
fn is_admitted(expression: &str, allow: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ");
    let spaced = spaced.replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let admitted = any(&words, &mut at, allow);
    admitted && at == words.len()
}

fn any(words: &[&str], at: &mut usize, allow: &BTreeSet<String>) -> bool {
    let mut admitted = all(words, at, allow);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        admitted |= all(words, at, allow);
    }
    admitted
}

fn all(words: &[&str], at: &mut usize, allow: &BTreeSet<String>) -> bool {
    let mut admitted = one(words, at, allow);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        admitted &= one(words, at, allow);
    }
    admitted
}

fn one(words: &[&str], at: &mut usize, allow: &BTreeSet<String>) -> bool {
    let Some(word) = words.get(*at) else {
        return false;
    };
    *at += 1;
    if *word == "(" {
        let admitted = any(words, at, allow);
        *at += 1;
        return admitted && words.get(*at - 1) == Some(&")");
    }
    if words.get(*at) == Some(&"WITH") {
        *at += 2; // An exception only permits more.
    }
    allow.contains(*word)
}

#[test]
fn expressions_of_licences_are_read() {
    let allow = ["MIT", "Apache-2.0"].map(str::to_owned).into();
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("MIT OR GPL-3.0", true),
        ("MIT/GPL-3.0", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Apache-2.0", true),
        ("(GPL-3.0 AND MIT) OR LGPL-2.1", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", true),
        ("(MIT", false),
        ("", false),
    ] {
        assert_eq!(is_admitted(expression, &allow), expected, "{expression}");
    }
}

#[test]
fn crates_come_from_the_registry() {
    let lock: Lock = read("Cargo.lock");
    let deny: Deny = read("deny.toml");
    let problems: Vec<_> = lock
        .package
        .iter()
        .filter(|package| {
            let is_elsewhere = package
                .source
                .as_deref()
                .is_some_and(|source| source != REGISTRY);
            is_elsewhere
                || deny
                    .bans
                    .deny
                    .iter()
                    .any(|denied| denied.name == package.name)
        })
        .map(|package| &package.name)
        .collect();
    assert!(
        problems.is_empty(),
        "`deny.toml` does not admit {problems:?}"
    );
}

/// What `cargo metadata` tells of the tree with all features, for this platform.
fn metadata() -> Value {
    let version = output("rustc", &["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let args = ["metadata", "--locked", "--offline", "--format-version", "1"];
    let filter = ["--all-features", "--filter-platform", host.unwrap()];
    serde_json::from_str(&output(env!("CARGO"), &[&args[..], &filter].concat())).unwrap()
}

fn output(program: &str, args: &[&str]) -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "what the tree holds is told by cargo only"
    )]
    let mut command = Command::new(program);
    let output = command.args(args).current_dir(workspace_root()).output();
    let output = output.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[test]
fn licences_and_features_are_admitted() {
    let deny: Deny = read("deny.toml");
    let metadata = metadata();
    let mut problems = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let licence = text(&package["license"]);
        if !package["source"].is_null() && !is_admitted(&licence, &deny.licenses.allow) {
            problems.push(format!("{}: licence `{licence}`", text(&package["name"])));
        }
    }
    for node in metadata["resolve"]["nodes"].as_array().unwrap() {
        let features: Vec<String> = node["features"]
            .as_array()
            .unwrap()
            .iter()
            .map(text)
            .collect();
        for banned in &deny.bans.features {
            let is_it = text(&node["id"]).contains(&format!("#{}@", banned.name));
            if let Some(feature) = banned
                .deny
                .iter()
                .find(|own| is_it && features.contains(own))
            {
                problems.push(format!("{}: feature `{feature}`", banned.name));
            }
        }
    }
    assert!(
        problems.is_empty(),
        "`deny.toml` does not admit:\n{}",
        problems.join("\n")
    );
}

#[test]
fn no_dependency_needs_a_newer_rust() {
    let version = |text: &str| {
        let mut numbers = text.split('.').map(|part| part.parse::<u32>().unwrap());
        (numbers.next(), numbers.next())
    };
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages.iter().find(|package| package["source"].is_null());
    let promised = text(&ours.unwrap()["rust_version"]);
    let problems: Vec<_> = packages
        .iter()
        .map(|package| (text(&package["name"]), text(&package["rust_version"])))
        .filter(|(_, needed)| !needed.is_empty() && version(needed) > version(&promised))
        .collect();
    assert!(
        problems.is_empty(),
        "`rust-version` of the workspace is {promised}: {problems:?}"
    );
}
