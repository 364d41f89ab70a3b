//! Turns errors of SQLite and the file system into errors of the contract.

use crate::header::is_unreadable;
use crossfeed_store::{Damage, StoreError};
use rusqlite::{Error as SqliteError, ErrorCode};
use std::{
    borrow::Cow,
    error::Error,
    io::{self, ErrorKind},
    time::Duration,
};

/// An error, and the file that it is about, as seen from the store's directory.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {error}")]
pub(crate) struct NamedError<E> {
    pub(crate) file: Cow<'static, str>,
    pub(crate) error: E,
}

fn named<E: Error + Send + Sync + 'static>(
    file: impl Into<Cow<'static, str>>,
    error: E,
) -> Box<dyn Error + Send + Sync> {
    let file = file.into();
    Box::new(NamedError { file, error })
}

/// The store error for an error of SQLite in a database; `waited` is how long it waited for a lock.
pub(crate) fn sqlite(database: &'static str, error: SqliteError, waited: Duration) -> StoreError {
    let code = match &error {
        SqliteError::SqliteFailure(failure, _) => failure.code,
        error if is_unreadable(error) => ErrorCode::DatabaseCorrupt,
        _ => ErrorCode::Unknown,
    };
    let source = named(database, error);
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
            StoreError::Locked { waited, source }
        }
        ErrorCode::DiskFull => StoreError::NoSpace { source },
        ErrorCode::ReadOnly => StoreError::ReadOnly {
            source: Some(source),
        },
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(source),
        _ => unavailable(source),
    }
}

pub(crate) fn damaged(error: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    StoreError::Damaged {
        damage: Damage::Database,
        source: Some(error.into()),
    }
}

pub(crate) fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> StoreError {
    StoreError::Unavailable {
        source: source.into(),
        retry: false,
    }
}

/// Whether SQLite could not open one of its files; it does not say why.
pub(crate) fn is_about_opening(error: &StoreError) -> bool {
    let StoreError::Unavailable { source, .. } = error else {
        return false;
    };
    matches!(
        source.downcast_ref(),
        Some(NamedError { error: SqliteError::SqliteFailure(failure, _), .. })
            if failure.code == ErrorCode::CannotOpen
    )
}

/// The store error for a file that cannot be read.
pub(crate) fn reading(file: impl Into<Cow<'static, str>>, error: io::Error) -> StoreError {
    unavailable(named(file, error))
}

/// The store error for a file that cannot be written.
pub(crate) fn writing(file: impl Into<Cow<'static, str>>, error: io::Error) -> StoreError {
    let kind = error.kind();
    let source = named(file, error);
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StoreError::NoSpace { source },
        kind if is_refusal(kind) => StoreError::ReadOnly {
            source: Some(source),
        },
        _ => unavailable(source),
    }
}

/// Whether writing is forbidden, rather than failing.
pub(crate) fn is_refusal(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}
