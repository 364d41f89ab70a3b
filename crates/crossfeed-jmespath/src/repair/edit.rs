//! Rewriting a text at token boundaries, and spelling a string as an expression.

use jmespath::Variable;

use crate::token::{Enclosing, Tokens, is_identifier};

/// The blanks between tokens.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Collects replacements, which must come in the order of the text.
pub(super) struct Edit<'t, 'a> {
    tokens: &'t Tokens<'a>,
    out: String,
    copied: usize,
}

impl<'t, 'a> Edit<'t, 'a> {
    pub(super) fn new(tokens: &'t Tokens<'a>) -> Self {
        Self {
            tokens,
            out: String::new(),
            copied: 0,
        }
    }

    /// Replaces the tokens from `first` to `last`, both included, and the text between them.
    pub(super) fn replace(&mut self, first: usize, last: usize, with: &str) {
        let (Some(from), Some(to)) = (self.tokens.get(first), self.tokens.get(last)) else {
            return;
        };
        if from.start < self.copied || to.end < from.start {
            return;
        }
        self.copy_to(from.start);
        self.out.push_str(with);
        self.copied = to.end;
    }

    /// Removes the tokens from `first` to `last`, both included. Their neighbours do not become one token by it.
    pub(super) fn remove(&mut self, first: usize, last: usize) {
        self.replace(first, last, "");
        let rest = self.rest();
        let before = self.out.chars().next_back();
        match (before, rest.chars().next()) {
            (None, _) => self.skip_blanks(),
            (Some(before), _) if before.is_whitespace() => self.skip_blanks(),
            (Some(before), Some(after)) if fuses(before, after) => self.out.push(' '),
            _ => {}
        }
    }

    /// Replaces the tokens from `first` to `last`, both included, together with the blanks around them.
    pub(super) fn join(&mut self, first: usize, last: usize, with: &str) {
        self.replace(first, last, "");
        self.out.truncate(self.out.trim_end_matches(BLANKS).len());
        self.out.push_str(with);
        self.skip_blanks();
    }

    /// Puts a text in front of the token at `index`, instead of the blanks there.
    pub(super) fn insert(&mut self, index: usize, text: &str) {
        let Some(token) = self.tokens.get(index) else {
            return;
        };
        self.copy_to(token.start);
        self.out.truncate(self.out.trim_end_matches(BLANKS).len());
        self.out.push_str(text);
    }

    /// The new text, where it differs.
    pub(super) fn finish(mut self) -> Option<String> {
        if self.copied == 0 {
            return None;
        }
        let rest = self.rest();
        self.out.push_str(rest);
        (self.out != self.tokens.source()).then_some(self.out)
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.copied += rest.len() - rest.trim_start_matches(BLANKS).len();
    }

    fn rest(&self) -> &'a str {
        self.tokens.source().get(self.copied..).unwrap_or_default()
    }

    fn copy_to(&mut self, offset: usize) {
        let between = self.tokens.source().get(self.copied..offset);
        self.out.push_str(between.unwrap_or_default());
        self.copied = offset;
    }
}

/// Calls `see` for each token, with the brackets around it, and gives the new text where it differs.
pub(super) fn walk<'a>(
    tokens: &Tokens<'a>,
    mut see: impl FnMut(&mut Edit<'_, 'a>, &Enclosing, usize),
) -> Option<String> {
    let mut edit = Edit::new(tokens);
    let mut enclosing = Enclosing::default();
    for index in 0..tokens.len() {
        enclosing.step(tokens.kind(index));
        see(&mut edit, &enclosing, index);
    }
    edit.finish()
}

/// Whether two characters that become adjacent may be read as one token.
fn fuses(before: char, after: char) -> bool {
    let is_word = |c: char| c == '_' || c == '-' || c.is_alphanumeric();
    if is_word(before) || is_word(after) {
        return is_word(before) == is_word(after);
    }
    !(after.is_whitespace()
        || matches!(before, '(' | ',' | ':' | '{')
        || matches!(after, ')' | ',' | '}'))
}

/// `content` as an expression that evaluates to it: a raw string, or a JSON literal where no raw string can say it (a raw
/// string has no spelling for a single backslash at its end or in front of a quote).
pub(super) fn string(content: &str) -> String {
    let mut raw = String::with_capacity(content.len() + 2);
    raw.push('\'');
    let mut odd = false;
    for c in content.chars() {
        if c == '\'' {
            if odd {
                return json_literal(content);
            }
            raw.push('\\');
        }
        odd = c == '\\' && !odd;
        raw.push(c);
    }
    if odd {
        return json_literal(content);
    }
    raw.push('\'');
    raw
}

fn json_literal(content: &str) -> String {
    format!("`{}`", quoted(content).replace('`', "\\u0060"))
}

/// `name` as a quoted identifier.
pub(super) fn quoted(name: &str) -> String {
    Variable::String(name.to_owned()).to_string()
}

/// A field name, with quotes where it needs them.
pub(super) fn spelled(name: &str) -> String {
    if is_identifier(name) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// The content of the raw string at `index`.
pub(super) fn raw_content(tokens: &Tokens<'_>, index: usize) -> Option<String> {
    Some(tokens.content(index)?.replace("\\'", "'"))
}
