//! How deep what a reference brings in nests.

use crossfeed_jmespath::View;
use crossfeed_json::is_deeper;
use serde_json::Value;

/// How deep a value nests, in lists and objects: found out only as far as it is asked for.
pub(super) enum Nesting<'a> {
    Of(View<'a>),
    Default(&'a Value),
}

impl Nesting<'_> {
    /// Whether lists and objects nest deeper than `limit` within each other. A document knows how
    /// deep it is at most, and mostly that is all that is looked at.
    pub(super) fn is_deeper(&self, limit: usize) -> bool {
        match self {
            Self::Of(view) => is_view_deeper(view, limit),
            Self::Default(value) => is_deeper(value, limit),
        }
    }
}

/// Depth is bounded by the expression and by the data.
fn is_view_deeper(view: &View<'_>, limit: usize) -> bool {
    if let Some(cursor) = view.as_cursor() {
        return cursor.is_deeper(limit);
    }
    let Some(_) = view.len() else { return false };
    let Some(limit) = limit.checked_sub(1) else {
        return true;
    };
    view.items().any(|item| is_view_deeper(&item, limit))
        || view
            .members()
            .any(|(_, value)| is_view_deeper(&value, limit))
}
