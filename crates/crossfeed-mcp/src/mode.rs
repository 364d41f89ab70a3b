//! The modes of a request.

/// How a request names fields.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::EnumString, strum::IntoStaticStr,
)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Mode {
    /// The fields are kept.
    Include,
    /// The fields are left out.
    Exclude,
    /// A view that the tool recommends, by its name.
    View,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Include, Self::Exclude, Self::View];

    /// The word for the mode.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The mode of a word.
    pub fn from_word(word: &str) -> Option<Self> {
        word.parse().ok()
    }
}
