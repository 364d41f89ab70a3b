//! Every tool of 39 real servers, rewritten in every style and held to the laws with instances made from its schema.

use super::{
    generate::{Instances, closed_instances, instances},
    laws::{Pair, compile},
};
use crate::support::session;
use crossfeed_core::InputSchema;
use crossfeed_tests::workspace_root;
use crossfeed_tools::Style;
use jsonschema::Validator;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
    sync::OnceLock,
};

/// A tool that a server lists, and instances of its input schema.
pub(crate) struct Tool {
    pub(crate) server: String,
    pub(crate) name: String,
    pub(crate) schema: Value,
    pub(crate) own: Validator,
    pub(crate) instances: Instances,
    /// Valid ones without keys that no `properties` name.
    pub(crate) closed: Vec<Value>,
}

/// The replies to `tools/list`, by server.
pub(crate) fn servers() -> Vec<(String, Value)> {
    let folder = workspace_root().join("tests/corpora/tools");
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let server = path.file_stem().unwrap().to_string_lossy().into_owned();
        (
            server,
            serde_json::from_slice(&fs::read(path).unwrap()).unwrap(),
        )
    };
    files.iter().map(read).collect()
}

/// The output schemas that tools declare, each with its server and tool.
pub(crate) fn outputs() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (server, list) in servers() {
        for tool in list["tools"].as_array().unwrap() {
            if let Some(schema) = tool.get("outputSchema") {
                let name = tool["name"].as_str().unwrap();
                found.push((format!("{server}.{name}"), schema.clone()));
            }
        }
    }
    found
}

/// All tools, in the order of servers and lists.
pub(crate) fn tools() -> &'static [Tool] {
    static TOOLS: OnceLock<Vec<Tool>> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let mut tools = Vec::new();
        for (server, list) in servers() {
            for tool in list["tools"].as_array().unwrap() {
                let schema = tool["inputSchema"].clone();
                let seed = u64::try_from(tools.len()).unwrap();
                let own = compile(&schema).unwrap();
                tools.push(Tool {
                    server: server.clone(),
                    name: tool["name"].as_str().unwrap().to_owned(),
                    instances: instances(&schema, &own, seed),
                    closed: closed_instances(&schema, &own, seed),
                    schema,
                    own,
                });
            }
        }
        tools
    })
}

/// Fails with the first few of all that went wrong.
pub(crate) fn report(law: &str, problems: &[String]) {
    let shown: Vec<String> = problems
        .iter()
        .take(12)
        .map(|problem| problem.chars().take(4000).collect())
        .collect();
    assert!(
        problems.is_empty(),
        "{law}: {} problems\n- {}\n",
        problems.len(),
        shown.join("\n- ")
    );
}

/// Every tool's own schema beside its shown form, where the laws that need no instance hold.
pub(crate) fn pairs(style: Style) -> &'static [Result<Pair, String>] {
    type Pairs = Vec<Result<Pair, String>>;
    static PAIRS: [OnceLock<Pairs>; 3] = [const { OnceLock::new() }; 3];
    let at = Style::ALL.iter().position(|known| *known == style);
    PAIRS[at.unwrap()].get_or_init(|| {
        let pair = |tool: &Tool| match Pair::new(&tool.schema, style) {
            Ok(pair) => pair.ok_or_else(|| "refused".to_owned()),
            Err(broken) => Err(broken),
        };
        tools().iter().map(pair).collect()
    })
}

fn laws(style: Style) {
    let mut problems = Vec::new();
    for (tool, pair) in tools().iter().zip(pairs(style)) {
        let outcome = pair.as_ref().map_err(Clone::clone).and_then(|pair| {
            let references = pair.rewritten.references.as_deref();
            nothing_is_dropped(&tool.schema, &pair.rewritten.schema, references)?;
            let mut valid = tool.instances.valid.iter();
            valid.try_for_each(|instance| pair.admits(instance))
        });
        if let Err(problem) = outcome {
            problems.push(format!("{}/{}: {problem}", tool.server, tool.name));
        }
    }
    report(style.as_str(), &problems);
}

#[test]
fn inline_keeps_its_laws_over_real_tools() {
    laws(Style::Inline);
}

#[test]
fn refs_keep_their_laws_over_real_tools() {
    laws(Style::Refs);
}

#[test]
fn refs_lists_keep_their_laws_over_real_tools() {
    laws(Style::RefsList);
}

#[test]
fn instances_are_made_for_nearly_every_tool() {
    let tools = tools();
    assert_eq!(tools.len(), 1426);
    let without: Vec<_> = tools
        .iter()
        .filter(|tool| tool.instances.valid.is_empty())
        .map(|tool| format!("{}/{}", tool.server, tool.name))
        .collect();
    let valid: usize = tools.iter().map(|tool| tool.instances.valid.len()).sum();
    let invalid: usize = tools.iter().map(|tool| tool.instances.invalid.len()).sum();
    let _ = writeln!(
        io::stdout(),
        "{valid} valid and {invalid} invalid instances; none for {without:?}"
    );
    assert!(without.len() * 100 <= tools.len(), "none for {without:?}");
    assert!(valid > 4000 && invalid > 4000);
}

/// What the own schema refuses, the engine refuses: a wider shown form changes nothing about that.
#[test]
fn the_base_validation_refuses_what_the_schema_refuses() {
    let session = session();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut problems = Vec::new();
    for tool in tools() {
        let Ok(schema) = InputSchema::compile(tool.schema.clone()) else {
            continue;
        };
        let all = [
            (&tool.instances.valid, true),
            (&tool.instances.invalid, false),
        ];
        for (instance, valid) in all
            .into_iter()
            .flat_map(|(of, valid)| of.iter().map(move |one| (one, valid)))
        {
            let resolved = runtime.block_on(session.resolve(instance.clone(), Some(&schema)));
            if resolved.is_ok() != valid {
                problems.push(format!(
                    "{}/{}: valid: {valid}: {instance}",
                    tool.server, tool.name
                ));
            }
        }
    }
    report("the base validation", &problems);
}

/// Property names with their order, texts, and assertions that no style loosens.
#[derive(Default)]
struct Inventory {
    properties: BTreeMap<Vec<String>, usize>,
    words: BTreeMap<String, usize>,
}

/// Keywords whose values are kept as they are.
const KEPT: [&str; 16] = [
    "title",
    "description",
    "default",
    "examples",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "required",
    "deprecated",
];

impl Inventory {
    /// Of a schema, but for the places that are ours.
    fn of(schema: &Value, references: Option<&str>) -> Self {
        let mut inventory = Self::default();
        let mut schema = schema.clone();
        if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
            definitions.retain(|key, _| !key.starts_with("crossfeed_reference"));
        }
        if let (Some(key), Some(properties)) = (references, schema.get_mut("properties")) {
            properties.as_object_mut().unwrap().shift_remove(key);
        }
        inventory.add(&schema);
        inventory
    }

    fn add(&mut self, schema: &Value) {
        let Some(schema) = schema.as_object() else {
            return;
        };
        for (keyword, value) in schema {
            if KEPT.contains(&keyword.as_str()) {
                *self.words.entry(format!("{keyword}: {value}")).or_default() += 1;
            }
            match (keyword.as_str(), value) {
                (
                    "properties" | "patternProperties" | "$defs" | "definitions"
                    | "dependentSchemas",
                    Value::Object(schemas),
                ) => {
                    if keyword == "properties" && !schemas.is_empty() {
                        let names = schemas.keys().cloned().collect();
                        *self.properties.entry(names).or_default() += 1;
                    }
                    schemas.values().for_each(|schema| self.add(schema));
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(schemas)) => {
                    schemas.iter().for_each(|schema| self.add(schema));
                }
                (
                    "items" | "additionalProperties" | "propertyNames" | "not" | "contains",
                    schema,
                ) => self.add(schema),
                _ => {}
            }
        }
    }
}

/// Names keep their order, descriptions stand as often as they did, and every other text and assertion is there still.
fn nothing_is_dropped(
    original: &Value,
    shown: &Value,
    references: Option<&str>,
) -> Result<(), String> {
    let (before, after) = (
        Inventory::of(original, None),
        Inventory::of(shown, references),
    );
    for (names, count) in &before.properties {
        let found = after.properties.get(names).copied().unwrap_or(0);
        if found < *count {
            return Err(format!(
                "properties {names:?} stand {found} times, not {count}\n  rewritten: {shown}"
            ));
        }
    }
    for (word, count) in &before.words {
        let found = after.words.get(word).copied().unwrap_or(0);
        let once = word.starts_with("description: ") && found > *count;
        if found < *count || once {
            return Err(format!(
                "{word} stands {found} times, not {count}\n  rewritten: {shown}"
            ));
        }
    }
    // Ours may be added, the rest keeps its order.
    let root = |schema: &Value| -> Vec<String> {
        let keys = schema
            .as_object()
            .into_iter()
            .flat_map(|schema| schema.keys());
        let ours = ["$defs", "type", "properties"];
        keys.filter(|key| !ours.contains(&key.as_str()))
            .cloned()
            .collect()
    };
    if root(original) == root(shown) {
        Ok(())
    } else {
        Err(format!(
            "the root's keys are {:?}\n  original: {original}",
            root(shown)
        ))
    }
}
