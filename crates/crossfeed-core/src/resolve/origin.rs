//! Where the value of a reference comes from, and how deep it nests.

use crossfeed_jmespath::View;
use crossfeed_json::is_deeper;
use serde_json::Value;

/// Where the value of a reference comes from.
pub(super) enum Origin<'a> {
    /// A result, or what a selector built of it.
    Result(View<'a>),
    /// The default of the reference.
    Default(&'a Value),
}

impl Origin<'_> {
    /// Whether lists and objects nest deeper than `limit` within each other.
    pub(super) fn is_deeper(&self, limit: usize) -> bool {
        match self {
            Self::Result(view) => is_view_deeper(view, limit),
            Self::Default(value) => is_deeper(value, limit),
        }
    }
}

/// Depth is bounded by the expression and by the data.
fn is_view_deeper(view: &View<'_>, limit: usize) -> bool {
    if let Some(cursor) = view.as_cursor() {
        return cursor.is_deeper(limit);
    }
    let members = || view.members().map(|(_, value)| value);
    view.len().is_some()
        && limit.checked_sub(1).is_none_or(|limit| {
            let mut children = view.items().chain(members());
            children.any(|child| is_view_deeper(&child, limit))
        })
}
