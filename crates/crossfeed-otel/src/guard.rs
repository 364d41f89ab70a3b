//! Keeps panics from the pipeline that exports.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns what `strip` returns or, if it panics, what `withhold` returns.
///
/// The policy guards each text by it, and the wrappers what surrounds the texts. What `strip` leaves half done
/// must not be used: `withhold` starts over or clears it.
#[inline]
pub(crate) fn guarded<T>(strip: impl FnOnce() -> T, withhold: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(strip)).unwrap_or_else(|panic| {
        // Dropping it could run the host's code, which could panic again.
        std::mem::forget(panic);
        withhold()
    })
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_is_withheld() {
        assert_eq!(guarded(|| 1, || 2), 1);
        assert_eq!(guarded(|| panic!("a bug"), || 2), 2);
    }
}
