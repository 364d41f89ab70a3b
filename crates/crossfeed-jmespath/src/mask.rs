//! Expressions as traces may show them: literals, and words that may have been meant as literals, become
//! `…`; a text that does not parse shows nothing.
//!
//! A word where JMESPath reads a key is taken for a key, and keys are shown unless they look like data
//! (objects are also maps by ids, addresses and names of people): names in quotes and words that are
//! long or mostly a number are masked. Models also write words where they mean text, which the expression
//! alone does not tell apart; so words are masked where that is usual: beside a comparison, after `||`
//! and after the first argument of a function.

use crate::{
    expression::Expression,
    token::{Kind, Tokens},
};
use std::ops::Range;

/// The longest expression that is shown at all.
const MAX_EXPRESSION_BYTES: usize = 8192;
/// The most characters that are shown.
const MAX_SHOWN_CHARS: usize = 256;
/// The longest word that is shown, and the most digits in it: longer ones are ids, mostly.
const MAX_WORD_BYTES: usize = 40;
const MAX_DIGITS: usize = 3;
/// Replaces hidden text.
const HIDDEN: char = '…';

/// An expression without its literals, and without what may be meant as one; `None` where nothing of it
/// can be shown.
///
/// `has_selected`, if it selected a value as written; otherwise its words may have been meant differently.
///
/// ```
/// use crossfeed_jmespath::masked;
///
/// let shown = masked("items[?name == 'Ann'].id", true);
/// assert_eq!(shown.as_deref(), Some("items[?name == '…'].id"));
/// assert_eq!(masked("Ann, Bob", true), None);
/// ```
pub fn masked(expression: &str, has_selected: bool) -> Option<String> {
    if expression.len() > MAX_EXPRESSION_BYTES || Expression::parse(expression).is_err() {
        return None;
    }
    let tokens = Tokens::new(expression);
    let compares = tokens.iter().any(|(_, token)| token.kind.is_comparator());
    if compares && !has_selected {
        return None;
    }
    let mut masking = Masker {
        hidden: vec![false; tokens.len()],
        negated: vec![false; tokens.len()],
        tokens,
        has_selected,
    };
    masking.mark();
    let mut shown = masking.text();
    if let Some((end, _)) = shown.char_indices().nth(MAX_SHOWN_CHARS) {
        shown.truncate(end);
        shown.push(HIDDEN);
    }
    Some(shown)
}

struct Masker<'t> {
    tokens: Tokens<'t>,
    /// Tokens that are hidden; a run of them is one `…`.
    hidden: Vec<bool>,
    /// A `!` and its operand.
    negated: Vec<bool>,
    has_selected: bool,
}

impl Masker<'_> {
    fn mark(&mut self) {
        for index in 0..self.tokens.len() {
            if self.tokens.kind(index) == Kind::Not {
                let end = self.end(index, Kind::closes_operand);
                set(&mut self.negated, index..end);
            }
        }
        for index in 0..self.tokens.len() {
            match self.tokens.kind(index) {
                Kind::Word if self.is_data(index) => set(&mut self.hidden, index..index + 1),
                Kind::Filter if !self.has_selected => {
                    let inside = index + 1..self.end(index + 1, |_| false);
                    set(&mut self.hidden, inside);
                }
                Kind::LParen if index > 0 && self.tokens.is_call(index - 1) => self.call(index + 1),
                Kind::Or => self.alternative(index),
                kind if kind.is_comparator() => self.comparison(index),
                _ => {}
            }
        }
    }

    /// Whether a word looks like data rather than the name of a field.
    fn is_data(&self, index: usize) -> bool {
        let word = self.tokens.text(index);
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        !self.tokens.is_call(index) && (word.len() > MAX_WORD_BYTES || digits > MAX_DIGITS)
    }

    /// The arguments of a function, the first of which begins at `begin`. A name in quotes is often
    /// meant as a text there, and so is any word after the first, unless it is a lone `&key`.
    fn call(&mut self, begin: usize) {
        let mut from = begin;
        loop {
            let to = self.end(from, |kind| kind == Kind::Comma);
            let is_key = to == from + 2 && self.tokens.kind(from) == Kind::Ampersand;
            let hides = !self.has_selected || (from > begin && !is_key);
            for index in from..to {
                let kind = self.tokens.kind(index);
                let is_path = matches!(kind, Kind::Word | Kind::Number | Kind::Dot | Kind::At)
                    && !self.tokens.is_call(index);
                if hides && (is_path || kind == Kind::Quoted) {
                    set(&mut self.hidden, index..index + 1);
                }
            }
            if self.tokens.kind(to) != Kind::Comma {
                return;
            }
            from = to + 1;
        }
    }

    /// The right side of `||`, unless it compares.
    fn alternative(&mut self, or: usize) {
        let closes = |kind| matches!(kind, Kind::Or | Kind::Pipe | Kind::Comma | Kind::Colon);
        let end = self.end(or + 1, closes);
        if self.end(or + 1, |kind| closes(kind) || kind.is_comparator()) == end {
            set(&mut self.hidden, or + 1..end);
        }
    }

    /// Both sides of a comparison, unless a literal on the right shows that the left is a key, which it does
    /// not if a missing key satisfies the comparison as well.
    fn comparison(&mut self, sign: usize) {
        let left = self.begin(sign)..sign;
        let negated = self.negated.get(left.start..=sign).unwrap_or_default();
        let is_negated = negated.contains(&true) || self.tokens.kind(sign) == Kind::Ne;
        let right = sign + 1..self.end(sign + 1, Kind::closes_operand);
        let literal = match right.len() {
            1 => self.tokens.kind(right.start),
            _ => Kind::Edge,
        };
        let is_null = literal == Kind::Literal
            && self.tokens.content(right.start).map(str::trim) == Some("null");
        let is_told = matches!(literal, Kind::Raw | Kind::Literal) && !is_null;
        if is_told && !is_negated {
            return;
        }
        set(&mut self.hidden, left);
        if !matches!(literal, Kind::Raw | Kind::Literal) {
            set(&mut self.hidden, right);
        }
    }

    /// The end of the part that begins at `from`: at a closing bracket, or at a token that `closes` accepts.
    fn end(&self, from: usize, closes: impl Fn(Kind) -> bool) -> usize {
        let len = self.tokens.len();
        let end = self.outermost(from..len, Kind::is_opener, Kind::is_closer, closes);
        end.unwrap_or(len)
    }

    /// Where the operand that ends before `to` begins.
    fn begin(&self, to: usize) -> usize {
        let places = (0..to).rev();
        let end = self.outermost(
            places,
            Kind::is_closer,
            Kind::is_opener,
            Kind::closes_operand,
        );
        end.map_or(0, |before| before + 1)
    }

    /// The first position outside of all brackets entered on the way that closes a bracket or ends the part.
    fn outermost(
        &self,
        mut places: impl Iterator<Item = usize>,
        enters: fn(Kind) -> bool,
        leaves: fn(Kind) -> bool,
        ends: impl Fn(Kind) -> bool,
    ) -> Option<usize> {
        let mut depth = 0_usize;
        places.find(|&index| {
            let kind = self.tokens.kind(index);
            if enters(kind) {
                depth += 1;
            } else if depth == 0 {
                return leaves(kind) || ends(kind);
            } else if leaves(kind) {
                depth -= 1;
            }
            false
        })
    }

    /// The text without the hidden tokens.
    fn text(&self) -> String {
        let mut out = String::new();
        let mut from = 0;
        let mut was_hidden = false;
        for (index, token) in self.tokens.iter() {
            let blanks = self.tokens.source().get(from..token.start);
            from = token.end;
            let is_hidden = self.hidden.get(index) == Some(&true);
            if !(is_hidden && was_hidden) {
                out.push_str(blanks.unwrap_or_default());
                match token.kind {
                    _ if is_hidden => out.push(HIDDEN),
                    Kind::Raw => out.extend(['\'', HIDDEN, '\'']),
                    Kind::Literal => out.extend(['`', HIDDEN, '`']),
                    Kind::Quoted => out.extend(['"', HIDDEN, '"']),
                    _ => out.push_str(self.tokens.text(index)),
                }
            }
            was_hidden = is_hidden;
        }
        out
    }
}

fn set(marks: &mut [bool], range: Range<usize>) {
    if let Some(marks) = marks.get_mut(range) {
        marks.fill(true);
    }
}

#[cfg(test)]
mod tests {
    use super::masked;
    use crate::Expression;
    use proptest::{prelude::*, sample::select};

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(masked(text, true).as_deref(), expected, "{text}");
    }

    #[test]
    fn paths_are_said() {
        for path in [
            "items[0].url",
            "items[-1]",
            "a.b_2[*].d",
            "{title: title, n: n}",
            "sort_by(items, &price)[-5:]",
            "items[] | [0]",
            "items[?content_type].x",
            "@",
            "length(items)",
            " a . b ",
        ] {
            check(path, Some(path.trim_end()));
            if !path.contains(['(', '?']) {
                let said = masked(path, false);
                assert_eq!(said.as_deref(), Some(path.trim_end()));
            }
        }
    }

    #[test]
    fn literals_are_not() {
        check("items[?name=='Ann'].id", Some("items[?name=='…'].id"));
        check("items[?a > `0.8` && b].c", Some("items[?a > `…` && b].c"));
        check(r"[?a == 'it\'s'] | [0]", Some("[?a == '…'] | [0]"));
        check("contains(name, 'x')", Some("contains(name, '…')"));
        check("'x'", Some("'…'"));
        check("a || 'x'", Some("a || …"));
    }

    #[test]
    fn what_is_compared_is_not_unless_a_literal_tells() {
        check(r#"[?s == "Ann"].id"#, Some("[?… == …].id"));
        check(r#"[?"Ann" == s].id"#, Some("[?… == …].id"));
        check("[?\"Ann\" == 's'].id", Some("[?\"…\" == '…'].id"));
        check("[?Ann.Lee==s].id", Some("[?…==…].id"));
        check("[?s == (Ann)] | [0]", Some("[?… == …] | [0]"));
        check("[?n > m && o].a", Some("[?… > … && o].a"));
        check("[?length(a) > length(b)]", Some("[?… > …]"));
        for left in [
            "(Ann)",
            "[Ann]",
            "{k: Ann}",
            "Ann[0]",
            "Ann.*",
            "not_null(Ann)",
        ] {
            check(&format!("[?{left} == s]"), Some("[?… == …]"));
            check(&format!("[?s == {left}]"), Some("[?… == …]"));
        }
        // A missing key satisfies these.
        check("items[?Ann != 'x']", Some("items[?… != '…']"));
        check("items[?Ann == `null`]", Some("items[?… == `…`]"));
        check("items[?!(Ann == 'x')]", Some("items[?!(… == '…')]"));
        check("[?!Ann == 'x' && b]", Some("[?… == '…' && b]"));
        check("[?!a[?Ann == 'x']]", Some("[?!a[?… == '…']]"));
        check("[?!(a) && b == 'x']", Some("[?!(a) && b == '…']"));
        // Not where nothing says that it was a name after all.
        assert_eq!(masked("[?Ann == 's']", false), None);
    }

    #[test]
    fn what_stands_in_is_not_unless_it_compares() {
        check("owner || \"Ann Lee\"", Some("owner || …"));
        check("owner || Ann", Some("owner || …"));
        check("owner || (Ann) | [0]", Some("owner || … | [0]"));
        check("[owner || Ann || Bob, n]", Some("[owner || … || …, n]"));
        check("[?a == 'x' || b == 'y']", Some("[?a == '…' || b == '…']"));
    }

    #[test]
    fn keys_that_look_like_data_are_not() {
        check("users.\"ann@a.example\".plan", Some("users.\"…\".plan"));
        check("a.\"b c\"[*].d", Some("a.\"…\"[*].d"));
        check("{title: title, \"n\": n}", Some("{title: title, \"…\": n}"));
        check("items[?\"content-type\"].x", Some("items[?\"…\"].x"));
        check("by_id.u_83742a1.name", Some("by_id.….name"));
        check("{id_20261122: n}", Some("{…: n}"));
        check(&format!("a.{}", "k".repeat(41)), Some("a.…"));
        check("line2.v1_0.sha256", Some("line2.v1_0.sha256"));
    }

    #[test]
    fn names_that_are_no_ordinary_keys_are_not() {
        check(
            "{who: owner, by: \"Ann Lee\"}",
            Some("{who: owner, by: \"…\"}"),
        );
        check("[owner, \"Ann Lee\"]", Some("[owner, \"…\"]"));
        check("items[?\"Ann Lee\"].id", Some("items[?\"…\"].id"));
        check("\"Ann\\u0020Lee\"", Some("\"…\""));
        check("{\"Ann Lee\": n}", Some("{\"…\": n}"));
    }

    #[test]
    fn what_a_function_is_given_is_not_behind_its_first_argument() {
        check(r#"contains(a, "Ann")"#, Some("contains(a, …)"));
        check(r#"contains("Ann", a)"#, Some("contains(\"…\", …)"));
        check("contains(a, Ann)", Some("contains(a, …)"));
        check("not_null(name, [Ann])", Some("not_null(name, […])"));
        check("not_null(name, (Ann))", Some("not_null(name, (…))"));
        check("not_null(name, Ann.Lee)", Some("not_null(name, …)"));
        check("not_null(name, @.Ann)", Some("not_null(name, …)"));
        check(
            "not_null(name, length(Ann))",
            Some("not_null(name, length(…))"),
        );
        check("join((\", Ann\"), name)", Some("join((\"…\"), …)"));
        check("sort_by(a, &b.c)", Some("sort_by(a, &…)"));
        let check = |text: &str, expected: &str| {
            assert_eq!(masked(text, false).as_deref(), Some(expected), "{text}");
        };
        check("length(Ann)", "length(…)");
        check("contains((Ann), name)", "contains((…), …)");
        check("items[?Ann].id", "items[?…].id");
    }

    #[test]
    fn what_is_no_expression_is_not_said() {
        for text in [
            "",
            "'Ann",
            "`Ann",
            "\"Ann",
            "Ann Lee",
            "a 'b'",
            "größe",
            "${Ann}",
            "a; b",
            "a \"b\"",
            "Ann, Bob, Carol",
            "\"Ann Lee, 4 Privet Drive\" x",
            "name: Ann",
            "f(Ann)",
            "[?s = Ann]",
        ] {
            check(text, None);
        }
        check("\"Ann Lee, 4 Privet Drive\"", Some("\"…\""));
    }

    #[test]
    fn what_is_said_is_bounded() {
        let long = format!("a{}", ".a".repeat(1000));
        assert_eq!(masked(&long, true).unwrap().chars().count(), 257);
        check(&format!("a{}", " ".repeat(10_000)), None);
        check(&"[".repeat(8000), None);
    }

    /// Where a name may be meant as a text.
    const FORMS: &[&str] = &[
        "[?s == X]",
        "[?X == s]",
        "[?X != 's']",
        "[?X == `null`]",
        "[?a && s < X || b]",
        "{a: X > b}",
        "[?!(X == 's')]",
        "a || X",
        "a || b || X || c",
        "contains(a, X)",
        "not_null(a, b, [c, X])",
        "sort_by(a, &(b == X))",
        "a == 'b' && not_null(c, X)",
    ];

    /// Where one may be that selected nothing.
    const UNMET: &[&str] = &[
        "[?X]",
        "n[?a && X].b",
        "length(X)",
        "max_by(X, &X)",
        "a || X",
        "[?@].[length(X)]",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        /// Whatever the place is within, and whatever the name is within.
        #[test]
        fn no_text_is_said(
            (form, has_selected) in prop_oneof![
                (select(FORMS), Just(true)),
                (select(UNMET), Just(false)),
            ],
            within in prop::collection::vec(select(vec![
                "(X)", "[X]", "[n, X]", "{k: X}", "[?X]", "a[?X].b", "X | [0]", "length(X)",
                "not_null(X, n)", "not_null(n, X)", "n && X", "n || X", "m.[X]",
            ]), 0..4),
            around in prop::collection::vec(select(vec![
                "(X)", "[X]", "{k: X}", "X.b", "X[0]", "X[*].c", "length(X)", "@.[X]", "X && n",
            ]), 0..3),
            name in select(vec!["MARK", "\"MARK\"", "\"MARK ER\"", "'MARK'", "`\"MARK\"`", "MARK.x"]),
        ) {
            let mut name = name.to_owned();
            for around in around {
                name = around.replace('X', &name);
            }
            // A comparison binds more loosely than its operands.
            let mut text = form.replace('X', &format!("({name})"));
            for within in within {
                text = within.replace('X', &format!("({text})"));
            }
            prop_assume!(Expression::parse(&text).is_ok());
            let said = masked(&text, has_selected).unwrap();
            prop_assert!(!said.contains("MARK"), "{} -> {}", text, said);
        }

        /// Wherever a literal stands, it is not said, whether its selector parses or not.
        #[test]
        fn no_literal_is_said(parts in prop::collection::vec(
            (select(vec!["'MARK'", "`\"MARK\"`", "`[\"MARK\"]`", "a", "@"]), "[a-z.,()?&|=<>!\\[\\] -]{0,4}"),
            0..5,
        )) {
            let text: String = parts.into_iter().flat_map(|(part, around)| [part.to_owned(), around]).collect();
            for has_selected in [true, false] {
                let said = masked(&text, has_selected).unwrap_or_default();
                prop_assert!(!said.contains("MARK"), "{} -> {}", text, said);
            }
        }
    }
}
