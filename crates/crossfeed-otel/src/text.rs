//! Texts that are not attributes: names of spans and events.

use crate::{Outcome, Reader};
use crossfeed_projection::WITHHELD;
use std::borrow::Cow;

/// Strips a name in place. Spans and events have one, whatever the policy says.
pub(crate) fn strip_name(reader: &Reader<'_>, name: &mut Cow<'static, str>) {
    match reader.strip("", name) {
        Outcome::Unchanged => {}
        Outcome::Text(stripped) => *name = stripped.into(),
        Outcome::Dropped => *name = WITHHELD.into(),
    }
}
