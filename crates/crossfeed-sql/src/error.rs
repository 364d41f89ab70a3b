//! Why a result is not imported, or a statement not answered.

use crate::{
    limits::SqlLimits,
    names::{in_quotes, written},
    outline::outline,
    source::start,
    table::Table,
};
use crossfeed_wire::ErrorCode;
use std::{fmt, time::Duration};

/// The most bytes of a name or of what SQLite says that are quoted.
const MAX_QUOTED_BYTES: usize = 200;
/// How alike a name must be to be offered: half of its letters.
const LIKENESS: f64 = 0.5;
/// How many names are offered.
const OFFERED: usize = 3;

/// Why a result is not imported, or a statement not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SqlError {
    /// There is no statement: `-- nothing`.
    #[error("the statement is empty")]
    Empty,
    /// There are several statements: `SELECT 1; SELECT 2`.
    #[error("there are several statements, of which one call runs one")]
    Several,
    /// A statement is longer than it may be.
    #[error("the statement has {bytes} bytes; the limit is {limit}")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// How many it may have.
        limit: usize,
    },
    /// SQLite does not understand a statement: `SELEC 1`.
    #[error("the statement cannot be run: {message}{}", Near(.near))]
    Invalid {
        /// What SQLite says.
        message: String,
        /// Where in the statement, if SQLite says so.
        near: Option<String>,
    },
    /// There is no such table: `SELECT 1 FROM nobody`.
    #[error("no such table: {}", written(.name))]
    UnknownTable {
        /// Its name.
        name: String,
        /// The names of tables that are like it.
        nearest: Vec<String>,
        /// The tables that there are, in few words.
        outline: String,
    },
    /// There is no such column: `SELECT titel FROM call_1`.
    #[error("no such column: {name}")]
    UnknownColumn {
        /// Its name, as it was written.
        name: String,
        /// Whether it stands in double quotes, as texts do elsewhere.
        is_quoted: bool,
        /// The names of columns that are like it.
        nearest: Vec<String>,
        /// The tables that the statement names, in few words.
        outline: String,
    },
    /// There is no such function, or statements must not use it: `load_extension('x')`.
    #[error("the function `{name}` is not available")]
    UnknownFunction {
        /// Its name.
        name: String,
    },
    /// A statement does more than to read: `DELETE FROM call_1`.
    #[error("{what} is not allowed: statements only read the tables of results")]
    Refused {
        /// What it would do.
        what: &'static str,
    },
    /// A statement took longer than it may.
    #[error("the statement took longer than {} ms", .limit.as_millis())]
    Time {
        /// The time that it had.
        limit: Duration,
    },
    /// A value is larger than it may be.
    #[error("a value has more than {limit} bytes")]
    TooLarge {
        /// How many it may have.
        limit: usize,
    },
    /// The first row is larger than an answer may be.
    #[error("a row has more than {limit} bytes, which is the limit of an answer")]
    RowTooLarge {
        /// How many it may have.
        limit: usize,
    },
    /// A statement holds a character that ends it for SQLite: `SELECT 1\0, 2`.
    #[error("the statement holds the character NUL")]
    Nul,
    /// There is no memory for it.
    #[error("there is not enough memory for the statement")]
    Memory,
    /// A result has more bytes than can be imported.
    #[error("the result has {bytes} bytes of JSON; the limit of queries is {limit}")]
    ImportTooLarge {
        /// Its bytes.
        bytes: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A table has the name of a result already: another result, or a list of one.
    #[error("there is a table {} already", written(.name))]
    NameTaken {
        /// The name.
        name: String,
    },
    /// What is imported is not valid JSON.
    #[error("the result is not valid JSON")]
    NotJson,
}

impl SqlError {
    /// The stable word: `specs/errors.md`.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Empty
            | Self::Several
            | Self::Invalid { .. }
            | Self::UnknownTable { .. }
            | Self::UnknownColumn { .. }
            | Self::UnknownFunction { .. }
            | Self::Nul
            | Self::NameTaken { .. }
            | Self::NotJson => ErrorCode::QueryInvalid,
            Self::Refused { .. } => ErrorCode::QueryRefused,
            Self::TooLong { .. }
            | Self::Time { .. }
            | Self::TooLarge { .. }
            | Self::RowTooLarge { .. }
            | Self::Memory
            | Self::ImportTooLarge { .. } => ErrorCode::LimitExceeded,
        }
    }

    /// What to do next.
    pub fn advice(&self) -> String {
        let found = |outline: &String| {
            if outline.is_empty() {
                String::new()
            } else {
                format!("\ntables: {outline}")
            }
        };
        let or = |nearest: &[String], otherwise: &str| {
            if nearest.is_empty() {
                otherwise.to_owned()
            } else {
                format!("try: {}", nearest.join(", "))
            }
        };
        match self {
            Self::Empty | Self::Several => "write one `SELECT` statement".to_owned(),
            Self::Invalid { near: Some(_), .. } => {
                "write one `SELECT` statement of SQLite; names that are not words stand in double quotes"
                    .to_owned()
            }
            Self::Invalid { near: None, .. } => {
                "correct what it says: the statement is not complete, or computes with values that a function does not take"
                    .to_owned()
            }
            Self::UnknownTable { nearest, outline, .. } => {
                let otherwise = "name a result by its `_toolCallId`, and a list in it by that, `_` and its key";
                or(nearest, otherwise) + &found(outline)
            }
            Self::UnknownColumn {
                is_quoted: true,
                name,
                nearest,
                outline,
            } => {
                let text = format!("'{}' for a text", name.replace('\'', "''"));
                let all: Vec<String> = nearest.iter().cloned().chain([text]).collect();
                or(&all, "") + &found(outline)
            }
            Self::UnknownColumn { nearest, outline, .. } => {
                let otherwise = "use a column of these tables; `json_extract(column, '$.key')` reads within JSON, and a text stands in single quotes";
                or(nearest, otherwise) + &found(outline)
            }
            Self::UnknownFunction { .. } => {
                "use the functions of SQLite for numbers, texts, dates, JSON, aggregates and windows".to_owned()
            }
            Self::Refused { .. } => "use `SELECT`; the answer is a result that can be referred to".to_owned(),
            Self::TooLong { .. } => "write a shorter statement; refer to lists of values with a subquery".to_owned(),
            Self::Time { .. } => {
                "join by equal values, filter first, and bound what is recursive".to_owned()
            }
            Self::TooLarge { .. } | Self::RowTooLarge { .. } | Self::Memory => "select less at once".to_owned(),
            Self::ImportTooLarge { .. } => "read a part of it with a reference and `$select`".to_owned(),
            Self::NotJson => "run the call again".to_owned(),
            Self::NameTaken { .. } => "import it first, or under another name".to_owned(),
            Self::Nul => "leave it out, or write `char(0)`".to_owned(),
        }
    }

    /// A table that is not there; [`of`](Self::of) says what is.
    pub(crate) fn unknown_table(name: &str) -> Self {
        Self::UnknownTable {
            name: quotable(name),
            nearest: Vec::new(),
            outline: String::new(),
        }
    }

    /// The error with what there is of these tables.
    pub(crate) fn of(self, tables: &[&Table]) -> Self {
        match self {
            Self::UnknownTable { name, .. } => {
                let names = tables.iter().map(|table| table.name.as_str());
                Self::UnknownTable {
                    nearest: nearest(&name, names),
                    outline: outline(tables.iter().copied()),
                    name,
                }
            }
            error => error,
        }
    }

    /// What SQLite says of a statement, with the words in it, about these tables.
    pub(crate) fn of_statement(
        error: rusqlite::Error,
        (sql, words): (&str, &[String]),
        tables: &[&Table],
        limits: &SqlLimits,
    ) -> Self {
        use rusqlite::ffi::ErrorCode as Code;
        let (code, message, offset) = match error {
            rusqlite::Error::MultipleStatement => return Self::Several,
            rusqlite::Error::SqlInputError {
                error, msg, offset, ..
            } => (error.code, msg, Some(offset)),
            rusqlite::Error::SqliteFailure(error, message) => (
                error.code,
                message.unwrap_or_else(|| error.to_string()),
                None,
            ),
            other => {
                return Self::Invalid {
                    message: quotable(&other.to_string()),
                    near: None,
                };
            }
        };
        match code {
            Code::OperationInterrupted => return Self::Time { limit: limits.time },
            Code::OutOfMemory => return Self::Memory,
            Code::TooBig => {
                return Self::TooLarge {
                    limit: limits.value_bytes,
                };
            }
            _ => {}
        }
        let named = |begin: &str| message.strip_prefix(begin).map(quotable);
        if let Some(name) = named("no such table: ") {
            return Self::unknown_table(&name).of(tables);
        }
        if let Some(name) = named("no such column: ") {
            // SQLite has its own remark about texts in double quotes behind the name.
            let name = name.split(" - should this be").next().unwrap_or(&name);
            return Self::unknown_column(name.trim_matches('"').to_owned(), (sql, words), tables);
        }
        if let Some(name) = named("no such function: ") {
            return Self::UnknownFunction { name };
        }
        let near = offset.and_then(|offset| sql.get(usize::try_from(offset).ok()?..));
        let near = near.map(|near| quotable(near.lines().next().unwrap_or_default()));
        Self::Invalid {
            message: quotable(&message),
            near: near.filter(|near| !near.is_empty()),
        }
    }

    fn unknown_column(name: String, (sql, words): (&str, &[String]), tables: &[&Table]) -> Self {
        let is_used = |table: &&&Table| {
            let mut words = words.iter();
            words.any(|word| word.eq_ignore_ascii_case(&table.name))
        };
        let used: Vec<&Table> = tables.iter().filter(is_used).copied().collect();
        let columns = used.iter().flat_map(|table| &table.columns);
        let own = name.rsplit('.').next().unwrap_or(&name);
        let is_quoted = sql.contains(&in_quotes(own));
        let nearest = nearest(own, columns.map(|column| column.name.as_str()));
        Self::UnknownColumn {
            is_quoted,
            nearest,
            outline: outline(used),
            name,
        }
    }
}

/// What stands near an error.
struct Near<'n>(&'n Option<String>);

impl fmt::Display for Near<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .as_ref()
            .map_or(Ok(()), |near| write!(f, " (at `{near}`)"))
    }
}

fn quotable(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let begin = start(&text, MAX_QUOTED_BYTES);
    if begin.len() < text.len() {
        format!("{begin}…")
    } else {
        text
    }
}

/// The names that are most like another, as they are written.
fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    /// Longer names are compared by their beginnings.
    const MAX_CHARS: usize = 64;
    let start = |name: &str| -> String { name.to_lowercase().chars().take(MAX_CHARS).collect() };
    let name = start(name);
    let mut near: Vec<(f64, &str)> = names
        .map(|other| {
            let own = start(other);
            let likeness = strsim::normalized_damerau_levenshtein(&name, &own);
            let holds = own.len() > 2 && (name.contains(&own) || own.contains(&name));
            (
                if holds {
                    likeness.max(LIKENESS)
                } else {
                    likeness
                },
                other,
            )
        })
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut nearest: Vec<String> = Vec::new();
    for (_, name) in near {
        let name = written(name);
        if nearest.len() < OFFERED && !nearest.contains(&name) {
            nearest.push(name);
        }
    }
    nearest
}
