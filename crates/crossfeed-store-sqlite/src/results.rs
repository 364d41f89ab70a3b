//! Results on the disk: rows, files, and a cache of results read lately.
//!
//! Runs on a thread that may wait. Every result that is read is checked. The limits count what was recorded, wherever
//! it lies; which results make room is decided in the transaction that adds one, so that several processes keep them
//! together.

mod changes;
mod gone;
mod layout;
mod leases;
mod record;
mod room;
mod rows;
mod state;
mod sums;

use crate::{
    artifacts::LOOKS,
    database::Database,
    files::Content,
    header::{is_unreadable, milliseconds},
    options::{SqliteDurability, SqliteOptions},
    probe::KeptResult,
};
use changes::Changes;
use crossfeed_store::{
    Clock, Damage, Digest, Listed, Lookup, Missing, ReadCache, Recorded, StoreError, StoreMeter,
    StoredResult, Tombstone,
};
use crossfeed_wire::{CallId, Scope};
use record::Header;
use room::{Gone, Visit};

use rusqlite::{Connection, Transaction};
use std::{collections::HashSet, path::Path, sync::Arc, time::Duration};

/// How long a `get` waits for others to note its use. Without it the result is found all the same.
const TOUCH_TIMEOUT: Duration = Duration::from_millis(250);
/// How much a sweep does in one transaction, so that other writers do not wait for long.
const SWEPT_AT_ONCE: usize = 256;
/// Pages that nothing uses and that a sweep leaves for what comes next: 1 MiB.
const KEPT_PAGES: usize = 256;

pub(crate) struct Results {
    options: SqliteOptions,
    clock: Arc<dyn Clock>,
    database: Database,
    loaded: ReadCache<CallId, StoredResult>,
    changes: Arc<Changes>,
    pub(crate) meter: Arc<StoreMeter>,
}

/// The results, for the parts of the store that are asked for by themselves.
#[derive(Clone)]
pub(crate) struct SharedResults(pub(crate) Arc<Results>);

/// A row, or why there is none.
enum Found {
    Live(Header),
    /// Its time is over.
    Expired(Header),
    None,
}

/// A result with its data, or how to repeat its call where the file is missing.
enum LoadOutcome {
    Whole(Arc<StoredResult>),
    WithoutFile(Tombstone),
}

/// What became of a result.
enum Inserted {
    /// It is there, and these files may have no name any more.
    New(Vec<Digest>),
    Unchanged,
}

impl Results {
    pub(crate) fn open(
        directory: &Path,
        options: SqliteOptions,
        clock: Arc<dyn Clock>,
        meter: Arc<StoreMeter>,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            database: Database::open(
                directory,
                &layout::LAYOUT,
                &options,
                options.durability,
                true,
            )?,
            loaded: ReadCache::new(options.loaded_bytes),
            changes: Arc::default(),
            meter,
            options,
            clock,
        })
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

    /// The rows of a session whose results a caller holds.
    fn held(&self, scope: &Scope) -> HashSet<i64> {
        let held = self.loaded.held(scope).into_iter();
        held.map(|(_, version)| version.cast_signed()).collect()
    }

    fn has_expired(&self, used_at: i64, recorded_at: i64, now: i64) -> bool {
        let limits = &self.options.limits;
        let is_over = |since: i64, time| now.saturating_sub(since) >= milliseconds(time);
        is_over(used_at, limits.time_to_live) || is_over(recorded_at, limits.max_age)
    }

    /// The row of a call, checked.
    fn find(
        &self,
        connection: &Connection,
        scope: &Scope,
        call: &CallId,
        now: i64,
    ) -> Result<Found, StoreError> {
        let header = match rows::find(connection, scope, call) {
            Err(error) if is_unreadable(&error) => return Err(damaged(call, ROW)),
            outcome => match self.sql(outcome)? {
                None => return Ok(Found::None),
                // A damaged index leads to another row.
                Some(header) if header.call_id != *call || !header.is_whole(scope) => {
                    return Err(damaged(call, ROW));
                }
                Some(header) => header,
            },
        };
        let has_expired = self.has_expired(header.used_at, header.recorded_at, now);
        Ok(
            if has_expired && !self.held(scope).contains(&header.number) {
                Found::Expired(header)
            } else {
                Found::Live(header)
            },
        )
    }

    pub(crate) fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let now = self.now();
        let header = Header::new(call, &result, now, self.options.file_bytes);
        // Looked at without a lock first, so that nothing is written in vain.
        let held = {
            let reader = self.database.reader()?;
            // One transaction, so that the row cannot go between its parts.
            let transaction = self.sql(reader.unchecked_transaction())?;
            self.recorded(&transaction, scope, &header, &result, now)?
        };
        if let Some(held) = held
            && self.again(&header, &result, &held, now)?
        {
            return Ok(Recorded::Unchanged);
        }
        let limits = &self.options.limits;
        let bytes = record::kept_bytes(&result);
        let limit = limits.session_bytes.min(limits.total_bytes);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        if !self.database.can_write() {
            return Err(StoreError::ReadOnly { source: None });
        }
        if header.in_file {
            let data = result.document().raw();
            self.database.files.put(&header.data_digest, data)?;
        }
        match self.insert(scope, &header, Arc::new(result), bytes, now) {
            Ok(Inserted::New(files)) => {
                self.remove_unnamed(&files);
                self.changes.notify();
                Ok(Recorded::New)
            }
            Ok(Inserted::Unchanged) => Ok(Recorded::Unchanged),
            Err(error) => {
                if header.in_file {
                    self.remove_unnamed(&[header.data_digest]);
                }
                Err(error)
            }
        }
    }

    /// The row of a call that has a result, if it says the same, and has the same data if it has any.
    fn recorded(
        &self,
        connection: &Connection,
        scope: &Scope,
        header: &Header,
        result: &StoredResult,
        now: i64,
    ) -> Result<Option<Header>, StoreError> {
        let call = &header.call_id;
        let Found::Live(held) = self.find(connection, scope, call, now)? else {
            return Ok(None);
        };
        if !held.is_same_record(header) {
            let call_id = call.clone();
            return Err(StoreError::Duplicate { call_id });
        }
        if !held.in_file {
            let contents = self.contents(connection, held.number)?;
            let data = contents.and_then(|(_, data)| data);
            if data.as_deref() != Some(&result.document().raw()[..]) {
                return Err(damaged(call, DATA));
            }
        }
        Ok(Some(held))
    }

    /// Records a result again whose row exists; false if it has gone meanwhile.
    fn again(
        &self,
        header: &Header,
        result: &StoredResult,
        held: &Header,
        now: i64,
    ) -> Result<bool, StoreError> {
        let files = &self.database.files;
        if !self.database.can_write() {
            let is_whole = !held.in_file
                || matches!(
                    files.read(&held.data_digest, held.data_bytes)?,
                    Content::Whole(_)
                );
            return if is_whole {
                Ok(true)
            } else {
                Err(damaged(&header.call_id, DATA))
            };
        }
        if held.in_file {
            // Here is the data again, in case that the file was damaged.
            files.put(&held.data_digest, result.document().raw())?;
        }
        let touched = self.touch(held.number, now, self.options.busy_timeout, || ())?;
        Ok(touched.is_some())
    }

    /// Notes a use, then does something before this process can take the row away; `None` if it has gone.
    fn touch<T>(
        &self,
        number: i64,
        now: i64,
        timeout: Duration,
        then: impl FnOnce() -> T,
    ) -> Result<Option<T>, StoreError> {
        let mut writer = self.database.writer_within(timeout)?;
        // A use is no record: losing one does no harm.
        let transaction = writer.begin(SqliteDurability::Process)?;
        let is_there = self.sql(rows::touch(&transaction, number, now))?;
        self.sql(transaction.commit())?;
        Ok(is_there.then(then))
    }

    /// Adds a row, and takes away what has to make room for it.
    fn insert(
        &self,
        scope: &Scope,
        header: &Header,
        result: Arc<StoredResult>,
        bytes: usize,
        now: i64,
    ) -> Result<Inserted, StoreError> {
        let call = &header.call_id;
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(self.options.durability)?;
        if let Some(held) = self.recorded(&transaction, scope, header, &result, now)? {
            self.sql(rows::touch(&transaction, held.number, now))?;
            self.sql(transaction.commit())?;
            return Ok(Inserted::Unchanged);
        }
        let mut visit = Visit::new(self, &transaction, now);
        // A live one was found above.
        visit.retire_call(scope, call)?;
        visit.tidy()?;
        visit.make_room_in(scope, bytes, 1)?;
        visit.make_room_in_all(Some((scope, bytes)))?;
        let gone = visit.gone;
        let data = result.document().raw();
        if header.in_file && !self.database.files.has(&header.data_digest, data.len()) {
            // It was removed with the last row that named it; now the lock prevents that.
            self.database.files.put(&header.data_digest, data)?;
        }
        let number = self.sql(rows::insert(&transaction, scope, header, &result))?;
        self.sql(gone::end_lease(&transaction, scope, call))?;
        let files = self.commit(transaction, gone)?;
        // Before this process can take the row away: whoever gets it from here on holds this one.
        self.loaded.put(scope, call, number.unsigned_abs(), result);
        Ok(Inserted::New(files))
    }

    /// Commits what went in a transaction; returns the files that may have no name any more.
    fn commit(&self, transaction: Transaction<'_>, gone: Gone) -> Result<Vec<Digest>, StoreError> {
        // Before their ids are free for others.
        for (scope, call) in &gone.calls {
            self.loaded.remove(scope, call);
        }
        self.sql(transaction.commit())?;
        self.meter.evicted(gone.evicted);
        self.meter.expired(gone.expired);
        Ok(gone.files)
    }

    /// Removes files that no row names any more. What stays behind is for the next sweep.
    fn remove_unnamed(&self, files: &[Digest]) {
        let _ = self.database.remove_unnamed(files);
    }

    pub(crate) fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        let (mut found, mut without_file) = (None, None);
        for _ in 0..LOOKS {
            let now = self.now();
            let (header, loaded, contents) = {
                let reader = self.database.reader()?;
                // One transaction, so that the row cannot go between its parts.
                let transaction = self.sql(reader.unchecked_transaction())?;
                let header = match self.find(&transaction, scope, call, now)? {
                    Found::Live(header) => header,
                    Found::Expired(header) => {
                        return self.expired(&transaction, scope, &header, now);
                    }
                    Found::None => {
                        let missing = gone::missing(&transaction, scope, call, now);
                        return Ok(Lookup::Missing(self.about(call, missing)?));
                    }
                };
                let version = header.number.unsigned_abs();
                let loaded = self.loaded.get(scope, call, version);
                let contents = match &loaded {
                    Some(_) => None,
                    None => self.contents(&transaction, header.number)?,
                };
                (header, loaded, contents)
            };
            self.meter.cached(loaded.is_some());
            let number = header.number;
            let result = match loaded {
                Some(result) => Some(result),
                None => match self.load(header, contents)? {
                    LoadOutcome::Whole(result) => Some(result),
                    LoadOutcome::WithoutFile(about) => {
                        without_file = Some(about);
                        None
                    }
                },
            };
            // The file may have been removed with its row since.
            let Some(result) = result else { continue };
            let keep = || {
                let result = Arc::clone(&result);
                self.loaded.put(scope, call, number.unsigned_abs(), result)
            };
            if !self.database.can_write() {
                return Ok(Lookup::Found(keep()));
            }
            match self.touch(number, now, TOUCH_TIMEOUT, keep) {
                Ok(Some(result)) => return Ok(Lookup::Found(result)),
                Ok(None) => found = Some(result),
                Err(error @ StoreError::Damaged { .. }) => return Err(error),
                // It can be read all the same: a use is no record.
                Err(_) => return Ok(Lookup::Found(keep())),
            }
        }
        // It was there each time, and went each time before its use was noted.
        found.map(Lookup::Found).ok_or_else(|| {
            damaged_with(
                call,
                "its file is missing",
                without_file.unwrap_or_default(),
            )
        })
    }

    /// The contents of a row; `None` if there are none that can have been written.
    fn contents(
        &self,
        connection: &Connection,
        number: i64,
    ) -> Result<Option<rows::Contents>, StoreError> {
        match rows::contents(connection, number) {
            Err(error) if is_unreadable(&error) => Ok(None),
            contents => self.sql(contents),
        }
    }

    /// What is kept of a call without a result.
    fn about<T>(&self, call: &CallId, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        match outcome {
            Err(error) if is_unreadable(&error) => {
                Err(damaged(call, "what is kept of its call cannot be read"))
            }
            outcome => self.sql(outcome),
        }
    }

    /// What is said of a call whose result has expired.
    fn expired(
        &self,
        connection: &Connection,
        scope: &Scope,
        header: &Header,
        now: i64,
    ) -> Result<Lookup, StoreError> {
        let call = &header.call_id;
        let about = self.about(call, gone::leased(connection, scope, call, now))?;
        Ok(Lookup::Missing(match about {
            Some(about) => Missing::InFlight(about),
            None => {
                let arguments = rows::short_arguments(connection, header.number);
                Missing::Expired(header.tombstone(self.sql(arguments)?.as_deref()))
            }
        }))
    }

    /// Reads a result, and checks it.
    fn load(
        &self,
        header: Header,
        contents: Option<rows::Contents>,
    ) -> Result<LoadOutcome, StoreError> {
        let call = header.call_id.clone();
        let (digest, bytes) = (&header.data_digest, header.data_bytes);
        let Some((arguments, data)) = contents else {
            return Err(damaged_with(&call, DATA, header.tombstone(None)));
        };
        if arguments.as_deref().map(Digest::of) != header.arguments_digest {
            return Err(damaged_with(&call, "its arguments", header.tombstone(None)));
        }
        let about = header.tombstone(arguments.as_deref());
        let content = match data {
            Some(data) if !header.in_file => Content::checked(data, digest, bytes),
            None if header.in_file => self.database.files.read(digest, bytes)?,
            _ => Content::Damaged,
        };
        match content {
            Content::Whole(data) => {
                Ok(LoadOutcome::Whole(Arc::new(header.result(arguments, data))))
            }
            Content::Damaged => Err(damaged_with(&call, DATA, about)),
            Content::Missing => Ok(LoadOutcome::WithoutFile(about)),
        }
    }

    /// Counts the bytes in memory of a result anew. The limits count those on the disk, which stay.
    pub(crate) fn measure(&self, scope: &Scope, call: &CallId) {
        if let Some(version) = self.loaded.version(scope, call) {
            let _ = self.loaded.get(scope, call, version);
        }
    }

    /// The current results of a session. What is damaged is left out.
    pub(crate) fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        let now = self.now();
        let lines = self.sql(rows::list(&*self.database.reader()?, scope))?;
        let held = self.held(scope);
        let mut listed = Vec::with_capacity(lines.len());
        for line in lines {
            let header = match line {
                Err(error) if is_unreadable(&error) => continue,
                line => self.sql(line)?,
            };
            let has_expired = self.has_expired(header.used_at, header.recorded_at, now);
            if header.is_whole(scope) && (!has_expired || held.contains(&header.number)) {
                listed.push(header.line());
            }
        }
        Ok(listed)
    }

    /// The results of all sessions, the latest first.
    pub(crate) fn all(&self) -> Result<Vec<KeptResult>, StoreError> {
        let now = self.now();
        let lines = self.sql(rows::all(&*self.database.reader()?))?;
        let mut kept = Vec::with_capacity(lines.len());
        for line in lines {
            let (scope, header) = match line {
                Err(error) if is_unreadable(&error) => continue,
                line => self.sql(line)?,
            };
            let has_expired = self.has_expired(header.used_at, header.recorded_at, now);
            if header.is_whole(&scope) && !has_expired {
                let age = u64::try_from(now.saturating_sub(header.recorded_at));
                kept.push(KeptResult {
                    server: header.server.as_deref().map(Arc::from),
                    age: Duration::from_millis(age.unwrap_or_default()),
                    listed: header.line(),
                    scope,
                });
            }
        }
        Ok(kept)
    }

    /// Removes a session's rows, then the files that only they named.
    pub(crate) fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        let known = self.sql(rows::has_session(&*self.database.reader()?, scope))?;
        if known {
            let mut writer = self.database.writer()?;
            let transaction = writer.begin(self.options.durability)?;
            let files = self.sql(rows::delete_session(&transaction, scope))?;
            self.sql(transaction.commit())?;
            self.loaded.remove_session(scope);
            drop(writer);
            self.remove_unnamed(&files);
            self.changes.notify();
        }
        Ok(())
    }

    /// Takes away what is overdue or beyond a limit, forgets what has long been, and gives room back.
    pub(crate) fn sweep(&self) -> Result<(), StoreError> {
        self.loaded.sweep();
        if !self.database.can_write() {
            return Ok(());
        }
        let now = self.now();
        let limits = &self.options.limits;
        let is_right = self.sql(sums::sums_are_right(&*self.database.reader()?))?;
        if !is_right {
            self.write(now, |visit| visit.sum_up())?;
        }
        while self.write(now, |visit| visit.retire(SWEPT_AT_ONCE, usize::MAX))? > 0 {}
        while self.write(now, |visit| visit.forget(SWEPT_AT_ONCE))? {}
        self.write(now, |visit| visit.end_overdue())?;
        let beyond = sums::sessions_beyond(
            &*self.database.reader()?,
            limits.session_bytes,
            limits.session_results,
        );
        for scope in self.sql(beyond)? {
            self.write(now, |visit| is_done(visit.make_room_in(&scope, 0, 0)))?;
        }
        self.write(now, |visit| is_done(visit.make_room_in_all(None)))?;
        self.give_room_back()?;
        self.database.remove_orphans()
    }

    /// Changes something in a transaction in which results may go.
    fn write<T>(
        &self,
        now: i64,
        change: impl FnOnce(&mut Visit<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(self.options.durability)?;
        let mut visit = Visit::new(self, &transaction, now);
        let outcome = change(&mut visit)?;
        let gone = visit.gone;
        let files = self.commit(transaction, gone)?;
        drop(writer);
        self.remove_unnamed(&files);
        Ok(outcome)
    }

    /// Gives pages that nothing uses back to the file system, some at a time.
    fn give_room_back(&self) -> Result<(), StoreError> {
        loop {
            let mut writer = self.database.writer()?;
            let transaction = writer.begin(SqliteDurability::Process)?;
            let unused = transaction.pragma_query_value(None, "freelist_count", |row| row.get(0));
            let unused: usize = self.sql(unused)?;
            if unused <= KEPT_PAGES {
                return Ok(());
            }
            let pages = (unused - KEPT_PAGES).min(4 * KEPT_PAGES);
            let freed = || {
                let mut statement =
                    transaction.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
                let mut freed = statement.query([])?;
                while freed.next()?.is_some() {}
                drop(freed);
                transaction.pragma_query_value(None, "freelist_count", |row| row.get(0))
            };
            let left: usize = self.sql(freed())?;
            self.sql(transaction.commit())?;
            if left >= unused {
                // A database that was made without this.
                return Ok(());
            }
        }
    }

    /// How many results there are, and their bytes, those included that have expired unseen.
    pub(crate) fn total(&self) -> Result<(usize, usize), StoreError> {
        self.sql(sums::total(&*self.database.reader()?))
    }
}

/// As far as what is in use allows.
fn is_done(outcome: Result<(), StoreError>) -> Result<(), StoreError> {
    match outcome {
        Err(StoreError::Full { .. }) => Ok(()),
        outcome => outcome,
    }
}

/// Parts of a result.
const ROW: &str = "its row";
const DATA: &str = "its data";

/// A part of a result is damaged, and how its call is to be repeated cannot be relied on.
fn damaged(call: &CallId, part: &'static str) -> StoreError {
    damaged_with(call, part, Tombstone::default())
}

fn damaged_with(call: &CallId, part: &'static str, about: Tombstone) -> StoreError {
    StoreError::Damaged {
        damage: Damage::Result {
            call_id: call.clone(),
            about,
        },
        source: Some(part.into()),
    }
}
