//! Writes the rows of a table: its columns are found first, then its values are put.

use crate::{
    column::{Column, ColumnKind},
    csv_text,
    names::in_quotes,
    source::{Rows, distinct},
    table::Table,
};
use crossfeed_json::{Cursor, Kind};
use rusqlite::{Connection, ToSql, params_from_iter, types::ToSqlOutput, types::ValueRef};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

/// The most columns of a table, besides the one for the members that have none.
const MAX_COLUMNS: usize = 250;
/// The column of the members that have none of their own, as an object.
const REST: &str = "rest";
/// The column of values that are not objects.
const VALUE: &str = "value";

/// Makes a table of rows.
pub(crate) fn write(
    connection: &Connection,
    name: String,
    rows: &Rows<'_>,
) -> rusqlite::Result<Table> {
    match rows {
        Rows::Items(list) => write_items(connection, name, *list),
        Rows::One(members) => write_one(connection, name, members),
        Rows::Lines(text) => write_lines(connection, name, text),
        Rows::Separated(text, separator) => write_separated(connection, name, text, *separator),
    }
}

/// A table and the statement that adds a row to it.
struct Target<'c> {
    insert: rusqlite::Statement<'c>,
}

impl<'c> Target<'c> {
    fn create(
        connection: &'c Connection,
        name: &str,
        columns: &[Column],
    ) -> rusqlite::Result<Self> {
        let name = in_quotes(name);
        let declared = columns.iter().map(|column| {
            let declared = column.kind.declared();
            format!("{} {declared}", in_quotes(&column.name))
        });
        let declared: Vec<_> = declared.collect();
        connection.execute(&format!("CREATE TABLE {name} ({})", declared.join(",")), ())?;
        let places = vec!["?"; columns.len()].join(",");
        let insert = connection.prepare(&format!("INSERT INTO {name} VALUES ({places})"))?;
        Ok(Self { insert })
    }

    fn add<V: ToSql>(&mut self, row: impl IntoIterator<Item = V>) -> rusqlite::Result<()> {
        self.insert.execute(params_from_iter(row)).map(drop)
    }
}

/// The columns of a list, while they are found and while its items are put.
#[derive(Default)]
struct Layout<'d> {
    /// By the member; the kind is none while all values are null.
    columns: Vec<(Cow<'d, str>, Option<ColumnKind>)>,
    places: HashMap<Cow<'d, str>, usize>,
    /// The kind of the items that are not objects.
    values: Option<ColumnKind>,
    has_values: bool,
    has_rest: bool,
}

impl<'d> Layout<'d> {
    fn of(list: Cursor<'d>) -> Self {
        let mut layout = Self::default();
        for item in list.items() {
            if item.kind() != Kind::Object {
                layout.has_values = true;
                merge(&mut layout.values, kind_of(item));
                continue;
            }
            for (number, (key, value)) in item.members().enumerate() {
                let key = key.text();
                let Some(place) = layout.place(number, &key).or_else(|| layout.add(key)) else {
                    layout.has_rest = true;
                    continue;
                };
                merge(&mut layout.columns[place].1, kind_of(value));
            }
        }
        // A table has a column.
        layout.has_values |= layout.columns.is_empty();
        layout
    }

    /// The place of a member's column; most items have theirs in the same order.
    fn place(&self, number: usize, key: &str) -> Option<usize> {
        let is_there = self.columns.get(number).is_some_and(|(own, _)| own == key);
        if is_there {
            Some(number)
        } else {
            self.places.get(key).copied()
        }
    }

    fn add(&mut self, key: Cow<'d, str>) -> Option<usize> {
        let place = self.columns.len();
        (place < MAX_COLUMNS).then(|| {
            self.places.insert(key.clone(), place);
            self.columns.push((key, None));
            place
        })
    }

    /// The columns of the table.
    fn declared(&self) -> Vec<Column> {
        let mut names = HashSet::new();
        let mut column = |name: &str, kind: Option<ColumnKind>| Column {
            name: distinct(name.to_owned(), &mut names),
            kind: kind.unwrap_or(ColumnKind::Any),
        };
        let own = self.columns.iter();
        let mut columns: Vec<Column> = own.map(|(key, kind)| column(key, *kind)).collect();
        if self.has_values {
            columns.push(column(VALUE, self.values));
        }
        if self.has_rest {
            columns.push(column(REST, Some(ColumnKind::Json)));
        }
        columns
    }
}

fn write_items(connection: &Connection, name: String, list: Cursor<'_>) -> rusqlite::Result<Table> {
    let layout = Layout::of(list);
    let columns = layout.declared();
    let mut target = Target::create(connection, &name, &columns)?;
    let mut rows = 0;
    for item in list.items() {
        let mut row: Vec<Stored<'_>> = Vec::with_capacity(columns.len());
        row.resize_with(columns.len(), || Stored::Null);
        if item.kind() == Kind::Object {
            let mut rest = Vec::new();
            for (number, (key, value)) in item.members().enumerate() {
                match layout.place(number, &key.text()) {
                    Some(place) => row[place] = Stored::of(value),
                    None => {
                        rest.push(if rest.is_empty() { b'{' } else { b',' });
                        rest.extend_from_slice(b"\"");
                        rest.extend_from_slice(key.raw());
                        rest.extend_from_slice(b"\":");
                        value.write_compact(&mut rest);
                    }
                }
            }
            if !rest.is_empty() {
                rest.push(b'}');
                row[columns.len() - 1] =
                    Stored::Text(String::from_utf8_lossy(&rest).into_owned().into());
            }
        } else {
            row[layout.columns.len()] = Stored::of(item);
        }
        target.add(row)?;
        rows += 1;
    }
    Ok(Table {
        name,
        columns,
        rows,
    })
}

fn write_one(
    connection: &Connection,
    name: String,
    members: &[(String, Cursor<'_>)],
) -> rusqlite::Result<Table> {
    let mut names = HashSet::new();
    let (own, rest) = members.split_at(members.len().min(MAX_COLUMNS));
    let mut columns: Vec<Column> = own
        .iter()
        .map(|(name, value)| Column {
            name: distinct(name.clone(), &mut names),
            kind: kind_of(*value).unwrap_or(ColumnKind::Any),
        })
        .collect();
    let mut row: Vec<Stored<'_>> = own.iter().map(|(_, value)| Stored::of(*value)).collect();
    if !rest.is_empty() {
        columns.push(Column {
            name: distinct(REST.to_owned(), &mut names),
            kind: ColumnKind::Json,
        });
        let values: Vec<_> = rest.iter().map(|(_, value)| value.raw()).collect();
        let members: Vec<_> = rest
            .iter()
            .zip(values)
            .map(|((name, _), value)| (name.as_str(), value))
            .collect();
        let json = crossfeed_json::object(&members);
        row.push(Stored::Text(
            String::from_utf8_lossy(&json).into_owned().into(),
        ));
    }
    if columns.is_empty() {
        columns.push(Column {
            name: VALUE.to_owned(),
            kind: ColumnKind::Any,
        });
        row.push(Stored::Null);
    }
    Target::create(connection, &name, &columns)?.add(row)?;
    Ok(Table {
        name,
        columns,
        rows: 1,
    })
}

fn write_lines(connection: &Connection, name: String, text: &str) -> rusqlite::Result<Table> {
    let column = |name: &str, kind| Column {
        name: name.to_owned(),
        kind,
    };
    let columns = vec![
        column("number", ColumnKind::Integer),
        column("line", ColumnKind::Text),
    ];
    let mut target = Target::create(connection, &name, &columns)?;
    let mut rows = 0;
    for line in text.lines() {
        rows += 1;
        let number = i64::try_from(rows).unwrap_or(i64::MAX);
        target.add([Stored::Integer(number), Stored::Text(line.into())])?;
    }
    Ok(Table {
        name,
        columns,
        rows,
    })
}

fn write_separated(
    connection: &Connection,
    name: String,
    text: &str,
    separator: u8,
) -> rusqlite::Result<Table> {
    let mut reader = csv_text::reader(text, separator);
    let headers = reader.headers().cloned().unwrap_or_default();
    let mut names = HashSet::new();
    let mut columns: Vec<Column> = headers
        .iter()
        .map(|header| Column {
            name: distinct(header.trim().to_owned(), &mut names),
            kind: ColumnKind::Any,
        })
        .collect();
    let width = columns.len();
    let mut kinds = vec![None; width];
    let mut all = Vec::new();
    // A record that cannot be read ends the table.
    for record in reader.records().map_while(Result::ok) {
        for (kind, text) in kinds.iter_mut().zip(&record) {
            merge(kind, kind_of_text(text));
        }
        all.push(record);
    }
    for (column, kind) in columns.iter_mut().zip(&kinds) {
        // What is not a number everywhere is text everywhere.
        column.kind = match kind {
            Some(kind @ (ColumnKind::Integer | ColumnKind::Real | ColumnKind::Numeric)) => *kind,
            _ => ColumnKind::Text,
        };
    }
    let mut target = Target::create(connection, &name, &columns)?;
    for record in &all {
        let values = columns.iter().enumerate().map(|(place, column)| {
            let text = record.get(place).unwrap_or_default();
            match (column.kind, csv_text::integer(text), csv_text::real(text)) {
                (ColumnKind::Text, ..) => Stored::Text(text.into()),
                (_, Some(integer), _) => Stored::Integer(integer),
                (_, None, Some(real)) => Stored::Real(real),
                (_, None, None) => Stored::Null,
            }
        });
        target.add(values)?;
    }
    Ok(Table {
        name,
        columns,
        rows: all.len(),
    })
}

fn kind_of_text(text: &str) -> Option<ColumnKind> {
    if text.is_empty() {
        None
    } else if csv_text::integer(text).is_some() {
        Some(ColumnKind::Integer)
    } else if csv_text::real(text).is_some() && !has_leading_zero(text) {
        Some(ColumnKind::Real)
    } else {
        Some(ColumnKind::Text)
    }
}

/// Such as an account or a telephone has, and no number.
fn has_leading_zero(text: &str) -> bool {
    let digits = text.trim_start_matches('-').as_bytes();
    matches!(digits, [b'0', second, ..] if second.is_ascii_digit())
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
        Kind::Number => match Stored::of(value) {
            Stored::Integer(_) => ColumnKind::Integer,
            Stored::Real(_) => ColumnKind::Real,
            _ => ColumnKind::Any,
        },
        Kind::String => ColumnKind::Text,
        Kind::Array | Kind::Object => ColumnKind::Json,
    })
}

/// A value as it is stored.
enum Stored<'d> {
    Null,
    Integer(i64),
    Real(f64),
    Text(Cow<'d, str>),
}

impl<'d> Stored<'d> {
    fn of(value: Cursor<'d>) -> Self {
        match value.kind() {
            Kind::Null => Self::Null,
            Kind::Boolean => Self::Integer(value.as_bool().unwrap_or_default().into()),
            Kind::Number => Self::of_number(value.as_number().unwrap_or_default()),
            Kind::String => Self::Text(value.as_str().unwrap_or_default()),
            Kind::Array | Kind::Object => {
                let mut json = Vec::new();
                value.write_compact(&mut json);
                Self::Text(String::from_utf8_lossy(&json).into_owned().into())
            }
        }
    }

    /// A number that neither type holds is stored as its digits.
    fn of_number(number: &'d str) -> Self {
        let is_integer = !number.contains(['.', 'e', 'E']);
        if is_integer {
            return number
                .parse()
                .map_or(Self::Text(number.into()), Self::Integer);
        }
        let real = number.parse().ok().filter(|real: &f64| real.is_finite());
        real.map_or(Self::Text(number.into()), Self::Real)
    }
}

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(integer) => ValueRef::Integer(*integer),
            Self::Real(real) => ValueRef::Real(*real),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}
