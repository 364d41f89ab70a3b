//! Kinds of operations: they decide whether a result is a collection, and its default preset.

/// The kind of an operation.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Operation {
    /// It returns one resource: its result is never read as a collection.
    Single,
    /// It lists resources.
    Collection,
    /// It looks resources up.
    Search,
}

impl Operation {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Single, Self::Collection, Self::Search];

    /// The word as it is written: `single`, `collection`, `search`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
