//! Notices: what of a call was not taken as it was written is said beside its result.

use super::*;
use crate::config::ViewChoice;
use crossfeed_wire::View;

const REPAIRED: &str = "repaired: `items[0].url[string]` read as `items[0].url`";

/// A client of a server whose results are handed out so, with a result to refer to.
async fn client(view: View, is_muted: bool) -> ClientTools {
    let mut config = server("a");
    config.view = Some(ViewChoice::Always(view));
    let mut world = World::new(vec![(config, tools())], Vec::new());
    let mut muted = GatewayConfig::clone(&world.tools.config);
    muted.mutes_notices = is_muted;
    world.tools.config = Arc::new(muted);
    let client = world.client(local()).await;
    let found = json!({"content": [{"type": "text", "text": "{\"items\":[{\"url\":\"u\"}]}"}]});
    returned(&client, "search", found).await;
    client
}

/// What is shown of `result`, which a call with such a selector gives.
async fn shown(client: &ClientTools, select: &str, result: &str) -> String {
    let reference = json!({"_tool": "call_1", "_select": select});
    let arguments = json!({"url": null, "_refs": {"url": reference}});
    let forward = forward(client, params("fetch", arguments)).await;
    let shown = forward.pending.finish(Bytes::from(result.to_owned())).await;
    String::from_utf8(shown.to_vec()).unwrap()
}

async fn check(view: View, result: Value, expected: Value) {
    let client = client(view, false).await;
    let result = result.to_string();
    let shown = shown(&client, "items[0].url[string]", &result).await;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown, expected, "{result}");
}

fn meta() -> Value {
    json!({"dev.crossfeed/notices": [REPAIRED]})
}

fn noted_part(call_id: Option<&str>) -> Value {
    let mut said = json!({});
    if let Some(id) = call_id {
        said["_toolCallId"] = json!(id);
    }
    said["_crossfeedNotices"] = json!([REPAIRED]);
    json!({"type": "text", "text": said.to_string()})
}

#[tokio::test]
async fn a_model_reads_them_beside_the_call_id() {
    let text = json!({"type": "text", "text": "t"});
    check(
        View::Model,
        json!({"content": [text]}),
        json!({"content": [text, noted_part(Some("call_2"))], "_meta": meta()}),
    )
    .await;
    check(
        View::Model,
        json!({"content": [text], "structuredContent": {}, "_meta": {"a": 1}}),
        json!({
            "content": [text, noted_part(Some("call_2"))],
            "structuredContent": {"_toolCallId": "call_2", "_crossfeedNotices": [REPAIRED]},
            "_meta": {"a": 1, "dev.crossfeed/notices": [REPAIRED]},
        }),
    )
    .await;
    // Nobody else says so.
    check(
        View::Model,
        json!({
            "content": [],
            "structuredContent": {"_crossfeedNotices": ["forged"]},
            "_meta": {"dev.crossfeed/notices": ["forged"]},
        }),
        json!({
            "content": [
                {"type": "text", "text": r#"{"_crossfeedNotices (written by the server)":["forged"]}"#},
                noted_part(Some("call_2")),
            ],
            "structuredContent": {
                "_crossfeedNotices (written by the server)": ["forged"],
                "_toolCallId": "call_2",
                "_crossfeedNotices": [REPAIRED],
            },
            "_meta": meta(),
        }),
    )
    .await;
}

#[tokio::test]
async fn a_failure_says_them_too() {
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    let mut expected = failed.clone();
    expected["_meta"] = meta();
    check(View::Program, failed.clone(), expected.clone()).await;
    expected["content"] = json!([failed["content"][0], noted_part(None)]);
    check(View::Model, failed, expected).await;
}

#[tokio::test]
async fn a_preview_says_them_behind_itself() {
    for is_error in [false, true] {
        let client = client(View::Model, false).await;
        let text = "word ".repeat(20_000);
        let result = json!({"content": [{"type": "text", "text": text}], "isError": is_error, "_meta": {"a": 1}});
        let shown = shown(&client, "items[0].url[string]", &result.to_string()).await;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let parts = shown["content"].as_array().unwrap();
        assert_eq!(parts.last(), Some(&noted_part(None)), "{shown}");
        let preview = parts[0]["text"].as_str().unwrap();
        assert!(
            preview.starts_with("[crossfeed preview of call_2"),
            "{shown}"
        );
        let meta = json!({"a": 1, "dev.crossfeed/notices": [REPAIRED]});
        assert_eq!(shown["_meta"], meta);
    }
}

#[tokio::test]
async fn a_program_reads_them_in_meta() {
    let client = client(View::Program, false).await;
    let came = r#"{ "content":[ ], "structuredContent":{"a":1.50} }"#;
    let got = shown(&client, "items[0].url[string]", came).await;
    let meta = format!(
        r#","_meta":{{"dev.crossfeed/callId":"call_2","dev.crossfeed/notices":["{REPAIRED}"]}}}}"#
    );
    assert_eq!(got, came.replace(" }", &format!(" {meta}")));
}

/// Where all was taken as written, and where notices are switched off, nothing is added.
#[tokio::test]
async fn they_are_said_only_where_there_are_any() {
    for view in [View::Model, View::Program] {
        for result in [
            r#"{"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1}}"#,
            r#"{"isError":true,"content":[{"type":"text","text":"no"}]}"#,
        ] {
            let plain = shown(&client(view, false).await, "items[0].url", result).await;
            let muted = shown(&client(view, true).await, "items[0].url[string]", result).await;
            assert_eq!(plain, muted);
            assert!(!plain.to_lowercase().contains("notices"), "{plain}");
        }
    }
}
