//! Advice that succeeds when it is followed: mistakes of models, in every style, and what a machine makes of what it is
//! answered (`specs/errors.md#what-is-offered`).

use super::*;

/// The words of a configuration that choose a style.
const STYLES: [&str; 4] = ["inline", "openai", "refs", "refs-list"];

/// A client of a server with a result to refer to: `call_1`, as text.
async fn client(style: &str) -> ClientTools {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let entity = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "kind": {"type": "string"}},
        "required": ["name", "kind"],
    });
    let listed = json!([
        {"name": "read_query", "inputSchema": {"type": "object"}},
        {"name": "next", "inputSchema": {"type": "object", "properties": {
            "path": {"type": "string"},
            "urls": strings,
            "n": {"type": "integer"},
            "entities": {"type": "array", "items": entity},
            "any": {},
        }, "additionalProperties": false}},
    ]);
    let mut world = World::new(vec![(server("a"), listed)], Vec::new());
    let config = Arc::make_mut(&mut world.tools.config);
    config.profile = Some(style.to_owned());
    config.templates = true;
    let client = world.client(local()).await;
    let user = |id: i32| json!({"id": id, "name": format!("u{id}"), "email": format!("e{id}"), "score": 9 - id});
    let users: Vec<_> = (0..5).map(user).collect();
    let text = json!({"users": users, "total": 5}).to_string();
    let result = json!({"content": [{"type": "text", "text": text}]});
    returned(&client, "read_query", result).await;
    client
}

/// Arguments in which this stands for the parameter, as the style has it; keys of a reference are written with `_`.
fn written(style: &str, parameter: &str, reference: Value) -> Value {
    match style {
        "refs" => json!({parameter: null, "_refs": {parameter: reference}}),
        "refs-list" => {
            let Value::Object(members) = reference else {
                return json!({parameter: null, "_refs": [reference]});
            };
            let members = members.into_iter();
            let mut entry: Value = members
                .map(|(key, value)| (key.trim_start_matches('_').to_owned(), value))
                .collect();
            entry["to"] = parameter.into();
            json!({parameter: null, "_refs": [entry]})
        }
        _ => json!({parameter: reference}),
    }
}

/// What becomes of a call: the arguments that the tool gets, or the error.
async fn outcome(client: &ClientTools, arguments: &Value) -> Result<Value, Value> {
    match client.call(params("next", arguments.clone())).await {
        Call::Forward(forward) => {
            let sent: Value = serde_json::from_slice(&forward.params).unwrap();
            Ok(sent["arguments"].clone())
        }
        Call::Answered(answer) => {
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!(answer["isError"], true);
            Err(answer)
        }
        Call::Refused(error) => panic!("{error:?}"),
    }
}

/// The arguments with what is offered first.
fn followed(arguments: &Value, answer: &Value) -> Option<Value> {
    let body = &answer["_meta"]["dev.crossfeed/error"]["error"];
    let advice = body["advice"].as_str()?;
    let (_, offered) = advice.split_once("try: ")?;
    let offered = offered.lines().next()?;
    let at = body["at"].as_str()?;
    let mut next = arguments.clone();
    let parsed = |json: &str| {
        let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
        values.next()?.ok()
    };
    if let Some(map) = offered.strip_prefix("\"_refs\": ") {
        let parameter = at.split('/').nth(1)?;
        next[parameter] = Value::Null;
        next["_refs"] = parsed(map)?;
        return Some(next);
    }
    if let Some((part, rest)) = offered.split_once("` in place of `") {
        let (old, _) = rest.split_once('`')?;
        let text = next.pointer_mut(at)?;
        *text = text
            .as_str()?
            .replace(old, part.trim_start_matches('`'))
            .into();
        return Some(next);
    }
    if offered.starts_with('{') {
        *next.pointer_mut(at)? = parsed(offered)?;
        return Some(next);
    }
    let first = offered.split([';', '\n']).next()?;
    let mut depth = 0;
    let end = first.find(|sign| {
        depth += match sign {
            '(' | '{' => 1,
            ')' | '}' => -1,
            _ => 0,
        };
        sign == ',' && depth == 0
    });
    let first = &first[..end.unwrap_or(first.len())];
    let is_parameter = body["message"].as_str()?.contains("no parameter");
    if is_parameter {
        match &mut next["_refs"] {
            Value::Array(entries) => entries[0]["to"] = first.into(),
            Value::Object(entries) => {
                let entry = std::mem::take(entries).into_iter().next()?.1;
                entries.insert(first.to_owned(), entry);
            }
            _ => return None,
        }
        return Some(next);
    }
    let word = if body["code"] == "result.unknown" {
        "tool"
    } else {
        "select"
    };
    // An argument that does not fit has the place of the value.
    let reference = match &mut next["_refs"] {
        Value::Array(entries) => entries.first_mut()?,
        Value::Object(entries) => entries.values_mut().next()?,
        _ => {
            next.as_object_mut()?.shift_remove("_refs");
            next.pointer_mut(&format!("/{}", at.split('/').nth(1)?))?
        }
    };
    let keys = [word.to_owned(), format!("_{word}"), format!("${word}")];
    let key = keys.into_iter().find(|key| reference.get(key).is_some())?;
    reference[key] = first.into();
    Some(next)
}

/// Judges a mistake: the tool gets the meant value, at once or when the first advice is followed.
async fn judge(style: &str, arguments: Value, parameter: &str, meant: &Value) {
    let client = client(style).await;
    let answer = match outcome(&client, &arguments).await {
        Ok(sent) => return assert_eq!(sent[parameter], *meant, "{style}: {arguments}"),
        Err(answer) => answer,
    };
    let said = error(&answer).to_owned();
    assert!(!said.contains('<'), "a placeholder in {style}: {said}");
    let foreign = if style == "openai" { '_' } else { '$' };
    for word in ["tool", "select", "default", "with", "literal"] {
        for key in [format!("\"{foreign}{word}\""), format!("`{foreign}{word}`")] {
            let is_written = arguments.to_string().contains(&key.replace('`', "\""));
            let is_said = said.contains(&key) && !is_written;
            assert!(!is_said, "another spelling in {style}: {said}");
        }
    }
    let next = followed(&arguments, &answer);
    let next = next.unwrap_or_else(|| panic!("nothing to follow in {style}: {arguments}\n{said}"));
    match outcome(&client, &next).await {
        Ok(sent) => assert_eq!(
            sent[parameter], *meant,
            "{style}: {arguments}\n{said}\n{next}"
        ),
        Err(answer) => panic!("{style}: {arguments}\n{said}\n{next}\n{}", error(&answer)),
    }
}

async fn check(parameter: &str, reference: Value, meant: Value) {
    for style in STYLES {
        let reference = match style {
            "openai" => {
                let text = reference.to_string().replace("\"_", "\"$");
                serde_json::from_str(&text).unwrap()
            }
            _ => reference.clone(),
        };
        judge(
            style,
            written(style, parameter, reference),
            parameter,
            &meant,
        )
        .await;
    }
}

fn select(selector: &str) -> Value {
    json!({"_tool": "call_1", "_select": selector})
}

#[tokio::test]
async fn a_reference_written_wrongly() {
    for reference in [
        json!({"tool": "call_1", "select": "users[0].name"}),
        json!({"_tool": "call_1", "_select": ["users[0].name"]}),
        json!({"_select": "users[0].name"}),
        json!({"_tool": "", "_select": "users[0].name"}),
        json!({"_tool": "call_99", "_select": "users[0].name"}),
        json!({"_tool": "read_query", "_select": "users[0].name"}),
        json!({"_tool": "call_1", "_select": {}}),
        json!({"_tool": "call_1", "field": ["name"]}),
    ] {
        check("path", reference, json!("u0")).await;
    }
    for style in STYLES {
        let arguments = written(style, "path", json!("call_1.users[0].name"));
        judge(style, arguments, "path", &json!("u0")).await;
    }
}

#[tokio::test]
async fn a_selector_that_misses() {
    for (selector, meant) in [
        ("users[0].nam", json!("u0")),
        ("users[*].name", json!("u0")),
        ("users[?id==`3`][0].name", json!("u3")),
        ("users[*].name[0]", json!("u0")),
        ("users[?name=='U3'].email", json!("e3")),
        ("users.0.name", json!("u0")),
        ("/users/0/name", json!("u0")),
        ("users[0]?.name", json!("u0")),
    ] {
        check("path", select(selector), meant).await;
    }
    let emails = json!(["e0", "e1", "e2", "e3", "e4"]);
    for selector in ["users.email", "user[*].email", "$..email", "users['email']"] {
        check("urls", select(selector), emails.clone()).await;
    }
    let first = json!({"id": 0, "name": "u0", "email": "e0", "score": 9});
    for selector in [
        "max_by(users, \"score\")",
        "max_by(users, score)",
        "first(users)",
    ] {
        check("any", select(selector), first.clone()).await;
    }
    for selector in ["count(users)", "users.length", "len(users)"] {
        check("n", select(selector), json!(5)).await;
    }
    let entities: Vec<_> = (0..5)
        .map(|id| json!({"name": format!("u{id}"), "kind": "x"}))
        .collect();
    let selector = "users[*].{name: naem, kind: 'x'}";
    check("entities", select(selector), entities.into()).await;
}

#[tokio::test]
async fn a_text_that_names_a_call() {
    for style in STYLES {
        for (text, meant) in [
            ("{{call_1.users[0].nam}}", json!("u0")),
            ("{{call_1.users.map(x => x.name)}}", json!("u0")),
            (
                "See {{call_1.users[0].nam}} and {{call_1.total}}!",
                json!("See u0 and 5!"),
            ),
        ] {
            judge(style, json!({"path": text}), "path", &meant).await;
        }
        let arguments = json!({"urls": "{{call_1.users[0].name}}"});
        judge(
            style,
            arguments,
            "urls",
            &json!(["u0", "u1", "u2", "u3", "u4"]),
        )
        .await;
    }
}

#[tokio::test]
async fn a_map_written_wrongly() {
    for style in ["refs", "refs-list"] {
        let map = written(style, "path", select("users[0].name"))["_refs"].clone();
        for arguments in [
            json!({"path": null, "_refs": map.to_string()}),
            json!({"path": null, "refs": map}),
            json!({"path": null, "_refs": {"paht": select("users[0].name")}}),
            json!({"path": null, "_refs": [{"to": "paht", "tool": "call_1", "select": "users[0].name"}]}),
            json!({"path": null, "_refs": [{"tool": "call_1", "select": "users[0].name"}]}),
        ] {
            judge(style, arguments, "path", &json!("u0")).await;
        }
        let arguments = json!({"urls": [null], "_refs": {"/urls/0": select("users[0].name")}});
        judge(style, arguments, "urls", &json!(["u0"])).await;
    }
}

#[tokio::test]
async fn a_template_written_wrongly() {
    let with = json!({"a": select("users[0].name")});
    for (template, meant) in [
        (json!({"_template": "See {b}", "_with": with}), "See u0"),
        (json!({"_template": "See {{a}}", "_with": with}), "See u0"),
        (
            json!({"_template": "See {{call_1.users[0].name}}", "_with": {}}),
            "See u0",
        ),
    ] {
        check("path", template, json!(meant)).await;
    }
}
