//! What the system says about processes: how many there are, and what they hold.

use std::fs;
use std::io;

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, prlimit};

/// Sends a signal. A process that is gone is not an error.
pub(crate) fn signal(process: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Lets a process have only a few more descriptors than it has. Gives the limit before.
pub(crate) fn limit_descriptors(process: u32, more: u64) -> Option<Rlimit> {
    let pid = Pid::from_raw(i32::try_from(process).ok()?)?;
    let held = Usage::of(process).ok()?.descriptors;
    let limit = Rlimit {
        current: Some(u64::try_from(held).ok()? + more),
        // What a process may have at most is the same for all processes of a run.
        maximum: getrlimit(Resource::Nofile).maximum,
    };
    prlimit(Some(pid), Resource::Nofile, limit).ok()
}

/// Puts a limit back.
pub(crate) fn restore_descriptors(process: u32, limit: Rlimit) {
    if let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // A process that is gone has no limit.
        let _ = prlimit(Some(pid), Resource::Nofile, limit);
    }
}

/// The processes whose command line holds all of these texts.
pub(crate) fn with_arguments(texts: &[&str]) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|process: &u32| {
            let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            texts.iter().all(|text| line.contains(text))
        })
        .collect()
}

/// What one process holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) descriptors: i64,
    pub(crate) threads: i64,
    pub(crate) children: i64,
    /// Resident memory in KiB.
    pub(crate) memory: i64,
}

impl Usage {
    /// What a process holds now.
    pub(crate) fn of(process: u32) -> io::Result<Self> {
        let folder = format!("/proc/{process}");
        let status = fs::read_to_string(format!("{folder}/status"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let mut children = 0;
        for task in fs::read_dir(format!("{folder}/task"))? {
            // A thread may end meanwhile.
            let list = fs::read_to_string(task?.path().join("children")).unwrap_or_default();
            children += i64::try_from(list.split_whitespace().count()).unwrap_or(0);
        }
        let descriptors = fs::read_dir(format!("{folder}/fd"))?.count();
        Ok(Usage {
            descriptors: i64::try_from(descriptors).unwrap_or(0),
            threads: field("Threads:"),
            children,
            memory: field("VmRSS:"),
        })
    }
}
