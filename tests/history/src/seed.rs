//! Random numbers that a seed repeats.

use std::sync::atomic::{AtomicU64, Ordering};

/// A SplitMix64 generator. Parts of the run that take turns unpredictably get a [`fork`](Seed::fork) each, so that what one
/// of them draws does not change what another draws.
#[derive(Debug)]
pub struct Seed {
    state: AtomicU64,
}

impl Seed {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Seed {
            state: AtomicU64::new(seed),
        }
    }

    /// A generator of its own for the part with this label.
    #[must_use]
    pub fn fork(&self, label: &str) -> Seed {
        let start = self.state.load(Ordering::Relaxed);
        let mixed = label
            .bytes()
            .fold(start, |state, byte| mix(state ^ u64::from(byte)));
        Seed::new(mixed)
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        mix(self
            .state
            .fetch_add(STEP, Ordering::Relaxed)
            .wrapping_add(STEP))
    }

    /// A number from 0 up to, but without, `end`.
    pub fn below(&self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    /// True in `percent` of a hundred draws.
    pub fn chance(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of these, or nothing where there are none.
    pub fn pick<'a, T>(&self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len() as u64);
        from.get(usize::try_from(index).unwrap_or_default())
    }
}

fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    use super::Seed;

    #[test]
    fn the_same_seed_draws_the_same_numbers() {
        let draw = |seed: &Seed| (0..5).map(|_| seed.below(1000)).collect::<Vec<_>>();
        assert_eq!(draw(&Seed::new(7)), draw(&Seed::new(7)));
        assert_ne!(draw(&Seed::new(7)), draw(&Seed::new(8)));
        assert_eq!(
            draw(&Seed::new(7).fork("faults")),
            draw(&Seed::new(7).fork("faults"))
        );
        assert_ne!(
            draw(&Seed::new(7).fork("faults")),
            draw(&Seed::new(7).fork("clients"))
        );
    }
}
