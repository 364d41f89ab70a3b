//! The options of a store.

use crossfeed_store::MemoryLimits;
use derive_setters::Setters;
use std::time::Duration;

/// What a result survives once it was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "the disk is waited for, or it is not"
)]
pub enum SqliteDurability {
    /// A crash of the process, also of all that use the store. A loss of power, or a crash of the system, may take the
    /// latest results away, or put back some that had gone; a file that it cuts is noticed.
    #[default]
    Process,
    /// A loss of power, too, as far as the disk keeps what it has confirmed.
    Flushed,
}

/// The options of a [`SqliteStore`](crate::SqliteStore).
///
/// ```
/// use crossfeed_store_sqlite::SqliteOptions;
///
/// // For a command that only looks: the store must exist, and is not written.
/// let options = SqliteOptions::default().with_must_exist(true).with_read_only(true);
/// ```
#[derive(Clone, Debug, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct SqliteOptions {
    /// Limits. Those of artifacts are for the data on the disk, without indexes, whichever process wrote it. So are
    /// those of results that are kept: processes that share a directory should have the same. Those of other results
    /// are for this process's memory.
    pub limits: MemoryLimits,
    /// How long one request waits to write, for others of this process and for another process
    /// together. 5 s: a write takes milliseconds, so a longer one hangs.
    pub busy_timeout: Duration,
    /// Full data beyond this many bytes are files of their own. 256 KiB: the database does not
    /// shrink when a row goes, so large data in rows would keep its room. Small data is written several
    /// times as fast in a row as in a file, which takes three flushes; that ends between 1 and 4 MiB.
    pub file_bytes: usize,
    /// Bytes of artifacts that stay in memory after they were read, index included, so that each is
    /// read and indexed once; and as many of results that are kept. 64 MiB: as much as a session may have of artifacts.
    pub loaded_bytes: usize,
    /// How old a file must be that no row names, before it is removed. 1 hour: no write takes that
    /// long.
    pub orphan_age: Duration,
    /// Whether nothing may be written. Artifacts, and results that are kept, can then be read; results in memory are
    /// recorded as always.
    pub read_only: bool,
    /// Whether results are kept in the directory, too, so that they survive a restart and other processes find them.
    /// Then [`leases`](crossfeed_store::ResultStore::leases) and [`state`](crossfeed_store::ResultStore::state) are
    /// there as well. False: in memory a result costs a microsecond, and kept some hundred. All processes that use a
    /// directory should say the same.
    pub keep_results: bool,
    /// What a result survives where it is kept. A crash of the process: a flush to the disk for each would make it five
    /// times as slow, and a result lives for minutes and can often be had again.
    pub durability: SqliteDurability,
    /// How long a lease of a call in flight lasts where results are kept. 15 s: long enough for a process that is slow,
    /// and short for those who wait for a call of one that has died.
    pub lease: Duration,
    /// How long whoever waits for a call in flight waits before the store is asked again. 250 ms: what this process
    /// changes wakes at once, and a look-up takes less than a millisecond.
    pub poll_interval: Duration,
    /// Whether there must be a store in the directory already; else opening makes one. For a command that
    /// only looks: a mistyped directory then is [`StoreError::Absent`](crossfeed_store::StoreError), and where only
    /// artifacts were kept, results read as unknown and are not recorded.
    pub must_exist: bool,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            limits: MemoryLimits::default(),
            busy_timeout: Duration::from_secs(5),
            file_bytes: 256 << 10,
            loaded_bytes: 64 << 20,
            orphan_age: Duration::from_secs(60 * 60),
            read_only: false,
            keep_results: false,
            durability: SqliteDurability::default(),
            lease: Duration::from_secs(15),
            poll_interval: Duration::from_millis(250),
            must_exist: false,
        }
    }
}
