//! The client of rmcp, tried with the gateway in both eras.
//!
//! What comes in: an era (`session`, `stateless`), and an address or a command. What goes out: a line for
//! each check. The server behind is `server-everything`.
#![expect(
    deprecated,
    reason = "the session eras have sampling and roots, and clients that serve them"
)]

use anyhow::{Context, Result, bail, ensure};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig,
        CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        GetPromptRequestParams, Implementation, ListRootsResult, ProtocolVersion,
        ReadResourceRequestParams,
    },
    service::{RequestContext, RunningService, ServiceError},
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde_json::{Value, json};
use std::{future::Future, time::Duration};

struct Host;

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities = serde_json::from_value(
            json!({"sampling": {}, "elicitation": {"form": {}}, "roots": {"listChanged": true}}),
        )
        .unwrap_or_default();
        ClientConfig::new(capabilities, Implementation::new("rmcp-peer", "1.0.0"))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        typed(json!({
            "role": "assistant", "model": "a-model",
            "content": {"type": "text", "text": "sampled words"},
        }))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        typed(json!({"roots": [{"uri": "file:///tmp/project", "name": "project"}]}))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        typed(json!({"action": "accept", "content": {"name": "Ada", "check": true}}))
    }
}

fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

type Client = RunningService<RoleClient, Host>;

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let era = args.next().context("an era is missing")?;
    let target = args.next().context("an address or a command is missing")?;
    let mode = match era.as_str() {
        "session" => ClientLifecycleMode::Initialize,
        "stateless" => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
        other => bail!("{other} is not an era"),
    };
    let client = if target.starts_with("http") {
        Host.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(target), mode)
            .await?
    } else {
        let mut command = tokio::process::Command::new(target);
        command.args(args);
        let (transport, _) = TokioChildProcess::builder(command)
            .stderr(std::process::Stdio::null())
            .spawn()?;
        Host.serve_with_lifecycle(transport, mode).await?
    };
    checks(&client).await;
    client.cancel().await?;
    Ok(())
}

async fn check<T>(name: &str, body: impl Future<Output = Result<T>>) -> Option<T> {
    match tokio::time::timeout(Duration::from_secs(40), body).await {
        Ok(Ok(given)) => {
            println!("ok {name}");
            Some(given)
        }
        Ok(Err(error)) => {
            println!("FAIL {name}: {}", format!("{error:#}").replace('\n', " "));
            None
        }
        Err(_) => {
            println!("FAIL {name}: no answer for 40 s");
            None
        }
    }
}

async fn call(client: &Client, name: &'static str, arguments: Value) -> Result<CallToolResult> {
    let Value::Object(arguments) = arguments else {
        bail!("arguments are an object");
    };
    Ok(client
        .call_tool(CallToolRequestParams::new(name).with_arguments(arguments))
        .await?)
}

fn said(result: &CallToolResult) -> Result<String> {
    Ok(serde_json::to_string(result)?)
}

/// The call id that a result says of itself.
fn call_id(result: &CallToolResult) -> Result<String> {
    let text = said(result)?;
    let before = r#"_toolCallId":""#;
    let text = text.replace('\\', "");
    let from = text.find(before).context("no call id")? + before.len();
    Ok(text[from..]
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect())
}

async fn checks(client: &Client) {
    check("tools are listed, ours first", async {
        let tools = client.list_all_tools().await?;
        ensure!(tools.iter().any(|tool| tool.name == "echo"));
        ensure!(
            tools
                .first()
                .is_some_and(|tool| tool.name == "inspect_tool_output")
        );
        Ok(())
    })
    .await;
    check("a call is answered", async {
        let text = said(&call(client, "echo", json!({"message": "hello „you“"})).await?)?;
        ensure!(text.contains("hello „you“"), "{text}");
        Ok(())
    })
    .await;
    check("a number of one result goes into another call", async {
        let first = call(
            client,
            "get-structured-content",
            json!({"location": "Chicago"}),
        )
        .await?;
        let id = call_id(&first)?;
        let warm = first
            .structured_content
            .as_ref()
            .and_then(|content| content["temperature"].as_i64())
            .context("no temperature")?;
        let sum = call(
            client,
            "get-sum",
            json!({"a": {"$tool": id, "$select": "temperature"}, "b": 1000}),
        )
        .await?;
        ensure!(
            said(&sum)?.contains(&(warm + 1000).to_string()),
            "{}",
            said(&sum)?
        );
        Ok(())
    })
    .await;
    check("a reference to nothing is a tool error", async {
        let result = call(
            client,
            "get-sum",
            json!({"a": {"$tool": "call_999"}, "b": 1}),
        )
        .await?;
        ensure!(result.is_error == Some(true));
        Ok(())
    })
    .await;
    check("an unknown tool is refused by its server", async {
        match client
            .call_tool(CallToolRequestParams::new("no-such-tool"))
            .await
        {
            Err(ServiceError::McpError(error)) => ensure!(error.code.0 == -32602, "{error:?}"),
            Ok(refused) if refused.is_error == Some(true) => {}
            other => bail!("{other:?}"),
        }
        Ok(())
    })
    .await;
    check("resources are listed and read", async {
        let resources = client.list_all_resources().await?;
        let uri = resources.first().context("no resources")?.uri.clone();
        let read = client
            .read_resource(ReadResourceRequestParams::new(uri))
            .await?;
        ensure!(!read.contents.is_empty());
        Ok(())
    })
    .await;
    check("prompts are listed and got", async {
        let prompts = client.list_all_prompts().await?;
        let simple = prompts
            .iter()
            .find(|prompt| prompt.arguments.as_ref().is_none_or(Vec::is_empty))
            .context("no simple prompt")?;
        let got = client
            .get_prompt(GetPromptRequestParams::new(simple.name.clone()))
            .await?;
        ensure!(!got.messages.is_empty());
        Ok(())
    })
    .await;
    for (what, tool, arguments, word) in [
        (
            "samples from the client",
            "trigger-sampling-request",
            json!({"prompt": "words", "maxTokens": 9}),
            "sampled words",
        ),
        (
            "asks the user",
            "trigger-elicitation-request",
            json!({}),
            "Ada",
        ),
        (
            "lists the roots of the client",
            "get-roots-list",
            json!({}),
            "file:///tmp/project",
        ),
    ] {
        check(&format!("the server {what}"), async {
            let text = said(&call(client, tool, arguments).await?)?;
            ensure!(text.contains(word), "{text}");
            Ok(())
        })
        .await;
    }
    check("sixteen calls at once get each its own answer", async {
        let calls = (0..16).map(|n| async move {
            let text = said(&call(client, "echo", json!({"message": format!("<{n}>")})).await?)?;
            ensure!(text.contains(&format!("<{n}>")), "{n}: {text}");
            Ok(())
        });
        for answer in futures_util::future::join_all(calls).await {
            answer?;
        }
        Ok(())
    })
    .await;
}
