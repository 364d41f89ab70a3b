//! The README and the guide in `docs/`: their commands are run, and what the pages show is what is printed.
//! `CROSSFEED_BLESS=1 cargo test -p crossfeed-cli --test cli pages` writes it into the pages.
//!
//! A block of a page begins with ```` ```KIND ```` or with ```` ```KIND FILE ````, which is saved under that name for the commands after
//! it. Those of ```` ```console ```` are run by `sh` in a folder of the page's own, which is shown as `~`. Those of
//! ```` ```console peers ```` need programs of others and are run by `tests/peers/themes/pages.mjs`; ```` ```rust ```` is
//! compiled by `cargo test -p crossfeed`.

use super::{configured, run};
use crossfeed_gateway::config::{Format, GatewayConfig, Sources};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// The commands in blocks of `sh`, whose output no page shows; the file that runs each, and how.
const RUN_ELSEWHERE: [(&str, &str, &str); 14] = [
    (
        "cargo run -p crossfeed-cli -- demo",
        ".ci/run",
        "\"$CROSSFEED_BIN\" demo",
    ),
    (
        "cargo test --workspace",
        ".ci/run",
        "cargo test --workspace --no-fail-fast",
    ),
    (
        "cargo install --locked --profile dist --path crates/crossfeed-cli",
        ".ci/run",
        "cargo install --locked --profile dist --path crates/crossfeed-cli",
    ),
    (
        "cargo run -p crossfeed --example orchestrator",
        "crates/crossfeed/tests/examples.rs",
        "orchestrator::main()",
    ),
    (
        "cargo run -p crossfeed --features otel --example export -- --print",
        ".ci/run",
        "debug/examples/export\" --print",
    ),
    (
        "crossfeed gateway --config gateway.toml --listen 127.0.0.1:8807 --state /var/lib/crossfeed",
        "crates/crossfeed-cli/tests/cli/lasting.rs",
        "fn a_session_over_http_goes_on_after_a_kill",
    ),
    (
        "crossfeed gateway --state ~/.local/state/crossfeed --session work -- uvx mcp-server-git",
        "crates/crossfeed-cli/tests/cli/lasting.rs",
        "fn the_local_client_goes_on_under_the_name_of_its_session",
    ),
    (
        "crossfeed results ls --state /var/lib/crossfeed",
        "crates/crossfeed-cli/tests/cli/results.rs",
        "\"results\", \"ls\", \"--state\"",
    ),
    (
        "crossfeed results get call_3 --state /var/lib/crossfeed --select 'items[*].url'",
        "crates/crossfeed-cli/tests/cli/results.rs",
        "\"call_1\", \"--session\", &first, \"--select\"",
    ),
    (
        "crossfeed results save call_3 june.json --state /var/lib/crossfeed",
        "crates/crossfeed-cli/tests/cli/results.rs",
        "\"results\", \"save\", \"call_2\"",
    ),
    (
        "crossfeed sql --describe issues.json people.csv",
        "crates/crossfeed-cli/tests/cli/queries.rs",
        "\"sql\", \"--describe\", &issues, &people",
    ),
    (
        "crossfeed sql \"SELECT state, count(*) AS n FROM issues_items GROUP BY state\" issues.json",
        "crates/crossfeed-cli/tests/cli/queries.rs",
        "SELECT state, count(*) AS n FROM issues_items GROUP BY state",
    ),
    (
        "claude mcp add files -- crossfeed gateway -- npx -y @modelcontextprotocol/server-filesystem \"$PWD\"",
        "tests/peers/themes/pages.mjs",
        "claude mcp add",
    ),
    (
        "crossfeed import claude-code --dry-run",
        "crates/crossfeed-cli/tests/cli/import.rs",
        "\"claude-code\", \"--dry-run\"",
    ),
];

/// A part of a page: its kind (the words after the fence) and its text, or prose.
struct Part<'a> {
    kind: Option<&'a str>,
    text: &'a str,
}

/// A page in parts which, put together, are the page.
fn parts(page: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut pieces = page.split("```");
    while let Some(prose) = pieces.next() {
        parts.push(Part {
            kind: None,
            text: prose,
        });
        if let Some(block) = pieces.next() {
            let (kind, text) = block.split_once('\n').unwrap();
            parts.push(Part {
                kind: Some(kind),
                text,
            });
        }
    }
    parts
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README and the pages of the guide: path and text.
fn pages() -> Vec<(PathBuf, String)> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = docs
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.push(root().join("README.md"));
    pages.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path, text)
    };
    pages.into_iter().map(read).collect()
}

/// The blocks of a page that are of this kind.
pub(super) fn blocks<'a>(page: &'a str, kind: &str) -> Vec<&'a str> {
    let parts = parts(page).into_iter();
    parts
        .filter(|part| part.kind == Some(kind))
        .map(|part| part.text)
        .collect()
}

/// The commands of a block; one goes on in the next line after a backslash.
fn commands(block: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push(command.to_owned()),
            (None, Some(command)) if goes_on => *command += &format!("\n{line}"),
            _ => continue,
        }
        goes_on = line.ends_with('\\');
    }
    commands
}

/// A folder in which the commands of one page run.
struct Folder(PathBuf);

impl Folder {
    fn new(page: &Path) -> Self {
        let name = page.file_stem().unwrap().to_string_lossy();
        let folder = format!("crossfeed-page-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(folder.join("bin")).unwrap();
        let program = folder.join("bin/crossfeed");
        symlink(env!("CARGO_BIN_EXE_crossfeed"), program).unwrap();
        Self(folder)
    }

    /// What the command prints on both streams, in this order.
    #[expect(
        clippy::disallowed_methods,
        reason = "the commands are run as a reader would, by a shell"
    )]
    fn output(&self, command: &str) -> String {
        let folder = self.0.display().to_string();
        let path = format!("{folder}/bin:{}", std::env::var("PATH").unwrap());
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(&self.0)
            .env("PATH", path)
            .env("HOME", &self.0)
            .env_remove("COLUMNS")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_STATE_HOME")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let mut printed = printed.replace(&folder, "~");
        if !printed.is_empty() && !printed.ends_with('\n') {
            printed.push('\n');
        }
        printed
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The page with what its commands print now.
fn with_output(path: &Path, page: &str) -> String {
    let folder = Folder::new(path);
    let mut written = String::new();
    for Part { kind, text } in parts(page) {
        let Some(kind) = kind else {
            written += text;
            continue;
        };
        if let Some((_, file)) = kind.split_once(' ').filter(|(_, file)| file.contains('.')) {
            fs::write(folder.0.join(file), text).unwrap();
        }
        written += &format!("```{kind}\n");
        if kind == "console" {
            for command in commands(text) {
                written += &format!("$ {command}\n{}", folder.output(&command));
            }
        } else {
            written += text;
        }
        written += "```";
    }
    written
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "CROSSFEED_BLESS decides whether pages are written or compared"
)]
fn pages_show_what_commands_print() {
    let bless = std::env::var_os("CROSSFEED_BLESS").is_some();
    for (path, page) in pages() {
        let written = with_output(&path, &page);
        if bless && written != page {
            fs::write(&path, written).unwrap();
        } else if !bless {
            let name = path.display();
            assert_eq!(page, written, "{name}: CROSSFEED_BLESS=1 writes it");
        }
    }
}

#[test]
fn every_block_of_a_page_is_tested() {
    let known: BTreeSet<&str> = RUN_ELSEWHERE.map(|(command, ..)| command).into();
    let mut used = BTreeSet::new();
    for (path, page) in pages() {
        for part in parts(&page) {
            let name = path.display();
            match part.kind {
                None | Some("console" | "console peers" | "rust") => {}
                Some("sh") => used.extend(part.text.lines().map(str::to_owned)),
                // A file for commands, or a name in `crates/crossfeed/tests/guide.rs`.
                Some(kind) if kind.contains(' ') => {}
                // A client's entry, which `tests/peers` starts; a call, which it sends.
                Some("json") if path.ends_with("docs/gateway.md") => {}
                // What the README compares is what the demo sends; what it depends on is checked in `tests/it/docs.rs`.
                Some("text" | "toml") if path.ends_with("README.md") => {}
                Some(kind) => panic!("{name}: nothing tests a block of `{kind}`:\n{}", part.text),
            }
        }
    }
    let used: BTreeSet<&str> = used.iter().map(String::as_str).collect();
    assert_eq!(used, known);
    for (command, file, how) in RUN_ELSEWHERE {
        let text = fs::read_to_string(root().join(file)).unwrap();
        assert!(text.contains(how), "{file} does not run {command}");
    }
}

#[test]
fn the_store_that_a_page_configures_is_read() {
    let page = fs::read_to_string(root().join("docs/operating.md")).unwrap();
    let [text] = blocks(&page, "toml gateway.toml")[..] else {
        panic!("one configuration is on the page");
    };
    let environment = [("REDIS_PASSWORD".to_owned(), "secret".to_owned())];
    let sources = Sources::default().with_environment(environment.into());
    let config = GatewayConfig::parse(text, Format::Toml, &sources).unwrap();
    assert!(config.store.location.lasts());
}

#[test]
fn the_readme_compares_what_the_demo_sends() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let demo = words(&run(&["demo", "--full"], "").out);
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let [compared] = blocks(&page, "text")[..] else {
        panic!("the README compares once");
    };
    let (_, after) = compared.split_once("\nAfter").unwrap();
    let (_, call) = after.split_once("\n\n").unwrap();
    let (call, _) = call.split_once("\n\n").unwrap();
    assert!(demo.contains(&words(call)), "the demo does not send {call}");
    let numbers = compared.split(|character: char| !character.is_ascii_digit() && character != ',');
    let numbers = numbers.filter(|number| number.trim_matches(',').contains(','));
    let numbers: Vec<&str> = numbers.collect();
    assert_eq!(numbers.len(), 4, "{numbers:?}");
    for number in numbers {
        let number = number.trim_matches(',');
        assert!(demo.contains(number), "the demo does not print {number}");
    }
}

#[test]
fn configurations_that_are_shown_are_valid() {
    let page = fs::read_to_string(root().join("docs/gateway.md")).unwrap();
    let [several, saving] = blocks(&page, "toml gateway.toml")[..] else {
        panic!("two configurations are on the page");
    };
    let saving = configured(saving);
    assert!(saving.result_resources && saving.save_directory.is_some());
    assert_eq!(saving.flows[0].to, "crossfeed/*");
    let config = configured(several);
    let names: Vec<_> = config.servers.iter().map(|server| &server.name).collect();
    assert_eq!(names, ["files", "tracker"]);
    assert_eq!(config.servers[1].deny, ["delete_*"]);
    assert_eq!(config.flows[0].from, "files/*");
    assert!(config.listen.is_some());

    let help = run(&["gateway", "--help"], "").out;
    let (_, shown) = help
        .split_once("A configuration, as TOML or JSON:\n")
        .unwrap();
    let (shown, _) = shown.split_once("\n\n").unwrap();
    let config = configured(shown);
    assert_eq!((config.servers.len(), config.flows.len()), (2, 1));
}

#[test]
fn commands_go_on_after_a_backslash() {
    let found = commands("$ a b\nprinted\n$ c \\\n    d\nprinted\n$ e\n");
    assert_eq!(found, ["a b", "c \\\n    d", "e"]);
}
