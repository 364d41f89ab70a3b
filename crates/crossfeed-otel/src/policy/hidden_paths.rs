//! Removes the members that a host never reveals. A path, in projection's path language, begins at any
//! object of the text, JSON in its strings included, and crosses lists implicitly.
//!
//! # Fail closed
//!
//! Telemetry is cut, copied and reordered on its way, so a path hides more here than in the tool's result:
//! it begins anywhere, an index hides what any item has, and a path that ends in a list hides the list.
//! A string or text that is not valid JSON and mentions a name is withheld as a whole. Only the whole result
//! would show that a text repeats what is hidden elsewhere, or that bytes are JSON: both stay. Truncated
//! JSON stays if it mentions no name.

use super::nested_json::{Level, NestedString, apply, could_be_json, edits};
use crate::table::segments;
use crossfeed_json::{Prune, RawString, cuts};
use crossfeed_projection::{Path, PathError, RevealRules, Step, WITHHELD, fold_case};
use std::{collections::HashMap, fmt};

/// Paths of fields that are never revealed.
#[derive(Clone, Default)]
pub(crate) struct HiddenPaths {
    /// The steps of each path that name members, folded; `None` is any name.
    paths: Vec<Vec<Option<Box<str>>>>,
    /// The paths that begin with a name.
    begins: HashMap<Box<str>, Vec<u32>>,
    /// The paths that begin with any name.
    begins_anyhow: Vec<u32>,
    /// Whether some path names no member: it names everything.
    everything: bool,
    rules: RevealRules,
}

/// Hidden names stay out of logs.
impl fmt::Debug for HiddenPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HiddenPaths")
            .field("paths", &self.paths.len())
            .finish_non_exhaustive()
    }
}

/// A path, and how many of its steps were taken.
pub(crate) type Progress = (u32, u32);

impl HiddenPaths {
    pub(crate) fn parse(
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, PathError> {
        let paths = paths.into_iter().map(|path| Path::parse(path.as_ref()));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        let mut never = Self::default();
        for path in &paths {
            let steps = path.steps().iter();
            let steps = steps.filter_map(|step| match step {
                Step::Key(name) => Some(Some(fold_case(name).into())),
                Step::EachKey => Some(None),
                Step::EachItem | Step::Index(_) => None,
            });
            let steps: Vec<Option<Box<str>>> = steps.collect();
            let number = never.paths.len() as u32;
            match steps.first() {
                None => never.everything = true,
                Some(None) => never.begins_anyhow.push(number),
                Some(Some(name)) => never.begins.entry(name.clone()).or_default().push(number),
            }
            never.paths.push(steps);
        }
        never.rules = RevealRules::new([], paths);
        Ok(never)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The progress of paths at the value of an attribute, the first `known` bytes of whose name say that
    /// it carries payload; `None` if the attribute itself is hidden. In payload a path begins at any segment
    /// that follows. Elsewhere it begins with the name: `service.name` is not a `name`.
    pub(crate) fn progress_at(
        &self,
        attribute: &str,
        known: Option<usize>,
    ) -> Option<Vec<Progress>> {
        let rest = attribute.get(known.unwrap_or_default()..);
        let (mut here, mut next) = (Vec::new(), Vec::new());
        for (nth, segment) in segments(rest.unwrap_or_default()).enumerate() {
            let begins = nth == 0 || known.is_some();
            if self.step(&here, segment, begins, &mut next) {
                return None;
            }
            if segment.bytes().all(|byte| byte.is_ascii_digit()) {
                // An item of a list is reached wherever its list is.
                next.append(&mut here);
                next.sort_unstable();
                next.dedup();
            }
            std::mem::swap(&mut here, &mut next);
        }
        Some(here)
    }

    /// The text without what these paths reach; `None` if it stays as it is.
    pub(crate) fn hide(&self, text: &str, progress: Vec<Progress>) -> Option<String> {
        if self.everything {
            return Some(WITHHELD.to_owned());
        }
        let read = |text: &str, progress| {
            let mut one = OneLevel {
                never: self,
                next: progress,
                open: Vec::new(),
                begins: Vec::new(),
                nested: Vec::new(),
                withheld: Vec::new(),
            };
            Ok(Level {
                cuts: cuts(text, &mut one)?,
                nested: one.nested,
                withheld: one.withheld,
            })
        };
        let withholds = |text: &str| self.rules.mentions_never(text);
        match edits(text, progress, &read, &withholds) {
            Ok(edits) => apply(text, &edits),
            Err(_) => withholds(text).then(|| WITHHELD.to_owned()),
        }
    }

    /// Steps into a member of this name: fills `next`, and returns whether a path ends there.
    fn step(&self, here: &[Progress], name: &str, begins: bool, next: &mut Vec<Progress>) -> bool {
        next.clear();
        let name = &*fold_case(name);
        let named = self.begins.get(name).into_iter().flatten();
        let begun = named.chain(&self.begins_anyhow).filter(|_| begins);
        let begun = begun.map(|path| (*path, 0));
        for (path, taken) in here.iter().copied().chain(begun) {
            let steps = &self.paths[path as usize];
            match steps.get(taken as usize) {
                Some(step) if step.as_deref().is_none_or(|step| step == name) => {
                    if taken as usize + 1 == steps.len() {
                        return true;
                    }
                    next.push((path, taken + 1));
                }
                _ => {}
            }
        }
        false
    }
}

struct OneLevel<'n> {
    never: &'n HiddenPaths,
    /// The progress of paths at the value that comes next.
    next: Vec<Progress>,
    /// The progress at each open container, one after the other, and where each begins.
    open: Vec<Progress>,
    begins: Vec<usize>,
    nested: Vec<NestedString<Vec<Progress>>>,
    withheld: Vec<std::ops::Range<usize>>,
}

impl OneLevel<'_> {
    /// Whether a key that no path names is a text rather than a name, and mentions a hidden field.
    fn key_mentions(&self, key: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        !key.chars().all(is_part) && self.never.rules.mentions_never(key)
    }

    fn innermost(&self) -> &[Progress] {
        let begin = self.begins.last().copied().unwrap_or_default();
        self.open.get(begin..).unwrap_or_default()
    }
}

impl Prune for OneLevel<'_> {
    fn member(&mut self, key: RawString<'_>, _: usize) -> bool {
        let mut next = std::mem::take(&mut self.next);
        let key = key.text();
        let hidden = self.never.step(self.innermost(), &key, true, &mut next);
        self.next = next;
        hidden || self.key_mentions(&key)
    }

    fn item(&mut self, _: usize) -> bool {
        let mut next = std::mem::take(&mut self.next);
        next.clear();
        next.extend_from_slice(self.innermost());
        self.next = next;
        false
    }

    fn string(&mut self, string: RawString<'_>, _: usize) {
        let range = string.start()..string.start() + string.raw().len();
        if could_be_json(string) {
            self.nested.push(NestedString {
                range,
                carry: self.next.clone(),
            });
        } else if self.never.rules.mentions_never(&string.text()) {
            self.withheld.push(range);
        }
    }

    fn open(&mut self) {
        self.begins.push(self.open.len());
        self.open.extend_from_slice(&self.next);
    }

    fn close(&mut self) {
        let begin = self.begins.pop().unwrap_or_default();
        self.open.truncate(begin);
    }
}

#[cfg(test)]
mod tests {
    use super::HiddenPaths;
    use crossfeed_projection::WITHHELD;

    fn check(paths: &[&str], text: &str, expected: &str) {
        let never = HiddenPaths::parse(paths).unwrap();
        let found = never
            .hide(text, Vec::new())
            .unwrap_or_else(|| text.to_owned());
        assert_eq!(found, expected, "{paths:?} {text}");
    }

    #[test]
    fn a_path_begins_anywhere() {
        check(&["pin"], r#"[{"a":{"pin":1,"b":2}}]"#, r#"[{"a":{"b":2}}]"#);
        check(
            &["owner.mail"],
            r#"{"x":{"owner":{"mail":1,"id":2}},"mail":3}"#,
            r#"{"x":{"owner":{"id":2}},"mail":3}"#,
        );
        check(
            &["owner.mail"],
            r#"{"owner":[{"mail":1},[{"mail":2,"a":3}]]}"#,
            r#"{"owner":[{},[{"a":3}]]}"#,
        );
        check(
            &["items[0].pin"],
            r#"{"items":[{"a":1},{"pin":1}]}"#,
            r#"{"items":[{"a":1},{}]}"#,
        );
        check(&["items[]"], r#"{"items":[1],"n":1}"#, r#"{"n":1}"#);
        check(
            &["*.pin"],
            r#"{"pin":1,"a":{"pin":2}}"#,
            r#"{"pin":1,"a":{}}"#,
        );
        check(
            &["a.a.b"],
            r#"{"a":{"a":{"a":{"b":1,"c":2}}}}"#,
            r#"{"a":{"a":{"a":{"c":2}}}}"#,
        );
        check(&["p\u{e9}n"], r#"{"p\u00e9n":1}"#, "{}");
        check(&["[]"], "{}", WITHHELD);
    }

    #[test]
    fn strings_are_looked_into() {
        check(
            &["owner.mail"],
            r#"{"owner":"{\"mail\":1,\"a\":\"\\u00e9\"}"}"#,
            r#"{"owner":"{\"a\":\"\\u00e9\"}"}"#,
        );
        check(
            &["pin"],
            r#""{\"a\":\"[{\\\"pin\\\":1}]\"}""#,
            r#""{\"a\":\"[{}]\"}""#,
        );
        check(
            &["pin"],
            r#"{"log":"{\"pin\":1"}"#,
            r#"{"log":"[withheld]"}"#,
        );
        check(
            &["pin"],
            r#"{"log":"said {\"pin\":1}"}"#,
            r#"{"log":"[withheld]"}"#,
        );
        check(
            &["pin"],
            r#"{"log":"the spinner of a \"pinwheel\""}"#,
            r#"{"log":"the spinner of a \"pinwheel\""}"#,
        );
    }

    #[test]
    fn strings_that_mention_what_is_hidden_are_withheld() {
        for prose in [
            "pin=1234",
            "PIN is 1234",
            "pin: 1234",
            "{no json} pin",
            "\u{feff}pin",
        ] {
            let check = |around: &str| {
                let text = around.replace("..", prose);
                check(&["pin"], &text, &around.replace("..", WITHHELD));
                check(&["a.b.pin[0]"], &text, &around.replace("..", WITHHELD));
            };
            check(r#"{"content":[{"type":"text","text":".."}]}"#);
            check(r#""..""#);
            check(r#"[".."]"#);
            check(r#"{"log":".."}"#);
            check(r#"{"log":"\"..\""}"#);
            check(r#"{"log":"{\"log\":\"..\"}"}"#);
        }
        check(&["pin"], r#"["spin","pin_"]"#, r#"["spin","pin_"]"#);
    }

    #[test]
    fn keys_that_mention_what_is_hidden_go() {
        check(&["pin"], r#"{"pin=1234":1,"a":2}"#, r#"{"a":2}"#);
        check(&["pin"], r#"{"the PIN is":1234}"#, "{}");
        check(&["owner.pin"], r#"{"{\"pin\":1}":2}"#, "{}");
        check(
            &["owner.pin"],
            r#"{"pin":1,"p\u0069n":2,"my-pin":3,"x.pin":4}"#,
            r#"{"pin":1,"p\u0069n":2,"my-pin":3,"x.pin":4}"#,
        );
    }

    #[test]
    fn a_text_that_mentions_what_is_hidden_is_withheld() {
        check(&["pin"], r#"{"pin":12"#, WITHHELD);
        check(&["pin"], "the spinner", "the spinner");
    }

    #[test]
    fn depth_costs_nothing() {
        let deep = |inner: &str| {
            format!(
                "{}{inner}{}",
                "[{\"a\":".repeat(100_000),
                "}]".repeat(100_000)
            )
        };
        check(&["a.pin", "a.*.pin"], &deep(r#"{"pin":1}"#), &deep("{}"));
    }
}
