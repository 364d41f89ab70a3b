//! Selectors without their literals.
//!
//! What comes in: an expression as a model wrote it, which may hold data: a name it filters by. What
//! goes out: the expression with every literal, and whatever may have been meant as one, replaced by
//! `…`; nothing where that cannot be told. Deliberately not here: parsing, which an expression that
//! failed does not survive.

/// The most characters of a selector that are said.
const MAX_CHARS: usize = 256;
/// What stands for what is not said.
const HIDDEN: char = '…';

/// A selector without its literals; `None` where it cannot be told what is one.
///
/// `is_certain`, if it selected something as it stands: one that did not may have been meant otherwise.
pub(super) fn masked(text: &str, is_certain: bool) -> Option<String> {
    let mut masking = Masking {
        text,
        at: 0,
        out: String::new(),
        open: Vec::new(),
        last: Last::Other,
        operand: None,
        compares: false,
        is_certain,
    };
    masking.run()?;
    if masking.compares && !is_certain {
        return None;
    }
    let mut out = masking.out;
    if let Some((end, _)) = out.char_indices().nth(MAX_CHARS) {
        out.truncate(end);
        out.push(HIDDEN);
    }
    Some(out)
}

/// What stood before.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// A word, directly before or with blanks between.
    Word { touches: bool },
    /// An operator, a bracket, or nothing.
    Other,
}

struct Masking<'t> {
    text: &'t str,
    at: usize,
    out: String,
    /// The brackets that are open; `true` for those of a call.
    open: Vec<bool>,
    last: Last,
    /// Where in `out` the words begin that may be compared with something.
    operand: Option<usize>,
    /// Whether anything is compared.
    compares: bool,
    is_certain: bool,
}

impl Masking<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Reads to the end; `None` where something is no token.
    fn run(&mut self) -> Option<()> {
        while let Some(next) = self.rest().chars().next() {
            match next {
                '\'' | '`' => self.literal(next)?,
                '"' => self.quoted()?,
                '=' | '<' | '>' => self.comparison(),
                '!' if self.rest().starts_with("!=") => self.comparison(),
                ' ' | '\t' | '\n' | '\r' => {
                    self.push(next);
                    if let Last::Word { touches } = &mut self.last {
                        *touches = false;
                    }
                }
                _ if next.is_ascii_alphanumeric() || next == '_' => self.word()?,
                '(' => {
                    self.open.push(self.last == Last::Word { touches: true });
                    self.operator(next);
                }
                ')' => {
                    self.open.pop();
                    self.operator(next);
                }
                '.' | '[' | ']' | '{' | '}' | '*' | '?' | ',' | ':' | '&' | '|' | '!' | '@'
                | '-' => {
                    self.operator(next);
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn push(&mut self, next: char) {
        self.out.push(next);
        self.at += next.len_utf8();
    }

    fn operator(&mut self, next: char) {
        self.last = Last::Other;
        if next != '.' {
            self.operand = None;
        }
        self.push(next);
    }

    fn is_argument(&self) -> bool {
        self.open.last() == Some(&true)
    }

    /// Two words side by side are no expression, and either may be anything.
    fn begin_word(&mut self) -> Option<()> {
        if matches!(self.last, Last::Word { .. }) {
            return None;
        }
        self.last = Last::Word { touches: true };
        self.operand.get_or_insert(self.out.len());
        Some(())
    }

    fn word(&mut self) -> Option<()> {
        self.begin_word()?;
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let len = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest.get(..len)?.to_owned();
        self.at += len;
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let is_later = self.out.trim_end().ends_with(',');
        let is_call = self.rest().starts_with('(');
        match self.is_argument() && !is_call && (is_number || is_later || !self.is_certain) {
            true => self.out.push(HIDDEN),
            false => self.out.push_str(&word),
        }
        Some(())
    }

    /// A quoted key; what is compared or given to a function is often meant as a string.
    fn quoted(&mut self) -> Option<()> {
        self.begin_word()?;
        let len = quoted_len(self.rest())?;
        let key = self.rest().get(..len)?.to_owned();
        self.at += len;
        let is_compared = self.rest().trim_start().starts_with(['=', '!', '<', '>']);
        match is_compared || self.is_argument() {
            true => self.out.push_str("\"…\""),
            false => self.out.push_str(&key),
        }
        Some(())
    }

    fn literal(&mut self, quote: char) -> Option<()> {
        self.operand = None;
        self.at += quoted_len(self.rest())?;
        self.last = Last::Other;
        self.out.extend([quote, HIDDEN, quote]);
        Some(())
    }

    /// A comparison, and all that is compared with, unless a literal says itself what it is. Without
    /// one either side may be meant as a literal.
    fn comparison(&mut self) {
        self.compares = true;
        let operand = self.operand.take();
        let signs = self.rest().trim_start_matches(['=', '!', '<', '>']);
        if !signs.trim_start().starts_with(['\'', '`'])
            && let Some(begin) = operand
        {
            self.out.truncate(begin);
            self.out.extend([HIDDEN, ' ']);
        }
        while let Some(sign) = self.rest().chars().next().filter(|c| "=!<>".contains(*c)) {
            self.operator(sign);
        }
        while self.rest().starts_with([' ', '\t', '\n', '\r']) {
            self.push(' ');
        }
        if self.rest().starts_with(['\'', '`']) {
            return;
        }
        let mut depth = 0_usize;
        let mut end = self.rest().len();
        let mut skipped = 0;
        for (at, next) in self.rest().char_indices() {
            match next {
                _ if at < skipped => {}
                '\'' | '`' | '"' => {
                    let quoted = self.rest().get(at..).and_then(quoted_len);
                    skipped = quoted.map_or(end, |len| at + len);
                }
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' | ',' | '&' | '|' if depth == 0 => {
                    end = at;
                    break;
                }
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        self.out.push(HIDDEN);
        self.at += end;
    }
}

/// How long a quoted text is, its quotes included; `None` where it does not end.
fn quoted_len(text: &str) -> Option<usize> {
    let mut chars = text.char_indices();
    let (_, quote) = chars.next()?;
    while let Some((at, next)) = chars.next() {
        match next {
            '\\' => {
                chars.next();
            }
            _ if next == quote => return Some(at + quote.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::masked;
    use proptest::prelude::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(masked(text, true).as_deref(), expected, "{text}");
    }

    #[test]
    fn paths_are_said() {
        for path in [
            "items[0].url",
            "items[-1]",
            "a.\"b c\"[*].d",
            "{title: title, \"n\": n}",
            "sort_by(items, &price)[-5:]",
            "items[] | [0]",
            "@",
            "length(items)",
        ] {
            check(path, Some(path));
            if !path.contains('(') {
                assert_eq!(masked(path, false).as_deref(), Some(path));
            }
        }
        assert_eq!(masked("length(Ann)", false).as_deref(), Some("length(…)"));
    }

    #[test]
    fn literals_are_not() {
        check("items[?name=='Ann'].id", Some("items[?name=='…'].id"));
        check("items[?a > `0.8` && b].c", Some("items[?a > `…` && b].c"));
        check(r"[?a == 'it\'s'] | [0]", Some("[?a == '…'] | [0]"));
        check("contains(name, 'x')", Some("contains(name, '…')"));
        check("'x'", Some("'…'"));
        check("headers['x']", Some("headers['…']"));
    }

    #[test]
    fn what_may_be_meant_as_one_is_not() {
        check(r#"[?s == "Ann"].id"#, Some("[?… == …].id"));
        check(r#"[?"Ann" == s].id"#, Some("[?… == …].id"));
        check("[?\"Ann\" == 's'].id", Some("[?\"…\" == '…'].id"));
        check("[?s == Ann].id", Some("[?… == …].id"));
        check("[?Ann.Lee==s].id", Some("[?… ==…].id"));
        check("[?s == Ann Lee].id", Some("[?… == …].id"));
        check("[?s = (Ann)] | [0]", Some("[?… = …] | [0]"));
        check("[?n > 5 && m].a", Some("[?… > …&& m].a"));
        check(r#"contains(a, "Ann")"#, Some(r#"contains(a, "…")"#));
        check("f(7)", Some("f(…)"));
        check("contains(a, Ann)", Some("contains(a, …)"));
        check("[?length(a) > b(c)]", Some("[?length(a) > …]"));
        // Not where nothing says that it was a name after all.
        assert_eq!(masked("[?Ann == s]", false), None);
    }

    #[test]
    fn what_is_no_expression_is_not_said() {
        for text in [
            "'Ann", "`Ann", "\"Ann", "Ann Lee", "a 'b", "größe", "${Ann}", "a; b", "a \"b\"",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn what_is_said_is_bounded() {
        let long = "a.".repeat(5000);
        assert_eq!(masked(&long, true).unwrap().chars().count(), 257);
    }

    proptest! {
        /// Whatever stands between quotes of a literal is not said, wherever it stands.
        #[test]
        fn no_literal_is_said(parts in prop::collection::vec((0..4_u8, "[a-z .,()?&|=<>!-]{0,6}"), 0..6)) {
            let mut text = String::new();
            for (kind, around) in parts {
                text.push_str(&around);
                text.push_str(match kind {
                    0 => "'MARK\\'ER'",
                    1 => "`\"MARK\\`ER\"`",
                    2 => "[?a == MARKER",
                    _ => "[?a == \"MARKER\"",
                });
            }
            let said = masked(&text, true).unwrap_or_default();
            prop_assert!(!said.contains("MARK") && !said.contains("ER"), "{text} -> {said}");
        }
    }
}
