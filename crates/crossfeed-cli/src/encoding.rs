//! Decodes UTF-16, and UTF-8 with a byte order mark.

use bytes::Bytes;

/// The text of UTF-16 and of UTF-8 with a byte order mark, in UTF-8 without one; all other bytes as they are.
pub(crate) fn decoded(bytes: Bytes) -> Bytes {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    if bytes.starts_with(MARK) {
        return bytes.slice(MARK.len()..);
    }
    match utf16(&bytes) {
        Some(text) => text.into(),
        None => bytes,
    }
}

/// The text of UTF-16: with a byte order mark, or beginning as JSON does.
fn utf16(bytes: &[u8]) -> Option<String> {
    type Read = fn([u8; 2]) -> u16;
    let (units, read): (&[u8], Read) = match bytes {
        [0xff, 0xfe, units @ ..] => (units, u16::from_le_bytes),
        [0xfe, 0xff, units @ ..] => (units, u16::from_be_bytes),
        [b'{' | b'[', 0, ..] => (bytes, u16::from_le_bytes),
        [0, b'{' | b'[', ..] => (bytes, u16::from_be_bytes),
        _ => return None,
    };
    if units.is_empty() || units.len() % 2 != 0 {
        return None;
    }
    let pairs = units.chunks_exact(2);
    let units = pairs.filter_map(|pair| pair.try_into().ok().map(read));
    let text: String = char::decode_utf16(units).collect::<Result<_, _>>().ok()?;
    // Other bytes may begin with the same mark.
    let is_binary = |c: char| c.is_control() && !c.is_ascii_whitespace();
    (!text.contains(is_binary)).then_some(text)
}
