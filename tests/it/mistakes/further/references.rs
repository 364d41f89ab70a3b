//! Correct references, broken in further ways.

use crate::mistakes::{
    dialects::{Theme, theme},
    goals::{Form, dotted, pure},
    references::{Break, Intent, Written, object, python, written},
};
use crossfeed_json::Document;
use crossfeed_tools::Style;
use serde_json::{Map, Value, json};

/// References as objects, where the style has them.
fn objects(said: &Intent<'_>, objects: impl IntoIterator<Item = Value>) -> Vec<Written> {
    objects
        .into_iter()
        .map(|object| written(said.put(object)))
        .collect()
}

/// A selector that begins with a name.
fn is_named(said: &Intent<'_>) -> bool {
    said.selector
        .starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

/// The correct reference with another text for the call.
fn with_id(said: &Intent<'_>, ids: impl IntoIterator<Item = String>) -> Vec<Written> {
    let written_ids = ids.into_iter().filter(|id| id != said.id());
    let reference = |id: String| {
        let mut reference = said.reference();
        reference[said.key("tool")] = id.into();
        reference
    };
    objects(said, written_ids.map(reference))
}

fn alone_if_named(said: &Intent<'_>, templates: &[&str]) -> Vec<Written> {
    if is_named(said) {
        said.alone(templates)
    } else {
        Vec::new()
    }
}

/// What is meant.
fn meant(said: &Intent<'_>) -> Option<Value> {
    pure(&Document::new(said.given.root.to_string()), &said.selector)
}

/// For texts the words might be wanted, with the value among them.
fn alone_unless_a_text(said: &Intent<'_>, templates: &[&str]) -> Vec<Written> {
    if meant(said).is_some_and(|meant| meant.is_string()) {
        Vec::new()
    } else {
        said.alone(templates)
    }
}

/// `/items/0/url`
fn pointer(said: &Intent<'_>) -> Option<String> {
    let is_plain = said
        .selector
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || "_.[]".contains(char));
    let path = said
        .path()
        .filter(|_| is_plain && !said.selector.contains("[]"))?;
    let steps = path[said.id().len()..]
        .replace(']', "")
        .replace(['.', '['], "/");
    matches!(said.goal.form, Form::Whole | Form::Item(..)).then_some(steps)
}

fn texts(said: &Intent<'_>, texts: impl IntoIterator<Item = String>) -> Vec<Written> {
    texts
        .into_iter()
        .map(|text| written(said.put(text.into())))
        .collect()
}

/// `{"_refs": …}` with the parameter null.
fn with_refs(said: &Intent<'_>, refs: Value) -> Written {
    written(object([(said.parameter, Value::Null), ("_refs", refs)]))
}

/// An entry of the list form.
fn entry(said: &Intent<'_>) -> Value {
    json!({"to": said.parameter, "tool": said.id(), "select": said.selector})
}

fn camel(word: &str) -> String {
    let mut parts = word.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    let rest = parts.map(|part| {
        let (head, tail) = part.split_at(part.len().min(1));
        head.to_uppercase() + tail
    });
    first + &rest.collect::<String>()
}

pub(crate) const CLASSES: &[(&str, Break)] = &[
    // Templates of systems.
    ("Airflow", |said| {
        said.alone(&[
            "{{ ti.xcom_pull(task_ids='CALL')STEPS }}",
            "{{ task_instance.xcom_pull('CALL')STEPS }}",
            "{{ ti.xcom_pull(\"CALL\", key=\"return_value\")STEPS }}",
        ])
    }),
    ("GitHub Actions", |said| {
        said.alone(&[
            "${{ steps.CALL.outputsSTEPS }}",
            "${{ fromJSON(steps.CALL.outputs.result)STEPS }}",
            "${{ needs.CALL.outputsSTEPS }}",
            "${{ steps.CALL.outputs.resultSTEPS }}",
        ])
    }),
    ("n8n", |said| {
        said.alone(&[
            "{{ $node[\"CALL\"].jsonSTEPS }}",
            "={{ $('CALL').item.jsonSTEPS }}",
            "{{ $('CALL').first().jsonSTEPS }}",
            "={{ $json.PATH }}",
            "={{PATH}}",
        ])
    }),
    ("Zapier and Make", |said| match pointer(said) {
        Some(steps) if !said.selector.contains("__") => {
            let joined = format!("{}{}", said.id(), steps.replace('/', "__"));
            vec![
                written(said.value(format!("{{{{{joined}}}}}"))),
                written(said.value(format!("{{{{steps.{joined}}}}}"))),
            ]
        }
        _ => Vec::new(),
    }),
    ("LangChain and Mustache", |said| {
        said.alone(&["{{{PATH}}}", "{{{ PATH }}}", "{{&PATH}}", "{{& PATH}}"])
    }),
    ("Python's format", |said| match &said.goal.form {
        Form::Item(index, field) => {
            let steps: String = said
                .goal
                .root
                .iter()
                .cloned()
                .chain([index.to_string()])
                .chain(field.iter().cloned())
                .map(|step| format!("[{step}]"))
                .collect();
            vec![written(said.value(format!("{{{}{steps}}}", said.id())))]
        }
        _ => Vec::new(),
    }),
    ("ReWOO and LLMCompiler", |said| {
        said.alone(&["#PATH", "#{PATH}", "[#CALL]STEPS", "(#CALL)STEPS"])
    }),
    ("Semantic Kernel", |said| {
        said.alone(&["{{$CALLSTEPS}}", "{{ $PATH }}", "{{call.CALLSTEPS}}"])
    }),
    ("Arazzo and OpenAPI links", |said| {
        let mut all = said.alone(&["$steps.CALL.outputsSTEPS", "{$steps.CALL.outputsSTEPS}"]);
        if let Some(steps) = pointer(said) {
            all.push(written(
                said.value(format!("$steps.{}.response.body#{steps}", said.id())),
            ));
            all.push(written(
                said.value(format!("$response.{}.body#{steps}", said.id())),
            ));
        }
        all
    }),
    ("Step Functions", |said| {
        let Some(path) = said.path() else {
            return Vec::new();
        };
        let key = format!("{}.$", said.parameter);
        vec![
            written(object([(&key, format!("$.{path}").into())])),
            written(said.value(format!("$.{path}"))),
            written(said.value(format!("$['{}']{}", said.id(), &path[said.id().len()..]))),
            written(said.value(format!("{{% $states.result.{path} %}}"))),
        ]
    }),
    ("Argo and Tekton", |said| {
        said.alone(&[
            "{{tasks.CALL.outputs.resultSTEPS}}",
            "{{steps.CALL.outputs.parametersSTEPS}}",
            "$(tasks.CALL.resultsSTEPS)",
            "{{=jsonpath(tasks.CALL.outputs.result, '$STEPS')}}",
        ])
    }),
    ("Terraform", |said| {
        said.alone(&[
            "${module.PATH}",
            "${data.PATH}",
            "module.PATH",
            "${local.PATH}",
            "${jsondecode(CALL)STEPS}",
        ])
    }),
    ("Ansible", |said| {
        said.alone(&[
            "{{ CALL.jsonSTEPS }}",
            "{{ hostvars['CALL']STEPS }}",
            "{{ (CALL | from_json)STEPS }}",
            "{{ CALL.stdout | from_json }}STEPS",
        ])
    }),
    ("Go templates", |said| {
        let mut all = said.alone(&[
            "{{ .PATH }}",
            "{{.PATH}}",
            "{{ .Steps.PATH }}",
            "{{ $.PATH }}",
            "{{- .PATH -}}",
        ]);
        if let (Form::Item(index, field), false) = (&said.goal.form, said.goal.root.is_empty()) {
            all.push(written(said.value(format!(
                "{{{{ (index .{}.{} {index}).{} }}}}",
                said.id(),
                dotted(&said.goal.root),
                dotted(field)
            ))));
        }
        all
    }),
    ("filters of Jinja", |said| {
        said.alone(&[
            "{{ PATH | tojson }}",
            "{{ PATH | default('') }}",
            "{{ PATH|string }}",
            "{{ PATH | safe }}",
            "{{ PATH | default(omit) }}",
            "{{ PATH|trim }}",
        ])
    }),
    ("statements of Jinja", |said| {
        said.alone(&["{% print(PATH) %}", "{{- PATH -}}", "{%= PATH %}"])
    }),
    ("ERB and EJS", |said| {
        said.alone(&["<%= PATH %>", "<%- PATH %>", "<%=PATH%>", "<?= PATH ?>"])
    }),
    ("a command of a shell", |said| {
        said.alone(&[
            "$(echo $CALL | jq -r '.SELECTOR')",
            "$(jq '.SELECTOR' <<< \"$CALL\")",
            "`jq -r .SELECTOR CALL`",
        ])
        .into_iter()
        .filter(|_| is_named(said) && !said.selector.contains('"'))
        .collect()
    }),
    ("PHP, Perl and PowerShell", |said| {
        said.alone(&[
            "{$PATH}",
            "@{PATH}",
            "$($PATH)",
            "$CALL->STEPS",
            "${CALL}STEPS",
        ])
    }),
    ("Power Automate", |said| {
        said.alone(&[
            "@{body('CALL')STEPS}",
            "@body('CALL')STEPS",
            "@{outputs('CALL')STEPS}",
            "@{outputs('CALL')['body']STEPS}",
            "@outputs('CALL').bodySTEPS",
        ])
    }),
    ("CloudFormation", |said| {
        let mut all = said.alone(&["!GetAtt PATH", "!Ref PATH", "!Sub ${PATH}"]);
        all.extend(objects(
            said,
            [
                json!({"Fn::GetAtt": [said.id(), said.selector]}),
                json!({"Fn::GetAtt": {"id": said.id(), "path": said.selector}}),
            ],
        ));
        if let Some(path) = said.path() {
            all.extend(objects(
                said,
                [
                    json!({"Ref": path}),
                    json!({"Fn::Sub": format!("${{{path}}}")}),
                ],
            ));
        }
        all
    }),
    ("optional chaining in a template", |said| {
        match said.path() {
            Some(path) if path.contains('.') && !path.contains('"') => {
                let path = path.replace('.', "?.").replace('[', "?.[");
                vec![
                    written(said.value(format!("{{{{{path}}}}}"))),
                    written(said.value(format!("${{{path}}}"))),
                    written(said.value(path)),
                ]
            }
            _ => Vec::new(),
        }
    }),
    ("a default in a template", |said| {
        said.alone(&[
            "{{ PATH ?? '' }}",
            "${PATH || ''}",
            "{{ PATH or '' }}",
            "${PATH:-}",
            "{{PATH || null}}",
        ])
    }),
    ("a formatted text of Python", |said| {
        said.alone(&[
            "f\"{PATH}\"",
            "f'{PATH}'",
            "\"{}\".format(PATH)",
            "str(PATH)",
            "'%s' % PATH",
        ])
    }),
    ("a text of JavaScript", |said| {
        said.alone(&["`${PATH}`", "String(PATH)", "\"\" + PATH"])
    }),
    // Other marks.
    ("tags of XML", |said| {
        alone_if_named(
            said,
            &[
                "<ref>PATH</ref>",
                "<call id=\"CALL\" path=\"SELECTOR\"/>",
                "<tool_result id=\"CALL\">SELECTOR</tool_result>",
                "<reference tool=\"CALL\" select=\"SELECTOR\" />",
                "<value-of select=\"PATH\"/>",
            ],
        )
        .into_iter()
        .filter(|_| !said.selector.contains('"'))
        .collect()
    }),
    ("a function of references", |said| {
        alone_if_named(
            said,
            &[
                "REF(PATH)",
                "@ref(PATH)",
                "$ref(\"CALL\", \"SELECTOR\")",
                "get_result('CALL')STEPS",
                "lookup(CALL, SELECTOR)",
                "crossfeed('CALL', 'SELECTOR')",
                "result(\"CALL\").select(\"SELECTOR\")",
            ],
        )
        .into_iter()
        .filter(|_| !said.selector.contains('"'))
        .collect()
    }),
    ("words round a path", |said| {
        let mut all = alone_if_named(
            said,
            &[
                "SELECTOR from CALL",
                "SELECTOR in CALL",
                "CALL's SELECTOR",
                "output of CALL, SELECTOR",
            ],
        );
        all.extend(alone_unless_a_text(
            said,
            &[
                "use PATH",
                "the value of PATH",
                "reference to PATH",
                "result: PATH",
                "await PATH",
                "return PATH;",
            ],
        ));
        all
    }),
    ("a comma or a blank before the selector", |said| {
        alone_if_named(
            said,
            &["CALL, SELECTOR", "CALL SELECTOR", "(CALL, SELECTOR)"],
        )
    }),
    ("an address for a path", |said| {
        let Some(steps) = pointer(said) else {
            return Vec::new();
        };
        let id = said.id();
        [
            format!("crossfeed://{id}{steps}"),
            format!("call://{id}{steps}"),
            format!("ref:{id}{steps}"),
            format!("tool://{id}#{steps}"),
            format!("result://{id}{steps}"),
            format!("urn:call:{id}{steps}"),
        ]
        .into_iter()
        .map(|text| written(said.value(text)))
        .collect()
    }),
    ("a word and a colon before the path", |said| {
        said.alone(&[
            "call:PATH",
            "ref:PATH",
            "tool:PATH",
            "from:PATH",
            "$ref:PATH",
            "@call:PATH",
        ])
    }),
    ("the root before the id", |said| {
        said.alone(&[
            "$.PATH",
            "$.steps.PATH",
            "root.PATH",
            "$['CALL']STEPS",
            "context.PATH",
            "@.PATH",
            "session.PATH",
        ])
    }),
    ("results in brackets", |said| {
        said.alone(&[
            "results[\"CALL\"]STEPS",
            "results['CALL']STEPS",
            "tool_outputs['CALL']STEPS",
            "{{ results['CALL']STEPS }}",
            "${outputs[\"CALL\"]STEPS}",
            "results[CALL]STEPS",
            "calls.get('CALL')STEPS",
        ])
    }),
    ("a word before the id without a template", |said| {
        said.alone(&[
            "outputs.PATH",
            "steps.PATH",
            "results.PATH",
            "tool_results.PATH",
            "$results.PATH",
            "$outputs.PATH",
            "functions.PATH",
        ])
    }),
    ("the envelope in a template", |said| {
        said.alone(&[
            "{{CALL.content[0].textSTEPS}}",
            "{{CALL.structuredContentSTEPS}}",
            "{{CALL.result.contentSTEPS}}",
            "${CALL.dataSTEPS}",
            "{{CALL.responseSTEPS}}",
            "{{CALL.valueSTEPS}}",
        ])
    }),
    ("the tool's name in a template", |said| {
        let tool = said.given.tool;
        match said.path() {
            Some(path) => {
                let steps = &path[said.id().len()..];
                [
                    format!("{{{{{tool}{steps}}}}}"),
                    format!("${{{tool}{steps}}}"),
                    format!("{{{{steps.{tool}{steps}}}}}"),
                    format!("{{{{{tool}.{path}}}}}"),
                    format!("{{{{{tool}({}){steps}}}}}", said.id()),
                ]
                .into_iter()
                .map(|text| written(said.value(text)))
                .collect()
            }
            None => Vec::new(),
        }
    }),
    ("signs as URLs write them, in a template", |said| {
        said.alone(&["%7B%7BPATH%7D%7D", "%24%7BPATH%7D"])
    }),
    ("signs of typography round a path", |said| {
        said.alone(&[
            "“PATH”",
            "«PATH»",
            "‘PATH’",
            "｛｛PATH｝｝",
            "‹PATH›",
            "【PATH】",
        ])
    }),
    ("a delimiter missing", |said| {
        said.alone(&[
            "{{PATH}",
            "{{PATH",
            "PATH}}",
            "${PATH",
            "<<PATH>",
            "{{ PATH }",
        ])
    }),
    ("a mixture of delimiters", |said| {
        said.alone(&[
            "{{PATH>>",
            "${{PATH}",
            "<{PATH}>",
            "[{PATH}]",
            "{<PATH>}",
            "{{[PATH]}}",
            "({{PATH}})",
        ])
    }),
    ("delimiters within delimiters", |said| {
        said.alone(&[
            "{{${PATH}}}",
            "\"{{PATH}}\"",
            "`{{PATH}}`",
            "'${PATH}'",
            "{{\"PATH\"}}",
            "{{'PATH'}}",
            "{{`PATH`}}",
        ])
    }),
    ("blanks and line breaks in a template", |said| {
        said.alone(&[
            "{{\n  PATH\n}}",
            "{{ PATH }}\n",
            "  PATH  ",
            "PATH\n",
            "{ { PATH } }",
            "$ {PATH}",
            "{{PATH }}",
        ])
    }),
    ("a stop behind a template", |said| {
        alone_unless_a_text(said, &["{{PATH}};", "PATH;", "PATH,", "{{PATH}},", "PATH."])
    }),
    ("an assignment", |said| {
        alone_unless_a_text(
            said,
            &[
                "PARAMETER = PATH",
                "PARAMETER={{PATH}}",
                "PARAMETER: {{PATH}}",
                "\"PARAMETER\": PATH",
                "PARAMETER := PATH",
                "PARAMETER: PATH",
            ],
        )
    }),
    ("a filter or a function in a template", |said| {
        match theme(said.goal) {
            Theme::Filter => {
                let dot = if said.selector.starts_with('[') {
                    ""
                } else {
                    "."
                };
                let path = format!("{}{dot}{}", said.id(), said.selector);
                [
                    format!("{{{{{path}}}}}"),
                    format!("${{{path}}}"),
                    format!("{{{{ {path} }}}}"),
                    path,
                    format!("${}{dot}{}", said.id(), said.selector),
                ]
                .into_iter()
                .map(|text| written(said.value(text)))
                .collect()
            }
            _ => Vec::new(),
        }
    }),
    ("a pipe in a template", |said| {
        alone_if_named(
            said,
            &[
                "{{CALL | SELECTOR}}",
                "${CALL | SELECTOR}",
                "{{ CALL | jmespath('SELECTOR') }}",
                "{{ CALL | json_query(\"SELECTOR\") }}",
                "{{CALL | select: SELECTOR}}",
            ],
        )
    }),
    ("a comma or a semicolon in a template", |said| {
        alone_if_named(
            said,
            &[
                "{{CALL, SELECTOR}}",
                "{{CALL;SELECTOR}}",
                "${CALL,SELECTOR}",
                "<CALL, SELECTOR>",
                "{{CALL \"SELECTOR\"}}",
                "{{CALL/SELECTOR}}",
            ],
        )
    }),
    ("a JSONPath in a template", |said| {
        alone_if_named(
            said,
            &[
                "{{CALL.$.SELECTOR}}",
                "{{CALL:$.SELECTOR}}",
                "${CALL.$.SELECTOR}",
                "CALL.$.SELECTOR",
                "{{CALL::SELECTOR}}",
                "CALL#$.SELECTOR",
            ],
        )
    }),
    // Amid text.
    ("a filter of Jinja amid text", |said| {
        said.amid("{{ PATH | default('') }}")
    }),
    ("`<%= … %>` amid text", |said| said.amid("<%= PATH %>")),
    ("`${{ … }}` amid text", |said| said.amid("${{ PATH }}")),
    ("`#{…}` amid text", |said| said.amid("#{PATH}")),
    ("`[[…]]` amid text", |said| said.amid("[[PATH]]")),
    ("`$(…)` amid text", |said| said.amid("$(PATH)")),
    ("`{{{…}}}` amid text", |said| said.amid("{{{PATH}}}")),
    ("`<<…>>` amid text", |said| said.amid("<<PATH>>")),
    ("`@{…}` amid text", |said| said.amid("@{PATH}")),
    ("`{{steps.…}}` amid text", |said| {
        said.amid("{{steps.PATH}}")
    }),
    ("`{{.…}}` amid text", |said| said.amid("{{ .PATH }}")),
    ("`{{….result…}}` amid text", |said| match said.path() {
        Some(path) => {
            let (id, steps) = path.split_at(said.id().len());
            said.amid_with(&format!("{{{{{id}.result{steps}}}}}"))
        }
        None => Vec::new(),
    }),
    ("a Python reference amid text", |said| {
        said.amid_with(&python(&said.reference()))
    }),
    ("a serialised reference in braces amid text", |said| {
        said.amid_with(&format!("{{{}}}", said.reference()))
    }),
    ("a serialised reference with other keys amid text", |said| {
        said.amid_with(&json!({"tool": said.id(), "select": said.selector}).to_string())
    }),
    ("a tag amid text", |said| {
        if said.selector.contains('"') || said.path().is_none() {
            return Vec::new();
        }
        said.amid_with(&format!(
            "<ref call=\"{}\" select=\"{}\"/>",
            said.id(),
            said.selector
        ))
    }),
    // Keys.
    ("`$ref` and `$path`", |said| {
        said.keys(&[
            ("$ref", "$path"),
            ("$ref", "path"),
            ("ref", "path"),
            ("$reference", "$path"),
        ])
    }),
    ("`from` and `select`", |said| {
        said.keys(&[
            ("from", "select"),
            ("source", "path"),
            ("from", "path"),
            ("source", "select"),
            ("$from", "$path"),
        ])
    }),
    ("`$call_id` and `$path`", |said| {
        said.keys(&[
            ("$call_id", "$path"),
            ("$callId", "$select"),
            ("callId", "path"),
            ("call_id", "jmespath"),
        ])
    }),
    ("`tool_use_id` and `select`", |said| {
        said.keys(&[
            ("tool_use_id", "select"),
            ("$tool_use_id", "$select"),
            ("tool_use_id", "path"),
            ("toolUseId", "select"),
        ])
    }),
    ("`$tool_result` and `$select`", |said| {
        said.keys(&[
            ("$tool_result", "$select"),
            ("$toolResult", "$path"),
            ("tool_result", "select"),
            ("$output_of", "$select"),
        ])
    }),
    ("`$step` and `$output`", |said| {
        said.keys(&[
            ("$step", "$output"),
            ("step", "output"),
            ("$step", "$select"),
            ("step_id", "path"),
        ])
    }),
    ("`$use` and `$get`", |said| {
        said.keys(&[
            ("$use", "$get"),
            ("$fetch", "$select"),
            ("$load", "$path"),
            ("$input", "$select"),
        ])
    }),
    ("`$TOOL` and `$SELECT`", |said| {
        said.keys(&[
            ("$TOOL", "$SELECT"),
            ("Tool", "Select"),
            ("_Tool", "_Select"),
            ("$tool", "$SELECT"),
        ])
    }),
    ("`__tool` and `__select`", |said| {
        said.keys(&[
            ("__tool", "__select"),
            ("$$tool", "$$select"),
            ("$_tool", "$_select"),
            ("_tool_", "_select_"),
            ("tool_", "select_"),
        ])
    }),
    ("`$tool` and `$sel`", |said| {
        said.keys(&[
            ("$tool", "$sel"),
            ("$tool", "$selection"),
            ("$tool", "$extract"),
            ("$tool", "$field"),
            ("_tool", "_expr"),
        ])
    }),
    ("`$tool` and `$pointer`", |said| match pointer(said) {
        Some(steps) => objects(
            said,
            [
                json!({"$tool": said.id(), "$pointer": steps}),
                json!({"$tool": said.id(), "$json_pointer": steps}),
                json!({"$tool": said.id(), "pointer": steps}),
                json!({"$tool": said.id(), "$select": steps}),
                json!({"$tool": format!("{}#{steps}", said.id())}),
            ],
        ),
        None => Vec::new(),
    }),
    ("`$tool` and `$jsonpath`", |said| {
        if !is_named(said) {
            return Vec::new();
        }
        let path = format!("$.{}", said.selector);
        objects(
            said,
            [
                json!({"$tool": said.id(), "$jsonpath": path}),
                json!({"tool": said.id(), "jsonpath": path}),
                json!({"$tool": said.id(), "$jsonPath": path}),
                json!({"call": said.id(), "json_path": path}),
            ],
        )
    }),
    ("only `$select`, with a path", |said| match said.path() {
        Some(path) => objects(
            said,
            ["$select", "$path", "$expr", "select", "$value", "_select"]
                .map(|key| object([(key, path.as_str().into())])),
        ),
        None => Vec::new(),
    }),
    ("the id as the key", |said| {
        let sign = format!("${}", said.id());
        objects(
            said,
            [
                object([(said.id(), said.selector.as_str().into())]),
                object([(&sign, said.selector.as_str().into())]),
                object([(said.id(), json!({"select": said.selector}))]),
                object([(said.id(), json!({"$select": said.selector}))]),
            ],
        )
    }),
    ("the id and the tool's name", |said| {
        objects(
            said,
            [
                json!({"$tool": said.given.tool, "$id": said.id(), "$select": said.selector}),
                json!({"$tool": said.given.tool, "$call_id": said.id(), "$select": said.selector}),
                json!({"$tool": said.given.tool, "id": said.id(), "$select": said.selector}),
                json!({"$call": said.id(), "$tool": said.given.tool, "$select": said.selector}),
                json!({"tool": said.given.tool, "call_id": said.id(), "select": said.selector}),
            ],
        )
    }),
    ("the tool's name beside the reference", |said| {
        ["$name", "name", "tool_name", "$tool_name", "function"]
            .iter()
            .map(|key| {
                let mut reference = said.reference();
                reference[*key] = said.given.tool.into();
                written(said.put(reference))
            })
            .collect()
    }),
    ("a type that says that it is a reference", |said| {
        objects(
            said,
            [
                json!({"type": "reference", "id": said.id(), "path": said.selector}),
                json!({"type": "ref", "call_id": said.id(), "select": said.selector}),
                json!({"type": "tool_result", "tool_use_id": said.id(), "select": said.selector}),
                json!({"$type": "reference", "$tool": said.id(), "$select": said.selector}),
                json!({"kind": "tool_ref", "tool": said.id(), "select": said.selector}),
            ],
        )
    }),
    ("more keys beside the reference", |said| {
        [
            ("$type", json!("string")),
            ("$as", json!("text")),
            ("$required", json!(true)),
            ("version", json!(1)),
            ("$format", json!("json")),
            ("$comment", json!("from the search")),
        ]
        .into_iter()
        .map(|(key, value)| {
            let mut reference = said.reference();
            reference[key] = value;
            written(said.put(reference))
        })
        .collect()
    }),
    ("an object in `$select`", |said| {
        let select = |inner: Value| {
            Value::Object(Map::from_iter([
                said.with_key("tool", said.id()),
                said.with_key("select", inner),
            ]))
        };
        objects(
            said,
            [
                select(json!({"path": said.selector})),
                select(json!({"jmespath": said.selector})),
                select(json!({"$select": said.selector})),
                select(json!({"expression": said.selector, "type": "jmespath"})),
            ],
        )
    }),
    ("the reference in `$select`", |said| {
        objects(
            said,
            [
                json!({"$select": {"$tool": said.id(), "$path": said.selector}}),
                json!({"$select": {"$tool": said.id(), "$select": said.selector}}),
                json!({"$select": {"from": said.id(), "path": said.selector}}),
                json!({"$select": said.selector, "$from": {"$tool": said.id()}}),
            ],
        )
    }),
    ("a selector on the whole of a reference", |said| {
        objects(
            said,
            [
                json!({"$tool": {"$tool": said.id()}, "$select": said.selector}),
                json!({"$ref": {"$tool": said.id(), "$select": said.selector}}),
                json!({"$tool": {"id": said.id()}, "$select": said.selector}),
                json!({"$tool": {"$call": said.id()}, "$select": said.selector}),
            ],
        )
    }),
    ("a list for the reference", |said| {
        // A list may be wanted as it is.
        if meant(said).is_some_and(|meant| meant.is_array()) {
            return Vec::new();
        }
        objects(
            said,
            [
                json!([said.id(), said.selector]),
                json!(["$tool", said.id(), "$select", said.selector]),
                json!({"$tool": [said.id(), said.selector]}),
                json!({"$ref": [said.id(), said.selector]}),
            ],
        )
    }),
    ("wrapped in other keys", |said| {
        [
            "$value", "data", "$resolve", "input", "$from", "content", "$eval",
        ]
        .iter()
        .map(|key| written(said.put(object([(key, said.reference())]))))
        .collect()
    }),
    ("wrapped twice", |said| {
        vec![
            written(said.put(json!({"value": {"$ref": said.reference()}}))),
            written(said.put(json!({"$reference": [said.reference()]}))),
            written(said.put(object([(
                said.parameter,
                object([(said.parameter, said.reference())]),
            )]))),
        ]
    }),
    ("wrapped in the parameter's own name", |said| {
        vec![written(
            said.put(object([(said.parameter, said.reference())])),
        )]
    }),
    ("a template for a path", |said| match said.path() {
        Some(path) => objects(
            said,
            [
                json!({"$template": format!("{{{{{path}}}}}")}),
                json!({"$template": format!("{{{path}}}")}),
                json!({"$template": "{a}", "$with": {"a": path}}),
                json!({"$template": "{a}", "a": said.reference()}),
                json!({"$template": path}),
            ],
        ),
        None => Vec::new(),
    }),
    // Ids.
    ("a shorter id", |said| {
        let id = said.id();
        if id.len() < 20 {
            return Vec::new();
        }
        let (head, tail) = (&id[..14], &id[id.len() - 8..]);
        with_id(
            said,
            [
                head.to_owned(),
                format!("{head}..."),
                format!("{head}…"),
                format!("…{tail}"),
                tail.to_owned(),
                id[..id.len() - 1].to_owned(),
            ],
        )
    }),
    ("quotes and blanks round the id", |said| {
        let id = said.id();
        with_id(
            said,
            [
                format!("\"{id}\""),
                format!(" {id} "),
                format!("'{id}'"),
                format!("`{id}`"),
                format!("{id}\n"),
                format!("{id}."),
                format!("{id},"),
            ],
        )
    }),
    ("a number for the id", |said| {
        let Some(number) = said
            .id()
            .strip_prefix("call_")
            .and_then(|number| number.parse::<u64>().ok())
        else {
            return Vec::new();
        };
        let mut all = with_id(
            said,
            [
                number.to_string(),
                format!("#{number}"),
                format!("call{number}"),
                format!("call {number}"),
                format!("call_{number:03}"),
                format!("Call #{number}"),
                format!("tool_call_{number}"),
                format!("step_{number}"),
            ],
        );
        let mut reference = said.reference();
        reference[said.key("tool")] = number.into();
        all.push(written(said.put(reference)));
        all
    }),
    ("a word behind the id", |said| {
        let id = said.id();
        with_id(
            said,
            [
                format!("{id}.result"),
                format!("{id}_result"),
                format!("{id}.output"),
                format!("{id}()"),
                format!("{id}.content"),
                format!("{id}:0"),
                format!("{id}[0]"),
                format!("{id}.data"),
            ],
        )
    }),
    ("the tool's name with the id", |said| {
        let (id, tool) = (said.id(), said.given.tool);
        with_id(
            said,
            [
                format!("{tool}({id})"),
                format!("{tool}:{id}"),
                format!("{id} ({tool})"),
                format!("{tool}/{id}"),
                format!("{tool}#{id}"),
                format!("{tool}.{id}"),
                format!("functions.{tool}:{id}"),
            ],
        )
    }),
    ("the tool's name in another form", |said| {
        let tool = said.given.tool;
        with_id(
            said,
            [
                format!("{tool}()"),
                camel(tool),
                tool.replace('_', "-"),
                tool.replace('_', " "),
                tool.to_uppercase(),
                format!("{tool}_1"),
                format!("{tool}(query=\"x\")"),
                format!("call_{tool}"),
            ],
        )
    }),
    ("the tool's name with a server's", |said| {
        let tool = said.given.tool;
        with_id(
            said,
            [
                format!("mcp__server__{tool}"),
                format!("server.{tool}"),
                format!("server:{tool}"),
                format!("server/{tool}"),
                format!("default_api.{tool}"),
                format!("functions.{tool}"),
                format!("mcp.{tool}"),
            ],
        )
    }),
    ("words for the last result", |said| {
        with_id(
            said,
            [
                "previous",
                "last",
                "$previous",
                "last_call",
                "previous_result",
                "latest",
            ]
            .map(str::to_owned),
        )
    }),
    ("letters that look alike in the id", |said| {
        let id = said.id();
        if id.len() < 20 {
            return Vec::new();
        }
        let alike = [('l', 'I'), ('0', 'O'), ('1', 'l'), ('I', 'l'), ('5', 'S')]
            .into_iter()
            .filter_map(|(from, to)| {
                let at = id.char_indices().skip(8).find(|(_, char)| *char == from)?.0;
                let mut other = id.to_owned();
                other.replace_range(at..=at, &to.to_string());
                Some(other)
            });
        with_id(said, alike.collect::<Vec<_>>())
    }),
    ("the whole id in another case or form", |said| {
        let id = said.id();
        with_id(
            said,
            [
                id.to_lowercase(),
                id.replace('_', ""),
                id.replace('_', " "),
                id.replace('_', "."),
                format!("_{id}"),
                format!("{id}_"),
            ],
        )
    }),
    // Serialised.
    ("serialised, with single quotes", |said| {
        if said.selector.contains(['\'', '"']) {
            return Vec::new();
        }
        texts(
            said,
            [
                said.reference().to_string().replace('"', "'"),
                said.reference().to_string().replace('"', "`"),
                said.reference()
                    .to_string()
                    .replacen('{', "{ ", 1)
                    .replace('"', "'"),
            ],
        )
    }),
    ("serialised, with remarks", |said| {
        let reference = said.reference().to_string();
        let mut all = texts(
            said,
            [
                reference.replacen(',', ", /* the selector */ ", 1),
                reference.replacen(',', ",\n  // the selector\n  ", 1),
            ],
        );
        // In a text the words might be wanted.
        if !meant(said).is_some_and(|meant| meant.is_string()) {
            all.extend(texts(
                said,
                [
                    format!("{reference} // reference"),
                    format!("/* reference */ {reference}"),
                    format!("# reference\n{reference}"),
                ],
            ));
        }
        all
    }),
    ("serialised, as YAML", |said| {
        let (tool, select) = (said.key("tool"), said.key("select"));
        if said
            .selector
            .contains([':', '#', '\'', '`', '"', '@', '*', '&'])
            || said.selector.starts_with('[')
        {
            return Vec::new();
        }
        let (id, selector) = (said.id(), &said.selector);
        texts(
            said,
            [
                format!("{tool}: {id}\n{select}: {selector}"),
                format!("{tool}: \"{id}\"\n{select}: \"{selector}\""),
                format!("---\n{tool}: {id}\n{select}: {selector}\n"),
                format!("- {tool}: {id}\n  {select}: {selector}"),
            ],
        )
    }),
    ("serialised, as pairs", |said| {
        if said.selector.contains(['&', '\'', '"', '`', ',']) {
            return Vec::new();
        }
        let (id, selector) = (said.id(), &said.selector);
        texts(
            said,
            [
                format!("$tool={id}&$select={selector}"),
                format!("tool={id}, select={selector}"),
                format!("$tool={id} $select={selector}"),
                format!("$tool: {id}, $select: {selector}"),
                format!("$tool {id} $select {selector}"),
                format!("?tool={id}&select={selector}"),
            ],
        )
    }),
    ("serialised, as tags", |said| {
        if said.selector.contains(['<', '>', '&']) {
            return Vec::new();
        }
        let (id, selector) = (said.id(), &said.selector);
        texts(
            said,
            [
                format!("<tool>{id}</tool><select>{selector}</select>"),
                format!("<reference><tool>{id}</tool><select>{selector}</select></reference>"),
                format!("<$tool>{id}</$tool><$select>{selector}</$select>"),
            ],
        )
    }),
    ("serialised, as a call", |said| {
        if said.selector.contains(['\'', '"']) {
            return Vec::new();
        }
        let (id, selector) = (said.id(), &said.selector);
        texts(
            said,
            [
                format!("dict(tool=\"{id}\", select=\"{selector}\")"),
                format!("Ref(\"{id}\", \"{selector}\")"),
                format!("ref(tool='{id}', select='{selector}')"),
                format!("Reference(tool=\"{id}\", select=\"{selector}\")"),
                format!("$tool(\"{id}\").$select(\"{selector}\")"),
            ],
        )
    }),
    ("serialised three times", |said| {
        let twice = Value::from(said.reference().to_string()).to_string();
        texts(said, [Value::from(twice).to_string()])
    }),
    ("serialised, with backslashes before the quotes", |said| {
        texts(
            said,
            [
                said.reference().to_string().replace('"', "\\\""),
                said.reference().to_string().replace('"', "\\\\\""),
            ],
        )
    }),
    ("serialised, as HTML writes it", |said| {
        texts(
            said,
            [
                said.reference()
                    .to_string()
                    .replace('&', "&amp;")
                    .replace('"', "&quot;"),
                said.reference().to_string().replace('"', "&#34;"),
            ],
        )
    }),
    ("serialised, with quotes of typography", |said| {
        let mut is_open = false;
        let reference = said.reference().to_string();
        let curly = reference.chars().map(|char| match char {
            '"' => {
                is_open = !is_open;
                if is_open { '“' } else { '”' }
            }
            other => other,
        });
        texts(said, [curly.collect::<String>()])
            .into_iter()
            .filter(|_| !said.selector.contains(['"', '\\']))
            .collect()
    }),
    ("serialised, with a word before", |said| {
        let reference = said.reference();
        let mut all = texts(
            said,
            [
                format!("json{reference}"),
                format!("json\n{reference}"),
                format!("$ref {reference}"),
            ],
        );
        // In a text the words might be wanted.
        if !meant(said).is_some_and(|meant| meant.is_string()) {
            all.extend(texts(
                said,
                [
                    format!("reference: {reference}"),
                    format!("{} = {reference}", said.parameter),
                    format!("\"{}\": {reference}", said.parameter),
                    format!("Reference {reference}"),
                ],
            ));
        }
        all
    }),
    ("serialised, with a brace too many or too few", |said| {
        let reference = said.reference().to_string();
        texts(
            said,
            [
                format!("{reference}}}"),
                format!("{{{reference}"),
                reference[1..].to_owned(),
                reference[1..reference.len() - 1].to_owned(),
            ],
        )
    }),
    ("serialised, a sign wrong", |said| {
        let reference = said.reference().to_string();
        texts(
            said,
            [
                reference.replacen("\",\"", "\" \"", 1),
                reference.replacen("\":\"", "\"=\"", 1),
                reference.replacen("\":\"", "\" \"", 1),
                reference.replacen("\",\"", "\";\"", 1),
                reference.replace("\":\"", "\"=>\""),
            ],
        )
    }),
    ("serialised, in a tag or a template", |said| {
        let reference = said.reference();
        let mut all = texts(
            said,
            [
                format!("<reference>{reference}</reference>"),
                format!("<ref>{reference}</ref>"),
                format!("${{{reference}}}"),
                format!("{{{{{reference}}}}}"),
                format!("<{reference}>"),
            ],
        );
        // In a text the words might be wanted.
        if !meant(said).is_some_and(|meant| meant.is_string()) {
            all.extend(texts(
                said,
                [format!("({reference})"), format!("[{reference}]")],
            ));
        }
        all
    }),
    ("serialised, in the middle of a list", |said| {
        vec![
            written(said.put(json!([said.reference().to_string()]))),
            written(said.put(json!({"value": said.reference().to_string()}))),
            written(said.put(json!({"$ref": said.reference().to_string()}))),
        ]
    }),
    // Styles.
    ("another form of the target in the map", |said| {
        match said.style {
            Style::Refs => [
                "$.PARAMETER",
                "/arguments/PARAMETER",
                "['PARAMETER']",
                "input.PARAMETER",
                "#/PARAMETER",
                "{PARAMETER}",
                "params.PARAMETER",
                "PARAMETER.",
                "properties.PARAMETER",
                "/PARAMETER/",
            ]
            .iter()
            .map(|target| {
                with_refs(
                    said,
                    object([(
                        &target.replace("PARAMETER", said.parameter),
                        said.reference(),
                    )]),
                )
            })
            .collect(),
            _ => Vec::new(),
        }
    }),
    ("another form of the target in the list", |said| {
        match said.style {
        Style::RefsList => ["$.PARAMETER", "/arguments/PARAMETER", "['PARAMETER']", "input.PARAMETER", "#PARAMETER", "{PARAMETER}", "params.PARAMETER", "PARAMETER:", "/PARAMETER/"]
            .iter()
            .map(|target| written(said.list(json!({"to": target.replace("PARAMETER", said.parameter), "tool": said.id(), "select": said.selector}))))
            .collect(),
        _ => Vec::new(),
    }
    }),
    ("a target of another type in the list", |said| {
        match said.style {
            Style::RefsList => [
                json!([said.parameter]),
                json!({"name": said.parameter}),
                json!({"parameter": said.parameter}),
                json!([[said.parameter]]),
            ]
            .into_iter()
            .map(|to| {
                written(said.list(json!({"to": to, "tool": said.id(), "select": said.selector})))
            })
            .collect(),
            _ => Vec::new(),
        }
    }),
    (
        "another key for the target in the list",
        |said| match said.style {
            Style::RefsList => [
                "for", "param", "name", "target", "field", "key", "at", "argument", "into", "$to",
            ]
            .iter()
            .map(|key| {
                written(said.list(
                    json!({*key: said.parameter, "tool": said.id(), "select": said.selector}),
                ))
            })
            .collect(),
            _ => Vec::new(),
        },
    ),
    ("no target in the list", |said| {
        said.of_style(Style::RefsList, || {
            said.list(json!({"tool": said.id(), "select": said.selector}))
        })
    }),
    ("another key for the call in the list", |said| {
        match said.style {
            Style::RefsList => {
                [
                    "call_id",
                    "source",
                    "from",
                    "tool_call_id",
                    "id",
                    "ref",
                    "$tool",
                    "toolCallId",
                ]
                .iter()
                .map(|key| {
                    written(said.list(
                        json!({"to": said.parameter, *key: said.id(), "select": said.selector}),
                    ))
                })
                .collect()
            }
            _ => Vec::new(),
        }
    }),
    ("the map turned round", |said| match said.style {
        Style::Refs => vec![
            with_refs(
                said,
                object([(
                    said.id(),
                    json!({"to": said.parameter, "select": said.selector}),
                )]),
            ),
            with_refs(
                said,
                object([(said.parameter, json!([said.id(), said.selector]))]),
            ),
            with_refs(
                said,
                object([(
                    said.parameter,
                    object([(said.id(), said.selector.as_str().into())]),
                )]),
            ),
            with_refs(
                said,
                object([
                    (said.parameter, said.id().into()),
                    ("select", said.selector.as_str().into()),
                ]),
            ),
            with_refs(
                said,
                json!({"_tool": said.id(), "_select": said.selector, "to": said.parameter}),
            ),
        ],
        _ => Vec::new(),
    }),
    ("the map at another level", |said| match said.style {
        Style::Refs => vec![
            written(json!({"arguments": said.arguments()})),
            with_refs(
                said,
                json!({"arguments": {said.parameter: said.reference()}}),
            ),
            with_refs(said, json!({"_refs": {said.parameter: said.reference()}})),
            with_refs(
                said,
                json!({"properties": {said.parameter: said.reference()}}),
            ),
            with_refs(said, json!({said.parameter: {"_refs": said.reference()}})),
        ],
        _ => Vec::new(),
    }),
    ("the list at another level", |said| match said.style {
        Style::RefsList => vec![
            written(json!({"arguments": said.arguments()})),
            with_refs(said, json!({"refs": [entry(said)]})),
            with_refs(said, json!([[entry(said)]])),
            written(said.value(json!({"_refs": [entry(said)]}))),
            written(said.value(json!([entry(said)]))),
        ],
        _ => Vec::new(),
    }),
    ("the parameter filled beside the map", |said| {
        match said.style {
            Style::Inline => Vec::new(),
            _ => [
                json!(""),
                json!("<from _refs>"),
                json!("ref"),
                json!({}),
                json!("see _refs"),
                json!("null"),
            ]
            .into_iter()
            .map(|value| {
                let mut arguments = said.arguments();
                arguments[said.parameter] = value;
                written(arguments)
            })
            .collect(),
        }
    }),
    ("the parameter left out beside the map", |said| {
        match said.style {
            Style::Inline => Vec::new(),
            _ => {
                let mut arguments = said.arguments();
                arguments.as_object_mut().unwrap().remove(said.parameter);
                vec![written(arguments)]
            }
        }
    }),
    ("an entry as a text", |said| match said.style {
        Style::Refs => vec![
            with_refs(
                said,
                object([(said.parameter, said.reference().to_string().into())]),
            ),
            with_refs(
                said,
                object([(said.parameter, python(&said.reference()).into())]),
            ),
            with_refs(
                said,
                object([(
                    said.parameter,
                    format!("```json\n{}\n```", said.reference()).into(),
                )]),
            ),
        ],
        Style::RefsList => vec![
            with_refs(said, json!([entry(said).to_string()])),
            with_refs(said, json!([python(&entry(said))])),
            with_refs(said, json!([format!("```json\n{}\n```", entry(said))])),
        ],
        _ => Vec::new(),
    }),
    (
        "the whole map as a text in another form",
        |said| match said.style {
            Style::Inline => Vec::new(),
            _ => {
                let refs = said.arguments()["_refs"].clone();
                [
                    python(&refs),
                    format!("```json\n{refs}\n```"),
                    Value::from(refs.to_string()).to_string(),
                    format!("{{\"_refs\": {refs}}}"),
                    refs.to_string().replace('"', "\\\""),
                ]
                .into_iter()
                .map(|text| with_refs(said, text.into()))
                .collect()
            }
        },
    ),
    ("a map within the list", |said| match said.style {
        Style::RefsList => vec![
            with_refs(
                said,
                json!([{said.parameter: {"tool": said.id(), "select": said.selector}}]),
            ),
            with_refs(
                said,
                json!([{said.parameter: {"_tool": said.id(), "_select": said.selector}}]),
            ),
            with_refs(said, json!({"0": entry(said)})),
        ],
        Style::Refs => vec![
            with_refs(said, json!([{said.parameter: said.reference()}])),
            with_refs(
                said,
                json!([{"key": said.parameter, "value": said.reference()}]),
            ),
            with_refs(said, object([(said.parameter, json!([said.reference()]))])),
        ],
        _ => Vec::new(),
    }),
    ("a list in the inline style", |said| match said.style {
        Style::Inline => vec![
            with_refs(said, json!([entry(said)])),
            written(object([
                (said.parameter, Value::Null),
                ("$refs", json!([entry(said)])),
            ])),
            with_refs(
                said,
                json!([{"to": said.parameter, "$tool": said.id(), "$select": said.selector}]),
            ),
        ],
        _ => Vec::new(),
    }),
    ("other names of the map", |said| match said.style {
        Style::Inline => Vec::new(),
        _ => [
            "Refs",
            "_references",
            "__refs",
            "refs_",
            "_reference",
            "$references",
            "_Refs",
            "@refs",
            "_reffs",
        ]
        .iter()
        .map(|key| {
            let mut arguments = said.arguments();
            let refs = arguments["_refs"].take();
            arguments[*key] = refs;
            arguments.as_object_mut().unwrap().remove("_refs");
            written(arguments)
        })
        .collect(),
    }),
    (
        "a reference of the inline style in the map",
        |said| match said.style {
            Style::Refs => vec![
                with_refs(
                    said,
                    json!({said.parameter: {"$tool": said.id(), "$select": said.selector}}),
                ),
                with_refs(
                    said,
                    json!({said.parameter: {"$ref": said.id(), "$path": said.selector}}),
                ),
            ],
            Style::RefsList => vec![
                with_refs(
                    said,
                    json!([{"to": said.parameter, "$tool": said.id(), "$select": said.selector}]),
                ),
                with_refs(
                    said,
                    json!([{"to": said.parameter, "ref": {"$tool": said.id(), "$select": said.selector}}]),
                ),
            ],
            _ => Vec::new(),
        },
    ),
    (
        "the reference's parts beside the parameter",
        |said| match said.style {
            Style::Inline => vec![
                written(object([
                    (said.parameter, said.id().into()),
                    ("$select", said.selector.as_str().into()),
                ])),
                written(object([
                    (said.parameter, Value::Null),
                    ("$tool", said.id().into()),
                    ("$select", said.selector.as_str().into()),
                ])),
            ],
            _ => vec![written(object([
                (said.parameter, Value::Null),
                ("_tool", said.id().into()),
                ("_select", said.selector.as_str().into()),
            ]))],
        },
    ),
];
