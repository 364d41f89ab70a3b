//! Calls of tools that the client was not listed: passed to the server that decides, or answered with what is wrong.
//!
//! # What holds
//!
//! - Where the configuration says which tools may be used, no other is called: servers may read names in another
//!   way than patterns do.
//! - Where the server decides and refuses, its error or failure gets the nearest names, and stays what it is.
//! - A tool that is not listed takes no references, and its results are not kept: it may be another name of one
//!   that is never chained.

use super::{
    client::Shared,
    list::{self, Listing, Offered},
    reader::Reader,
    refusal,
};
use crate::{
    apart::apart,
    config::{Prefix, ServerConfig, nearest},
    members::edited,
    message::Message,
    pattern::fits_any,
};
use bytes::Bytes;
use crossfeed_json::quoted;
use crossfeed_wire::ErrorCode;
use std::sync::Arc;

/// Names that are offered in place of an unknown one.
const OFFERED: usize = 3;
/// Characters of an unknown name that a message repeats.
const SAID: usize = 64;
/// The advice where a server is away.
const CALL_AGAIN: &str = "the call was not made: it can be made again";

/// The tool of this name for the server that is to judge the call, or the answer for the model.
pub(super) async fn unlisted(
    shared: &Shared,
    name: &str,
    reader: &Arc<Reader>,
) -> Result<Arc<Offered>, Bytes> {
    let tools = &shared.tools;
    let listing = shared.listing_for(reader);
    let is_listed = |server| {
        listing
            .as_ref()
            .is_some_and(|own| own.servers.contains(&server))
    };
    let owner = match tools.naming.sole() {
        Some(server) => Some((server, name)),
        // Of a server that is not away, what it listed is what there is.
        None => tools
            .naming
            .prefixed_by(name)
            .filter(|(server, _)| !is_listed(*server)),
    };
    let owner = owner.and_then(|(at, own)| Some((at, own, tools.config.servers.get(at)?)));
    // Others do not exist for it.
    let owner = owner.filter(|(_, _, server)| shared.admits(&server.name));
    if let Some((at, own, server)) = owner {
        let patterns = &shared.audience.tools;
        if server.allow.is_empty() && server.deny.is_empty() && patterns.is_empty() {
            let tool = list::unlisted(&tools.engine, (at, server), own);
            return tool.ok_or_else(|| away(shared, server));
        }
        if !is_listed(at) && offers(server, patterns, own) {
            return Err(away(shared, server));
        }
    }
    let missing = match tools.config.prefix {
        Prefix::Collisions if tools.naming.prefixed_by(name).is_none() => {
            without_list(shared, name, is_listed)
        }
        _ => None,
    };
    Err(unknown(shared, name, listing, missing).await)
}

/// The first server that does not list its tools at the moment, and may have one of this name: without a prefix
/// the name does not say whose it is.
fn without_list<'s>(
    shared: &'s Shared,
    name: &str,
    is_listed: impl Fn(usize) -> bool,
) -> Option<&'s ServerConfig> {
    let servers = shared.tools.config.servers.iter().enumerate();
    let mut missing = servers.filter(|(at, server)| {
        !server.disabled
            && !is_listed(*at)
            && shared.admits(&server.name)
            && offers(server, &shared.audience.tools, name)
    });
    missing.next().map(|(_, server)| server)
}

/// Whether a tool of a server is offered: by the server's configuration, and by patterns of what a client may use.
pub(super) fn offers(server: &ServerConfig, patterns: &[String], name: &str) -> bool {
    (server.allow.is_empty() || fits_any(&server.allow, name))
        && !fits_any(&server.deny, name)
        && (patterns.is_empty() || fits_any(patterns, &format!("{}/{name}", server.name)))
}

/// A name that came with a list that the client has not seen.
pub(super) fn new(shared: &Shared, name: &str) -> Bytes {
    let message = format!(
        "the tool {} is new since the last `tools/list`",
        shortened(name)
    );
    let advice = "list the tools again before calling it";
    refused(shared, ErrorCode::ToolUnknown, message, advice)
}

/// The server's list is not there to tell whether it has the tool.
fn away(shared: &Shared, server: &ServerConfig) -> Bytes {
    let code = ErrorCode::UpstreamUnavailable;
    refused(shared, code, is_away(server), CALL_AGAIN)
}

fn is_away(server: &ServerConfig) -> String {
    format!(
        "server `{}`: its tool list is not available at the moment",
        server.name
    )
}

/// The listed names that are nearest to one.
async fn near(name: &str, listing: Option<Arc<Listing>>) -> Option<String> {
    let listing = listing?;
    let wanted = name.to_owned();
    let known: usize = listing.tools.keys().map(String::len).sum();
    let near = apart(known.saturating_mul(name.len()), move || {
        let mut known = listing.all_names();
        let mut near = Vec::new();
        while near.len() < OFFERED
            && let Some(next) = nearest(&wanted, known.iter().copied())
        {
            near.push(format!("`{next}`"));
            known.retain(|own| *own != next);
        }
        (!near.is_empty()).then(|| near.join(", "))
    });
    near.await
}

/// What to say of a name that is not listed, if the server does not know it either.
pub(super) async fn advice(shared: &Shared, name: &str, reader: &Arc<Reader>) -> Option<String> {
    let near = near(name, shared.listing_for(reader)).await?;
    Some(format!(
        "{} is not listed: did you mean {near}?",
        shortened(name)
    ))
}

/// An error of the protocol that a server answers with, with advice; its kind stays.
pub(super) fn advised(message: Message, advice: &str) -> Message {
    let Some(error) = message.error() else {
        return message;
    };
    let edited = edited(&error, |edits, root| {
        if let Some(own) = root.get("message")
            && let Some(text) = own.as_str()
        {
            edits.replace(own, quoted(&format!("{text}; {advice}")));
        }
    });
    match edited {
        Some(error) => message.with_body(error),
        None => message,
    }
}

/// `missing` is a server that may have the tool.
async fn unknown(
    shared: &Shared,
    name: &str,
    listing: Option<Arc<Listing>>,
    missing: Option<&ServerConfig>,
) -> Bytes {
    let near = near(name, listing).await;
    let name = shortened(name);
    if let Some(server) = missing {
        let message = format!("{}, and no other has {name}", is_away(server));
        let advice = match near {
            Some(near) => format!("{CALL_AGAIN}; similar listed tools: {near}"),
            None => CALL_AGAIN.to_owned(),
        };
        return refused(shared, ErrorCode::UpstreamUnavailable, message, advice);
    }
    let advice = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "use a tool that is listed".to_owned(),
    };
    let message = format!("there is no tool {name}");
    refused(shared, ErrorCode::ToolUnknown, message, advice)
}

/// The beginning of a name, in quotes.
fn shortened(name: &str) -> String {
    let said: String = name.chars().take(SAID).collect();
    let more = if said.len() < name.len() { "…" } else { "" };
    format!("{}{more}", quoted(&said))
}

fn refused(shared: &Shared, code: ErrorCode, message: String, advice: impl Into<String>) -> Bytes {
    shared.refused(refusal::body(code, message, advice))
}
