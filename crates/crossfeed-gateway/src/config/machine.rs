//! The limits of the machine, and the gateway's default limits that follow from them.

use super::Limits;
use derive_setters::Setters;

/// The limits of the system for this process, as far as they are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Setters)]
#[setters(prefix = "with_", into)]
#[non_exhaustive]
pub struct Machine {
    /// Bytes of memory: the smallest of the memory of the machine, of the control group, and of the address space.
    pub memory_bytes: Option<usize>,
    /// Descriptors that the process may open.
    pub descriptors: Option<usize>,
}

/// The budget if the memory of the machine is not known.
const DEFAULT_MEMORY: usize = 1 << 30;
/// The smallest and the largest default of the budget.
const MIN_MEMORY: usize = 256 << 20;
const MAX_MEMORY: usize = 4 << 30;
/// The expected memory of a child process: small servers in Python or Node take less.
const PROCESS_MEMORY: usize = 32 << 20;
/// The smallest and the largest default of child processes.
const MIN_PROCESSES: usize = 16;
const MAX_PROCESSES: usize = 1024;
/// Descriptors for each session: its share of connections and one child process.
const SESSION_DESCRIPTORS: usize = 8;
/// The smallest and the largest default of sessions.
const MIN_SESSIONS: usize = 16;
const MAX_SESSIONS: usize = 1024;
/// The largest default of one message.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

impl Limits {
    /// The defaults on this machine.
    pub fn for_machine(machine: &Machine) -> Self {
        let memory = machine.memory_bytes.map_or(DEFAULT_MEMORY, |bytes| {
            (bytes / 2).clamp(MIN_MEMORY, MAX_MEMORY)
        });
        let processes = machine.memory_bytes.map_or(MAX_PROCESSES, |bytes| {
            (bytes / PROCESS_MEMORY).clamp(MIN_PROCESSES, MAX_PROCESSES)
        });
        let sessions = machine.descriptors.map_or(MAX_SESSIONS, |descriptors| {
            (descriptors / SESSION_DESCRIPTORS).clamp(MIN_SESSIONS, MAX_SESSIONS)
        });
        let limits = Self {
            processes,
            sessions,
            ..Self::fixed()
        };
        limits.with_memory(memory)
    }

    /// Sets the memory: a quarter of it is for results, a quarter of these for one session, and an eighth of the
    /// memory for one message.
    pub fn with_memory(self, memory_bytes: usize) -> Self {
        Self {
            memory_bytes,
            message_bytes: (memory_bytes / 8).min(MAX_MESSAGE_BYTES),
            ..self
        }
        .with_total(memory_bytes / 4)
    }

    /// Sets the bytes of results: a quarter of them is for one session.
    pub(super) fn with_total(self, total_bytes: usize) -> Self {
        Self {
            total_bytes,
            session_bytes: total_bytes / 4,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(machine: Option<usize>, memory: usize, message: usize, total: usize, session: usize) {
        let limits = Limits::for_machine(&Machine::default().with_memory_bytes(machine));
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

    #[test]
    fn sessions_and_processes_are_shares_of_what_the_machine_allows() {
        let check = |memory: usize, descriptors: usize, sessions: usize, processes: usize| {
            let machine = Machine::default()
                .with_memory_bytes(memory)
                .with_descriptors(descriptors);
            let limits = Limits::for_machine(&machine);
            assert_eq!((limits.sessions, limits.processes), (sessions, processes));
            // Said memory changes neither.
            let limits = limits.with_memory(1 << 30);
            assert_eq!((limits.sessions, limits.processes), (sessions, processes));
        };
        check(1 << 30, 1024, 128, 32);
        check(24 << 30, 1 << 20, 1024, 768);
        check(64 << 20, 64, 16, 16);
        check(64 << 30, 4096, 512, 1024);
    }
}
