//! What statements may do: read the imported tables, with functions of a list.

use crate::{error::SqlError, limits::SqlLimits};
use parking_lot::Mutex;
use rusqlite::{
    Connection,
    config::DbConfig,
    functions::{Context, FunctionFlags},
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
    types::{Value, ValueRef},
};
use std::{collections::HashSet, sync::Arc};

/// The functions that statements may use: <https://www.sqlite.org/lang_corefunc.html> and the pages of aggregates,
/// windows, dates and JSON; `regexp` is that of the `REGEXP` operator.
const FUNCTIONS: [&str; 93] = [
    "abs",
    "avg",
    "ceil",
    "ceiling",
    "char",
    "coalesce",
    "concat",
    "concat_ws",
    "count",
    "cume_dist",
    "current_date",
    "current_time",
    "current_timestamp",
    "date",
    "datetime",
    "dense_rank",
    "exp",
    "first_value",
    "floor",
    "format",
    "glob",
    "group_concat",
    "hex",
    "if",
    "ifnull",
    "iif",
    "instr",
    "json",
    "json_array",
    "json_array_length",
    "json_each",
    "json_error_position",
    "json_extract",
    "json_group_array",
    "json_group_object",
    "json_insert",
    "json_object",
    "json_patch",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_tree",
    "json_type",
    "json_valid",
    "julianday",
    "lag",
    "last_value",
    "lead",
    "length",
    "like",
    "ln",
    "log10",
    "lower",
    "ltrim",
    "max",
    "min",
    "nth_value",
    "ntile",
    "nullif",
    "octet_length",
    "percent_rank",
    "pow",
    "power",
    "printf",
    "quote",
    "rank",
    "regexp",
    "replace",
    "round",
    "row_number",
    "rtrim",
    "sign",
    "sqrt",
    "strftime",
    "string_agg",
    "substr",
    "substring",
    "sum",
    "time",
    "timediff",
    "total",
    "trim",
    "trunc",
    "typeof",
    "unhex",
    "unicode",
    "unistr",
    "unixepoch",
    "upper",
    "->",
    "->>",
];

/// The tables of SQLite's own that statements may read: JSON as a table.
pub(crate) const TABLES: [&str; 2] = ["json_each", "json_tree"];

/// What a statement may read.
pub(crate) struct Admitted {
    /// The names of the tables that it may read, in lower case.
    pub(crate) tables: HashSet<String>,
    /// Those of the others.
    pub(crate) hidden: HashSet<String>,
}

/// Why a statement was refused.
#[derive(Clone, Default)]
pub(crate) struct Refusal(Arc<Mutex<Option<SqlError>>>);

impl Refusal {
    /// The first reason, if there is one.
    pub(crate) fn take(&self) -> Option<SqlError> {
        self.0.lock().take()
    }
}

/// Watches over the statements that a connection prepares.
pub(crate) fn watch(connection: &mut Connection, admitted: Admitted) -> rusqlite::Result<Refusal> {
    let refusal = Refusal::default();
    let own = refusal.clone();
    connection.authorizer(Some(move |context: AuthContext<'_>| {
        match refused(&context.action, &admitted) {
            None => Authorization::Allow,
            Some(refusal) => {
                own.0.lock().get_or_insert(refusal);
                Authorization::Deny
            }
        }
    }))?;
    Ok(refusal)
}

/// Why an action is refused.
fn refused(action: &AuthAction<'_>, admitted: &Admitted) -> Option<SqlError> {
    let what = match action {
        AuthAction::Select | AuthAction::Recursive => return None,
        AuthAction::Read {
            table_name,
            column_name,
        } => {
            let name = table_name.to_ascii_lowercase();
            // Where only rows are counted, the name may be one that the statement itself gave.
            let is_hidden = admitted.hidden.contains(&name) || name.starts_with("sqlite_");
            let is_own = column_name.is_empty() && !is_hidden;
            let may_read = is_own || admitted.tables.contains(&name) || TABLES.contains(&&*name);
            // That there is such a table is not for this statement to know.
            let error = || SqlError::unknown_table(table_name);
            return (!may_read).then(error);
        }
        AuthAction::Function { function_name } => {
            let name = function_name.to_ascii_lowercase();
            let error = || SqlError::UnknownFunction {
                name: name.chars().take(64).collect(),
            };
            return (!FUNCTIONS.contains(&&*name)).then(error);
        }
        AuthAction::Attach { .. } | AuthAction::Detach { .. } => "`ATTACH` or `DETACH`",
        AuthAction::Pragma { .. } => "`PRAGMA`",
        AuthAction::Transaction { .. } | AuthAction::Savepoint { .. } => "a transaction",
        _ => "a change",
    };
    Some(SqlError::Refused { what })
}

/// Sets what a connection has for itself before anything is imported, and the limits of all statements.
pub(crate) fn prepare(connection: &Connection, limits: &SqlLimits) -> rusqlite::Result<()> {
    connection.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; \
         PRAGMA trusted_schema = OFF; PRAGMA foreign_keys = OFF; PRAGMA cell_size_check = OFF;",
    )?;
    for (config, value) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        // A misspelled column in double quotes would be a text.
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        connection.set_db_config(config, value)?;
    }
    let bytes = |bytes: usize| i32::try_from(bytes).unwrap_or(i32::MAX);
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, bytes(limits.value_bytes)),
        // That of the statements of others is asked for before; those that make tables are longer.
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 200),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 100),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 256),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, value)?;
    }
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("regexp", 2, flags, matches)?;
    for (name, compute) in ROUNDING {
        connection.create_scalar_function(name, 1, flags, move |context| {
            Ok(match context.get_raw(0) {
                ValueRef::Integer(integer) => Some(Value::Integer(integer)),
                _ => number(context, 0).map(compute).map(Value::Real),
            })
        })?;
    }
    for (name, compute) in MATH {
        connection.create_scalar_function(name, 1, flags, move |context| {
            Ok(number(context, 0)
                .map(compute)
                .filter(|value| value.is_finite()))
        })?;
    }
    for name in ["pow", "power"] {
        connection.create_scalar_function(name, 2, flags, |context| {
            let numbers = number(context, 0).zip(number(context, 1));
            let power = numbers.map(|(base, exponent)| base.powf(exponent));
            Ok(power.filter(|value| value.is_finite()))
        })?;
    }
    Ok(())
}

/// A function of one number; the name, and what it computes.
type MathFunction = (&'static str, fn(f64) -> f64);

/// Those of <https://www.sqlite.org/lang_mathfunc.html> that models write, and the bundled SQLite does not have. An integer
/// is rounded already.
const ROUNDING: [MathFunction; 4] = [
    ("ceil", f64::ceil),
    ("ceiling", f64::ceil),
    ("floor", f64::floor),
    ("trunc", f64::trunc),
];

/// What is not finite is null.
const MATH: [MathFunction; 4] = [
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log10", f64::log10),
    ("sqrt", f64::sqrt),
];

/// A number, also one that a text holds.
fn number(context: &Context<'_>, at: usize) -> Option<f64> {
    match context.get_raw(at) {
        ValueRef::Integer(integer) => integer.to_string().parse().ok(),
        ValueRef::Real(real) => Some(real),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// `text REGEXP pattern`; the pattern is read once for each place where it stands.
fn matches(context: &Context<'_>) -> rusqlite::Result<Option<bool>> {
    /// The most bytes that a pattern may take when it is compiled.
    const MAX_COMPILED_BYTES: usize = 256 << 10;
    let read = |pattern: ValueRef<'_>| {
        let pattern = pattern.as_str().map_err(|error| error.to_string())?;
        let built = regex::RegexBuilder::new(pattern)
            .size_limit(MAX_COMPILED_BYTES)
            .build();
        built.map_err(|error| {
            let message = error.to_string();
            message.lines().last().unwrap_or_default().to_owned()
        })
    };
    if matches!(context.get_raw(0), ValueRef::Null) {
        return Ok(None);
    }
    let pattern = context.get_or_create_aux(0, |value| {
        read(value).map_err(Box::<dyn std::error::Error + Send + Sync>::from)
    })?;
    Ok(match context.get_raw(1) {
        ValueRef::Text(text) => std::str::from_utf8(text)
            .ok()
            .map(|text| pattern.is_match(text)),
        ValueRef::Integer(number) => Some(pattern.is_match(&number.to_string())),
        ValueRef::Real(number) => Some(pattern.is_match(&number.to_string())),
        ValueRef::Null | ValueRef::Blob(_) => None,
    })
}
