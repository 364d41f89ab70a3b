//! Why arguments do not fit the tool's schema.

use crate::shape::Shape;
use crossfeed_json::JsonError;
use crossfeed_wire::CallId;

/// One part of the arguments that does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, found {found}{}", self.elsewhere())]
#[non_exhaustive]
pub struct ArgumentError {
    /// The schema's demand, in words.
    pub expected: String,
    /// The shape of the value.
    pub found: Shape,
    /// The call whose result the value is, if a reference brought it in.
    pub brought_by: Option<CallId>,
    /// Selectors on that call's result whose values would fit in place of the reference.
    pub fitting: Vec<String>,
    /// Whether such selectors were searched for.
    pub(crate) looked: bool,
    /// In how many more items of the same list the same is wrong.
    pub(crate) alike: usize,
    /// Whether advice on the same reference stands before.
    pub(crate) is_advised: bool,
}

impl ArgumentError {
    /// Where else the same is wrong.
    fn elsewhere(&self) -> String {
        match self.alike {
            0 => String::new(),
            1 => ", and in 1 more item".to_owned(),
            more => format!(", and in {more} more items"),
        }
    }

    /// One next step; empty where it was said before, of another part of the same value.
    pub fn advice(&self) -> String {
        if self.is_advised {
            return String::new();
        }
        match (&self.brought_by, self.fitting.as_slice()) {
            (None, _) => "write a value that fits".to_owned(),
            (Some(_), []) if self.looked => {
                "nothing that was tried of that result fits: refer to another call, or write the value"
                    .to_owned()
            }
            (Some(_), []) => "try: a selector that picks what fits".to_owned(),
            (Some(_), selectors) => format!("try: {}", selectors.join(", ")),
        }
    }
}

/// Arguments that are not valid JSON: `{url: 1}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not valid JSON: {error}")]
#[non_exhaustive]
pub struct NotJson {
    /// The syntax error, and its byte offset.
    pub error: JsonError,
}
