//! What the machine allows, and the limits that follow from it where the configuration names none.
//!
//! What comes in: numbers that the command read from the system. What goes out: [`Limits`]. Deliberately not
//! here: reading the system.

use super::Limits;

/// What the system allows this process. `None`: nothing is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Machine {
    /// Bytes of memory: the least of what the machine has, the control group may use, and the address space
    /// may hold.
    pub memory_bytes: Option<usize>,
}

impl Machine {
    /// The same with this much memory.
    #[must_use]
    pub fn with_memory_bytes(mut self, bytes: impl Into<Option<usize>>) -> Self {
        self.memory_bytes = bytes.into();
        self
    }
}

/// The budget where the memory of the machine is not known.
const DEFAULT_MEMORY: usize = 1 << 30;
/// The smallest and the largest default of the budget.
const LEAST_MEMORY: usize = 256 << 20;
const MOST_MEMORY: usize = 4 << 30;
/// The largest default of one message.
const MOST_MESSAGE: usize = 64 << 20;

impl Limits {
    /// The defaults on this machine.
    #[must_use]
    pub fn of_machine(machine: &Machine) -> Self {
        let memory = machine.memory_bytes.map_or(DEFAULT_MEMORY, |bytes| {
            (bytes / 2).clamp(LEAST_MEMORY, MOST_MEMORY)
        });
        Self::of_memory(memory)
    }

    /// The defaults where all that is held may take this many bytes: a quarter of it for results, a quarter of
    /// these for one session, an eighth of it for one message.
    #[must_use]
    pub fn of_memory(memory_bytes: usize) -> Self {
        let total_bytes = memory_bytes / 4;
        Self {
            memory_bytes,
            message_bytes: (memory_bytes / 8).min(MOST_MESSAGE),
            total_bytes,
            session_bytes: total_bytes / 4,
            ..Self::fixed()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(machine: Option<usize>, memory: usize, message: usize, total: usize, session: usize) {
        let limits = Limits::of_machine(&Machine::default().with_memory_bytes(machine));
        let sizes = [
            limits.memory_bytes,
            limits.message_bytes,
            limits.total_bytes,
            limits.session_bytes,
        ];
        let expected = [memory, message, total, session].map(|mib| mib << 20);
        assert_eq!(sizes, expected, "{machine:?}");
    }

    #[test]
    fn limits_are_shares_of_the_memory_of_the_machine() {
        check(None, 1024, 64, 256, 64);
        check(Some(64 << 20), 256, 32, 64, 16);
        check(Some(4 << 30), 2048, 64, 512, 128);
        check(Some(64 << 30), 4096, 64, 1024, 256);
    }
}
