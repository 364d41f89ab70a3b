//! Patterns of names: `*` is any run of characters.

/// Whether a name fits a pattern. Takes at most as many steps as both are long, multiplied.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut to) = (0, 0);
    // Behind the last `*`, and how much of the name that has taken.
    let mut star: Option<(usize, usize)> = None;
    while to < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                at += 1;
                star = Some((at, to));
            }
            Some(sign) if name.get(to) == Some(sign) => {
                at += 1;
                to += 1;
            }
            _ => {
                let Some((behind, taken)) = &mut star else {
                    return false;
                };
                *taken += 1;
                (at, to) = (*behind, *taken);
            }
        }
    }
    pattern.iter().skip(at).all(|sign| *sign == b'*')
}

/// Whether a pattern could fit a name that begins so.
pub(crate) fn may_fit(pattern: &str, begins: &str) -> bool {
    match pattern.split_once('*') {
        Some((first, _)) => first.starts_with(begins) || begins.starts_with(first),
        None => pattern.starts_with(begins),
    }
}

/// Whether a pattern fits every name that begins so.
pub(crate) fn fits_all(pattern: &str, begins: &str) -> bool {
    pattern.ends_with('*') && fits(pattern, begins)
}

/// Whether everything that fits `other` fits `pattern`, too; false where that is not certain.
pub(crate) fn covers(pattern: &str, other: &str) -> bool {
    pattern == other
        || match other.split_once('*') {
            Some((begins, _)) => fits_all(pattern, begins),
            None => fits(pattern, other),
        }
}

/// Whether a name could fit both patterns.
pub(crate) fn overlaps(pattern: &str, other: &str) -> bool {
    match other.split_once('*') {
        Some((begins, _)) => may_fit(pattern, begins),
        None => fits(pattern, other),
    }
}

/// Whether a name fits one of these patterns.
pub(crate) fn fits_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

#[cfg(test)]
mod tests {
    use super::{covers, fits, fits_all, may_fit, overlaps};
    use proptest::prelude::*;

    fn check(pattern: &str, name: &str, fitting: bool) {
        assert_eq!(fits(pattern, name), fitting, "{pattern} {name}");
    }

    #[test]
    fn a_star_is_any_run() {
        check("*", "", true);
        check("*", "a/b", true);
        check("a/*", "a/b", true);
        check("a/*", "b/a/", false);
        check("*/get_*", "git/get_log", true);
        check("*/get_*", "git/log", false);
        check("a*b*c", "aXbXbc", true);
        check("a*b*c", "acb", false);
        check("ab", "a", false);
        check("a", "ab", false);
        check("", "", true);
    }

    proptest! {
        #[test]
        fn what_fits_is_covered_and_overlaps(
            pattern in "[ab/*]{0,6}", other in "[ab/*]{0,6}", parts in prop::collection::vec("[ab/]{0,2}", 6),
        ) {
            let mut parts = parts.into_iter();
            let name: String = other.chars().map(|sign| match sign {
                '*' => parts.next().unwrap_or_default(),
                sign => sign.to_string(),
            }).collect();
            prop_assert!(fits(&other, &name));
            prop_assert!(fits(&pattern, &name) || !covers(&pattern, &other));
            prop_assert!(overlaps(&pattern, &other) || !fits(&pattern, &name));
        }

        #[test]
        fn stars_in_place_of_parts_fit(name in "[ab/]{0,12}", cut in 0usize..12, len in 0usize..12) {
            let from = cut.min(name.len());
            let to = (from + len).min(name.len());
            let pattern = format!("{}*{}", &name[..from], &name[to..]);
            prop_assert!(fits(&pattern, &name));
        }

        #[test]
        fn names_that_begin_alike(pattern in "[ab/*]{0,6}", begins in "[ab]{1,2}/", rest in "[ab/]{0,3}") {
            let fits = fits(&pattern, &format!("{begins}{rest}"));
            prop_assert!(may_fit(&pattern, &begins) || !fits);
            prop_assert!(fits || !fits_all(&pattern, &begins));
        }
    }
}
