//! Keeps panics from the pipeline that exports.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `strip` gives; where it panics, what `withhold` gives.
///
/// The policy guards each text by it, and the wrappers what surrounds the texts. Nothing that `strip`
/// leaves half done may be used afterwards: `withhold` begins anew or clears it.
#[inline]
pub(crate) fn guarded<T>(strip: impl FnOnce() -> T, withhold: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(strip)).unwrap_or_else(|panic| {
        // To drop it could run code of the host, which could panic again.
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
