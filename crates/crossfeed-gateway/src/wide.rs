//! Pipes that take a large message at once.
//!
//! What comes in: a pipe. What goes out: whether it takes more than what the system gives it, which is 64 KiB on
//! Linux: with that, whoever writes a megabyte is woken sixteen times. Deliberately not here: reading and writing.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What any user may have on Linux (`fs.pipe-max-size`).
#[cfg(target_os = "linux")]
const BYTES: usize = 1 << 20;
/// How many there are at once: a quarter of what a user's pipes may take before the system gives the next ones less
/// (`fs.pipe-user-pages-soft`).
const MOST: usize = 16;

static WIDE: AtomicUsize = AtomicUsize::new(0);

/// One of the few that may be wide, until it is dropped.
#[derive(Debug)]
pub(crate) struct Wide(());

impl Wide {
    /// Has a pipe take more. None where there are as many already, or the system does not do so: that is no error.
    #[cfg(target_os = "linux")]
    pub(crate) fn pipe(pipe: impl std::os::fd::AsFd) -> Option<Self> {
        let wide = Self::one()?;
        let widened = rustix::pipe::fcntl_setpipe_size(pipe, BYTES);
        widened.is_ok().then_some(wide)
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
        let more = |wide: usize| (wide < MOST).then_some(wide + 1);
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
    use super::{BYTES, MOST, Wide};
    use rustix::pipe::{fcntl_getpipe_size, pipe};

    #[test]
    fn a_few_pipes_are_wide() {
        let mut wide = Vec::new();
        // Other tests start processes meanwhile.
        for _ in 0..=MOST {
            let (end, _other) = pipe().unwrap();
            let before = fcntl_getpipe_size(&end).unwrap();
            match Wide::pipe(&end) {
                Some(one) => {
                    assert!(fcntl_getpipe_size(&end).unwrap() >= BYTES);
                    wide.push(one);
                }
                None => assert_eq!(fcntl_getpipe_size(&end).unwrap(), before),
            }
        }
        assert!(wide.len() <= MOST, "{}", wide.len());
    }
}
