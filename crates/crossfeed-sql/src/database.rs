//! Results as tables, and statements about them.

use crate::{
    answer::{self, Answer},
    csv_text,
    error::SqlError,
    guard::{self, Guard},
    import,
    limits::SqlLimits,
    names_in,
    source::{Rows, distinct, held, sources},
    table::Table,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document, Kind};
use rusqlite::{Connection, OpenFlags};
use std::{collections::HashSet, time::Instant};

/// How many steps of SQLite's machine are between two looks at the clock.
const STEPS: i32 = 4096;

/// Tables of results in memory.
pub struct Database {
    connection: Connection,
    guard: Guard,
    tables: Vec<Table>,
    /// In lower case.
    names: HashSet<String>,
    limits: SqlLimits,
}

impl Database {
    /// An empty one.
    ///
    /// # Errors
    ///
    /// [`SqlError::Memory`] or [`SqlError::Invalid`] where SQLite cannot open it.
    pub fn open(limits: SqlLimits) -> Result<Self, SqlError> {
        let open = || {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_in_memory_with_flags(flags)?;
            guard::prepare(&connection, &limits)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| SqlError::of_statement(error, "", &[], &limits))?;
        let names = ["json_each", "json_tree"];
        Ok(Self {
            connection,
            guard: Guard::default(),
            tables: Vec::new(),
            names: names.map(str::to_owned).into(),
            limits,
        })
    }

    /// Imports a result, given as JSON, under a name, and gives its tables: a list, or an object with its members as
    /// columns; the lists that stand in objects are tables of their own, named by their paths. A text is read as JSON,
    /// as one value of JSON for each line, as values between separators, or else line by line.
    ///
    /// # Errors
    ///
    /// [`SqlError::NotJson`], [`SqlError::ImportTooLarge`], and what SQLite has no memory for. Nothing is imported then.
    pub fn import(&mut self, name: &str, json: impl Into<Bytes>) -> Result<&[Table], SqlError> {
        let json = json.into();
        if json.len() > self.limits.import_bytes {
            let (bytes, limit) = (json.len(), self.limits.import_bytes);
            return Err(SqlError::ImportTooLarge { bytes, limit });
        }
        let document = Document::new(json);
        let root = document.root().map_err(|_| SqlError::NotJson)?;
        let held = text_of(root).and_then(|text| held(&text));
        let sources = match (&held, text_of(root)) {
            (Some(held), _) => sources(held.root().map_err(|_| SqlError::NotJson)?),
            (None, Some(text)) => vec![(
                String::new(),
                match csv_text::separator(&text) {
                    Some(separator) => Rows::Separated(text, separator),
                    None => Rows::Lines(text),
                },
            )],
            (None, None) => sources(root),
        };
        let first = self.tables.len();
        let written = self.write(name, &sources);
        let tables =
            written.map_err(|error| SqlError::of_statement(error, "", &[], &self.limits))?;
        for table in &tables {
            self.guard.admit(&table.name);
            self.names.insert(table.name.to_ascii_lowercase());
        }
        self.tables.extend(tables);
        Ok(&self.tables[first..])
    }

    /// Writes tables, all or none of them.
    fn write(
        &mut self,
        name: &str,
        sources: &[(String, Rows<'_>)],
    ) -> rusqlite::Result<Vec<Table>> {
        self.connection.authorizer(
            None::<fn(rusqlite::hooks::AuthContext<'_>) -> rusqlite::hooks::Authorization>,
        )?;
        let mut names = self.names.clone();
        // SQLite keeps names that begin so for itself.
        let is_reserved = name
            .get(..7)
            .is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"));
        let name = if is_reserved {
            format!("_{name}")
        } else {
            name.to_owned()
        };
        let transaction = self.connection.savepoint()?;
        let tables = sources.iter().map(|(path, rows)| {
            let name = distinct(format!("{name}{path}"), &mut names);
            import::write(&transaction, name, rows)
        });
        let tables = tables.collect::<rusqlite::Result<Vec<_>>>()?;
        transaction.commit()?;
        Ok(tables)
    }

    /// The tables, in the order in which they were imported.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Answers a `SELECT` statement.
    ///
    /// # Errors
    ///
    /// [`SqlError`]: why not, with what to do next.
    pub fn query(&mut self, sql: &str) -> Result<Answer, SqlError> {
        if sql.len() > self.limits.sql_bytes {
            let (bytes, limit) = (sql.len(), self.limits.sql_bytes);
            return Err(SqlError::TooLong { bytes, limit });
        }
        let deadline = Instant::now() + self.limits.time;
        let is_over = move || Instant::now() > deadline;
        let answered = self
            .connection
            .progress_handler(STEPS, Some(is_over))
            .and_then(|()| self.guard.watch(&mut self.connection))
            .and_then(|()| {
                let mut statement = self.connection.prepare(sql)?;
                if names_in(sql).is_empty() {
                    return Ok(Err(SqlError::Empty));
                }
                // The second net: the authorizer lets some statements pass that are no queries, such as `VACUUM`.
                if statement.column_count() == 0 || !statement.readonly() {
                    let what = "a change";
                    return Ok(Err(SqlError::Refused { what }));
                }
                answer::run(&mut statement, &self.tables, &self.limits).map(Ok)
            });
        let refusal = self.guard.refusal();
        match answered {
            Ok(answered) => answered.map_err(|error| refusal.unwrap_or(error)),
            Err(error) => Err(refusal
                .unwrap_or_else(|| SqlError::of_statement(error, sql, &self.tables, &self.limits))),
        }
    }
}

fn text_of(value: Cursor<'_>) -> Option<String> {
    (value.kind() == Kind::String).then(|| value.as_str().unwrap_or_default().into_owned())
}
