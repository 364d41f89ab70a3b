//! How similar two names are, within a budget of comparisons.

/// The most characters of two names that are compared, after removing their common beginning and end.
const COMPARED: usize = 64;

/// A budget for comparing names, in pairs of characters.
#[derive(Debug)]
pub(crate) struct ComparisonBudget {
    left: usize,
}

impl ComparisonBudget {
    pub(crate) fn new(pairs: usize) -> Self {
        Self { left: pairs }
    }

    /// The similarity of two names; `None` if it is less than `least`, or the budget is spent. Names that
    /// differ in more than 64 characters are not similar.
    pub(crate) fn similarity(&mut self, wanted: &str, name: &str, least: f64) -> Option<f64> {
        if self.left == 0 {
            return None;
        }
        let (a, b) = (wanted.chars().count(), name.chars().count());
        let (short, long) = (a.min(b), a.max(b));
        self.spend(long)?;
        // Each extra character is at least one slip.
        if (short as f64) < least * long as f64 {
            return None;
        }
        let (middle, other) = middles(wanted, name);
        let (a, b) = (middle.chars().count(), other.chars().count());
        if a.max(b) > COMPARED {
            return None;
        }
        self.spend(a * b)?;
        // The common beginning and end takes no slips.
        let slips = strsim::damerau_levenshtein(middle, other);
        let similarity = if long == 0 {
            1.0
        } else {
            1.0 - slips as f64 / long as f64
        };
        (similarity >= least).then_some(similarity)
    }

    fn spend(&mut self, pairs: usize) -> Option<()> {
        let left = self.left.checked_sub(pairs);
        self.left = left.unwrap_or(0);
        left.map(|_| ())
    }
}

/// Two texts without their common beginning and end.
fn middles<'t>(a: &'t str, b: &'t str) -> (&'t str, &'t str) {
    let same = |(a, b): &(char, char)| a == b;
    let before = a.chars().zip(b.chars()).take_while(same);
    let before: usize = before.map(|(c, _)| c.len_utf8()).sum();
    let (a, b) = (&a[before..], &b[before..]);
    let behind = a.chars().rev().zip(b.chars().rev()).take_while(same);
    let behind: usize = behind.map(|(c, _)| c.len_utf8()).sum();
    (&a[..a.len() - behind], &b[..b.len() - behind])
}

#[cfg(test)]
mod tests {
    use super::ComparisonBudget;
    use proptest::prelude::*;

    fn check(wanted: &str, name: &str, least: f64, expected: Option<f64>) {
        let found = ComparisonBudget::new(10_000).similarity(wanted, name, least);
        assert_eq!(found, expected, "{wanted} {name}");
    }

    #[test]
    fn names_are_alike_by_their_slips() {
        check("call_1", "call_1", 0.75, Some(1.0));
        check("call", "clal", 0.75, Some(0.75));
        check("call_1", "job", 0.75, None);
        check("", "", 0.75, Some(1.0));
        check("é", "e", 0.5, None);
    }

    #[test]
    fn long_names_are_compared_where_they_differ() {
        let long = "x".repeat(1_000_000);
        check(&long, &long, 0.75, None);
        let effort = || ComparisonBudget::new(3_000_000);
        assert_eq!(effort().similarity(&long, &long, 0.75), Some(1.0));
        let slip = format!("{long}y");
        assert!(effort().similarity(&long, &slip, 0.75).is_some());
        // It would take 10^12 pairs.
        let other = "y".repeat(1_000_000);
        assert_eq!(effort().similarity(&long, &other, 0.0), None);
    }

    #[test]
    fn no_more_is_spent_than_there_is() {
        let mut effort = ComparisonBudget::new(6 + 9 + 6 + 8);
        assert!(effort.similarity("abc123", "abcxyz", 0.1).is_some());
        assert!(effort.similarity("abc123", "abcxyz", 0.1).is_none());
        // A comparison that is too expensive spends the budget all the same.
        assert!(effort.similarity("a", "a", 0.1).is_none());
    }

    proptest! {
        #[test]
        fn the_likeness_is_that_of_all(a in "[ab é]{0,12}", b in "[ab é]{0,12}") {
            let found = ComparisonBudget::new(10_000).similarity(&a, &b, 0.0);
            let whole = strsim::normalized_damerau_levenshtein(&a, &b);
            prop_assert!((found.unwrap() - whole).abs() < 1e-9, "{:?} {}", found, whole);
        }
    }
}
