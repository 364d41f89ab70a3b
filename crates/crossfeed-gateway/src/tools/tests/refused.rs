//! What clients with sessions refuse: no result of any kind is sent so.

use super::*;

/// What a client of a revision sees of the result of the first tool of `tools`.
async fn seen(config: ServerConfig, revision: Revision, result: Value) -> Value {
    let caller = Caller::new(Principal::Local, Some("s".to_owned()), revision);
    let client = World::new(vec![(config, tools())], Vec::new())
        .client(caller)
        .await;
    returned(&client, "search", result).await
}

fn said(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[tokio::test]
async fn structured_content_is_an_object_or_absent() {
    let mut never = server("a");
    never.never_chain = vec!["*".to_owned()];
    for (config, more) in [
        (never.clone(), json!({})),
        (server("a"), json!({"isError": true})),
        (server("a"), json!({"resultType": "other"})),
    ] {
        let with = |members: Value| {
            let mut result = more.clone();
            let members = members.as_object().cloned().unwrap();
            result.as_object_mut().unwrap().extend(members);
            result
        };
        for (came, expected) in [
            (
                with(json!({"structuredContent": [1], "content": [said("no")]})),
                with(json!({"content": [said("no")]})),
            ),
            (
                with(json!({"content": [], "structuredContent": [1.0]})),
                with(json!({"content": [said("[1.0]")]})),
            ),
            (
                with(json!({"structuredContent": "no"})),
                with(json!({"content": [said("\"no\"")]})),
            ),
            (with(json!({"structuredContent": null})), with(json!({}))),
        ] {
            let shown = seen(config.clone(), Revision::V2025_11_25, came.clone()).await;
            assert_eq!(shown, expected, "{came}");
            // There any value may be.
            let shown = seen(config.clone(), Revision::V2026_07_28, came.clone()).await;
            assert_eq!(shown, came);
        }
    }
}
