//! Correct references, broken in ways that no rule was fitted to.

use crate::mistakes::{
    goals::{Form, dotted, pure, then},
    references::{Break, Intent, Written, object, written},
    selectors::{camel, changed, one, snake, swapped, with_field, with_root},
};
use crossfeed_json::Document;
use crossfeed_tools::Style;
use serde_json::{Value, json};

/// Objects in place of the reference.
fn objects(said: &Intent<'_>, objects: impl IntoIterator<Item = Value>) -> Vec<Written> {
    objects
        .into_iter()
        .map(|object| written(said.put(object)))
        .collect()
}

/// Texts in place of the value.
fn texts(said: &Intent<'_>, texts: impl IntoIterator<Item = String>) -> Vec<Written> {
    texts
        .into_iter()
        .map(|text| written(said.value(text)))
        .collect()
}

/// Texts in place of the reference.
fn serialised(said: &Intent<'_>, texts: impl IntoIterator<Item = String>) -> Vec<Written> {
    objects(said, texts.into_iter().map(Value::from))
}

/// A selector that begins with a name, and has no quotes.
fn is_plain(said: &Intent<'_>) -> bool {
    let begins = |first: char| first.is_ascii_alphabetic() || first == '_';
    said.selector.starts_with(begins) && !said.selector.contains(['"', '\'', '`'])
}

fn alone_if_plain(said: &Intent<'_>, templates: &[&str]) -> Vec<Written> {
    if is_plain(said) {
        said.alone(templates)
    } else {
        Vec::new()
    }
}

/// Whether a text is meant.
fn is_a_text(said: &Intent<'_>) -> bool {
    let meant = pure(&Document::new(said.given.root.to_string()), &said.selector);
    meant.is_some_and(|meant| meant.is_string())
}

/// For texts the signs might be wanted, with the value among them.
fn alone_unless_a_text(said: &Intent<'_>, templates: &[&str]) -> Vec<Written> {
    if is_a_text(said) {
        Vec::new()
    } else {
        said.alone(templates)
    }
}

/// The correct reference with another text for the call.
fn with_id(said: &Intent<'_>, ids: &[&str]) -> Vec<Written> {
    let ids = ids.iter().map(|id| id.replace("CALL", said.id()));
    objects(
        said,
        ids.filter(|id| id != said.id()).map(|id| {
            let mut reference = said.reference();
            reference[said.key("tool")] = id.into();
            reference
        }),
    )
}

/// The id in the way people write it.
fn other_ids(said: &Intent<'_>) -> Vec<String> {
    match said.id().strip_prefix("call_") {
        Some(number) if number.len() < 4 => vec![
            format!("call{number}"),
            format!("call-{number}"),
            format!("Call_{number}"),
            format!("CALL_{number}"),
        ],
        _ => vec![said.id().replacen('_', "-", 1), said.id().to_lowercase()],
    }
}

/// The steps of a path to one value, without signs.
fn steps(said: &Intent<'_>) -> Option<Vec<String>> {
    let root = said.goal.root.iter().cloned();
    match &said.goal.form {
        Form::Whole if !said.goal.root.is_empty() => Some(root.collect()),
        Form::Item(index, field) => {
            let all = root.chain([index.to_string()]);
            Some(all.chain(field.iter().cloned()).collect())
        }
        _ => None,
    }
}

/// The call and a path that a model wrote wrongly, in templates.
fn misread(said: &Intent<'_>, selector: Option<String>) -> Vec<Written> {
    let is_path = said.path().is_some();
    let selectors = one(selector.filter(|_| is_path)).into_iter();
    texts(
        said,
        selectors.flat_map(|selector| {
            let dot = if selector.starts_with('[') { "" } else { "." };
            let path = format!("{}{dot}{selector}", said.id());
            [
                format!("{{{{{path}}}}}"),
                format!("${{{path}}}"),
                format!("${path}"),
                format!("{{{{ {path} }}}}"),
            ]
        }),
    )
}

/// The list of a projection, and the field.
fn projection(said: &Intent<'_>, templates: &[&str]) -> Vec<Written> {
    let Form::Project(field) = &said.goal.form else {
        return Vec::new();
    };
    if said.goal.root.is_empty() || dotted(field).contains('"') || field.len() > 1 {
        return Vec::new();
    }
    let list = format!("{}.{}", said.id(), dotted(&said.goal.root));
    texts(
        said,
        templates
            .iter()
            .map(|template| template.replace("LIST", &list).replace("FIELD", &field[0])),
    )
}

/// An entry of the list form with these beside the target.
fn entry(said: &Intent<'_>, members: &[(&str, Value)]) -> Written {
    let mut entry = json!({"to": said.parameter});
    for (key, value) in members {
        entry[*key] = value.clone();
    }
    written(said.list(entry))
}

fn with_refs(said: &Intent<'_>, refs: Value) -> Written {
    written(object([(said.parameter, Value::Null), ("_refs", refs)]))
}

pub(crate) const CLASSES: &[(&str, Break)] = &[
    // Keys.
    ("`$tool` and `$jmes`", |said| {
        said.keys(&[
            ("$tool", "$jmes"),
            ("$tool", "$jmesPath"),
            ("$tool", "$jmes_path"),
            ("_tool", "_jmespath"),
        ])
    }),
    ("`$toolCall` and `$select`", |said| {
        said.keys(&[
            ("$toolCall", "$select"),
            ("$tool_call", "$select"),
            ("toolCall", "select"),
            ("_tool_call", "_select"),
        ])
    }),
    ("`id` and `path`", |said| {
        said.keys(&[
            ("id", "path"),
            ("id", "select"),
            ("$id", "$path"),
            ("$callID", "$select"),
            ("$call-id", "$select"),
        ])
    }),
    ("`$resultOf` and `$select`", |said| {
        said.keys(&[
            ("$resultOf", "$select"),
            ("$result_of", "$path"),
            ("resultOf", "path"),
            ("$fromCall", "$select"),
            ("from_call", "select"),
        ])
    }),
    ("`$resultId` and `$select`", |said| {
        said.keys(&[
            ("$resultId", "$select"),
            ("$result_id", "$select"),
            ("result_id", "path"),
            ("tool_result_id", "select"),
            ("$toolResultId", "$path"),
        ])
    }),
    ("`$call` and `$expr`", |said| {
        said.keys(&[
            ("$call", "$expr"),
            ("$call", "$query"),
            ("$call", "$jmespath"),
            ("$call", "$field"),
            ("$call", "$selector"),
        ])
    }),
    ("`$tool` and `$property`", |said| {
        said.keys(&[
            ("$tool", "$property"),
            ("$tool", "$prop"),
            ("$tool", "$attr"),
            ("$tool", "$at"),
            ("_tool", "_key"),
            ("$tool", "$part"),
        ])
    }),
    ("`$tool` and `$output_path`", |said| {
        said.keys(&[
            ("$tool", "$output_path"),
            ("$tool", "$outputPath"),
            ("$tool", "$result_path"),
            ("$tool", "$json_path"),
            ("$tool", "$value_path"),
        ])
    }),
    ("`tool_call_id` and `query`", |said| {
        said.keys(&[
            ("tool_call_id", "query"),
            ("tool_call_id", "selector"),
            ("tool_call_id", "field"),
            ("tool_call_id", "jmespath"),
            ("toolCallId", "expression"),
        ])
    }),
    ("`$handle` and `$select`", |said| {
        said.keys(&[
            ("$handle", "$select"),
            ("handle", "select"),
            ("$variable", "$path"),
            ("$var", "$select"),
            ("$data", "$select"),
        ])
    }),
    ("`$node` and `$output`", |said| {
        said.keys(&[
            ("$node", "$output"),
            ("node_id", "output"),
            ("$stepId", "$path"),
            ("$action", "$select"),
            ("$task", "$select"),
        ])
    }),
    ("`ref` and `select`", |said| {
        said.keys(&[
            ("ref", "select"),
            ("$reference", "$select"),
            ("ref", "jmespath"),
            ("_ref", "_path"),
            ("reference", "selector"),
        ])
    }),
    ("blanks or quotes in the keys", |said| {
        said.keys(&[
            ("$tool ", "$select "),
            ("$ tool", "$ select"),
            ("\"$tool\"", "\"$select\""),
            ("'_tool'", "'_select'"),
            (" $tool", " $select"),
        ])
    }),
    ("signs round the keys", |said| {
        said.keys(&[
            ("${tool}", "${select}"),
            ("$.tool", "$.select"),
            (":tool", ":select"),
            ("$tool:", "$select:"),
            ("\\$tool", "\\$select"),
            ("!tool", "!select"),
        ])
    }),
    ("both keys misspelt", |said| {
        said.keys(&[
            ("$toool", "$selct"),
            ("$tool", "$slect"),
            ("$tool", "$selects"),
            ("$tool", "$selected"),
            ("_tol", "_slect"),
            ("$tooll", "$selecter"),
        ])
    }),
    ("`$toolName` and `$select`", |said| {
        said.keys(&[
            ("$toolName", "$select"),
            ("toolName", "path"),
            ("$function", "$select"),
            ("function", "path"),
            ("$name", "$path"),
        ])
    }),
    ("both spellings at once", |said| {
        let (id, selector) = (said.id(), said.selector.as_str());
        objects(
            said,
            [
                json!({"$tool": id, "$select": selector, "$path": selector}),
                json!({"$tool": id, "_tool": id, "$select": selector, "_select": selector}),
                json!({"$tool": id, "$call": id, "$select": selector}),
                json!({"tool": id, "tool_call_id": id, "select": selector}),
                json!({"$ref": id, "$tool": id, "$select": selector}),
            ],
        )
    }),
    ("options that are not there, empty", |said| {
        let others = [
            ("$index", Value::Null),
            ("$filter", Value::Null),
            ("$transform", Value::Null),
            ("$limit", Value::Null),
            ("$args", json!({})),
            ("$path", json!("")),
            ("$field", Value::Null),
        ];
        objects(
            said,
            others.map(|(key, value)| {
                let mut reference = said.reference();
                reference[key] = value;
                reference
            }),
        )
    }),
    ("the selector in several keys", |said| {
        match &said.goal.form {
            Form::Item(index, field) if !said.goal.root.is_empty() && !field.is_empty() => {
                let list = dotted(&said.goal.root);
                let item = format!("{list}[{index}]");
                let field = dotted(field);
                objects(
                    said,
                    [
                        json!({"$tool": said.id(), "$select": item, "$field": field}),
                        json!({"$tool": said.id(), "$select": list, "$index": index, "$field": field}),
                        json!({"$tool": said.id(), "$path": item, "$key": field}),
                        json!({"tool": said.id(), "path": list, "index": index, "field": field}),
                    ],
                )
            }
            Form::Project(field) if !said.goal.root.is_empty() && !field.is_empty() => objects(
                said,
                [
                    json!({"$tool": said.id(), "$select": dotted(&said.goal.root), "$map": dotted(field)}),
                    json!({"$tool": said.id(), "$select": format!("{}[*]", dotted(&said.goal.root)), "$field": dotted(field)}),
                ],
            ),
            _ => Vec::new(),
        }
    }),
    ("a list of texts in `$select`", |said| match steps(said) {
        Some(steps) if steps.len() > 1 => {
            let parts: Vec<&str> = said.selector.split('.').collect();
            let mut all = vec![json!(steps)];
            if parts.len() > 1 && is_plain(said) {
                all.push(json!(parts));
            }
            objects(
                said,
                all.into_iter().flat_map(|list| {
                    [
                        json!({"$tool": said.id(), "$select": list}),
                        json!({"$tool": said.id(), "$path": list}),
                    ]
                }),
            )
        }
        _ => Vec::new(),
    }),
    ("call and selector in one text of a key", |said| {
        if !is_plain(said) {
            return Vec::new();
        }
        let joined = [" | ", "#", ":", "/", " -> ", "->", "::", " "];
        let texts = joined.map(|sign| format!("{}{sign}{}", said.id(), said.selector));
        objects(
            said,
            texts
                .into_iter()
                .flat_map(|text| [json!({"$tool": text}), json!({"$ref": text})]),
        )
    }),
    ("a pair in one key", |said| {
        objects(
            said,
            ["$call", "$get", "$from", "$reference", "_tool"]
                .map(|key| object([(key, json!([said.id(), said.selector]))])),
        )
    }),
    ("a template in a key", |said| match said.path() {
        Some(path) => objects(
            said,
            [
                json!({"$ref": format!("{{{{{path}}}}}")}),
                json!({"$tool": format!("${{{path}}}")}),
                json!({"$expr": format!("{{{{{path}}}}}")}),
                json!({"$value": format!("${path}")}),
                json!({"value": format!("{{{{{path}}}}}")}),
            ],
        ),
        None => Vec::new(),
    }),
    ("the blocks of an API", |said| {
        objects(
            said,
            [
                json!({"type": "function_call_output", "call_id": said.id(), "select": said.selector}),
                json!({"type": "tool_output", "tool_call_id": said.id(), "path": said.selector}),
                json!({"role": "tool", "tool_call_id": said.id(), "select": said.selector}),
                json!({"type": "tool_use", "id": said.id(), "select": said.selector}),
                json!({"type": "variable", "name": said.id(), "path": said.selector}),
            ],
        )
    }),
    ("the reference within another sign", |said| {
        objects(
            said,
            ["$lookup", "$inject", "$fill", "$arg", "$use", "$fetch"]
                .map(|key| object([(key, said.reference())])),
        )
    }),
    ("a list round the two keys", |said| {
        let (tool, select) = (said.key("tool"), said.key("select"));
        objects(
            said,
            [
                Value::Array(vec![
                    object([(&tool, said.id().into())]),
                    object([(&select, said.selector.as_str().into())]),
                ]),
                json!([{"key": tool, "value": said.id()}, {"key": select, "value": said.selector}]),
                object([
                    (&tool, said.id().into()),
                    ("args", object([(&select, said.selector.as_str().into())])),
                ]),
                object([
                    (&tool, said.id().into()),
                    (
                        "options",
                        object([(&select, said.selector.as_str().into())]),
                    ),
                ]),
            ],
        )
    }),
    // Ids.
    ("longer prefixes of the id", |said| {
        with_id(
            said,
            &[
                "tool_call_CALL",
                "id=CALL",
                "tool_use:CALL",
                "$tool:CALL",
                "results/CALL",
                "tool_call_id:CALL",
                "result_of_CALL",
            ],
        )
    }),
    ("signs and words behind the id", |said| {
        with_id(
            said,
            &[
                "CALL@latest",
                "CALL.json",
                "CALL (result)",
                "CALL/output",
                "CALL:result",
                "CALL_output",
                "CALL,",
            ],
        )
    }),
    ("words for the id", |said| {
        with_id(
            said,
            &[
                "result of CALL",
                "the result of CALL",
                "tool call CALL",
                "CALL result",
                "output of CALL",
            ],
        )
    }),
    ("the tool's name and the id in one text", |said| {
        let tool = said.given.tool;
        with_id(
            said,
            &[
                &format!("{tool}#CALL"),
                &format!("{tool}/CALL"),
                &format!("{tool} (CALL)"),
                &format!("CALL ({tool})"),
                &format!("{tool}[CALL]"),
                &format!("mcp__server__{tool}:CALL"),
            ],
        )
    }),
    ("another form of the id in a template", |said| {
        match said.path() {
            Some(path) => {
                let steps = &path[said.id().len()..];
                texts(
                    said,
                    other_ids(said)
                        .into_iter()
                        .filter(|id| id != said.id())
                        .flat_map(|id| {
                            [format!("{{{{{id}{steps}}}}}"), format!("${{{id}{steps}}}")]
                        }),
                )
            }
            None => Vec::new(),
        }
    }),
    ("the id's prefix left out in a template", |said| {
        match (said.path(), said.id().split_once('_')) {
            (Some(path), Some((_, rest))) if rest.len() > 10 => {
                let steps = &path[said.id().len()..];
                texts(
                    said,
                    [
                        format!("{{{{{rest}{steps}}}}}"),
                        format!("${{{rest}{steps}}}"),
                        format!("{{{{{}...{steps}}}}}", &said.id()[..14]),
                    ],
                )
            }
            _ => Vec::new(),
        }
    }),
    // Templates.
    ("other signs before brackets", |said| {
        said.alone(&[
            "$[PATH]", "%{PATH}", "%(PATH)s", "$<PATH>", "~{PATH}", "#[PATH]",
        ])
    }),
    ("signs of Handlebars within braces", |said| {
        said.alone(&[
            "{{#PATH}}",
            "{{> PATH}}",
            "{{= PATH }}",
            "{{~PATH~}}",
            "{{^PATH}}",
            "{{@root.PATH}}",
        ])
    }),
    ("more braces", |said| {
        said.alone(&["{{{{PATH}}}}", "${{{PATH}}}", "{{{{ PATH }}}}"])
    }),
    ("Markdown round a path", |said| {
        alone_unless_a_text(
            said,
            &[
                "**PATH**",
                "[PATH](PATH)",
                "- PATH",
                "[PATH]",
                "(PATH)",
                "((PATH))",
            ],
        )
    }),
    ("the word `ref` within a template", |said| {
        said.alone(&[
            "{{ref:PATH}}",
            "{{ref PATH}}",
            "${ref:PATH}",
            "[ref:PATH]",
            "[[ref:PATH]]",
            "<ref:PATH>",
            "@{ref:PATH}",
        ])
    }),
    ("a word within a template", |said| {
        said.alone(&[
            "{{tool:PATH}}",
            "{{call:PATH}}",
            "{{result:PATH}}",
            "{{from PATH}}",
            "{{get PATH}}",
            "{{use PATH}}",
            "${result:PATH}",
        ])
    }),
    ("a placeholder in words, with the path", |said| {
        said.alone(&[
            "<value of PATH>",
            "<insert PATH here>",
            "{{value of PATH}}",
            "[insert PATH]",
            "<value from PATH>",
            "<the value of PATH>",
            "{{insert PATH}}",
        ])
    }),
    ("a placeholder in words, with call and selector", |said| {
        alone_if_plain(
            said,
            &[
                "<SELECTOR from CALL>",
                "{{SELECTOR from CALL}}",
                "<output of CALL: SELECTOR>",
                "{{result of CALL: SELECTOR}}",
                "[SELECTOR of CALL]",
                "<CALL result: SELECTOR>",
                "{SELECTOR from CALL}",
            ],
        )
    }),
    ("other words before the id in a template", |said| {
        said.alone(&[
            "{{tool_outputs.PATH}}",
            "{{tool_calls.PATH}}",
            "{{responses.PATH}}",
            "{{toolResults.PATH}}",
            "${tool_results.PATH}",
            "{{calls.PATH}}",
            "${outputs.PATH}",
        ])
    }),
    ("words of agents before the id in a template", |said| {
        said.alone(&[
            "{{context.PATH}}",
            "{{memory.PATH}}",
            "{{state.PATH}}",
            "{{vars.PATH}}",
            "{{inputs.PATH}}",
            "{{nodes.PATH}}",
            "{{history.PATH}}",
            "${context.PATH}",
        ])
    }),
    ("two words of an envelope in a template", |said| {
        said.alone(&[
            "{{CALL.output.dataSTEPS}}",
            "{{CALL.result.dataSTEPS}}",
            "{{CALL.response.bodySTEPS}}",
            "${CALL.result.outputSTEPS}",
            "{{CALL.content[0].jsonSTEPS}}",
        ])
    }),
    ("other words of an envelope in a template", |said| {
        said.alone(&[
            "{{CALL.jsonSTEPS}}",
            "{{CALL.outputsSTEPS}}",
            "{{CALL.return_valueSTEPS}}",
            "{{CALL.parsedSTEPS}}",
            "{{CALL[0]STEPS}}",
            "{{CALL.bodySTEPS}}",
            "{{CALL.payloadSTEPS}}",
        ])
    }),
    ("a parser in a template", |said| {
        said.alone(&[
            "{{JSON.parse(CALL)STEPS}}",
            "${JSON.parse(CALL.content[0].text)STEPS}",
            "{{ json.loads(CALL)STEPS }}",
            "{{fromJson(CALL)STEPS}}",
            "${(await CALL)STEPS}",
            "{{parseJSON(CALL)STEPS}}",
        ])
    }),
    ("a call with the id, and the path behind it", |said| {
        said.alone(&[
            "$tool(CALL)STEPS",
            "tool(\"CALL\")STEPS",
            "$('CALL')STEPS",
            "output('CALL')STEPS",
            "{{tool('CALL')STEPS}}",
            "{{output(\"CALL\")STEPS}}",
            "step('CALL').outputSTEPS",
        ])
    }),
    ("brackets behind a bare id", |said| match steps(said) {
        Some(steps) => {
            let of = |quote: &str| -> String {
                steps
                    .iter()
                    .map(|step| match step.parse::<usize>() {
                        Ok(index) => format!("[{index}]"),
                        Err(_) => format!("[{quote}{step}{quote}]"),
                    })
                    .collect()
            };
            let id = said.id();
            texts(
                said,
                [
                    format!("{id}{}", of("'")),
                    format!("{id}{}", of("\"")),
                    format!("${id}{}", of("'")),
                    format!("{{{id}{}}}", of("'")),
                ],
            )
        }
        None => Vec::new(),
    }),
    ("slashes behind an id", |said| match steps(said) {
        Some(steps) if steps.len() > 1 && !steps.iter().any(|step| step.contains(['/', ' '])) => {
            let path = format!("{}/{}", said.id(), steps.join("/"));
            texts(
                said,
                [
                    path.clone(),
                    format!("{{{{{path}}}}}"),
                    format!("/{path}"),
                    format!("@{path}"),
                    format!("${{{path}}}"),
                    format!("#/{path}"),
                ],
            )
        }
        _ => Vec::new(),
    }),
    ("an index behind a dot", |said| {
        match (&said.goal.form, steps(said)) {
            (Form::Item(..), Some(steps))
                if !steps
                    .iter()
                    .any(|step| step.contains(['.', ' ', '"', '-', '('])) =>
            {
                let path = format!("{}.{}", said.id(), steps.join("."));
                texts(
                    said,
                    [
                        path.clone(),
                        format!("{{{{{path}}}}}"),
                        format!("${{{path}}}"),
                        format!("${path}"),
                        format!("{{{path}}}"),
                    ],
                )
            }
            _ => Vec::new(),
        }
    }),
    ("a path of jq behind the id", |said| {
        alone_if_plain(
            said,
            &[
                "{{CALL | .SELECTOR}}",
                "CALL | .SELECTOR",
                "{{CALL|.SELECTOR}}",
                "CALL|jq '.SELECTOR'",
                "{{ CALL | jq('.SELECTOR') }}",
                "${CALL | .SELECTOR}",
            ],
        )
    }),
    ("a projection of Jinja in a template", |said| {
        projection(
            said,
            &[
                "{{ LIST | map(attribute='FIELD') | list }}",
                "{{ LIST|map(attribute=\"FIELD\")|list }}",
                "{{ LIST | map('FIELD') }}",
                "{{LIST | map: 'FIELD'}}",
            ],
        )
    }),
    ("a projection of a language in a template", |said| {
        projection(
            said,
            &[
                "${LIST.map(x => x.FIELD)}",
                "{{LIST.map(i => i.FIELD)}}",
                "{{ [x.FIELD for x in LIST] }}",
                "${LIST.map((item) => item.FIELD)}",
                "{{LIST.*.FIELD}}",
            ],
        )
    }),
    ("`[*]` missing in a template", |said| {
        projection(
            said,
            &[
                "{{LIST.FIELD}}",
                "${LIST.FIELD}",
                "{{LIST[].FIELD}}",
                "$LIST.FIELD",
                "{{ LIST.FIELD }}",
            ],
        )
    }),
    ("a loop in a template", |said| {
        projection(
            said,
            &[
                "{% for x in LIST %}{{ x.FIELD }}{% endfor %}",
                "{{#each LIST}}{{FIELD}}{{/each}}",
                "{{#LIST}}{{FIELD}}{{/LIST}}",
            ],
        )
    }),
    ("a word for the index in a template", |said| {
        match &said.goal.form {
            Form::Item(0, field) if is_plain(said) && !field.is_empty() => {
                let list = format!("{}.{}", said.id(), dotted(&said.goal.root));
                let field = then(field);
                texts(
                    said,
                    [
                        format!("{{{{{list}.first{field}}}}}"),
                        format!("{{{{ ({list} | first){field} }}}}"),
                        format!("{{{{{list}[first]{field}}}}}"),
                        format!("{{{{first({list}){field}}}}}"),
                    ],
                )
            }
            Form::Last(field) if is_plain(said) && !field.is_empty() => {
                let list = format!("{}.{}", said.id(), dotted(&said.goal.root));
                let field = then(field);
                texts(
                    said,
                    [
                        format!("{{{{{list}.last{field}}}}}"),
                        format!("{{{{ ({list} | last){field} }}}}"),
                        format!("{{{{last({list}){field}}}}}"),
                    ],
                )
            }
            _ => Vec::new(),
        }
    }),
    ("a misspelt field in a template", |said| {
        misread(said, with_field(said.goal, swapped))
    }),
    ("another style of the field in a template", |said| {
        misread(
            said,
            with_field(said.goal, |word| camel(word).or_else(|| snake(word))),
        )
    }),
    ("a misspelt list in a template", |said| {
        misread(said, with_root(said.goal, swapped))
    }),
    ("the list left out in a template", |said| {
        misread(
            said,
            changed(said.goal, |goal| {
                (goal.root.len() == 1 && goal.is_of_a_list()).then(|| goal.root.clear())
            }),
        )
    }),
    ("a text in quotes of another language", |said| {
        said.alone(&[
            "f'''{PATH}'''",
            "$\"{PATH}\"",
            "'{PATH}'.format(**results)",
            "t`${PATH}`",
            "\"#{PATH}\"",
            "\"\\(PATH)\"",
        ])
    }),
    // Amid text.
    ("`%{…}` amid text", |said| said.amid("%{PATH}")),
    ("`{{ref:…}}` amid text", |said| said.amid("{{ref:PATH}}")),
    ("`<value of …>` amid text", |said| {
        said.amid("<value of PATH>")
    }),
    ("`[insert …]` amid text", |said| {
        said.amid("[insert PATH]")
    }),
    ("`{{tool_results.…}}` amid text", |said| {
        said.amid("{{tool_results.PATH}}")
    }),
    ("`${outputs.…}` amid text", |said| {
        said.amid("${outputs.PATH}")
    }),
    ("`{{context.…}}` amid text", |said| {
        said.amid("{{context.PATH}}")
    }),
    ("a default amid text", |said| said.amid("{{ PATH ?? '' }}")),
    ("`{{… | string}}` amid text", |said| {
        said.amid("{{ PATH | string }}")
    }),
    ("brackets amid text", |said| match steps(said) {
        Some(steps) => {
            let path: String = steps
                .iter()
                .map(|step| match step.parse::<usize>() {
                    Ok(index) => format!("[{index}]"),
                    Err(_) => format!("['{step}']"),
                })
                .collect();
            let mut all = said.amid_with(&format!("{{{}{path}}}", said.id()));
            all.extend(said.amid_with(&format!("{{{{{}{path}}}}}", said.id())));
            all
        }
        None => Vec::new(),
    }),
    ("an index behind a dot amid text", |said| {
        match (&said.goal.form, steps(said)) {
            (Form::Item(..), Some(steps))
                if !steps
                    .iter()
                    .any(|step| step.contains(['.', ' ', '"', '-', '('])) =>
            {
                said.amid_with(&format!("{{{{{}.{}}}}}", said.id(), steps.join(".")))
            }
            _ => Vec::new(),
        }
    }),
    ("an envelope amid text", |said| match said.path() {
        Some(path) => said.amid_with(&format!(
            "{{{{{}.output{}}}}}",
            said.id(),
            &path[said.id().len()..]
        )),
        None => Vec::new(),
    }),
    ("another form of the id amid text", |said| {
        match (said.path(), other_ids(said).first()) {
            (Some(path), Some(id)) if id != said.id() => {
                said.amid_with(&format!("{{{{{id}{}}}}}", &path[said.id().len()..]))
            }
            _ => Vec::new(),
        }
    }),
    ("a misspelt field amid text", |said| {
        match with_field(said.goal, swapped) {
            Some(selector)
                if said.path().is_some()
                    && selector.starts_with(|first: char| first.is_ascii_alphabetic()) =>
            {
                said.amid_with(&format!("{{{{{}.{selector}}}}}", said.id()))
            }
            _ => Vec::new(),
        }
    }),
    ("a reference with `$ref` amid text", |said| {
        match said.path() {
            Some(path) => said.amid_with(&json!({"$ref": path}).to_string()),
            None => Vec::new(),
        }
    }),
    // Serialised.
    ("serialised, as an address's query", |said| {
        if !is_plain(said) {
            return Vec::new();
        }
        let (id, selector) = (said.id(), &said.selector);
        serialised(
            said,
            [
                format!("$tool={id}&$select={selector}"),
                format!("tool={id};select={selector}"),
                format!("_tool={id}, _select={selector}"),
                format!("?tool={id}&select={selector}"),
            ],
        )
    }),
    ("serialised, as options of a command", |said| {
        let (id, selector) = (said.id(), &said.selector);
        if selector.contains('\'') {
            return Vec::new();
        }
        serialised(
            said,
            [
                format!("--tool {id} --select '{selector}'"),
                format!("$tool {id} $select {selector}"),
                format!("@tool {id} | select '{selector}'"),
                format!("crossfeed select {id} '{selector}'"),
            ],
        )
    }),
    ("serialised, in quotes", |said| {
        let reference = said.reference();
        serialised(
            said,
            [
                format!("'{reference}'"),
                format!("\"{reference}\""),
                format!("'''{reference}'''"),
            ],
        )
    }),
    ("serialised, with a sign behind", |said| {
        if is_a_text(said) {
            return Vec::new();
        }
        let reference = said.reference();
        serialised(
            said,
            [
                format!("{reference}."),
                format!("{reference};"),
                format!("{reference},"),
                format!("{reference})"),
                format!("{reference}\n\n"),
            ],
        )
    }),
    ("serialised, as JSON5", |said| {
        if said.selector.contains('\'') {
            return Vec::new();
        }
        let (id, selector) = (said.id(), &said.selector);
        serialised(
            said,
            [
                format!("{{tool: '{id}', select: '{selector}'}}"),
                format!("{{$tool: '{id}', $select: '{selector}'}}"),
                format!("{{ _tool: '{id}', _select: '{selector}', }}"),
                format!("{{$tool: `{id}`, $select: `{selector}`}}"),
            ],
        )
    }),
    ("serialised, as a constructor", |said| {
        if !is_plain(said) {
            return Vec::new();
        }
        let (id, selector) = (said.id(), &said.selector);
        serialised(
            said,
            [
                format!("Reference(tool=\"{id}\", select=\"{selector}\")"),
                format!("ToolRef('{id}', '{selector}')"),
                format!("new Ref(\"{id}\", \"{selector}\")"),
                format!("$ref('{id}').{selector}"),
                format!("dict(_tool='{id}', _select='{selector}')"),
            ],
        )
    }),
    // Styles.
    ("other keys in an entry of the map", |said| {
        match said.style {
            Style::Refs => [
                ("_call", "_path"),
                ("_id", "_select"),
                ("tool_call_id", "select"),
                ("id", "path"),
                ("_tool", "_query"),
                ("call", "select"),
            ]
            .map(|(call, select)| {
                written(said.map(object([
                    (call, said.id().into()),
                    (select, said.selector.as_str().into()),
                ])))
            })
            .into(),
            _ => Vec::new(),
        }
    }),
    (
        "an entry with call and selector in one text",
        |said| match said.style {
            Style::Inline => Vec::new(),
            _ if is_plain(said) => [":", "#", " | ", " ", "/", " -> "]
                .map(|sign| written(said.map(format!("{}{sign}{}", said.id(), said.selector))))
                .into(),
            _ => Vec::new(),
        },
    ),
    ("an entry of the list with a path", |said| {
        match (said.style, said.path()) {
            (Style::RefsList, Some(path)) => vec![
                entry(said, &[("from", json!(path))]),
                entry(said, &[("tool", json!(path))]),
                entry(said, &[("ref", json!(path))]),
                entry(said, &[("value", json!(format!("{{{{{path}}}}}")))]),
                entry(said, &[("source", json!(path))]),
            ],
            _ => Vec::new(),
        }
    }),
    ("other pairs of keys in the list", |said| match said.style {
        Style::RefsList => [
            ("call_id", "path"),
            ("tool", "path"),
            ("tool", "query"),
            ("id", "selector"),
            ("from", "path"),
            ("tool", "jmespath"),
            ("result", "select"),
        ]
        .map(|(call, select)| {
            entry(
                said,
                &[
                    (call, said.id().into()),
                    (select, said.selector.as_str().into()),
                ],
            )
        })
        .into(),
        _ => Vec::new(),
    }),
    ("an entry of the list as a list or a line", |said| {
        match (said.style, said.path()) {
            (Style::RefsList, Some(path)) => vec![
                with_refs(said, json!([[said.parameter, said.id(), said.selector]])),
                with_refs(said, json!([format!("{} = {path}", said.parameter)])),
                with_refs(said, json!([format!("{}: {path}", said.parameter)])),
                with_refs(said, json!([format!("{} <- {path}", said.parameter)])),
                with_refs(said, json!([path])),
            ],
            _ => Vec::new(),
        }
    }),
    ("the parameter points to the map", |said| match said.style {
        Style::Inline => Vec::new(),
        _ => [
            "$_refs.PARAMETER",
            "{{_refs.PARAMETER}}",
            "_refs",
            "${refs.PARAMETER}",
            "#/_refs/PARAMETER",
            "$ref",
            "__REF__",
            "<<ref>>",
        ]
        .map(|text| {
            let mut arguments = said.arguments();
            arguments[said.parameter] = text.replace("PARAMETER", said.parameter).into();
            written(arguments)
        })
        .into(),
    }),
    ("the reference at both places", |said| match said.style {
        Style::Inline => Vec::new(),
        _ => [
            said.reference(),
            json!({"$tool": said.id(), "$select": said.selector}),
            json!({"tool": said.id(), "select": said.selector}),
        ]
        .map(|reference| {
            let mut arguments = said.arguments();
            arguments[said.parameter] = reference;
            written(arguments)
        })
        .into(),
    }),
    ("an empty map beside a template", |said| {
        match (said.style, said.path()) {
            (Style::Inline, _) | (_, None) => Vec::new(),
            (_, Some(path)) => [json!({}), json!([]), Value::Null]
                .into_iter()
                .flat_map(|refs| {
                    [format!("{{{{{path}}}}}"), format!("${{{path}}}")].map(|text| {
                        written(object([
                            (said.parameter, text.into()),
                            ("_refs", refs.clone()),
                        ]))
                    })
                })
                .collect(),
        }
    }),
    ("the tool's name or a word in the map", |said| {
        match said.style {
            Style::Refs => ["next", "args", "parameters", "input", "params"]
                .map(|key| with_refs(said, json!({key: {said.parameter: said.reference()}})))
                .into(),
            Style::RefsList => [
                format!("next.{}", said.parameter),
                format!("args.{}", said.parameter),
                format!("parameters/{}", said.parameter),
                format!("next/{}", said.parameter),
            ]
            .map(|to| {
                written(said.list(json!({"to": to, "tool": said.id(), "select": said.selector})))
            })
            .into(),
            _ => Vec::new(),
        }
    }),
    ("the parameter by another name", |said| match said.style {
        Style::Inline => [
            "$PARAMETER",
            "_PARAMETER",
            "PARAMETER_ref",
            "PARAMETERRef",
            "PARAMETER_from",
            "PARAMETER.$ref",
        ]
        .map(|key| {
            written(object([(
                &key.replace("PARAMETER", said.parameter),
                said.reference(),
            )]))
        })
        .into(),
        _ => Vec::new(),
    }),
    ("the arguments within another object", |said| {
        match said.style {
            Style::Inline => ["arguments", "input", "params", "kwargs", "args"]
                .map(|key| written(object([(key, said.arguments())])))
                .into(),
            _ => Vec::new(),
        }
    }),
];
