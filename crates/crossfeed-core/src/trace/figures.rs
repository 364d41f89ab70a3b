//! Figures that are sums over a session.

use super::{Instrument, Telemetry};

/// Takes how many more tokens were kept out of the context, or fewer.
pub(crate) fn avoided(telemetry: &dyn Telemetry, before: i64, after: i64) {
    let more = after.saturating_sub(before);
    if more != 0 {
        telemetry.measure(Instrument::TokensAvoided, more as f64, &[]);
    }
}
