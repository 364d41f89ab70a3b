//! The list of every real server, rewritten for every profile: inside its limits, and readable back.

#[path = "../../../crates/crossfeed-tools/src/profile/narrow/encode.rs"]
mod encode;

use super::{
    corpus::{report, servers, tools},
    laws::{compile, written},
};
use crossfeed_tools::{
    ListOptions, ListedTool, Profile, RewrittenList, Severity, Style, ToLint, ToolList, lint,
    rewrite_tools,
};
use encode::encode;
use serde_json::{Map, Value, json};
use std::sync::OnceLock;

fn rewritten(list: &Value, profile: Profile) -> RewrittenList {
    let list = ToolList::parse(list).unwrap();
    rewrite_tools(&list, &ListOptions::profile(profile))
}

/// What the provider would refuse of a list as it is written.
fn refusals(list: &Value, profile: Profile) -> Vec<String> {
    let list = ToolList::parse(list).unwrap();
    let schemas: Vec<_> = list.tools().map(|tool| tool.input_schema()).collect();
    let judged: Vec<_> = list
        .tools()
        .zip(&schemas)
        .map(|(tool, schema)| ToLint {
            name: tool.name(),
            description: tool.description(),
            input_schema: schema,
            strict: tool.strict(),
        })
        .collect();
    let found = lint(&judged, profile);
    // How many tools a server has is not for a rewriter to mend.
    let too_many = |what: &str| {
        what.strip_suffix(" tools")
            .is_some_and(|n| n.parse::<usize>().is_ok())
    };
    let refused = found
        .iter()
        .filter(|finding| finding.severity == Severity::Refused && !too_many(&finding.what));
    refused.map(ToString::to_string).collect()
}

/// Every server with its list as it came and as it is shown.
fn shown(profile: Profile) -> &'static [(String, RewrittenList)] {
    type Lists = Vec<(String, RewrittenList)>;
    static SHOWN: [OnceLock<Lists>; 6] = [const { OnceLock::new() }; 6];
    let at = Profile::ALL.iter().position(|known| *known == profile);
    SHOWN[at.unwrap()].get_or_init(|| {
        let servers = servers().into_iter();
        servers
            .map(|(server, list)| (server, rewritten(&list, profile)))
            .collect()
    })
}

fn the_list_keeps_its_laws(profile: Profile) {
    let mut problems = Vec::new();
    for (server, listed) in shown(profile) {
        let refused = refusals(&listed.value, profile).into_iter();
        problems.extend(refused.map(|refused| format!("{server}: {refused}")));
        let again = rewritten(&listed.value, profile);
        let mut differ = false;
        for (once, twice) in listed.tools.iter().zip(&again.tools) {
            if let Some(error) = once.error() {
                problems.push(format!("{server}/{}: {error}", once.name()));
            }
            let [once_shown, twice_shown] = [once, twice].map(ListedTool::shown_schema);
            if written(once_shown) != written(twice_shown) {
                differ = true;
                problems.push(format!(
                    "{server}/{}: rewriting twice differs: {once_shown}\n  twice: {twice_shown}",
                    once.name()
                ));
            }
        }
        if !differ && written(&again.value) != written(&listed.value) {
            problems.push(format!("{server}: rewriting the list twice differs"));
        }
    }
    report(profile.as_str(), &problems);
}

/// The instance under the names that are shown.
fn named(value: &Value, tool: &ListedTool) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, value)| (tool.names().shown(key).to_owned(), named(value, tool)))
                .collect()
        }
        Value::Array(items) => items.iter().map(|item| named(item, tool)).collect(),
        scalar => scalar.clone(),
    }
}

/// The value without members that are null: an absent optional is null where all is required.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let there = members.iter().filter(|(_, value)| !value.is_null());
            there
                .map(|(key, value)| (key.clone(), without_nulls(value)))
                .collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        scalar => scalar.clone(),
    }
}

/// The arguments with every parameter taken from a reference, as the style writes it.
fn referred(members: &Map<String, Value>, tool: &ListedTool) -> Option<Value> {
    let key = tool.references()?;
    let mut changed = members.clone();
    changed.values_mut().for_each(|value| *value = Value::Null);
    let references = match tool.style()? {
        Style::RefsList => members
            .keys()
            .map(|name| json!({"to": name, "tool": "call_1"}))
            .collect(),
        _ => {
            let reference =
                |name: &String| (name.clone(), json!({"_tool": "call_1", "_select": "a"}));
            Value::Object(members.keys().map(reference).collect())
        }
    };
    changed.insert(key.to_owned(), references);
    Some(Value::Object(changed))
}

fn arguments_come_back(profile: Profile) {
    let mut problems = Vec::new();
    let (mut judged, mut unread) = (0, 0);
    let mut all = tools().iter();
    for (server, listed) in shown(profile) {
        for tool in &listed.tools {
            let known = all.next().unwrap();
            assert_eq!(
                (known.server.as_str(), known.name.as_str()),
                (server.as_str(), tool.name())
            );
            let own = &known.own;
            let shown = match compile(tool.shown_schema()) {
                Ok(shown) => shown,
                Err(error) => {
                    problems.push(format!(
                        "{server}/{}: does not compile: {error}",
                        tool.name()
                    ));
                    continue;
                }
            };
            let mut problem = |what: &str, instance: &Value, told: &Value| {
                problems.push(format!(
                    "{server}/{}: {what}: {instance}\n  told: {told}\n  shown: {}\n  own: {}",
                    tool.name(),
                    tool.shown_schema(),
                    known.schema
                ));
            };
            for instance in &known.closed {
                judged += 1;
                let told = encode(&named(instance, tool), tool.shown_schema());
                // Gemini's `nullable` is not a keyword of JSON Schema: what it allows cannot be judged by one.
                let judge = |told: &Value| profile == Profile::Gemini || shown.is_valid(told);
                if !judge(&told) {
                    problem("is not accepted", instance, &told);
                    continue;
                }
                match tool.read(told.clone()) {
                    Err(errors) => problem(&format!("cannot be read: {errors:?}"), instance, &told),
                    Ok(read) if read == *instance => {}
                    Ok(read)
                        if own.is_valid(&read)
                            && without_nulls(&read) == without_nulls(instance) =>
                    {
                        unread += 1
                    }
                    Ok(read) => problem(&format!("is read as {read}"), instance, &told),
                }
                let Some(members) = named(instance, tool)
                    .as_object()
                    .and_then(|members| referred(members, tool))
                else {
                    continue;
                };
                let told = encode(&members, tool.shown_schema());
                if !judge(&told) {
                    problem("is not accepted with references", instance, &told);
                } else if let Err(errors) = tool.read(told.clone()) {
                    problem(
                        &format!("cannot be read with references: {errors:?}"),
                        instance,
                        &told,
                    );
                }
            }
        }
    }
    report(profile.as_str(), &problems);
    assert!(judged > 4000, "{judged} instances are judged");
    assert!(
        unread * 10 < judged,
        "{unread} of {judged} come back with nulls that they did not have"
    );
}

#[test]
fn lists_for_plain_profiles_are_inside_their_limits() {
    for profile in Profile::ALL
        .into_iter()
        .filter(|profile| !profile.is_strict())
    {
        the_list_keeps_its_laws(profile);
    }
}

#[test]
fn lists_for_strict_profiles_are_inside_their_limits() {
    for profile in Profile::ALL
        .into_iter()
        .filter(|profile| profile.is_strict())
    {
        the_list_keeps_its_laws(profile);
    }
}

#[test]
fn arguments_for_plain_profiles_come_back_as_they_were_meant() {
    for profile in Profile::ALL
        .into_iter()
        .filter(|profile| !profile.is_strict())
    {
        arguments_come_back(profile);
    }
}

#[test]
fn arguments_for_strict_profiles_come_back_as_they_were_meant() {
    for profile in Profile::ALL
        .into_iter()
        .filter(|profile| profile.is_strict())
    {
        arguments_come_back(profile);
    }
}
