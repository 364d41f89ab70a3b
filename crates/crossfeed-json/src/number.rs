//! Numbers by value: JSON numbers are decimal texts of any length, and are compared as such.

use crate::lex::Text;
use std::cmp::Ordering;

/// Compares two JSON numbers by value, exactly: `1.0` equals `1`, 2^53 + 1 is more than 2^53, and
/// `1e400` is more than any 64-bit float.
///
/// Both texts must be JSON numbers.
///
/// ```
/// use crossfeed_json::compare_numbers;
/// use std::cmp::Ordering;
///
/// assert_eq!(compare_numbers("1.0", "1"), Ordering::Equal);
/// assert_eq!(compare_numbers("9007199254740993", "9007199254740992"), Ordering::Greater);
/// assert_eq!(compare_numbers("-1e400", "1e-400"), Ordering::Less);
/// ```
pub fn compare(a: &str, b: &str) -> Ordering {
    if let (Some(a), Some(b)) = (short(a.as_bytes()), short(b.as_bytes())) {
        return a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    }
    // Ids and times of up to 18 digits.
    if let (Ok(a), Ok(b)) = (a.parse::<i64>(), b.parse::<i64>()) {
        return a.cmp(&b);
    }
    Decimal::parse(a).compare(&Decimal::parse(b))
}

/// Whether `text` is exactly one JSON number.
pub fn is_number(text: &str) -> bool {
    let bytes = Text(text.as_bytes());
    let end = bytes.byte(0).and_then(|first| bytes.number(first, 0));
    end == Ok(text.len())
}

/// Decimals of at most this many digits are distinct as floats.
const SHORT_DIGITS: usize = 15;

const FLOAT_POWERS: [f64; SHORT_DIGITS + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

/// A JSON number of at most 15 digits, without exponent, as the nearest float; `None` for any other.
///
/// Of decimals with at most 15 digits no two have the same nearest 64-bit float, and their floats
/// have their order: such numbers may be compared as floats.
///
/// ```
/// use crossfeed_json::short_number;
///
/// assert_eq!(short_number(b"-1.50"), Some(-1.5));
/// assert_eq!(short_number(b"9007199254740993"), None);
/// assert_eq!(short_number(b"1e3"), None);
/// ```
#[inline]
pub fn short(number: &[u8]) -> Option<f64> {
    let (negative, digits) = match number {
        [b'-', rest @ ..] => (true, rest),
        all => (false, all),
    };
    if digits.len() > SHORT_DIGITS + 1 {
        return None;
    }
    let mut mantissa = 0_i64;
    let mut point = digits.len();
    for (place, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            mantissa = mantissa * 10 + i64::from(digit);
        } else if byte == b'.' {
            point = place + 1;
        } else {
            return None;
        }
    }
    let scale = digits.len() - point;
    if scale == 0 && digits.len() > SHORT_DIGITS {
        return None;
    }
    let mantissa = if negative { -mantissa } else { mantissa };
    Some(mantissa as f64 / FLOAT_POWERS[scale])
}

/// Any number: `0.digits * 10^magnitude`, digits without zeros at either end; none for zero.
struct Decimal<'a> {
    negative: bool,
    integer: &'a [u8],
    fraction: &'a [u8],
    magnitude: i128,
}

impl<'a> Decimal<'a> {
    fn parse(text: &'a str) -> Self {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let integer = integer.trim_start_matches('0');
        let mut fraction = fraction.trim_end_matches('0');
        let mut magnitude = exponent_of(exponent);
        let mut integer_digits = integer;
        if integer.is_empty() {
            let significant = fraction.trim_start_matches('0');
            magnitude -= (fraction.len() - significant.len()) as i128;
            fraction = significant;
        } else {
            magnitude += integer.len() as i128;
            if fraction.is_empty() {
                integer_digits = integer.trim_end_matches('0');
            }
        }
        Self {
            negative: text.starts_with('-'),
            integer: integer_digits.as_bytes(),
            fraction: fraction.as_bytes(),
            magnitude,
        }
    }

    fn is_zero(&self) -> bool {
        self.integer.is_empty() && self.fraction.is_empty()
    }

    fn digits(&self) -> impl Iterator<Item = &u8> {
        self.integer.iter().chain(self.fraction)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let absolute = || {
            self.magnitude
                .cmp(&other.magnitude)
                .then_with(|| self.digits().cmp(other.digits()))
        };
        let sign = |n: &Self| match (n.is_zero(), n.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        match (sign(self), sign(other)) {
            (a, b) if a != b => a.cmp(&b),
            (0, _) => Ordering::Equal,
            (-1, _) => absolute().reverse(),
            _ => absolute(),
        }
    }
}

/// An exponent, at most 10^30: no document is long enough for larger ones to matter.
fn exponent_of(text: &str) -> i128 {
    const LIMIT: i128 = 1_000_000_000_000_000_000_000_000_000_000;
    let beyond = if text.starts_with('-') { -LIMIT } else { LIMIT };
    text.parse()
        .map_or(beyond, |exponent: i128| exponent.clamp(-LIMIT, LIMIT))
}

#[cfg(test)]
mod tests {
    use super::{Decimal, compare, is_number};
    use proptest::prelude::*;
    use std::cmp::Ordering::{self, Equal, Greater, Less};

    fn check(a: &str, b: &str, expected: Ordering) {
        assert_eq!(compare(a, b), expected, "{a} ? {b}");
        assert_eq!(compare(b, a), expected.reverse(), "{b} ? {a}");
        let slow = Decimal::parse(a).compare(&Decimal::parse(b));
        assert_eq!(slow, expected, "{a} ? {b}, digit by digit");
    }

    #[test]
    fn compares_by_value() {
        check("1", "1.0", Equal);
        check("100", "1e2", Equal);
        check("0.001", "1E-3", Equal);
        check("-0", "0.000", Equal);
        check("0e99", "0", Equal);
        check("10", "9", Greater);
        check("-10", "-9", Less);
        check("0.1", "0.09", Greater);
        check("9007199254740993", "9007199254740992", Greater);
        check("18446744073709551616", "18446744073709551615", Greater);
        check("0.30000000000000000001", "0.3", Greater);
        check("1e400", "1e399", Greater);
        check("1e-400", "0", Greater);
        check("1e99999999999999999999", "9e99999999999999999998", Greater);
        check("1230", "123e1", Equal);
    }

    #[test]
    fn knows_the_grammar_of_numbers() {
        for text in ["0", "-0", "1.5", "1e5", "1E-05", "-12.30e+4"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", "01", "1.", ".5", "+1", "1e", "NaN", "1 ", "0x1"] {
            assert!(!is_number(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_integers(a in any::<i64>(), b in any::<i64>()) {
            prop_assert_eq!(compare(&a.to_string(), &b.to_string()), a.cmp(&b));
        }

        #[test]
        fn agrees_with_floats(a in -1e6f64..1e6, b in -1e6f64..1e6) {
            // Rust prints the shortest digits that read back as the same float.
            prop_assert_eq!(compare(&format!("{a}"), &format!("{b}")), a.total_cmp(&b));
            prop_assert_eq!(compare(&format!("{a:e}"), &format!("{a}")), Equal);
        }
    }
}
