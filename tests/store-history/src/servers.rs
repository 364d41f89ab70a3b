//! The backends of a run, and their faults.

use crate::{open::Place, run::Kind};
use crossfeed_history::Seed;
use std::path::Path;

/// The servers behind a store, where it has any.
pub(crate) struct Servers {
    kind: Kind,
}

impl Servers {
    pub(crate) async fn start(kind: Kind, _folder: &Path) -> Result<Self, String> {
        Ok(Self { kind })
    }

    /// Where the processes of the run find the store.
    pub(crate) fn place(&self, folder: &Path) -> Place {
        match self.kind {
            Kind::Sqlite => Place::Sqlite(folder.join("store")),
        }
    }

    /// Whether everything that was acknowledged must be there in spite of the faults.
    pub(crate) fn keeps(&self) -> bool {
        true
    }

    /// Brings a fault about, if this backend has any; it is over when this returns, or soon after.
    pub(crate) async fn fail(&mut self, _seed: &Seed) -> Result<Option<&'static str>, String> {
        Ok(None)
    }

    pub(crate) async fn mend(&mut self) -> Result<(), String> {
        Ok(())
    }

    pub(crate) async fn stop(self) {}
}
