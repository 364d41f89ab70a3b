//! Writes the rows of a table: its columns are found first, then its values are put.

use crate::{
    column::{Column, ColumnKind},
    csv_text,
    names::in_quotes,
    source::{Rows, distinct_all},
    table::Table,
};
use crossfeed_json::{Cursor, Kind, compare_numbers};
use rusqlite::{
    Connection, Statement, ToSql, params_from_iter,
    types::{ToSqlOutput, ValueRef},
};
use std::{borrow::Cow, cmp::Ordering, collections::HashMap, sync::Arc};

/// The most columns of a table, besides the one for the members that have none.
pub(crate) const MAX_COLUMNS: usize = 250;
/// The column of the members that have none of their own, as an object.
const REST: &str = "rest";
/// The column of values that are not objects.
const VALUE: &str = "value";

/// Makes a table of the rows of a result.
pub(crate) fn write(
    connection: &Connection,
    (name, result): (String, Arc<str>),
    rows: &Rows<'_>,
) -> rusqlite::Result<Table> {
    let written = match rows {
        Rows::Items(list) => write_items(connection, &name, *list),
        Rows::One(members) => write_one(connection, &name, members),
        Rows::Lines(text) => write_lines(connection, &name, text),
        Rows::Separated(text, separator) => write_separated(connection, &name, text, *separator),
    };
    let (columns, rows) = written?;
    Ok(Table {
        name,
        result,
        columns,
        rows,
    })
}

/// Makes a table, and gives the statement that adds a row to it.
fn create<'c>(
    connection: &'c Connection,
    name: &str,
    columns: &[Column],
) -> rusqlite::Result<Statement<'c>> {
    let name = in_quotes(name);
    let declared = columns.iter().map(|column| {
        let declared = column.kind.declared();
        format!("{} {declared}", in_quotes(&column.name))
    });
    let declared: Vec<_> = declared.collect();
    connection.execute(&format!("CREATE TABLE {name} ({})", declared.join(",")), ())?;
    let places = vec!["?"; columns.len()].join(",");
    connection.prepare(&format!("INSERT INTO {name} VALUES ({places})"))
}

fn add<'v>(
    insert: &mut Statement<'_>,
    row: impl IntoIterator<Item = SqlValue<'v>>,
) -> rusqlite::Result<()> {
    insert.execute(params_from_iter(row)).map(drop)
}

/// The columns of a list: those of the members of its items.
#[derive(Default)]
struct ItemColumns<'d> {
    /// By the member; the kind is none while all values are null.
    members: Vec<(Cow<'d, str>, Option<ColumnKind>)>,
    places: HashMap<Cow<'d, str>, usize>,
    /// The kind of the items that are not objects.
    values: Option<ColumnKind>,
    has_values: bool,
    has_rest: bool,
}

impl<'d> ItemColumns<'d> {
    fn of(list: Cursor<'d>) -> Self {
        let mut columns = Self::default();
        for item in list.items() {
            if item.kind() != Kind::Object {
                columns.has_values = true;
                merge(&mut columns.values, kind_of(item));
                continue;
            }
            for (number, (key, value)) in item.members().enumerate() {
                let key = key.text();
                let Some(place) = columns.place(number, &key).or_else(|| columns.add(key)) else {
                    columns.has_rest = true;
                    continue;
                };
                merge(&mut columns.members[place].1, kind_of(value));
            }
        }
        // A table has a column.
        columns.has_values |= columns.members.is_empty();
        columns
    }

    /// The place of a member's column; most items have theirs in the same order.
    fn place(&self, number: usize, key: &str) -> Option<usize> {
        let is_there = self.members.get(number).is_some_and(|(own, _)| own == key);
        if is_there {
            Some(number)
        } else {
            self.places.get(key).copied()
        }
    }

    fn add(&mut self, key: Cow<'d, str>) -> Option<usize> {
        let place = self.members.len();
        (place < MAX_COLUMNS).then(|| {
            self.places.insert(key.clone(), place);
            self.members.push((key, None));
            place
        })
    }

    /// As they are declared.
    fn declared(&self) -> Vec<Column> {
        let own = self.members.iter().map(|(key, kind)| (&**key, *kind));
        let value = self.has_values.then_some((VALUE, self.values));
        let rest = self.has_rest.then_some((REST, Some(ColumnKind::Json)));
        declared(own.chain(value).chain(rest).collect())
    }
}

/// Columns of these names and kinds.
fn declared(columns: Vec<(&str, Option<ColumnKind>)>) -> Vec<Column> {
    let names = distinct_all(columns.iter().map(|(name, _)| *name));
    let kinds = columns
        .iter()
        .map(|(_, kind)| kind.unwrap_or(ColumnKind::Any));
    let columns = names.into_iter().zip(kinds);
    columns.map(|(name, kind)| Column { name, kind }).collect()
}

fn write_items(
    connection: &Connection,
    name: &str,
    list: Cursor<'_>,
) -> rusqlite::Result<(Vec<Column>, usize)> {
    let own = ItemColumns::of(list);
    let columns = own.declared();
    let mut insert = create(connection, name, &columns)?;
    let mut rows = 0;
    for item in list.items() {
        let mut row: Vec<SqlValue<'_>> = columns.iter().map(|_| SqlValue::Null).collect();
        let mut put = |place: usize, value| row[place] = SqlValue::of(value, columns[place].kind);
        if item.kind() != Kind::Object {
            put(own.members.len(), item);
        } else {
            let mut rest = Vec::new();
            for (number, (key, value)) in item.members().enumerate() {
                match own.place(number, &key.text()) {
                    Some(place) => put(place, value),
                    None => {
                        rest.push(if rest.is_empty() { b'{' } else { b',' });
                        rest.push(b'"');
                        rest.extend_from_slice(key.raw());
                        rest.extend_from_slice(b"\":");
                        value.write_compact(&mut rest);
                    }
                }
            }
            if !rest.is_empty() {
                rest.push(b'}');
                row[columns.len() - 1] = SqlValue::of_json(rest);
            }
        }
        add(&mut insert, row)?;
        rows += 1;
    }
    Ok((columns, rows))
}

fn write_one(
    connection: &Connection,
    name: &str,
    members: &[(String, Cursor<'_>)],
) -> rusqlite::Result<(Vec<Column>, usize)> {
    let (own, rest) = members.split_at(members.len().min(MAX_COLUMNS));
    let kinds = own
        .iter()
        .map(|(name, value)| (name.as_str(), kind_of(*value)));
    let others = (!rest.is_empty()).then_some((REST, Some(ColumnKind::Json)));
    let nothing = members.is_empty().then_some((VALUE, None));
    let columns = declared(kinds.chain(others).chain(nothing).collect());
    let mut row: Vec<SqlValue<'_>> = own
        .iter()
        .zip(&columns)
        .map(|((_, value), column)| SqlValue::of(*value, column.kind))
        .collect();
    if !rest.is_empty() {
        let compact = |value: &Cursor<'_>| {
            let mut json = Vec::new();
            value.write_compact(&mut json);
            json
        };
        let members: Vec<_> = rest
            .iter()
            .map(|(name, value)| (name.as_str(), compact(value)))
            .collect();
        row.push(SqlValue::of_json(crossfeed_json::object(&members)));
    }
    if members.is_empty() {
        row.push(SqlValue::Null);
    }
    add(&mut create(connection, name, &columns)?, row)?;
    Ok((columns, 1))
}

fn write_lines(
    connection: &Connection,
    name: &str,
    text: &str,
) -> rusqlite::Result<(Vec<Column>, usize)> {
    let column = |name: &str, kind| Column {
        name: name.to_owned(),
        kind,
    };
    let columns = vec![
        column("number", ColumnKind::Integer),
        column("line", ColumnKind::Text),
    ];
    let mut insert = create(connection, name, &columns)?;
    let mut rows = 0;
    for line in text.lines() {
        rows += 1;
        let number = i64::try_from(rows).unwrap_or(i64::MAX);
        add(
            &mut insert,
            [SqlValue::Integer(number), SqlValue::Text(line.into())],
        )?;
    }
    Ok((columns, rows))
}

fn write_separated(
    connection: &Connection,
    name: &str,
    text: &str,
    separator: u8,
) -> rusqlite::Result<(Vec<Column>, usize)> {
    let mut reader = csv_text::reader(text, separator);
    let headers = reader.headers().cloned().unwrap_or_default();
    let mut kinds = vec![None; headers.len()];
    // All of them were read before.
    let records: Vec<_> = reader.records().filter_map(Result::ok).collect();
    for record in &records {
        for (kind, text) in kinds.iter_mut().zip(record) {
            merge(kind, csv_text::kind_of(text));
        }
    }
    // What is not a number everywhere is text everywhere.
    let kinds = kinds
        .iter()
        .map(|kind| kind.filter(|kind: &ColumnKind| kind.is_number()));
    let kinds = kinds.map(|kind| kind.or(Some(ColumnKind::Text)));
    let columns = declared(headers.iter().zip(kinds).collect());
    let mut insert = create(connection, name, &columns)?;
    for record in &records {
        let values = columns.iter().zip(record).map(|(column, text)| {
            match (column.kind, csv_text::integer(text), csv_text::real(text)) {
                (ColumnKind::Text, ..) => SqlValue::Text(text.into()),
                (_, Some(integer), _) => SqlValue::Integer(integer),
                (_, None, Some(real)) => SqlValue::Real(real),
                (_, None, None) => SqlValue::Null,
            }
        });
        add(&mut insert, values)?;
    }
    Ok((columns, records.len()))
}

fn merge(kind: &mut Option<ColumnKind>, other: Option<ColumnKind>) {
    *kind = match (*kind, other) {
        (Some(own), Some(other)) => Some(own.and(other)),
        (own, other) => own.or(other),
    };
}

fn kind_of(value: Cursor<'_>) -> Option<ColumnKind> {
    Some(match value.kind() {
        Kind::Null => return None,
        Kind::Boolean => ColumnKind::Boolean,
        Kind::Number => match SqlValue::of_number(value.as_number().unwrap_or_default()) {
            SqlValue::Integer(_) => ColumnKind::Integer,
            SqlValue::Real(_) => ColumnKind::Real,
            _ => ColumnKind::Any,
        },
        Kind::String => ColumnKind::Text,
        Kind::Array | Kind::Object => ColumnKind::Json,
    })
}

/// The float that a number is, to its last digit; `None` where there is none.
pub(crate) fn exact(number: &str) -> Option<f64> {
    let real: f64 = number.parse().ok()?;
    let is_same = |real: f64| compare_numbers(number, &format!("{real:?}")) == Ordering::Equal;
    (real.is_finite() && is_same(real)).then_some(real)
}

/// A value as it is put into a table.
enum SqlValue<'d> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'d, str>),
}

impl<'d> SqlValue<'d> {
    fn of(value: Cursor<'d>, kind: ColumnKind) -> Self {
        match value.kind() {
            Kind::Null => Self::Null,
            // Among values of other types, 1 would be a number.
            Kind::Boolean if kind == ColumnKind::Any => {
                Self::Text(String::from_utf8_lossy(value.raw()))
            }
            Kind::Boolean => Self::Integer(value.as_bool().unwrap_or_default().into()),
            Kind::Number => Self::of_number(value.as_number().unwrap_or_default()),
            Kind::String => Self::Text(value.as_str().unwrap_or_default()),
            Kind::Array | Kind::Object => {
                let mut json = Vec::new();
                value.write_compact(&mut json);
                Self::of_json(json)
            }
        }
    }

    fn of_json(json: Vec<u8>) -> Self {
        Self::Text(String::from_utf8_lossy(&json).into_owned().into())
    }

    /// A number that neither type holds is its digits.
    fn of_number(number: &'d str) -> Self {
        let text = || Self::Text(number.into());
        if number.contains(['.', 'e', 'E']) {
            exact(number).map_or_else(text, Self::Real)
        } else {
            number.parse().map_or_else(|_| text(), Self::Integer)
        }
    }
}

impl ToSql for SqlValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Real(real) => ValueRef::Real(*real),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}
