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
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Local | Self::Anonymous => None,
        }
    }
}

/// How much of a total one of several principals may have: half.
pub(crate) fn share_of(total: usize, principals: usize) -> usize {
    if principals > 1 {
        total.div_ceil(2)
    } else {
        total
    }
}
