//! The limits of an evaluation.

use crossfeed_json::Tables;
use derive_setters::Setters;
use std::{
    cell::Cell,
    time::{Duration, Instant},
};

/// How much one selection may cost; the defaults are those of the specification.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Limits {
    /// Steps that every selection has: 1,000,000, some tens of milliseconds.
    pub base_steps: u64,
    /// Further steps for each value of the document: 50, enough for a filter with several
    /// comparisons and a multiselect over every record.
    pub steps_per_value: u64,
    /// Bytes of output, and of intermediate text: 64 MiB.
    pub output_bytes: usize,
    /// Time for all readings of a selection: 1 s.
    pub time: Duration,
    /// When side tables are built beside a document; by default where they pay. They change neither the
    /// outcome of a selection nor its steps.
    pub tables: Tables,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            base_steps: 1_000_000,
            steps_per_value: 50,
            output_bytes: 64 << 20,
            time: Duration::from_secs(1),
            tables: Tables::WherePaying,
        }
    }
}

/// The limit that an evaluation would have exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cost {
    /// More steps than the document's size allows.
    #[error("the evaluation takes more than {limit} steps")]
    Steps {
        /// The steps it could have taken.
        limit: u64,
    },
    /// More intermediate text than allowed.
    #[error("the evaluation builds more than {limit} bytes of text")]
    Text {
        /// The bytes it could have built.
        limit: usize,
    },
    /// More time than allowed.
    #[error("the evaluation takes more than {} ms", limit.as_millis())]
    Time {
        /// The time it could have taken.
        limit: Duration,
    },
    /// Not enough of the host's [memory](crate::Memory) for now, through no fault of the expression.
    #[error("there is no memory left for what the evaluation builds")]
    Memory,
}

/// The rest of the limits of one selection, for all of its readings.
#[derive(Debug)]
#[must_use]
pub struct Budget {
    steps_left: Cell<u64>,
    /// Steps left when the clock is read next.
    next_look: Cell<u64>,
    text_left: Cell<usize>,
    steps: Cell<u64>,
    limits: Limits,
    /// Set at the first look at the clock, unless it was given.
    deadline: Cell<Option<Instant>>,
    /// The deadline of the caller that waits for the selection.
    latest: Option<Instant>,
}

/// Steps between two looks at the clock: some tens of microseconds. A single larger cost has its own look.
const LOOK_EVERY: u64 = 4096;

/// More time than anything takes, and too little to overflow the clock.
const FOREVER: Duration = Duration::from_secs(1 << 32);

impl Budget {
    /// A budget for a selection from a document of `values` values. Its time begins at the first look
    /// at the clock, some tens of microseconds into the selection: most end before, and need none.
    pub fn new(limits: &Limits, values: usize) -> Self {
        let steps = limits
            .steps_per_value
            .saturating_mul(values as u64)
            .saturating_add(limits.base_steps);
        Self {
            steps_left: Cell::new(steps),
            next_look: Cell::new(steps.saturating_sub(LOOK_EVERY)),
            text_left: Cell::new(limits.output_bytes),
            steps: Cell::new(steps),
            limits: limits.clone(),
            deadline: Cell::new(None),
            latest: None,
        }
    }

    /// The budget, with its time limited to `deadline` if that comes first.
    pub fn until(mut self, deadline: Instant) -> Self {
        self.latest = Some(self.latest.map_or(deadline, |known| known.min(deadline)));
        self
    }

    /// Adds the steps for `values` more values: JSON that was opened in a string.
    pub(crate) fn extend(&self, values: usize) {
        self.add(self.limits.steps_per_value.saturating_mul(values as u64));
    }

    fn add(&self, steps: u64) {
        self.steps.set(self.steps.get().saturating_add(steps));
        self.steps_left
            .set(self.steps_left.get().saturating_add(steps));
        self.next_look
            .set(self.next_look.get().saturating_add(steps));
    }

    /// Covers the reading of `bytes` of JSON in a text. Like the document itself it takes none of the
    /// steps, but the clock is looked at as often as for other work of that size.
    pub(crate) fn read_json(&self, bytes: usize) -> Result<(), Cost> {
        let steps = bytes as u64 / 16 + 1;
        self.add(steps);
        self.spend(steps)
    }

    /// Reads `bytes` of JSON in a text: like reading the document itself it takes none of the
    /// selection's own time.
    pub(crate) fn untimed<T>(&self, bytes: usize, read: impl FnOnce() -> T) -> T {
        /// Shorter texts are read in some ten microseconds.
        const SHORT: usize = 64 << 10;
        let Some(deadline) = self.deadline.get().filter(|_| bytes > SHORT) else {
            return read();
        };
        let began = Instant::now();
        let value = read();
        let later = deadline + began.elapsed();
        let later = self.latest.map_or(later, |latest| later.min(latest));
        self.deadline.set(Some(later));
        value
    }

    /// Takes `steps` from those left.
    ///
    /// # Errors
    ///
    /// [`Cost`] when that many are not left, or the time is over.
    #[inline]
    pub fn spend(&self, steps: u64) -> Result<(), Cost> {
        let Some(left) = self.steps_left.get().checked_sub(steps) else {
            return Err(Cost::Steps {
                limit: self.steps.get(),
            });
        };
        self.steps_left.set(left);
        if left < self.next_look.get() {
            return self.look();
        }
        Ok(())
    }

    /// Runs what may be left undone: on half of the steps that are left, so that what follows has the other half.
    pub fn spare<T>(&self, run: impl FnOnce() -> T) -> T {
        let kept = self.steps_left.get() / 2;
        self.steps_left.set(self.steps_left.get() - kept);
        self.next_look
            .set(self.next_look.get().saturating_sub(kept));
        let outcome = run();
        self.steps_left.set(self.steps_left.get() + kept);
        self.next_look.set(self.next_look.get() + kept);
        outcome
    }

    #[cold]
    fn look(&self) -> Result<(), Cost> {
        self.next_look
            .set(self.steps_left.get().saturating_sub(LOOK_EVERY));
        self.tick()
    }

    /// Looks at the clock: for work that takes no steps.
    #[cold]
    pub(crate) fn tick(&self) -> Result<(), Cost> {
        let now = Instant::now();
        if now > self.deadline(now) {
            return Err(Cost::Time {
                limit: self.limits.time,
            });
        }
        Ok(())
    }

    pub(crate) fn deadline(&self, now: Instant) -> Instant {
        self.deadline.get().unwrap_or_else(|| {
            let own = now + self.limits.time.min(FOREVER);
            let deadline = self.latest.map_or(own, |latest| own.min(latest));
            self.deadline.set(Some(deadline));
            deadline
        })
    }

    /// Whether building a side table may go on: for half of the time left at the first call, so that a walk
    /// has the other half.
    pub(crate) fn building(&self) -> impl FnMut() -> bool + '_ {
        let mut until = None;
        move || {
            let now = Instant::now();
            let left = self.deadline(now).saturating_duration_since(now);
            now <= *until.get_or_insert(now + left / 2)
        }
    }

    #[cfg(test)]
    pub(crate) fn steps_left(&self) -> u64 {
        self.steps_left.get()
    }

    /// When side tables are built.
    pub(crate) fn tables(&self) -> Tables {
        self.limits.tables
    }

    /// Takes the steps for reading `bytes` of text, before it is read: none for a short one.
    #[inline]
    pub(crate) fn read_text(&self, bytes: usize) -> Result<(), Cost> {
        match bytes as u64 / 64 {
            0 => Ok(()),
            steps => self.spend(steps),
        }
    }

    /// Takes `bytes` of built text, and the steps for it.
    pub(crate) fn build_text(&self, bytes: usize) -> Result<(), Cost> {
        let Some(left) = self.text_left.get().checked_sub(bytes) else {
            return Err(Cost::Text {
                limit: self.limits.output_bytes,
            });
        };
        self.text_left.set(left);
        self.spend(bytes as u64 / 64)
    }

    /// Bytes of text that may still be built.
    pub(crate) fn text_left(&self) -> usize {
        self.text_left.get()
    }

    /// Bytes of output that are allowed.
    pub fn output_bytes(&self) -> usize {
        self.limits.output_bytes
    }
}
