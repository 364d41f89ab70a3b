//! Pipes that take a large message at once.
//!
//! Linux makes pipes of 64 KiB: for a megabyte, both sides wake up sixteen times.

#[cfg(target_os = "linux")]
use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest pipe that any user may have on Linux (`fs.pipe-max-size`).
#[cfg(target_os = "linux")]
const WIDE_BYTES: usize = 1 << 20;
/// How many there are at once: a quarter of what a user's pipes may take before the system gives the next ones less
/// (`fs.pipe-user-pages-soft`).
const MAX_WIDE: usize = 16;

static WIDE: AtomicUsize = AtomicUsize::new(0);

/// One of the few that may be wide, until it is dropped.
#[derive(Debug)]
pub(crate) struct Wide(());

impl Wide {
    /// Enlarges a pipe. None where there are as many already, or the system does not support it: that is not an error.
    #[cfg(target_os = "linux")]
    pub(crate) fn pipe(pipe: impl std::os::fd::AsFd) -> Option<Self> {
        let wide = Self::one()?;
        let is_small = fcntl_getpipe_size(&pipe).is_ok_and(|bytes| bytes < WIDE_BYTES);
        (is_small && fcntl_setpipe_size(&pipe, WIDE_BYTES).is_ok()).then_some(wide)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn pipe<T>(_: T) -> Option<Self> {
        None
    }

    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only pipes of Linux")
    )]
    fn one() -> Option<Self> {
        let more = |wide: usize| (wide < MAX_WIDE).then_some(wide + 1);
        let taken = WIDE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.is_ok().then(|| Self(()))
    }
}

impl Drop for Wide {
    fn drop(&mut self) {
        WIDE.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{MAX_WIDE, WIDE_BYTES, Wide};
    use rustix::pipe::{fcntl_getpipe_size, fcntl_setpipe_size, pipe};

    #[test]
    fn a_few_pipes_are_wide() {
        let mut wide = Vec::new();
        for _ in 0..=MAX_WIDE {
            let (end, _other) = pipe().unwrap();
            let before = fcntl_getpipe_size(&end).unwrap();
            match Wide::pipe(&end) {
                Some(one) => {
                    assert!(fcntl_getpipe_size(&end).unwrap() >= WIDE_BYTES);
                    wide.push(one);
                }
                None => assert_eq!(fcntl_getpipe_size(&end).unwrap(), before),
            }
        }
        // Other tests start processes meanwhile, and take some places.
        assert!((1..=MAX_WIDE).contains(&wide.len()), "{}", wide.len());
        drop(wide);
        // What is as large already stays, and takes no place.
        let (end, _other) = pipe().unwrap();
        fcntl_setpipe_size(&end, WIDE_BYTES).unwrap();
        assert!(Wide::pipe(&end).is_none());
    }
}
