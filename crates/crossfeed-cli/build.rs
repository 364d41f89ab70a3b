//! Packs the demo's data, which would be a tenth of the binary, and finds the commit for `crossfeed --version`: in
//! `CROSSFEED_COMMIT`, in what `cargo package` recorded, or in git. Without any of them the version stands alone.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads its environment and asks git"
)]

use miniz_oxide::deflate::compress_to_vec_zlib;
use std::{env, fs, path::Path, process::Command};

/// The most digits of a commit that are shown.
const MAX_DIGITS: usize = 9;
/// The fewest digits of a commit: git's own default.
const MIN_DIGITS: usize = 7;

/// The best compression that takes no time worth mentioning.
const LEVEL: u8 = 9;

fn main() {
    let out = env::var("OUT_DIR").unwrap_or_default();
    for name in ["browsers.json", "css-compat.json"] {
        let path = format!("data/{name}");
        println!("cargo::rerun-if-changed={path}");
        let packed = fs::read(&path).map(|json| compress_to_vec_zlib(&json, LEVEL));
        let written = packed.and_then(|packed| fs::write(format!("{out}/{name}.zlib"), packed));
        if let Err(error) = written {
            println!("cargo::error=cannot pack {path}: {error}");
        }
    }
    println!("cargo::rustc-env=CROSSFEED_VERSION={}", version());
}

/// The version that is shown.
fn version() -> String {
    println!("cargo::rerun-if-env-changed=CROSSFEED_COMMIT");
    let given = env::var("CROSSFEED_COMMIT").ok();
    let given = given.filter(|commit| is_commit(commit));
    let commit = given.or_else(packaged).or_else(checked_out);
    let version = env!("CARGO_PKG_VERSION");
    match commit.filter(|commit| is_commit(commit)) {
        Some(commit) => format!(
            "{version} ({})",
            commit.get(..MAX_DIGITS).unwrap_or(&commit)
        ),
        None => version.to_owned(),
    }
}

fn is_commit(text: &str) -> bool {
    text.len() >= MIN_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The commit in a package from a registry: `{"git": {"sha1": "..."}}`.
fn packaged() -> Option<String> {
    const FILE: &str = ".cargo_vcs_info.json";
    let info = fs::read_to_string(FILE).ok()?;
    println!("cargo::rerun-if-changed={FILE}");
    let (_, rest) = info.split_once("\"sha1\"")?;
    rest.split('"').nth(1).map(str::to_owned)
}

/// The commit of this repository's checkout, not of another one that it lies in.
fn checked_out() -> Option<String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok()?;
        let printed = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| printed.trim().to_owned())
    };
    let root = fs::canonicalize("../..").ok()?;
    let top = git(&["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(top).ok()? != root {
        return None;
    }
    // The branch's own file changes with each commit where there is no log.
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"])?;
    for file in ["HEAD", "logs/HEAD", &branch] {
        let path = git(&["rev-parse", "--git-path", file])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}
