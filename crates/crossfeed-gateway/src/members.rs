//! Members of JSON objects, found and set by their bytes.
//!
//! What comes in: JSON, and the keys that lead to a value. What goes out: the value, or an object with
//! members set and every other byte kept. Deliberately not here: what members mean.

use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Edits, quoted};

/// What a path of keys leads to.
pub(crate) fn at<'d>(document: &'d Document, path: &[&str]) -> Option<Cursor<'d>> {
    let root = document.root().ok()?;
    path.iter().try_fold(root, |value, key| value.get(key))
}

/// An object of these members.
pub(crate) fn object<V: AsRef<[u8]>>(members: &[(&str, V)]) -> Bytes {
    let mut json = vec![b'{'];
    for (key, value) in members {
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(quoted(key).as_bytes());
        json.push(b':');
        json.extend_from_slice(value.as_ref());
    }
    json.push(b'}');
    json.into()
}

/// Sets members of an object; one without any gets them all at once, as there is nothing that each could
/// stand behind.
pub(crate) fn put_all<V: AsRef<[u8]>>(
    edits: &mut Edits<'_>,
    into: Cursor<'_>,
    members: &[(&str, V)],
) {
    if into.is_empty() && !members.is_empty() {
        edits.replace(into, object(members));
        return;
    }
    for (key, value) in members {
        edits.put(into, key, value);
    }
}
