//! What is asked for where nothing is.

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Collection => "collection",
            Self::Search => "search",
        }
    }

    /// The kind of a word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The preset of each kind of operation where nothing was asked for. The default has none: results
/// are whole unless a host opts in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Defaults {
    /// Of [`Operation::Single`].
    pub single: Option<String>,
    /// Of [`Operation::Collection`].
    pub collection: Option<String>,
    /// Of [`Operation::Search`].
    pub search: Option<String>,
}

impl Defaults {
    /// The usual ones: `full` for one resource, `standard` for a list, `minimal` for a search.
    #[must_use]
    pub fn usual() -> Self {
        Self::default()
            .with(Operation::Single, "full")
            .with(Operation::Collection, "standard")
            .with(Operation::Search, "minimal")
    }

    /// Another preset for a kind.
    #[must_use]
    pub fn with(mut self, operation: Operation, preset: impl Into<String>) -> Self {
        *self.slot(operation) = Some(preset.into());
        self
    }

    /// The preset of a kind.
    #[must_use]
    pub fn of(&self, operation: Operation) -> Option<&str> {
        match operation {
            Operation::Single => self.single.as_deref(),
            Operation::Collection => self.collection.as_deref(),
            Operation::Search => self.search.as_deref(),
        }
    }

    fn slot(&mut self, operation: Operation) -> &mut Option<String> {
        match operation {
            Operation::Single => &mut self.single,
            Operation::Collection => &mut self.collection,
            Operation::Search => &mut self.search,
        }
    }
}
