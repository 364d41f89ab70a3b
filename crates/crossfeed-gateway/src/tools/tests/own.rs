//! The gateway's own tools.

use super::*;
use crossfeed_json::{Document, Kind, quoted};
use crossfeed_tokens::TokenCounter;
use proptest::prelude::*;

/// What one of the gateway's own tools says.
async fn said(client: &ClientTools, name: &str, arguments: Value) -> Value {
    let answer = answered(client, params(name, arguments.clone())).await;
    assert!(answer.get("isError").is_none(), "{arguments} {answer}");
    serde_json::from_str(answer["content"][0]["text"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn stored_results_can_be_read() {
    let client = one().await;
    let items: Vec<_> = (0..2000)
        .map(|n| json!({"id": n, "t": "x".repeat(20)}))
        .collect();
    let text = json!({"items": items}).to_string();
    returned(
        &client,
        "search",
        json!({"content": [{"type": "text", "text": text}]}),
    )
    .await;
    returned(
        &client,
        "search",
        json!({"content": [{"type": "text", "text": "é\n".repeat(9000)}]}),
    )
    .await;
    let read = async |arguments| said(&client, "read_result", arguments).await;
    assert_eq!(
        read(json!({"call_id": "call_1", "select": "items[3].id"})).await,
        json!({"value": 3})
    );
    let page = read(json!({"call_id": "call_1", "select": "items[*].id", "max_tokens": 100})).await;
    assert_eq!(
        (&page["items"][1], &page["total"]),
        (&json!(1), &json!(2000))
    );
    let page =
        read(json!({"call_id": "call_1", "select": "items[*].id", "offset": page["next_offset"]}))
            .await;
    assert_eq!(page["items"][0], page["offset"]);
    let page =
        read(json!({"call_id": "call_1", "fields": ["items[].id"], "select": "items[:2]"})).await;
    assert_eq!(page["value"], json!([{}, {}]));
    let page = read(json!({"call_id": "call_1", "fields": ["id"], "select": "items[:2]"})).await;
    assert_eq!(page, json!({"value": [{"id": 0}, {"id": 1}]}));
    let page = read(json!({"call_id": "call_2", "offset": 17998})).await;
    assert_eq!(
        page,
        json!({"text": "é\n", "offset": 17998, "total": 18000, "unit": "characters"})
    );
    for (arguments, code) in [
        (
            json!({}),
            "arguments.invalid: the required parameter `call_id` is missing",
        ),
        (json!({"call_id": null}), "arguments.invalid"),
        (
            json!("call_1"),
            "arguments.invalid: the arguments are not an object",
        ),
        (
            json!({"call_id": "call_1", "selct": "items[0]"}),
            "arguments.invalid: the tool has no parameter \"selct\"\ntry: select",
        ),
        (json!({"call_id": "call_9"}), "result.unknown"),
        (json!({"call_id": 7}), "arguments.invalid"),
        (
            json!({"call_id": "call_1", "offset": -1}),
            "arguments.invalid",
        ),
        (
            json!({"call_id": "call_1", "offset": 1.5}),
            "arguments.invalid",
        ),
        (
            json!({"call_id": "call_1", "select": "none"}),
            "select.matched_nothing",
        ),
        (
            json!({"call_id": "call_1", "fields": [7]}),
            "arguments.invalid",
        ),
    ] {
        let answer = answered(&client, params("read_result", arguments.clone())).await;
        assert!(error(&answer).starts_with(code), "{arguments} {answer}");
    }
    let list = said(&client, "list_results", json!({})).await;
    assert_eq!(list["total"], 2);
    // Learning uses results, too, so that either may be the latest.
    let results = list["results"].as_array().unwrap();
    assert!(
        results.iter().any(|result| result["call_id"] == "call_2"),
        "{list}"
    );
    assert_eq!(results[0]["tool"], "search");
    let list = said(&client, "list_results", json!({"limit": 1})).await;
    assert_eq!(list["next_offset"], 1);
    let list = said(
        &client,
        "list_results",
        json!({"limit": 1.0, "offset": "1"}),
    )
    .await;
    assert_eq!(list["results"].as_array().unwrap().len(), 1);
    assert_eq!(list.get("next_offset"), None);
    client.close().await;
    let list = client.shared.session().results().await.unwrap();
    assert!(list.is_empty());
}

#[tokio::test]
async fn a_page_in_which_something_is_left_out_is_text_alone() {
    let client = one().await;
    let result = json!({"structuredContent": {"items": ["x", "y".repeat(9000), "z"]}});
    returned(&client, "search", result).await;
    let arguments = json!({"call_id": "call_1", "select": "items"});
    let answer = answered(&client, params("read_result", arguments)).await;
    let page = "[crossfeed page: not JSON; … marks what is left out]\n\
        {\"items\":[\"x\",… string, 9002 bytes: select items | [1],\"z\"],\
        \"offset\":0,\"total\":3,\"unit\":\"items\"}";
    assert_eq!(answer["content"], json!([{"type": "text", "text": page}]));
    assert_eq!(answer.get("structuredContent"), None);
    // Nothing else is promised.
    let listed = crate::tools::builtin::definition("read_result", &GatewayConfig::default());
    assert_eq!(listed.get("outputSchema"), None);
}

#[tokio::test]
async fn outputs_can_be_inspected() {
    let client = one().await;
    let told = said(
        &client,
        "inspect_tool_output",
        json!({"tool_id": "typed", "field_path": ""}),
    )
    .await;
    assert_eq!(
        told["children"][0],
        json!({"name": "items", "type": "array"})
    );
    let unknown = json!({"tool_id": "search", "field_path": ""});
    let answer = answered(&client, params("inspect_tool_output", unknown.clone())).await;
    assert!(error(&answer).contains("is unknown"), "{answer}");
    returned(&client, "search", json!({"structuredContent": {"id": 1}})).await;
    // Learning goes on beside the answer.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    let told = said(&client, "inspect_tool_output", unknown).await;
    assert_eq!(told["flattened_fields"], json!(["id: integer"]));
    let answer = answered(
        &client,
        params("inspect_tool_output", json!({"tool_id": "serch"})),
    )
    .await;
    assert!(error(&answer).ends_with("try: search"), "{answer}");
    let answer = answered(
        &client,
        params(
            "inspect_tool_output",
            json!({"tool_id": "typed", "field_path": "no"}),
        ),
    )
    .await;
    assert!(error(&answer).starts_with("projection.invalid"), "{answer}");
}

#[tokio::test]
async fn nothing_is_learned_of_results_that_others_share() {
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    let caller = |principal, session: Option<&str>| {
        Caller::new(principal, session.map(str::to_owned), Revision::V2026_07_28)
    };
    let named = || Principal::Named("n".to_owned());
    for (caller, learns) in [
        (caller(Principal::Anonymous, None), false),
        (caller(Principal::Anonymous, Some("s")), true),
        (caller(named(), None), true),
    ] {
        let client = world.client(caller.clone()).await;
        returned(&client, "search", json!({"structuredContent": {"id": 1}})).await;
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let session = client.shared.session();
        assert_eq!(session.learned("search").is_some(), learns, "{caller:?}");
    }
    // Nor is anything said of what was.
    let client = world.client(caller(Principal::Anonymous, None)).await;
    let shown = returned(&client, "search", json!({"structuredContent": {"id": 1}})).await;
    let id = shown["structuredContent"]["_toolCallId"].as_str().unwrap();
    let id = crossfeed_wire::CallId::parse(id).unwrap();
    assert!(client.shared.session().learn(&id).await.unwrap());
    let unknown = json!({"tool_id": "search", "field_path": ""});
    let answer = answered(&client, params("inspect_tool_output", unknown)).await;
    assert!(error(&answer).contains("is unknown"), "{answer}");
}

#[tokio::test]
async fn a_client_without_a_session_takes_nothing_of_others_with_it() {
    let world = World::new(vec![(server("a"), tools())], Vec::new());
    for principal in [Principal::Anonymous, Principal::Named("n".to_owned())] {
        let caller = || Caller::new(principal.clone(), None, Revision::V2026_07_28);
        let (stays, goes) = (world.client(caller()).await, world.client(caller()).await);
        let result = json!({"structuredContent": {"id": 1}});
        let shown = returned(&stays, "search", result).await;
        let id = shown["structuredContent"]["_toolCallId"].clone();
        goes.close().await;
        let reference = json!({"q": {"$tool": id, "$select": "to_string(id)"}});
        let sent = forward(&stays, params("search", reference)).await.params;
        assert!(String::from_utf8_lossy(&sent).contains(r#""q":"1""#));
    }
}

/// JSON as it may come: with more digits, longer keys and more depth than a page takes.
fn document() -> impl Strategy<Value = String> {
    let text = prop_oneof!["[a-z\"é\\\\\n]{0,9}", "[a-zé\"]{60,400}"];
    let key = prop_oneof![4 => "[a-z]{1,5}", 2 => "[a-z \"é.]{0,30}", 1 => "[a-zé]{100,400}"];
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?[1-9][0-9]{0,6}",
        "[1-9][0-9]{100,700}",
        text.prop_map(|text| quoted(&text)),
    ];
    leaf.prop_recursive(6, 40, 8, move |inner| {
        let members = prop::collection::btree_map(key.clone(), inner.clone(), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..8).prop_map(|items| format!("[{}]", items.join(","))),
            members.prop_map(|members| {
                let members = members.iter();
                let members = members.map(|(key, value)| format!("{}:{value}", quoted(key)));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

/// A page with its marks as strings, and a key of its own for each that replaces a key, too.
fn quoted_marks(page: &str) -> String {
    let is_object = page.starts_with("{\"members\":{");
    let mut out = String::new();
    let (mut is_string, mut is_escaped) = (false, false);
    // The mark that is being read, and how deep in brackets of its selectors.
    let mut mark: Option<String> = None;
    let mut depth = 0;
    let mut chars = page.chars().peekable();
    while let Some(c) = chars.next() {
        let is_outside = !is_string;
        if is_string {
            is_string = is_escaped || c != '"';
            is_escaped = c == '\\' && !is_escaped;
        } else {
            is_string = c == '"';
        }
        if is_outside && c == '…' && mark.is_none() {
            if is_object && out.ends_with(['{', ',']) {
                out.push_str(&format!("\"{}\":", out.len()));
            }
            mark = Some(String::new());
        }
        let ends = match c {
            // Within a mark a blank follows.
            ',' => chars.peek() != Some(&' '),
            _ => matches!(c, ']' | '}'),
        };
        if is_outside && ends && depth == 0 {
            out.extend(mark.take().map(|mark| quoted(&mark)));
        }
        if is_outside && mark.is_some() {
            match c {
                '[' | '(' => depth += 1,
                ']' | ')' => depth -= 1,
                _ => {}
            }
        }
        mark.as_mut().unwrap_or(&mut out).push(c);
    }
    out
}

/// A reader that does what pages say, and nothing else.
struct Reader<'c> {
    client: &'c ClientTools,
    max_tokens: usize,
    pages: usize,
}

impl Reader<'_> {
    /// All of what a selector picks, as JSON.
    async fn all(&mut self, select: Option<&str>, as_json: bool) -> String {
        let mut offset = 0;
        let (mut text, mut parts) = (String::new(), Vec::new());
        loop {
            self.pages += 1;
            assert!(self.pages < 20_000);
            let mut asked =
                json!({"call_id": "call_1", "max_tokens": self.max_tokens, "offset": offset});
            if let Some(select) = select {
                asked["select"] = json!(select);
            }
            if as_json {
                asked["as_json"] = json!(true);
            }
            let answer = answered(self.client, params("read_result", asked)).await;
            assert!(answer.get("isError").is_none(), "{answer}");
            let page = answer["content"][0]["text"].as_str().unwrap().to_owned();
            let tokens = TokenCounter::estimate().count(&page);
            assert!(tokens <= self.max_tokens, "{tokens}: {page}");
            // A page in which something is left out says so first, and does not parse.
            let (notice, page) = match page.split_once('\n') {
                Some((notice, page)) if notice.starts_with("[crossfeed page: ") => {
                    assert!(Document::new(page.to_owned()).root().is_err(), "{page}");
                    (notice, quoted_marks(page))
                }
                _ => ("", page),
            };
            let page = Document::new(page);
            let page = page.root().unwrap();
            let member = |name| page.get(name);
            if let Some(piece) = member("text").or(member("json")) {
                text.push_str(&piece.as_str().unwrap());
            }
            let value = ["value", "items", "members"].into_iter().find_map(member);
            if let (Some(value), None) = (value, member("offset")) {
                return String::from_utf8_lossy(value.raw()).into_owned();
            }
            if notice.contains("as_json: true") {
                return Box::pin(self.all(select, true)).await;
            }
            for part in value.into_iter().flat_map(|value| value.items()) {
                parts.push(self.part(part, value.unwrap().kind()).await);
            }
            let number = |name| member(name).and_then(|number| number.as_number()?.parse().ok());
            match number("next_offset") {
                Some(next) => {
                    assert!(next > offset);
                    offset = next;
                }
                None => {
                    return match value.map(|value| value.kind()) {
                        Some(Kind::Array) => format!("[{}]", parts.join(",")),
                        Some(_) => format!("{{{}}}", parts.join(",")),
                        None if member("text").is_some() => quoted(&text),
                        None => text,
                    };
                }
            }
        }
    }

    async fn part(&mut self, part: crossfeed_json::Cursor<'_>, of: Kind) -> String {
        let said = part.as_str().filter(|said| said.starts_with("… "));
        let mut key = quoted(&part.key().text());
        let value = match said {
            None => String::from_utf8_lossy(part.raw()).into_owned(),
            Some(said) => {
                let (said, of_key) = match said.split_once(", its key: select ") {
                    Some((said, of_key)) => (said, Some(of_key)),
                    None => (&*said, None),
                };
                if let Some(of_key) = of_key {
                    key = Box::pin(self.all(Some(of_key), false)).await;
                }
                match said.split_once(": select ") {
                    Some((_, select)) => Box::pin(self.all(Some(select), false)).await,
                    None => "null".to_owned(),
                }
            }
        };
        match of {
            Kind::Array => value,
            _ => format!("{key}:{value}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever a result is: who does what its pages say has read all of it.
    #[test]
    fn every_result_is_read_by_its_pages(document in document(), max_tokens in 50usize..160) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let client = one().await;
            let whole = format!("{{\"v\":{document}}}");
            let result = format!("{{\"content\":[],\"structuredContent\":{whole}}}");
            let made = forward(&client, params("search", json!({}))).await;
            made.pending.finish(result.into()).await;
            let mut reader = Reader { client: &client, max_tokens, pages: 0 };
            assert_eq!(reader.all(None, false).await, whole);
            assert_eq!(reader.all(None, true).await, whole);
        });
    }
}
