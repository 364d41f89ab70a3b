//! Linux: landlock closes files, seccomp closes everything else.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr as _, RulesetStatus, Scope,
};
use rustix::process::{Signal, set_parent_process_death_signal};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::{collections::BTreeMap, env::consts::ARCH};

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

/// What computing takes. Everything else fails with `EPERM`.
const CALLS: [i64; 25] = [
    libc::SYS_close,
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

/// What reads and writes: the pipes, and no descriptor that the host left open.
const CALLS_ON_PIPES: [i64; 5] = [
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_fstat,
];

pub(super) fn close_calls() -> bool {
    // A host that is gone closes the pipes, which a long function does not look at. Where this is missing, the limit of
    // processor time ends it.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let program = program();
    program.is_ok_and(|program| seccompiler::apply_filter(&program).is_ok())
}

fn program() -> Result<BpfProgram, BackendError> {
    use SeccompCmpArgLen::Dword;
    let target = TargetArch::try_from(ARCH)?;
    let is_pipe = SeccompCondition::new(0, Dword, SeccompCmpOp::Le, 2)?;
    // Memory of its own, of no descriptor.
    let is_anonymous = SeccompCondition::new(4, Dword, SeccompCmpOp::Eq, u32::MAX.into())?;
    let if_pipe = SeccompRule::new(vec![is_pipe])?;
    let if_anonymous = SeccompRule::new(vec![is_anonymous])?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = CALLS.map(|call| (call, Vec::new())).into();
    rules.extend(CALLS_ON_PIPES.map(|call| (call, vec![if_pipe.clone()])));
    rules.insert(libc::SYS_mmap, vec![if_anonymous]);
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, target)?.try_into()
}

#[cfg(test)]
mod tests {
    use super::{close_calls, close_files};
    use std::{
        fs,
        io::{self, Read as _, Write as _},
        net::{TcpListener, TcpStream, UdpSocket},
        os::unix::net::{UnixDatagram, UnixStream},
        thread,
    };

    /// What a process might do to others, and whether it was done.
    fn attempts(left_open: Option<fs::File>) -> Vec<(&'static str, bool)> {
        let read = |path: &str| fs::read(path).is_ok();
        let temporary = std::env::temp_dir().join("crossfeed-sandbox-test");
        vec![
            (
                "reads what was left open",
                left_open.is_some_and(|mut file| file.read(&mut [0]).is_ok()),
            ),
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
        assert!(apart(|| done(attempts(None))).contains(&"reads a file"));
        let Some(found) = apart(|| close_files().then(|| done(attempts(None)))) else {
            // Past the test harness, which shows what a test prints only when it fails.
            writeln!(io::stderr(), "skip: this system has no landlock").unwrap();
            return;
        };
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn nothing_is_reached_where_calls_are_closed() {
        let (files, others) = apart(|| {
            let left_open = fs::File::open("/etc/passwd").ok();
            assert!(close_calls());
            (done(attempts(left_open)), done(other_attempts()))
        });
        assert_eq!(files, [""; 0]);
        assert_eq!(others, [""; 0]);
    }
}
