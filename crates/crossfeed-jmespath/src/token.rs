//! A tolerant tokenizer over expression text.
//!
//! Splits any text, parseable or not, into tokens that cover everything but blanks (space, tab, newline and carriage
//! return). It never fails and never recurses, so that the guard and the repairs can look at text that no parser accepts.
//! Quoted identifiers, raw strings and literals end where the grammar's own lexer ends them.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier of the grammar: `items`, `_id`.
    Word,
    /// A word that the grammar would want quoted: `content-type`, `2024-01-01`, `3d`, `größe`.
    Loose,
    /// `"…"`
    Quoted,
    /// `'…'`
    Raw,
    /// `` `…` ``
    Literal,
    /// `5`, `-3.2`, `1e5`
    Number,
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// `*`
    Star,
    /// `[`
    LBracket,
    /// `[?`
    Filter,
    /// `[]`
    Flatten,
    /// `]`
    RBracket,
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// `!`
    Not,
    /// `||`
    Or,
    /// `&&`
    And,
    /// `|`
    Pipe,
    /// `&`
    Ampersand,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `=`
    Assign,
    /// `~`
    Tilde,
    /// `$`
    Dollar,
    /// `@`
    At,
    /// Any other character.
    Unknown,
    /// Before the first and after the last token; never in the list.
    Edge,
}

impl Kind {
    /// `==`, `!=`, `<`, `<=`, `>` or `>=`.
    pub(crate) fn is_comparator(self) -> bool {
        matches!(
            self,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge
        )
    }

    /// A word, a string, a literal or a number.
    pub(crate) fn is_operand(self) -> bool {
        matches!(
            self,
            Self::Word | Self::Loose | Self::Quoted | Self::Raw | Self::Literal | Self::Number
        )
    }

    /// A field name, quoted or not.
    pub(crate) fn is_name(self) -> bool {
        matches!(self, Self::Word | Self::Loose | Self::Quoted)
    }

    /// Text between quotes or backticks.
    pub(crate) fn is_delimited(self) -> bool {
        matches!(self, Self::Quoted | Self::Raw | Self::Literal)
    }

    /// Whether an operand can end with this token.
    pub(crate) fn ends_operand(self) -> bool {
        self.is_operand()
            || self.is_closer()
            || matches!(self, Self::At | Self::Flatten | Self::Star)
    }

    /// Whether an operand can begin with this token.
    pub(crate) fn begins_operand(self) -> bool {
        self.is_operand()
            || self.is_opener()
            || matches!(
                self,
                Self::At | Self::Not | Self::Ampersand | Self::Flatten | Self::Star
            )
    }

    /// Whether an operand begins with this token, and none goes on.
    pub(crate) fn begins_anew(self) -> bool {
        self.is_operand() || matches!(self, Self::At | Self::Not | Self::Ampersand | Self::LBrace)
    }

    /// Whether a whole expression begins after this token.
    pub(crate) fn opens_expression(self) -> bool {
        self.separates()
            || (self.is_opener() && self != Self::LBrace)
            || matches!(
                self,
                Self::Not | Self::Ampersand | Self::Assign | Self::Tilde
            )
    }

    /// Whether the operand of a comparison ends in front of this token.
    pub(crate) fn closes_operand(self) -> bool {
        self.separates() || self.is_closer()
    }

    /// A token between two operands, or before the first and after the last.
    fn separates(self) -> bool {
        let is_sign = matches!(self, Self::Pipe | Self::Or | Self::And);
        is_sign || self.is_comparator() || matches!(self, Self::Edge | Self::Comma | Self::Colon)
    }

    /// A bracket that opens.
    pub(crate) fn is_opener(self) -> bool {
        matches!(
            self,
            Self::LBracket | Self::Filter | Self::LParen | Self::LBrace
        )
    }

    /// A bracket that closes.
    pub(crate) fn is_closer(self) -> bool {
        matches!(self, Self::RBracket | Self::RParen | Self::RBrace)
    }
}

/// A token and the bytes it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// The kind.
    pub(crate) kind: Kind,
    /// Offset of its first byte.
    pub(crate) start: usize,
    /// Offset after its last byte.
    pub(crate) end: usize,
    /// False for a quoted identifier, raw string or literal that runs to the end of the text.
    pub(crate) closed: bool,
}

/// An expression's text with its tokens.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'a> {
    text: &'a str,
    list: Vec<Token>,
}

impl<'a> Tokens<'a> {
    /// Tokenizes `text`.
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            list: Lexer { text, at: 0 }.collect(),
        }
    }

    /// The whole text.
    pub(crate) fn source(&self) -> &'a str {
        self.text
    }

    /// The tokens with their places in the list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, Token)> {
        self.list.iter().copied().enumerate()
    }

    /// How many tokens there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// The token at `index`.
    pub(crate) fn get(&self, index: usize) -> Option<Token> {
        self.list.get(index).copied()
    }

    /// The kind of the token at `index`, or [`Kind::Edge`].
    pub(crate) fn kind(&self, index: usize) -> Kind {
        self.get(index).map_or(Kind::Edge, |token| token.kind)
    }

    /// The kind of the token `back` places in front of `index`, or [`Kind::Edge`].
    pub(crate) fn behind(&self, index: usize, back: usize) -> Kind {
        index
            .checked_sub(back)
            .map_or(Kind::Edge, |index| self.kind(index))
    }

    /// The token's text; empty for [`Kind::Edge`].
    pub(crate) fn text(&self, index: usize) -> &'a str {
        self.span(index, index).unwrap_or_default()
    }

    /// The text from the token at `first` to the one at `last`, both included.
    pub(crate) fn span(&self, first: usize, last: usize) -> Option<&'a str> {
        self.text.get(self.get(first)?.start..self.get(last)?.end)
    }

    /// The text between the delimiters of a quoted identifier, raw string or literal; nothing where it is not closed.
    pub(crate) fn content(&self, index: usize) -> Option<&'a str> {
        let token = self.get(index)?;
        if !token.kind.is_delimited() || !token.closed {
            return None;
        }
        self.text.get(token.start + 1..token.end.checked_sub(1)?)
    }

    /// Whether the token at `index` and the next one are adjacent.
    pub(crate) fn touches_next(&self, index: usize) -> bool {
        match (self.get(index), self.get(index + 1)) {
            (Some(here), Some(next)) => here.end == next.start,
            _ => false,
        }
    }

    /// The place of the bracket that closes the one at `open`.
    pub(crate) fn closer(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.len() {
            let kind = self.kind(at);
            if kind.is_opener() {
                depth += 1;
            } else if kind.is_closer() {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        None
    }

    /// Whether the token at `index` is a word with an opening parenthesis after it.
    pub(crate) fn is_call(&self, index: usize) -> bool {
        self.kind(index) == Kind::Word && self.kind(index + 1) == Kind::LParen
    }
}

/// The brackets that are open around a token, kept while walking over a token list.
#[derive(Debug, Default)]
pub(crate) struct Enclosing {
    open: Vec<Kind>,
    filters: usize,
}

impl Enclosing {
    /// Takes note of the next token.
    pub(crate) fn step(&mut self, kind: Kind) {
        if kind.is_opener() {
            self.filters += usize::from(kind == Kind::Filter);
            self.open.push(kind);
        } else if kind.is_closer() && self.open.pop() == Some(Kind::Filter) {
            self.filters -= 1;
        }
    }

    /// Whether this position is within a filter `[? … ]`, directly or further out.
    pub(crate) fn in_filter(&self) -> bool {
        self.filters > 0
    }

    /// The innermost open bracket, or [`Kind::Edge`].
    pub(crate) fn innermost(&self) -> Kind {
        self.open.last().copied().unwrap_or(Kind::Edge)
    }
}

/// Whether `text` is an identifier that needs no quotes.
pub(crate) fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        let start = self.at;
        let first = self.text.get(start..)?.chars().next()?;
        let mut closed = true;
        let (kind, end) = match first {
            '"' | '\'' | '`' => {
                let (end, ended) = delimited_end(bytes, start);
                closed = ended;
                let kind = match first {
                    '"' => Kind::Quoted,
                    '\'' => Kind::Raw,
                    _ => Kind::Literal,
                };
                (kind, end)
            }
            '-' if bytes.get(start + 1).is_some_and(u8::is_ascii_digit) => {
                match number_end(self.text, start + 1) {
                    Some(end) => (Kind::Number, end),
                    None => (Kind::Unknown, start + 1),
                }
            }
            c if is_word_char(c) => word(self.text, start, c),
            _ => symbol(bytes, start, first),
        };
        self.at = end;
        Some(Token {
            kind,
            start,
            end,
            closed,
        })
    }
}

/// The end of a token that begins with a delimiter, and whether it is closed. A backslash takes the next character with it.
fn delimited_end(bytes: &[u8], start: usize) -> (usize, bool) {
    let wrapper = bytes.get(start).copied();
    let mut at = start + 1;
    loop {
        match bytes.get(at).copied() {
            None => return (bytes.len(), false),
            Some(b'\\') => at += 2,
            byte if byte == wrapper => return (at + 1, true),
            Some(_) => at += 1,
        }
    }
}

fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// A word, a loose word or a number that begins at `start` with `first`.
fn word(text: &str, start: usize, first: char) -> (Kind, usize) {
    if first.is_ascii_digit()
        && let Some(end) = number_end(text, start)
    {
        return (Kind::Number, end);
    }
    let mut end = run_end(text, start);
    let mut kind = match text.get(start..end) {
        Some(run) if is_identifier(run) => Kind::Word,
        _ => Kind::Loose,
    };
    while hyphen_joins(text, end) {
        end = run_end(text, end + 1);
        kind = Kind::Loose;
    }
    (kind, end)
}

/// The end of the letters, digits and underscores from `start` on.
fn run_end(text: &str, start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())
}

/// Whether there is a hyphen with a word character after it at `at`.
fn hyphen_joins(text: &str, at: usize) -> bool {
    text.get(at..)
        .and_then(|rest| rest.strip_prefix('-'))
        .is_some_and(|rest| rest.starts_with(is_word_char))
}

/// The end of the number whose first digit is at `start`, unless it turns out to be part of a word (`3d`, `2024-01-01`).
fn number_end(text: &str, start: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(start);
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        end = digits(end + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    let joined = text.get(end..)?.starts_with(is_word_char) || hyphen_joins(text, end);
    (!joined).then_some(end)
}

fn symbol(bytes: &[u8], start: usize, first: char) -> (Kind, usize) {
    let second = bytes.get(start + 1).copied();
    let pair = match (first, second) {
        ('.', Some(b'.')) => Some(Kind::DotDot),
        ('[', Some(b'?')) => Some(Kind::Filter),
        ('[', Some(b']')) => Some(Kind::Flatten),
        ('|', Some(b'|')) => Some(Kind::Or),
        ('&', Some(b'&')) => Some(Kind::And),
        ('=', Some(b'=')) => Some(Kind::Eq),
        ('!', Some(b'=')) => Some(Kind::Ne),
        ('<', Some(b'=')) => Some(Kind::Le),
        ('>', Some(b'=')) => Some(Kind::Ge),
        _ => None,
    };
    if let Some(kind) = pair {
        return (kind, start + 2);
    }
    let kind = match first {
        '.' => Kind::Dot,
        '*' => Kind::Star,
        '[' => Kind::LBracket,
        ']' => Kind::RBracket,
        '(' => Kind::LParen,
        ')' => Kind::RParen,
        '{' => Kind::LBrace,
        '}' => Kind::RBrace,
        ',' => Kind::Comma,
        ':' => Kind::Colon,
        '!' => Kind::Not,
        '|' => Kind::Pipe,
        '&' => Kind::Ampersand,
        '<' => Kind::Lt,
        '>' => Kind::Gt,
        '=' => Kind::Assign,
        '~' => Kind::Tilde,
        '$' => Kind::Dollar,
        '@' => Kind::At,
        _ => Kind::Unknown,
    };
    (kind, start + first.len_utf8())
}

/// The string that a quoted identifier's text (with its quotes) names, as the parser decodes it.
pub(crate) fn decode_quoted(text: &str) -> Option<String> {
    match jmespath::Variable::from_json(text) {
        Ok(jmespath::Variable::String(name)) => Some(name),
        _ => None,
    }
}
