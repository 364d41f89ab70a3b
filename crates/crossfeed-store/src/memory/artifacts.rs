//! The artifacts of one session.
//!
//! Keeps artifacts, their bytes, and tombstones of those that expired. Its session holds the lock.

use super::session::Visit;
use crate::{
    ArtifactLookup, ArtifactMissing, ListedArtifact, MemoryLimits, StoreError, StoredArtifact,
    Tombstone, Usage,
};
use crossfeed_wire::{ArtifactId, CallId};
use lru::LruCache;
use std::{sync::Arc, time::Duration};

/// The key of an artifact in its session.
pub(super) type Name = (ArtifactId, CallId);

struct Entry {
    artifact: Arc<StoredArtifact>,
    /// Its bytes when they were last measured.
    counted: usize,
    born: Duration,
}

impl Entry {
    fn measure(&mut self, sum: &mut usize) {
        let bytes = self.artifact.resident_bytes();
        *sum = *sum + bytes - self.counted;
        self.counted = bytes;
    }
}

/// Both tables are in the order of recording: nothing in them is ever used, only looked at.
pub(super) struct Artifacts {
    kept: LruCache<Name, Entry>,
    bytes: usize,
    expired: LruCache<Name, Tombstone>,
}

impl Default for Artifacts {
    fn default() -> Self {
        Self {
            kept: LruCache::unbounded(),
            bytes: 0,
            expired: LruCache::unbounded(),
        }
    }
}

impl Artifacts {
    /// Takes out what has expired, and says whether there was any.
    pub(super) fn tidy(&mut self, now: Duration, limits: &MemoryLimits, visit: &mut Visit) -> bool {
        let Some(time_to_live) = limits.artifact_time_to_live else {
            return false;
        };
        let before = self.kept.len();
        let is_overdue = |entry: &Entry| now.saturating_sub(entry.born) >= time_to_live;
        while self
            .kept
            .peek_lru()
            .is_some_and(|(_, oldest)| is_overdue(oldest))
            && let Some((name, entry)) = self.kept.pop_lru()
        {
            self.bytes -= entry.counted;
            let tombstone = Tombstone::new(entry.artifact.shared_tool(), None)
                .with_repeatable(entry.artifact.repeatable());
            self.expired.put(name, tombstone);
            // As many are remembered as there may be.
            while self.expired.len() > limits.session_artifacts {
                self.expired.pop_lru();
            }
            visit.artifacts.push(entry.artifact);
        }
        self.kept.len() < before
    }

    /// An artifact, its bytes counted anew, or why there is none.
    pub(super) fn look_up(&mut self, name: &Name) -> ArtifactLookup {
        if let Some(entry) = self.kept.peek_mut(name) {
            entry.measure(&mut self.bytes);
            return ArtifactLookup::Found(entry.artifact.clone());
        }
        ArtifactLookup::Missing(match self.expired.peek(name) {
            Some(tombstone) => ArtifactMissing::Expired(tombstone.clone()),
            None => ArtifactMissing::Unknown,
        })
    }

    /// Adds an artifact whose name is free, if it fits.
    pub(super) fn insert(
        &mut self,
        name: Name,
        artifact: Arc<StoredArtifact>,
        now: Duration,
        limits: &MemoryLimits,
    ) -> Result<(), StoreError> {
        limits.admit_artifact(artifact.resident_bytes(), self.kept.len(), self.bytes)?;
        self.expired.pop(&name);
        let mut entry = Entry {
            artifact,
            counted: 0,
            born: now,
        };
        entry.measure(&mut self.bytes);
        self.kept.put(name, entry);
        Ok(())
    }

    pub(super) fn list(&self) -> Vec<ListedArtifact> {
        let oldest_first = self.kept.iter().rev();
        oldest_first
            .map(|(_, entry)| ListedArtifact::from_artifact(&entry.artifact))
            .collect()
    }

    pub(super) fn measure_all(&mut self) {
        for (_, entry) in &mut self.kept {
            entry.measure(&mut self.bytes);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether there are tombstones.
    pub(super) fn remembers(&self) -> bool {
        !self.expired.is_empty()
    }

    pub(super) fn add_to(&self, usage: &mut Usage) {
        usage.artifacts += self.kept.len();
        usage.artifact_bytes += self.bytes;
    }
}
