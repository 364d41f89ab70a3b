//! Reads the limits of the machine from `/proc` and control groups, if the system has them.

use crossfeed_gateway::config::Machine;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Reads the limits; those that the system does not report stay unknown.
pub(super) fn read() -> Machine {
    let proc_file =
        |name: &str| fs::read_to_string(Path::new("/proc").join(name)).unwrap_or_default();
    let limits = proc_file("self/limits");
    let group = |file: PathBuf| fs::read_to_string(file).ok();
    let memory = [
        memory_total(&proc_file("meminfo")),
        soft_limit(&limits, "Max address space"),
        group_memory(&proc_file("self/cgroup"), &group),
    ];
    Machine::default().with_memory_bytes(memory.into_iter().flatten().min())
}

/// The memory of the machine, by `/proc/meminfo`.
fn memory_total(meminfo: &str) -> Option<usize> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// A soft limit by `/proc/self/limits`, where the first of two columns of numbers is the soft one.
fn soft_limit(limits: &str, name: &str) -> Option<usize> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The lowest memory limit of the control groups around the process, by `/proc/self/cgroup`.
fn group_memory(groups: &str, file: &dyn Fn(PathBuf) -> Option<String>) -> Option<usize> {
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':');
        let (number, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
        let (root, name) = match (number, controllers) {
            ("0", "") => ("/sys/fs/cgroup", "memory.max"),
            (_, list) if list.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group = Path::new(group.trim_start_matches('/'));
        // In a namespace the group's path may not exist, and the root is the group.
        let levels = group
            .ancestors()
            .map(|level| Path::new(root).join(level).join(name));
        levels
            .filter_map(|path| file(path)?.trim().parse().ok())
            .min()
    };
    groups.lines().filter_map(of_line).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_as_the_system_writes_it() {
        let meminfo = "MemTotal:       24000000 kB\nMemFree:  1 kB\n";
        assert_eq!(memory_total(meminfo), Some(24_576_000_000));
        assert_eq!(memory_total(""), None);
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
                      Max address space         4294967296           unlimited            bytes\n\
                      Max open files            1024                 524288               files\n";
        assert_eq!(soft_limit(limits, "Max address space"), Some(4 << 30));
        assert_eq!(soft_limit(limits, "Max open files"), Some(1024));
        assert_eq!(
            soft_limit(
                &limits.replace("4294967296", "unlimited "),
                "Max address space"
            ),
            None
        );
    }

    #[test]
    fn the_tightest_group_around_the_process_counts() {
        let check = |groups: &str, files: &[(&str, &str)], expected: Option<usize>| {
            let file = |path: PathBuf| {
                let found = files.iter().find(|(name, _)| Path::new(name) == path);
                found.map(|(_, text)| (*text).to_owned())
            };
            assert_eq!(group_memory(groups, &file), expected, "{groups}");
        };
        let nested = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/memory.max", "2000\n"),
        ];
        check("0::/a/b\n", &nested, Some(1000));
        check("0::/other\n", &nested, Some(2000));
        let first = [("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "77\n")];
        check("5:cpu:/x\n4:memory,hugetlb:/x\n", &first, Some(77));
        check("", &nested, None);
    }
}
