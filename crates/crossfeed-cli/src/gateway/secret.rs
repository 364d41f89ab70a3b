//! Secrets and certificates, which the configuration or a file has. Errors name the key of the configuration, never a
//! secret.

use crate::input;
use bytes::Bytes;
use crossfeed_gateway::config::Secret;
use std::path::Path;

/// The most bytes of a file: certificates of many authorities.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The text of a secret. In a file, a line's end at its end is not a part of it. `key` is the key of the configuration
/// that has the text itself; the one for the file has `File` behind it.
pub(super) fn read(secret: &Secret, key: &str) -> Result<String, String> {
    let (text, key) = match secret {
        Secret::Text(text) => (text.clone(), key.to_owned()),
        Secret::File(path) => {
            let key = format!("{key}File");
            let bytes = read_file(path, &key)?;
            let text = std::str::from_utf8(&bytes).map_err(|_| {
                let path = path.display();
                format!("`{key}`: `{path}` is not text in UTF-8")
            })?;
            (text.trim_end_matches(['\r', '\n']).to_owned(), key)
        }
    };
    if text.is_empty() {
        return Err(format!("`{key}`: it is empty: leave the key out for none"));
    }
    Ok(text)
}

/// The content of a file that the configuration names under this key.
pub(super) fn read_file(path: &Path, key: &str) -> Result<Bytes, String> {
    let read = input::read_at_most(path, MAX_FILE_BYTES);
    read.map_err(|why| format!("`{key}`: {why}"))
}
