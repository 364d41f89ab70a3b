//! Rewriting schemas: what it adds to a tool list in tokens, counted exactly, and how long it takes.
//! The tools are those of 39 real MCP servers, each server's as one list.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bpe_openai::Tokenizer;
use crossfeed_benches::{Contender, Run, Work};
use crossfeed_schema::check;
use crossfeed_tools::{ListOptions, Profile, Style, ToolList, guidance, rewrite, rewrite_tools};
use serde_json::Value;
use std::{fs, path::Path};

/// What `inline` may add: so many tokens a tool, and so many for each value position.
const INLINE: (usize, usize) = (120, 16);
/// What `refs` may add.
const REFS: usize = 150;

fn main() {
    let run = Run::from_arguments(2.0);
    let lists = lists();
    let tokenizer = bpe_openai::o200k_base();
    styles(&run, &lists, tokenizer);
    profiles(&run, &lists, tokenizer);
    guidances(&run, tokenizer);
    speed(&run, &lists);
}

fn lists() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/corpora/tools");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (
            name,
            serde_json::from_slice(&fs::read(path).unwrap()).unwrap(),
        )
    };
    files.iter().map(read).collect()
}

fn schemas(lists: &[(String, Value)]) -> Vec<&Value> {
    let tools = lists
        .iter()
        .flat_map(|(_, list)| list["tools"].as_array().unwrap());
    tools.map(|tool| &tool["inputSchema"]).collect()
}

/// The tokens of a schema as it is sent: compact JSON.
fn tokens(tokenizer: &Tokenizer, value: &Value) -> usize {
    tokenizer.count(&value.to_string())
}

fn median(sorted: &[usize]) -> usize {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

fn row(name: &str, added: &mut [usize], before: usize, rest: [String; 2]) -> Vec<String> {
    added.sort_unstable();
    let sum: usize = added.iter().sum();
    let count = added.len().max(1);
    let mut row = vec![
        name.to_owned(),
        format!("{:.0}", before as f64 / count as f64),
        format!("{:.0}", (before + sum) as f64 / count as f64),
        format!("{:.0}", sum as f64 / count as f64),
        median(added).to_string(),
        added.last().copied().unwrap_or(0).to_string(),
        format!("{:.0} %", 100.0 * sum as f64 / before as f64),
    ];
    row.extend(rest);
    row
}

const HEAD: [&str; 7] = [
    "",
    "before",
    "after",
    "added, mean",
    "median",
    "most",
    "more",
];

fn styles(run: &Run, lists: &[(String, Value)], tokenizer: &Tokenizer) {
    let title = "Tokens of a tool's schema, by style";
    if !run.wants(title) {
        return;
    }
    let schemas = schemas(lists);
    let before: Vec<usize> = schemas.iter().map(|s| tokens(tokenizer, s)).collect();
    let lines: Vec<_> = Style::ALL
        .into_iter()
        .map(|style| {
            let mut beyond = 0;
            let mut positions = 0;
            let mut added: Vec<usize> = schemas
                .iter()
                .zip(&before)
                .map(|(schema, before)| {
                    let shown = rewrite(schema, style, style.spelling()).unwrap().schema;
                    let text = shown.to_string();
                    let here = text
                        .matches(r##"{"$ref":"#/$defs/tool_reference"}"##)
                        .count();
                    positions += here;
                    let added = tokenizer.count(&text).saturating_sub(*before);
                    let limit = match style {
                        Style::Inline => INLINE.0 + INLINE.1 * here,
                        _ => REFS,
                    };
                    beyond += usize::from(added > limit);
                    added
                })
                .collect();
            let rest = [positions.to_string(), beyond.to_string()];
            row(style.as_str(), &mut added, before.iter().sum(), rest)
        })
        .collect();
    let head: Vec<_> = HEAD
        .into_iter()
        .chain(["positions", "tools beyond the target"])
        .collect();
    run.print(title, &head, &lines);
}

fn profiles(run: &Run, lists: &[(String, Value)], tokenizer: &Tokenizer) {
    let title = "Tokens of a tool's schema, by profile";
    if !run.wants(title) {
        return;
    }
    let lines: Vec<_> = Profile::ALL
        .iter()
        .map(|profile| {
            let (mut added, mut before_all, mut referring, mut strict) = (Vec::new(), 0, 0, 0);
            for (_, list) in lists {
                let list = ToolList::parse(list).unwrap();
                let listed = rewrite_tools(&list, &ListOptions::profile(*profile));
                for tool in &listed.tools {
                    let before = tokens(tokenizer, tool.input_schema());
                    before_all += before;
                    let after = tokens(tokenizer, tool.shown_schema());
                    added.push(after.saturating_sub(before));
                    referring += usize::from(tool.style().is_some());
                    strict += usize::from(tool.strict() == Some(true));
                }
            }
            let rest = [referring.to_string(), strict.to_string()];
            row(profile.as_str(), &mut added, before_all, rest)
        })
        .collect();
    let head: Vec<_> = HEAD
        .into_iter()
        .chain(["tools that admit references", "strict"])
        .collect();
    run.print(title, &head, &lines);
}

fn guidances(run: &Run, tokenizer: &Tokenizer) {
    let lines: Vec<_> = Style::ALL
        .into_iter()
        .map(|style| {
            let of = |folds| {
                tokenizer
                    .count(&guidance(style, style.spelling(), folds))
                    .to_string()
            };
            vec![style.to_string(), of(false), of(true)]
        })
        .collect();
    run.print(
        "Tokens of the guidance, once",
        &["", "plain", "with folds"],
        &lines,
    );
}

fn speed(run: &Run, lists: &[(String, Value)]) {
    let rows = ["check", "inline", "refs", "refs-list"];
    let Some(table) = run.table("Rewriting all tools", "tools per second", &rows) else {
        return;
    };
    let schemas = schemas(lists);
    let schemas = &schemas;
    let styled = |style: Style| {
        Contender::new(move || {
            let shown = schemas
                .iter()
                .map(|s| rewrite(s, style, style.spelling()).unwrap());
            shown.filter(|shown| shown.schema.is_object()).count()
        })
    };
    let checked = Contender::new(move || schemas.iter().filter(|s| check(s).is_ok()).count());
    let [inline, refs, list] = Style::ALL.map(styled);
    table.line(
        "one by one",
        Work::Operations(schemas.len()),
        vec![checked, inline, refs, list],
    );

    let rows = ["mcp", "anthropic", "openai", "openai-strict", "gemini"];
    let Some(table) = run.table("Rewriting whole lists", "tools per second", &rows) else {
        return;
    };
    let parsed: Vec<_> = lists
        .iter()
        .map(|(_, list)| ToolList::parse(list).unwrap())
        .collect();
    let parsed = &parsed;
    let contenders = rows.map(|name| {
        let options = ListOptions::profile(name.parse().unwrap());
        Contender::new(move || {
            let listed = parsed.iter().map(|list| rewrite_tools(list, &options));
            listed.map(|listed| listed.tools.len()).sum::<usize>()
        })
    });
    table.line(
        "by profile",
        Work::Operations(schemas.len()),
        contenders.into(),
    );
}
