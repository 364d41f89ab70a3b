//! What a host never reveals, wherever in a payload it stands.
//!
//! Removes the members that paths name. A path begins at any object of the text, JSON in its
//! strings included, and crosses lists without saying so. The path language is that of projection.
//!
//! # Fail closed
//!
//! Telemetry is cut, copied and reordered on its way, so a path hides more here than it would in the
//! tool's result: it begins anywhere, an index hides what any item has, and a path that ends in a list
//! hides the list. A string or text that is not valid JSON and mentions a name is withheld as a whole. What only
//! the whole result tells is not known here: that a text repeats what is hidden elsewhere in it, or that
//! bytes are JSON. JSON that was cut off stays if it mentions no name.

use super::nested_json::{Embedded, Level, Stage, apply, could_be_json, edits};
use crate::table::segments;
use crossfeed_json::{JsonError, Prune, Quoted, cuts};
use crossfeed_projection::{Path, PathError, RevealRules, Step, WITHHELD, fold_case};
use std::{collections::HashMap, fmt};

/// Paths of what is never revealed.
#[derive(Clone, Default)]
pub(crate) struct Never {
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

/// What is never revealed is not named in logs.
impl fmt::Debug for Never {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Never")
            .field("paths", &self.paths.len())
            .finish_non_exhaustive()
    }
}

/// A path, and how many of its steps were taken.
pub(crate) type Way = (u32, u32);

impl Never {
    /// These paths.
    pub(crate) fn parse(
        paths: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, PathError> {
        let paths: Result<Vec<Path>, _> = paths
            .into_iter()
            .map(|path| Path::parse(path.as_ref()))
            .collect();
        let mut never = Self::default();
        let paths = paths?;
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

    /// The ways to the value of an attribute, of whose name the first `known` bytes say that it carries
    /// payload; `None` if the attribute is hidden itself. In payload a path begins at any part of what
    /// follows. Other names are their own beginning: `service.name` is not a `name`.
    pub(crate) fn ways_of(&self, attribute: &str, known: Option<usize>) -> Option<Vec<Way>> {
        let rest = attribute.get(known.unwrap_or_default()..);
        let (mut ways, mut next) = (Vec::new(), Vec::new());
        for (nth, segment) in segments(rest.unwrap_or_default()).enumerate() {
            let begins = nth == 0 || known.is_some();
            if self.step(&ways, segment, begins, &mut next) {
                return None;
            }
            if segment.bytes().all(|byte| byte.is_ascii_digit()) {
                // An item of a list, which has the ways to the list.
                next.append(&mut ways);
                next.sort_unstable();
                next.dedup();
            }
            std::mem::swap(&mut ways, &mut next);
        }
        Some(ways)
    }

    /// The text without what is never revealed, where these ways lead to it; `None` if it may stay as it
    /// is.
    pub(crate) fn hide(&self, text: &str, ways: Vec<Way>) -> Option<String> {
        if self.everything {
            return Some(WITHHELD.to_owned());
        }
        let mut hiding = Hiding { never: self };
        match edits(&mut hiding, text, ways) {
            Ok(edits) => apply(text, &edits),
            Err(_) => hiding.withholds(text).then(|| WITHHELD.to_owned()),
        }
    }

    /// The ways on from a member of this name, and whether one has come to its end.
    fn step(&self, ways: &[Way], name: &str, begins: bool, next: &mut Vec<Way>) -> bool {
        next.clear();
        let name = &*fold_case(name);
        let begun = self
            .begins
            .get(name)
            .filter(|_| begins)
            .into_iter()
            .flatten();
        let anyhow = self.begins_anyhow.iter().filter(|_| begins);
        let begun = begun.chain(anyhow).map(|path| (*path, 0));
        for (path, taken) in ways.iter().copied().chain(begun) {
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

struct Hiding<'n> {
    never: &'n Never,
}

impl Stage for Hiding<'_> {
    /// The ways that lead to what stands here.
    type Carry = Vec<Way>;

    fn read(&mut self, text: &str, ways: Vec<Way>) -> Result<Level<Vec<Way>>, JsonError> {
        let mut one = OneLevel {
            never: self.never,
            next: ways,
            ways: Vec::new(),
            begins: Vec::new(),
            embedded: Vec::new(),
            withheld: Vec::new(),
        };
        Ok(Level {
            cuts: cuts(text, &mut one)?,
            embedded: one.embedded,
            withheld: one.withheld,
        })
    }

    fn withholds(&mut self, text: &str) -> bool {
        self.never.rules.mentions_never(text)
    }
}

struct OneLevel<'n> {
    never: &'n Never,
    /// The ways to the value that comes next.
    next: Vec<Way>,
    /// The ways to what is open, one after the other, and where those of each begin.
    ways: Vec<Way>,
    begins: Vec<usize>,
    embedded: Vec<Embedded<Vec<Way>>>,
    withheld: Vec<std::ops::Range<usize>>,
}

impl OneLevel<'_> {
    /// Whether a key that no path names is a text rather than a name, and mentions what is hidden.
    fn key_mentions(&self, key: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        !key.chars().all(is_part) && self.never.rules.mentions_never(key)
    }

    fn innermost(&self) -> &[Way] {
        let begin = self.begins.last().copied().unwrap_or_default();
        self.ways.get(begin..).unwrap_or_default()
    }
}

impl Prune for OneLevel<'_> {
    fn member(&mut self, key: Quoted<'_>, _: usize) -> bool {
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

    fn string(&mut self, string: Quoted<'_>, _: usize) {
        let range = string.start()..string.start() + string.raw().len();
        if could_be_json(string) {
            self.embedded.push(Embedded {
                range,
                carry: self.next.clone(),
            });
        } else if self.never.rules.mentions_never(&string.text()) {
            self.withheld.push(range);
        }
    }

    fn open(&mut self) {
        self.begins.push(self.ways.len());
        self.ways.extend_from_slice(&self.next);
    }

    fn close(&mut self) {
        let begin = self.begins.pop().unwrap_or_default();
        self.ways.truncate(begin);
    }
}

#[cfg(test)]
mod tests {
    use super::Never;
    use crossfeed_projection::WITHHELD;

    fn check(paths: &[&str], text: &str, expected: &str) {
        let never = Never::parse(paths).unwrap();
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
