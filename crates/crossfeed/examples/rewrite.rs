//! Rewrites a tool list for a provider and reads a call back, without an engine:
//! `cargo run -p crossfeed --example rewrite`.
//!
//! For a host that resolves references itself, or that wants only the provider's limits respected.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use crossfeed::tools::{ListOptions, Profile, ToolList, rewrite_tools};
use serde_json::json;
use std::error::Error;

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // The tools as an MCP server lists them.
    let tools = json!([{
        "name": "fetch",
        "description": "Fetches a page",
        "inputSchema": {
            "type": "object",
            "properties": {"url": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["url"],
        },
    }]);
    let options = ListOptions::profile(Profile::Anthropic);
    let listed = rewrite_tools(&ToolList::parse(&tools)?, &options);
    println!("the provider gets {:#}", listed.value);
    println!("the system prompt ends with: {}", listed.guidance());

    // The model's call names the tool as it was shown, and refers to an earlier result.
    let fetch = listed.find("fetch").ok_or("the list has this tool")?;
    let written = json!({"url": {"_tool": "call_1", "_select": "items[0].url"}, "limit": 5});
    let arguments = fetch
        .read(written.clone())
        .map_err(|errors| format!("{errors:?}"))?;
    println!("{} is called with {arguments}", fetch.name());
    assert_eq!(arguments, written);
    Ok(())
}
