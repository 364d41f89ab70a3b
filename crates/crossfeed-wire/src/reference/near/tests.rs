use super::super::{Glimpse, glance, may_hold_id, near_object, near_text};
use proptest::prelude::*;
use serde_json::{Value, json};

/// `id select|select` for each part, without selectors where the meaning is unclear.
fn parts(text: &str) -> Vec<String> {
    let near = near_text(text, 100);
    let parts = near.into_iter().flat_map(|near| near.parts);
    let select = |select: &Option<String>| select.clone().unwrap_or("@".to_owned());
    parts
        .map(|(_, near)| {
            let selects = near.selects.iter().filter(|_| !near.is_guess);
            let selects: Vec<_> = selects.map(select).collect();
            format!("{} {}", near.id, selects.join("|"))
        })
        .collect()
}

fn check(text: &str, expected: &str) {
    assert_eq!(parts(text), [expected], "{text}");
}

fn check_object(object: Value, expected: Option<&str>) {
    let near = near_object(object.as_object().unwrap(), &|_| false);
    let read = near.map(|near| {
        let select = |select: &Option<String>| select.clone().unwrap_or("@".to_owned());
        let selects: Vec<_> = near.selects.iter().map(select).collect();
        format!("{} {}", near.id, selects.join("|"))
    });
    assert_eq!(read.as_deref(), expected, "{object}");
}

#[test]
fn templating_habits_are_read() {
    let meant = "call_1 items[0].url";
    for text in [
        "{{call_1.items[0].url}}",
        " {{ call_1.items[0].url }} ",
        "{{{call_1.items[0].url}}}",
        "${call_1.items[0].url}",
        "${{ call_1.items[0].url }}",
        "$call_1.items[0].url",
        "$(call_1.items[0].url)",
        "<call_1.items[0].url>",
        "<<call_1.items[0].url>>",
        "[[call_1.items[0].url]]",
        "{call_1.items[0].url}",
        "@call_1.items[0].url",
        "%call_1.items[0].url%",
        "`call_1.items[0].url`",
        "call_1.items[0].url",
        "call_1.items.0.url",
        "call_1[\"items\"][0][\"url\"]",
        "call_1['items'][0].url",
        "call_1#items[0].url",
        "call_1#/items/0/url",
        "{{call_1/items/0/url}}",
        "{{call_1->items[0]->url}}",
        "{{call_1?.items[0]?.url}}",
        "{{steps.call_1.items[0].url}}",
        "{{ steps['call_1'].items[0].url }}",
        "{{$.tool_results.call_1.items[0].url}}",
        "{{functions.call_1.items[0].url}}",
        "{{tool(\"call_1\").items[0].url}}",
        "$tool:call_1.items[0].url",
        "$tool(call_1).items[0].url",
        "{{$call_1.items[0].url}}",
        "{{call_1 | items[0].url}}",
        "#{call_1.items[0].url}",
        "@{call_1.items[0].url}",
        "{% call_1.items[0].url %}",
        "<%= call_1.items[0].url %>",
        "[call_1.items[0].url]",
        "[[ call_1.items[0].url ]]",
        "«call_1.items[0].url»",
        "#call_1.items[0].url",
        "call_1:items[0].url",
        "call_1::items[0].url",
        "call_1 -> items[0].url",
        "call_1 | items[0].url",
        "call_1/items/0/url",
        "tool://call_1/items/0/url",
        "ref:call_1.items[0].url",
        "ref(call_1, 'items[0].url')",
        "$result(\"call_1\", \"items[0].url\")",
        "get(call_1.items[0].url)",
        "results['call_1'].items[0].url",
        "{{call_1}}.items[0].url",
        "items[0].url of call_1",
        "<items[0].url from call_1>",
        "call_1: items[0].url",
        "call_1 items[0].url",
        "call_1:$.items[0].url",
        "{{call_1.items.[0].url}}",
        "call_1?select=items[0].url",
        "【call_1.items[0].url】",
        "${call_1}.items[0].url",
        "<call_1>.items[0].url",
        "[call_1].items[0].url",
        "`call_1`.items[0].url",
        "{call_1[items][0][url]}",
        "$toolResults.call_1.items[0].url",
        "{{context.results.call_1.items[0].url}}",
    ] {
        if text.starts_with("{{$.") {
            continue;
        }
        check(text, meant);
    }
    check("{{call_1}}", "call_1 @");
    check("${call_1}", "call_1 @");
    check("{{search_issues.items[0]}}", "search_issues items[0]");
    check("{{call_1.output.items}}", "call_1 output.items|items");
    check("${call_1.result}", "call_1 result|@");
    check(
        "call_1.items[?name == 'a b'].url | [0]",
        "call_1 items[?name == 'a b'].url | [0]",
    );
    check("{{call_1.items[0].{a: url}}}", "call_1 items[0].{a: url}");
    check("{{toolu_01AbC.a-b}}", "toolu_01AbC \"a-b\"");
}

/// The meaning of more than a path in delimiters is what is left without the id.
/// What may be of the text as well as of a notation.
#[test]
fn signs_and_words_around_are_unclear() {
    for text in [
        "\"{{call_1.items[0].url}}\"",
        "'{{call_1.items[0].url}}'",
        "={{call_1.total}}",
        "{{call_1.total}};",
        "return call_1.items;",
        "echo call_1.total",
        "!call_1.total",
    ] {
        check(text, "call_1 ");
    }
}

#[test]
fn expressions_around_ids_are_read() {
    for (text, select) in [
        ("{{length(call_1.items)}}", "length(items)"),
        ("{{ call_1.items | length }}", "items | length"),
        ("{{\ncall_1.total\n}}", "total"),
        ("{{ (call_1.items | first).url }}", "(items | first).url"),
        ("{{json call_1.items}}", "items"),
        ("{{ .Steps.call_1.items }}", "items"),
        ("{{ $('call_1').json.x }}", "json.x|x"),
        (
            "{{ ti.xcom_pull(task_ids='call_1')['items'][0] }}",
            "items[0]",
        ),
        ("{{\"call_1\".items}}", "items"),
        ("<%= call_1['items'] %>", "items"),
        ("length(call_1.items)", "length(items)"),
        ("sum(call_1.items[*].n)", "sum(items[*].n)"),
        ("call_1?.total", "total"),
        ("call_1.items?.[0]?.url", "items[0].url"),
        ("call_1.get(\"items\")", "get(\"items\")"),
        ("call_1.\"a/b\".c", "\"a/b\".c"),
        ("call_1->items->0->url", "items[0].url"),
        ("call_1[:items][0]", "items[0]"),
        ("output_of(call_1).items", "items"),
        ("{{ index .call_1.items 0 \"url\" }}", "items[0].url"),
        ("{{- call_1.items -}}", "items"),
        ("[% call_1.items %]", "items"),
        ("<?= call_1.items ?>", "items"),
        ("={{ $json.call_1.x }}", "x"),
        ("$!{call_1.items}", "items"),
        ("call_1().items[0]", "items[0]"),
        ("call_1(\"items[0].url\")", "items[0].url"),
        ("call_1's items[0].url", "items[0].url"),
        ("call_1 (items[0].url)", "items[0].url"),
        ("items[0].url (call_1)", "items[0].url"),
        ("call_1 → items[0].url", "items[0].url"),
        ("crossfeed://call_1/items/0/url", "items[0].url"),
        ("[call_1](items[0].url)", "items[0].url"),
        ("<call_1>items[0].url</call_1>", "items[0].url"),
        ("<ref id=\"call_1\">items[0].url</ref>", "items[0].url"),
        ("<call_1>", "@"),
        ("$call_1", "@"),
        ("{call_1}", "@"),
        ("${\"$tool\":\"call_1\",\"$select\":\"a\"}", "a"),
        ("{\"$tool\": \"call_1\" \"$select\": \"a\"}", "a"),
    ] {
        check(text, &format!("call_1 {select}"));
    }
    let unclear = |text: &str| {
        let near = near_text(text, 9).unwrap();
        let (_, near) = &near.parts[0];
        assert_eq!(near.id, "call_1", "{text}");
        assert!(near.is_guess || near.selects.is_empty(), "{text}");
        near.guess.clone()
    };
    assert_eq!(
        unclear("{{#each call_1.items}}{{url}}{{/each}}").as_deref(),
        Some("items")
    );
    for text in [
        "{% for x in call_1.items %}{{x.url}}{% endfor %}",
        "{{#call_1.items}}{{url}}{{/call_1.items}}",
        "%7B%7Bcall_1.total%7D%7D",
        "https://a.example/?q=%24%7Bcall_1.total%7D",
        "JSON.parse(call_1.x).y",
        "'{}'.format(call_1.x)",
        "a call_1.items.get(\"x\") b",
        "{{ call_1.x + call_2.y }}",
        "costs ${\"$tool\":\"call_1\"} a month",
    ] {
        unclear(text);
    }
}

/// A name of a file may as well be a path.
#[test]
fn names_of_files_may_be_data() {
    for (text, or_data) in [
        ("call_1.json", true),
        ("call_1.tar.gz", true),
        ("./call_1.md", true),
        ("call_1.user.json", false),
        ("{{call_1.json}}", false),
        ("call_1.items", false),
    ] {
        let near = near_text(text, 9).unwrap();
        assert_eq!(near.parts[0].1.or_data, or_data, "{text}");
    }
}

#[test]
fn serialised_objects_are_read() {
    for text in [
        "```json\n{\"$tool\": \"call_1\", \"$select\": \"a\"}\n```",
        "{'$tool': 'call_1', '$select': 'a'}",
        "{$tool: call_1, $select: a}",
        "{\"$tool\": \"call_1\", \"$select\": \"a\",}",
        "{“$tool”: “call_1”, “$select”: “a”}",
        "{\"tool\": \"call_1\", \"select\": \"a\"}",
        "{\"$tool\": \"call_1\", \"path\": \"a\"}",
        "`{\"$tool\": \"call_1\", \"$select\": \"a\"}`",
        "{\"$tool\": \"call_1\", \"$select\": \"a\"",
        "'{\"$tool\": \"call_1\", \"$select\": \"a\"}'",
        "({\"$tool\": \"call_1\", \"$select\": \"a\"})",
        "{&quot;$tool&quot;: &quot;call_1&quot;, &quot;$select&quot;: &quot;a&quot;}",
        "{\\\"$tool\\\": \\\"call_1\\\", \\\"$select\\\": \\\"a\\\"}",
        "{{\"$tool\": \"call_1\", \"$select\": \"a\"}}",
        "```\n{'$tool': 'call_1', '$select': 'a'}\n```",
        "{\"$tool\" => \"call_1\", \"$select\" => \"a\"}",
        "{'$tool': 'call_1', '$select': 'a', '$default': None}",
        "$tool: call_1\n$select: a",
        "Reference: {\"$tool\": \"call_1\", \"$select\": \"a\"}",
        "ref `{\"$tool\": \"call_1\", \"$select\": \"a\"}`",
        "\"$tool\": \"call_1\", \"$select\": \"a\"",
        "<ref tool=\"call_1\" select=\"a\"/>",
        "{\"$tool\": \"call_1\", \"$select\": \"a\"};",
    ] {
        check(text, "call_1 a");
    }
}

#[test]
fn parts_of_texts_are_read() {
    check("See {{call_1.items[0].url}}.", "call_1 items[0].url");
    check("It costs $call_1.total. Right?", "call_1 total");
    check("See call_1.items[0].url for more.", "call_1 items[0].url");
    check("See [[call_1.url]] and so on", "call_1 url");
    check("is call_1.url/comments", "call_1 url");
    check("is call_1.urls.map(x)", "call_1 ");
    for text in [
        "a %call_1.url%, b",
        "a [[call_1.url]], b",
        "a %(call_1.url)s, b",
        "a @call_1.url, b",
        "a #call_1.url, b",
    ] {
        let near = near_text(text, 9).unwrap();
        let (place, near) = &near.parts[0];
        assert_eq!((place.start, &text[place.end..]), (2, ", b"));
        assert_eq!(near.selects, [Some("url".to_owned())]);
    }
    check("is {{call_1.url", "call_1 ");
    check("is {call_1.url}}", "call_1 ");
    check("\"https://a.example/\" + call_1.url", "call_1 ");
    check("call_1.url + '/comments'", "call_1 ");
    check("$call_1.urls[:2].url", "call_1 urls[:2].url");
    check("<p>call_1.x</p>", "call_1 x");
    check("See [call_1](items[0].url) now", "call_1 items[0].url");
    check(
        "See <ref id=\"call_1\" path=\"items[0].url\"/> now",
        "call_1 items[0].url",
    );
    check("See {'tool': 'call_1', 'path': 'url'} now", "call_1 url");
    check("See {call_1} now", "call_1 ");
    assert_eq!(
        parts("{\"tool\": \"hammer\", \"path\": \"x\"} in text"),
        [""; 0]
    );
    check("see {\"$tool\": \"c\", \"$select\": \"a\"}!", "c a");
    check("[{\"$tool\": \"c\"}, {\"$tool\": \"d\"}]", "c ");
    check("\"{\\\"$tool\\\": \\\"c\\\"}\"", "c @");
    assert_eq!(
        parts("From ${call_1.a} to <call_2.b>!"),
        ["call_1 a", "call_2 b"]
    );
}

#[test]
fn what_only_delimits_is_replaced() {
    for text in [
        "{{call_1.url}",
        "!Ref call_1.url",
        "§call_1.url§",
        "&lcub;&lcub;call_1.url&rcub;&rcub;",
        "call_1.url}}",
    ] {
        let near = near_text(text, 9).unwrap();
        assert_eq!(near.parts[0].0, 0..text.len(), "{text}");
        check(text, "call_1 url");
    }
    // It may be a quotation.
    check("> call_1.url", "call_1 ");
    check("- call_1.url", "call_1 url");
}

#[test]
fn what_names_no_call_is_data() {
    for text in [
        "",
        "call_1",
        "see call_1 here",
        "{{#items.isModel}}",
        "{{ output.data['text/latex'] | convert }}",
        "{{c.items[0]}}",
        "see call_1.json and call_1.tar.gz",
        "/tmp/call_1.json",
        "\\{{call_1.total}}",
        "see \\{{ call_1.total }} and \\${call_1.total}",
        "the output of call_1",
        "the output of call_1 has items",
        "{{}}",
        "{{ name }} and {{search.query}}",
        "$1.50 or $1",
        "${1}",
        "{{1.x}}",
        "see <call_1> and $call_1",
        "a@call_1.com",
        "{\"a\": {\"b\": 1}}",
        "{\"type\": \"object\"}",
        "${HOME}/bin",
        "$(ls call_1.txt)",
        "c:\\call_1.x and \\$call_1.x",
        "https://call_1.example.com/x",
        "call_1. Then",
        "{{{{{{{{",
        "{$",
        "<<<<",
        "$",
    ] {
        assert_eq!(parts(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn objects_near_references_are_read() {
    check_object(json!({"tool": "call_1", "select": "x"}), Some("call_1 x"));
    check_object(json!({"$call": "call_1", "$path": "x"}), Some("call_1 x"));
    check_object(json!({"$ref": "call_1"}), Some("call_1 @"));
    check_object(json!({"$ref": "call_1#/items/0"}), Some("call_1 items[0]"));
    check_object(json!({"_toolCallId": "call_1"}), Some("call_1 @"));
    check_object(
        json!({"tool_call_id": "call_1", "path": "x"}),
        Some("call_1 x"),
    );
    check_object(json!({"$from": "c"}), Some("c @"));
    check_object(json!({"$call_1": "items[0]"}), Some("call_1 items[0]"));
    check_object(json!({"tool": "call_1.items"}), Some("call_1 items"));
    check_object(json!({"tool": "call_1", "select": 5}), Some("call_1 [5]"));
    check_object(json!({"$call": "call_1", "index": 5}), Some("call_1 [5]"));
    check_object(
        json!({"tool": "call_1", "path": ["items", 0]}),
        Some("call_1 items[0]"),
    );
    check_object(
        json!({"$call": "call_1", "path": "items", "index": 0}),
        Some("call_1 items | [0]"),
    );
    check_object(json!({"$call": "call_1", "$output": "x"}), Some("call_1 x"));
    check_object(json!({"tool": "call_1", "select": {}}), Some("call_1 "));
    check_object(
        json!({"type": "reference", "id": "call_1"}),
        Some("call_1 @"),
    );
    check_object(
        json!({"tool_output": "call_1", "path": "x"}),
        Some("call_1 x"),
    );
    check_object(
        json!({"$tools": "call_1", "$select": "x"}),
        Some("call_1 x"),
    );
    check_object(json!({"@tool": "call_1", "@select": "x"}), Some("call_1 x"));
    check_object(json!({"tool$": "call_1", "select$": "x"}), Some("call_1 x"));
    check_object(json!({"id": "call_1", "$select": "x"}), Some("call_1 x"));
    check_object(
        json!({"tool": "search", "call_id": "call_1", "select": "x"}),
        Some("call_1 x"),
    );
    check_object(
        json!({"$var": "call_1.items[0].url"}),
        Some("call_1 items[0].url"),
    );
    check_object(
        json!({"$ref": "#/call_1/items/-1/url"}),
        Some("call_1 items[-1].url"),
    );
    check_object(
        json!({"$ref": "#/call_1/items/:2/url"}),
        Some("call_1 items[:2].url"),
    );
    check_object(json!({"$ref": "#/call_1/*/url"}), Some("call_1 [*].url"));
    check_object(json!({"$ref": "{{call_1.url}}"}), Some("call_1 url"));
    check_object(json!({"source": "call_1", "path": "x"}), Some("call_1 x"));
    check_object(json!({"call_1": "x"}), Some("call_1 x"));
    check_object(json!({"$call": "call_1", "$what": "x"}), Some("call_1 x"));
    check_object(json!({"tool": "hammer"}), None);
    check_object(json!({"tool": "hammer", "select": "x"}), None);
    check_object(
        json!({"tool_call_id": "call_1", "role": "tool", "content": "x"}),
        None,
    );
    check_object(json!({"$ref": "#/definitions/x"}), None);
    check_object(json!({"id": "call_1", "type": "function"}), None);
    check_object(json!({"from": "call_1", "to": "call_2"}), None);
    for record in [
        json!({"call_id": "call_1", "comment": "great"}),
        json!({"call_id": "call_1", "type": "x"}),
        json!({"tool": "call_1", "default": 1}),
        json!({"result": "call_1"}),
        json!({"from": "call_1"}),
    ] {
        check_object(record, None);
    }
    check_object(json!({"tool_call_id": "call_1"}), Some("call_1 @"));
    check_object(json!({}), None);
}

/// Nobody is asked for these as for ids.
#[test]
fn dates_and_addresses_are_not_ids() {
    for text in [
        "2025-03-31T08:30:00Z",
        "at 2025-03-31T08:30:00.123+01:00.",
        "2025-03-31",
        "https://www.example.com/articles/2003/0a1b2c3d",
    ] {
        assert_eq!(near_text(text, 100), None, "{text}");
    }
}

fn check_places(text: &str) {
    let mut end = 0;
    for (place, near) in near_text(text, 100)
        .map(|near| near.parts)
        .unwrap_or_default()
    {
        assert!(place.start >= end && place.end <= text.len(), "{text}");
        assert!(text[place.clone()].contains(&near.id), "{text}");
        end = place.end;
    }
}

#[test]
fn a_path_between_two_ids_is_that_of_one() {
    check_places("call_1 .c.items}call_1");
}

proptest! {
    #[test]
    fn parts_stand_where_they_say(text in r#"([{}$<>\[\]().'" |_-]|call_1|c|items|[0-9]|é|\n){0,40}"#) {
        check_places(&text);
    }

    /// Where a glance finds no id, there is nothing near a reference, and where one is found, the glance says so.
    #[test]
    fn a_glance_overlooks_nothing(pieces in prop::collection::vec(piece(), 1..9), before in "[ \n\"'(\\[<$#@/`*]{0,2}") {
        let text = before + &pieces.concat();
        let (held, is_near) = glance(&text);
        prop_assert_eq!(is_near, near_text(&text, 1).is_some());
        let has_sign = text.contains(|sign: char| sign.is_ascii_digit() || "_-{$".contains(sign));
        prop_assert!(!has_sign || may_hold_id(text.as_bytes()));
        if held == Glimpse::Text {
            let object = json!({"id": text, "path": "a"});
            prop_assert_eq!(near_object(object.as_object().unwrap(), &|_| false), None);
        }
    }
}

/// What texts near references are made of, and texts that are not.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "call_1",
        "toolu_01Ab",
        "search_issues",
        "functions",
        "steps",
        "result",
        "items",
        "url",
        "1",
        "tool",
        "select",
        "a",
        ".",
        "[",
        "]",
        "[0]",
        "[*]",
        ".items[0].url",
        "(",
        ")",
        "{",
        "{{",
        "}}",
        "}",
        "${",
        "$",
        "<",
        ">",
        "#",
        "/",
        "://",
        "https://",
        "www.a.example",
        ":",
        ": ",
        ", ",
        " ",
        " of ",
        " from ",
        "@",
        "|",
        "->",
        "=>",
        "'",
        "\"",
        "`",
        "```json\n",
        "$tool",
        "_tool",
        "\"tool\": \"call_1\"",
        "ref(",
        "?select=",
        "2025-04-12T08:30:00Z",
        "\n",
        "ä",
        "…",
        "%7B",
        "<call_1>items</call_1>",
    ];
    prop_oneof![
        9 => prop::sample::select(pieces.map(str::to_owned).to_vec()),
        1 => "[a-z0-9_-]{1,20}",
    ]
}
