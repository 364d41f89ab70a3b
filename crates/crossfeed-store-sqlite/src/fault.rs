//! What SQLite and the file system say, in the words of the contract.

use crate::rows::is_unreadable;
use crossfeed_store::{Damage, StoreError};
use rusqlite::{Error as SqliteError, ErrorCode};
use std::{
    io::{self, ErrorKind},
    time::Duration,
};

/// Says what SQLite's error means; `waited` is how long it waited for a lock.
pub(crate) fn sqlite(error: SqliteError, waited: Duration) -> StoreError {
    let code = match &error {
        SqliteError::SqliteFailure(failure, _) => failure.code,
        error if is_unreadable(error) => ErrorCode::DatabaseCorrupt,
        _ => ErrorCode::Unknown,
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Locked {
            waited,
            source: error.into(),
        },
        ErrorCode::DiskFull => StoreError::NoSpace {
            source: error.into(),
        },
        ErrorCode::ReadOnly => StoreError::ReadOnly {
            source: Some(error.into()),
        },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(error),
        _ => StoreError::Unavailable {
            source: error.into(),
            retry: false,
        },
    }
}

pub(crate) fn damaged(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> StoreError {
    StoreError::Damaged {
        damage: Damage::Database,
        source: Some(error.into()),
    }
}

/// Says what the file system's error means.
pub(crate) fn io(error: io::Error) -> StoreError {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::NoSpace {
            source: error.into(),
        },
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly {
            source: Some(error.into()),
        },
        _ => StoreError::Unavailable {
            source: error.into(),
            retry: false,
        },
    }
}
