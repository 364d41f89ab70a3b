//! What references cost in the tool lists of real servers, in tokens: `docs/tokens.md`, which
//! `CROSSFEED_BLESS=1 cargo test -p crossfeed-tests --test it -- tool_lists` writes.

use crossfeed_tests::workspace_root;
use crossfeed_tokens::TokenCounter;
use crossfeed_tools::{ListOptions, Offers, Profile, ToolList, rewrite_tools};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

/// By how much lists may grow in sum, in percent, in the style that a client gets which the gateway does not know.
const MOST: f64 = 25.0;
const PAGE: &str = "docs/tokens.md";
const BEFORE: &str = "<!-- figures -->\n";
const BEHIND: &str = "\n<!-- end of figures -->\n";

/// Tokens of a list as it came, and as it is shown.
#[derive(Clone, Copy, Default)]
struct Tokens {
    tools: usize,
    before: usize,
    after: usize,
}

impl Tokens {
    fn growth(self) -> f64 {
        100.0 * (self.after as f64 / self.before as f64 - 1.0)
    }

    fn add(&mut self, other: Self) {
        self.tools += other.tools;
        self.before += other.before;
        self.after += other.after;
    }

    fn row(self, name: &str) -> String {
        let Self {
            tools,
            before,
            after,
        } = self;
        let growth = self.growth();
        format!("| {name} | {tools} | {before} | {after} | {growth:.1} % |\n")
    }
}

fn servers() -> BTreeMap<String, Value> {
    let files = fs::read_dir(workspace_root().join("tests/corpora/tools")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let lists = paths.filter(|path| path.extension().is_some_and(|own| own == "json"));
    let read = lists.map(|path| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (
            name,
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap(),
        )
    });
    read.collect()
}

/// As the gateway lists tools, which makes no artifacts.
fn options(profile: Profile) -> ListOptions {
    ListOptions::profile(profile).with_offers(Offers::default().with_artifacts(false))
}

fn counted(counter: &TokenCounter, list: &Value, options: &ListOptions) -> Tokens {
    // What clients hand on of a tool.
    let count = |tool: &Value, schema: &Value| {
        let seen = json!({"name": tool["name"], "description": tool["description"], "inputSchema": schema});
        counter.count(&seen.to_string())
    };
    let parsed = ToolList::parse(list).unwrap();
    let shown = rewrite_tools(&parsed, options);
    let own = list["tools"].as_array().unwrap();
    let mut tokens = Tokens::default();
    for (own, shown) in own.iter().zip(&shown.tools) {
        tokens.add(Tokens {
            tools: 1,
            before: count(own, &own["inputSchema"]),
            after: count(own, shown.shown_schema()),
        });
    }
    tokens
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "CROSSFEED_BLESS decides whether the page is written or compared"
)]
fn tool_lists_grow_by_a_quarter_at_most() {
    let counter = TokenCounter::o200k();
    let servers = servers();
    let sum = |options: &ListOptions| {
        let mut sum = Tokens::default();
        for list in servers.values() {
            sum.add(counted(&counter, list, options));
        }
        sum
    };
    let head = |first: &str| {
        format!("| {first} | tools | tokens before | after | more |\n|---|---:|---:|---:|---:|\n")
    };
    let mut figures = head("server");
    let usual = options(Profile::Mcp);
    for (name, list) in &servers {
        figures += &counted(&counter, list, &usual).row(&format!("`{name}`"));
    }
    let all = sum(&usual);
    figures += &all.row("all");
    figures += "\nBy profile, all servers together:\n\n";
    figures += &head("profile");
    figures += &all.row("`mcp` (the default)");
    let offered = [
        ("templates", usual.offers.with_templates(true)),
        ("references.edits", usual.offers.with_edits(true)),
        ("references.files", usual.offers.with_files(true)),
        ("references.resources", usual.offers.with_resources(true)),
    ];
    for (key, offers) in offered {
        let sum = sum(&usual.clone().with_offers(offers));
        figures += &sum.row(&format!("`mcp`, with `{key}`"));
    }
    for profile in Profile::ALL.into_iter().filter(|own| *own != Profile::Mcp) {
        figures += &sum(&options(profile)).row(&format!("`{profile}`"));
    }
    assert!(all.growth() <= MOST, "{:.2} %", all.growth());

    let path = workspace_root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap();
    let (about, rest) = page.split_once(BEFORE).unwrap();
    let (_, rest) = rest.split_once(BEHIND).unwrap();
    let written = format!("{about}{BEFORE}\n{figures}{BEHIND}{rest}");
    if std::env::var_os("CROSSFEED_BLESS").is_some() {
        fs::write(path, written).unwrap();
    } else {
        assert_eq!(page, written, "CROSSFEED_BLESS=1 writes it");
    }
}
