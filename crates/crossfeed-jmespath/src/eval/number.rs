//! Numbers of views, compared by value, and quickly where few digits allow it.
//!
//! Of decimals with at most 15 digits no two have the same nearest 64-bit float, and their floats
//! have their order. Such a number is therefore compared as a float; any other by its digits.

use crate::view::{Repr, View};
use crossfeed_json::{compare_numbers, short_number as short};
use std::cmp::Ordering;

/// Decimals of at most this many digits are distinct as floats, and exact as integers.
const DIGITS: usize = 15;

/// The order of two numbers.
#[inline]
pub(super) fn order_numbers(left: &View<'_>, right: &View<'_>) -> Ordering {
    match (short_of(left), short_of(right)) {
        (Some(left), Some(right)) => order_short(left, right),
        _ => order_digits(left, right),
    }
}

/// The order of two floats, neither of which is NaN.
#[inline]
pub(super) fn order_short(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}

#[cold]
fn order_digits(left: &View<'_>, right: &View<'_>) -> Ordering {
    let (left, right) = (left.digits(), right.digits());
    compare_numbers(&left.unwrap_or_default(), &right.unwrap_or_default())
}

/// A number as a float, if that float differs from those of all other numbers that this function accepts.
#[inline]
pub(super) fn short_of(number: &View<'_>) -> Option<f64> {
    match &number.0 {
        Repr::Json(cursor) => short(cursor.raw()),
        Repr::Integer(n) if n.unsigned_abs() <= 10_u64.pow(DIGITS as u32) => Some(*n as f64),
        // Its digits are the shortest that read back as the same float.
        Repr::Float(n) => Some(*n),
        Repr::Digits(digits) => short(digits.as_bytes()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{order_numbers, short};
    use crate::view::{Repr, View};
    use crossfeed_json::compare_numbers;
    use proptest::prelude::*;

    fn check(number: &str, expected: Option<f64>) {
        assert_eq!(short(number.as_bytes()), expected, "{number}");
    }

    #[test]
    fn reads_what_floats_tell_apart() {
        check("0", Some(0.0));
        check("-17", Some(-17.0));
        check("0.8734", Some(0.8734));
        check("1.0", Some(1.0));
        check("999999999999999", Some(999_999_999_999_999.0));
        check("0.00000000000001", Some(1e-14));
        check("-99999999999999.9", Some(-99_999_999_999_999.9));
    }

    #[test]
    fn leaves_the_rest_to_their_digits() {
        check("1000000000000000", None);
        check("9007199254740993", None);
        check("0.1234567890123456", None);
        check("1e3", None);
        check("1.5E-3", None);
    }

    proptest! {
        #[test]
        fn floats_have_the_order_of_the_digits(
            a in r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,16})?(e-?[0-9])?",
            b in r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,16})?",
            step in -2_i64..3,
        ) {
            let view = |digits: &str| View(Repr::Digits(digits.into()));
            prop_assert_eq!(order_numbers(&view(&a), &view(&b)), compare_numbers(&a, &b));
            // Neighbours, which differ in their last digit.
            let integer = b.replace('.', "").parse::<i64>().unwrap_or(7);
            let point = b.find('.').map_or(0, |at| b.len() - at - 1);
            let near = format!("{}e-{point}", integer.saturating_add(step));
            prop_assert_eq!(order_numbers(&view(&near), &view(&b)), compare_numbers(&near, &b));
        }

        #[test]
        fn close_decimals_are_told_apart(mantissa in 0_i64..999_999_999_999_998, scale in 1_usize..15) {
            let text = |mantissa: i64| {
                let digits = format!("{mantissa:015}");
                let (integer, fraction) = digits.split_at(digits.len() - scale);
                let integer = integer.trim_start_matches('0');
                format!("{}.{fraction}", if integer.is_empty() { "0" } else { integer })
            };
            let [a, b] = [text(mantissa), text(mantissa + 1)];
            if let (Some(a), Some(b)) = (short(a.as_bytes()), short(b.as_bytes())) {
                prop_assert!(a < b);
            }
        }
    }
}
