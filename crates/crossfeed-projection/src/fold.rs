//! Folds the case of names, for rules that must hold in whatever case a name is written.

use std::borrow::Cow;

/// Folds the case of a name: a never-rule takes two names for the same if their folded forms are equal.
///
/// ```
/// use crossfeed_projection::fold_case;
///
/// assert_eq!(fold_case("PassWord"), "password");
/// assert_eq!(fold_case("GRÖSSE"), fold_case("größe"));
/// ```
pub fn fold_case(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        // To upper case and back, as some letters have two lower-case forms.
        let upper = text.chars().flat_map(char::to_uppercase);
        return upper.flat_map(char::to_lowercase).collect();
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        text.to_ascii_lowercase().into()
    } else {
        text.into()
    }
}

/// The characters beyond ASCII that [`fold_case`] turns into ASCII, so they can spell an ASCII name.
pub(crate) const FOLDING_TO_ASCII: [char; 11] =
    ['ß', 'ı', 'ſ', '\u{212a}', 'ﬀ', 'ﬁ', 'ﬂ', 'ﬃ', 'ﬄ', 'ﬅ', 'ﬆ'];

#[cfg(test)]
mod tests {
    use super::{FOLDING_TO_ASCII, fold_case};

    #[test]
    fn case_is_folded_both_ways() {
        for (text, expected) in [
            ("pin", "pin"),
            ("PiN", "pin"),
            ("GRÖSSE", "grösse"),
            ("größe", "grösse"),
            ("ΟΔΟΣ", "οδοσ"),
            ("οδος", "οδοσ"),
        ] {
            assert_eq!(fold_case(text), expected, "{text}");
        }
    }

    #[test]
    fn the_characters_that_fold_to_ascii_are_known() {
        let folds = |c: &char| !c.is_ascii() && fold_case(&c.to_string()).is_ascii();
        let found: Vec<char> = ('\0'..=char::MAX).filter(folds).collect();
        let mut known = FOLDING_TO_ASCII.to_vec();
        known.sort_unstable();
        assert_eq!(found, known);
    }
}
