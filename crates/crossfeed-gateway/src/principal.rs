//! Who a client is.

/// Who a client is, as its transport authenticated it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Principal {
    /// The client on standard input and output.
    Local,
    /// A client without a token.
    Anonymous,
    /// The holder of a token, by its name in the configuration.
    Named(String),
}

impl Principal {
    /// The name of the holder of a token.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Local | Self::Anonymous => None,
        }
    }
}
