//! Finds names close to one that is absent, for suggestions in every message. Callers pass only names that may
//! be shown.

/// How many names are suggested.
const NEAREST: usize = 3;
/// How many names are compared with one.
const COMPARED: usize = 500;
/// Longer names, in characters, get no suggestions.
const LONGEST: usize = 128;

/// Up to three of `names` that are close to `name`: those that a few edits make of it, one for each
/// three characters, whatever their case. The closest come first, of equal ones the first.
///
/// ```
/// use crossfeed_projection::nearest;
///
/// assert_eq!(nearest("titel", ["id", "title", "url"]), ["title"]);
/// ```
pub fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let Some((wanted, len)) = comparable(name) else {
        return Vec::new();
    };
    // A name of one letter is near to every other.
    let allowed = (len / 3).max(1).min(len.saturating_sub(1));
    let names = names.into_iter().take(COMPARED);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|candidate| {
            let (text, its_len) = comparable(candidate)?;
            if len.abs_diff(its_len) > allowed {
                return None;
            }
            let far = strsim::damerau_levenshtein(&wanted, &text);
            (far <= allowed).then_some((far, candidate))
        })
        .collect();
    close.sort_by_key(|(far, _)| *far);
    let nearest = close.into_iter().take(NEAREST);
    nearest.map(|(_, name)| name.to_owned()).collect()
}

/// A name without case and its length in characters; `None` where it is too long to be compared.
fn comparable(name: &str) -> Option<(String, usize)> {
    if name.chars().nth(LONGEST).is_some() {
        return None;
    }
    let name = name.to_lowercase();
    let len = name.chars().count();
    Some((name, len))
}

#[cfg(test)]
mod tests {
    use super::{COMPARED, LONGEST, nearest};

    fn check(name: &str, names: &[&str], expected: &[&str]) {
        assert_eq!(nearest(name, names.iter().copied()), expected, "{name}");
    }

    #[test]
    fn the_closest_come_first() {
        check(
            "titel",
            &["titl", "title", "titel_", "TITEL", "id"],
            &["TITEL", "titl", "title"],
        );
        check(
            "Name",
            &["name", "nam", "names", "nama"],
            &["name", "nam", "names"],
        );
        check("a", &["b", "a", "A"], &["a", "A"]);
        check("", &["a", ""], &[""]);
        check("ünï", &["üni", "uni"], &["üni"]);
    }

    #[test]
    fn what_is_compared_is_bounded() {
        let long = "n".repeat(LONGEST);
        check(&long, &[&long], &[&long]);
        check(&format!("{long}n"), &[&long], &[]);
        check(&long, &[&format!("{long}n")], &[]);
        let mut many = vec!["far away"; COMPARED - 1];
        many.push("name");
        check("nmae", &many, &["name"]);
        many.insert(0, "far away");
        check("nmae", &many, &[]);
    }
}
