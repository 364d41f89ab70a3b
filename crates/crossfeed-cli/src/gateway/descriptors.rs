//! The limit of open descriptors: raised as far as the system lets.
//!
//! Says what the process may open now, and the limit that its children inherit.

/// How many descriptors may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// By this process.
    pub(super) limit: usize,
    /// By its children, unless they ask for more: what this process was started with.
    pub(super) inherited: usize,
}

/// Raises the soft limit to the hard one. Programs that still use `select` break above 1,024, which is why shells
/// and service managers start processes with less than they allow; this one does not.
#[cfg(unix)]
pub(super) fn raise() -> Option<Descriptors> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let size = |limit: Option<u64>| limit.map_or(MOST, |limit| limit.min(MOST));
    let raised = Rlimit {
        current: Some(size(maximum)),
        maximum,
    };
    // Some systems allow less than the hard limit says.
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

/// More than a gateway can use; without a limit of the system this one holds.
#[cfg(unix)]
const MOST: u64 = 1 << 20;

/// There is no such limit.
#[cfg(not(unix))]
pub(super) fn raise() -> Option<Descriptors> {
    None
}
