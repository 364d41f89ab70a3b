//! The `_meta` of a result: what we say there, and nothing that another said in our name.

use super::META;
use crate::{BARE_KEY, KEY};
use crossfeed_json::{Cursor, Edits, Kind, object};

/// Whether a result says that it was projected, or what else is ours to say.
pub(super) fn is_claimed(root: Cursor<'_>) -> bool {
    let meta = root.get(META);
    meta.is_some_and(|meta| meta.get(KEY).is_some() || meta.get(BARE_KEY).is_some())
}

/// Says `reply` and takes out whatever came under our keys.
pub(super) fn say(root: Cursor<'_>, reply: Option<&[u8]>, edits: &mut Edits<'_>) {
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
