//! Artifacts on the disk: rows, files, and a cache of artifacts read lately.
//!
//! Runs on a thread that may wait. Every artifact that is read is checked.

use crate::{
    database::Database,
    files::Content,
    header::{Header, is_unreadable, milliseconds},
    options::{SqliteDurability, SqliteOptions},
    rows::{self, Line, Name, RowKey},
};
use bytes::Bytes;
use crossfeed_store::{
    ArtifactLookup, ArtifactMissing, Clock, Damage, Digest, ListedArtifact, ReadCache, Recorded,
    StoreError, StoreMeter, StoredArtifact, Tombstone,
};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use parking_lot::Mutex;
use rusqlite::Connection;
use std::{path::Path, sync::Arc};

/// Acknowledged artifacts survive a loss of power.
const DURABILITY: SqliteDurability = SqliteDurability::Flushed;

/// How often a row is looked up again if its file was removed meanwhile.
pub(crate) const LOOKS: usize = 3;

/// Before all rows that expire.
const START: RowKey = (i64::MIN, i64::MIN);

pub(crate) struct Artifacts {
    options: SqliteOptions,
    clock: Arc<dyn Clock>,
    database: Database,
    loaded: ReadCache<(ArtifactId, CallId), StoredArtifact>,
    meter: Arc<StoreMeter>,
    /// Where noting what has expired goes on with the next `put`, so that rows which have to stay
    /// are passed over.
    retired: Mutex<RowKey>,
}

impl Artifacts {
    pub(crate) fn open(
        directory: &Path,
        options: SqliteOptions,
        clock: Arc<dyn Clock>,
        meter: Arc<StoreMeter>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            database: Database::open(directory, &rows::LAYOUT, &options, DURABILITY, false)?,
            loaded: ReadCache::new(options.loaded_bytes),
            meter,
            retired: Mutex::new(START),
            options,
            clock,
        })
    }

    pub(crate) fn options(&self) -> &SqliteOptions {
        &self.options
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    fn now(&self) -> i64 {
        milliseconds(self.clock.now())
    }

    fn sql<T>(&self, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        self.database.sql(outcome)
    }

    /// The row of an artifact, expired or not.
    fn find(&self, connection: &Connection, name: &Name) -> Result<Option<Header>, StoreError> {
        match rows::find(connection, name) {
            Err(error) if is_unreadable(&error) => Err(damaged(name)),
            // A damaged index leads to another row.
            Ok(Some(found)) if !found.has_name(name) => Err(damaged(name)),
            outcome => self.sql(outcome),
        }
    }

    pub(crate) fn put(
        &self,
        scope: &Scope,
        artifact: &StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        let name = (
            scope.clone(),
            artifact.artifact_id().clone(),
            artifact.call_id().clone(),
        );
        let data = artifact.document().raw();
        let now = self.now();
        let limits = &self.options.limits;
        let (bytes, limit) = (artifact.stored_bytes(), limits.artifact_bytes);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        let expires_at = limits
            .artifact_time_to_live
            .map(|time| now.saturating_add(milliseconds(time)));
        let in_file = data.len() > self.options.file_bytes;
        let header = Header::new(artifact, now, expires_at, Digest::of(data), in_file);

        // Looked at without a lock first, so that nothing is written in vain.
        let held = {
            let reader = self.database.reader()?;
            // One transaction, so that the row cannot go between its parts.
            let transaction = self.sql(reader.unchecked_transaction())?;
            let held = self.held(&transaction, &name, &header, data, now)?;
            if held.is_none() {
                self.check_room(&transaction, scope, &header, now)?;
            }
            held
        };
        if let Some(held) = held {
            return self.again(&name, &held, data);
        }
        if !self.database.can_write() {
            return Err(StoreError::ReadOnly { source: None });
        }
        if in_file {
            self.database.files.put(&header.data_digest, data)?;
        }
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(DURABILITY)?;
        if let Some(held) = self.held(&transaction, &name, &header, data, now)? {
            drop(transaction);
            drop(writer);
            return self.again(&name, &held, data);
        }
        let retired = *self.retired.lock();
        let retired = self.sql(rows::retire(&transaction, now, retired))?;
        if let Some(expired) = self.find(&transaction, &name)? {
            self.sql(rows::delete(&transaction, expired.number))?;
        }
        self.check_room(&transaction, scope, &header, now)?;
        if in_file && !self.database.files.has(&header.data_digest, data.len()) {
            // It was removed with the last row that named it; now the lock prevents that.
            self.database.files.put(&header.data_digest, data)?;
        }
        let in_row = (!in_file).then_some(&data[..]);
        self.sql(rows::insert(&transaction, scope, &header, in_row))?;
        self.sql(transaction.commit())?;
        *self.retired.lock() = retired.unwrap_or(START);
        Ok(Recorded::New)
    }

    /// The row that has the name, if it says the same, and has the same data if it has any.
    fn held(
        &self,
        connection: &Connection,
        name: &Name,
        header: &Header,
        data: &Bytes,
        now: i64,
    ) -> Result<Option<Header>, StoreError> {
        let Some(held) = self.find(connection, name)? else {
            return Ok(None);
        };
        if !held.is_whole(&name.0) {
            return Err(damaged(name));
        }
        if held.has_expired(now) {
            return Ok(None);
        }
        if !held.is_same_record(header) {
            return Err(StoreError::DuplicateArtifact {
                artifact_id: name.1.clone(),
                call_id: name.2.clone(),
            });
        }
        if !held.in_file && self.sql(rows::data(connection, held.number))?.as_deref() != Some(data)
        {
            return Err(damaged(name));
        }
        Ok(Some(held))
    }

    /// Records an artifact again whose row exists.
    fn again(&self, name: &Name, held: &Header, data: &Bytes) -> Result<Recorded, StoreError> {
        if held.in_file && self.database.can_write() {
            // Here is the data again, in case that the file was damaged.
            self.database.files.put(&held.data_digest, data)?;
        } else if held.in_file {
            let content = self
                .database
                .files
                .read(&held.data_digest, held.data_bytes)?;
            if !matches!(content, Content::Whole(_)) {
                return Err(damaged(name));
            }
        }
        Ok(Recorded::Unchanged)
    }

    fn check_room(
        &self,
        connection: &Connection,
        scope: &Scope,
        header: &Header,
        now: i64,
    ) -> Result<(), StoreError> {
        let (artifacts, kept) = self.sql(rows::usage(connection, scope, now))?;
        self.options
            .limits
            .admit_artifact(header.kept_bytes, artifacts, kept)
    }

    pub(crate) fn get(&self, name: &Name) -> Result<ArtifactLookup, StoreError> {
        let ids = (name.1.clone(), name.2.clone());
        for _ in 0..LOOKS {
            let now = self.now();
            let (header, version, in_row) = {
                let reader = self.database.reader()?;
                // One transaction, so that the row cannot go between its parts.
                let transaction = self.sql(reader.unchecked_transaction())?;
                let Some(header) = self.find(&transaction, name)? else {
                    let expired = self.sql(rows::expired(&transaction, name))?;
                    return Ok(match expired {
                        Some(tool) => expired_lookup(tool),
                        None => ArtifactLookup::Missing(ArtifactMissing::Unknown),
                    });
                };
                if !header.is_whole(&name.0) {
                    return Err(damaged(name));
                }
                if header.has_expired(now) {
                    return Ok(expired_lookup(header.tool));
                }
                let version = header.number.unsigned_abs();
                let loaded = self.loaded.get(&name.0, &ids, version);
                self.meter.cached(loaded.is_some());
                if let Some(artifact) = loaded {
                    return Ok(ArtifactLookup::Found(artifact));
                }
                let in_row = if header.in_file {
                    None
                } else {
                    Some(self.sql(rows::data(&transaction, header.number))?)
                };
                (header, version, in_row)
            };
            let (digest, bytes) = (&header.data_digest, header.data_bytes);
            let content = match in_row {
                Some(Some(data)) => Content::checked(data, digest, bytes),
                Some(None) => Content::Damaged,
                None => self.database.files.read(digest, bytes)?,
            };
            match content {
                Content::Whole(data) => {
                    let artifact = Arc::new(header.artifact(Bytes::from(data)));
                    let artifact = self.loaded.put(&name.0, &ids, version, artifact);
                    return Ok(ArtifactLookup::Found(artifact));
                }
                Content::Damaged => return Err(damaged(name)),
                // It may have been removed with its row since.
                Content::Missing => {}
            }
        }
        Err(damaged(name))
    }

    pub(crate) fn list(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        let now = self.now();
        let lines = self.sql(rows::list(&*self.database.reader()?, scope))?;
        let listed = lines.into_iter().filter_map(|line| match line {
            Line::Whole(header) => (!header.has_expired(now)).then(|| header.line()),
            Line::Damaged(artifact_id, call_id) => {
                Some(ListedArtifact::new(artifact_id, call_id, 0).with_damaged(true))
            }
        });
        Ok(listed.collect())
    }

    /// Removes a session's rows, then the files that only they named.
    pub(crate) fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        let known = self.sql(rows::has_session(&*self.database.reader()?, scope))?;
        if known {
            let mut writer = self.database.writer()?;
            let transaction = writer.begin(DURABILITY)?;
            let files = self.sql(rows::delete_session(&transaction, scope))?;
            self.sql(transaction.commit())?;
            // The session has gone; what stays behind of it is for the next sweep.
            drop(writer);
            let _ = self.database.remove_unnamed(&files);
        }
        self.loaded.remove_session(scope);
        Ok(())
    }

    /// How many artifacts there are, and their bytes, those included that have expired unseen.
    pub(crate) fn total(&self) -> Result<(usize, usize), StoreError> {
        self.sql(rows::total(&*self.database.reader()?))
    }

    /// Notes what has expired, forgets what has long been, and removes files that were left behind.
    pub(crate) fn sweep(&self) -> Result<(), StoreError> {
        self.loaded.sweep();
        let now = self.now();
        let forgotten = now.saturating_sub(milliseconds(self.options.limits.max_age));
        let overdue = self.sql(rows::has_overdue(&*self.database.reader()?, now, forgotten))?;
        if overdue && self.database.can_write() {
            let mut place = Some(START);
            while let Some(after) = place {
                // Some at a time, so that other writers do not wait for long.
                let mut writer = self.database.writer()?;
                let transaction = writer.begin(DURABILITY)?;
                place = self.sql(rows::retire(&transaction, now, after))?;
                if place.is_none() {
                    self.sql(rows::forget(&transaction, forgotten))?;
                }
                self.sql(transaction.commit())?;
            }
        }
        self.database.remove_orphans()
    }
}

fn damaged(name: &Name) -> StoreError {
    StoreError::Damaged {
        damage: Damage::Artifact {
            artifact_id: name.1.clone(),
            call_id: name.2.clone(),
        },
        source: None,
    }
}

fn expired_lookup(tool: Option<String>) -> ArtifactLookup {
    let tombstone = Tombstone::new(tool.map(Into::into), None);
    ArtifactLookup::Missing(ArtifactMissing::Expired(tombstone))
}
