//! What is offered to a model: what works through a gateway, in the words of its tools' schemas.

use super::*;
use crate::config::{ClientName, ViewChoice};
use crossfeed_wire::View;

async fn client(name: Option<&str>, templates: bool) -> (World, ClientTools) {
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    Arc::make_mut(&mut world.tools.config).templates = templates;
    let caller = match name {
        Some(name) => local().with_client(ClientName::new(name, None)),
        None => local(),
    };
    let client = world.client(caller).await;
    (world, client)
}

#[tokio::test]
async fn only_what_works_is_offered() {
    for name in [
        None,
        Some("claude-code"),
        Some("openai-mcp"),
        Some("gemini-cli-mcp-client"),
    ] {
        for templates in [false, true] {
            let (world, client) = client(name, templates).await;
            let list = String::from_utf8(client.list(&world.lists).await.to_vec()).unwrap();
            let guidance = client.guidance();
            for text in [&list, &guidance] {
                assert!(!text.contains("artifact"), "{name:?}: {text}");
                assert_eq!(text.contains("template"), templates, "{name:?}: {text}");
                assert!(text.contains("_toolCallId"), "{name:?}: {text}");
            }
            assert!(
                guidance.starts_with("To pass data from an earlier"),
                "{guidance}"
            );
        }
    }
}

/// Clients cut instructions at 2,048 characters: the gateway's own are within, and stand first.
#[tokio::test]
async fn the_guidance_is_within_what_clients_read() {
    for name in ["who", "claude-code", "openai-mcp", "gemini-cli-mcp-client"] {
        for view in View::ALL {
            let mut config = server("a");
            config.view = Some(ViewChoice::Always(view));
            let mut world = World::new(vec![(config, tools())], Vec::new());
            Arc::make_mut(&mut world.tools.config).templates = true;
            let caller = local().with_client(ClientName::new(name, None));
            let guidance = world.client(caller).await.guidance();
            let chars = guidance.chars().count();
            assert!(
                chars <= 2048,
                "{name} {view:?}: {chars} characters: {guidance}"
            );
        }
    }
}

#[tokio::test]
async fn a_preview_says_how_its_client_refers() {
    for (name, begins, ends) in [
        (
            None,
            r#"{"_tool":"call_1","_select":"["#,
            r#""} in `_refs` gets it]"#,
        ),
        (
            Some("claude-code"),
            r#"{"_tool":"call_1","_select":"["#,
            r#""} gets it]"#,
        ),
        (
            Some("openai-mcp"),
            r#"{"$tool":"call_1","$select":"["#,
            r#""} gets it]"#,
        ),
    ] {
        let (_, client) = client(name, false).await;
        let items: Vec<_> = (0..400)
            .map(|n| json!({"n": n, "text": "word ".repeat(40)}))
            .collect();
        let text = json!({"type": "text", "text": json!(items).to_string()});
        let shown = returned(&client, "search", json!({"content": [text]})).await;
        let preview = shown["content"][0]["text"].as_str().unwrap();
        let first = preview.lines().next().unwrap();
        let line = first.split_once("a reference like ").unwrap().1;
        assert!(
            line.starts_with(begins) && line.ends_with(ends),
            "{name:?}: {line}"
        );
    }
}
