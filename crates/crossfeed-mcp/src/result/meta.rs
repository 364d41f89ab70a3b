//! The `_meta` of a result: what we say there, and nothing that another said in our name.

use super::META;
use crate::{BARE_KEY, KEY};
use crossfeed_json::{Cursor, Edits, Kind, quoted};

/// Whether a result says that it was projected, or what else is ours to say.
pub(super) fn is_claimed(root: Cursor<'_>) -> bool {
    let meta = root.get(META);
    meta.is_some_and(|meta| meta.get(KEY).is_some() || meta.get(BARE_KEY).is_some())
}

/// Says `reply` and takes out whatever came under our keys.
pub(super) fn say(root: Cursor<'_>, reply: Option<&[u8]>, edits: &mut Edits<'_>) {
    let meta = root.get(META).filter(|meta| is_object(*meta));
    match (meta, reply) {
        (Some(meta), _) if is_claimed(root) => edits.replace(meta, without_claims(meta, reply)),
        (Some(meta), Some(reply)) => edits.put(meta, KEY, reply),
        (None, Some(reply)) => edits.put(root, META, object_of(KEY, reply)),
        (_, None) => {}
    }
}

fn without_claims(meta: Cursor<'_>, reply: Option<&[u8]>) -> Vec<u8> {
    let mut json = vec![b'{'];
    let mut put = |key: &str, value: &[u8]| {
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(quoted(key).as_bytes());
        json.push(b':');
        json.extend_from_slice(value);
    };
    for (key, value) in meta.members() {
        let key = key.text();
        if *key != *KEY && *key != *BARE_KEY {
            put(&key, value.raw());
        }
    }
    if let Some(reply) = reply {
        put(KEY, reply);
    }
    json.push(b'}');
    json
}

/// An object of one member.
fn object_of(key: &str, json: &[u8]) -> Vec<u8> {
    let mut object = format!("{{{}:", quoted(key)).into_bytes();
    object.extend_from_slice(json);
    object.push(b'}');
    object
}

/// Whether members can be put into a value.
fn is_object(value: Cursor<'_>) -> bool {
    value.kind() == Kind::Object
}
