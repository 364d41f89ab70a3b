//! Shuts a process off from files, network and other processes, as far as the system lets a process do so to itself.

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux;

use serde::{Deserialize, Serialize};

/// How a worker is shut off. What is missing, its limits of time and memory do not replace: `--check` of the gateway
/// says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct Sandbox {
    /// Its memory is bounded, it cannot grow files, and it leaves no image of itself behind.
    pub limits: bool,
    /// It cannot open any file: landlock, of Linux 5.13 and later.
    pub files: bool,
    /// It can make no system call but those that computing takes: seccomp, of Linux.
    pub calls: bool,
}

impl Sandbox {
    /// Shuts this process off. It has read all that it reads besides its pipes.
    pub(crate) fn enter(memory_bytes: u64) -> Self {
        let limits = limit(memory_bytes);
        #[cfg(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        ))]
        let (files, calls) = (linux::close_files(), linux::close_calls());
        // Other systems let no process do so to itself.
        #[cfg(not(all(
            target_os = "linux",
            any(target_arch = "x86_64", target_arch = "aarch64")
        )))]
        let (files, calls) = (false, false);
        Self {
            limits,
            files,
            calls,
        }
    }
}

#[cfg(unix)]
fn limit(memory_bytes: u64) -> bool {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let set = |resource, most| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit).is_ok()
    };
    /// Seconds of processor time of one worker: more than an owner needs.
    const CPU_SECONDS: u64 = 600;
    let others = [
        (Resource::Cpu, CPU_SECONDS),
        (Resource::Core, 0),
        (Resource::Fsize, 0),
    ];
    let others = others.map(|(resource, most)| set(resource, most));
    // Not every system bounds address space.
    set(Resource::As, memory_bytes) && others.iter().all(|done| *done)
}

#[cfg(not(unix))]
fn limit(_: u64) -> bool {
    false
}
