//! Functions for texts that are not JSON: lines, parts and matches. They are ours, not JMESPath's.

use super::{EvalError, EvalResult, ITEM_STEPS, functions::Call};
use crate::view::View;
use regex::{Captures, Regex, RegexBuilder};
use std::borrow::Cow;

/// Bytes of a compiled regular expression, and of the automaton that a search builds.
const PATTERN_BYTES: usize = 1 << 20;
/// How deep a regular expression may nest.
const PATTERN_NESTING: u32 = 32;
/// The steps of compiling one, some ten microseconds.
const PATTERN_STEPS: u64 = 1000;

impl<'a> Call<'_, 'a, '_> {
    /// The lines of a text, without their ends.
    pub(super) fn lines(&self, value: &View<'a>) -> EvalResult<'a> {
        let text = self.string(0, value)?;
        self.texts(text.lines())
    }

    /// The parts of a text between separators.
    pub(super) fn split(&self, value: &View<'a>, separator: &View<'a>) -> EvalResult<'a> {
        let (text, separator) = (self.string(0, value)?, self.string(1, separator)?);
        if separator.is_empty() {
            return Err(self.mismatch(1, "a separator", "an empty string"));
        }
        // Raw strings of JMESPath have no escapes for these.
        let separator = separator
            .replace("\\r", "\r")
            .replace("\\n", "\n")
            .replace("\\t", "\t");
        self.texts(text.split(&*separator))
    }

    /// The matches of a regular expression.
    pub(super) fn matches(&self, value: &View<'a>, pattern: &View<'a>) -> EvalResult<'a> {
        let (text, pattern) = (self.string(0, value)?, self.string(1, pattern)?);
        let regex = self.compiled(&pattern)?;
        // At worst a search takes a time in proportion to both sizes.
        let searched = (text.len() as u64 / 64).saturating_mul(weight(&pattern));
        self.budget.spend(searched)?;
        let names: Vec<Option<&str>> = regex.capture_names().collect();
        let mut found = Vec::new();
        for captures in regex.captures_iter(&text) {
            // A search for the next match may look at the whole rest.
            self.budget.tick()?;
            self.budget.spend(ITEM_STEPS)?;
            let item = self.matched(&captures, &names)?;
            self.evaluator.push(&mut found, item)?;
        }
        Ok(View::list(found))
    }

    /// The match itself; of one group its text, of more a list, of named ones an object.
    fn matched(&self, captures: &Captures<'_>, names: &[Option<&str>]) -> EvalResult<'a> {
        let group = |at: usize| match captures.get(at) {
            Some(group) => self.built(group.as_str()),
            None => Ok(View::null()),
        };
        if names.iter().any(Option::is_some) {
            let mut members = Vec::new();
            for (at, name) in names.iter().enumerate() {
                let Some(name) = name else { continue };
                self.budget.build_text(name.len())?;
                self.budget.spend(ITEM_STEPS)?;
                self.evaluator.reserve(name.len())?;
                members.push((Cow::Owned((*name).to_owned()), group(at)?));
            }
            return Ok(View::object(members));
        }
        match names.len() {
            1 => group(0),
            2 => group(1),
            groups => {
                let mut items = self.evaluator.list_of(groups - 1)?;
                for at in 1..groups {
                    items.push(group(at)?);
                }
                self.list(items)
            }
        }
    }

    /// The pattern, compiled once as long as it stays the same.
    fn compiled(&self, pattern: &str) -> Result<Regex, EvalError> {
        let mut last = self.evaluator.pattern.borrow_mut();
        if let Some((text, regex)) = &*last
            && text == pattern
        {
            return Ok(regex.clone());
        }
        self.budget.spend(PATTERN_STEPS)?;
        let regex = RegexBuilder::new(pattern)
            .multi_line(true)
            .crlf(true)
            .nest_limit(PATTERN_NESTING)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES)
            .build();
        let regex = regex.map_err(|error| {
            let found = match error {
                regex::Error::CompiledTooBig(_) => "one that is too large",
                _ => "one that cannot be read",
            };
            let expected = "a regular expression without look-around and back-references";
            self.mismatch(1, expected, found)
        })?;
        *last = Some((pattern.to_owned(), regex.clone()));
        Ok(regex)
    }

    fn texts<'t>(&self, texts: impl Iterator<Item = &'t str>) -> EvalResult<'a> {
        let mut items = Vec::new();
        for text in texts {
            self.budget.spend(ITEM_STEPS)?;
            let text = self.built(text)?;
            self.evaluator.push(&mut items, text)?;
        }
        Ok(View::list(items))
    }
}

/// How much a pattern makes a search cost for each byte: its length, and what counted repetitions make of its parts.
fn weight(pattern: &str) -> u64 {
    let mut open = Vec::new();
    // The weights of the group so far, and of its last part.
    let (mut sum, mut last) = (0_u64, 0_u64);
    let mut in_class = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            _ if in_class => continue,
            '(' => {
                open.push(sum.saturating_add(last));
                (sum, last) = (0, 0);
                continue;
            }
            ')' => {
                let group = sum.saturating_add(last);
                (sum, last) = (open.pop().unwrap_or_default(), group);
                continue;
            }
            '{' => {
                let bounds: String = chars.by_ref().take_while(|c| *c != '}').collect();
                let most = bounds
                    .split(',')
                    .filter_map(|bound| bound.trim().parse().ok());
                last = last.saturating_mul(most.max().unwrap_or(1_u64));
                continue;
            }
            '\\' => {
                chars.next();
            }
            _ => {}
        }
        if c != '[' {
            (sum, last) = (sum.saturating_add(last), 1);
        }
    }
    let repeated = open
        .into_iter()
        .fold(sum.saturating_add(last), u64::saturating_add);
    (pattern.len() as u64 / 4 + 1).max(repeated.min(PATTERN_BYTES as u64))
}

#[cfg(test)]
mod tests {
    use crate::{Arena, Budget, EvalError, Expression, Limits, View, evaluate};
    use proptest::prelude::*;

    fn outcome(text: &str, expression: &str) -> Result<String, EvalError> {
        let expression = Expression::parse(expression).unwrap();
        let (arena, budget) = (Arena::new(), Budget::new(&Limits::default(), 1));
        let found = evaluate(&expression, &View::text(text), &arena, &budget)?;
        let mut json = Vec::new();
        found.unwrap().write(&mut json, usize::MAX).unwrap();
        Ok(String::from_utf8(json).unwrap())
    }

    #[track_caller]
    fn check(text: &str, expression: &str, expected: &str) {
        assert_eq!(outcome(text, expression).unwrap(), expected, "{expression}");
    }

    #[track_caller]
    fn check_error(text: &str, expression: &str, expected: &str) {
        let error = outcome(text, expression).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn lines_have_no_ends() {
        check("a\nb\r\n\nc\n", "lines(@)", r#"["a","b","","c"]"#);
        check("", "lines(@)", "[]");
    }

    #[test]
    fn parts_stand_between_separators() {
        check("a,b,,c,", "split(@, ',')", r#"["a","b","","c",""]"#);
        check("a.b", "split(@, '.')", r#"["a","b"]"#);
        check("a\tb\r\nc", r"split(@, '\t')", r#"["a","b\r\nc"]"#);
        check("a\tb\r\nc", r"split(@, '\r\n')", r#"["a\tb","c"]"#);
        check_error(
            "a",
            "split(@, '')",
            "takes a separator as argument 2, not an empty string",
        );
        check_error(
            "a",
            "split(@, `1`)",
            "takes a string as argument 2, not number",
        );
    }

    #[test]
    fn matches_are_texts_lists_or_objects() {
        let log = "commit 1f\nAuthor: Ada\n\ncommit 2e\r\nAuthor: Bob\r\n";
        check(
            log,
            r"match(@, '^commit \w+$')",
            r#"["commit 1f","commit 2e"]"#,
        );
        check(log, r"match(@, '^commit (\w+)$')", r#"["1f","2e"]"#);
        check(
            log,
            r"match(@, '^(\w+): (.*)$')",
            r#"[["Author","Ada"],["Author","Bob"]]"#,
        );
        check(
            log,
            r"match(@, '^commit (?<id>.*)\r?\nAuthor: (?<by>.*)$')",
            r#"[{"id":"1f","by":"Ada"},{"id":"2e","by":"Bob"}]"#,
        );
        check(log, "match(@, 'nowhere')", "[]");
        check("ab", "match(@, '(a)|(b)')", r#"[["a",null],[null,"b"]]"#);
    }

    #[test]
    fn patterns_that_are_not_linear_or_too_large_are_refused() {
        check_error("a", "match(@, '(?=a)')", "not one that cannot be read");
        check_error(
            "a",
            "match(@, 'a{9999}{9999}')",
            "not one that is too large",
        );
        check_error(
            "a",
            r"match(@, '(\w{100}){100}')",
            "not one that is too large",
        );
        check_error(
            "a",
            &format!("match(@, '{}')", "(".repeat(400)),
            "cannot be read",
        );
    }

    #[test]
    fn hostile_searches_end() {
        let began = std::time::Instant::now();
        for (text, pattern) in [
            ("a".repeat(1 << 17), ".*[^a]|a"),
            ("a".repeat(1 << 15), r"(\w+\s?)*\w+!"),
            ("a b".repeat(1 << 14), r"(\w{20}|\s|b)+c"),
            ("\n".repeat(1 << 22), "^"),
            ("a b".repeat(1 << 14), r"\w{40}"),
            ("ab".repeat(1 << 14), r"(\w{30}|\d{2}b)+c"),
            ("ab".repeat(1 << 14), r"[a-b]*a[ab]{900}c"),
            ("ab".repeat(1 << 14), r"[a-b]*a([ab]{30}){30}c"),
        ] {
            if let Err(EvalError::Type(error)) = outcome(&text, &format!("match(@, '{pattern}')")) {
                assert!(error.to_string().contains("too large"), "{error}");
            }
        }
        assert!(outcome(&"\n".repeat(1 << 22), "lines(@)").is_err());
        assert!(began.elapsed().as_secs() < 60);
    }

    proptest! {
        #[test]
        fn what_is_split_can_be_joined(text in "[ab,;\n]{0,20}", separator in "[,;]{1,2}") {
            let parts = outcome(&text, &format!("join('{separator}', split(@, '{separator}'))"));
            prop_assert_eq!(parts.unwrap(), serde_json::to_string(&text).unwrap());
        }
    }
}
