//! Projecting: a result cut to some fields, against `serde_json::Value`.
//!
//! Both begin with bytes and end with bytes: ours builds the index, theirs parses; where the index
//! is there already, a row says so.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bytes::Bytes;
use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_json::{Cursor, Document};
use crossfeed_output_schema::OutputSchema;
use crossfeed_projection::{self as projection, PathTree, Projection, RevealRules};
use serde_json::{Map, Value};
use std::{fs, path::Path};

const LIST: &str = "10 MB of records";

fn main() {
    let run = Run::from_arguments(2.0);
    against_values(&run);
    shapes(&run);
    saved(&run);
    summarised(&run);
}

fn tree(list: &str) -> PathTree {
    PathTree::new(projection::Path::parse_list(list).unwrap())
}

fn include(list: &str) -> Projection {
    Projection::new().with_include(tree(list))
}

fn write(projection: &Projection, value: Cursor<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let notes = projection.write(value, &mut out);
    assert!(notes.is_empty());
    out
}

fn from_bytes(projection: &Projection, raw: &Bytes) -> Vec<u8> {
    write(projection, Document::new(raw.clone()).root().unwrap())
}

/// The items of the records as a list at the root.
fn list(size: usize) -> Bytes {
    let records = data::records(size);
    let document = Document::new(records);
    let items = document.root().unwrap().get("items").unwrap();
    Bytes::copy_from_slice(items.raw())
}

/// The same by hand: parse, rebuild, serialise.
fn rebuilt(raw: &[u8], rebuild: impl Fn(Map<String, Value>) -> Map<String, Value>) -> Vec<u8> {
    let Value::Array(items) = serde_json::from_slice(raw).unwrap() else {
        return Vec::new();
    };
    let items = items.into_iter().map(|item| match item {
        Value::Object(item) => Value::Object(rebuild(item)),
        other => other,
    });
    serde_json::to_vec(&Value::Array(items.collect())).unwrap()
}

fn against_values(run: &Run) {
    let rows = [
        "crossfeed",
        "crossfeed, indexed before",
        "serde_json::Value",
    ];
    let Some(table) = run.table("Projecting a list", "cut", &rows) else {
        return;
    };
    let raw = list(10_000_000);
    let document = Document::new(raw.clone());
    let root = document.root().unwrap();
    let line = |name: &str,
                projection: Projection,
                rebuild: &dyn Fn(Map<String, Value>) -> Map<String, Value>| {
        let ours = from_bytes(&projection, &raw);
        assert_eq!(ours, rebuilt(&raw, rebuild));
        let rows = vec![
            Contender::new(|| from_bytes(&projection, &raw)),
            Contender::new(|| write(&projection, root)),
            Contender::new(|| rebuilt(&raw, rebuild)),
        ];
        table.line(&format!("{LIST}, {name}"), Work::Once, rows);
    };
    let keep = |names: &'static [&'static str]| {
        move |mut item: Map<String, Value>| {
            item.retain(|key, _| names.contains(&key.as_str()));
            item
        }
    };
    line("two fields", include("id,title"), &keep(&["id", "title"]));
    line(
        "two fields, far apart",
        include("id,views"),
        &keep(&["id", "views"]),
    );
    line("a field within", include("author.name"), &|mut item| {
        item.retain(|key, _| key == "author");
        if let Some(Value::Object(author)) = item.get_mut("author") {
            author.retain(|key, _| key == "name");
        }
        item
    });
    let exclude = Projection::new().with_exclude(tree("snippet"));
    line("all but one field", exclude, &|mut item| {
        item.shift_remove("snippet");
        item
    });
    let never = Projection::new().with_rules(RevealRules::parse([""; 0], ["snippet"]).unwrap());
    // What is withheld is noted, which is why this is not asserted to have no notes.
    let withheld = |value: Cursor<'_>| {
        let mut out = Vec::new();
        never.write(value, &mut out);
        out
    };
    let rows = vec![
        Contender::new(|| withheld(Document::new(raw.clone()).root().unwrap())),
        Contender::new(|| withheld(root)),
        Contender::new(|| {
            rebuilt(&raw, |mut item| {
                item.shift_remove("snippet");
                item
            })
        }),
    ];
    table.line(&format!("{LIST}, one field never shown"), Work::Once, rows);
}

fn shapes(run: &Run) {
    let rows = ["whole", "two names never shown", "include", "exclude"];
    let Some(table) = run.table("Projecting 10 MB, index built", "result", &rows) else {
        return;
    };
    let asked = [
        ("records", "items.id,items.title"),
        ("records, indented", "items.id,items.title"),
        ("nested", "in.in.in.in"),
        ("wide", "user-0000001,user-0400000"),
        ("mixed", "kind,rows.label"),
    ];
    for ((name, set), (_, paths)) in data::SETS.into_iter().zip(asked) {
        let raw = set(10_000_000);
        let document = Document::new(raw.clone());
        let root = document.root().unwrap();
        let never = RevealRules::parse([""; 0], ["password", "api_key"]).unwrap();
        let cut = |projection: Projection| {
            Contender::new(move || {
                let mut out = Vec::new();
                projection.write(root, &mut out);
                out
            })
        };
        let rows = vec![
            cut(Projection::new()),
            cut(Projection::new().with_rules(never)),
            cut(include(paths)),
            cut(Projection::new().with_exclude(tree(paths))),
        ];
        table.line(name, Work::Bytes(raw.len()), rows);
    }
    let names: Vec<String> = (0..10_000).map(|n| format!("user-{:07}", n * 40)).collect();
    let many = names.join(",");
    let rows = ["include", "exclude"];
    let title = "Projecting 10 MB, index built, by 10000 paths";
    let Some(table) = run.table(title, "result", &rows) else {
        return;
    };
    let raw = data::wide(10_000_000);
    let document = Document::new(raw.clone());
    let root = document.root().unwrap();
    let include = include(&many);
    let exclude = Projection::new().with_exclude(tree(&many));
    let rows = vec![
        Contender::new(|| write(&include, root)),
        Contender::new(|| write(&exclude, root)),
    ];
    table.line("wide", Work::Bytes(raw.len()), rows);
}

fn root(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).unwrap()
}

fn tokens(text: &[u8]) -> usize {
    bpe_openai::o200k_base().count(std::str::from_utf8(text).unwrap())
}

/// What real results take of a context, whole and projected.
fn saved(run: &Run) {
    const TITLE: &str = "Bytes and tokens of real results";
    if !run.wants(TITLE) {
        return;
    }
    let data = |name: &str| format!("crates/crossfeed-cli/data/{name}.json");
    let tools = |name: &str| format!("tests/corpora/tools/{name}.json");
    let asked = [
        ("browsers", data("browsers"), "items.id,items.name"),
        (
            "browsers",
            data("browsers"),
            "items.name,items.releases.version",
        ),
        (
            "properties of CSS",
            data("css-compat"),
            "items.name,items.status",
        ),
        (
            "properties of CSS",
            data("css-compat"),
            "items.name,items.support.firefox",
        ),
        (
            "`tools/list` of azure",
            tools("azure"),
            "tools.name,tools.description",
        ),
        (
            "`tools/list` of workspace",
            tools("workspace"),
            "tools.name",
        ),
    ];
    let lines = asked.map(|(name, file, paths)| {
        let whole = Document::new(root(&file));
        let cut = write(&include(paths), whole.root().unwrap());
        let (before, after) = (tokens(whole.raw()), tokens(&cut));
        vec![
            name.to_owned(),
            format!("`{paths}`"),
            whole.raw().len().to_string(),
            cut.len().to_string(),
            before.to_string(),
            after.to_string(),
            format!("{:.1} %", 100.0 * (1.0 - after as f64 / before as f64)),
        ]
    });
    let head = [
        "result",
        "asked for",
        "bytes",
        "left",
        "tokens",
        "left",
        "saved",
    ];
    run.print(TITLE, &head, &lines);
}

/// What real output schemas take of a context, whole and in summary.
fn summarised(run: &Run) {
    const TITLE: &str = "Tokens of the output schemas of real tools";
    if !run.wants(TITLE) {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpora/tools");
    let mut sizes: Vec<(usize, usize)> = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let list: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        for tool in list["tools"]
            .as_array()
            .or(list.as_array())
            .into_iter()
            .flatten()
        {
            let Some(schema) = tool.get("outputSchema") else {
                continue;
            };
            let name = tool["name"].as_str().unwrap_or_default();
            let summary = OutputSchema::new(schema.clone()).summary(name).to_value();
            let size = |value: &Value| tokens(value.to_string().as_bytes());
            sizes.push((size(schema), size(&summary)));
        }
    }
    let line = |name: &str, of: &[(usize, usize)]| {
        let (whole, short) = of
            .iter()
            .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let saved = format!("{:.1} %", 100.0 * (1.0 - short as f64 / whole as f64));
        vec![
            name.to_owned(),
            of.len().to_string(),
            whole.to_string(),
            short.to_string(),
            saved,
        ]
    };
    sizes.sort_unstable();
    let large: Vec<_> = sizes
        .iter()
        .filter(|(whole, _)| *whole > 500)
        .copied()
        .collect();
    let lines = [line("all", &sizes), line("over 500 tokens", &large)];
    let head = ["schemas", "number", "tokens", "in summary", "saved"];
    run.print(TITLE, &head, &lines);
}
