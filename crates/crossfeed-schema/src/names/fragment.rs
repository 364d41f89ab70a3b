//! The tokens of JSON Pointers, by themselves and in the fragment of a reference (RFC 6901).

pub(super) fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

pub(super) fn tilde(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

/// A token of a pointer in a fragment, as the name that it means.
pub(super) fn plain(token: &str) -> String {
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = |byte: Option<&u8>| byte.and_then(|&b| char::from(b).to_digit(16));
        match (first, hex(after.first()), hex(after.get(1))) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(first));
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    unescaped(&String::from_utf8_lossy(&bytes))
}

/// A name as a token of a pointer in a fragment.
pub(super) fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in tilde(name).bytes() {
        match byte {
            b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
