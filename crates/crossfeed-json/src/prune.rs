//! Removes members and items from a text of any depth; every other byte stays. A comma goes with each removed
//! value, the one after it if something after it stays.

use crate::{
    document::JsonError,
    tokens::{Bits, RawString, TokenVisitor, read_tokens},
};
use std::ops::Range;

/// Decides which members and items go. It does not see the content of those that go.
pub trait Prune {
    /// Whether the member of this key goes. `depth` counts the lists and objects around it: 1 at the top
    /// level.
    fn member(&mut self, key: RawString<'_>, depth: usize) -> bool;

    /// Whether the next item of the innermost list goes.
    fn item(&mut self, _depth: usize) -> bool {
        false
    }

    /// A value that is a string and stays. `depth` is 0 for the text's own value.
    fn string(&mut self, _string: RawString<'_>, _depth: usize) {}

    /// An object or a list begins that stays.
    fn open(&mut self) {}

    /// It ends.
    fn close(&mut self) {}
}

/// The bytes of a text that go, in their order; without them it is JSON again. A byte order mark may precede
/// it, and it may nest to any depth.
///
/// ```
/// use crossfeed_json::{Prune, RawString, cuts, without};
///
/// struct Secrets;
///
/// impl Prune for Secrets {
///     fn member(&mut self, key: RawString<'_>, _: usize) -> bool {
///         key.text() == "secret"
///     }
/// }
///
/// let text = r#"{ "a": [{"secret": [1, 2]}], "secret": 3 }"#;
/// assert_eq!(without(text, &cuts(text, &mut Secrets)?), r#"{ "a": [{}] }"#);
/// # Ok::<(), crossfeed_json::JsonError>(())
/// ```
///
/// # Errors
///
/// [`JsonError`] where the text is not valid JSON.
pub fn cuts(text: &str, prune: &mut impl Prune) -> Result<Vec<Range<usize>>, JsonError> {
    let mut pruner = Pruner {
        prune,
        cuts: Vec::new(),
        depth: 0,
        kept: false,
        outer_kept: Bits::default(),
        separator: 0,
        going: 0,
        value_end: 0,
        run: None,
    };
    read_tokens(text, &mut pruner)?;
    Ok(pruner.cuts)
}

/// A text without some of its bytes, which are given in their order.
pub fn without(text: &str, cuts: &[Range<usize>]) -> String {
    let cut: usize = cuts.iter().map(ExactSizeIterator::len).sum();
    let mut out = String::with_capacity(text.len().saturating_sub(cut));
    let mut at = 0;
    for cut in cuts {
        out.push_str(text.get(at..cut.start).unwrap_or_default());
        at = cut.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

struct Pruner<'p, P> {
    prune: &'p mut P,
    cuts: Vec<Range<usize>>,
    /// How many containers are open.
    depth: usize,
    /// Whether something before stays in the innermost container; in those around it.
    kept: bool,
    outer_kept: Bits,
    /// The last bracket that opened, or comma.
    separator: usize,
    /// The depth of the value that goes, or 0.
    going: usize,
    /// Where the last value ended.
    value_end: usize,
    /// A run of members or items that go: the separator before them, and the end of the value before that.
    run: Option<(usize, usize)>,
}

impl<P: Prune> Pruner<'_, P> {
    /// Begins the next member or item of the innermost container, which goes or stays.
    #[inline(always)]
    fn decide(&mut self, goes: bool) {
        if goes {
            self.going = self.depth;
            self.run.get_or_insert((self.separator, self.value_end));
        } else {
            if let Some((separator, _)) = self.run.take() {
                self.cuts.push(separator + 1..self.separator + 1);
            }
            self.kept = true;
        }
    }
}

impl<P: Prune> TokenVisitor for Pruner<'_, P> {
    #[inline(always)]
    fn open(&mut self, at: usize) {
        self.depth += 1;
        if self.going == 0 {
            self.outer_kept.push(self.kept);
            self.kept = false;
            self.separator = at;
            self.prune.open();
        }
    }

    #[inline(always)]
    fn key(&mut self, key: RawString<'_>) {
        if self.going == 0 {
            let goes = self.prune.member(key, self.depth);
            self.decide(goes);
        }
    }

    #[inline(always)]
    fn item(&mut self) {
        if self.going == 0 {
            let goes = self.prune.item(self.depth);
            self.decide(goes);
        }
    }

    #[inline(always)]
    fn string(&mut self, string: RawString<'_>) {
        if self.going == 0 {
            self.prune.string(string, self.depth);
        }
    }

    #[inline(always)]
    fn value_end(&mut self, end: usize) {
        if self.going == self.depth {
            self.going = 0;
        }
        self.value_end = end;
    }

    #[inline(always)]
    fn comma(&mut self, at: usize) {
        if self.going == 0 {
            self.separator = at;
        }
    }

    #[inline(always)]
    fn close(&mut self, _: usize) {
        self.depth -= 1;
        if self.going == 0 {
            if let Some((separator, before)) = self.run.take() {
                let from = if self.kept { before } else { separator + 1 };
                self.cuts.push(from..self.value_end);
            }
            self.kept = self.outer_kept.pop();
            self.prune.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Prune, cuts, without};
    use crate::{
        RawString,
        tests::{Json, blanks, json},
    };
    use proptest::prelude::*;

    /// Members whose keys begin with one of these letters go, and each `nth` item of a list.
    struct Certain<'a> {
        letters: &'a str,
        nth: usize,
        items: Vec<usize>,
    }

    impl<'a> Certain<'a> {
        fn new(letters: &'a str, nth: usize) -> Self {
            let items = Vec::new();
            Self {
                letters,
                nth,
                items,
            }
        }
    }

    fn goes(key: &str, letters: &str) -> bool {
        key.starts_with(|c| letters.contains(c))
    }

    impl Prune for Certain<'_> {
        fn member(&mut self, key: RawString<'_>, depth: usize) -> bool {
            assert_eq!(depth, self.items.len());
            goes(key.raw(), self.letters)
        }
        fn item(&mut self, _: usize) -> bool {
            let last = self.items.last_mut().unwrap();
            *last += 1;
            last.is_multiple_of(self.nth)
        }
        fn open(&mut self) {
            self.items.push(0);
        }
        fn close(&mut self) {
            self.items.pop();
        }
    }

    /// The value without what goes.
    fn pruned(json: Json, letters: &str, nth: usize) -> Json {
        match json {
            Json::Atom(_) => json,
            Json::Array(items) => Json::Array(
                items
                    .into_iter()
                    .enumerate()
                    .filter(|(at, _)| (at + 1) % nth != 0)
                    .map(|(_, item)| pruned(item, letters, nth))
                    .collect(),
            ),
            Json::Object(members) => Json::Object(
                members
                    .into_iter()
                    .filter(|(key, _)| !goes(key, letters))
                    .map(|(key, value)| (key, pruned(value, letters, nth)))
                    .collect(),
            ),
        }
    }

    fn check(text: &str, expected: &str) {
        let found = cuts(text, &mut Certain::new("_", 3)).unwrap();
        assert_eq!(without(text, &found), expected, "{text}");
    }

    proptest! {
        #[test]
        fn the_rest_is_what_it_was(json in json(), blanks in blanks(), nth in 1..4_usize) {
            let text = json.text(blanks);
            let left = without(&text, &cuts(&text, &mut Certain::new("ak\\", nth)).unwrap());
            let dense: String = pruned(json, "ak\\", nth).text("");
            let left: serde_json::Value = match serde_json::from_str(&left) {
                Ok(left) => left,
                // Lone surrogates.
                Err(error) => return Err(TestCaseError::reject(error.to_string())),
            };
            prop_assert_eq!(left, serde_json::from_str::<serde_json::Value>(&dense).unwrap());
        }

        #[test]
        fn without_blanks_the_rest_is_the_same_bytes(json in json(), nth in 1..4_usize) {
            let text = json.text("");
            let left = without(&text, &cuts(&text, &mut Certain::new("ak\\", nth)).unwrap());
            prop_assert_eq!(left, pruned(json, "ak\\", nth).text(""));
        }

        #[test]
        fn where_nothing_goes_nothing_is_cut(json in json(), blanks in blanks()) {
            prop_assert!(cuts(&json.text(blanks), &mut Certain::new("", usize::MAX)).unwrap().is_empty());
        }
    }

    #[test]
    fn a_comma_goes_with_what_it_separated() {
        check(r#"{"_a":1}"#, "{}");
        check(r#"{ "_a" : 1 }"#, "{ }");
        check(r#"{"_a":1,"b":2}"#, r#"{"b":2}"#);
        check(r#"{"_a":1 , "b":2}"#, r#"{ "b":2}"#);
        check(r#"{"b":2 , "_a":1 }"#, r#"{"b":2 }"#);
        check(r#"{"b":2,"_a":{"_a":[1,2,3]},"c":3}"#, r#"{"b":2,"c":3}"#);
        check(
            r#"{"b":1 , "_a":2 , "_a":3 , "c":4 , "_a":5 , "_a":6 }"#,
            r#"{"b":1 , "c":4 }"#,
        );
        check(r#"{"_a":1,"_a":2,"b":3,"_a":4}"#, r#"{"b":3}"#);
        check(r#"{"b":[{"_a":1},{}],"_c":[]}"#, r#"{"b":[{},{}]}"#);
        check("[1,2,3,4, 5,6]", "[1,2,4, 5]");
        check("\u{feff} {\"_a\":1}\n", "\u{feff} {}\n");
    }

    #[test]
    fn depth_costs_nothing() {
        let deep = format!("{}1{}", "[{\"b\":".repeat(100_000), "}]".repeat(100_000));
        check(
            &format!("{{\"_a\":{deep},\"b\":{deep}}}"),
            &format!("{{\"b\":{deep}}}"),
        );
        let deep = format!(
            "{}1{}",
            "{\"_a\":[[1]],\"b\":".repeat(100_000),
            "}".repeat(100_000)
        );
        check(&deep, &deep.replace("\"_a\":[[1]],", ""));
    }
}
