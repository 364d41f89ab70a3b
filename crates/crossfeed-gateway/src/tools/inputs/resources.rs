//! Resources of servers, as they were read, kept for the session.

use crate::{
    apart::read_apart,
    budget::{Account, Purpose},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use crossfeed_core::{InputError, ToolResult};
use crossfeed_json::{Cursor, Document};
use lru::LruCache;
use parking_lot::Mutex;
use std::{num::NonZeroUsize, sync::Arc};

/// Resources that are kept for one session, at most.
const MAX_KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);
/// Their bytes, at most.
const MAX_KEPT_BYTES: usize = 16 << 20;

/// The result of `resources/read`.
#[derive(Debug)]
pub(crate) struct ReadResource {
    /// The server, by its place in the configuration.
    pub(crate) server: usize,
    /// The result.
    pub(crate) result: Bytes,
}

/// Why a resource cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResourceError {
    /// No server of the client listed it, or linked to it.
    #[error("no server of this session listed it or linked to it")]
    Unlisted,
    /// The server answered with an error, or not at all.
    #[error("{0}")]
    Failed(String),
}

impl From<ResourceError> for InputError {
    fn from(error: ResourceError) -> Self {
        let why = error.to_string();
        match error {
            ResourceError::Unlisted => Self::Refused {
                why,
                advice: "use a URI exactly as a result or a list of resources shows it".to_owned(),
            },
            ResourceError::Failed(_) => Self::Unavailable {
                why,
                advice: "try again, or write the value in place of the reference".to_owned(),
            },
        }
    }
}

/// What a resource holds.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    pub(super) server: usize,
    bytes: Bytes,
    media_type: Option<Arc<str>>,
    /// Whether it is a list of several contents.
    is_list: bool,
}

impl Resource {
    pub(super) fn to_result(&self) -> ToolResult {
        let bytes = self.bytes.clone();
        if self.is_list {
            return ToolResult::json(bytes);
        }
        let media_type = self.media_type.clone();
        let media_type = media_type.unwrap_or_else(|| super::BYTES_MEDIA_TYPE.into());
        ToolResult::bytes(bytes, media_type)
    }
}

/// The content of a result of `resources/read`: its one text or blob, or the list of several.
pub(super) async fn content(
    read: ReadResource,
    account: &Arc<Account>,
) -> Result<Resource, InputError> {
    let ReadResource { server, result } = read;
    let (bytes, media_type, is_list) = read_apart(&result, contents).await?;
    let Some(charge) = account.charge(bytes.len(), Purpose::Resolved) else {
        return Err(InputError::Unavailable {
            why: "there is no memory for it now".to_owned(),
            advice: "try again when other calls have returned".to_owned(),
        });
    };
    Ok(Resource {
        server,
        bytes: charge.hold(bytes),
        media_type,
        is_list,
    })
}

type Content = (Vec<u8>, Option<Arc<str>>, bool);

fn contents(result: &Bytes) -> Result<Content, InputError> {
    let invalid = || ResourceError::Failed("the server's answer is not valid".to_owned());
    let document = Document::new(result.clone());
    let list = document.root().ok().and_then(|root| root.get("contents"));
    let list = list.ok_or_else(invalid)?;
    let mut items = list.items();
    let Some(first) = items.next() else {
        return Err(ResourceError::Failed("it has no content".to_owned()).into());
    };
    if items.next().is_some() {
        return Ok((list.raw().to_vec(), None, true));
    }
    let media_type = first.get("mimeType").and_then(Cursor::as_str);
    let media_type = media_type.map(|media_type| media_type.into());
    let text = first.get("text").and_then(Cursor::as_str);
    let blob = || first.get("blob").and_then(Cursor::as_str);
    let bytes = match text {
        Some(text) => text.into_owned().into_bytes(),
        None => {
            let blob = blob().ok_or_else(invalid)?;
            STANDARD.decode(blob.as_bytes()).map_err(|_| invalid())?
        }
    };
    Ok((bytes, media_type, false))
}

/// Resources of a session as they were read, the last used ones.
pub(in crate::tools) struct ResourceCache(Mutex<Kept>);

struct Kept {
    resources: LruCache<String, Resource>,
    bytes: usize,
    /// How often servers said that some have changed.
    version: u64,
}

impl Default for ResourceCache {
    fn default() -> Self {
        Self(Mutex::new(Kept {
            resources: LruCache::new(MAX_KEPT),
            bytes: 0,
            version: 0,
        }))
    }
}

impl ResourceCache {
    pub(super) fn get(&self, uri: &str) -> Option<Resource> {
        self.0.lock().resources.get(uri).cloned()
    }

    pub(super) fn version(&self) -> u64 {
        self.0.lock().version
    }

    /// Keeps what was read, unless resources have changed since this version.
    pub(super) fn put(&self, uri: &str, resource: &Resource, version: u64) {
        let mut kept = self.0.lock();
        if kept.version != version || resource.bytes.len() > MAX_KEPT_BYTES {
            return;
        }
        kept.bytes += resource.bytes.len();
        if let Some((_, before)) = kept.resources.push(uri.to_owned(), resource.clone()) {
            kept.bytes -= before.bytes.len();
        }
        while kept.bytes > MAX_KEPT_BYTES {
            let Some((_, oldest)) = kept.resources.pop_lru() else {
                break;
            };
            kept.bytes -= oldest.bytes.len();
        }
    }

    /// Some have changed.
    pub(in crate::tools) fn clear(&self) {
        let mut kept = self.0.lock();
        kept.resources.clear();
        kept.bytes = 0;
        kept.version += 1;
    }
}

#[cfg(test)]
mod tests;
