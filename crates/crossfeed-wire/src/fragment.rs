//! The percent-encoding of fragments of URIs, without their `#`. For JSON Pointers there is
//! [`Pointer::from_fragment`](crate::Pointer::from_fragment).

/// A fragment with its percent-encoding decoded (RFC 3986, section 2.1); an invalid encoding stays as it is.
/// `None` if the outcome is not UTF-8.
///
/// ```
/// use crossfeed_wire::fragment::decoded;
///
/// assert_eq!(decoded("/a%20b").as_deref(), Some("/a b"));
/// assert_eq!(decoded("100%").as_deref(), Some("100%"));
/// assert_eq!(decoded("%FF"), None);
/// ```
pub fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = |at: usize| char::from(*tail.get(at)?).to_digit(16);
        match (byte, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// A text as the fragment of a URI: characters that a fragment may not hold are percent-encoded.
///
/// ```
/// use crossfeed_wire::fragment::encoded;
///
/// assert_eq!(encoded("/a b/é"), "/a%20b/%C3%A9");
/// ```
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?".contains(&byte);
        if plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
