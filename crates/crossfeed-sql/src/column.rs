//! The columns of a table.

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// Its name: that of the member that it holds.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
}

/// What the values of a column are, besides null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Integers of 64 bits.
    Integer,
    /// Numbers with a fraction.
    Real,
    /// Integers and numbers with a fraction.
    Numeric,
    /// Texts.
    Text,
    /// True and false, stored as 1 and 0.
    Boolean,
    /// Objects and lists, stored as their JSON.
    Json,
    /// Values of several types, and integers beyond 64 bits, which are stored as texts.
    Any,
}

impl ColumnKind {
    /// The declared type of such a column; empty for values of any type, which SQLite leaves as they are.
    pub fn declared(self) -> &'static str {
        match self {
            Self::Integer => "INTEGER",
            Self::Real => "REAL",
            Self::Numeric => "NUMERIC",
            Self::Text => "TEXT",
            Self::Boolean => "BOOLEAN",
            Self::Json => "JSON",
            Self::Any => "",
        }
    }

    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Real | Self::Numeric)
    }

    /// The kind of a column with values of both kinds.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == other {
            self
        } else if self.is_number() && other.is_number() {
            Self::Numeric
        } else {
            Self::Any
        }
    }
}
