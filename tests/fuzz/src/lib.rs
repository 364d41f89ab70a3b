//! What crossfeed reads from strangers, one function each, to be run on any bytes.
//!
//! Each target checks the laws that hold for every input, and that it takes no more memory than its
//! bound. `tests/replay.rs` runs them on the committed corpora and on mutations of these; `libfuzzer/`
//! runs them under coverage-guided fuzzing.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a target panics where a law is broken: that is its answer"
)]

mod gateway;
pub mod mutate;
mod sse;
mod stages;

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// Something that reads bytes of strangers.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Target {
    /// Its name, and that of its folder in `corpora/`.
    pub name: &'static str,
    read: fn(&[u8]),
    /// How many bytes it may take for each byte of input at most.
    per_byte: usize,
    /// How many bytes it may take for any input.
    fixed: usize,
}

const KIB: usize = 1024;

/// All of them.
pub const TARGETS: [Target; 10] = [
    target("messages", gateway::message, 16, 64 * KIB),
    target("server-sent-events", sse::events, 16, 128 * KIB),
    target("tool-lists", gateway::tool_list, 512, 8 * KIB * KIB),
    target("arguments", gateway::arguments, 64, 2 * KIB * KIB),
    target("selectors", stages::selector, 256, 8 * KIB * KIB),
    target("edits", stages::edit, 512, 2 * KIB * KIB),
    target("statements", stages::statement, 512, 4 * KIB * KIB),
    target("schemas", stages::schema, 512, 4 * KIB * KIB),
    target("configurations", gateway::configuration, 256, KIB * KIB),
    target("otlp", stages::otlp, 64, KIB * KIB),
];

const fn target(name: &'static str, read: fn(&[u8]), per_byte: usize, fixed: usize) -> Target {
    Target {
        name,
        read,
        per_byte,
        fixed,
    }
}

impl Target {
    /// The target of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TARGETS.into_iter().find(|target| target.name == name)
    }

    /// Makes what is made once for all inputs, so that it is not charged to the first.
    pub fn warm_up(&self) {
        (self.read)(b"0{}");
    }

    /// Reads one input and gives the most bytes that this took at any time. Measures the whole process: only
    /// one thread may work.
    ///
    /// # Panics
    ///
    /// When a law is broken, or more memory was taken than the target may.
    pub fn run(&self, input: &[u8]) -> usize {
        ALLOCATOR.reset_peak_usage();
        let before = ALLOCATOR.current_usage();
        (self.read)(input);
        let taken = ALLOCATOR.peak_usage().saturating_sub(before);
        let most = self.fixed + self.per_byte * input.len();
        assert!(
            taken <= most,
            "{}: {} bytes of input took {taken} bytes of memory, more than {most}",
            self.name,
            input.len(),
        );
        taken
    }
}

/// Runs something asynchronous to its end, on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
        .block_on(future)
}
