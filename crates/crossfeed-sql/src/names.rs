//! The names in a statement: what it may read.

use std::collections::HashSet;

/// The most names of one statement that are looked at.
const MAX_NAMES: usize = 4096;

/// The words of a statement that may name a table, each once: bare words and quoted ones. It need not be valid.
///
/// ```
/// use crossfeed_sql::names_in;
///
/// let names = names_in(r#"SELECT "a b".x FROM call_1 -- call_2"#);
/// assert_eq!(names, ["SELECT", "a b", "x", "FROM", "call_1"]);
/// ```
pub fn names_in(sql: &str) -> Vec<String> {
    let mut known = HashSet::new();
    let names = Pieces(sql).filter_map(|piece| match piece {
        Piece::Name(name) => Some(name),
        _ => None,
    });
    names
        .take(MAX_NAMES)
        .filter(|name| known.insert(name.clone()))
        .collect()
}

/// Whether a statement is ended by a `;` that stands in no text, name or comment.
///
/// ```
/// use crossfeed_sql::is_ended;
///
/// assert!(is_ended("SELECT 1; -- one") && !is_ended("SELECT 'a;"));
/// ```
pub fn is_ended(sql: &str) -> bool {
    let ends = |piece: &Piece| !matches!(piece, Piece::Blank);
    Pieces(sql).filter(ends).last() == Some(Piece::End)
}

/// What a statement consists of.
#[derive(PartialEq)]
enum Piece {
    Name(String),
    End,
    /// A comment, or what stands between.
    Blank,
    Other,
}

struct Pieces<'s>(&'s str);

impl Iterator for Pieces<'_> {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let rest = self.0;
        let first = rest.chars().next()?;
        let (piece, end) = match first {
            '\'' => (Piece::Other, quoted(rest, '\'').1),
            '"' | '`' => {
                let (name, end) = quoted(rest, first);
                (Piece::Name(name), end)
            }
            '[' => match rest.find(']') {
                Some(end) => (Piece::Name(rest[1..end].to_owned()), end + 1),
                None => (Piece::Other, rest.len()),
            },
            '-' if rest.starts_with("--") => (Piece::Blank, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").map(|end| end + 4);
                (Piece::Blank, end.unwrap_or(rest.len()))
            }
            ';' => (Piece::End, 1),
            first if first.is_whitespace() => (Piece::Blank, first.len_utf8()),
            first if is_word(first) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let is_name = !first.is_ascii_digit();
                let name = || Piece::Name(rest[..end].to_owned());
                (if is_name { name() } else { Piece::Other }, end)
            }
            first => (Piece::Other, first.len_utf8()),
        };
        self.0 = &rest[end..];
        Some(piece)
    }
}

/// The id of the result that a table holds a list of, for each place where its name may end, the longest first: a
/// table is named by its result, or by that and the path of a list.
pub fn result_of(table: &str) -> impl Iterator<Item = &str> {
    const MAX_ID_BYTES: usize = 256;
    let ends = table.rmatch_indices('_').map(|(end, _)| end);
    std::iter::once(table.len())
        .chain(ends)
        .map(|end| &table[..end])
        .filter(|id| !id.is_empty() && id.len() <= MAX_ID_BYTES)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// What stands between quotes, where two of them are one, and where that ends.
fn quoted(text: &str, quote: char) -> (String, usize) {
    let mut name = String::new();
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != quote {
            name.push(c);
        } else if chars.next_if(|(_, next)| *next == quote).is_some() {
            name.push(quote);
        } else {
            return (name, at + 1);
        }
    }
    (name, text.len())
}

/// A name as it is written in a statement: in quotes where it is not a word, or a word of SQL.
pub(crate) fn written(name: &str) -> String {
    let is_word = name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
    let begins = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic());
    if is_word && begins && !RESERVED.contains(&&*name.to_ascii_uppercase()) {
        name.to_owned()
    } else {
        in_quotes(name)
    }
}

/// A name in quotes.
pub(crate) fn in_quotes(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The words that SQLite does not take as names: <https://www.sqlite.org/lang_keywords.html>.
const RESERVED: [&str; 61] = [
    "ADD",
    "ALL",
    "ALTER",
    "AND",
    "AS",
    "AUTOINCREMENT",
    "BETWEEN",
    "CASE",
    "CHECK",
    "COLLATE",
    "COMMIT",
    "CONSTRAINT",
    "CREATE",
    "DEFAULT",
    "DEFERRABLE",
    "DELETE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "ESCAPE",
    "EXCEPT",
    "EXISTS",
    "FOREIGN",
    "FROM",
    "GROUP",
    "HAVING",
    "IN",
    "INDEX",
    "INSERT",
    "INTERSECT",
    "INTO",
    "IS",
    "ISNULL",
    "JOIN",
    "LIMIT",
    "NOT",
    "NOTHING",
    "NOTNULL",
    "NULL",
    "ON",
    "OR",
    "ORDER",
    "PRIMARY",
    "REFERENCES",
    "RETURNING",
    "SELECT",
    "SET",
    "TABLE",
    "THEN",
    "TO",
    "TRANSACTION",
    "UNION",
    "UNIQUE",
    "UPDATE",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
    "FULL",
    "NATURAL",
];
