//! Writes the reply to the `_meta` of a result, and removes claims of other parties under the same keys.

use super::META;
use crate::{BARE_KEY, KEY};
use crossfeed_json::{Cursor, Edits, Kind, object};

/// Whether a result has members under this crate's keys.
pub(super) fn is_claimed(root: Cursor<'_>) -> bool {
    let meta = root.get(META);
    meta.is_some_and(|meta| meta.get(KEY).is_some() || meta.get(BARE_KEY).is_some())
}

/// Writes `reply`, and removes other members under this crate's keys.
pub(super) fn write(root: Cursor<'_>, reply: Option<&[u8]>, edits: &mut Edits<'_>) {
    let meta = root.get(META).filter(|meta| meta.kind() == Kind::Object);
    let Some(meta) = meta else {
        if let Some(reply) = reply {
            edits.put(root, META, object(&[(KEY, reply)]));
        }
        return;
    };
    let is_left =
        edits.remove_members(meta, |key| key == BARE_KEY || key == KEY && reply.is_none());
    match reply {
        Some(reply) if is_left => edits.put(meta, KEY, reply),
        Some(reply) => edits.replace(meta, object(&[(KEY, reply)])),
        None => {}
    }
}
