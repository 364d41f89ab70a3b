//! Finds paths of `never` that are probably meant for messages of the protocol, although paths name fields of data.

use bytes::Bytes;
use crossfeed::{json::Document, project::Step};
use crossfeed_gateway::config::ServerConfig;

/// Members of the protocol's messages that surround data.
const PROTOCOL: &str =
    "_meta blob content contents isError jsonrpc messages params result structuredContent text";

/// Withheld paths that begin with a word of the protocol, each with that word; without fields that a tool declares.
pub(super) fn of_protocol<'c>(server: &'c ServerConfig, pages: &[Bytes]) -> Vec<(String, &'c str)> {
    let never = server.withheld.never().iter();
    let first = never.filter_map(|path| match path.steps().first() {
        Some(Step::Key(name)) => Some((path.to_string(), name.as_str())),
        _ => None,
    });
    let named = first.filter(|(_, name)| {
        let is_word = |word: &str| word.eq_ignore_ascii_case(name);
        PROTOCOL.split(' ').any(is_word) && !declares(pages, name)
    });
    named.collect()
}

/// Whether a tool of `tools/list` results declares that its output has a field of this name.
fn declares(pages: &[Bytes], name: &str) -> bool {
    pages.iter().any(|page| {
        let document = Document::new(page.clone());
        let tools = document.root().ok().and_then(|root| root.get("tools"));
        let mut tools = tools.into_iter().flat_map(|tools| tools.items());
        tools.any(|tool| {
            let fields = tool
                .get("outputSchema")
                .and_then(|schema| schema.get("properties"));
            fields.is_some_and(|fields| fields.get(name).is_some())
        })
    })
}
