//! Raises the limit of open descriptors as far as the system allows.

/// Limits of open descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// Of this process.
    pub(super) limit: usize,
    /// Of its children, unless they ask for more: the limit at the start of this process.
    pub(super) inherited: usize,
}

/// Raises the soft limit to the hard one. Shells and service managers start processes with a lower one for programs that
/// use `select`, which fails above 1,024; this program does not use it.
#[cfg(unix)]
pub(super) fn raise() -> Option<Descriptors> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let size =
        |limit: Option<u64>| limit.map_or(MAX_DESCRIPTORS, |limit| limit.min(MAX_DESCRIPTORS));
    let raised = Rlimit {
        current: Some(size(maximum)),
        maximum,
    };
    // Some systems allow less than the hard limit.
    let limit = if size(current) < size(maximum) && setrlimit(Resource::Nofile, raised).is_ok() {
        size(maximum)
    } else {
        size(current)
    };
    Some(Descriptors {
        limit: usize::try_from(limit).unwrap_or(usize::MAX),
        inherited: usize::try_from(size(current)).unwrap_or(usize::MAX),
    })
}

/// More than a gateway can use, even if the system has no limit.
#[cfg(unix)]
const MAX_DESCRIPTORS: u64 = 1 << 20;

/// There is no such limit.
#[cfg(not(unix))]
pub(super) fn raise() -> Option<Descriptors> {
    None
}
