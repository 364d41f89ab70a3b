//! Correct references, broken the way models break them.

use crate::mistakes::{
    dialects::{Theme, theme},
    documents::Given,
    goals::{Form, Goal},
};
use crossfeed_tools::Style;
use serde_json::{Map, Value, json};

/// A reference that a model means: to a part of a document, for a parameter of a tool that is listed in a style.
pub(crate) struct Intent<'a> {
    pub(crate) given: &'a Given,
    pub(crate) goal: &'a Goal,
    pub(crate) selector: String,
    pub(crate) parameter: &'a str,
    pub(crate) style: Style,
}

/// Arguments as they were written, and what the parameter should hold: the value, or a text with it between these.
pub(crate) struct Written {
    pub(crate) arguments: Value,
    pub(crate) around: Option<&'static [&'static str]>,
}

/// Texts in which a value stands, once or twice.
const AROUND: [&[&str]; 5] = [
    &["See ", " for details."],
    &["", "/comments"],
    &["Title: ", ""],
    &["- ", "\n- done\n"],
    &["", " and ", ""],
];

pub(crate) type Break = fn(&Intent<'_>) -> Vec<Written>;

pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
    Value::Object(
        members
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value))
            .collect(),
    )
}

impl Intent<'_> {
    pub(crate) fn id(&self) -> &str {
        self.given.call_id
    }

    /// A key of the grammar, as the style spells it.
    pub(crate) fn key(&self, word: &str) -> String {
        self.style.spelling().key(word)
    }

    pub(crate) fn with_key(&self, word: &str, value: impl Into<Value>) -> (String, Value) {
        (self.key(word), value.into())
    }

    /// The correct reference object.
    pub(crate) fn reference(&self) -> Value {
        let members = [
            self.with_key("tool", self.id()),
            self.with_key("select", self.selector.as_str()),
        ];
        Value::Object(Map::from_iter(members))
    }

    /// The correct arguments.
    pub(crate) fn arguments(&self) -> Value {
        match self.style {
            Style::RefsList => {
                self.list(json!({"to": self.parameter, "tool": self.id(), "select": self.selector}))
            }
            Style::Refs => self.map(self.reference()),
            _ => self.value(self.reference()),
        }
    }

    /// The parameter with this value, whatever the style.
    pub(crate) fn value(&self, value: impl Into<Value>) -> Value {
        object([(self.parameter, value.into())])
    }

    pub(crate) fn map(&self, entry: impl Into<Value>) -> Value {
        object([(self.parameter, Value::Null), ("_refs", self.value(entry))])
    }

    pub(crate) fn list(&self, entry: Value) -> Value {
        object([(self.parameter, Value::Null), ("_refs", json!([entry]))])
    }

    /// Where the style has references: this in place of one.
    pub(crate) fn put(&self, entry: Value) -> Value {
        match self.style {
            Style::Inline => self.value(entry),
            _ => self.map(entry),
        }
    }

    /// `call_1.items[0].url`, for selectors that are paths.
    pub(crate) fn path(&self) -> Option<String> {
        let is_path = matches!(
            self.goal.form,
            Form::Whole | Form::Item(..) | Form::Last(_) | Form::Slice(..) | Form::Project(_)
        );
        let dot = match self.selector.chars().next()? {
            '@' => return None,
            '[' => "",
            _ => ".",
        };
        is_path.then(|| format!("{}{dot}{}", self.id(), self.selector))
    }

    /// A template alone, from the path.
    pub(crate) fn alone(&self, templates: &[&str]) -> Vec<Written> {
        let Some(path) = self.path() else {
            return Vec::new();
        };
        let templates = templates.iter().map(|template| {
            template
                .replace("PATH", &path)
                .replace("CALL", self.id())
                .replace("SELECTOR", &self.selector)
                .replace("STEPS", &path[self.id().len()..])
                .replace("PARAMETER", self.parameter)
        });
        templates.map(|text| written(self.value(text))).collect()
    }

    pub(crate) fn amid(&self, template: &str) -> Vec<Written> {
        match self.path() {
            Some(path) => self.amid_with(&template.replace("PATH", &path)),
            None => Vec::new(),
        }
    }

    /// A reference in this form in texts, for goals that are one value.
    pub(crate) fn amid_with(&self, template: &str) -> Vec<Written> {
        if !matches!(self.goal.form, Form::Whole | Form::Item(..) | Form::Last(_))
            || self.selector == "@"
        {
            return Vec::new();
        }
        let text = |around: &&'static [&'static str]| Written {
            arguments: self.value(around.join(template)),
            around: Some(around),
        };
        AROUND.iter().map(text).collect()
    }

    pub(crate) fn of_style(&self, style: Style, make: impl FnOnce() -> Value) -> Vec<Written> {
        if self.style == style {
            vec![written(make())]
        } else {
            Vec::new()
        }
    }

    /// An object in place of the reference, with these keys for call and selector.
    pub(crate) fn keys(&self, pairs: &[(&str, &str)]) -> Vec<Written> {
        let named = |(call, select): &(&str, &str)| {
            written(self.put(object([
                (call, self.id().into()),
                (select, self.selector.as_str().into()),
            ])))
        };
        pairs.iter().map(named).collect()
    }
}

pub(crate) fn written(arguments: Value) -> Written {
    Written {
        arguments,
        around: None,
    }
}

/// As Python prints it.
pub(crate) fn python(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains('\'') => Value::from(text.as_str()).to_string(),
        Value::String(text) => format!("'{text}'"),
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(python).collect::<Vec<_>>().join(", ")
        ),
        Value::Object(members) => {
            let members = members
                .iter()
                .map(|(key, value)| format!("'{key}': {}", python(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

pub(crate) const CLASSES: &[(&str, Break)] = &[
    // Templates alone.
    ("`{{…}}` alone", |said| {
        said.alone(&["{{PATH}}", "{{ PATH }}"])
    }),
    ("`${…}` alone", |said| {
        said.alone(&["${PATH}", "${ PATH }"])
    }),
    ("`$…` alone", |said| said.alone(&["$PATH"])),
    ("`<…>` alone", |said| said.alone(&["<PATH>"])),
    ("the bare path", |said| said.alone(&["PATH"])),
    ("`{…}` alone", |said| said.alone(&["{PATH}"])),
    ("`<<…>>` alone", |said| {
        said.alone(&["<<PATH>>", "[[PATH]]"])
    }),
    ("`$(…)` alone", |said| said.alone(&["$(PATH)", "#{PATH}"])),
    ("`{{$…}}` alone", |said| {
        said.alone(&["{{$PATH}}", "{{@PATH}}"])
    }),
    ("`${{…}}` alone", |said| {
        said.alone(&["${{ PATH }}", "{% PATH %}"])
    }),
    ("`@…` alone", |said| said.alone(&["@PATH", "%PATH%"])),
    ("a path in backticks", |said| {
        said.alone(&["`PATH`", "'PATH'"])
    }),
    ("`{{steps.…}}` alone", |said| {
        said.alone(&["{{steps.PATH}}", "${steps.PATH}", "{{tools.PATH}}"])
    }),
    ("`{{….result…}}` alone", |said| {
        let dot = if said.selector.starts_with('[') {
            ""
        } else {
            "."
        };
        if said.selector.starts_with('@') {
            return Vec::new();
        }
        let texts = [
            "{{CALL.result.SELECTOR}}",
            "{{CALL.output.SELECTOR}}",
            "${CALL.result.SELECTOR}",
            "$CALL.result.SELECTOR",
        ];
        let texts = texts.map(|text| text.replace(".SELECTOR", &format!("{dot}SELECTOR")));
        said.alone(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    }),
    ("`{{results.…}}` alone", |said| {
        said.alone(&[
            "{{results.PATH}}",
            "${results.PATH}",
            "{{tool_results.PATH}}",
        ])
    }),
    ("the whole result in a template", |said| {
        match said.selector.as_str() {
            "@" => ["{{CALL}}", "${CALL}", "<CALL>", "$CALL", "{CALL}"]
                .iter()
                .map(|text| written(said.value(text.replace("CALL", said.id()))))
                .collect(),
            _ => Vec::new(),
        }
    }),
    ("a colon for the dot", |said| {
        if said.selector.starts_with(['[', '@']) {
            Vec::new()
        } else {
            said.alone(&["CALL:SELECTOR", "CALL#SELECTOR"])
        }
    }),
    ("an arrow or a pipe for the dot", |said| {
        if said.selector.starts_with(['[', '@']) {
            Vec::new()
        } else {
            said.alone(&["CALL->SELECTOR", "CALL | SELECTOR", "CALL => SELECTOR"])
        }
    }),
    ("brackets in a template", |said| match &said.goal.form {
        Form::Item(index, field) => {
            let steps = |path: &[String]| -> String {
                path.iter().map(|field| format!("['{field}']")).collect()
            };
            let path = format!(
                "{}{}[{index}]{}",
                said.id(),
                steps(&said.goal.root),
                steps(field)
            );
            ["{{PATH}}", "${PATH}", "{{ PATH }}"]
                .iter()
                .map(|template| written(said.value(template.replace("PATH", &path))))
                .collect()
        }
        _ => Vec::new(),
    }),
    ("a template for a template's function", |said| {
        said.alone(&[
            "{{ tool_result(\"CALL\", \"SELECTOR\") }}",
            "{{ref(\"CALL\").SELECTOR}}",
        ])
    }),
    // Templates amid text.
    ("`{{…}}` amid text", |said| said.amid("{{PATH}}")),
    ("`${…}` amid text", |said| said.amid("${PATH}")),
    ("`$…` amid text", |said| {
        if said.selector.contains('"') {
            Vec::new()
        } else {
            said.amid("$PATH")
        }
    }),
    ("`<…>` amid text", |said| said.amid("<PATH>")),
    ("`{…}` amid text", |said| said.amid("{PATH}")),
    ("`{{ … }}` amid text", |said| said.amid("{{ PATH }}")),
    ("`{{$…}}` amid text", |said| said.amid("{{$PATH}}")),
    ("the bare path amid text", |said| {
        if said.selector.contains('"') {
            Vec::new()
        } else {
            said.amid("PATH")
        }
    }),
    // Keys.
    ("`tool` and `select`", |said| {
        said.keys(&[("tool", "select")])
    }),
    ("`$call` and `$path`", |said| {
        said.keys(&[("$call", "$path"), ("$call", "$select"), ("call", "path")])
    }),
    ("`$toolCallId` and `$select`", |said| {
        said.keys(&[
            ("$toolCallId", "$select"),
            ("_toolCallId", "_select"),
            ("toolCallId", "select"),
        ])
    }),
    ("`$tool_call_id` and `$select`", |said| {
        said.keys(&[
            ("$tool_call_id", "$select"),
            ("tool_call_id", "path"),
            ("call_id", "select"),
        ])
    }),
    ("`$id` and `$select`", |said| {
        said.keys(&[("$id", "$select"), ("$tool_id", "$select")])
    }),
    ("`$tool` and `select`", |said| {
        said.keys(&[("$tool", "select"), ("_tool", "select")])
    }),
    ("`$tool` and `$path`", |said| {
        said.keys(&[("$tool", "$path"), ("_tool", "_path"), ("$tool", "path")])
    }),
    ("`$tool` and `$query`", |said| {
        said.keys(&[("$tool", "$query"), ("$tool", "query"), ("_tool", "_query")])
    }),
    ("`$tool` and `$selector`", |said| {
        said.keys(&[
            ("$tool", "$selector"),
            ("_tool", "_selector"),
            ("$tool", "selector"),
        ])
    }),
    ("a misspelt `$select`", |said| {
        said.keys(&[
            ("$tool", "$selct"),
            ("$tool", "$seleect"),
            ("_tool", "_selcet"),
            ("$tool", "$Select"),
        ])
    }),
    ("`$tool` and `$jmespath`", |said| {
        said.keys(&[
            ("$tool", "$jmespath"),
            ("$tool", "$jq"),
            ("_tool", "_field"),
        ])
    }),
    ("`$tool` and `$expr`", |said| {
        said.keys(&[
            ("$tool", "$expression"),
            ("$tool", "$key"),
            ("$tool", "$get"),
        ])
    }),
    ("a misspelt `$tool`", |said| {
        said.keys(&[
            ("$tol", "$select"),
            ("$tools", "$select"),
            ("$Tool", "$select"),
        ])
    }),
    ("`$` and `_` mixed", |said| {
        said.keys(&[("$tool", "_select"), ("_tool", "$select")])
    }),
    ("`$result` and `$select`", |said| {
        said.keys(&[
            ("$result", "$select"),
            ("$from", "$select"),
            ("$source", "$path"),
        ])
    }),
    ("`@tool` and `@select`", |said| {
        said.keys(&[
            ("@tool", "@select"),
            ("#tool", "#select"),
            ("tool$", "select$"),
        ])
    }),
    ("`$ref` with a pointer", |said| {
        let Some(path) = said.path() else {
            return Vec::new();
        };
        let pointer = path.replace(['.', '['], "/").replace(['"', ']'], "");
        vec![
            written(said.put(json!({"$ref": format!("#/{pointer}")}))),
            written(said.put(json!({"$ref": pointer}))),
        ]
    }),
    ("`$ref` with a path", |said| {
        said.path()
            .map(|path| {
                vec![
                    written(said.put(json!({"$ref": path}))),
                    written(
                        said.put(json!({"$ref": said.given.call_id, "$select": said.selector})),
                    ),
                ]
            })
            .unwrap_or_default()
    }),
    ("one key with a path", |said| {
        said.path()
            .map(|path| {
                ["$var", "$result", "$from", "ref"]
                    .iter()
                    .map(|key| written(said.put(object([(key, path.as_str().into())]))))
                    .collect()
            })
            .unwrap_or_default()
    }),
    ("`$tool` with a path", |said| {
        said.path()
            .map(|path| {
                vec![written(said.put(Value::Object(Map::from_iter([
                    said.with_key("tool", path),
                ]))))]
            })
            .unwrap_or_default()
    }),
    ("`$tool` with a path and `$select`", |said| {
        said.path()
            .map(|path| {
                vec![written(said.put(Value::Object(Map::from_iter([
                    said.with_key("tool", path),
                    said.with_key("select", said.selector.as_str()),
                ]))))]
            })
            .unwrap_or_default()
    }),
    ("an object in `$tool`", |said| {
        let nested = |inner: Value| {
            written(said.put(Value::Object(Map::from_iter([
                said.with_key("tool", inner),
            ]))))
        };
        vec![
            nested(json!({"id": said.id(), "select": said.selector})),
            nested(json!({"call_id": said.id(), "path": said.selector})),
            nested(said.reference()),
        ]
    }),
    ("a list in `$tool` or `$select`", |said| {
        let tool = Map::from_iter([
            said.with_key("tool", json!([said.id()])),
            said.with_key("select", said.selector.as_str()),
        ]);
        let select = Map::from_iter([
            said.with_key("tool", said.id()),
            said.with_key("select", json!([said.selector])),
        ]);
        vec![
            written(said.put(tool.into())),
            written(said.put(select.into())),
        ]
    }),
    ("a list of names in `$select`", |said| {
        match &said.goal.form {
            Form::Whole if said.goal.root.len() > 1 => {
                vec![written(said.put(Value::Object(Map::from_iter([
                    said.with_key("tool", said.id()),
                    said.with_key("select", json!(said.goal.root)),
                ]))))]
            }
            Form::Item(index, field) if !field.is_empty() => {
                let steps: Vec<Value> = said
                    .goal
                    .root
                    .iter()
                    .cloned()
                    .map(Value::from)
                    .chain([Value::from(*index)])
                    .chain(field.iter().cloned().map(Value::from))
                    .collect();
                vec![written(said.put(Value::Object(Map::from_iter([
                    said.with_key("tool", said.id()),
                    said.with_key("select", Value::from(steps)),
                ]))))]
            }
            _ => Vec::new(),
        }
    }),
    ("a number in `$select`", |said| match &said.goal.form {
        Form::Item(index, field) if said.goal.root.is_empty() && field.is_empty() => {
            vec![written(said.put(Value::Object(Map::from_iter([
                said.with_key("tool", said.id()),
                said.with_key("select", *index),
            ]))))]
        }
        _ => Vec::new(),
    }),
    ("an index beside `$select`", |said| match &said.goal.form {
        Form::Item(index, field) if field.is_empty() => {
            vec![written(said.put(Value::Object(Map::from_iter([
                said.with_key("tool", said.id()),
                said.with_key("select", crate::mistakes::goals::dotted(&said.goal.root)),
                said.with_key("index", *index),
            ]))))]
        }
        _ => Vec::new(),
    }),
    ("a type beside the reference", |said| {
        let mut reference = said.reference();
        reference["type"] = "reference".into();
        vec![written(said.put(reference))]
    }),
    ("a description beside the reference", |said| {
        let mut reference = said.reference();
        reference["description"] = "the value that was found".into();
        vec![written(said.put(reference))]
    }),
    ("the reference within an object", |said| {
        ["$reference", "value", "reference"]
            .iter()
            .map(|key| written(said.put(object([(key, said.reference())]))))
            .collect()
    }),
    ("the reference within a list", |said| {
        vec![written(said.put(json!([said.reference()])))]
    }),
    // Ids.
    ("another case of the id", |said| {
        let upper = said.id().to_uppercase();
        let mut reference = said.reference();
        reference[said.key("tool")] = upper.into();
        vec![written(said.put(reference))]
    }),
    ("a prefix of the id", |said| {
        ["functions.", "tool:", "#", "call:"]
            .iter()
            .map(|prefix| {
                let mut reference = said.reference();
                reference[said.key("tool")] = format!("{prefix}{}", said.id()).into();
                written(said.put(reference))
            })
            .collect()
    }),
    ("the id cut or in braces", |said| {
        let texts = [
            format!("{{{{{}}}}}", said.id()),
            format!("${}", said.id()),
            format!("<{}>", said.id()),
            said.id().replace('_', "-"),
            said.id().replacen("call_", "", 1),
        ];
        texts
            .into_iter()
            .filter(|text| text != said.id())
            .map(|text| {
                let mut reference = said.reference();
                reference[said.key("tool")] = text.into();
                written(said.put(reference))
            })
            .collect()
    }),
    ("the tool's name for the id", |said| {
        let mut reference = said.reference();
        reference[said.key("tool")] = said.given.tool.into();
        vec![written(said.put(reference))]
    }),
    ("the tool's name with a prefix for the id", |said| {
        let mut reference = said.reference();
        reference[said.key("tool")] = format!("functions.{}:0", said.given.tool).into();
        vec![written(said.put(reference))]
    }),
    ("a letter wrong in the id", |said| {
        let id = said.id();
        if id.len() < 12 {
            return Vec::new();
        }
        let mut letters: Vec<char> = id.chars().collect();
        letters.swap(9, 10);
        let mut reference = said.reference();
        reference[said.key("tool")] = letters.into_iter().collect::<String>().into();
        vec![written(said.put(reference))]
    }),
    // Serialised.
    ("serialised, in a fence", |said| {
        let reference = said.reference();
        vec![
            written(said.put(format!("```json\n{reference}\n```").into())),
            written(said.put(format!("```\n{reference}\n```").into())),
        ]
    }),
    ("serialised, as Python prints it", |said| {
        vec![written(said.put(python(&said.reference()).into()))]
    }),
    ("serialised twice", |said| {
        vec![written(said.put(
            Value::from(said.reference().to_string()).to_string().into(),
        ))]
    }),
    ("serialised, with a comma too many", |said| {
        vec![written(
            said.put(
                said.reference()
                    .to_string()
                    .strip_suffix('}')
                    .map(|members| format!("{members},}}"))
                    .into(),
            ),
        )]
    }),
    ("serialised, with keys without quotes", |said| {
        let (tool, select) = (said.key("tool"), said.key("select"));
        vec![written(
            said.put(
                format!(
                    "{{{tool}: \"{}\", {select}: {}}}",
                    said.id(),
                    Value::from(said.selector.as_str())
                )
                .into(),
            ),
        )]
    }),
    ("serialised, in braces", |said| {
        vec![
            written(said.put(format!("{{{}}}", said.reference()).into())),
            written(said.put(format!("${}", said.reference()).into())),
        ]
    }),
    ("serialised, in backticks", |said| {
        vec![written(said.put(format!("`{}`", said.reference()).into()))]
    }),
    ("serialised, with other keys", |said| {
        vec![
            written(
                said.put(
                    json!({"tool": said.id(), "select": said.selector})
                        .to_string()
                        .into(),
                ),
            ),
            written(
                said.put(
                    json!({"$tool": said.id(), "$path": said.selector})
                        .to_string()
                        .into(),
                ),
            ),
        ]
    }),
    ("serialised, the end missing", |said| {
        let text = said.reference().to_string();
        vec![written(said.put(text[..text.len() - 1].into()))]
    }),
    ("serialised, within a list", |said| {
        vec![written(said.put(json!([said.reference().to_string()])))]
    }),
    ("serialised amid text", |said| {
        said.amid_with(&said.reference().to_string())
    }),
    // Styles.
    ("`refs` for `_refs`", |said| match said.style {
        Style::Inline => Vec::new(),
        _ => ["refs", "$ref", "_ref", "references"]
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
    ("the map as a string", |said| match said.style {
        Style::Inline => Vec::new(),
        _ => {
            let mut arguments = said.arguments();
            arguments["_refs"] = arguments["_refs"].to_string().into();
            vec![written(arguments)]
        }
    }),
    ("an entry that is a path", |said| match said.style {
        Style::Inline => Vec::new(),
        _ => said
            .path()
            .map(|path| {
                vec![
                    written(said.map(path.as_str())),
                    written(said.map(format!("{{{{{path}}}}}"))),
                    written(said.map(format!("${path}"))),
                ]
            })
            .unwrap_or_default(),
    }),
    ("keys without `_` in the map", |said| {
        said.of_style(Style::Refs, || {
            said.map(json!({"tool": said.id(), "select": said.selector}))
        })
    }),
    (
        "a wrong name of the parameter in the map",
        |said| match said.style {
            Style::Refs => vec![
                format!("{}s", said.parameter),
                said.parameter.to_uppercase(),
                format!("/{}", said.parameter),
                format!("${}", said.parameter),
                format!("arguments.{}", said.parameter),
            ]
            .into_iter()
            .map(|name| {
                let mut arguments = object([(said.parameter, Value::Null), ("_refs", json!({}))]);
                arguments["_refs"][name] = said.reference();
                written(arguments)
            })
            .collect(),
            _ => Vec::new(),
        },
    ),
    ("a list where a map is", |said| {
        said.of_style(Style::Refs, || {
            said.list(json!({"to": said.parameter, "tool": said.id(), "select": said.selector}))
        })
    }),
    ("a map where a list is", |said| {
        said.of_style(Style::RefsList, || {
            said.map(json!({"_tool": said.id(), "_select": said.selector}))
        })
    }),
    ("keys of a map in the list", |said| {
        said.of_style(Style::RefsList, || {
            said.list(json!({"to": said.parameter, "_tool": said.id(), "_select": said.selector}))
        })
    }),
    ("other keys in the list", |said| match said.style {
        Style::RefsList => vec![
            written(said.list(
                json!({"parameter": said.parameter, "tool": said.id(), "select": said.selector}),
            )),
            written(
                said.list(json!({"to": said.parameter, "call": said.id(), "path": said.selector})),
            ),
            written(
                said.list(
                    json!({"to": said.parameter, "tool": said.id(), "selector": said.selector}),
                ),
            ),
        ],
        _ => Vec::new(),
    }),
    ("a wrong target in the list", |said| match said.style {
        Style::RefsList => [
            format!("{}s", said.parameter),
            format!("${}", said.parameter),
            format!("arguments.{}", said.parameter),
            format!("#/{}", said.parameter),
        ]
        .into_iter()
        .map(|to| written(said.list(json!({"to": to, "tool": said.id(), "select": said.selector}))))
        .collect(),
        _ => Vec::new(),
    }),
    ("one entry for the list", |said| {
        said.of_style(Style::RefsList, || {
            object([
                (said.parameter, Value::Null),
                (
                    "_refs",
                    json!({"to": said.parameter, "tool": said.id(), "select": said.selector}),
                ),
            ])
        })
    }),
    (
        "a reference at its place in the refs styles",
        |said| match said.style {
            Style::Inline => Vec::new(),
            _ => vec![
                written(said.value(said.reference())),
                written(said.value(json!({"$tool": said.id(), "$select": said.selector}))),
            ],
        },
    ),
    ("a map in the inline style", |said| {
        said.of_style(Style::Inline, || {
            said.map(json!({"$tool": said.id(), "$select": said.selector}))
        })
    }),
    ("the references within the parameter", |said| {
        match said.style {
            Style::Refs => vec![written(
                said.value(json!({"_refs": {said.parameter: said.reference()}})),
            )],
            _ => Vec::new(),
        }
    }),
];

/// Which goals a reference is broken with: paths and projections, and a few others.
pub(crate) fn fits(goal: &Goal) -> bool {
    matches!(theme(goal), Theme::Path | Theme::Projection | Theme::Filter)
}
