//! Shuts a process off from files, network and other processes, as far as the system lets a process do so to itself.

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
    /// Whether all of it is there.
    pub fn is_whole(self) -> bool {
        self.limits && self.files && self.calls
    }

    /// Shuts this process off. It has read all that it reads besides its pipes.
    pub(crate) fn enter(memory_bytes: u64) -> Self {
        Self {
            limits: limit(memory_bytes),
            files: close_files(),
            calls: close_calls(),
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
    /// Seconds of processor time of one worker: more than any owner needs, less than one that was left behind may use.
    const CPU_SECONDS: u64 = 3600;
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

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetStatus, Scope,
    };
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

    /// No path is allowed, so every file is closed; network and signals, too, where the system knows these.
    pub(super) fn close_files() -> bool {
        let abi = ABI::V6;
        let close = || {
            let rules = Ruleset::default()
                .handle_access(AccessFs::from_all(abi))?
                .handle_access(AccessNet::from_all(abi))?
                .scope(Scope::from_all(abi))?
                .create()?;
            rules.restrict_self()
        };
        let closed: Result<_, landlock::RulesetError> = close();
        closed.is_ok_and(|status| status.ruleset != RulesetStatus::NotEnforced)
    }

    /// What computing takes, and reading and writing the pipes. Everything else fails with `EPERM`.
    const CALLS: [i64; 32] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_readv,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_lseek,
        libc::SYS_fstat,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_gettimeofday,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_getuid,
        libc::SYS_geteuid,
        libc::SYS_restart_syscall,
        libc::SYS_sched_getaffinity,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];

    pub(super) fn close_calls() -> bool {
        let Ok(target) = TargetArch::try_from(std::env::consts::ARCH) else {
            return false;
        };
        let rules = CALLS.map(|call| (call, Vec::new())).into();
        let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let filter = SeccompFilter::new(rules, refuse, SeccompAction::Allow, target);
        let program = filter
            .ok()
            .and_then(|filter| BpfProgram::try_from(filter).ok());
        program.is_some_and(|program| seccompiler::apply_filter(&program).is_ok())
    }
}

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
use linux::{close_calls, close_files};

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn close_files() -> bool {
    false
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
fn close_calls() -> bool {
    false
}

#[cfg(all(
    test,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod tests {
    use super::linux::{close_calls, close_files};
    use std::{
        fs, io,
        net::{TcpListener, TcpStream, UdpSocket},
        os::unix::net::{UnixDatagram, UnixStream},
        thread,
    };

    /// What a process might do to others, and whether it was done.
    fn attempts() -> Vec<(&'static str, bool)> {
        let read = |path: &str| fs::read(path).is_ok();
        let temporary = std::env::temp_dir().join("crossfeed-sandbox-test");
        vec![
            ("reads a file", read("/etc/passwd")),
            ("reads itself", read("/proc/self/exe")),
            ("reads its environment", read("/proc/self/environ")),
            ("reads a device", fs::File::open("/dev/zero").is_ok()),
            ("lists a directory", fs::read_dir("/").is_ok()),
            ("writes a file", fs::write(&temporary, "x").is_ok()),
            ("makes a directory", fs::create_dir(&temporary).is_ok()),
            (
                "makes a link",
                std::os::unix::fs::symlink("/etc/passwd", &temporary).is_ok(),
            ),
        ]
    }

    /// What only the filter of calls refuses.
    fn other_attempts() -> Vec<(&'static str, bool)> {
        let is_refused = |error: io::Error| error.raw_os_error() == Some(libc::EPERM);
        let tcp = TcpStream::connect("127.0.0.1:9").map(drop);
        vec![
            ("looks at a file", fs::metadata("/etc/passwd").is_ok()),
            ("connects", !tcp.is_err_and(is_refused)),
            ("listens", TcpListener::bind("127.0.0.1:0").is_ok()),
            ("sends datagrams", UdpSocket::bind("127.0.0.1:0").is_ok()),
            ("opens a local socket", UnixDatagram::unbound().is_ok()),
            ("opens a pair of sockets", UnixStream::pair().is_ok()),
            ("opens a pipe", io::pipe().is_ok()),
            (
                "starts a thread",
                thread::Builder::new().spawn(|| ()).is_ok(),
            ),
            (
                "kills",
                rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::CONT,
                )
                .is_ok(),
            ),
            (
                "changes its limits",
                rustix::process::setrlimit(
                    rustix::process::Resource::Core,
                    rustix::process::Rlimit {
                        current: Some(0),
                        maximum: Some(0),
                    },
                )
                .is_ok(),
            ),
        ]
    }

    fn done(attempts: Vec<(&'static str, bool)>) -> Vec<&'static str> {
        attempts
            .into_iter()
            .filter(|(_, done)| *done)
            .map(|(name, _)| name)
            .collect()
    }

    /// Each thread shuts off itself only.
    fn apart<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
        thread::spawn(run).join().unwrap()
    }

    #[test]
    fn no_file_is_reached_where_files_are_closed() {
        assert!(apart(|| done(attempts())).contains(&"reads a file"));
        let Some(found) = apart(|| close_files().then(|| done(attempts()))) else {
            println!("skip: this system has no landlock");
            return;
        };
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn nothing_is_reached_where_calls_are_closed() {
        let (files, others) = apart(|| {
            assert!(close_calls());
            (done(attempts()), done(other_attempts()))
        });
        assert_eq!(files, [""; 0]);
        assert_eq!(others, [""; 0]);
    }
}
