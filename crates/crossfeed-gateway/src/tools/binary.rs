//! Binary results on their way into parameters.
//!
//! What comes in: arguments that did not fit, and why. What goes out: the same arguments, with the
//! references to images, sounds and other binary results read as the parameter wants them.

use super::list::Offered;
use bytes::Bytes;
use crossfeed_core::{ResolveError, Session};

/// Arguments whose references to binary results give what the parameters take; none where there are
/// no such.
pub(super) async fn fitted(
    _session: &Session,
    _offered: &Offered,
    _written: &Bytes,
    _error: &ResolveError,
) -> Option<Bytes> {
    None
}
