//! Contents by number, so that a reader can tell which put its bytes are of.

/// How large a content is, by the number's last two digits.
fn bytes(number: u64) -> usize {
    match number % 100 {
        0..60 => 20 + usize::try_from(number % 1800).unwrap_or(0),
        60..90 => 20_000 + usize::try_from(number % 180_000).unwrap_or(0),
        _ => 1_000_000,
    }
}

/// The length of the content of a number.
pub(crate) fn length(number: u64) -> usize {
    bytes(number).max(21) + 1
}

/// The content of a number: a JSON text that begins with it.
pub(crate) fn make(number: u64) -> String {
    let mut text = format!("\"{number:020}");
    let size = bytes(number);
    let mut at = number;
    while text.len() < size {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("{at:016x}"));
    }
    text.truncate(size.max(21));
    text.push('"');
    text
}

/// The number of a content; `None` for any other bytes.
pub(crate) fn read(bytes: &[u8]) -> Option<u64> {
    let number = std::str::from_utf8(bytes.get(1..21)?).ok()?.parse().ok()?;
    (make(number).as_bytes() == bytes).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::{length, make, read};

    #[test]
    fn a_content_tells_its_number_and_no_other_bytes_do() {
        for number in [0, 59, 61, 99, 12_345_678_901, u64::MAX] {
            let content = make(number);
            assert_eq!(content.len(), length(number));
            assert_eq!(read(content.as_bytes()), Some(number));
            assert_eq!(read(&content.as_bytes()[..content.len() - 1]), None);
            let other = content.replace(char::from(content.as_bytes()[20]), "x");
            assert_eq!(read(other.as_bytes()), None);
        }
        assert_eq!(read(b""), None);
    }
}
