//! Artifacts that were read lately, so that each is read and indexed once.

use crossfeed_store::StoredArtifact;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use lru::LruCache;
use std::sync::Arc;

/// The key of an artifact among all.
pub(crate) type Name = (Scope, ArtifactId, CallId);

struct Entry {
    /// The row that it was read from. No two rows ever have the same.
    row: i64,
    artifact: Arc<StoredArtifact>,
    /// Its bytes when they were last measured.
    counted: usize,
}

pub(crate) struct LoadedArtifacts {
    entries: LruCache<Name, Entry>,
    bytes: usize,
    limit: usize,
}

impl LoadedArtifacts {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            entries: LruCache::unbounded(),
            bytes: 0,
            limit,
        }
    }

    /// The artifact read from a row.
    pub(crate) fn get(&mut self, name: &Name, row: i64) -> Option<Arc<StoredArtifact>> {
        let entry = self
            .entries
            .get_mut(name)
            .filter(|entry| entry.row == row)?;
        let bytes = entry.artifact.resident_bytes();
        self.bytes = self.bytes + bytes - entry.counted;
        entry.counted = bytes;
        let artifact = entry.artifact.clone();
        self.make_room();
        Some(artifact)
    }

    pub(crate) fn put(&mut self, name: Name, row: i64, artifact: Arc<StoredArtifact>) {
        self.remove(&name);
        let counted = artifact.resident_bytes();
        if counted > self.limit {
            return;
        }
        self.bytes += counted;
        let entry = Entry {
            row,
            artifact,
            counted,
        };
        self.entries.put(name, entry);
        self.make_room();
    }

    pub(crate) fn remove(&mut self, name: &Name) {
        if let Some(entry) = self.entries.pop(name) {
            self.bytes -= entry.counted;
        }
    }

    pub(crate) fn remove_session(&mut self, scope: &Scope) {
        let names = self.entries.iter().map(|(name, _)| name);
        let names: Vec<Name> = names.filter(|(of, ..)| of == scope).cloned().collect();
        for name in &names {
            self.remove(name);
        }
    }

    fn make_room(&mut self) {
        while self.bytes > self.limit
            && let Some((_, entry)) = self.entries.pop_lru()
        {
            self.bytes -= entry.counted;
        }
    }
}
