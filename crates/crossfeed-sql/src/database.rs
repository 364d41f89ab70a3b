//! Results as tables, and statements about them.

use crate::{
    answer::{self, Answer},
    error::SqlError,
    guard::{self, Admitted},
    import,
    limits::SqlLimits,
    names_in,
    source::{Rows, distinct, embedded_json, sources},
    table::Table,
};
use bytes::Bytes;
use crossfeed_json::Document;
use rusqlite::{Connection, OpenFlags};
use std::{collections::HashSet, sync::Arc, time::Instant};

/// How many steps of SQLite's machine are between two looks at the clock.
const STEPS: i32 = 4096;

/// Tables of results in memory.
pub struct Database {
    connection: Connection,
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
        let connection =
            open().map_err(|error| SqlError::of_statement(error, ("", &[]), &[], &limits))?;
        Ok(Self {
            connection,
            tables: Vec::new(),
            names: guard::TABLES.map(str::to_owned).into(),
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
        if self.names.contains(&name.to_ascii_lowercase()) {
            let name = name.to_owned();
            return Err(SqlError::NameTaken { name });
        }
        let document = Document::new(json);
        let root = document.root().map_err(|_| SqlError::NotJson)?;
        let text = root.as_str();
        let embedded = text.as_deref().and_then(embedded_json);
        let sources = match (&embedded, text) {
            (Some(json), _) => sources(json.root().map_err(|_| SqlError::NotJson)?),
            (None, Some(text)) => vec![(String::new(), Rows::of_text(text.into_owned()))],
            (None, None) => sources(root),
        };
        let first = self.tables.len();
        let written = self.write(name, &sources);
        let tables =
            written.map_err(|error| SqlError::of_statement(error, ("", &[]), &[], &self.limits))?;
        let names = tables.iter().map(|table| table.name.to_ascii_lowercase());
        self.names.extend(names);
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
        // The time of the last statement is not that of an import.
        self.connection.progress_handler(0, None::<fn() -> bool>)?;
        let mut names = self.names.clone();
        let result: Arc<str> = name.into();
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
            let name = distinct(&format!("{name}{path}"), &mut names);
            import::write(&transaction, (name, Arc::clone(&result)), rows)
        });
        let tables = tables.collect::<rusqlite::Result<Vec<_>>>()?;
        transaction.commit()?;
        Ok(tables)
    }

    /// The tables, in the order in which they were imported.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Answers a `SELECT` statement about all tables.
    ///
    /// # Errors
    ///
    /// [`SqlError`]: why not, with what to do next.
    pub fn query(&mut self, sql: &str) -> Result<Answer, SqlError> {
        self.query_within(sql, |_| true)
    }

    /// Answers a `SELECT` statement about the tables of some results only: to it, there are no others.
    ///
    /// # Errors
    ///
    /// [`SqlError`]: why not, with what to do next.
    pub fn query_within(
        &mut self,
        sql: &str,
        is_admitted: impl Fn(&str) -> bool,
    ) -> Result<Answer, SqlError> {
        if sql.len() > self.limits.sql_bytes {
            let (bytes, limit) = (sql.len(), self.limits.sql_bytes);
            return Err(SqlError::TooLong { bytes, limit });
        }
        if sql.contains('\0') {
            return Err(SqlError::Nul);
        }
        let words = names_in(sql);
        if words.is_empty() {
            return Err(SqlError::Empty);
        }
        let tables = self.tables.iter();
        let (tables, others): (Vec<&Table>, Vec<&Table>) =
            tables.partition(|table| is_admitted(&table.result));
        let names = |tables: &[&Table]| {
            let names = tables.iter().map(|table| table.name.to_ascii_lowercase());
            names.collect()
        };
        let admitted = Admitted {
            tables: names(&tables),
            hidden: names(&others),
        };
        let connection = &mut self.connection;
        let limits = &self.limits;
        let of_statement = |error| SqlError::of_statement(error, (sql, &words), &tables, limits);
        let deadline = Instant::now() + limits.time;
        let is_over = move || Instant::now() > deadline;
        connection
            .progress_handler(STEPS, Some(is_over))
            .map_err(of_statement)?;
        let refusal = guard::watch(connection, admitted).map_err(of_statement)?;
        let answer = || {
            let mut statement = connection.prepare(sql).map_err(of_statement)?;
            // The second net: the authorizer lets some statements pass that are no queries, such as `VACUUM`.
            if statement.column_count() == 0 || !statement.readonly() {
                let what = "a change";
                return Err(SqlError::Refused { what });
            }
            if statement.is_explain() != 0 {
                let what = "`EXPLAIN`";
                return Err(SqlError::Refused { what });
            }
            let answer =
                answer::run(&mut statement, &words, &tables, limits).map_err(of_statement)?;
            if answer.is_cut && answer.rows == 0 {
                let limit = limits.answer_bytes;
                return Err(SqlError::RowTooLarge { limit });
            }
            Ok(answer)
        };
        // What was refused says more than that it was.
        answer().map_err(|error| refusal.take().map_or(error, |refusal| refusal.of(&tables)))
    }
}
