//! Numbers as they are compared: by value, and quickly where few digits allow it.
//!
//! Of decimals with at most 15 digits no two have the same nearest 64-bit float, and their floats
//! have their order. Such a number is therefore compared as a float; any other by its digits.

use crossfeed_json::{Cursor, compare_numbers, short_number as short};
use std::cmp::Ordering;

/// A number that is compared with many others: read once.
#[derive(Debug)]
pub(crate) struct Number {
    digits: Box<str>,
    short: Option<f64>,
}

impl Number {
    pub(crate) fn read(digits: &str) -> Self {
        Self {
            digits: digits.into(),
            short: short(digits.as_bytes()),
        }
    }

    /// The number as a float, if floats tell it apart.
    #[inline]
    pub(crate) fn short(&self) -> Option<f64> {
        self.short
    }

    /// How `number`, a place that holds a number, compares with this one.
    #[inline]
    pub(crate) fn order_of(&self, number: Cursor<'_>) -> Ordering {
        if let (Some(left), Some(right)) = (short(number.raw()), self.short) {
            return order_short(left, right);
        }
        compare_numbers(number.as_number().unwrap_or_default(), &self.digits)
    }
}

/// The order of two floats, neither of which is NaN.
#[inline]
pub(crate) fn order_short(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or(Ordering::Equal)
}
